//! The calls of a transaction as a list, in the order in which they begin.

use alloy_primitives::map::AddressSet;
use alloy_primitives::{Address, Bytes, U256};

use super::{FrameEnd, FrameKind, FrameStart, TraceOutput, TraceResult};
use crate::executor::VmError;

/// Bytes that a call counts besides its data.
const CALL_BYTES: usize = 400;

/// A call with its result.
#[derive(Debug)]
pub(super) struct FlatCall {
    pub(super) kind: FrameKind,
    pub(super) depth: usize,
    pub(super) from: Address,
    pub(super) to: Address,
    pub(super) gas: u64,
    pub(super) gas_used: u64,
    pub(super) input: Bytes,
    pub(super) output: Bytes,
    pub(super) error: Option<VmError>,
    pub(super) value: U256,
    /// Number of listed calls that it made.
    pub(super) calls: u64,
}

impl FlatCall {
    /// Whether it returned something: it succeeded or reverted.
    pub(super) const fn has_output(&self) -> bool {
        matches!(self.error, None | Some(VmError::Reverted))
    }
}

/// Collects calls.
#[derive(Debug, Default)]
pub(super) struct FlatCalls {
    calls: Vec<FlatCall>,
    /// Open calls, by their index in `calls`.
    open: Vec<usize>,
    /// Contracts whose calls by other contracts are left out.
    unlisted: AddressSet,
}

impl FlatCalls {
    /// Leaves out calls of these contracts, but for the transaction itself.
    pub(super) fn leave_out(&mut self, contracts: &AddressSet) {
        self.unlisted.clone_from(contracts);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The transaction itself.
    pub(super) fn outermost(&mut self) -> Option<&mut FlatCall> {
        self.calls.first_mut()
    }

    /// A frame begins.
    pub(super) fn enter(
        &mut self,
        start: &FrameStart<'_>,
        out: &mut dyn TraceOutput,
    ) -> TraceResult {
        let FrameStart { kind, from, to, input, gas, value, .. } = *start;
        let depth = self.open.len();
        if !self.is_left_out(kind, &to) {
            out.hold(input.len() + CALL_BYTES)?;
        }
        if let Some(caller) = self.open.last() {
            self.calls[*caller].calls += 1;
        }
        self.open.push(self.calls.len());
        self.calls.push(FlatCall {
            kind,
            depth,
            from,
            to,
            gas,
            gas_used: 0,
            input: input.clone(),
            output: Bytes::new(),
            error: None,
            value: value.unwrap_or_default(),
            calls: 0,
        });
        Ok(())
    }

    /// The last frame ends.
    pub(super) fn exit(&mut self, end: &FrameEnd<'_>, out: &mut dyn TraceOutput) -> TraceResult {
        let Some(at) = self.open.pop() else { return Ok(()) };
        if self.is_left_out(end.kind, &self.calls[at].to) {
            self.calls.truncate(at);
            let caller = self.open.last().expect("the outermost frame is never left out");
            self.calls[*caller].calls -= 1;
            return Ok(());
        }
        let call = &mut self.calls[at];
        call.gas_used = end.gas_used;
        call.error = end.error.cloned();
        if call.has_output() {
            out.hold(end.output.len())?;
            call.output = end.output.clone();
        }
        Ok(())
    }

    fn is_left_out(&self, kind: FrameKind, to: &Address) -> bool {
        matches!(kind, FrameKind::Call | FrameKind::StaticCall)
            && !self.open.is_empty()
            && self.unlisted.contains(to)
    }

    /// Shows each call with its place in the tree: the index of each call on the way to it.
    pub(super) fn each(
        &self,
        mut show: impl FnMut(&FlatCall, &[u64]) -> TraceResult,
    ) -> TraceResult {
        let mut place = Vec::<u64>::new();
        for call in &self.calls {
            place.truncate(call.depth);
            match place.len() == call.depth {
                // The next call of the same caller, unless it is the outermost frame.
                true => place.iter_mut().next_back().into_iter().for_each(|last| *last += 1),
                false => place.push(0),
            }
            show(call, &place)?;
        }
        Ok(())
    }
}
