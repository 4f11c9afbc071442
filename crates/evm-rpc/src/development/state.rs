//! Changes of the state, each in a block of its own.

use std::sync::Arc;

use esker_evm::control::ChangeRequest;
use esker_rpc::{CallNotes, RpcError};

use super::numbers::Number;
use super::{DevelopmentNode, refused};
use crate::wire::{Addr, Data};

async fn change(
    node: &DevelopmentNode,
    change: ChangeRequest,
    notes: &CallNotes,
) -> Result<(), RpcError> {
    node.controls_to_write()?.change(vec![change]).await.map_err(refused)?;
    node.note_blocks(notes);
    Ok(())
}

/// Sets the balance of an account, wei.
pub(super) async fn set_balance(
    node: Arc<DevelopmentNode>,
    (Addr(account), Number(wei)): (Addr, Number),
    notes: CallNotes,
) -> Result<(), RpcError> {
    change(&node, ChangeRequest::Balance(account, wei), &notes).await
}

/// Adds to the balance of an account, wei.
pub(super) async fn add_balance(
    node: Arc<DevelopmentNode>,
    (Addr(account), Number(wei)): (Addr, Number),
    notes: CallNotes,
) -> Result<(), RpcError> {
    change(&node, ChangeRequest::AddBalance(account, wei), &notes).await
}

/// Sets the nonce of an account.
pub(super) async fn set_nonce(
    node: Arc<DevelopmentNode>,
    (Addr(account), nonce): (Addr, Number),
    notes: CallNotes,
) -> Result<(), RpcError> {
    change(&node, ChangeRequest::Nonce(account, nonce.to_u64("nonce")?), &notes).await
}

/// Sets the code of an account; empty code removes it.
pub(super) async fn set_code(
    node: Arc<DevelopmentNode>,
    (Addr(account), Data(code)): (Addr, Data),
    notes: CallNotes,
) -> Result<(), RpcError> {
    change(&node, ChangeRequest::Code(account, code), &notes).await
}

/// Sets a storage slot of an account: key, value.
pub(super) async fn set_storage_at(
    node: Arc<DevelopmentNode>,
    (Addr(account), Number(key), Number(value)): (Addr, Number, Number),
    notes: CallNotes,
) -> Result<bool, RpcError> {
    change(&node, ChangeRequest::Storage(account, key, value), &notes).await?;
    Ok(true)
}

/// Like [`set_balance`], with Hardhat's reply.
pub(super) async fn hardhat_set_balance(
    node: Arc<DevelopmentNode>,
    arguments: (Addr, Number),
    notes: CallNotes,
) -> Result<bool, RpcError> {
    set_balance(node, arguments, notes).await.map(|()| true)
}

/// Like [`set_nonce`], with Hardhat's reply, and never to a lower nonce.
pub(super) async fn hardhat_set_nonce(
    node: Arc<DevelopmentNode>,
    (Addr(account), nonce): (Addr, Number),
    notes: CallNotes,
) -> Result<bool, RpcError> {
    change(&node, ChangeRequest::RaiseNonce(account, nonce.to_u64("nonce")?), &notes).await?;
    Ok(true)
}

/// Like [`set_code`], with Hardhat's reply.
pub(super) async fn hardhat_set_code(
    node: Arc<DevelopmentNode>,
    arguments: (Addr, Data),
    notes: CallNotes,
) -> Result<bool, RpcError> {
    set_code(node, arguments, notes).await.map(|()| true)
}
