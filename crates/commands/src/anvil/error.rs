//! The reasons why flags of anvil can't be used.

use std::path::PathBuf;

use thiserror::Error;

/// The reason why flags can't be used.
#[derive(Debug, Error)]
pub(super) enum FlagError {
    /// A mnemonic has another number of words.
    #[error("--mnemonic-random: expected 12, 15, 18, 21 or 24 words, found {0}")]
    Words(usize),
    /// The file of `--init` is unusable.
    #[error("--init: {}: {reason}", path.display())]
    Init {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// A path is not text.
    #[error("{}: expected a path in UTF-8", .0.display())]
    Path(PathBuf),
}
