//! Calls with the place of their transaction, in a list.

use std::cell::RefCell;
use std::rc::Rc;

use alloy_primitives::map::AddressSet;

use super::call::write_members;
use crate::trace::flat_calls::{FlatCall, FlatCalls};
use crate::trace::tracers::separate;
use crate::trace::{
    FrameEnd, FrameStart, TraceContext, TraceOutput, TraceResult, Tracer, TxPlace, TxStart, json,
};

/// Which calls get into a list.
#[derive(Clone, Debug)]
pub enum Selection {
    /// Each one.
    All,
    /// The one with this `traceAddress`.
    At(Vec<u64>),
    /// Those that a filter lets through.
    Matching(CallFilter),
}

/// Calls by their addresses.
#[derive(Clone, Debug, Default)]
pub struct CallFilter {
    /// Callers; none: any.
    pub from: AddressSet,
    /// Called accounts, created contracts, and recipients of SELFDESTRUCT; none: any.
    pub to: AddressSet,
    /// Whether both must be there if both are given, not only one of them.
    pub is_intersection: bool,
    /// Matching calls that are left out first.
    pub after: u64,
    /// Most calls.
    pub count: Option<u64>,
}

impl CallFilter {
    fn lets_through(&self, call: &FlatCall) -> bool {
        let (from, to) = (self.from.contains(&call.from), self.to.contains(&call.to));
        match (self.from.is_empty(), self.to.is_empty()) {
            (true, true) => true,
            (false, true) => from,
            (true, false) => to,
            (false, false) if self.is_intersection => from && to,
            (false, false) => from || to,
        }
    }
}

/// A list that the tracers of several transactions write to. The brackets are not part of it.
#[derive(Clone, Debug)]
pub struct CallList(Rc<RefCell<Listed>>);

#[derive(Debug)]
struct Listed {
    selection: Selection,
    /// Matching calls so far.
    matched: u64,
    written: usize,
}

impl CallList {
    /// An empty list.
    pub fn new(selection: Selection) -> Self {
        Self(Rc::new(RefCell::new(Listed { selection, matched: 0, written: 0 })))
    }

    /// The number of calls in the list.
    pub fn len(&self) -> usize {
        self.0.borrow().written
    }

    /// Whether there are no calls in the list.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether no further call gets into the list.
    pub fn is_full(&self) -> bool {
        let listed = self.0.borrow();
        match &listed.selection {
            Selection::All => false,
            Selection::At(_) => listed.written > 0,
            Selection::Matching(filter) => {
                filter.count.is_some_and(|count| listed.written as u64 >= count)
            }
        }
    }

    /// A tracer that adds the calls of a transaction.
    pub fn tracer(&self) -> ListTracer {
        ListTracer {
            list: self.clone(),
            calls: FlatCalls::default(),
            place: TxPlace::default(),
            block_number: 0,
        }
    }

    /// Counts a call. Returns whether it gets into the list.
    fn takes(&self, call: &FlatCall, place: &[u64]) -> bool {
        if self.is_full() {
            return false;
        }
        let listed = &mut *self.0.borrow_mut();
        match &listed.selection {
            Selection::All => true,
            Selection::At(wanted) => wanted == place,
            Selection::Matching(filter) => {
                let is_matching = filter.lets_through(call);
                listed.matched += u64::from(is_matching);
                is_matching && listed.matched > filter.after
            }
        }
    }
}

/// Adds the calls of a transaction to a list, those of precompiled contracts too.
#[derive(Debug)]
pub struct ListTracer {
    list: CallList,
    calls: FlatCalls,
    place: TxPlace,
    block_number: u64,
}

impl ListTracer {
    fn write_call(&self, call: &FlatCall, place: &[u64], out: &mut Vec<u8>) {
        out.push(b'{');
        write_members(call, place, out);
        out.extend_from_slice(b",\"blockHash\":");
        json::optional_hash(out, self.place.block_hash.as_ref());
        out.extend_from_slice(b",\"blockNumber\":");
        json::decimal(out, self.block_number);
        out.extend_from_slice(b",\"transactionHash\":");
        json::optional_hash(out, self.place.tx_hash.as_ref());
        out.extend_from_slice(b",\"transactionPosition\":");
        json::decimal(out, self.place.tx_index.unwrap_or_default() as u64);
        out.push(b'}');
    }
}

impl Tracer for ListTracer {
    fn start(&mut self, tx: &TxStart<'_>, _: &mut TraceContext<'_, '_>) -> TraceResult {
        self.place = tx.place;
        self.block_number = tx.block.number.saturating_to();
        Ok(())
    }

    fn enter(&mut self, start: &FrameStart<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        self.calls.enter(start, context.out)
    }

    fn exit(&mut self, end: &FrameEnd<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        self.calls.exit(end, context.out)
    }

    fn write(&mut self, out: &mut dyn TraceOutput) -> TraceResult {
        let calls = std::mem::take(&mut self.calls);
        calls.each(|call, place| {
            if self.list.takes(call, place) {
                separate(self.list.len(), out)?;
                self.list.0.borrow_mut().written += 1;
                self.write_call(call, place, out.buffer());
            }
            Ok(())
        })?;
        out.release();
        Ok(())
    }
}
