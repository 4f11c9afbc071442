//! import, export, and the older names of both.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use alloy_primitives::{Address, U256};
use esker_chain::address::parse_destination;
use esker_evm_execution::rules::window::INITIAL_BASE_FEE;
use esker_keystore::{Credentials, Password, User};
use esker_primitives::ClientAddress;
use esker_primitives::codec::{Decode as _, MAX_SIZE};
use esker_primitives::ids::{AssetId, ChainId, Id, ShortId};
use esker_primitives::keys::PrivateKey;
use esker_rpc::wire::JsonU64;
use esker_rpc::{RpcError, off_thread};
use esker_shared_memory::{MAX_UTXO_PAGE, PageStart};
use esker_transactions::nat::AtomicTx;
use esker_utxo::{Keychain, Utxo};
use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::{Account, BaseFee, parse_account};
use super::error::CreateError;
use super::keys::{keyring, unlock};
use super::txs::TxIdReply;
use super::{NatService, Reply, ServiceError, utxos};
use crate::chain::{BuiltError, PendingAccounts, SubmitError, SubmittedTx};
use crate::wallet::{self, Import, Payer, TxParams};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ImportArgs {
    username: String,
    password: Password,
    source_chain: String,
    to: Option<Account>,
    base_fee: Option<BaseFee>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ExportArgs {
    username: String,
    password: Password,
    /// Whose accounts pay; empty: all of the user's.
    from: Vec<String>,
    /// Checked, and of no use: an account is charged exactly what is exported and the fee.
    change_addr: String,
    amount: JsonU64,
    base_fee: Option<BaseFee>,
    target_chain: String,
    to: String,
    #[serde(rename = "assetID")]
    asset_id: String,
}

/// Imports what another chain exported to the user: all that its keys can spend, as far as it goes into one
/// transaction.
pub(super) async fn import(
    nat: Arc<NatService>,
    args: ImportArgs,
    client: ClientAddress,
) -> Result<TxIdReply, RpcError> {
    Ok(import_checked(nat, args, client).await?)
}

async fn import_checked(
    nat: Arc<NatService>,
    args: ImportArgs,
    client: ClientAddress,
) -> Reply<TxIdReply> {
    let ImportArgs { username, password, source_chain, to, base_fee } = args;
    let source = nat.context().aliases.lookup(&source_chain);
    let source = source.ok_or(ServiceError::SourceChain(source_chain))?;
    let Account(to) = to.ok_or(ServiceError::NoTo)?;
    let signer = match impersonating(&nat, &username) {
        Some(keys) => Signer::Impersonated(keys),
        None => {
            let user = nat.keystore.unlock(&username, &password, client).await;
            Signer::User(user.map_err(|cause| ServiceError::ImportUser { name: username, cause })?)
        }
    };
    let imported = run_exclusively(nat, signer.name().to_owned(), move |nat| {
        let keys = signer.keychain(nat)?;
        let terms = TxParams::new(nat.context(), nat.base_fee(base_fee)?);
        until_taken(|| {
            let tx = build_import(nat, terms, &keys, source, to)?;
            Ok(nat.nat.submit_import(&tx))
        })
    });
    answered(imported.await?).await
}

/// Who imports: a user of the keystore, or on a development network the addresses that are impersonated.
enum Signer {
    User(User),
    Impersonated(Keychain),
}

impl Signer {
    /// Names the queue in which its calls wait for each other.
    fn name(&self) -> &str {
        match self {
            Self::User(user) => user.name(),
            Self::Impersonated(_) => "",
        }
    }

    fn keychain(&self, nat: &NatService) -> Reply<Cow<'_, Keychain>> {
        let user = match self {
            Self::User(user) => user,
            Self::Impersonated(keys) => return Ok(Cow::Borrowed(keys)),
        };
        let keys = keyring(user, &nat.context().chain_id).keys();
        let keys = keys.map_err(ServiceError::ImportKeys)?.into_iter().map(|(_, key)| key);
        Ok(Cow::Owned(keys.collect()))
    }
}

