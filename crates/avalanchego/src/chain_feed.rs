//! The containers of one chain, in the order of its index: each is checked to follow the one before.

use bytes::Bytes;
use esker_primitives::BlockId;
use thiserror::Error;

use crate::block::{Block, BlockReader, Chain};
use crate::error::PortError;
use crate::outer::{Outer, OuterError};

/// The position in the index of one chain.
#[derive(Clone, Debug)]
pub struct ChainFeed {
    chain: Chain,
    last: Last,
}

/// The last block. Of genesis, which is in no index, the ID of P is not known.
#[derive(Clone, Debug)]
struct Last {
    height: u64,
    outer: Option<BlockId>,
    inner: Option<BlockId>,
}

/// The reason why a container is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{chain}, container {index}: {fault}")]
pub struct FeedError {
    /// The chain.
    pub chain: Chain,
    /// The index at which the container was asked for.
    pub index: u64,
    /// The fault.
    pub fault: FeedFault,
}

/// A fault of a container.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FeedFault {
    /// It has no outer block, or can't be parsed.
    #[error(transparent)]
    Outer(#[from] OuterError),
    /// Its ID is not the hash of its bytes.
    #[error("its ID is {computed}, not {given}")]
    Id {
        /// The hash of the bytes.
        computed: BlockId,
        /// The ID that the index reports.
        given: BlockId,
    },
    /// It does not follow the container before.
    #[error("its parent {found} is not the container before, {expected}")]
    OuterParent {
        /// Its parent.
        found: BlockId,
        /// The last container.
        expected: BlockId,
    },
    /// The chain's own block can't be parsed.
    #[error("its block can't be read: {0}")]
    Block(String),
    /// The chain's own block does not follow the one before.
    #[error("the parent of its block, {found}, is not the block before, {expected}")]
    InnerParent {
        /// Its parent.
        found: BlockId,
        /// The last block.
        expected: BlockId,
    },
    /// The index has a gap, or does not begin at height 1.
    #[error(
        "its block has height {found}, expected {expected}: the index has gaps or begins later than the chain, and the \
         node can't be followed"
    )]
    Height {
        /// Its height.
        found: u64,
        /// The height after the last one.
        expected: u64,
    },
    /// The height of an earlier block: the node ended between its two commits, and its chain went on with another block.
    #[error(
        "its block has height {found}, after one of height {last}: the index has a block that the node's chain did not \
         accept, and the node can't be followed"
    )]
    Repeated {
        /// Its height.
        found: u64,
        /// The last height.
        last: u64,
    },
    /// It is another block than the accepted one.
    #[error(
        "its block is not the one of this node at height {height}: the nodes have different chains"
    )]
    Differs {
        /// The height of both.
        height: u64,
    },
}

impl ChainFeed {
    /// Before the first container. `genesis` is the ID of the chain's genesis block, if it is known.
    pub const fn start(chain: Chain, genesis: Option<BlockId>) -> Self {
        Self { chain, last: Last { height: 0, outer: genesis, inner: genesis } }
    }

    /// After the accepted block of a height above 0: `container` is the one at index `height - 1`, and contains that
    /// block.
    ///
    /// # Errors
    /// The container holds another block.
    pub fn resume(
        chain: Chain,
        height: u64,
        accepted: &[u8],
        (given, container): (BlockId, &[u8]),
        reader: &dyn BlockReader,
    ) -> Result<Self, FeedError> {
        let index = height.saturating_sub(1);
        let fault = |fault| FeedError { chain, index, fault };
        let outer = parse(chain, given, container).map_err(fault)?;
        if outer.inner != accepted {
            return Err(fault(FeedFault::Differs { height }));
        }
        let inner = reader.read(chain, accepted).map_err(|error| fault(malformed(error)))?;
        let last = Last { height, outer: Some(outer.id), inner: Some(inner.id) };
        Ok(Self { chain, last })
    }

    /// The index of the next container.
    pub const fn next_index(&self) -> u64 {
        self.last.height
    }

    /// Takes the container at [`Self::next_index`], which the index gives the ID `given`.
    ///
    /// # Errors
    /// It does not follow the last one; the position is unchanged.
    pub fn take(
        &mut self,
        given: BlockId,
        container: &[u8],
        reader: &dyn BlockReader,
    ) -> Result<Block, FeedError> {
        let (chain, index) = (self.chain, self.next_index());
        self.follow(given, container, reader).map_err(|fault| FeedError { chain, index, fault })
    }

    fn follow(
        &mut self,
        given: BlockId,
        container: &[u8],
        reader: &dyn BlockReader,
    ) -> Result<Block, FeedFault> {
        let outer = parse(self.chain, given, container)?;
        let inner = reader.read(self.chain, &outer.inner).map_err(malformed)?;
        // First what tells an index with gaps from another chain.
        let (found, last) = (inner.height, self.last.height);
        if found <= last {
            return Err(FeedFault::Repeated { found, last });
        }
        let expected = last.saturating_add(1);
        if found != expected {
            return Err(FeedFault::Height { found, expected });
        }
        // The first container of P has the ID of P's genesis block, as has the block in it.
        let outer_before = self.last.outer.unwrap_or(inner.parent);
        if outer.parent != outer_before {
            return Err(FeedFault::OuterParent { found: outer.parent, expected: outer_before });
        }
        let inner_before = self.last.inner.unwrap_or(inner.parent);
        if inner.parent != inner_before {
            return Err(FeedFault::InnerParent { found: inner.parent, expected: inner_before });
        }
        let height = inner.height;
        self.last = Last { height, outer: Some(outer.id), inner: Some(inner.id) };
        let (imports, exports) = (inner.imports, inner.exports);
        let bytes: Bytes = outer.inner;
        Ok(Block { chain: self.chain, height, bytes, imports, exports })
    }
}

fn malformed(error: PortError) -> FeedFault {
    FeedFault::Block(error.to_string())
}

fn parse(chain: Chain, given: BlockId, container: &[u8]) -> Result<Outer, FeedFault> {
    let outer = Outer::parse(chain, container)?;
    let computed = outer.id;
    if computed == given { Ok(outer) } else { Err(FeedFault::Id { computed, given }) }
}
