//! The description of an endpoint in its document.

use serde_json::{Value, json};

/// The description of an endpoint beside its methods.
#[derive(Clone, Debug)]
pub struct EndpointInfo {
    /// The name of what is served.
    pub title: String,
    /// Version of the node.
    pub version: &'static str,
    /// Paths at which it is served.
    pub paths: Vec<String>,
    /// Paths of its websockets.
    pub socket_paths: Vec<String>,
}

/// Servers by their paths at this node.
pub(super) fn servers(paths: &[String]) -> Vec<Value> {
    paths.iter().map(|path| json!({ "name": path, "url": path })).collect()
}
