//! The data folder: persistent, or temporary and removed when the node stops.

use std::path::Path;
use std::sync::Arc;

use esker_chain::snapshot::check_finished;
use esker_primitives::Randomness;
use esker_settings::config::Config;
use esker_storage::meta::{self, OpenOptions, TempFolder};
use esker_storage::{KvStore, RetryPolicy, StorageResult, Store};

use super::StartError;
use crate::identity::Identity;
use crate::metrics::{MeteredStore, Metrics};

/// Address space of a temporary store.
const TEMPORARY_MAP_SIZE: u64 = 64 << 30;

/// A new temporary folder. Folders of nodes that were killed are removed.
fn temporary(config: &Config) -> StorageResult<TempFolder> {
    let folder = match &config.settings.temporary_folder {
        Some(parent) => TempFolder::create_in_new(parent)?,
        None => TempFolder::create()?,
    };
    for path in folder.remove_abandoned() {
        tracing::info!(folder = %path.display(), "removed the folder of a node that was killed");
    }
    Ok(folder)
}

/// The node's data folder. A temporary one is removed on drop.
#[derive(Debug)]
pub(super) enum DataFolder {
    Persistent(std::path::PathBuf),
    Temporary(TempFolder),
}

impl DataFolder {
    pub(super) fn from_config(config: &Config) -> StorageResult<Self> {
        Ok(match &config.data_dir {
            Some(path) => Self::Persistent(path.clone()),
            None => Self::Temporary(temporary(config)?),
        })
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Persistent(path) => path,
            Self::Temporary(folder) => folder.path(),
        }
    }

    /// The folder, if it is persistent.
    pub(super) fn persistent_path(&self) -> Option<&Path> {
        match self {
            Self::Persistent(path) => Some(path),
            Self::Temporary(_) => None,
        }
    }

    /// Opens the store of a running node, which retries writes while the disk is full ([`Self::open_kv`]).
    pub(super) fn open_store(
        &self,
        config: &Config,
        metrics: &Arc<Metrics>,
    ) -> StorageResult<Store> {
        let store = Store::retrying(self.open_kv(config, metrics)?, RetryPolicy::NODE)?;
        metrics.watch_writer(store.writer.refusal());
        Ok(store)
    }

    /// Opens the store for a command, which stops at the first error ([`Self::open_kv`]).
    ///
    /// # Errors
    /// Also if a snapshot was not completed in it.
    pub(super) fn open_offline_store(&self, config: &Config) -> Result<Store, StartError> {
        let store = Store::new(self.open_kv(config, &Arc::new(Metrics::new()))?)?;
        check_finished(store.snapshot()?.as_ref())?;
        Ok(store)
    }

    /// Opens the store, locks the folder, and checks that it belongs to the network.
    fn open_kv(&self, config: &Config, metrics: &Arc<Metrics>) -> StorageResult<Arc<dyn KvStore>> {
        let map_size = config.settings.store_map_size.0;
        let disk_reserve = config.settings.store_disk_reserve;
        let options = match self {
            Self::Persistent(_) => OpenOptions { map_size, durable: true, disk_reserve },
            Self::Temporary(_) => {
                let map_size = map_size.min(TEMPORARY_MAP_SIZE);
                OpenOptions { map_size, durable: false, disk_reserve }
            }
        };
        let lmdb = Arc::new(meta::open_dir(self.path(), &options)?);
        let network = &config.network;
        let identity = meta::Identity { network_id: network.id, genesis: network.fingerprint() };
        meta::bind(lmdb.as_ref(), &identity)?;
        Ok(Arc::new(MeteredStore::new(lmdb, Arc::clone(metrics))))
    }

    /// The node's identity; its keys are stored with the data.
    pub(super) fn identity(&self, randomness: &Randomness) -> Result<Identity, StartError> {
        Ok(match self {
            Self::Persistent(path) => Identity::load_or_create(path, randomness)?,
            Self::Temporary(_) => Identity::generate(randomness)?,
        })
    }
}
