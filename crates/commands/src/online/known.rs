//! The networks that the user has confirmed, kept in a file: `~/.esker/known-networks.json`.
//!
//! It has one entry for each address of a node and each chain of it, what the user has answered `y` to.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use esker_primitives::{AssetId, ChainId, read_bounded};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Most bytes of the file.
const MAX_BYTES: u64 = 1 << 20;

/// The values that identify the chain that a transaction is signed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum Identity {
    /// An EVM chain.
    Evm {
        /// EIP-155.
        #[serde(rename = "chainID")]
        chain_id: u64,
    },
    /// A chain of the asset VM.
    Assets {
        /// Number of the network.
        #[serde(rename = "networkID")]
        network_id: u32,
        /// The chain.
        #[serde(rename = "blockchainID")]
        blockchain_id: ChainId,
        /// The asset in which fees are paid.
        #[serde(rename = "nativeAssetID")]
        native: AssetId,
    },
}

/// The file's content: address of a node, alias of a chain.
type Entries = BTreeMap<String, BTreeMap<String, Identity>>;

/// The file can't be read or written.
#[derive(Debug, Error)]
#[error("{}: {error}", path.display())]
pub(super) struct KnownNetworksError {
    path: PathBuf,
    error: io::Error,
}

/// The file.
#[derive(Debug)]
pub(super) struct KnownNetworks {
    path: PathBuf,
    entries: Entries,
}

impl KnownNetworks {
    /// Reads the file below a home folder; one that does not exist has no entries.
    pub(super) fn read(home: &Path) -> Result<Self, KnownNetworksError> {
        let path = home.join(".esker/known-networks.json");
        let entries = match read_bounded(&path, MAX_BYTES) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Entries::new()),
            Err(error) => Err(error),
        };
        match entries {
            Ok(entries) => Ok(Self { path, entries }),
            Err(error) => Err(KnownNetworksError { path, error }),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn get(&self, url: &str, alias: &str) -> Option<&Identity> {
        self.entries.get(url)?.get(alias)
    }

    /// Keeps an entry, instead of the one that was there.
    pub(super) fn keep(
        mut self,
        url: &str,
        alias: &str,
        identity: Identity,
    ) -> Result<(), KnownNetworksError> {
        self.entries.entry(url.to_owned()).or_default().insert(alias.to_owned(), identity);
        let written = self.write();
        written.map_err(|error| KnownNetworksError { path: self.path, error })
    }

    /// The file is replaced at once: a reader sees the old or the new one.
    fn write(&self) -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(&self.entries)?;
        text.push('\n');
        if let Some(folder) = self.path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let new = self.path.with_extension(format!("json.{}", std::process::id()));
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&new, &self.path));
        written.inspect_err(|_| {
            // The first error is the one to show.
            let _left = fs::remove_file(&new);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_kept_by_address_and_chain() {
        let home = tempfile::tempdir().unwrap();
        let read = || KnownNetworks::read(home.path()).unwrap();
        let evm = |chain_id| Identity::Evm { chain_id };
        let assets = Identity::Assets {
            network_id: 7,
            blockchain_id: ChainId::sha256(b"x"),
            native: AssetId::sha256(b"a"),
        };
        assert_eq!(read().get("http://a:1", "C"), None);
        read().keep("http://a:1", "C", evm(5)).unwrap();
        read().keep("http://a:1", "X", assets).unwrap();
        read().keep("https://b:1", "C", evm(6)).unwrap();
        read().keep("http://a:1", "C", evm(7)).unwrap();
        let known = read();
        assert_eq!(known.get("http://a:1", "C"), Some(&evm(7)));
        assert_eq!(known.get("http://a:1", "X"), Some(&assets));
        assert_eq!(known.get("https://b:1", "C"), Some(&evm(6)));
        assert_eq!(known.get("https://b:1", "X"), None);
        let names: Vec<_> = fs::read_dir(home.path().join(".esker")).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }

    #[test]
    fn files_that_are_none_are_refused() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".esker/known-networks.json");
        fs::create_dir(home.path().join(".esker")).unwrap();
        let both = r#"{"http://a:1": {"C": {"chainID": 1, "networkID": 2}}}"#;
        for text in ["", "[]", "{\"http://a:1\": {\"C\": {}}}", both, &" ".repeat(2 << 20)] {
            fs::write(&file, text).unwrap();
            let error = KnownNetworks::read(home.path()).unwrap_err().to_string();
            assert!(error.contains("known-networks.json: "), "{error}");
        }
    }
}
