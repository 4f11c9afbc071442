//! The service `internal-account`: which accounts the node holds.

use esker_rpc::handler::blocking;
use esker_rpc::{MethodTable, RpcError};

use super::table::table;
use super::transact::TransactApi;
use crate::wire::Addr;

pub(super) fn methods() -> MethodTable<TransactApi> {
    // A wallet asks its user for consent first (EIP-1102); a node has no user to ask.
    table()
        .on_list("accounts", blocking(accounts))
        .short()
        .on_list("requestAccounts", blocking(accounts))
        .short()
}

/// Blocks on the folder of keys.
fn accounts(transact: &TransactApi, (): ()) -> Result<Vec<Addr>, RpcError> {
    Ok(transact.accounts.accounts().into_iter().map(Addr).collect())
}
