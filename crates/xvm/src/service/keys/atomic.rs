//! export, import.

use std::sync::Arc;

use esker_chain::address::parse_destination;
use esker_keystore::{Credentials, Password};
use esker_primitives::ClientAddress;
use esker_primitives::{ChainId, ShortId};
use esker_rpc::RpcError;
use esker_rpc::wire::JsonU64;
use esker_transactions::xvm::Tx;
use esker_utxo::{FxKind, Keychain};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::txs::TxIdReply;
use super::super::{Reply, lookup_asset, now_s};
use super::KeysError;
use super::arguments::{ChangeReply, parse_to, spending_arguments};
use super::issue::issue_on_pool;
use super::session::{run_exclusively, spend};
use crate::chain::Xvm;
use crate::state::View;
use crate::verify::semantic::fx_bit;
use crate::wallet::{ExportedCoins, ImportLimits, Payer, PoolCoins};

spending_arguments! {
    /// Units for an address of another chain.
    struct ExportArgs {
        amount: JsonU64,
        target_chain: String,
        to: String,
        #[serde(rename = "assetID")]
        asset_id: String,
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ImportArgs {
    username: String,
    password: Password,
    source_chain: String,
    to: String,
}

/// Exports units to another chain, where they have to be imported.
pub(super) async fn export(
    vm: Arc<Xvm>,
    args: ExportArgs,
    client: ClientAddress,
) -> Result<ChangeReply, RpcError> {
    Ok(export_checked(vm, args, client).await?)
}

async fn export_checked(
    vm: Arc<Xvm>,
    mut args: ExportArgs,
    client: ClientAddress,
) -> Reply<ChangeReply> {
    let asset = lookup_asset(&vm, &args.asset_id)?;
    let context = vm.context();
    let (aliases, hrp) = (context.aliases.as_ref(), &context.hrp);
    let destination = parse_destination(aliases, hrp, &args.to, &args.target_chain);
    let (chain, to) = destination.map_err(KeysError::from)?;
    let JsonU64(amount) = args.amount;
    if amount == 0 {
        return Err(KeysError::ZeroAmount.into());
    }
    spend(vm, args.header(client), move |session| {
        Ok(session.payer().export(chain, (asset, amount), to)?)
    })
    .await
}

/// Imports what another chain exported to the user: all that its keys can spend, as far as it goes into one
/// transaction.
pub(super) async fn import(
    vm: Arc<Xvm>,
    args: ImportArgs,
    client: ClientAddress,
) -> Result<TxIdReply, RpcError> {
    Ok(import_checked(vm, args, client).await?)
}

async fn import_checked(vm: Arc<Xvm>, args: ImportArgs, client: ClientAddress) -> Reply<TxIdReply> {
    let ImportArgs { username, password, source_chain, to } = args;
    let source = vm.context().aliases.lookup(&source_chain);
    let source = source.ok_or(KeysError::SourceChain(source_chain))?;
    let to = parse_to(&vm, &to)?;
    let credentials = Credentials { username, password };
    let imported = run_exclusively(vm, credentials, client, move |vm, user| {
        let keys = user.keychain(vm, &[])?;
        let build = |view: &View<'_>, coins: &PoolCoins<'_>| {
            build_import((vm, view), coins, &keys, source, to)
        };
        issue_on_pool(vm, &build)
    });
    let issued = imported.await?;
    issued.answer.wait().await?;
    Ok(TxIdReply { tx_id: issued.id })
}

/// The bytes of an import beside the imported inputs: its fixed fields, and some coins that pay the fee.
const OTHER_BYTES: usize = 4096;

fn build_import(
    (vm, view): (&Xvm, &View<'_>),
    coins: &PoolCoins<'_>,
    keys: &Keychain,
    source: ChainId,
    to: ShortId,
) -> Reply<Tx> {
    let takes = |asset: &_| {
        let asset = view.asset(asset)?;
        Ok(asset.is_some_and(|a| a.fx_bits & fx_bit(FxKind::Secp256k1.index()) != 0))
    };
    let max_bytes = vm.mempool.max_tx_bytes().saturating_sub(OTHER_BYTES);
    let limits = ImportLimits { max_bytes, takes: &takes };
    let payer = Payer { params: vm.params(), coins, keys, change: to, now_s: now_s(vm) };
    Ok(payer.import(source, &ExportedCoins::new(view, source), &limits, to)?)
}
