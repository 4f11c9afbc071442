//! The journal of pooled transactions: written to one file of the data folder when the node stops, read at the next
//! start.
//!
//! A file starts with a line that names its format. Each transaction is the ID of its chain, a length (u32,
//! big-endian) and the bytes from [`ChainVm::waiting_txs`]. The last 32 bytes are the sha256 of all before them. The
//! file is written under a temporary name and renamed, so it is always complete. It is removed once it was read.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use esker_chain::ChainVm;
use esker_primitives::{ChainId, Id};
use thiserror::Error;

/// Name of the file in the data folder.
pub const FILE: &str = "pool.journal";

/// Name of an incomplete file, and of a damaged one.
const UNFINISHED: &str = "pool.journal.new";
const DAMAGED: &str = "pool.journal.damaged";

/// The first bytes of a file: its kind and the version of its format.
const MAGIC: &[u8] = b"esker pool journal 1\n";

/// Most bytes of a file. Transactions beyond it are lost.
pub const MAX_BYTES: usize = 128 << 20;

/// Bytes besides the transactions, and besides the bytes of each transaction.
const FRAME: usize = MAGIC.len() + Id::LEN;
const ENTRY: usize = Id::LEN + size_of::<u32>();

/// A pooled transaction, with its chain.
pub type JournalEntry = (ChainId, Bytes);

/// The reason why a file can't be read.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The system reported an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is damaged.
    #[error("{0}")]
    Damaged(&'static str),
}

/// The bytes of a file, and the number of transactions that exceed its limit.
pub fn encode(entries: &[JournalEntry]) -> (Vec<u8>, usize) {
    let mut file = MAGIC.to_vec();
    let mut left_out = 0;
    for (chain, tx) in entries {
        let fits = file.len() + ENTRY + tx.len() + Id::LEN <= MAX_BYTES;
        match u32::try_from(tx.len()) {
            Ok(len) if fits && left_out == 0 => {
                file.extend_from_slice(chain.as_bytes());
                file.extend_from_slice(&len.to_be_bytes());
                file.extend_from_slice(tx);
            }
            // Later transactions are skipped too: they may depend on it.
            _ => left_out += 1,
        }
    }
    let digest = Id::sha256(&file);
    file.extend_from_slice(digest.as_bytes());
    (file, left_out)
}

/// Decodes the transactions of a file.
pub fn decode(file: Vec<u8>) -> Result<Vec<JournalEntry>, JournalError> {
    let file = Bytes::from(file);
    let damaged = JournalError::Damaged;
    if file.len() < FRAME || !file.starts_with(MAGIC) {
        return Err(damaged("it does not begin as a journal does"));
    }
    let (content, digest) = (file.slice(..file.len() - Id::LEN), &file[file.len() - Id::LEN..]);
    if Id::sha256(&content).as_bytes() != digest {
        return Err(damaged("its checksum is wrong"));
    }
    let mut rest = content.slice(MAGIC.len()..);
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let short = || damaged("a transaction is cut off");
        let (head, _) = rest.split_first_chunk::<ENTRY>().ok_or_else(short)?;
        let (chain, len) = head.split_first_chunk::<{ Id::LEN }>().ok_or_else(short)?;
        let len = len.try_into().map(u32::from_be_bytes).map_err(|_| short())?;
        let end = usize::try_from(len).ok().and_then(|len| len.checked_add(ENTRY));
        let end = end.filter(|end| *end <= rest.len()).ok_or_else(short)?;
        entries.push((Id::new(*chain), rest.slice(ENTRY..end)));
        rest = rest.slice(end..);
    }
    Ok(entries)
}

/// Writes the pooled transactions of the chains to a folder; without transactions, no file. It is on the disk when
/// this returns.
pub(crate) fn write<'a>(
    folder: &Path,
    chains: impl IntoIterator<Item = &'a Arc<dyn ChainVm>>,
) -> io::Result<()> {
    let mut entries = Vec::new();
    for chain in chains {
        let id = chain.context().chain_id;
        entries.extend(chain.waiting_txs().into_iter().map(|tx| (id, tx)));
    }
    if entries.is_empty() {
        return Ok(());
    }
    let (bytes, left_out) = encode(&entries);
    let unfinished = folder.join(UNFINISHED);
    let mut file = File::create(&unfinished)?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    fs::rename(&unfinished, folder.join(FILE))?;
    File::open(folder)?.sync_all()?;
    tracing::info!(
        transactions = entries.len() - left_out,
        "saved waiting transactions for the next start"
    );
    if left_out > 0 {
        tracing::warn!(
            left_out,
            MAX_BYTES,
            "the pool journal is full: some waiting transactions are lost"
        );
    }
    Ok(())
}

