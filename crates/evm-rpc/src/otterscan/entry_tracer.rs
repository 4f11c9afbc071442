//! All calls of a transaction, in the form of Erigon's `ots_traceTransaction`.

use alloy_primitives::map::AddressSet;
use alloy_primitives::{Address, Bytes, U256};
use esker_evm_execution::trace::{
    FrameEnd, FrameKind, FrameStart, TraceContext, TraceError, TraceOutput, TraceResult, Tracer,
    TxStart, json,
};
use schemars::JsonSchema;

use crate::wire::{Addr, Big, HexRef};

/// Bytes that a call counts besides its data.
const ENTRY_BYTES: usize = 300;
/// Bytes that are written between two checkpoints.
const CHUNK: usize = 16 * 1024;

/// A call, in documents.
#[derive(JsonSchema)]
#[schemars(rename = "OtsTraceEntry")]
#[expect(dead_code, reason = "for documents")]
pub(super) struct TraceEntry {
    /// The instruction.
    #[serde(rename = "type")]
    kind: String,
    /// 0 for the transaction itself.
    depth: u64,
    from: Addr,
    to: Addr,
    /// Null for DELEGATECALL and STATICCALL.
    value: Option<Big>,
    input: HexRef<'static>,
    output: HexRef<'static>,
}

/// Collects the calls in the order in which they begin, without those of precompiled contracts.
#[derive(Debug, Default)]
pub(super) struct EntryTracer {
    entries: Vec<Entry>,
    /// Open calls; `None`: one that is left out.
    open: Vec<Option<usize>>,
    precompiles: AddressSet,
}

#[derive(Debug)]
struct Entry {
    kind: FrameKind,
    depth: usize,
    from: Address,
    to: Address,
    value: U256,
    input: Bytes,
    output: Bytes,
}

impl Tracer for EntryTracer {
    fn start(&mut self, tx: &TxStart<'_>, _: &mut TraceContext<'_, '_>) -> TraceResult {
        self.precompiles.clone_from(tx.precompiles);
        Ok(())
    }

    fn enter(&mut self, start: &FrameStart<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        let FrameStart { kind, depth, from, to, input, value, .. } = *start;
        if kind.is_call() && self.precompiles.contains(&to) {
            self.open.push(None);
            return Ok(());
        }
        context.out.hold(input.len() + ENTRY_BYTES)?;
        self.open.push(Some(self.entries.len()));
        let (value, input, output) = (value.unwrap_or_default(), input.clone(), Bytes::new());
        self.entries.push(Entry { kind, depth, from, to, value, input, output });
        Ok(())
    }

    fn exit(&mut self, end: &FrameEnd<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        let Some(Some(at)) = self.open.pop() else { return Ok(()) };
        context.out.hold(end.output.len())?;
        self.entries[at].output = end.output.clone();
        Ok(())
    }

    fn write(&mut self, out: &mut dyn TraceOutput) -> TraceResult {
        out.buffer().push(b'[');
        for (at, entry) in self.entries.iter().enumerate() {
            separate(at, out)?;
            entry.write(out.buffer());
        }
        out.buffer().push(b']');
        Ok(())
    }
}

impl Entry {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(self.kind.name().as_bytes());
        out.extend_from_slice(b"\",\"depth\":");
        json::decimal(out, self.depth as u64);
        out.extend_from_slice(b",\"from\":");
        json::address(out, &self.from);
        out.extend_from_slice(b",\"to\":");
        json::address(out, &self.to);
        out.extend_from_slice(b",\"value\":");
        match self.kind {
            FrameKind::DelegateCall | FrameKind::StaticCall => out.extend_from_slice(b"null"),
            FrameKind::Call
            | FrameKind::CallCode
            | FrameKind::Create
            | FrameKind::Create2
            | FrameKind::SelfDestruct => json::big(out, &self.value),
        }
        out.extend_from_slice(b",\"input\":");
        json::data(out, &self.input);
        out.extend_from_slice(b",\"output\":");
        json::data(out, &self.output);
        out.push(b'}');
    }
}

/// Writes the separator before an element of a list.
pub(super) fn separate(index: usize, out: &mut dyn TraceOutput) -> TraceResult {
    if out.buffer().len() > CHUNK {
        out.checkpoint().map_err(TraceError::from)?;
    }
    if index > 0 {
        out.buffer().push(b',');
    }
    Ok(())
}
