//! Joining from a state snapshot, before the chains are opened (docs/followers.md, "Joining from a snapshot").

use std::sync::Arc;

use esker_chain::snapshot::{SnapshotTarget, check_finished, is_unfinished};
use esker_chain::tables::POSITION;
use esker_chain::{ChainError, Shutdown};
use esker_follow::snapshot::{JoinStatusCell, Joined, SnapshotJoin, SnapshotSource};
use esker_follow::{EskerSource, FollowedValidators};
use esker_settings::config::Config;
use esker_storage::{Scope, Store};

use super::chains::PreparedChains;
use super::early::EarlyServer;
use super::parameters::genesis_bundle;
use super::{StartError, follow};
use crate::environment::Environment;
use crate::shared_memory_part::SharedMemoryPart;
use crate::validator_changes::KnownValidators;

/// Whether the node begins with a snapshot.
///
/// # Errors
/// The store has a part of one, and the configuration asks for none.
pub(super) fn is_wanted(config: &Config, store: &Store) -> Result<bool, ChainError> {
    let reader = store.snapshot()?;
    if !config.settings.follow_snapshot {
        check_finished(reader.as_ref())?;
        return Ok(false);
    }
    if is_unfinished(reader.as_ref())? {
        return Ok(true);
    }
    let position = POSITION.get(reader.as_ref(), Scope::NODE, &())?;
    match position.map_or(0, |position| position.height) {
        0 => Ok(true),
        height => {
            tracing::info!(height, "follow-snapshot has no effect: the folder has final bundles");
            Ok(false)
        }
    }
}

/// Reads a snapshot into the store of these chains. Meanwhile the early server answers requests.
pub(super) async fn join(
    config: &Config,
    (prepared, store): (&PreparedChains, &Store),
    environment: &Environment,
    server: &mut EarlyServer,
    stop: Shutdown,
) -> Result<(), StartError> {
    let vms = prepared.vms();
    let (network, genesis) = (&config.network, genesis_bundle(&config.network));
    let of_target = store.clone();
    let target = tokio::task::spawn_blocking(move || {
        SnapshotTarget::new(&vms, Box::new(SharedMemoryPart), of_target, &genesis)
    });
    let target = Arc::new(target.await.map_err(|_| ChainError::Stopped)??);
    let id = target.genesis().id();
    let validators = KnownValidators::open(network, id, environment, store)?;
    let validators = validators.map(|known| Arc::new(known) as Arc<dyn FollowedValidators>);
    let source = |url| {
        let (dialer, timeouts) = (config.dialer.clone(), follow::timeouts(config));
        let source = EskerSource::new(url, dialer, (network.id, id), timeouts);
        let source = SnapshotSource::new(source);
        match &validators {
            Some(validators) => source.with_validators(Arc::clone(validators)),
            None => source,
        }
    };
    let status = JoinStatusCell::default();
    let join = SnapshotJoin::new(
        config.sources().into_iter().map(source).collect(),
        follow::follower_config(config),
        Arc::clone(&environment.clock),
        status.clone(),
    );

    let joining = join.run(&target, stop);
    let serving = server.serve_while(config, "joining", Arc::new(status), joining);
    let joined = Box::pin(serving).await?;
    match joined? {
        Joined::Snapshot(_) | Joined::FromBeginning(_) => Ok(()),
        Joined::Stopped => Err(StartError::Stopped),
    }
}
