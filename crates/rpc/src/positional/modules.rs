//! `rpc_modules`.

use crate::table::handler::quick;
use std::{collections::BTreeMap, sync::Arc};

use crate::service::Service;
use crate::table::MethodTable;

/// The version of every namespace there ever was.
const VERSION: &str = "1.0";

type Modules = BTreeMap<&'static str, &'static str>;

/// Adds the method that lists all namespaces of the service, by every name, and its own.
pub(super) fn with_modules(service: Service) -> Service {
    let mut modules = Modules::from([("rpc", VERSION)]);
    for method in service.methods() {
        modules.insert(method.namespace, VERSION);
        modules.extend(method.namespace_aliases.iter().map(|name| (*name, VERSION)));
    }
    let table = MethodTable::new("rpc")
        .on_list("modules", quick(|modules: &Modules, ()| Ok(modules.clone())))
        .bind(Arc::new(modules));
    service.merge(&table)
}
