//! The data folder: a kept one, or a temporary one that goes with the node.

use std::path::Path;
use std::sync::Arc;

use esker_storage::meta::{self, OpenOptions, TempFolder};
use esker_storage::{StorageResult, Store};

use super::StartError;
use crate::config::Config;
use crate::identity::Identity;
use crate::metrics::{MeteredStore, Metrics};

/// Address space of a store that is removed anyway.
const TEMPORARY_MAP_SIZE: u64 = 64 << 30;

/// Where the node keeps its data. The temporary kind is removed when this is dropped.
#[derive(Debug)]
pub(super) enum DataFolder {
    Kept(std::path::PathBuf),
    Temporary(TempFolder),
}

impl DataFolder {
    pub(super) fn of(config: &Config) -> StorageResult<Self> {
        Ok(match &config.data_dir {
            Some(path) => Self::Kept(path.clone()),
            None => Self::Temporary(TempFolder::create()?),
        })
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Temporary(folder) => folder.path(),
        }
    }

    /// Opens the store, takes the folder for this process alone, and makes sure that it belongs to the network.
    pub(super) fn open_store(
        &self,
        config: &Config,
        metrics: &Arc<Metrics>,
    ) -> StorageResult<Store> {
        let map_size = config.settings.store_map_size.0;
        let options = match self {
            Self::Kept(_) => OpenOptions { map_size, durable: true },
            Self::Temporary(_) => {
                OpenOptions { map_size: map_size.min(TEMPORARY_MAP_SIZE), durable: false }
            }
        };
        let lmdb = Arc::new(meta::open_dir(self.path(), &options)?);
        let network = &config.network;
        let identity = meta::Identity { network_id: network.id, genesis: network.fingerprint() };
        meta::bind(lmdb.as_ref(), &identity)?;
        Store::new(Arc::new(MeteredStore::new(lmdb, Arc::clone(metrics))))
    }

    /// Who this node is; keys are kept with the data.
    pub(super) fn identity(&self) -> Result<Identity, StartError> {
        Ok(match self {
            Self::Kept(path) => Identity::load_or_create(path)?,
            Self::Temporary(_) => Identity::generate()?,
        })
    }
}