/// The impersonated addresses, for a call without a user while there are any.
fn impersonating(nat: &NatService, username: &str) -> Option<Keychain> {
    let impersonations = nat.context().impersonations.as_ref();
    let addresses = impersonations.filter(|_| username.is_empty())?.all();
    let mut keychain = Keychain::default();
    addresses.into_iter().for_each(|address| keychain.impersonate(address));
    (!keychain.is_empty()).then_some(keychain)
}

/// How often a transaction is built, where others take what it spends each time.
const MAX_BUILDS: usize = 16;

/// Builds and submits, anew where others were quicker.
fn until_taken(
    mut submit: impl FnMut() -> Reply<Result<SubmittedTx, BuiltError>>,
) -> Reply<SubmittedTx> {
    for _ in 0..MAX_BUILDS {
        match submit()? {
            Ok(submitted) => return Ok(submitted),
            Err(BuiltError::Refused(error)) => return Err(error.into()),
            Err(BuiltError::Outdated) => {}
        }
    }
    Err(SubmitError::Outdated.into())
}

/// The reply about a transaction, once the source has it. The next call of the user need not wait for that.
async fn answered(SubmittedTx { id, answer }: SubmittedTx) -> Reply<TxIdReply> {
    answer.wait().await?;
    Ok(TxIdReply { tx_id: id })
}

/// Runs work for a user once no other call of that user does: each finds what those before it leave.
async fn run_exclusively<T: Send + 'static>(
    nat: Arc<NatService>,
    name: String,
    work: impl FnOnce(&NatService) -> Reply<T> + Send + 'static,
) -> Reply<T> {
    let turn = nat.user_queues.acquire(&name).await.map_err(ServiceError::Turn)?;
    off_thread(move || {
        let _turn = turn;
        work(&nat)
    })
    .await?
}

fn build_import(
    nat: &NatService,
    terms: TxParams,
    keys: &Keychain,
    source: ChainId,
    to: Address,
) -> Reply<AtomicTx> {
    let mut import = Import::new(terms, source, keys, nat.context().clock.now_s());
    offer_all(nat, source, keys, &mut import)?;
    let tx = import.build(to).map_err(CreateError::from)?;
    nat.verify_syntactic(&tx)?.map_err(CreateError::from)?;
    Ok(tx)
}

/// Offers page after page until there is no place, or nothing left. What waiting transactions import is passed over.
fn offer_all(
    nat: &NatService,
    source: ChainId,
    keys: &Keychain,
    import: &mut Import<'_>,
) -> Reply<()> {
    let owners = keys.addresses().copied().collect();
    let mut start = None;
    loop {
        let mut flow = Ok(ControlFlow::Continue(()));
        let mut offer = |id: &Id, bytes: &[u8]| {
            // An element that is not a UTXO of this chain's forms is skipped.
            if let Ok(ControlFlow::Continue(())) = flow
                && !nat.nat.pool().is_consumed(id)
                && let Ok(utxo) = Utxo::from_versioned_bytes(bytes, MAX_SIZE)
            {
                flow = import.offer(&utxo);
            }
        };
        let end = utxos::visit(nat, source, &owners, start, MAX_UTXO_PAGE, &mut offer)
            .map_err(ServiceError::AtomicUtxos)?;
        if flow.map_err(CreateError::from)?.is_break() || end.count < MAX_UTXO_PAGE {
            return Ok(());
        }
        start = Some(PageStart { address: end.address, utxo_id: end.utxo_id });
    }
}

/// Exports an amount of an asset to an address of another chain, where it has to be imported.
pub(super) async fn export(
    nat: Arc<NatService>,
    args: ExportArgs,
    client: ClientAddress,
) -> Result<TxIdReply, RpcError> {
    let asset_id = parse_asset(&nat, &args.asset_id)?;
    Ok(export_checked(nat, args, asset_id, client).await?)
}

/// [`export`] of the native asset.
pub(super) async fn export_native(
    nat: Arc<NatService>,
    args: ExportArgs,
    client: ClientAddress,
) -> Result<TxIdReply, RpcError> {
    let asset_id = nat.context().native_asset_id;
    Ok(export_checked(nat, args, asset_id, client).await?)
}

