//! Accounts and storage.

use alloy_primitives::{B256, U256};
use esker_rpc::RpcError;

use crate::Reads;
use crate::error::unreadable;
use crate::wire::{Addr, AssetId, Big, BlockNumberOrHash, Data, Hash, StorageKey};

pub(super) fn get_balance(
    reads: &Reads,
    (Addr(address), at): (Addr, BlockNumberOrHash),
) -> Result<Big, RpcError> {
    let (state, _) = reads.state(at)?;
    let account = state.view().account(&address).map_err(unreadable)?;
    Ok(Big(account.unwrap_or_default().balance))
}

/// How much an account has of an asset other than the native one: it lies in a slot that no contract can name.
pub(super) fn get_asset_balance(
    reads: &Reads,
    (Addr(address), at, AssetId(asset)): (Addr, BlockNumberOrHash, AssetId),
) -> Result<Big, RpcError> {
    let (state, _) = reads.state(at)?;
    let asset = B256::new(*asset.as_bytes());
    Ok(Big(state.view().asset_balance(&address, asset).map_err(unreadable)?))
}

pub(super) fn get_code(
    reads: &Reads,
    (Addr(address), at): (Addr, BlockNumberOrHash),
) -> Result<Data, RpcError> {
    let (state, _) = reads.state(at)?;
    let account = state.view().account(&address).map_err(unreadable)?;
    let code = account.map(|account| state.view().code(account.code_hash));
    code.transpose().map(|code| Data(code.unwrap_or_default())).map_err(unreadable)
}

/// What contract code reads at a key.
pub(super) fn get_storage_at(
    reads: &Reads,
    (Addr(address), key, at): (Addr, String, BlockNumberOrHash),
) -> Result<Hash, RpcError> {
    let (state, _) = reads.state(at)?;
    let key = StorageKey::parse(&key)
        .map_err(|error| RpcError::new(format!("unable to decode storage key: {error}")))?;
    let slot = reads.chain.rules().storage_slot(U256::from_be_bytes(key.key.0));
    let value = state.view().storage(&address, slot).map_err(unreadable)?;
    Ok(Hash(value.into()))
}
