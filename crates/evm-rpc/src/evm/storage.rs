//! Slots of contracts.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, U256};
use esker_evm_state::state::StateView;
use esker_rpc::RpcError;

use crate::error::read_error;
use crate::reads::ReadApi;
use crate::wire::call::SlotRequests;
use crate::wire::{Addr, BlockOrAbsent, Hash, KeyError, StorageKey};

/// Most slots of one call of `getStorageValues`; the limit and the texts are geth's.
const MAX_SLOTS: usize = 1024;
/// geth's code of a request that exceeds a limit.
const CLIENT_LIMIT_EXCEEDED: i64 = -38026;

/// The value that contract code reads at a key.
pub(super) fn get_storage_at(
    reads: &ReadApi,
    (Addr(address), key, at): (Addr, String, BlockOrAbsent),
) -> Result<Hash, RpcError> {
    let at = reads.block_or_latest(at, 2)?;
    if reads.dialect().is_standard() {
        // The standard decodes the key first.
        let StorageKey { key, .. } = StorageKey::parse(&key).map_err(|e| invalid_key(e, &key))?;
        let (state, _) = reads.state(at)?;
        return value_at(reads, &state.view(), &address, key).map(Hash);
    }
    let (state, _) = reads.state(at)?;
    let StorageKey { key, .. } = StorageKey::parse(&key)
        .map_err(|error| RpcError::new(format!("unable to decode storage key: {error}")))?;
    value_at(reads, &state.view(), &address, key).map(Hash)
}

/// The error of a storage key, with the text of the standard.
pub(super) fn invalid_key(error: KeyError, key: &str) -> RpcError {
    let text = match error {
        KeyError::Invalid => format!("invalid hex in storage key: {key:?}"),
        KeyError::TooLong => format!("storage key too long (want at most 32 bytes): {key:?}"),
    };
    RpcError::with_code(RpcError::INVALID_PARAMS, text)
}

/// The values of slots of several accounts, in one state.
pub(super) fn get_storage_values(
    reads: &ReadApi,
    (SlotRequests(requests), at): (SlotRequests, BlockOrAbsent),
) -> Result<BTreeMap<Addr, Vec<Hash>>, RpcError> {
    let slots: usize = requests.values().map(Vec::len).sum();
    if slots > MAX_SLOTS {
        let text = format!("too many slots (max {MAX_SLOTS})");
        return Err(RpcError::with_code(CLIENT_LIMIT_EXCEEDED, text));
    }
    if slots == 0 {
        return Err(RpcError::with_code(RpcError::INVALID_PARAMS, "empty request"));
    }
    let (state, _) = reads.state(reads.block_or_latest(at, 1)?)?;
    let view = state.view();
    let values = |(address, keys): (Address, Vec<B256>)| {
        let values = keys.into_iter().map(|key| value_at(reads, &view, &address, key).map(Hash));
        Ok((Addr(address), values.collect::<Result<Vec<_>, RpcError>>()?))
    };
    requests.into_iter().map(values).collect()
}

fn value_at(
    reads: &ReadApi,
    view: &StateView<'_>,
    address: &Address,
    key: B256,
) -> Result<B256, RpcError> {
    let slot = reads.chain.rules().storage_keys().slot(U256::from_be_bytes(key.0));
    view.storage(address, slot).map(Into::into).map_err(read_error)
}
