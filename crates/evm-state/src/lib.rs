//! What an EVM chain is made of: the forms of blocks and accounts, the state with its tries, and the index of logs.
//!
//! - [`types`]: header, block, account and receipt, whose forms are the C-Chain's own.
//! - [`trie`]: the state tries, their nodes stored by path.
//! - [`state`]: accounts, storage and code, at the tip and at any height that is kept.
//! - [`blocks`]: accepted blocks and their receipts in the store.
//! - [`logs`]: which blocks may hold a log.
//!
//! Nothing here runs code, and nothing asks which fork a block belongs to: that is `esker-evm-execution`, which stands above.
//! What a set of rules decides about the state comes in through [`types::AccountCodec`].

pub mod blocks;
pub mod logs;
pub mod state;
pub mod trie;
pub mod types;
