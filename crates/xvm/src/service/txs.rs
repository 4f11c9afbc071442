//! getTx, getTxStatus, issueTx.

use std::sync::Arc;

use esker_primitives::TxId;
use esker_rpc::RpcError;
use esker_rpc::wire::Encoding;
use esker_services::sending::forward_error;
use esker_transactions::xvm::Tx;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::encoded_reply::EncodedReply;
use super::{Reply, ServiceError, off_thread};
use crate::chain::Issued;
use crate::chain::Xvm;
use crate::state::TxStatus;

/// Longest transaction text that is verified in place: some inputs, so some signatures of 50 us each.
const MAX_INLINE_TX_TEXT: usize = 4096;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct TxArgs {
    #[serde(rename = "txID")]
    tx_id: TxId,
    encoding: Encoding,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TxReply {
    tx: EncodedReply<Tx>,
    encoding: Encoding,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct StatusArgs {
    #[serde(rename = "txID")]
    tx_id: TxId,
    /// Not the reference's, which passes over it whatever it is: of another type it asks for nothing.
    #[serde(deserialize_with = "true_or_ignored")]
    include_reason: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StatusReply {
    status: &'static str,
    /// Of a rejected transaction, where the client asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

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

/// An accepted transaction, or a genesis asset.
pub(super) fn get_tx(vm: &Xvm, args: TxArgs) -> Reply<TxReply> {
    let (id, encoding) = (given(args.tx_id)?, args.encoding);
    let view = vm.view()?;
    let tx = match encoding {
        Encoding::Json => EncodedReply::object(vm, view.tx(&id)?.ok_or(ServiceError::NotFound)?),
        Encoding::Hex | Encoding::HexC | Encoding::HexNc => {
            EncodedReply::text(&view.tx_bytes(&id)?.ok_or(ServiceError::NotFound)?, encoding)?
        }
    };
    Ok(TxReply { tx, encoding })
}

/// The status of a transaction, as far as this node knows.
pub(super) fn get_tx_status(vm: &Xvm, args: StatusArgs) -> Reply<StatusReply> {
    let (status, reason) = match vm.view()?.tx_status(&given(args.tx_id)?)? {
        TxStatus::Accepted => ("Accepted", None),
        TxStatus::Processing => ("Processing", None),
        TxStatus::Rejected { reason } => ("Rejected", Some(reason)),
        TxStatus::Unknown => ("Unknown", None),
    };
    Ok(StatusReply { status, reason: reason.filter(|_| args.include_reason) })
}

/// Submits a transaction: it is in the mempool when this answers, and in that of the source if another node decides.
pub(super) async fn issue_tx(vm: Arc<Xvm>, args: IssueArgs) -> Result<TxIdReply, RpcError> {
    by_size(vm, args, |vm, bytes| Ok(vm.issue_and_forward(bytes)?)).await
}

/// Decodes the text and does something with the transaction's bytes: in place where they are few, else on a thread
/// of the blocking pool, since a transaction of the largest size holds a thousand signatures.
pub(super) async fn by_size(
    vm: Arc<Xvm>,
    args: IssueArgs,
    issue: impl FnOnce(&Xvm, &[u8]) -> Reply<Issued> + Send + 'static,
) -> Result<TxIdReply, RpcError> {
    let inline = args.tx.len() <= MAX_INLINE_TX_TEXT;
    let work = move || {
        let bytes = args.encoding.decode(&args.tx).map_err(ServiceError::DecodeTx)?;
        issue(&vm, &bytes)
    };
    let Issued { id, answer } = if inline { work()? } else { off_thread(work).await? };
    answer.wait().await.map_err(forward_error)?;
    Ok(TxIdReply { tx_id: id })
}

/// Whether a value of any kind is `true`.
fn true_or_ignored<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(serde_json::Value::deserialize(deserializer)? == serde_json::Value::Bool(true))
}

/// The zero ID stands for one that was not given.
fn given(id: TxId) -> Reply<TxId> {
    if id == TxId::ZERO { Err(ServiceError::NilTxId) } else { Ok(id) }
}
