//! Methods that use keys of the node's keystore (docs/protocol/x-chain-services.md, "Methods with keys").
//!
//! Each checks in the reference's order: what it can before it asks for the user, then the user and its keys, then
//! what they can pay. Password checks wait for their turn in the keystore; what reads keys and UTXOs runs on the
//! blocking pool. With the keystore off the methods remain and find no user.

mod addresses;
mod arguments;
mod assets;
mod atomic;
mod error;
mod issue;
mod mint;
mod send;
mod session;

use esker_rpc::MethodTable;

use super::check_sending;
use crate::vm::Xvm;
pub(crate) use error::KeysError;

/// The release of the reference that deprecated them.
const DEPRECATED_SINCE: &str = "v1.9.12";

/// Those of the `xvm` namespace that send transactions.
const SENDING: [&str; 11] = [
    "createAsset",
    "createFixedCapAsset",
    "createNFTAsset",
    "createVariableCapAsset",
    "export",
    "import",
    "mint",
    "mintNFT",
    "send",
    "sendMultiple",
    "sendNFT",
];

/// Adds the methods to the `xvm` namespace.
pub(super) fn methods(table: MethodTable<Xvm>) -> MethodTable<Xvm> {
    table
        .deprecated_async_from("createAddress", DEPRECATED_SINCE, addresses::create_address)
        .deprecated_async_from("createAsset", DEPRECATED_SINCE, assets::create_asset)
        .deprecated_async_from("createFixedCapAsset", DEPRECATED_SINCE, assets::create_asset)
        .deprecated_async_from("createNFTAsset", DEPRECATED_SINCE, assets::create_nft_asset)
        .deprecated_async_from("createVariableCapAsset", DEPRECATED_SINCE, assets::create_asset)
        .deprecated_async_from("export", DEPRECATED_SINCE, atomic::export)
        .deprecated_async_from("exportKey", DEPRECATED_SINCE, addresses::export_key)
        .deprecated_async_from("import", DEPRECATED_SINCE, atomic::import)
        .deprecated_async_from("importKey", DEPRECATED_SINCE, addresses::import_key)
        .deprecated_async_from("listAddresses", DEPRECATED_SINCE, addresses::list_addresses)
        .deprecated_async_from("mint", DEPRECATED_SINCE, mint::mint)
        .deprecated_async_from("mintNFT", DEPRECATED_SINCE, mint::mint_nft)
        .deprecated_async_from("send", DEPRECATED_SINCE, send::send)
        .deprecated_async_from("sendMultiple", DEPRECATED_SINCE, send::send_multiple)
        .deprecated_async_from("sendNFT", DEPRECATED_SINCE, mint::send_nft)
        .instead("xvm.issueTx")
        .checked_by(check_sending, &SENDING)
}

/// Adds those of the `wallet` namespace.
pub(super) fn wallet_methods(table: MethodTable<Xvm>) -> MethodTable<Xvm> {
    table
        .on_async_from("send", send::wallet_send)
        .on_async_from("sendMultiple", send::wallet_send_multiple)
}
