//! A call in Parity's form.

use crate::executor::VmError;
use crate::trace::flat_calls::FlatCall;
use crate::trace::{FrameKind, json};

/// Writes the members `action`, `error`, `result`, `subtraces`, `traceAddress` and `type`.
pub(super) fn write_members(call: &FlatCall, place: &[u64], out: &mut Vec<u8>) {
    out.extend_from_slice(b"\"action\":");
    write_action(call, out);
    if let Some(error) = &call.error {
        out.extend_from_slice(b",\"error\":");
        json::string(out, error_name(error));
    }
    out.extend_from_slice(b",\"result\":");
    match call.kind != FrameKind::SelfDestruct && call.has_output() {
        true => write_result(call, out),
        false => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"subtraces\":");
    json::decimal(out, call.calls);
    out.extend_from_slice(b",\"traceAddress\":");
    json::decimals(out, place);
    out.extend_from_slice(b",\"type\":");
    json::string(
        out,
        match call.kind {
            FrameKind::Create | FrameKind::Create2 => "create",
            FrameKind::SelfDestruct => "suicide",
            FrameKind::Call
            | FrameKind::CallCode
            | FrameKind::DelegateCall
            | FrameKind::StaticCall => "call",
        },
    );
}

fn write_action(call: &FlatCall, out: &mut Vec<u8>) {
    if call.kind == FrameKind::SelfDestruct {
        out.extend_from_slice(b"{\"address\":");
        json::address(out, &call.from);
        out.extend_from_slice(b",\"balance\":");
        json::big(out, &call.value);
        out.extend_from_slice(b",\"refundAddress\":");
        json::address(out, &call.to);
        out.push(b'}');
        return;
    }
    let instruction = call.kind.name().to_ascii_lowercase();
    out.extend_from_slice(b"{\"from\":");
    json::address(out, &call.from);
    out.extend_from_slice(b",\"gas\":");
    json::quantity(out, call.gas);
    out.extend_from_slice(b",\"value\":");
    json::big(out, &call.value);
    if call.kind.is_create() {
        out.extend_from_slice(b",\"init\":");
        json::data(out, &call.input);
        out.extend_from_slice(b",\"creationMethod\":");
    } else {
        out.extend_from_slice(b",\"to\":");
        json::address(out, &call.to);
        out.extend_from_slice(b",\"input\":");
        json::data(out, &call.input);
        out.extend_from_slice(b",\"callType\":");
    }
    json::string(out, &instruction);
    out.push(b'}');
}

fn write_result(call: &FlatCall, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"gasUsed\":");
    json::quantity(out, call.gas_used);
    match call.kind.is_create() {
        true => {
            out.extend_from_slice(b",\"address\":");
            json::address(out, &call.to);
            out.extend_from_slice(b",\"code\":");
        }
        false => out.extend_from_slice(b",\"output\":"),
    }
    json::data(out, &call.output);
    out.push(b'}');
}

/// The name of an error as reth and anvil have it: Parity's, or that of their interpreter.
const fn error_name(error: &VmError) -> &'static str {
    match error {
        VmError::Reverted => "Reverted",
        VmError::OutOfGas | VmError::CodeStoreOutOfGas | VmError::GasOverflow => "Out of gas",
        VmError::InvalidOpcode(_) => "Bad instruction",
        VmError::InvalidJump => "Bad jump destination",
        VmError::InsufficientBalance => "Insufficient balance for transfer",
        VmError::StackOverflow { .. } => "Out of stack",
        VmError::Prohibited => "Prohibited address",
        VmError::Precompile(_) => "Built-in failed",
        error => error.interpreter_name(),
    }
}
