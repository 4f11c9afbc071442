//! Networks: which chains there are and what they begin with.
//!
//! A [`Network`] is a value: one of the [`Preset`]s, or the content of a file ([`mod@file`], docs/networks.md).
//! Chain IDs follow from genesis bytes by the reference's rules, so the presets have the reference's IDs. Nothing
//! here runs a chain.

pub mod accounts;
mod assets;
pub mod file;
mod funding;
mod parameters;
mod presets;
mod spec;

pub use funding::dev_funding_tx;
pub use parameters::{ChainParameters, EvmParameters};
pub use presets::Preset;
pub use spec::{
    AddChainError, ChainDeclaration, ChainSpec, ExportedUtxo, Fees, GAS_LIMITS, MAX_CHAINS,
    Network, P_ALIASES, P_CHAIN_ID, Vm,
};

use std::path::{Path, PathBuf};

use thiserror::Error;

/// Most bytes of a network file.
pub const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Why a network can't be used.
#[derive(Debug, Error)]
pub enum NetworkError {
    /// The file can't be read.
    #[error("can't read network file {}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The file's content is no network.
    #[error("network file {}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: file::FileError,
    },
    /// A chain can't be added.
    #[error(transparent)]
    Chain(#[from] AddChainError),
}

/// The network of a name, or of a file.
pub fn load(name: &str) -> Result<Network, NetworkError> {
    match Preset::from_name(name) {
        Some(preset) => Ok(preset.network()),
        None => load_file(Path::new(name)),
    }
}

fn load_file(path: &Path) -> Result<Network, NetworkError> {
    let bytes = read_bounded(path, MAX_FILE_BYTES)
        .map_err(|reason| NetworkError::Read { path: path.to_owned(), reason })?;
    file::parse(&bytes).map_err(|error| NetworkError::File { path: path.to_owned(), error })
}

/// A file's content, if it has at most `limit` bytes.
pub fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    use std::io::Read;
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > limit {
        return Err(format!("it has more than {limit} bytes"));
    }
    Ok(bytes)
}
