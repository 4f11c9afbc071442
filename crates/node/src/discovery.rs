//! The description of an endpoint that `rpc.discover` gives beside its methods.

use esker_http::Endpoint;
use esker_rpc::Service;
use esker_rpc::discover::EndpointInfo;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// An endpoint of the node in the object dialect: `info` is served at `/ext/info`.
pub(crate) fn node_endpoint(path: &str, service: Service) -> Endpoint {
    Endpoint::Object(service.with_discovery(&node_info(path)))
}

/// An endpoint of the node at this path below `/ext/`.
pub(crate) fn node_info(path: &str) -> EndpointInfo {
    info(path, format!("/ext/{path}"), None)
}

/// An endpoint of a chain in the object dialect, at this suffix of its path.
pub(crate) fn chain_endpoint(chain: &str, suffix: &str, service: Service) -> Endpoint {
    Endpoint::Object(service.with_discovery(&chain_info(chain, suffix, None)))
}

/// An endpoint of a chain, and its websockets, at these suffixes of its path.
pub(crate) fn chain_info(chain: &str, suffix: &str, socket_suffix: Option<&str>) -> EndpointInfo {
    let path = |suffix| format!("/ext/bc/{chain}{suffix}");
    info(&format!("{chain}{suffix}"), path(suffix), socket_suffix.map(path))
}

fn info(title: &str, path: String, socket_path: Option<String>) -> EndpointInfo {
    EndpointInfo {
        title: format!("Esker {title}"),
        version: VERSION,
        paths: vec![path],
        socket_paths: socket_path.into_iter().collect(),
    }
}
