//! The chain itself, driven without HTTP over a store in memory.

mod address_txs;
mod blocks;
mod conservation;
mod crash;
mod follow;
mod follow_keys;
mod free;
mod issue;
mod keys;
mod keys_pool;
mod keys_wallet;
mod pages;
mod replay;
mod shared;
mod status;
mod wallet;
mod world;
