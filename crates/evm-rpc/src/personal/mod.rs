//! `personal`: signing with the accounts that the node holds. The service `internal-personal`.

use esker_rpc::{MethodTable, RpcError};

use crate::evm::TransactApi;
use crate::wire::{Addr, Data};

/// The methods of the service.
pub(crate) fn methods() -> MethodTable<TransactApi> {
    MethodTable::new("personal").trusted_callers_only(|table| table.on_list_blocking("sign", sign))
}

/// Signs a text, so that the signature can't be one of a transaction. The password is that of an account that is
/// locked; no account here is.
fn sign(
    transact: &TransactApi,
    (Data(text), Addr(account), _password): (Data, Addr, Option<String>),
) -> Result<Data, RpcError> {
    transact.sign_text(&account, &text)
}
