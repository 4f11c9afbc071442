//! The data of an EVM chain: the forms of blocks and accounts, the state with its tries, and the index of logs.
//!
//! - [`types`]: header, block, account and receipt in the forms of the C-Chain.
//! - [`trie`]: the state tries, whose nodes are stored by path.
//! - [`state`]: accounts, storage and code, at the tip and at any height that is kept.
//! - [`blocks`]: accepted blocks and their receipts in the store.
//! - [`logs`]: the index of logs.
//! - [`addresses`]: the index of addresses.
//! - [`not_fetched`]: the error of state that is not here yet, on a chain that began on top of another node's block.
//!
//! Nothing here executes code or depends on the fork of a block: `esker-evm-execution`, above this crate, does. The
//! rules define the form of accounts through [`types::AccountCodec`].

pub mod addresses;
pub mod blocks;
pub mod logs;
pub mod not_fetched;
pub mod state;
pub mod trie;
pub mod types;
