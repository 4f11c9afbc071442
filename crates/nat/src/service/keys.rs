//! importKey, exportKey.

use std::sync::Arc;

use esker_evm::accounts::address_of_key;
use esker_keystore::{Credentials, KeyArgument, KeyText, Keyring, Password, User};
use esker_primitives::ClientAddress;
use esker_primitives::ids::{ChainId, ShortId};
use esker_primitives::keys::PrivateKey;
use esker_rpc::RpcError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{Account, parse_account};
use super::{NatService, Reply, ServiceError};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ImportKeyArgs {
    username: String,
    password: Password,
    private_key: Option<KeyArgument>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AddressReply {
    address: Account,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct ExportKeyArgs {
    username: String,
    password: Password,
    address: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeyReply {
    private_key: KeyText,
    private_key_hex: KeyText,
}

/// The user's keys on the chain, by their accounts.
pub(super) fn keyring<'a>(user: &'a User, chain: &ChainId) -> Keyring<'a> {
    Keyring::with_addresses(user, chain, account_bytes)
}

fn account_bytes(key: &PrivateKey) -> ShortId {
    ShortId::new(address_of_key(&key.public_key()).into_array())
}

/// Adds a key; one that is there already changes nothing.
pub(super) async fn import_key(
    nat: Arc<NatService>,
    args: ImportKeyArgs,
    client: ClientAddress,
) -> Result<AddressReply, RpcError> {
    Ok(import(&nat, args, client).await?)
}

async fn import(
    nat: &NatService,
    args: ImportKeyArgs,
    client: ClientAddress,
) -> Reply<AddressReply> {
    let ImportKeyArgs { username, password, private_key } = args;
    let KeyArgument(key) = private_key.ok_or(ServiceError::NoPrivateKey)?;
    let user =
        nat.keystore.unlock(&username, &password, client).await.map_err(ServiceError::UserData)?;
    let keyring = keyring(&user, &nat.context().chain_id);
    keyring.add(&key).await.map_err(ServiceError::SaveKey)?;
    Ok(AddressReply { address: Account(address_of_key(&key.public_key())) })
}

/// The key of an account.
pub(super) async fn export_key(
    nat: Arc<NatService>,
    args: ExportKeyArgs,
    client: ClientAddress,
) -> Result<KeyReply, RpcError> {
    Ok(export(&nat, args, client).await?)
}

async fn export(nat: &NatService, args: ExportKeyArgs, client: ClientAddress) -> Reply<KeyReply> {
    let ExportKeyArgs { username, password, address } = args;
    let account = parse_account(&address).ok_or(ServiceError::KeyAddress(address))?;
    let user = unlock(nat, Credentials { username, password }, client).await?;
    let keyring = keyring(&user, &nat.context().chain_id);
    let key = keyring.key(&ShortId::new(account.into_array()));
    let key = key.map_err(ServiceError::RetrieveKey)?;
    Ok(KeyReply { private_key: KeyText::new(&key), private_key_hex: KeyText::hex(&key) })
}

/// Opens the user of a call.
pub(super) async fn unlock(
    nat: &NatService,
    credentials: Credentials,
    client: ClientAddress,
) -> Reply<User> {
    let Credentials { username, password } = credentials;
    let user = nat.keystore.unlock(&username, &password, client).await;
    user.map_err(|cause| ServiceError::User { name: username, cause })
}
