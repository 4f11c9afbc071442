//! Pages of UTXOs by address (docs/decisions.md, "Order and pages of UTXOs"): addresses ascending by their bytes,
//! UTXO IDs ascending within each, a UTXO of several queried addresses under the lowest of them only. So a full walk
//! returns each exactly once without remembering earlier pages, and what exists throughout a walk is never skipped.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use esker_primitives::{AssetId, Id, ShortId};
pub use esker_shared_memory::{MAX_UTXO_PAGE, PageEnd, PageStart};
use esker_storage::{StorageError, StorageResult};

use super::chain_state::ChainState;
use super::index_row::{self, IndexRow};
use super::raw::RawUtxo;
use super::tables::{ADDRESS_UTXOS, UTXOS, utxo_key};

/// The start within one address; `None` to skip it.
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
            let index_row = shared
                && utxo.addresses().any(|owner| owner < *address && addresses.contains(&owner));
            if !index_row {
                visit(id, utxo.bytes());
                end =
                    PageEnd { count: end.count.saturating_add(1), address: *address, utxo_id: *id };
            }
            if end.count >= limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
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
        let outcome = match index_row::decode(value, address, fee_asset_id) {
            Some(IndexRow::Whole(bytes)) => parse(bytes).map(|utxo| visit(&id, utxo)),
            Some(IndexRow::Rebuilt(bytes)) => parse(&bytes).map(|utxo| visit(&id, utxo)),
            Some(IndexRow::Reference(utxo_id)) => UTXOS
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
