//! Changes of the state, each in a block of its own.

use std::borrow::Cow;
use std::sync::Arc;

use esker_evm::control::ChangeRequest;
use esker_go_json::Document;
use esker_go_json::args::{Argument, ArgumentError};
use esker_rpc::{CallNotes, RpcError};

use super::numbers::Number;
use super::{DevelopmentNode, refused};
use crate::wire::{Addr, Data};

/// A number for a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct StorageValue {
    value: Number,
    /// Length of a text of `0x` and hex digits.
    bytes: Option<usize>,
}

esker_rpc::schema_as!(StorageValue, "Number", Number);

impl Argument for StorageValue {
    fn go_type() -> Cow<'static, str> {
        Number::go_type()
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let digits =
            value.as_bytes().strip_prefix(b"\"0x").map(|text| text.len().saturating_sub(1));
        Ok(Self { value: Number::decode(value)?, bytes: digits.map(|digits| digits.div_ceil(2)) })
    }
}

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

/// Like [`set_storage_at`]. Hardhat takes whole words only.
pub(super) async fn hardhat_set_storage_at(
    node: Arc<DevelopmentNode>,
    (account, key, StorageValue { value, bytes }): (Addr, Number, StorageValue),
    notes: CallNotes,
) -> Result<bool, RpcError> {
    if let Some(bytes) = bytes.filter(|bytes| *bytes != 32 && node.has_hardhat_answers()) {
        return Err(refused(format!(
            "Storage value must be exactly 32 bytes long. Received one that is {bytes} bytes long."
        )));
    }
    set_storage_at(node, (account, key, value), notes).await
}

/// Like [`set_nonce`], with Hardhat's reply, and never to a lower nonce. Hardhat refuses it while transactions wait.
pub(super) async fn hardhat_set_nonce(
    node: Arc<DevelopmentNode>,
    (Addr(account), nonce): (Addr, Number),
    notes: CallNotes,
) -> Result<bool, RpcError> {
    if node.has_hardhat_answers() && node.chain.pool().counts() != (0, 0) {
        let text = "Cannot set account nonce when the transaction pool is not empty";
        return Err(RpcError::with_code(RpcError::INTERNAL, text));
    }
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
