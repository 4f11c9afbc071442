//! What accepted blocks changed, for subscribers.
//!
//! - `block`: a block with each UTXO that its transactions created, consumed, exported and imported; made of the
//!   executed block.
//! - `reader`: the same, made of the store.
//! - `hub`: the newest blocks, the blocks that rewinds removed, and the connections that wait for more.
//! - `slots`: how many subscriptions there are.
//!
//! A subscriber has a height, not a queue: it takes the block at its height from the hub if that is one of the newest
//! ones, else from the store. So past and new blocks are the same to it, and one that does not read keeps nothing.

mod block;
mod hub;
mod reader;
mod slots;

pub(crate) use block::{BlockEvent, ChangeKind, Holding, TxEvent, UtxoChange, peer};
pub(crate) use hub::{EventHub, MAX_REMOVED_BLOCKS, MAX_REMOVED_BYTES, NextBlock, Place, Rewind};
pub(crate) use reader::EventReader;
pub(crate) use slots::{KINDS, Slot};
