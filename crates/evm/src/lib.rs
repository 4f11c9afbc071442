//! The C-Chain: an EVM chain with real state, rules and fees.
//!
//! - [`types`]: header, block, account and receipt, whose forms are this chain's own.
//! - [`blocks`]: accepted blocks and their receipts in the store.
//! - [`state`]: accounts, storage and code, at the tip and at any height that is kept.
//! - [`trie`]: the state tries, their nodes stored by path.
//! - [`oracle`]: what fees are suggested.
//! - [`accounts`]: accounts whose keys the node holds.
//! - [`pool`]: transactions that wait for a block.
//! - [`rules`]: what holds when, one file a fork phase; nothing else asks which chain it is.
//! - [`executor`]: running transactions, with revm.
//! - [`call`]: calls that nobody signed, gas estimates, access lists.
//! - [`simulate`]: blocks of calls that are not made.
//! - [`extension`]: the port for what blocks carry beside EVM transactions.
//! - [`view`]: what services read of the chain and of the pool.
//! - [`logs`]: which blocks may hold a log.
//! - [`genesis`]: the first block.
//! - [`verify`]: verifying blocks, and giving one's own their final form.

pub mod accounts;
mod audit;
pub mod blocks;
pub mod call;
pub mod chain;
pub mod executor;
pub mod extension;
pub mod genesis;
pub mod logs;
pub mod oracle;
pub mod pool;
pub mod rules;
pub mod simulate;
pub mod state;
pub mod trie;
pub mod types;
pub mod verify;
pub mod view;
