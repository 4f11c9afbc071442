//! Pages of UTXOs by address (decision 12): addresses ascending by their bytes, UTXO IDs ascending within each,
//! a UTXO of several queried addresses under the lowest of them only. So a full walk returns each exactly once
//! without remembering earlier pages, and what exists throughout a walk is never skipped.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use esker_primitives::{AssetId, ChainId, Id, ShortId};
use esker_shared_memory::{Cursor, SharedMemoryError};
use esker_storage::{KvRead, StorageError, StorageResult};

use super::chain_state::ChainState;
use super::listed::{self, Listed};
use super::raw::RawUtxo;
use super::tables::{ADDRESS_UTXOS, UTXOS, utxo_key};

/// Most UTXOs of one page.
pub const MAX_UTXO_PAGE: usize = 1024;

/// Where a page begins: after that UTXO of that address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageStart {
    /// Addresses below it are skipped.
    pub address: ShortId,
    /// UTXOs of `address` up to this one are skipped.
    pub utxo_id: Id,
}

/// What a page came to.
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
    pub(crate) fn empty(addresses: &BTreeSet<ShortId>, start: Option<PageStart>) -> Self {
        let greatest = addresses.last().copied().unwrap_or_default();
        let (address, utxo_id) = match start {
            Some(start) => (start.address.max(greatest), start.utxo_id),
            None => (greatest, Id::ZERO),
        };
        Self { count: 0, address, utxo_id }
    }
}

/// Where to begin within one address; `None` to skip it.
fn begin_at(address: &ShortId, start: Option<PageStart>) -> Option<Option<Id>> {
    match start {
        Some(start) if *address < start.address => None,
        Some(start) if *address == start.address => Some(Some(start.utxo_id)),
        Some(_) | None => Some(None),
    }
}

/// Visits at most `limit` UTXOs of `addresses`, from `start` (exclusive) on. `visit` gets the UTXO ID and the UTXO's
/// bytes, version prefix included.
pub(crate) fn visit_page(
    (state, fee_asset_id): (ChainState<'_>, &AssetId),
    addresses: &BTreeSet<ShortId>,
    start: Option<PageStart>,
    limit: usize,
    visit: &mut dyn FnMut(&Id, &[u8]),
) -> StorageResult<PageEnd> {
    let mut end = PageEnd::empty(addresses, start);
    for address in addresses {
        if end.count >= limit {
            break;
        }
        let Some(after) = begin_at(address, start) else { continue };
        // One address needs no look at the owners of what it shares with others.
        let shared = addresses.first() != Some(address);
        visit_address((state, fee_asset_id), address, after, &mut |id, utxo| {
            let listed = shared
                && utxo.addresses().any(|owner| owner < *address && addresses.contains(&owner));
            if !listed {
                visit(id, utxo.bytes());
                end =
                    PageEnd { count: end.count.saturating_add(1), address: *address, utxo_id: *id };
            }
            if end.count >= limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
    }
    Ok(end)
}

/// As [`visit_page`], of what the chain `source` exported to the chain `this`; shared memory keeps the same order.
pub(crate) fn visit_atomic_page(
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
    let page =
        match esker_shared_memory::indexed(reader, this, source, &traits, cursor.as_ref(), limit) {
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

/// Visits the UTXOs of one address in ascending order of their IDs, after `after`.
pub(crate) fn visit_address(
    (state, fee_asset_id): (ChainState<'_>, &AssetId),
    address: &ShortId,
    after: Option<Id>,
    visit: &mut dyn FnMut(&Id, RawUtxo<'_>) -> ControlFlow<()>,
) -> StorageResult<()> {
    let (reader, scope) = (state.reader(), state.scope());
    let prefix: &[u8] = address.as_bytes();
    let from = after.map(|id| [prefix, id.as_bytes()].concat());
    let mut failure = None;
    ADDRESS_UTXOS.scan(reader, scope, prefix, from.as_deref(), |key, value| {
        let Some(id) = key.last_chunk::<32>().copied().map(Id::new) else {
            failure = Some(damaged("key"));
            return ControlFlow::Break(());
        };
        if Some(id) == after {
            return ControlFlow::Continue(());
        }
        let outcome = match listed::decode(value, address, fee_asset_id) {
            Some(Listed::Whole(bytes)) => parse(bytes).map(|utxo| visit(&id, utxo)),
            Some(Listed::Plain(bytes)) => parse(&bytes).map(|utxo| visit(&id, utxo)),
            Some(Listed::Elsewhere(utxo_id)) => UTXOS
                .get_with(reader, scope, &utxo_key(&utxo_id), |bytes| Ok(visit(&id, parse(bytes)?)))
                .and_then(|found| found.unwrap_or_else(|| Err(damaged("UTXO, which is missing,")))),
            None => Err(damaged("row")),
        };
        outcome.unwrap_or_else(|error| {
            failure = Some(error);
            ControlFlow::Break(())
        })
    })?;
    failure.map_or(Ok(()), Err)
}

fn parse(bytes: &[u8]) -> StorageResult<RawUtxo<'_>> {
    RawUtxo::new(bytes).ok_or_else(|| damaged("UTXO"))
}

fn damaged(what: &str) -> StorageError {
    StorageError::Corrupted(format!("a {what} of the address index is damaged"))
}
