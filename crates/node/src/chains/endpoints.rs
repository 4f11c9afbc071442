//! HTTP endpoints of a chain's routes.

use crate::discovery::chain_endpoint;
use esker_http::Endpoint;
use esker_rpc::{Dialect, MethodInfo, Route};

/// Namespaces whose methods for trusted callers are those that take a user's password.
const WITH_USERS: [&str; 3] = ["xvm", "wallet", "nat"];

/// The endpoints of the routes of a chain with this name, by suffix. Methods that take a user's password are included
/// only if `has_key_methods`.
pub fn endpoints(
    chain: &str,
    routes: Vec<Route>,
    has_key_methods: bool,
) -> Vec<(&'static str, Endpoint)> {
    let endpoint = |suffix, dialect| match dialect {
        Dialect::Object(service) => {
            let service = match has_key_methods {
                true => service,
                false => service.only(|method| !is_key_method(method)),
            };
            chain_endpoint(chain, suffix, service)
        }
        Dialect::Positional(server) => Endpoint::Positional(server),
    };
    let mut endpoints = Vec::new();
    for Route { suffix, dialect, socket } in routes {
        endpoints.push((suffix, endpoint(suffix, dialect)));
        endpoints.extend(socket.map(|(suffix, dialect)| (suffix, Endpoint::Socket(dialect))));
    }
    endpoints
}

fn is_key_method(method: &MethodInfo) -> bool {
    method.trusted_callers_only && WITH_USERS.contains(&method.namespace)
}
