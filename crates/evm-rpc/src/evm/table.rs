//! The namespace.

use esker_rpc::MethodTable;

/// The canonical namespace, and the name that clients use.
pub(super) fn table<S: Send + Sync + 'static>() -> MethodTable<S> {
    MethodTable::new("evm").alias("eth")
}
