//! What a document says of its endpoint.

use serde_json::{Value, json};

/// What a document says of its endpoint beside the methods.
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
