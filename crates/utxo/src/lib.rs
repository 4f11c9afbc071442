//! Unspent outputs and what consumes them: outputs, inputs, credentials, operations, and the rules of the three
//! feature extensions (secp256k1, nft, property) about who may spend what.
//!
//! Everything here is consensus data: each type has one canonical byte form ([`Encode`], [`Decode`]) and
//! its decode faults are those of the reference, Go type names included. Rules are plain functions of
//! their arguments: nothing here reads a clock, a database or a configuration, and no type derives
//! serde: [`json`] renders them for services.
//!
//! Start with [`Output`] and [`Utxo`]; the spending rules are in [`fx`]; [`Keychain`] is what wallets spend
//! with; [`SignedTx`] is a transaction of any chain that exchanges them.
//!
//! [`Encode`]: esker_primitives::codec::Encode
//! [`Decode`]: esker_primitives::codec::Decode

#![warn(
    clippy::wildcard_enum_match_arm,
    clippy::cast_possible_truncation,
    clippy::arithmetic_side_effects
)]

pub mod fx;
pub mod json;
pub mod type_id;

mod credential;
mod flow;
mod input;
mod keychain;
mod operation;
mod output;
mod owners;
mod signed;
mod utxo;

pub use credential::{Credential, CredentialSlot, NonCredential};
pub use flow::{FlowChecker, FlowError};
pub use fx::{FxError, FxKind, SignerRecovery, Signers, Witness};
pub use input::{TransferInput, TransferableInput};
pub use keychain::{Keychain, SigningOwners};
pub use operation::{
    FxOperation, NftMintOperation, NftTransferOperation, PropertyMintOperation, SecpMintOperation,
};
pub use output::{
    MAX_NFT_PAYLOAD, NftMintOutput, NftTransferOutput, Output, TransferOutput, TransferableOutput,
};
pub use owners::OutputOwners;
pub use signed::{ProducesUtxos, SignedTx, Unsigned};
pub use utxo::{Utxo, UtxoId};
