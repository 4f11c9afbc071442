//! Networks: their chains and the genesis of each.
//!
//! A [`Network`] is a value: one of the [`Preset`]s, or the content of a file ([`mod@file`], docs/networks.md). The
//! reference's rules derive chain IDs from genesis bytes, so the presets have the reference's IDs. This module runs
//! no chain.

pub mod accounts;
mod assets;
mod coin;
mod coins;
mod dev;
mod dev_accounts;
mod evm;
pub mod file;
mod funding;
mod mnemonic;
mod parameters;
mod presets;
mod spec;
pub(crate) mod text;
mod validators;
mod vm;

pub use coin::{Coin, CoinDeclaration, CoinError};
pub use dev::{DevStart, dev_network};
pub use dev_accounts::{
    DEV_COUNTS, DEV_MNEMONIC, DEV_PATH, DEV_START_TIMES, DevAccounts, DevError, DevOptions,
};
pub use evm::{
    EVM_NETWORK, EvmNetworkError, EvmOptions, MAX_GENESIS_NUMBER, evm_network, evm_network_of,
    has_base_fee,
};
pub use funding::dev_funding_txs;
pub(crate) use funding::{Source, dev_funding};
pub use mnemonic::{MnemonicError, PathError, mnemonic_of};
pub use parameters::{ChainParameters, EvmParameters, EvmRules, Fees, Parameter};
pub use presets::Preset;
pub use spec::{
    AddChainError, ChainDeclaration, ChainSpec, DeclaredFees, ExportedUtxo, GAS_LIMITS,
    MAX_ALIAS_BYTES, MAX_CHAINS, Network, P_ALIASES, P_CHAIN_ID,
};
pub use validators::Validators;
pub(crate) use vm::C_CHAIN_ONLY;
pub use vm::{RulesName, UnknownRules, UnknownVm, Vm};

use std::io;
use std::path::{Path, PathBuf};

use esker_primitives::read_input;
use thiserror::Error;

/// Most bytes of a network file.
pub const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The reason why a network is unusable.
#[derive(Debug, Error)]
pub enum NetworkError {
    /// The file can't be read.
    #[error("can't read network file {}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// The file is not a network file.
    #[error("network file {}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The fault.
        error: file::FileError,
    },
    /// A chain can't be added.
    #[error(transparent)]
    Chain(#[from] AddChainError),
}

/// Loads a network by name or from a file.
pub fn load(name: &str) -> Result<Network, NetworkError> {
    match Preset::from_name(name) {
        Some(preset) => Ok(preset.network()),
        None => load_file(Path::new(name)),
    }
}

fn load_file(path: &Path) -> Result<Network, NetworkError> {
    let read =
        |error: io::Error| NetworkError::Read { path: path.to_owned(), reason: error.to_string() };
    let bytes = read_input(path, MAX_FILE_BYTES).map_err(read)?;
    file::parse(&bytes).map_err(|error| NetworkError::File { path: path.to_owned(), error })
}
