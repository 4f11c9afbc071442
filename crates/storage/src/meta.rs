//! Opens a data folder and reads the records that describe it: schema, network, scopes of chains.

use std::fmt;
use std::io;
use std::path::Path;

use esker_primitives::ids::{ChainId, Id};

use crate::check::{Thoroughness, check_file};
use crate::error::{StorageError, StorageResult};
use crate::folder::{DATABASE_FILE, Folder};
use crate::kv::KvStore;
use crate::lmdb::LmdbStore;
use crate::rows::KvRead;
use crate::scope::Scope;
use crate::table::Table;
use crate::write_set::WriteSet;

pub use crate::folder::TempFolder;
pub use crate::lmdb::OpenOptions;

/// Version of the layout of all tables. A folder of a later version is refused. An older one is migrated at the start of
/// a node, one version at a time: 1 has no rows of the state commitment, which the machine adds
/// (`esker_chain::commitment`).
pub const SCHEMA_VERSION: u32 = 2;

/// Schema version of the folder, under the name `schema`.
const FACTS: Table<[u8], Vec<u8>> = Table::new(0x00, "meta");
/// Scope of each chain that was ever started on this folder.
const SCOPES: Table<ChainId, u16> = Table::new(0x01, "scopes");
/// Parameters that the data depends on, a list for each owner.
const PARAMETERS: Table<[u8], Vec<u8>> = Table::new(0x02, "parameters");

const SCHEMA: &[u8] = b"schema";
const NETWORK: &[u8] = b"network";
const GENESIS: &[u8] = b"genesis";

/// Opens the store in the folder `path`, which is created if it is missing and may have other files.
///
/// # Errors
/// Another process has the folder; a later release wrote it; the database is damaged; the system refuses.
pub fn open_dir(path: &Path, options: &OpenOptions) -> StorageResult<LmdbStore> {
    open(Folder::take(path)?, options)
}

/// Opens a new store in a temporary folder, which is deleted with the store and its last snapshot.
pub fn open_temp(options: &OpenOptions) -> StorageResult<LmdbStore> {
    open(Folder::temporary()?, options)
}

/// Whether the folder `path` has a store, open or not.
///
/// # Errors
/// The folder can't be read.
pub fn is_store(path: &Path) -> StorageResult<bool> {
    match path.join(DATABASE_FILE).metadata() {
        Ok(metadata) => Ok(metadata.is_file()),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(false),
            _ => Err(StorageError::io(format!("read {}", path.display()), error)),
        },
    }
}

/// Reads every page of the database in the folder `path`, which must not be open.
///
/// # Errors
/// See [`open_dir`], and [`StorageError::Corrupted`] with the first fault.
pub fn check_dir(path: &Path) -> StorageResult<()> {
    let _folder = Folder::take(path)?;
    check_file(&path.join(DATABASE_FILE), Thoroughness::Full)
}

/// Records that a store has the present layout, in the commit that completes its migration.
pub fn put_schema_version(out: &mut WriteSet) {
    FACTS.put_bytes(out, Scope::NODE, SCHEMA, &SCHEMA_VERSION.to_be_bytes());
}

fn open(folder: Folder, options: &OpenOptions) -> StorageResult<LmdbStore> {
    let store = LmdbStore::open(folder, options)?;
    let reader = store.snapshot()?;
    match FACTS.get(&*reader, Scope::NODE, SCHEMA)? {
        Some(version) => {
            let found = version.try_into().map(u32::from_be_bytes).map_err(|_| {
                StorageError::Corrupted("schema version does not decode".to_owned())
            })?;
            if found > SCHEMA_VERSION {
                let path = store.folder().to_owned();
                return Err(StorageError::NewerSchema { path, found, known: SCHEMA_VERSION });
            }
        }
        None if reader.seek(&[])?.is_none() => {
            let mut set = WriteSet::new();
            put_schema_version(&mut set);
            store.write(&set)?;
        }
        None => return Err(StorageError::Corrupted("no schema version".to_owned())),
    }
    drop(reader);
    Ok(store)
}

/// The network and the genesis of a store. They never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// ID of the network.
    pub network_id: u32,
    /// Fingerprint of the network's genesis.
    pub genesis: Id,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "network {} with genesis {}", self.network_id, self.genesis)
    }
}

