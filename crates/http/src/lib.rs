//! The HTTP server: limits, outer layers and the table of paths.
//!
//! One request passes, in this order (docs/protocol/http.md, "Layers"): node-id header, gzip, CORS with its
//! preflights, allowed hosts, the table of paths with redirects of unclean ones, origins where the path is for
//! trusted pages, 503 while a chain is not ready, the handler. The
//! handlers of the object dialect run on the connection's own task; nothing on the way takes a lock or boxes.
//!
//! Where to start: [`serve`] accepts connections, `dispatch.rs` is the way of one request,
//! `endpoints.rs` its end, [`Routes`] the table.
//! It knows no chain and no method, no configuration file and no metrics library: [`HttpConfig`] is filled by whoever
//! runs it, [`HttpMetrics`] is where it counts, and [`Page`] is what answers otherwise than by JSON-RPC. `socket` is what
//! becomes of a connection that is upgraded to a websocket.

mod batch;
mod body;
mod config;
mod connections;
mod cors;
mod descriptors;
mod dispatch;
mod endpoints;
mod gzip;
mod hosts;
mod in_flight;
mod metrics;
mod origin;
mod page;
mod path;
mod reply;
mod routes;
mod server;
mod socket;
mod spooled;
mod unread;

pub use config::{
    DEFAULT_BODY_LIMIT, DEFAULT_BODY_MEMORY, DEFAULT_BODY_TIMEOUT, DEFAULT_CONNECTION_REPLY_MEMORY,
    DEFAULT_GZIP_MIN, DEFAULT_HEAD_LIMIT, DEFAULT_HEADER_TIMEOUT, DEFAULT_IDLE_TIMEOUT,
    DEFAULT_MAX_CONNECTIONS, DEFAULT_MAX_IN_FLIGHT, DEFAULT_MESSAGE_LIMIT, DEFAULT_PING_INTERVAL,
    DEFAULT_REPLY_MEMORY, DEFAULT_SHUTDOWN_GRACE, DEFAULT_WRITE_TIMEOUT, HttpConfig, MAX_HEADERS,
    SMALL_BODY,
};
pub use dispatch::HttpState;
pub use metrics::{CloseReason, EndpointMetrics, HttpMetrics, MethodName, NoMetrics, Outcome};
pub use page::{Page, PageReply};
pub use routes::{Endpoint, MAX_PATHS, Readiness, RouteError, Routes};
pub use server::serve;
