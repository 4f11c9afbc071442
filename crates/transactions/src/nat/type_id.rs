//! Type IDs of the C-Chain's codec where they differ from the asset VM's, and the Go names that its decode
//! errors show (docs/protocol/atomic-transactions.md, "Atomic type IDs").

use esker_primitives::codec::CodecError;
use esker_utxo::type_id as shared;

/// `evm.UnsignedImportTx`.
pub const IMPORT: u32 = 0;
/// `evm.UnsignedExportTx`.
pub const EXPORT: u32 = 1;
/// `secp256k1fx.Input`.
pub const SECP_INPUT: u32 = 10;
/// `secp256k1fx.OutputOwners`.
pub const OUTPUT_OWNERS: u32 = 11;

/// The interface that a whole transaction has.
pub(super) const UNSIGNED_TX: &str = "evm.UnsignedAtomicTx";

/// The Go type of an ID of this codec.
fn go_type(type_id: u32) -> Option<&'static str> {
    match type_id {
        IMPORT => Some("*evm.UnsignedImportTx"),
        EXPORT => Some("*evm.UnsignedExportTx"),
        SECP_INPUT => Some("*secp256k1fx.Input"),
        OUTPUT_OWNERS => Some("*secp256k1fx.OutputOwners"),
        shared::SECP_TRANSFER_INPUT..=shared::SECP_CREDENTIAL => shared::go_type(type_id),
        _ => None,
    }
}

/// The fault for a type ID that does not fit a slot of this codec.
pub(super) fn wrong_type_id(type_id: u32, interface: &'static str) -> CodecError {
    match go_type(type_id) {
        Some(go_type) => CodecError::WrongInterface { go_type, interface },
        None => CodecError::UnknownTypeId(type_id),
    }
}

/// A fault of decoding what both codecs share, in the terms of this one.
pub fn translated(fault: CodecError) -> CodecError {
    if let CodecError::WrongInterface { go_type, interface } = fault
        && let Some(type_id) = shared::of_go_type(go_type)
    {
        return wrong_type_id(type_id, interface);
    }
    fault
}
