//! The node's outside over real ports.

mod api;
mod http;
