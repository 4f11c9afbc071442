//! issueTx, getAtomicTx, getAtomicTxStatus.

use esker_primitives::ids::TxId;
use esker_rpc::ReplyAfter;
use esker_rpc::wire::{Encoding, JsonU64};
use esker_services::sending::reply_wait;
use esker_transactions::nat::AtomicTx;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::encoded_tx::EncodedTx;
use super::{NatService, Reply, ServiceError};
use crate::chain::{AtomicStatus, SubmittedTx};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct IssueArgs {
    tx: String,
    encoding: Encoding,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TxIdReply {
    #[serde(rename = "txID")]
    pub(super) tx_id: TxId,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct TxArgs {
    #[serde(rename = "txID")]
    tx_id: TxId,
    encoding: Encoding,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TxReply {
    tx: EncodedTx,
    encoding: Encoding,
    /// Of an accepted transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    block_height: Option<JsonU64>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct StatusArgs {
    #[serde(rename = "txID")]
    tx_id: TxId,
    include_reason: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct StatusReply {
    status: &'static str,
    /// Of an accepted transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    block_height: Option<JsonU64>,
    /// Of a dropped one, on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Submits a signed transaction: it is in the pool when this answers, and in that of the source if another node decides.
pub(super) fn issue_tx(nat: &NatService, args: IssueArgs) -> Reply<ReplyAfter<TxIdReply>> {
    let bytes = args.encoding.decode(&args.tx).map_err(ServiceError::DecodeTx)?;
    let tx = AtomicTx::parse(&bytes).map_err(ServiceError::ParseTx)?;
    let SubmittedTx { id: tx_id, answer } = nat.nat.submit_and_forward(&tx)?;
    Ok(ReplyAfter { reply: TxIdReply { tx_id }, wait: reply_wait(answer) })
}

/// A transaction that was accepted, waits, or was dropped not long ago.
pub(super) fn get_atomic_tx(nat: &NatService, args: TxArgs) -> Reply<TxReply> {
    let (id, encoding) = (given(args.tx_id)?, args.encoding);
    let (tx, status) = nat.nat.find(&id)?.ok_or(ServiceError::NoTx(id))?;
    Ok(TxReply {
        tx: EncodedTx::new(nat.context(), &tx, encoding)?,
        encoding,
        block_height: height_of(&status),
    })
}

/// The status of a transaction at this node.
pub(super) fn get_atomic_tx_status(nat: &NatService, args: StatusArgs) -> Reply<StatusReply> {
    let status = nat.nat.status(&given(args.tx_id)?)?;
    let block_height = status.as_ref().and_then(height_of);
    let (status, reason) = match status {
        Some(AtomicStatus::Accepted(_)) => ("Accepted", None),
        Some(AtomicStatus::Processing) => ("Processing", None),
        Some(AtomicStatus::Dropped(reason)) => ("Dropped", Some(reason)),
        None => ("Unknown", None),
    };
    Ok(StatusReply { status, block_height, reason: reason.filter(|_| args.include_reason) })
}

fn height_of(status: &AtomicStatus) -> Option<JsonU64> {
    match status {
        AtomicStatus::Accepted(height) => Some(JsonU64(*height)),
        AtomicStatus::Processing | AtomicStatus::Dropped(_) => None,
    }
}

/// The zero ID stands for one that was not given.
fn given(id: TxId) -> Reply<TxId> {
    if id == TxId::ZERO { Err(ServiceError::NilTxId) } else { Ok(id) }
}
