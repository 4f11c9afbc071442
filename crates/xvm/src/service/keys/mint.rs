//! mint, mintNFT, sendNFT.

use std::sync::Arc;

use esker_primitives::ClientAddress;
use esker_rpc::RpcError;
use esker_rpc::wire::{Encoding, JsonU32, JsonU64};

use super::super::{Reply, lookup_asset};
use super::KeysError;
use super::arguments::{ChangeReply, Header, parse_to, spending_arguments};
use super::session::{Session, spend};
use crate::chain::Xvm;
use crate::wallet::{self, Amounts, AuthorisedOperation};

spending_arguments! {
    /// More units of an asset.
    struct MintArgs {
        amount: JsonU64,
        #[serde(rename = "assetID")]
        asset_id: String,
        to: String,
    }
}

spending_arguments! {
    /// An NFT with a payload.
    struct MintNftArgs {
        #[serde(rename = "assetID")]
        asset_id: String,
        payload: String,
        to: String,
        encoding: Encoding,
    }
}

spending_arguments! {
    /// An NFT of a group.
    struct SendNftArgs {
        #[serde(rename = "assetID")]
        asset_id: String,
        #[serde(rename = "groupID")]
        group_id: JsonU32,
        to: String,
    }
}

/// Mints units. `from` limits only who pays the fee.
pub(super) async fn mint(
    vm: Arc<Xvm>,
    args: MintArgs,
    client: ClientAddress,
) -> Result<ChangeReply, RpcError> {
    Ok(mint_checked(vm, args, client).await?)
}

async fn mint_checked(
    vm: Arc<Xvm>,
    mut args: MintArgs,
    client: ClientAddress,
) -> Reply<ChangeReply> {
    let JsonU64(amount) = args.amount;
    if amount == 0 {
        return Err(KeysError::ZeroMinted.into());
    }
    let asset = lookup_asset(&vm, &args.asset_id)?;
    let to = parse_to(&vm, &args.to)?;
    operate(vm, args.header(client), move |session| {
        let keys = session.all_user_keys()?;
        Ok(wallet::mint(session.coins(), &keys, (asset, amount), to, session.now_s)?)
    })
    .await
}

/// Mints an NFT. `from` limits only who pays the fee.
pub(super) async fn mint_nft(
    vm: Arc<Xvm>,
    args: MintNftArgs,
    client: ClientAddress,
) -> Result<ChangeReply, RpcError> {
    Ok(mint_nft_checked(vm, args, client).await?)
}

async fn mint_nft_checked(
    vm: Arc<Xvm>,
    mut args: MintNftArgs,
    client: ClientAddress,
) -> Reply<ChangeReply> {
    let asset = lookup_asset(&vm, &args.asset_id)?;
    let to = parse_to(&vm, &args.to)?;
    let payload = args.encoding.decode(&args.payload).map_err(KeysError::Payload)?;
    operate(vm, args.header(client), move |session| {
        let keys = session.all_user_keys()?;
        let payload = payload.clone();
        Ok(wallet::mint_nft(session.coins(), &keys, &asset, payload, to, session.now_s)?)
    })
    .await
}

/// Gives an NFT to another owner. Unlike minting it takes the NFTs of `from` only.
pub(super) async fn send_nft(
    vm: Arc<Xvm>,
    args: SendNftArgs,
    client: ClientAddress,
) -> Result<ChangeReply, RpcError> {
    Ok(send_nft_checked(vm, args, client).await?)
}

async fn send_nft_checked(
    vm: Arc<Xvm>,
    mut args: SendNftArgs,
    client: ClientAddress,
) -> Reply<ChangeReply> {
    let asset = lookup_asset(&vm, &args.asset_id)?;
    let to = parse_to(&vm, &args.to)?;
    let JsonU32(group) = args.group_id;
    operate(vm, args.header(client), move |session| {
        Ok(wallet::send_nft(session.coins(), session.keys, (asset, group), to, session.now_s)?)
    })
    .await
}

/// Chooses coins for the fee before it looks for the output that allows the operation.
async fn operate(
    vm: Arc<Xvm>,
    header: Header,
    authorise: impl Fn(&Session<'_>) -> Reply<AuthorisedOperation> + Send + 'static,
) -> Reply<ChangeReply> {
    spend(vm, header, move |session| {
        let paid = session.payer().pay(Amounts::new(), session.vm.params().tx_fee)?;
        let authorised = authorise(session)?;
        Ok(paid.operate(session.all_user_keys()?.as_ref(), authorised))
    })
    .await
}
