//! The node's checks.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use esker_chain::Engine;
use esker_http::Routes;
use esker_primitives::SubnetId;
use esker_storage::{StorageError, Store, WriteSet};
use esker_validators::ValidatorEngine;
use serde_json::{Value, json};

use super::{APPLICATION, Failure, Health, Outcome, Turn};
use crate::api::facts::NetworkFacts;
use crate::api::inputs::{BaseInputs, ChainInputs, FollowerDeps, OrderInputs, RunningChain};

/// Minimum free space on the data folder's disk, in bytes.
pub(super) const MIN_FREE_DISK: u64 = 512 * 1024 * 1024;

/// All checks of a node.
pub(in crate::api) fn standard(
    (base, chains, order): (&BaseInputs, &ChainInputs, &OrderInputs),
    routes: &Arc<Routes>,
) -> Arc<Health> {
    let mut health = Health::new(Arc::clone(&base.clock), Arc::clone(&base.metrics));
    health = network(health, Arc::clone(&order.engine));
    if let Some(deps) = &order.follower {
        health = follower(health, deps.clone());
    }
    if let Some(validator) = &order.validator {
        health = validators(health, Arc::clone(validator));
    }
    health = router(health, (&base.network, &chains.running), routes);
    health = database(health, base.store.clone());
    if let Some(folder) = &base.data_dir {
        health = diskspace(health, folder.clone());
    }
    health = bootstrapped(health, chains.running.clone());
    if base.network.has_x_chain {
        let primary = SubnetId::ZERO.to_string();
        // The P-Chain has no blocks here: its data is constant.
        health = health.check("P", &[&primary], || async { Ok(Value::Null) });
    }
    for running in &chains.running {
        health = chain(health, running);
    }
    Arc::new(health)
}

/// The engine's peers.
fn network(health: Health, engine: Arc<dyn Engine>) -> Health {
    health.check("network", &[APPLICATION], move || {
        let status = engine.status();
        async move {
            let message = json!({
                "connectedPeers": status.peers,
                "finalHeight": status.tip_final,
                "greatestHeightSeen": status.tip_seen,
            });
            if status.syncing {
                return Err(Failure { error: "far behind the other nodes".to_owned(), message });
            }
            Ok(message)
        }
    })
}

/// Enough validators are connected to decide. For a follower among their peers one is enough.
fn validators(health: Health, validator: Arc<dyn ValidatorEngine>) -> Health {
    health.check("validators", &[APPLICATION], move || {
        let (peers, stats) = (validator.status().peers, validator.stats());
        // A follower among the peers, or a validator that has left or has not joined yet.
        let is_follower = !stats.is_member;
        async move {
            let message = json!({
                "validators": stats.validators,
                "quorum": stats.quorum,
                "connectedPeers": peers,
                "followers": stats.followers,
                "votes": stats.votes,
                "round": stats.round,
            });
            if is_follower {
                // This check does not cover decisions that the other validators make without this node.
                return match peers {
                    0 => Err(Failure { error: "no validator is connected".to_owned(), message }),
                    _ => Ok(message),
                };
            }
            // This validator counts, too.
            if peers.saturating_add(1) < stats.quorum {
                let error = format!(
                    "{} of {} validators are needed to decide, {} are connected",
                    stats.quorum,
                    stats.validators,
                    peers.saturating_add(1)
                );
                return Err(Failure { error, message });
            }
            Ok(message)
        }
    })
}

/// The follower's source and lag.
fn follower(health: Health, deps: FollowerDeps) -> Health {
    health.check("follower", &[APPLICATION], move || {
        let status = deps.follower.follow_status();
        let max_lag_ms = u64::try_from(deps.max_lag.as_millis()).unwrap_or(u64::MAX);
        async move {
            let message = json!({
                "source": status.source,
                "finalHeight": status.tip_final,
                "greatestHeightSeen": status.tip_seen,
                "lagBundles": status.lag_bundles(),
                "lagMs": status.lag_ms,
            });
            match (&status.fault, &status.last_error) {
                (Some(fault), _) => Err(Failure { error: fault.clone(), message }),
                (None, error) if status.lag_ms > max_lag_ms => {
                    let error = match error {
                        Some(error) => format!("behind for {} ms: {error}", status.lag_ms),
                        None => format!("behind for {} ms", status.lag_ms),
                    };
                    Err(Failure { error, message })
                }
                (None, _) => Ok(message),
            }
        }
    })
}

