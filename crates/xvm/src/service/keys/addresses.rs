//! createAddress, listAddresses, importKey, exportKey.

use std::sync::Arc;

use esker_keystore::{Credentials, KeyArgument, KeyText, Keyring, Password};
use esker_primitives::ClientAddress;
use esker_rpc::RpcError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{Reply, format_address, off_thread, parse_address};
use super::KeysError;
use super::session::unlock;
use crate::chain::Xvm;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ImportKeyArgs {
    username: String,
    password: Password,
    private_key: Option<KeyArgument>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct ExportKeyArgs {
    username: String,
    password: Password,
    address: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AddressReply {
    address: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AddressesReply {
    addresses: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeyReply {
    private_key: KeyText,
}

/// A new random key.
pub(super) async fn create_address(
    vm: Arc<Xvm>,
    args: Credentials,
    client: ClientAddress,
) -> Result<AddressReply, RpcError> {
    let create = async || -> Reply<_> {
        let user = unlock(&vm, &args, client).await?;
        let keyring = Keyring::new(&user, &vm.context().chain_id);
        Ok(keyring.create().await.map_err(KeysError::from)?)
    };
    let address = create().await?;
    Ok(AddressReply { address: format_address(&vm, &address) })
}

/// The user's addresses, in the order in which they came.
pub(super) async fn list_addresses(
    vm: Arc<Xvm>,
    args: Credentials,
    client: ClientAddress,
) -> Result<AddressesReply, RpcError> {
    let user = unlock(&vm, &args, client).await?;
    let list = move || {
        let keyring = Keyring::new(&user, &vm.context().chain_id);
        let addresses = keyring.addresses().map_err(KeysError::from)?;
        Ok(addresses.iter().map(|address| format_address(&vm, address)).collect())
    };
    Ok(AddressesReply { addresses: off_thread(list).await? })
}

/// Adds a key; one that is there already changes nothing.
pub(super) async fn import_key(
    vm: Arc<Xvm>,
    args: ImportKeyArgs,
    client: ClientAddress,
) -> Result<AddressReply, RpcError> {
    let ImportKeyArgs { username, password, private_key } = args;
    let import = async || -> Reply<_> {
        let KeyArgument(key) = private_key.ok_or(KeysError::NoPrivateKey)?;
        let user = unlock(&vm, &Credentials { username, password }, client).await?;
        let keyring = Keyring::new(&user, &vm.context().chain_id);
        Ok(keyring.add(&key).await.map_err(KeysError::SaveKey)?)
    };
    let address = import().await?;
    Ok(AddressReply { address: format_address(&vm, &address) })
}

/// The key of an address.
pub(super) async fn export_key(
    vm: Arc<Xvm>,
    args: ExportKeyArgs,
    client: ClientAddress,
) -> Result<KeyReply, RpcError> {
    let ExportKeyArgs { username, password, address: text } = args;
    let export = async || -> Reply<_> {
        let address = parse_address(&vm, &text)
            .map_err(|cause| KeysError::KeyAddress { text: text.clone(), cause })?;
        let user = unlock(&vm, &Credentials { username, password }, client).await?;
        let keyring = Keyring::new(&user, &vm.context().chain_id);
        Ok(keyring.key(&address).map_err(KeysError::RetrieveKey)?)
    };
    Ok(KeyReply { private_key: KeyText::new(&export().await?) })
}
