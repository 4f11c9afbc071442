//! Pages of the address-transaction index.

use std::ops::ControlFlow;

use esker_primitives::{AssetId, ShortId, TxId};
use esker_storage::{KeyCodec, StorageError, StorageResult};
use thiserror::Error;

use super::chain_state::ChainState;
use super::tables::ADDRESS_TXS;

/// Most transactions of one page.
pub const MAX_ADDRESS_TXS_PAGE: usize = 1024;

/// The reason why the address-transaction index gives no answer.
#[derive(Debug, Error)]
pub enum AddressTxsError {
    /// It is switched off.
    #[error("the address transaction index is off: set index-transactions = true for this chain")]
    Disabled,
    /// It was switched on over existing blocks, and does not cover them all yet.
    #[error("the address transaction index is being built: {indexed} of {height} blocks are done")]
    Building {
        /// Height up to which it is complete.
        indexed: u64,
        /// Height of the last accepted block.
        height: u64,
    },
    /// The node joined from a snapshot, and the index was off at some time since.
    #[error(
        "the address transaction index lacks blocks, and can't be filled: this node's history begins at block {0} \
         (it joined from a snapshot)"
    )]
    Unfillable(u64),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Transactions from position `cursor` on, at most `limit`, in the order of acceptance.
pub(crate) fn page(
    state: ChainState<'_>,
    address: &ShortId,
    asset_id: &AssetId,
    cursor: u64,
    limit: usize,
) -> StorageResult<Vec<TxId>> {
    let prefix = [address.as_bytes().as_slice(), asset_id.as_bytes()].concat();
    let mut from = Vec::with_capacity(60);
    (*address, *asset_id, cursor).encode_key(&mut from);
    let mut found = Vec::new();
    if limit == 0 {
        return Ok(found);
    }
    let mut failure = None;
    ADDRESS_TXS.scan(state.reader(), state.scope(), &prefix, Some(&from), |_, value| {
        match ADDRESS_TXS.value(value) {
            Ok(tx_id) => found.push(tx_id),
            Err(error) => failure = Some(error),
        }
        if failure.is_some() || found.len() >= limit {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    failure.map_or(Ok(found), Err)
}
