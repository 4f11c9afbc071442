//! HTTP endpoints of a chain's routes.

use esker_chain::{Dialect, Route};
use esker_http::Endpoint;

/// The endpoints of a chain's routes, by suffix.
pub fn endpoints(routes: Vec<Route>) -> Vec<(&'static str, Endpoint)> {
    let endpoint = |dialect| match dialect {
        Dialect::Object(service) => Endpoint::Object(service),
        Dialect::Positional(server) => Endpoint::Positional(server),
    };
    let mut endpoints = Vec::new();
    for Route { suffix, dialect, socket } in routes {
        endpoints.push((suffix, endpoint(dialect)));
        endpoints.extend(socket.map(|(suffix, dialect)| (suffix, Endpoint::Socket(dialect))));
    }
    endpoints
}
