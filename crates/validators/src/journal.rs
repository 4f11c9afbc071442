//! The owner of the votes in the engine's folder.
//!
//! A validator that votes twice in a round counts as dishonest. The journal of its votes prevents that, if it exists.
//! A folder that is new, or was restored without the journal, does not show in which rounds its key has voted.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::keys::ValidatorPublicKey;
use crate::whole_file::{self, Existing};

/// The file with the public key whose votes the folder holds.
const OWNER_FILE: &str = "validator";

/// Prefix of the names of the folders with votes, one for each epoch.
pub const VOTES: &str = "votes";

/// Most bytes of it that are read.
const MAX_OWNER_FILE: u64 = 256;

/// The content of a folder about a key's votes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Journal {
    /// All votes of the key.
    Kept,
    /// No votes: the key may have voted elsewhere.
    Missing,
    /// The votes of another key, or of a key that can't be read.
    Other(String),
}

/// Reads whose votes a folder has.
///
/// # Errors
/// The folder can't be read.
pub fn read(folder: &Path, key: &ValidatorPublicKey) -> io::Result<Journal> {
    let Some(bytes) = whole_file::read(folder, OWNER_FILE, MAX_OWNER_FILE)? else {
        return Ok(Journal::Missing);
    };
    Ok(match String::from_utf8_lossy(&bytes).trim() {
        owner if owner == key.to_string() => Journal::Kept,
        owner => Journal::Other(owner.to_owned()),
    })
}

/// Makes the engine's folder for a key that has never voted, or may vote again, and makes it durable.
///
/// # Errors
/// The folder can't be written, or has votes already.
pub fn begin(folder: &Path, key: &ValidatorPublicKey) -> io::Result<()> {
    whole_file::write(folder, OWNER_FILE, format!("{key}\n").as_bytes(), Existing::Kept)
}

/// Removes everything from the engine's folder that a store has too, or gets from peers: the votes and promises stay.
///
/// # Errors
/// The folder can't be read or changed.
pub fn keep_votes_only(folder: &Path) -> io::Result<()> {
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
    use crate::keys::ValidatorKey;

    #[test]
    fn a_folder_has_the_votes_of_one_key() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("consensus");
        let [key, other] = [1, 2].map(|n| ValidatorKey::from_bytes(&[n; 32]).public_key());
        assert_eq!(read(&folder, &key).unwrap(), Journal::Missing);
        begin(&folder, &key).unwrap();
        assert_eq!(read(&folder, &key).unwrap(), Journal::Kept);
        assert_eq!(read(&folder, &other).unwrap(), Journal::Other(key.to_string()));
        let again = begin(&folder, &other).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
    }

    /// The disk is full.
    #[test]
    fn a_folder_whose_owner_could_not_be_written_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let key = ValidatorKey::from_bytes(&[1; 32]).public_key();
        let in_the_way = folder.path().join("validator.new");
        fs::create_dir(&in_the_way).unwrap();
        begin(folder.path(), &key).unwrap_err();
        assert_eq!(read(folder.path(), &key).unwrap(), Journal::Missing);
        fs::remove_dir(&in_the_way).unwrap();
        begin(folder.path(), &key).unwrap();
        assert_eq!(read(folder.path(), &key).unwrap(), Journal::Kept);
    }
}
