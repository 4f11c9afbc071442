//! Why blocks of a file are not imported.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why blocks of a file were not imported. Those before are.
#[derive(Debug, Error)]
pub enum ChainFileError {
    /// The file can't be read.
    #[error("can't read {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A block can't be read, or breaks a rule.
    #[error("{}: block {number} at byte {position}: {reason}", path.display())]
    Block {
        /// The file.
        path: PathBuf,
        /// The block's number: the next one, where the block can't be read.
        number: u64,
        /// Where it begins.
        position: u64,
        /// What is wrong.
        reason: String,
    },
}
