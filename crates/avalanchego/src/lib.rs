//! AvalancheGo as a source of final blocks, for a node that follows it.
//!
//! Every container of its block indexes is a block of the proposer VM around the chain's own block. [`outer`] takes
//! that off; [`ChainFeed`] checks that each container and each block follows the one before; [`Order`] merges the three
//! chains so that each block finds what it imports; [`IndexClient`] asks the node; [`Source`] is all of it together.
//!
//! Signatures of outer blocks are not checked: the followed node has decided, and the reader trusts it. Nothing here
//! knows the chains' blocks: a [`BlockReader`] reads them, and [`SharedMemory`] is asked for what is accepted.

#![warn(
    clippy::wildcard_enum_match_arm,
    clippy::cast_possible_truncation,
    clippy::arithmetic_side_effects
)]

mod block;
mod chain_feed;
mod client;
mod connection;
mod error;
mod order;
pub mod outer;
mod source;

pub use block::{Block, BlockReader, Blocked, Chain, ChainIds, Export, Import, InnerBlock, Shared};
pub use chain_feed::{ChainFeed, FeedError, FeedFault};
pub use client::{Container, Containers, IndexClient, MAX_ANSWER_LEN};
pub use error::{ClientError, PortError};
pub use order::{
    MAX_HANDED_OUT, MAX_WAITING_BLOCKS, MAX_WAITING_BYTES, Next, Order, OrderError, SharedMemory,
};
pub use outer::{Outer, OuterError, OuterKind};
pub use source::{Accepted, Source, SourceError, Start, Step, Waiting};
