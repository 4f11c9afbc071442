//! The transactions of the chains as data: their types, bytes, IDs, signatures and JSON forms.
//!
//! Clients build and read them without a chain: nothing here knows a store, a rule that needs one, or a clock. Which
//! of them are valid, and what they change, is in the crates of the chains.
//!
//! Start with [`xvm::Tx`], a transaction of an asset-VM chain, and [`nat::AtomicTx`], an import or export of the
//! C-Chain; what both consist of is in `esker-utxo`.

#![warn(
    clippy::wildcard_enum_match_arm,
    clippy::cast_possible_truncation,
    clippy::arithmetic_side_effects
)]

pub mod money;
pub mod nat;
pub mod xvm;
