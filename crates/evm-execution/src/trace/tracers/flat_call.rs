//! `flatCallTracer`: a list of the calls with their places in the tree, as in Parity's `trace` methods
//! (docs/protocol/c-chain-tracing.md, "flatCallTracer").

use alloy_primitives::U256;

use crate::executor::ExecutionEnd;
use crate::trace::flat_calls::{FlatCall, FlatCalls};
use crate::trace::{
    FrameEnd, FrameKind, FrameStart, TraceContext, TraceError, TraceOutput, TraceResult, Tracer,
    TxPlace, TxStart, json,
};

#[derive(Debug, Default)]
struct Config {
    convert_parity_errors: bool,
    include_precompiles: bool,
}

/// Collects calls, and writes them in geth's form.
#[derive(Debug, Default)]
struct FlatCallTracer {
    config: Config,
    calls: FlatCalls,
    gas_limit: u64,
    place: TxPlace,
    block_number: U256,
}

/// A tracer with this `tracerConfig`.
pub(super) fn new(config: &str) -> Result<Box<dyn Tracer>, TraceError> {
    let mut tracer = FlatCallTracer::default();
    let Config { convert_parity_errors, include_precompiles } = &mut tracer.config;
    super::configure(
        config,
        "native.flatCallTracerConfig",
        &mut [
            ("convertParityErrors", convert_parity_errors),
            ("includePrecompiles", include_precompiles),
        ],
    )?;
    Ok(Box::new(tracer))
}

impl FlatCallTracer {
    fn write_frame(&self, frame: &FlatCall, place: &[u64], out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"action\":");
        write_action(frame, out);
        out.extend_from_slice(b",\"blockHash\":");
        json::optional_hash(out, self.place.block_hash.as_ref());
        out.extend_from_slice(b",\"blockNumber\":");
        // A call is in no block.
        let number = self.place.block_hash.map_or(U256::ZERO, |_| self.block_number);
        json::decimal(out, number.saturating_to());
        if let Some(error) = &frame.error {
            let text = error.to_string();
            let parity = self.config.convert_parity_errors.then(|| parity_text(&text)).flatten();
            out.extend_from_slice(b",\"error\":");
            json::string(out, parity.unwrap_or(&text));
        }
        if frame.has_output() && frame.kind != FrameKind::SelfDestruct {
            out.extend_from_slice(b",\"result\":");
            write_result(frame, out);
        }
        out.extend_from_slice(b",\"subtraces\":");
        json::decimal(out, frame.calls);
        out.extend_from_slice(b",\"traceAddress\":");
        json::decimals(out, place);
        out.extend_from_slice(b",\"transactionHash\":");
        json::optional_hash(out, self.place.tx_hash.as_ref());
        out.extend_from_slice(b",\"transactionPosition\":");
        json::decimal(out, self.place.tx_index.unwrap_or_default() as u64);
        out.extend_from_slice(b",\"type\":\"");
        out.extend_from_slice(match frame.kind {
            FrameKind::Create | FrameKind::Create2 => b"create",
            FrameKind::SelfDestruct => b"suicide",
            FrameKind::Call
            | FrameKind::CallCode
            | FrameKind::DelegateCall
            | FrameKind::StaticCall => b"call",
        });
        out.extend_from_slice(b"\"}");
    }
}

impl Tracer for FlatCallTracer {
    fn start(&mut self, tx: &TxStart<'_>, _: &mut TraceContext<'_, '_>) -> TraceResult {
        if !self.config.include_precompiles {
            self.calls.leave_out(tx.precompiles);
        }
        self.gas_limit = tx.message.gas_limit;
        self.place = tx.place;
        self.block_number = tx.block.number;
        Ok(())
    }

    fn enter(&mut self, start: &FrameStart<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        // The transaction itself has its whole gas limit.
        let gas = if start.depth == 0 { self.gas_limit } else { start.gas };
        self.calls.enter(&FrameStart { gas, ..*start }, context.out)
    }

