//! The service `internal-account`: which accounts the node holds.

use esker_rpc::{MethodTable, RpcError};

use super::table::table;
use super::transact::TransactApi;
use crate::wire::Addr;

pub(super) fn methods() -> MethodTable<TransactApi> {
    // A wallet asks its user for consent first (EIP-1102); a node has no user to ask.
    table().on_list("accounts", accounts).on_list("requestAccounts", accounts)
}

fn accounts(transact: &TransactApi, (): ()) -> Result<Vec<Addr>, RpcError> {
    Ok(transact.accounts.accounts().into_iter().map(Addr).collect())
}
