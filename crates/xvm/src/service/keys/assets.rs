//! createAsset under its three names, createNFTAsset.

use std::collections::BTreeSet;
use std::sync::Arc;

use esker_primitives::ClientAddress;
use esker_primitives::{AssetId, ShortId};
use esker_rpc::RpcError;
use esker_rpc::wire::{JsonU32, JsonU64};
use esker_utxo::{FxKind, NftMintOutput, Output, OutputOwners, TransferOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{Reply, parse_address};
use super::KeysError;
use super::arguments::{ChangeReply, Header, spending_arguments};
use super::session::{Session, spend};
use crate::chain::Xvm;
use crate::verify::VerifyError;
use crate::wallet::{Amounts, NewAsset};

spending_arguments! {
    /// An asset of amounts.
    struct CreateAssetArgs {
        name: String,
        symbol: String,
        denomination: u8,
        initial_holders: Vec<Holder>,
        minter_sets: Vec<Minters>,
    }
}

spending_arguments! {
    /// An asset of NFTs.
    struct CreateNftAssetArgs {
        name: String,
        symbol: String,
        minter_sets: Vec<Minters>,
    }
}

/// Units that exist from the beginning.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct Holder {
    amount: JsonU64,
    address: String,
}

/// Who may mint together.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct Minters {
    threshold: JsonU32,
    minters: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CreatedAsset")]
pub(super) struct AssetReply {
    #[serde(rename = "assetID")]
    asset_id: AssetId,
    change_addr: String,
}

impl Holder {
    fn output(&self, vm: &Xvm) -> Reply<Output> {
        let owners = OutputOwners::single(parse_address(vm, &self.address)?);
        Ok(Output::SecpTransfer(TransferOutput { amount: self.amount.0, owners }))
    }
}

impl Minters {
    /// Each once, ascending.
    fn owners(&self, vm: &Xvm) -> Reply<OutputOwners> {
        let minters = self.minters.iter().map(|text| Ok(parse_address(vm, text)?));
        let minters = minters.collect::<Reply<BTreeSet<ShortId>>>()?;
        let addresses = minters.into_iter().collect();
        Ok(OutputOwners { locktime: 0, threshold: self.threshold.0, addresses })
    }
}

/// Creates an asset with first holders, with minters, or with both.
pub(super) async fn create_asset(
    vm: Arc<Xvm>,
    mut args: CreateAssetArgs,
    client: ClientAddress,
) -> Result<AssetReply, RpcError> {
    let header = args.header(client);
    let checked = if args.initial_holders.is_empty() && args.minter_sets.is_empty() {
        Err(KeysError::NoHoldersOrMinters.into())
    } else {
        Ok(header)
    };
    let outputs = move |vm: &Xvm| {
        let held = args.initial_holders.iter().map(|holder| holder.output(vm));
        let minted = args.minter_sets.iter().map(|set| Ok(Output::SecpMint(set.owners(vm)?)));
        Ok(NewAsset {
            name: args.name.clone().into_bytes(),
            symbol: args.symbol.clone().into_bytes(),
            denomination: args.denomination,
            fx_index: FxKind::Secp256k1.index(),
            outputs: held.chain(minted).collect::<Reply<_>>()?,
        })
    };
    Ok(create(vm, checked, outputs).await?)
}

/// Creates an asset of NFTs; each set of minters is a group.
pub(super) async fn create_nft_asset(
    vm: Arc<Xvm>,
    mut args: CreateNftAssetArgs,
    client: ClientAddress,
) -> Result<AssetReply, RpcError> {
    let header = args.header(client);
    let checked =
        if args.minter_sets.is_empty() { Err(KeysError::NoMinters.into()) } else { Ok(header) };
    let outputs = move |vm: &Xvm| {
        let groups = (0..).zip(&args.minter_sets).map(|(group_id, set)| {
            Ok(Output::NftMint(NftMintOutput { group_id, owners: set.owners(vm)? }))
        });
        Ok(NewAsset {
            name: args.name.clone().into_bytes(),
            symbol: args.symbol.clone().into_bytes(),
            denomination: 0,
            fx_index: FxKind::Nft.index(),
            outputs: groups.collect::<Reply<_>>()?,
        })
    };
    Ok(create(vm, checked, outputs).await?)
}

/// Chooses coins for the fee before it checks the addresses.
async fn create(
    vm: Arc<Xvm>,
    header: Reply<Header>,
    asset: impl Fn(&Xvm) -> Reply<NewAsset> + Send + 'static,
) -> Reply<AssetReply> {
    let build = move |session: &Session<'_>| {
        let fee = session.vm.params().create_asset_tx_fee;
        let paid = session.payer().pay(Amounts::new(), fee)?;
        let asset = asset(session.vm)?;
        check_encodable(&asset).map_err(|error| KeysError::Issue(error.into()))?;
        Ok(paid.create_asset(session.keys, asset))
    };
    let ChangeReply { tx_id, change_addr } = spend(vm, header?, build).await?;
    Ok(AssetReply { asset_id: tx_id, change_addr })
}

/// The codec cannot encode longer texts. The chain's rules are stricter, and are checked when the transaction is issued.
fn check_encodable(asset: &NewAsset) -> Result<(), VerifyError> {
    let fits = |text: &[u8]| u16::try_from(text.len()).is_ok();
    match (fits(&asset.name), fits(&asset.symbol)) {
        (false, _) => Err(VerifyError::NameTooLong),
        (true, false) => Err(VerifyError::SymbolTooLong),
        (true, true) => Ok(()),
    }
}