/// Pools the transactions of the journal again. A damaged file is renamed and logged.
pub(crate) fn restore<'a>(folder: &Path, chains: impl IntoIterator<Item = &'a Arc<dyn ChainVm>>) {
    let path = folder.join(FILE);
    let entries = match read(&path) {
        Ok(Some(entries)) => entries,
        Ok(None) => return,
        Err(error) => {
            tracing::error!(
                %error, file = %path.display(),
                "the pool journal can't be read: transactions that waited when the node stopped are lost"
            );
            if matches!(error, JournalError::Damaged(_)) {
                rename_damaged(folder);
            }
            return;
        }
    };
    let mut by_chain: BTreeMap<ChainId, Vec<Bytes>> = BTreeMap::new();
    for (chain, tx) in entries {
        by_chain.entry(chain).or_default().push(tx);
    }
    for chain in chains {
        if let Some(txs) = by_chain.remove(&chain.context().chain_id) {
            let waited = txs.len();
            let restored = chain.restore_txs(txs);
            tracing::info!(chain = chain.name(), waited, restored, "restored waiting transactions");
        }
    }
    for (chain, txs) in by_chain {
        tracing::warn!(%chain, lost = txs.len(), "transactions of a chain that this node does not run are lost");
    }
    // It is removed only now. If the node is killed before, the next start reads the file again.
    let removed = fs::remove_file(&path).and_then(|()| File::open(folder)?.sync_all());
    if let Err(error) = removed {
        tracing::error!(%error, file = %path.display(), "can't remove the pool journal");
    }
}

fn rename_damaged(folder: &Path) {
    let aside = folder.join(DAMAGED);
    match fs::rename(folder.join(FILE), &aside) {
        Ok(()) => {
            tracing::error!(file = %aside.display(), "renamed the damaged pool journal");
        }
        Err(error) => tracing::error!(%error, "can't rename the damaged pool journal"),
    }
}

fn read(path: &Path) -> Result<Option<Vec<JournalEntry>>, JournalError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut bytes = Vec::new();
    let most = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX);
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_BYTES {
        return Err(JournalError::Damaged("it is longer than a journal can be"));
    }
    decode(bytes).map(Some)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entries(txs: &[&[u8]]) -> Vec<JournalEntry> {
        let chain = |at: usize| Id::new([u8::try_from(at % 3).unwrap(); 32]);
        txs.iter().enumerate().map(|(at, tx)| (chain(at), Bytes::copy_from_slice(tx))).collect()
    }

    #[test]
    fn what_was_written_is_read() {
        let all: [&[&[u8]]; 3] = [&[], &[b""], &[b"one", b"", b"three", b"four"]];
        for txs in all {
            let (file, left_out) = encode(&entries(txs));
            assert_eq!(left_out, 0);
            assert_eq!(decode(file).unwrap(), entries(txs));
        }
    }

    #[test]
    fn a_file_that_was_changed_or_cut_is_refused() {
        let (file, _) = encode(&entries(&[b"one", b"two"]));
        for at in 0..file.len() {
            let cut = file[..at].to_vec();
            assert!(matches!(decode(cut), Err(JournalError::Damaged(_))), "cut at {at}");
            let mut changed = file.clone();
            changed[at] ^= 1;
            assert!(matches!(decode(changed), Err(JournalError::Damaged(_))), "at {at}");
        }
        let mut longer = file;
        longer.push(0);
        assert!(matches!(decode(longer), Err(JournalError::Damaged(_))));
    }

    #[test]
    fn a_length_beyond_the_end_of_the_file_is_refused() {
        for content in [&[7u8; 35][..], &[0xff; 36], &[0xff; 80]] {
            let mut file = [MAGIC, content].concat();
            let digest = Id::sha256(&file);
            file.extend_from_slice(digest.as_bytes());
            let error = decode(file).unwrap_err().to_string();
            assert_eq!(error, "a transaction is cut off");
        }
    }

    #[test]
    fn a_full_journal_leaves_out_all_later_transactions() {
        let half = vec![0; MAX_BYTES / 2];
        let (file, left_out) = encode(&entries(&[b"one", &half, &half, b"four"]));
        assert!(file.len() <= MAX_BYTES);
        assert_eq!((left_out, decode(file).unwrap().len()), (2, 2));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _outcome = decode(bytes.clone());
            let _outcome = decode([MAGIC, &bytes].concat());
        }
    }
}