    fn exit(&mut self, end: &FrameEnd<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        self.calls.exit(end, context.out)
    }

    fn end(&mut self, end: &ExecutionEnd, _: &mut TraceContext<'_, '_>) -> TraceResult {
        if let Some(outermost) = self.calls.outermost() {
            outermost.gas_used = end.gas_used;
        }
        Ok(())
    }

    fn write(&mut self, out: &mut dyn TraceOutput) -> TraceResult {
        if self.calls.is_empty() {
            // The reference has an empty frame if no frame began.
            let text = "unrecognized call frame type: STOP";
            return Err(TraceError::Failed(text.to_owned()));
        }
        out.buffer().push(b'[');
        let mut written = 0;
        self.calls.each(|call, place| {
            super::separate(written, out)?;
            written += 1;
            self.write_frame(call, place, out.buffer());
            Ok(())
        })?;
        out.buffer().push(b']');
        Ok(())
    }
}

fn write_action(frame: &FlatCall, out: &mut Vec<u8>) {
    out.push(b'{');
    match frame.kind {
        FrameKind::SelfDestruct => {
            out.extend_from_slice(b"\"address\":");
            json::address(out, &frame.from);
            out.extend_from_slice(b",\"balance\":");
            json::big(out, &frame.value);
            out.extend_from_slice(b",\"refundAddress\":");
            json::address(out, &frame.to);
            out.push(b'}');
            return;
        }
        FrameKind::Create | FrameKind::Create2 => {}
        FrameKind::Call | FrameKind::CallCode | FrameKind::DelegateCall | FrameKind::StaticCall => {
            out.extend_from_slice(b"\"callType\":\"");
            out.extend_from_slice(frame.kind.name().to_ascii_lowercase().as_bytes());
            out.extend_from_slice(b"\",");
        }
    }
    out.extend_from_slice(b"\"from\":");
    json::address(out, &frame.from);
    out.extend_from_slice(b",\"gas\":");
    json::quantity(out, frame.gas);
    if frame.kind.is_create() {
        out.extend_from_slice(b",\"init\":");
        json::data(out, &frame.input);
    } else {
        out.extend_from_slice(b",\"input\":");
        json::data(out, &frame.input);
        out.extend_from_slice(b",\"to\":");
        json::address(out, &frame.to);
    }
    out.extend_from_slice(b",\"value\":");
    json::big(out, &frame.value);
    out.push(b'}');
}

fn write_result(frame: &FlatCall, out: &mut Vec<u8>) {
    out.push(b'{');
    if frame.kind.is_create() {
        // A contract that was not created has no address.
        if frame.error.is_none() {
            out.extend_from_slice(b"\"address\":");
            json::address(out, &frame.to);
            out.push(b',');
        }
        out.extend_from_slice(b"\"code\":");
        json::data(out, &frame.output);
        out.push(b',');
    }
    out.extend_from_slice(b"\"gasUsed\":");
    json::quantity(out, frame.gas_used);
    if !frame.kind.is_create() {
        out.extend_from_slice(b",\"output\":");
        json::data(out, &frame.output);
    }
    out.push(b'}');
}

/// Parity's text for an error, if it has one.
fn parity_text(text: &str) -> Option<&'static str> {
    Some(match text {
        "contract creation code storage out of gas"
        | "out of gas"
        | "gas uint64 overflow"
        | "max code size exceeded" => "Out of gas",
        "invalid jump destination" => "Bad jump destination",
        "execution reverted" => "Reverted",
        "return data out of bounds" => "Out of bounds",
        "stack limit reached 1024 (1023)" => "Out of stack",
        "precompiled failed" | "invalid input length" => "Built-in failed",
        text if text.starts_with("invalid opcode:") => "Bad instruction",
        text if text.starts_with("stack underflow") => "Stack underflow",
        _ => return None,
    })
}
