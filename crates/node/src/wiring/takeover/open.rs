//! Takes outputs over at the first start of a folder.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use esker_chain::tables::CHAINS;
use esker_primitives::ids::{Id, ShortId};
use esker_settings::config::{Config, XAddress};
use esker_settings::networks::{ChainSpec, Network, dev_funding_txs};
use esker_storage::{Scope, Store, meta};
use esker_xvm::genesis::Genesis;
use esker_xvm::{Takeover, TakeoverOrigin};
use tokio::time::timeout;

use super::source::{ADDRESSES, OtherNetwork, SETTING, XSource, fault};
use super::{assets, outputs};
use crate::environment::Environment;
use crate::wiring::error::StartError;

/// Longest time of the reads.
const MAX_TIME: Duration = Duration::from_secs(600);

/// What the chain of a folder took over.
pub(in crate::wiring) fn stored(
    chain: &ChainSpec,
    store: &Store,
) -> Result<Option<Arc<Takeover>>, StartError> {
    let reader = store.snapshot()?;
    if !CHAINS.contains(reader.as_ref(), Scope::NODE, chain.id.as_bytes())? {
        return Ok(None);
    }
    let scope = meta::scope(store.kv.as_ref(), &chain.id)?;
    Ok(Takeover::stored(reader.as_ref(), scope)?.map(Arc::new))
}

/// Reads what the settings name, if the folder is new; the X-Chain begins with it. A folder that has begun keeps what it has, and
/// needs no source.
pub(in crate::wiring) async fn open(
    config: &Config,
    environment: Environment,
    store: &Store,
) -> Result<Environment, StartError> {
    let (network, settings) = (&config.network, &config.settings);
    let Some(chain) = network.x_chain() else { return Ok(environment) };
    if let Some(kept) = stored(chain, store)? {
        check_kept(config, &kept)?;
        log(&kept, "the X-Chain began with outputs of another network");
        return Ok(environment);
    }
    if settings.fork_x.is_empty() {
        return Ok(environment);
    }
    if CHAINS.first(store.snapshot()?.as_ref(), Scope::NODE, &[], None)?.is_some() {
        let reason = "the data folder was made without it: start with another folder";
        return Err(fault(SETTING, reason));
    }
    let read = timeout(MAX_TIME, Box::pin(read(config, chain)));
    let too_long = |_| fault(SETTING, format!("the reads took more than {} s", MAX_TIME.as_secs()));
    let takeover = read.await.map_err(too_long)??;
    log(&takeover, "the X-Chain begins with outputs of another network");
    Ok(Environment { takeover: Some(Arc::new(takeover)), ..environment })
}

fn log(takeover: &Takeover, what: &'static str) {
    let TakeoverOrigin { url, network_id, height, addresses, .. } = &takeover.origin;
    tracing::info!(
        source = url,
        networkID = network_id,
        height,
        addresses = addresses.len(),
        outputs = takeover.utxos.len(),
        assets = takeover.assets.len(),
        what
    );
}

/// Refuses settings that the folder does not fit.
fn check_kept(config: &Config, kept: &Takeover) -> Result<(), StartError> {
    let settings = &config.settings;
    let given = short_ids(&settings.fork_x_address.0);
    if !given.is_empty() && given != kept.origin.addresses {
        let reason = format!(
            "the data folder has the outputs of {} addresses, and these are others: leave it and fork-x out, or start with \
             another folder",
            kept.origin.addresses.len()
        );
        return Err(fault(ADDRESSES, reason));
    }
    let shared =
        [("api-sync-enabled", settings.api_sync_enabled), ("follow", !config.sources().is_empty())];
    match shared.into_iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => {
            let reason =
                "the data folder has outputs of another network, which no follower can know";
            Err(fault(name, reason))
        }
        None => Ok(()),
    }
}

/// Ascending, each once.
fn short_ids(addresses: &[XAddress]) -> Vec<ShortId> {
    let addresses: BTreeSet<_> = addresses.iter().map(|address| address.short_id).collect();
    addresses.into_iter().collect()
}

async fn read(config: &Config, chain: &ChainSpec) -> Result<Takeover, StartError> {
    let (network, given) = (&config.network, &config.settings.fork_x_address.0);
    let source = XSource::new(config)?;
    let other = source.network().await?;
    check_networks(given, &other, network.hrp)?;
    let addresses = short_ids(given);
    let (mut found, height) = outputs::read(&source, (other.hrp, &addresses)).await?;
    let own = own_txs(network, chain);
    let read = found.len();
    found.retain(|id, _| !own.contains(&id.tx_id));
    if found.len() < read {
        tracing::info!(
            outputs = read - found.len(),
            "outputs that a development network makes itself are not taken over"
        );
    }
    for utxo in found.values_mut().filter(|utxo| utxo.asset_id == other.native_asset_id) {
        utxo.asset_id = network.native_asset_id;
    }
    let assets = assets::read(&source, found.values(), &network.native_asset_id).await?;
    let (url, native_asset_id) = (source.url().to_owned(), other.native_asset_id);
    let origin = TakeoverOrigin { url, network_id: other.id, native_asset_id, height, addresses };
    Ok(Takeover { origin, assets, utxos: found.into_values().collect() })
}

/// Each address must be one of the other network, or of this one.
fn check_networks(given: &[XAddress], other: &OtherNetwork, own: &str) -> Result<(), StartError> {
    let foreign = given.iter().find(|address| address.hrp != other.hrp && address.hrp != own);
    foreign.map_or(Ok(()), |address| {
        let reason = format!(
            "an address begins with {}1, but those of the source's network {} with {}1",
            address.hrp, other.id, other.hrp
        );
        Err(fault(ADDRESSES, reason))
    })
}

/// The transactions of a development network before its first client: they are the same on each, with the same outputs.
fn own_txs(network: &Network, chain: &ChainSpec) -> BTreeSet<Id> {
    let genesis = Genesis::parse(&chain.genesis).unwrap_or_default();
    let assets = genesis.assets.iter().map(|asset| asset.asset_id());
    assets.chain(dev_funding_txs(network).iter().map(|tx| tx.id())).collect()
}
