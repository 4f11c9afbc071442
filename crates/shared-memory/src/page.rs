//! Pages of what was exported to owners: traits are their addresses, keys are IDs.

use std::collections::BTreeSet;

use esker_primitives::{ChainId, Id, ShortId};
use esker_storage::{KvRead, StorageError, StorageResult};

use crate::error::SharedMemoryError;
use crate::query::{Cursor, indexed};

/// Most UTXOs of a page that a client gets, of shared memory or of a chain. A larger limit is lowered to this.
pub const MAX_UTXO_PAGE: usize = 1024;

/// The start of a page: after that UTXO of that address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageStart {
    /// Addresses below it are skipped.
    pub address: ShortId,
    /// UTXOs of `address` up to this one are skipped.
    pub utxo_id: Id,
}

/// The end of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageEnd {
    /// UTXOs visited.
    pub count: usize,
    /// The last one, and the address it was listed under: where the next page starts. Of an empty page: the
    /// greatest address, with the start's UTXO or the zero ID, or the start itself if all addresses are below it.
    /// The reference's; in shared memory the start's UTXO goes with the start's address only.
    pub address: ShortId,
    /// See `address`.
    pub utxo_id: Id,
}

impl PageEnd {
    /// The end of a page that found nothing yet.
    pub fn empty(addresses: &BTreeSet<ShortId>, start: Option<PageStart>) -> Self {
        let greatest = addresses.last().copied().unwrap_or_default();
        let (address, utxo_id) = match start {
            Some(start) => (start.address.max(greatest), start.utxo_id),
            None => (greatest, Id::ZERO),
        };
        Self { count: 0, address, utxo_id }
    }
}

/// Visits at most `limit` UTXOs that the chain `source` exported to the chain `this` and that name one of
/// `addresses`, from `start` (exclusive) on, in the order of [`indexed`]. `visit` gets the UTXO ID and the UTXO's
/// bytes, version prefix included.
pub fn visit_page(
    reader: &dyn KvRead,
    (this, source): (&ChainId, &ChainId),
    addresses: &BTreeSet<ShortId>,
    start: Option<PageStart>,
    limit: usize,
    visit: &mut dyn FnMut(&Id, &[u8]),
) -> StorageResult<PageEnd> {
    let traits = addresses.iter().map(|address| address.as_bytes().to_vec()).collect();
    let cursor = start.map(|start| Cursor {
        name: start.address.as_bytes().to_vec(),
        key: start.utxo_id.as_bytes().to_vec(),
    });
    let page = match indexed(reader, this, source, &traits, cursor.as_ref(), limit) {
        Ok(page) => page,
        Err(SharedMemoryError::Storage(error)) => return Err(error),
        Err(error) => return Err(StorageError::Corrupted(error.to_string())),
    };
    let mut end = PageEnd::empty(addresses, start);
    end.count = page.keys.len();
    for (key, value) in page.keys.iter().zip(&page.values) {
        visit(&Id::from_slice(key).map_err(|_| damaged("key"))?, value);
    }
    // Unlike on the chain itself, an address without entries has no last one.
    if start.is_some_and(|start| end.address > start.address) {
        end.utxo_id = Id::ZERO;
    }
    if let Some(last) = page.last {
        end.address = ShortId::from_slice(&last.name).map_err(|_| damaged("trait"))?;
        end.utxo_id = Id::from_slice(&last.key).map_err(|_| damaged("key"))?;
    }
    Ok(end)
}

fn damaged(what: &str) -> StorageError {
    StorageError::Corrupted(format!("a {what} of the index of shared memory is damaged"))
}
