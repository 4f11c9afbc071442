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
use esker_rpc::handler::waits_with_address;

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
        .on("createAddress", waits_with_address(addresses::create_address))
        .deprecated(DEPRECATED_SINCE)
        .on("createAsset", waits_with_address(assets::create_asset))
        .deprecated(DEPRECATED_SINCE)
        .on("createFixedCapAsset", waits_with_address(assets::create_asset))
        .deprecated(DEPRECATED_SINCE)
        .on("createNFTAsset", waits_with_address(assets::create_nft_asset))
        .deprecated(DEPRECATED_SINCE)
        .on("createVariableCapAsset", waits_with_address(assets::create_asset))
        .deprecated(DEPRECATED_SINCE)
        .on("export", waits_with_address(atomic::export))
        .deprecated(DEPRECATED_SINCE)
        .on("exportKey", waits_with_address(addresses::export_key))
        .deprecated(DEPRECATED_SINCE)
        .on("import", waits_with_address(atomic::import))
        .deprecated(DEPRECATED_SINCE)
        .on("importKey", waits_with_address(addresses::import_key))
        .deprecated(DEPRECATED_SINCE)
        .on("listAddresses", waits_with_address(addresses::list_addresses))
        .deprecated(DEPRECATED_SINCE)
        .on("mint", waits_with_address(mint::mint))
        .deprecated(DEPRECATED_SINCE)
        .on("mintNFT", waits_with_address(mint::mint_nft))
        .deprecated(DEPRECATED_SINCE)
        .on("send", waits_with_address(send::send))
        .deprecated(DEPRECATED_SINCE)
        .on("sendMultiple", waits_with_address(send::send_multiple))
        .deprecated(DEPRECATED_SINCE)
        .on("sendNFT", waits_with_address(mint::send_nft))
        .deprecated(DEPRECATED_SINCE)
        .instead("xvm.issueTx")
        .checked_by(check_sending, &SENDING)
}

/// Adds those of the `wallet` namespace.
pub(super) fn wallet_methods(table: MethodTable<Xvm>) -> MethodTable<Xvm> {
    table
        .on("send", waits_with_address(send::wallet_send))
        .on("sendMultiple", waits_with_address(send::wallet_send_multiple))
}
