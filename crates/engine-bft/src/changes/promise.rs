//! The approval of this validator's operator and its promise, on the disk. A promise is written before its signature
//! leaves the node, and replaced whole: a crash leaves the old file or the new one.

use std::io;
use std::path::{Path, PathBuf};

use esker_primitives::codec::{Reader, Writer};
use esker_validators::whole_file::{self, Existing};
use esker_validators::{ChangeError, MAX_CHANGE, SetChange};
use thiserror::Error;

/// The file in the engine's folder.
const FILE: &str = "change";

/// Most bytes that are read.
const MAX_FILE: u64 = 2 * (MAX_CHANGE as u64 + 4);

/// The file can't be read or written.
#[derive(Debug, Error)]
#[error("{}: {fault}", path.display())]
pub(super) struct CommitmentsError {
    path: PathBuf,
    fault: CommitmentsFault,
}

#[derive(Debug, Error)]
enum CommitmentsFault {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Change(#[from] ChangeError),
}

impl CommitmentsError {
    fn new(folder: &Path, fault: impl Into<CommitmentsFault>) -> Self {
        Self { path: folder.join(FILE), fault: fault.into() }
    }
}

/// A validator's own part in the next change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Commitments {
    pub(super) approved: Option<SetChange>,
    pub(super) promised: Option<SetChange>,
}

impl Commitments {
    pub(super) fn read(folder: &Path) -> Result<Self, CommitmentsError> {
        let bytes = whole_file::read(folder, FILE, MAX_FILE);
        match bytes.map_err(|error| CommitmentsError::new(folder, error))? {
            Some(bytes) => {
                Self::from_bytes(&bytes).map_err(|error| CommitmentsError::new(folder, error))
            }
            None => Ok(Self::default()),
        }
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, ChangeError> {
        let mut reader = Reader::new(bytes);
        let mut next = || match reader.bytes()? {
            [] => Ok(None),
            bytes => SetChange::from_bytes(bytes).map(Some),
        };
        let read = Self { approved: next()?, promised: next()? };
        reader.finish()?;
        Ok(read)
    }

    /// Makes them durable.
    pub(super) fn write(&self, folder: &Path) -> Result<(), CommitmentsError> {
        let mut out = Writer::new();
        for change in [&self.approved, &self.promised] {
            let change = change.as_ref().map_or_else(Vec::new, SetChange::to_bytes);
            out.bytes(&change);
        }
        let written = whole_file::write(folder, FILE, out.as_slice(), Existing::Replaced);
        written.map_err(|error| CommitmentsError::new(folder, error))
    }
}