async fn export_checked(
    nat: Arc<NatService>,
    args: ExportArgs,
    asset_id: AssetId,
    client: ClientAddress,
) -> Reply<TxIdReply> {
    let ExportArgs { username, password, base_fee, amount: JsonU64(amount), .. } = args;
    if amount == 0 {
        return Err(ServiceError::ZeroAmount);
    }
    let (aliases, hrp) = (nat.context().aliases.as_ref(), &nat.context().hrp);
    let (chain, to) = parse_destination(aliases, hrp, &args.to, &args.target_chain)?;
    let from = parse_from(&args.from)?;
    if !args.change_addr.is_empty() && parse_account(&args.change_addr).is_none() {
        return Err(ServiceError::ChangeAddress(args.change_addr));
    }
    let user = unlock(&nat, Credentials { username, password }, client).await?;
    let exported = run_exclusively(nat, user.name().to_owned(), move |nat| {
        let keys = keys_of(nat, &user, &from)?;
        let terms = TxParams::new(nat.context(), nat.base_fee(base_fee)?);
        until_taken(|| {
            let accounts = nat.nat.accounts()?;
            let tx = build_export(nat, &accounts, terms, &keys, (chain, to), (asset_id, amount))?;
            Ok(nat.nat.submit_export(&tx, &accounts))
        })
    });
    answered(exported.await?).await
}

fn build_export(
    nat: &NatService,
    accounts: &PendingAccounts<'_>,
    terms: TxParams,
    keys: &[PrivateKey],
    (chain, to): (ChainId, ShortId),
    asset: (AssetId, u64),
) -> Reply<AtomicTx> {
    let funds = |account: &Address, asset: &AssetId| accounts.funds(account, asset);
    let payer = Payer { keys, funds: &funds };
    let tx = wallet::export(terms, chain, to, asset, payer)
        .map_err(|error| ServiceError::Create(error.into()))?;
    nat.verify_syntactic(&tx)?.map_err(|error| ServiceError::Create(error.into()))?;
    Ok(tx)
}

/// The native asset by one of its names, or the asset of an ID.
fn parse_asset(nat: &NatService, text: &str) -> Reply<AssetId> {
    if text.is_empty() {
        return Err(ServiceError::NoAsset);
    }
    let context = nat.context();
    if context.native_aliases.iter().any(|alias| alias == text) {
        return Ok(context.native_asset_id);
    }
    text.parse().map_err(ServiceError::Asset)
}

fn parse_from(texts: &[String]) -> Reply<Vec<ShortId>> {
    let parse = |text: &String| {
        let account = parse_account(text).ok_or_else(|| ServiceError::FromAddress(text.clone()))?;
        Ok(ShortId::new(account.into_array()))
    };
    texts.iter().map(parse).collect()
}

/// The user's keys in the order in which they came: all, or those of the accounts `from`.
fn keys_of(nat: &NatService, user: &User, from: &[ShortId]) -> Reply<Vec<PrivateKey>> {
    let keys = keyring(user, &nat.context().chain_id).keys();
    let keys = keys.map_err(ServiceError::ExportKeys)?.into_iter();
    let keys: Vec<PrivateKey> = keys
        .filter(|(account, _)| from.is_empty() || from.contains(account))
        .map(|(_, key)| key)
        .collect();
    if keys.is_empty() && !from.is_empty() {
        return Err(ServiceError::FromWithoutKeys);
    }
    Ok(keys)
}

impl NatService {
    /// The base fee of the call, or one that will do for some blocks: a tenth above what the next one has.
    fn base_fee(&self, given: Option<BaseFee>) -> Reply<U256> {
        if let Some(BaseFee(fee)) = given {
            return Ok(fee);
        }
        let suggested =
            self.oracle.suggest(self.nat.evm().as_ref(), self.context().clock.now_s())?;
        Ok(suggested.base_fee.map_or(U256::from(INITIAL_BASE_FEE), |fee| {
            fee.saturating_mul(U256::from(11)).checked_div(U256::from(10)).unwrap_or_default()
        }))
    }
}
