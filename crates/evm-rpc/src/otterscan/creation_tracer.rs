//! Finds the creation of a contract in a transaction.

use std::cell::RefCell;
use std::rc::Rc;

use alloy_primitives::Address;
use esker_evm_execution::trace::{
    FrameEnd, FrameStart, TraceContext, TraceOutput, TraceResult, Tracer,
};

/// The index of a transaction, and the account that created the contract in it.
pub(super) type FoundCreation = Rc<RefCell<Option<(usize, Address)>>>;

/// Notes the last creation of a contract that is not reverted. It writes nothing.
#[derive(Debug)]
pub(super) struct CreationTracer {
    contract: Address,
    /// Index of the transaction.
    index: usize,
    found: FoundCreation,
    /// Creators in calls that have not failed so far.
    creators: Vec<Address>,
    /// Open calls: the caller of a creation of the contract, and the number of creators before.
    open: Vec<(Option<Address>, usize)>,
}

impl CreationTracer {
    pub(super) fn new(contract: Address, index: usize, found: FoundCreation) -> Self {
        Self { contract, index, found, creators: Vec::new(), open: Vec::new() }
    }
}

impl Tracer for CreationTracer {
    fn enter(&mut self, start: &FrameStart<'_>, _: &mut TraceContext<'_, '_>) -> TraceResult {
        let is_creation = start.kind.is_create() && start.to == self.contract;
        self.open.push((is_creation.then_some(start.from), self.creators.len()));
        Ok(())
    }

    fn exit(&mut self, end: &FrameEnd<'_>, _: &mut TraceContext<'_, '_>) -> TraceResult {
        let Some((creator, before)) = self.open.pop() else { return Ok(()) };
        match end.error {
            Some(_) => self.creators.truncate(before),
            None => self.creators.extend(creator),
        }
        Ok(())
    }

    fn write(&mut self, _: &mut dyn TraceOutput) -> TraceResult {
        if let Some(creator) = self.creators.last() {
            *self.found.borrow_mut() = Some((self.index, *creator));
        }
        Ok(())
    }
}
