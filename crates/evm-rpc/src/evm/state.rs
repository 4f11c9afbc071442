//! Accounts and storage.

use alloy_primitives::B256;
use esker_rpc::RpcError;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::read_error;
use crate::reads::ReadApi;
use crate::wire::{
    Addr, AssetId, Big, BlockNumber, BlockNumberOrHash, BlockOrAbsent, Data, Hash, Uint64,
};

pub(super) fn get_balance(
    reads: &ReadApi,
    (Addr(address), at): (Addr, BlockOrAbsent),
) -> Result<Big, RpcError> {
    let (state, _) = reads.state(reads.block_or_latest(at, 1)?)?;
    let account = state.view().account(&address).map_err(read_error)?;
    Ok(Big(account.unwrap_or_default().balance))
}

/// The error of other assets on a fork whose source gives no proofs, where alone they show.
const NO_ASSETS: &str = "balances of other assets are not known: the source of the forked state shows them in proofs only, and gives none";

/// How much an account has of an asset other than the native one: it lies in a slot that no contract can name.
pub(super) fn get_asset_balance(
    reads: &ReadApi,
    (Addr(address), at, AssetId(asset)): (Addr, BlockNumberOrHash, AssetId),
) -> Result<Big, RpcError> {
    let (state, _) = reads.state(at)?;
    let view = state.view();
    if view.has_partial_roots() {
        return Err(RpcError::new(NO_ASSETS));
    }
    let asset = B256::new(*asset.as_bytes());
    Ok(Big(view.asset_balance(&address, asset).map_err(read_error)?))
}

pub(super) fn get_code(
    reads: &ReadApi,
    (Addr(address), at): (Addr, BlockOrAbsent),
) -> Result<Data, RpcError> {
    let (state, _) = reads.state(reads.block_or_latest(at, 1)?)?;
    let account = state.view().account(&address).map_err(read_error)?;
    let code = account.map(|account| state.view().code(account.code_hash));
    code.transpose().map(|code| Data(code.unwrap_or_default())).map_err(read_error)
}

/// An account as the state trie holds it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct AccountReply {
    nonce: Uint64,
    balance: Big,
    storage_root: Hash,
    code_hash: Hash,
}

/// An account with its code.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AccountInfoReply {
    pub(crate) balance: Big,
    pub(crate) nonce: Uint64,
    pub(crate) code: Data,
}

/// An account that was never used is empty.
pub(super) fn get_account(
    reads: &ReadApi,
    (Addr(address), at): (Addr, Option<BlockNumberOrHash>),
) -> Result<AccountReply, RpcError> {
    let (state, _) = reads.state(or_latest(at))?;
    let account = state.view().account(&address).map_err(read_error)?.unwrap_or_default();
    Ok(AccountReply {
        nonce: Uint64(account.nonce),
        balance: Big(account.balance),
        storage_root: Hash(account.storage_root),
        code_hash: Hash(account.code_hash),
    })
}

pub(super) fn get_account_info(
    reads: &ReadApi,
    (Addr(address), at): (Addr, Option<BlockNumberOrHash>),
) -> Result<AccountInfoReply, RpcError> {
    let (state, _) = reads.state(or_latest(at))?;
    let account = state.view().account(&address).map_err(read_error)?.unwrap_or_default();
    let code = state.view().code(account.code_hash).map_err(read_error)?;
    Ok(AccountInfoReply {
        balance: Big(account.balance),
        nonce: Uint64(account.nonce),
        code: Data(code),
    })
}

fn or_latest(at: Option<BlockNumberOrHash>) -> BlockNumberOrHash {
    at.unwrap_or(BlockNumberOrHash::Number(BlockNumber::Latest))
}
