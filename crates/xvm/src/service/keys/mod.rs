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
use crate::chain::Xvm;
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
        .on_async_from("createAddress", addresses::create_address)
        .deprecated(DEPRECATED_SINCE)
        .on_async_from("createAsset", assets::create_asset)
        .deprecated(DEPRECATED_SINCE)
        .on_async_from("createFixedCapAsset", assets::create_asset)
        .deprecated(DEPRECATED_SINCE)
        .on_async_from("createNFTAsset", assets::create_nft_asset)
        .deprecated(DEPRECATED_SINCE)
        .on_async_from("createVariableCapAsset", assets::create_asset)
        .deprecated(DEPRECATED_SINCE)
        .on_async_from("export", atomic::export)
        .deprecated(DEPRECATED_SINCE)
        .on_async_from("exportKey", addresses::export_key)
        .deprecated(DEPRECATED_SINCE)
        .on_async_from("import", atomic::import)
        .deprecated(DEPRECATED_SINCE)
        .on_async_from("importKey", addresses::import_key)
        .deprecated(DEPRECATED_SINCE)
        .on_async_from("listAddresses", addresses::list_addresses)
        .deprecated(DEPRECATED_SINCE)
        .on_async_from("mint", mint::mint)
        .deprecated(DEPRECATED_SINCE)
        .on_async_from("mintNFT", mint::mint_nft)
        .deprecated(DEPRECATED_SINCE)
        .on_async_from("send", send::send)
        .deprecated(DEPRECATED_SINCE)
        .on_async_from("sendMultiple", send::send_multiple)
        .deprecated(DEPRECATED_SINCE)
        .on_async_from("sendNFT", mint::send_nft)
        .deprecated(DEPRECATED_SINCE)
        .instead("xvm.issueTx")
        .checked_by(check_sending, &SENDING)
}

/// Adds those of the `wallet` namespace.
pub(super) fn wallet_methods(table: MethodTable<Xvm>) -> MethodTable<Xvm> {
    table
        .on_async_from("send", send::wallet_send)
        .on_async_from("sendMultiple", send::wallet_send_multiple)
}
