//! Type IDs of the asset VM's codec, in the reference's registration order, and the Go names that its
//! decode errors show (docs/protocol/x-chain-transactions.md, "Type IDs").

use esker_primitives::codec::CodecError;

/// `txs.BaseTx`.
pub const BASE_TX: u32 = 0;
/// `txs.CreateAssetTx`.
pub const CREATE_ASSET_TX: u32 = 1;
/// `txs.OperationTx`.
pub const OPERATION_TX: u32 = 2;
/// `txs.ImportTx`.
pub const IMPORT_TX: u32 = 3;
/// `txs.ExportTx`.
pub const EXPORT_TX: u32 = 4;
/// `secp256k1fx.TransferInput`.
pub const SECP_TRANSFER_INPUT: u32 = 5;
/// `secp256k1fx.MintOutput`.
pub const SECP_MINT_OUTPUT: u32 = 6;
/// `secp256k1fx.TransferOutput`.
pub const SECP_TRANSFER_OUTPUT: u32 = 7;
/// `secp256k1fx.MintOperation`.
pub const SECP_MINT_OPERATION: u32 = 8;
/// `secp256k1fx.Credential`.
pub const SECP_CREDENTIAL: u32 = 9;
/// `nftfx.MintOutput`.
pub const NFT_MINT_OUTPUT: u32 = 10;
/// `nftfx.TransferOutput`.
pub const NFT_TRANSFER_OUTPUT: u32 = 11;
/// `nftfx.MintOperation`.
pub const NFT_MINT_OPERATION: u32 = 12;
/// `nftfx.TransferOperation`.
pub const NFT_TRANSFER_OPERATION: u32 = 13;
/// `nftfx.Credential`.
pub const NFT_CREDENTIAL: u32 = 14;
/// `propertyfx.MintOutput`.
pub const PROPERTY_MINT_OUTPUT: u32 = 15;
/// `propertyfx.OwnedOutput`.
pub const PROPERTY_OWNED_OUTPUT: u32 = 16;
/// `propertyfx.MintOperation`.
pub const PROPERTY_MINT_OPERATION: u32 = 17;
/// `propertyfx.BurnOperation`.
pub const PROPERTY_BURN_OPERATION: u32 = 18;
/// `propertyfx.Credential`.
pub const PROPERTY_CREDENTIAL: u32 = 19;
/// `block.StandardBlock`.
pub const STANDARD_BLOCK: u32 = 20;

/// Go type names by type ID.
const GO_TYPES: [&str; 21] = [
    "*txs.BaseTx",
    "*txs.CreateAssetTx",
    "*txs.OperationTx",
    "*txs.ImportTx",
    "*txs.ExportTx",
    "*secp256k1fx.TransferInput",
    "*secp256k1fx.MintOutput",
    "*secp256k1fx.TransferOutput",
    "*secp256k1fx.MintOperation",
    "*secp256k1fx.Credential",
    "*nftfx.MintOutput",
    "*nftfx.TransferOutput",
    "*nftfx.MintOperation",
    "*nftfx.TransferOperation",
    "*nftfx.Credential",
    "*propertyfx.MintOutput",
    "*propertyfx.OwnedOutput",
    "*propertyfx.MintOperation",
    "*propertyfx.BurnOperation",
    "*propertyfx.Credential",
    "*block.StandardBlock",
];

/// Go names of the interfaces that a slot of the codec may ask for.
pub mod interface {
    /// A whole transaction.
    pub const UNSIGNED_TX: &str = "txs.UnsignedTx";
    /// An output that carries an amount.
    pub const TRANSFERABLE_OUT: &str = "avax.TransferableOut";
    /// An input that carries an amount.
    pub const TRANSFERABLE_IN: &str = "avax.TransferableIn";
    /// Anything that a UTXO can hold.
    pub const STATE: &str = "verify.State";
    /// An operation of a feature extension.
    pub const FX_OPERATION: &str = "fxs.FxOperation";
    /// The interface of a credential slot: no more than a `Verify` method.
    pub const VERIFIABLE: &str = "verify.Verifiable";
    /// A block.
    pub const BLOCK: &str = "block.Block";
}

/// The fault for a type ID that does not fit a slot: unknown, or known and of another family.
pub fn wrong_type_id(type_id: u32, interface: &'static str) -> CodecError {
    match go_type(type_id) {
        Some(go_type) => CodecError::WrongInterface { go_type, interface },
        None => CodecError::UnknownTypeId(type_id),
    }
}

/// The Go type of an ID.
pub fn go_type(type_id: u32) -> Option<&'static str> {
    usize::try_from(type_id).ok().and_then(|index| GO_TYPES.get(index)).copied()
}

/// The ID of a Go type. A chain with another codec uses it to map a decode fault to its own IDs.
pub fn of_go_type(go_type: &str) -> Option<u32> {
    (0..).zip(GO_TYPES).find(|(_, name)| *name == go_type).map(|(type_id, _)| type_id)
}
