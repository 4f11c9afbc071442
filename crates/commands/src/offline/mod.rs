//! The data folder of a stopped node: its store, its chains and their machine. No endpoint is served, and no engine
//! runs.

mod error;
mod stop;

use std::path::Path;
use std::sync::Arc;

use esker_chain::{AdjustableClock, Machine, MachineConfig};
use esker_keystore::Keystore;
use esker_node::Environment;
use esker_node::aliases::AliasTable;
use esker_node::chains::Chain;
use esker_node::wiring::{OpenChains, StartError, open_offline};
use esker_primitives::clock::Clock;
use esker_settings::config::Config;
use esker_storage::{Store, meta};

pub use error::OfflineError;
pub(crate) use stop::StopSignal;

/// A data folder that this process has locked.
#[derive(Debug)]
pub(crate) struct Offline {
    store: Store,
    chains: OpenChains,
}

impl Offline {
    /// Opens the folder; writes the network's genesis to a new one.
    pub(crate) fn open(config: &Config) -> Result<Self, OfflineError> {
        if config.data_dir.is_none() {
            return Err(OfflineError::NoFolder);
        }
        let environment = Environment::system();
        // The undo rows stay as the node left them.
        let decides_alone = config.network.validators.is_empty();
        let machine = MachineConfig { decides_alone, ..MachineConfig::default() };
        let (store, chains) = open_offline(config, &Keystore::disabled(), environment, machine)?;
        Ok(Self { store, chains })
    }

    /// Opens a folder that has data.
    pub(crate) fn open_existing(config: &Config) -> Result<Self, OfflineError> {
        existing_folder(config)?;
        Self::open(config)
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.chains.clock
    }

    /// The clock of the chains of a development network.
    pub(crate) fn development_clock(&self) -> Option<&AdjustableClock> {
        self.chains.development_clock.as_ref()
    }

    pub(crate) fn machine(&self) -> &Arc<Machine> {
        &self.chains.machine
    }

    /// The chains, in the order of the network's declaration.
    pub(crate) fn chains(&self) -> impl Iterator<Item = &Chain> {
        self.chains.chains.iter().map(|(_, chain)| chain)
    }

    pub(crate) fn aliases(&self) -> &Arc<AliasTable> {
        &self.chains.aliases
    }

    /// Makes all writes durable and unlocks the folder.
    pub(crate) fn close(self) -> Result<(), OfflineError> {
        Ok(self.store.writer.close_blocking().map_err(StartError::from)?)
    }
}

/// The folder; an error if it has no data, or can't be read.
pub(crate) fn existing_folder(config: &Config) -> Result<&Path, OfflineError> {
    let path = config.data_dir.as_deref().ok_or(OfflineError::NoFolder)?;
    match meta::is_store(path).map_err(StartError::from)? {
        true => Ok(path),
        false => Err(OfflineError::NoData(Path::to_owned(path))),
    }
}