/// Records the identity of a new store; refuses a store of another network or another genesis. Returns whether the
/// store was new.
pub fn bind(kv: &dyn KvStore, wanted: &Identity) -> StorageResult<bool> {
    let reader = kv.snapshot()?;
    let network = FACTS.get(&*reader, Scope::NODE, NETWORK)?;
    let genesis = FACTS.get(&*reader, Scope::NODE, GENESIS)?;
    let (Some(network), Some(genesis)) = (&network, &genesis) else {
        if network.is_some() || genesis.is_some() {
            return Err(StorageError::Corrupted("half of the network's identity".to_owned()));
        }
        let mut set = WriteSet::new();
        let network_id = wanted.network_id.to_be_bytes();
        FACTS.put_bytes(&mut set, Scope::NODE, NETWORK, &network_id);
        FACTS.put_bytes(&mut set, Scope::NODE, GENESIS, wanted.genesis.as_bytes());
        kv.write(&set)?;
        return Ok(true);
    };
    let damaged = |_| StorageError::Corrupted("network's identity does not decode".to_owned());
    let found = Identity {
        network_id: u32::from_be_bytes(network.as_slice().try_into().map_err(damaged)?),
        genesis: Id::new(genesis.as_slice().try_into().map_err(damaged)?),
    };
    if found == *wanted {
        return Ok(false);
    }
    Err(StorageError::OtherNetwork { found: found.to_string(), wanted: wanted.to_string() })
}

/// Names with values, in an order of the owner's choice.
pub type Parameters = Vec<(String, String)>;

/// The recorded parameters of an owner, such as a chain; `None` before the first record.
///
/// # Errors
/// The store can't be read, or the record is damaged.
pub fn parameters(reader: &dyn KvRead, owner: &[u8]) -> StorageResult<Option<Parameters>> {
    let Some(bytes) = PARAMETERS.get(reader, Scope::NODE, owner)? else { return Ok(None) };
    let damaged = || StorageError::Corrupted("recorded parameters do not decode".to_owned());
    let mut rest = bytes.as_slice();
    let mut text = || {
        let (len, tail) = rest.split_first_chunk().ok_or_else(damaged)?;
        let len = u32::from_be_bytes(*len) as usize;
        let (text, tail) = tail.split_at_checked(len).ok_or_else(damaged)?;
        rest = tail;
        let text = String::from_utf8(text.to_vec()).map_err(|_| damaged())?;
        Ok::<_, StorageError>((text, rest.is_empty()))
    };
    let mut parameters = Parameters::new();
    let mut is_whole = bytes.is_empty();
    while !is_whole {
        let (name, _) = text()?;
        let (value, is_last) = text()?;
        parameters.push((name, value));
        is_whole = is_last;
    }
    Ok(Some(parameters))
}

/// Records the parameters of an owner.
pub fn put_parameters(out: &mut WriteSet, owner: &[u8], parameters: &Parameters) {
    let texts = parameters.iter().flat_map(|(name, value)| [name, value]);
    let mut bytes = Vec::new();
    for text in texts {
        let len = u32::try_from(text.len()).expect("a parameter is short");
        bytes.extend_from_slice(&len.to_be_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    PARAMETERS.put_bytes(out, Scope::NODE, owner, &bytes);
}

/// The scope of a chain's tables: the one that was assigned at the chain's first start, or the next free one.
pub fn scope(kv: &dyn KvStore, chain: &ChainId) -> StorageResult<Scope> {
    let reader = kv.snapshot()?;
    if let Some(scope) = SCOPES.get(&*reader, Scope::NODE, chain)? {
        return Ok(Scope(scope));
    }
    let used = SCOPES.collect(&*reader, Scope::NODE, &[])?;
    let highest = used.iter().map(|(_, scope)| *scope).max().unwrap_or(Scope::NODE.0);
    let next = highest
        .checked_add(1)
        .ok_or_else(|| StorageError::Backend("no free scope for another chain".to_owned()))?;
    let mut set = WriteSet::new();
    SCOPES.put(&mut set, Scope::NODE, chain, &next);
    kv.write(&set)?;
    Ok(Scope(next))
}

/// Every chain with a scope, by chain ID.
pub fn scopes(kv: &dyn KvStore) -> StorageResult<Vec<(ChainId, Scope)>> {
    let reader = kv.snapshot()?;
    let entries = SCOPES.collect(&*reader, Scope::NODE, &[])?;
    Ok(entries.into_iter().map(|(chain, scope)| (chain, Scope(scope))).collect())
}