/// All paths of the chains and of the node exist.
fn router(
    health: Health,
    (network, chains): (&NetworkFacts, &[RunningChain]),
    routes: &Arc<Routes>,
) -> Health {
    // A chain of the EVM alone has no primary network to tell about.
    let info = network.has_x_chain.then_some("/ext/info");
    // Weak, because the routes refer to the health endpoints.
    let (routes, chains): (Weak<Routes>, _) = (Arc::downgrade(routes), chains.to_vec());
    health.blocking_check("router", &[APPLICATION], move || {
        let Some(routes) = routes.upgrade() else { return Err("there is no router".into()) };
        let of_chains = chains.iter().flat_map(|chain| {
            let base = format!("/ext/bc/{}", chain.vm.context().chain_id);
            chain.suffixes.iter().map(move |suffix| format!("{base}{suffix}"))
        });
        let of_node = info.into_iter().chain(["/ext/health", "/ext/metrics"]).map(str::to_owned);
        let wanted: Vec<String> = of_chains.chain(of_node).collect();
        let missing: Vec<_> = wanted.iter().filter(|path| !routes.contains(path)).collect();
        if missing.is_empty() {
            Ok(json!({"endpoints": wanted.len()}))
        } else {
            Err(Failure {
                error: "missing routes".to_owned(),
                message: json!({"missing": missing}),
            })
        }
    })
}

/// The store can be read, and its writer accepts writes.
pub(in crate::api) fn database(health: Health, store: Store) -> Health {
    let turn = Turn::default();
    health.check("database", &[APPLICATION], move || {
        let (store, turn) = (store.clone(), turn.clone());
        async move {
            let (reader, failed) = (store.clone(), |error: StorageError| error.to_string());
            let read = move || reader.snapshot()?.seek(&[0]).map(|_| ());
            turn.run(read).await?.map_err(failed)?;
            // An empty set passes through the writer and changes nothing. A suspended writer refuses it.
            store.ensure_writable().map_err(failed)?;
            store.commit(WriteSet::default()).await.map_err(failed)?;
            Ok(Value::Null)
        }
    })
}

/// The disk has enough free space.
pub(in crate::api) fn diskspace(health: Health, folder: PathBuf) -> Health {
    health.blocking_check("diskspace", &[APPLICATION], move || {
        enough_space(available_bytes(&folder).map_err(|error| error.to_string())?)
    })
}

fn enough_space(available: u64) -> Outcome {
    let message = json!({"availableDiskBytes": available});
    if available < MIN_FREE_DISK {
        let error = format!(
            "remaining available disk space ({available}) is below the warning threshold of disk space ({MIN_FREE_DISK})"
        );
        return Err(Failure { error, message });
    }
    Ok(message)
}

/// Bytes that the owner of the process can still write to this folder's disk.
fn available_bytes(folder: &Path) -> rustix::io::Result<u64> {
    let disk = rustix::fs::statvfs(folder)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// All chains are bootstrapped; otherwise lists the subnets of those that are not.
fn bootstrapped(health: Health, chains: Vec<RunningChain>) -> Health {
    health.check("bootstrapped", &[APPLICATION], move || {
        let waiting = chains.iter().filter(|chain| !chain.ready.is_ready());
        let mut subnets: Vec<_> = waiting.map(|chain| chain.subnet_id.to_string()).collect();
        subnets.sort_unstable();
        subnets.dedup();
        async move {
            if subnets.is_empty() {
                return Ok(json!([]));
            }
            let error = "subnets not bootstrapped".to_owned();
            Err(Failure { error, message: json!(subnets) })
        }
    })
}

/// The chain's own health report.
fn chain(health: Health, running: &RunningChain) -> Health {
    let subnet = running.subnet_id.to_string();
    let vm = Arc::clone(&running.vm);
    health.blocking_check(&running.vm.name(), &[&subnet], move || {
        vm.health().map(Value::from).map_err(|error| Failure::from(error.to_string()))
    })
}

#[cfg(test)]
mod tests {
    use esker_storage::MemoryStore;

    use super::*;

    #[test]
    fn space() {
        assert_eq!(enough_space(MIN_FREE_DISK), Ok(json!({"availableDiskBytes": 536_870_912})));
        let failure = enough_space(7).unwrap_err();
        assert_eq!(
            failure.error,
            "remaining available disk space (7) is below the warning threshold of disk space (536870912)"
        );
        assert!(available_bytes(&std::env::temp_dir()).unwrap() > 0);
        assert!(available_bytes(Path::new("/nothing/there")).is_err());
    }

    #[tokio::test]
    async fn a_closed_writer_is_reported() {
        use esker_primitives::clock::ManualClock;

        let store = Store::new(Arc::new(MemoryStore::new())).unwrap();
        let clock = Arc::new(ManualClock::new(0));
        let health = Health::new(clock, Arc::new(crate::metrics::Metrics::new()))
            .with_max_age(std::time::Duration::ZERO);
        let health = database(health, store.clone());
        assert!(health.report::<&str>(&[]).await.is_healthy());
        store.writer.close().await.unwrap();
        assert!(!health.report::<&str>(&[]).await.is_healthy());
    }
}
