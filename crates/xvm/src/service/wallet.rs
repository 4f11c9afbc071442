//! The `wallet` namespace at `/wallet`: transactions that spend each other before anyone has accepted them.

use std::sync::Arc;

use esker_rpc::handler::waits;
use esker_rpc::{MethodTable, RpcError, cost};

use super::txs::{IssueArgs, TxIdReply, by_size};
use crate::chain::Xvm;

/// The `wallet` namespace; its endpoint as a whole is deprecated.
pub fn methods() -> MethodTable<Xvm> {
    let table = MethodTable::new("wallet").on("issueTx", waits(issue_tx)).cost(cost::SEND);
    let table =
        table.trusted_callers_only(|table| table.costing(cost::HEAVY, super::keys::wallet_methods));
    let sending = ["issueTx", "send", "sendMultiple"];
    let table = table.checked_by(super::check_sending, &sending);
    table.deprecate_all("v1.9.12").instead("xvm.issueTx")
}

/// Takes a transaction as one that will be accepted, without verifying it against the state.
async fn issue_tx(vm: Arc<Xvm>, args: IssueArgs) -> Result<TxIdReply, RpcError> {
    by_size(vm, args, |vm, bytes| Ok(vm.issue_unverified_and_forward(bytes)?)).await
}
