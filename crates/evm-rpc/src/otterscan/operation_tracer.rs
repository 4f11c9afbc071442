//! What code sends, creates and destroys, in the form of Erigon's `ots_getInternalOperations`.

use alloy_primitives::{Address, U256};
use esker_evm_execution::trace::{
    FrameKind, FrameStart, TraceContext, TraceOutput, TraceResult, Tracer, json,
};
use schemars::JsonSchema;

use super::entry_tracer::separate;
use crate::wire::{Addr, Big};

/// Bytes that an operation counts.
const OPERATION_BYTES: usize = 100;

/// An operation, in documents.
#[derive(JsonSchema)]
#[schemars(rename = "OtsInternalOperation")]
#[expect(dead_code, reason = "for documents")]
pub(super) struct InternalOperation {
    /// 0: a transfer, 1: SELFDESTRUCT, 2: CREATE, 3: CREATE2.
    #[serde(rename = "type")]
    kind: u8,
    from: Addr,
    to: Addr,
    /// Wei.
    value: Big,
}

/// Collects the operations in their order. Those of calls that are reverted later count, too.
#[derive(Debug, Default)]
pub(super) struct OperationTracer(Vec<(u8, Address, Address, U256)>);

impl Tracer for OperationTracer {
    fn enter(&mut self, start: &FrameStart<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        let FrameStart { kind, depth, from, to, value, .. } = *start;
        let value = value.unwrap_or_default();
        let number = match kind {
            FrameKind::Call if !value.is_zero() => 0,
            FrameKind::SelfDestruct => 1,
            FrameKind::Create => 2,
            FrameKind::Create2 => 3,
            FrameKind::Call
            | FrameKind::CallCode
            | FrameKind::DelegateCall
            | FrameKind::StaticCall => return Ok(()),
        };
        // The transaction itself is no internal operation.
        if depth > 0 {
            context.out.hold(OPERATION_BYTES)?;
            self.0.push((number, from, to, value));
        }
        Ok(())
    }

    fn write(&mut self, out: &mut dyn TraceOutput) -> TraceResult {
        out.buffer().push(b'[');
        for (at, (kind, from, to, value)) in self.0.iter().enumerate() {
            separate(at, out)?;
            let out = out.buffer();
            out.extend_from_slice(b"{\"type\":");
            json::decimal(out, u64::from(*kind));
            out.extend_from_slice(b",\"from\":");
            json::address(out, from);
            out.extend_from_slice(b",\"to\":");
            json::address(out, to);
            out.extend_from_slice(b",\"value\":");
            json::big(out, value);
            out.push(b'}');
        }
        out.buffer().push(b']');
        Ok(())
    }
}
