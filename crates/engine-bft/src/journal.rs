//! Whose votes the engine's folder holds.
//!
//! A validator that votes twice in a round counts as dishonest. The journal of its votes prevents that, if it is there:
//! a folder that is new, or was restored without the journal, can't say in which rounds its key has voted.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use crate::ValidatorPublicKey;

/// The file with the public key whose votes the folder holds.
const OWNER_FILE: &str = "validator";

/// Begins the names of the folders with votes, one an epoch.
pub(crate) const VOTES: &str = "votes";

/// Most bytes of it that are read.
const MAX_OWNER_FILE: u64 = 256;

/// What a folder says about a key's votes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Journal {
    /// It has all of them.
    Kept,
    /// It has none: the key may have voted elsewhere.
    Missing,
    /// It has those of another key, or of none that can be read.
    Other(String),
}

/// Reads whose votes a folder has.
pub(crate) fn read(folder: &Path, key: &ValidatorPublicKey) -> io::Result<Journal> {
    let mut text = String::new();
    match File::open(folder.join(OWNER_FILE)) {
        Ok(file) => file.take(MAX_OWNER_FILE).read_to_string(&mut text)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Journal::Missing),
        Err(error) => return Err(error),
    };
    Ok(match text.trim() {
        owner if owner == key.to_string() => Journal::Kept,
        owner => Journal::Other(owner.to_owned()),
    })
}

/// Makes the engine's folder for a key that has never voted, or may vote again, and makes it durable.
///
/// # Errors
/// The folder can't be written, or has votes already.
pub fn begin_journal(folder: &Path, key: &ValidatorPublicKey) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = folder.join(OWNER_FILE);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(format!("{key}\n").as_bytes())?;
    file.sync_all()?;
    File::open(folder)?.sync_all()
}

/// Removes everything from the engine's folder that a store has too, or gets from peers: the votes and promises stay.
pub(crate) fn keep_votes_only(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_votes = entry.file_name().to_string_lossy().starts_with(VOTES);
        if entry.file_type()?.is_dir() && !is_votes {
            fs::remove_dir_all(entry.path())?;
        }
    }
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ValidatorKey;

    #[test]
    fn a_folder_has_the_votes_of_one_key() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("consensus");
        let [key, other] = [1, 2].map(|n| ValidatorKey::from_bytes(&[n; 32]).public_key());
        assert_eq!(read(&folder, &key).unwrap(), Journal::Missing);
        begin_journal(&folder, &key).unwrap();
        assert_eq!(read(&folder, &key).unwrap(), Journal::Kept);
        assert_eq!(read(&folder, &other).unwrap(), Journal::Other(key.to_string()));
        let again = begin_journal(&folder, &other).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
    }
}
