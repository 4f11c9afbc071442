//! A tracer that keeps the calls and events of a transaction as values, for those who show them as text.

use std::cell::RefCell;
use std::rc::Rc;

use alloy_primitives::{Address, B256, Bytes, U256};

use super::{
    FrameEnd, FrameKind, FrameStart, Step, StepFilter, TraceContext, TraceOutput, TraceResult,
    Tracer,
};
use crate::executor::{VmError, opcode};

/// Most items of a tree, besides the ends of open calls.
pub const MAX_TREE_ITEMS: usize = 2000;
/// Most depth of calls.
pub const MAX_TREE_DEPTH: usize = 32;
/// Bytes that are kept of call data, of an output, of an event's data.
pub const MAX_TREE_DATA: usize = 4096;

/// The calls and events of a transaction.
#[derive(Debug, Default)]
pub struct CallTree {
    /// All calls, in the order in which they begin.
    pub calls: Vec<TracedCall>,
    /// Beginnings and ends of calls and the events between them, in order.
    pub items: Vec<TreeItem>,
    /// The number of further calls and events.
    pub left_out: u64,
}

/// A step in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeItem {
    /// A call begins; its place in [`CallTree::calls`].
    Begin(usize),
    /// It ends.
    End(usize),
    /// Code of the innermost call emits an event.
    Event {
        /// The contract.
        address: Address,
        /// Its topics.
        topics: Vec<B256>,
        /// The first bytes of its data.
        data: Bytes,
    },
}

/// A call, or the creation of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedCall {
    /// The instruction that begins it.
    pub kind: FrameKind,
    /// The contract whose code runs, or that is created.
    pub to: Address,
    /// The first bytes of call data or init code.
    pub input: Bytes,
    /// Value, wei; `None` for a STATICCALL.
    pub value: Option<U256>,
    /// Gas that it used.
    pub gas_used: u64,
    /// The first bytes of what it returned.
    pub output: Bytes,
    /// The length of what it returned.
    pub output_len: usize,
    /// The error with which it ended.
    pub error: Option<VmError>,
    /// Whether it ended with SELFDESTRUCT.
    pub is_destroyed: bool,
}

/// Fills a [`CallTree`]. It writes nothing.
#[derive(Debug, Default)]
pub struct TreeTracer {
    tree: Rc<RefCell<CallTree>>,
    /// Open calls; `None`: one that is left out.
    open: Vec<Option<usize>>,
}

impl TreeTracer {
    /// A tracer, and the tree that it fills.
    #[must_use]
    pub fn new() -> (Self, Rc<RefCell<CallTree>>) {
        let tracer = Self::default();
        let tree = Rc::clone(&tracer.tree);
        (tracer, tree)
    }

    /// Whether there is room for one item more of the innermost call; if not, it is counted.
    fn has_room(&self) -> bool {
        let mut tree = self.tree.borrow_mut();
        let is_shown = self.open.last().is_none_or(Option::is_some)
            && self.open.len() <= MAX_TREE_DEPTH
            && tree.items.len() < MAX_TREE_ITEMS;
        tree.left_out += u64::from(!is_shown);
        is_shown
    }
}

fn kept(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(&bytes[..bytes.len().min(MAX_TREE_DATA)])
}

impl Tracer for TreeTracer {
    fn steps(&self) -> StepFilter {
        StepFilter::from_opcodes(opcode::LOG0..=opcode::LOG4)
    }

    fn enter(&mut self, start: &FrameStart<'_>, _: &mut TraceContext<'_, '_>) -> TraceResult {
        let FrameStart { kind, to, input, value, .. } = *start;
        if kind == FrameKind::SelfDestruct {
            if let Some(Some(at)) = self.open.last() {
                self.tree.borrow_mut().calls[*at].is_destroyed = true;
            }
            self.open.push(None);
            return Ok(());
        }
        if !self.has_room() {
            self.open.push(None);
            return Ok(());
        }
        let mut tree = self.tree.borrow_mut();
        let at = tree.calls.len();
        tree.calls.push(TracedCall {
            kind,
            to,
            input: kept(input),
            value,
            gas_used: 0,
            output: Bytes::new(),
            output_len: 0,
            error: None,
            is_destroyed: false,
        });
        tree.items.push(TreeItem::Begin(at));
        self.open.push(Some(at));
        Ok(())
    }

    fn exit(&mut self, end: &FrameEnd<'_>, _: &mut TraceContext<'_, '_>) -> TraceResult {
        let Some(Some(at)) = self.open.pop() else { return Ok(()) };
        let mut tree = self.tree.borrow_mut();
        tree.items.push(TreeItem::End(at));
        let call = &mut tree.calls[at];
        call.gas_used = end.gas_used;
        call.output = kept(end.output);
        call.output_len = end.output.len();
        call.error = end.error.cloned();
        Ok(())
    }

    fn step(&mut self, step: &Step<'_>, _: &mut TraceContext<'_, '_>) -> TraceResult {
        let (Some(start), Some(length)) = (step.peek(0), step.peek(1)) else { return Ok(()) };
        if step.error.is_some() || !self.has_room() {
            return Ok(());
        }
        let length = length.min(U256::from(MAX_TREE_DATA));
        let topics = usize::from(step.op - opcode::LOG0);
        self.tree.borrow_mut().items.push(TreeItem::Event {
            address: step.address(),
            topics: (0..topics).filter_map(|at| step.peek(2 + at)).map(B256::from).collect(),
            data: step.memory_padded(start, length).into(),
        });
        Ok(())
    }

    fn write(&mut self, _: &mut dyn TraceOutput) -> TraceResult {
        Ok(())
    }
}
