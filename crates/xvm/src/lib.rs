//! The asset VM: a chain of UTXO transactions over any number of assets, the X-Chain among others.
//!
//! Consensus data ([`txs`], [`block`], [`genesis`]) is immutable and carries what is derived from it; its
//! rules that need no state are plain functions ([`verify::syntactic`]); its rendering ([`json`]) knows of
//! the outside no more than an address format.
//!
//! Start with [`txs::Tx`].

#![warn(
    clippy::wildcard_enum_match_arm,
    clippy::cast_possible_truncation,
    clippy::arithmetic_side_effects
)]

pub mod block;
pub mod genesis;
pub mod json;
pub mod txs;
pub mod verify;
