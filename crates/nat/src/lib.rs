//! Moving assets between the C-Chain and the other chains: atomic transactions, which EVM blocks carry beside
//! their own (c-chain.md 5).
//!
//! - [`txs`]: imports and exports, their bytes, IDs and gas; how a block carries them.
//! - [`money`]: the two units of the native asset, which are converted nowhere else.
//!
//! Nothing here runs EVM code, and `evm` knows nothing of UTXOs: the two meet in `evm`'s port for extensions.
//!
//! Start with [`txs::AtomicTx`].

#![warn(
    clippy::wildcard_enum_match_arm,
    clippy::cast_possible_truncation,
    clippy::arithmetic_side_effects
)]

pub mod money;
pub mod txs;
