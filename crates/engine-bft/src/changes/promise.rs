//! What this validator's operator approved and what it promised, on the disk. A promise is written before its signature
//! leaves the node, and replaced whole: a crash leaves the old file or the new one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::document::MAX_CHANGE;
use super::reader::{Reader, put_bytes};
use super::{ChangeError, SetChange};

/// The file in the engine's folder.
const FILE: &str = "change";

/// Its successor while it is written.
const NEW_FILE: &str = "change.new";

/// Most bytes that are read.
const MAX_FILE: u64 = 2 * (MAX_CHANGE as u64 + 4);

/// A validator's own part in the next change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Commitments {
    pub(super) approved: Option<SetChange>,
    pub(super) promised: Option<SetChange>,
}

impl Commitments {
    pub(super) fn read(folder: &Path) -> Result<Self, String> {
        let path = folder.join(FILE);
        let failed = |reason: String| format!("{}: {reason}", path.display());
        let mut bytes = Vec::new();
        match File::open(&path) {
            Ok(file) => {
                let mut file = file.take(MAX_FILE + 1);
                file.read_to_end(&mut bytes).map_err(|error| failed(error.to_string()))?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(failed(error.to_string())),
        }
        Self::from_bytes(&bytes).map_err(|error| failed(error.to_string()))
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, ChangeError> {
        let mut reader = Reader(bytes);
        let mut next = || match reader.bytes(MAX_CHANGE)? {
            [] => Ok(None),
            bytes => SetChange::from_bytes(bytes).map(Some),
        };
        let read = Self { approved: next()?, promised: next()? };
        reader.end()?;
        Ok(read)
    }

    /// Makes them durable.
    pub(super) fn write(&self, folder: &Path) -> Result<(), String> {
        let mut bytes = Vec::new();
        for change in [&self.approved, &self.promised] {
            let change = change.as_ref().map_or_else(Vec::new, SetChange::to_bytes);
            put_bytes(&mut bytes, &change);
        }
        let path = folder.join(FILE);
        let write = || {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            let new = folder.join(NEW_FILE);
            let mut options = OpenOptions::new();
            let mut file =
                options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
            File::open(folder)?.sync_all()
        };
        write().map_err(|error: io::Error| format!("{}: {error}", path.display()))
    }
}
