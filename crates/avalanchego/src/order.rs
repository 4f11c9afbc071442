//! The blocks of three chains in an order in which each finds what it imports (docs/protocol/avalanchego.md, "Order").
//!
//! Timestamps are no order: on a node that bootstrapped, an import stands before its export. A block waits at the head
//! of its chain until what it imports is in shared memory, or was exported by a block that was handed out before.

use std::collections::{BTreeSet, VecDeque};

use crate::block::{Block, Blocked, Chain, ChainIds, Import, Shared};
use crate::error::PortError;

/// Most blocks of one chain that wait.
pub const MAX_WAITING_BLOCKS: usize = 4096;
/// Bytes of waiting blocks of one chain from which on no further one is taken.
pub const MAX_WAITING_BYTES: usize = 32 << 20;
/// Most blocks that were handed out and are not accepted yet.
pub const MAX_HANDED_OUT: usize = 1024;

/// Accepted shared memory.
pub trait SharedMemory: Send + Sync {
    /// Whether a UTXO is there in the accepted state.
    ///
    /// # Errors
    /// The store's.
    fn contains(&self, utxo: &Shared) -> Result<bool, PortError>;
}

/// The result of [`Order::next`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// The next block.
    Block(Block),
    /// Every waiting block waits for another one; empty: no block waits.
    Blocked(Vec<Blocked>),
    /// [`MAX_HANDED_OUT`] blocks are not accepted yet.
    Full,
}

/// The reason why there is no order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// A block imports from a chain that is not followed.
    #[error(
        "block {height} of the {chain} imports from chain {source_chain}, which is not followed"
    )]
    UnknownSource {
        /// The block's chain.
        chain: Chain,
        /// Its height.
        height: u64,
        /// The source.
        source_chain: esker_primitives::ChainId,
    },
    /// Blocks of several chains wait for each other.
    #[error("the chains wait for each other, so their blocks can't be those of one network: {0}")]
    Circle(Blocked),
    /// The store failed.
    #[error("shared memory can't be read: {0}")]
    Memory(String),
}

/// Merges the blocks of the chains.
#[derive(Debug)]
pub struct Order {
    ids: ChainIds,
    waiting: [WaitingBlocks; 3],
    /// Blocks that were handed out and are not accepted yet, and what they export.
    handed_out: VecDeque<(Chain, u64, Vec<Shared>)>,
    exported: BTreeSet<Shared>,
}

#[derive(Debug, Default)]
struct WaitingBlocks {
    blocks: VecDeque<Block>,
    bytes: usize,
}

impl Order {
    /// Without blocks.
    pub fn new(ids: ChainIds) -> Self {
        let (waiting, handed_out) = (Default::default(), VecDeque::new());
        Self { ids, waiting, handed_out, exported: BTreeSet::new() }
    }

    /// Whether a further block of that chain is taken.
    pub fn has_room(&self, chain: Chain) -> bool {
        let waiting = &self.waiting[chain.position()];
        waiting.blocks.len() < MAX_WAITING_BLOCKS && waiting.bytes < MAX_WAITING_BYTES
    }

    /// Blocks of a chain that wait.
    pub fn waiting(&self, chain: Chain) -> usize {
        self.waiting[chain.position()].blocks.len()
    }

    /// Adds the next block of its chain. The caller has asked [`Self::has_room`], or adds the rest of one answer.
    pub fn push(&mut self, block: Block) {
        let waiting = &mut self.waiting[block.chain.position()];
        waiting.bytes = waiting.bytes.saturating_add(block.bytes.len());
        waiting.blocks.push_back(block);
    }

    /// The next block whose imports are there.
    pub fn next(&mut self, memory: &dyn SharedMemory) -> Result<Next, OrderError> {
        if self.handed_out.len() >= MAX_HANDED_OUT {
            return Ok(Next::Full);
        }
        let mut blocked = Vec::new();
        for chain in Chain::ALL {
            let Some(block) = self.waiting[chain.position()].blocks.front() else { continue };
            match self.missing(block, memory)? {
                Some(missing) => blocked.push(missing),
                None => return Ok(self.hand_out(chain)),
            }
        }
        self.check_circle(&blocked)?;
        Ok(Next::Blocked(blocked))
    }

    fn hand_out(&mut self, chain: Chain) -> Next {
        let waiting = &mut self.waiting[chain.position()];
        let Some(block) = waiting.blocks.pop_front() else { return Next::Blocked(Vec::new()) };
        waiting.bytes = waiting.bytes.saturating_sub(block.bytes.len());
        let source = self.ids.id_of(chain);
        let shared = |export: &crate::block::Export| Shared {
            source,
            destination: export.destination,
            key: export.key,
        };
        let exports: Vec<Shared> = block.exports.iter().map(shared).collect();
        self.exported.extend(exports.iter().copied());
        self.handed_out.push_back((chain, block.height, exports));
        Next::Block(block)
    }

    /// The first import of a block that is not there.
    fn missing(
        &self,
        block: &Block,
        memory: &dyn SharedMemory,
    ) -> Result<Option<Blocked>, OrderError> {
        let (chain, height) = (block.chain, block.height);
        let destination = self.ids.id_of(chain);
        for Import { source, utxo } in &block.imports {
            let key = utxo.input_id();
            let shared = Shared { source: *source, destination, key };
            let unreadable = |error: PortError| OrderError::Memory(error.to_string());
            let there =
                self.exported.contains(&shared) || memory.contains(&shared).map_err(unreadable)?;
            if there {
                continue;
            }
            let unknown = OrderError::UnknownSource { chain, height, source_chain: *source };
            let source = self.ids.chain(source).ok_or(unknown)?;
            let (tx_id, output_index) = (utxo.tx_id, utxo.output_index);
            return Ok(Some(Blocked { chain, height, source, tx_id, output_index }));
        }
        Ok(None)
    }

    /// A chain that waits for one that has no block here may go on with that one's next block. Otherwise the chains wait
    /// for each other, for ever.
    fn check_circle(&self, blocked: &[Blocked]) -> Result<(), OrderError> {
        let waits_for = |chain: Chain| blocked.iter().find(|blocked| blocked.chain == chain);
        for start in blocked {
            let mut at = Some(start);
            for _ in Chain::ALL {
                at = at.and_then(|blocked| waits_for(blocked.source));
            }
            if at.is_some() {
                return Err(OrderError::Circle(*start));
            }
        }
        Ok(())
    }

    /// The blocks of a chain up to that height are accepted: what they exported is in shared memory.
    pub fn accepted(&mut self, chain: Chain, height: u64) {
        let exported = &mut self.exported;
        self.handed_out.retain(|(of, at, exports)| {
            let is_accepted = *of == chain && *at <= height;
            if is_accepted {
                exports.iter().for_each(|shared| {
                    exported.remove(shared);
                });
            }
            !is_accepted
        });
    }
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
