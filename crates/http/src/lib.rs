//! The HTTP server: limits, outer layers and the table of paths.
//!
//! A request passes these layers in order (docs/protocol/http.md, "Layers"): node-id header, gzip, units of the client's
//! address, CORS with preflights, allowed hosts, the table of paths with redirects to clean paths, origins where the
//! path is for trusted pages, 503 while a chain is not ready, the handler. The handlers of the object dialect run on
//! the connection's task. No layer boxes a future, and only a limit of rates takes a lock.
//!
//! Where to start: [`serve`] accepts connections, `dispatch.rs` passes a request through the layers, `endpoints.rs`
//! calls the handler, [`Routes`] is the table of paths.
//! This crate has no chains, methods, configuration files or metrics library. Its user fills [`HttpConfig`] and
//! implements [`HttpMetrics`] and [`Page`] (endpoints other than JSON-RPC). `socket` serves connections that were
//! upgraded to websockets, `tls` has the certificate and the handshake, `http2.rs` serves connections that chose HTTP/2
//! in it. `ipc` serves the socket of the file system.

mod answer;
mod batch;
mod body;
mod client_address;
mod config;
mod connections;
mod cors;
mod descriptors;
mod dispatch;
mod endpoints;
mod file;
mod gzip;
mod hosts;
mod http2;
mod in_flight;
mod io;
mod ipc;
mod listener;
mod metrics;
mod origin;
mod page;
mod path;
mod phase;
mod reply;
mod request_log;
mod routes;
mod server;
mod small_frames;
mod socket;
mod spooled;
mod streams;
mod tls;
mod unread;

pub use client_address::{ClientAddress, ClientAddressHeader};
pub use config::{
    DEFAULT_BODY_LIMIT, DEFAULT_BODY_MEMORY, DEFAULT_BODY_TIMEOUT, DEFAULT_CONNECTION_REPLY_MEMORY,
    DEFAULT_GZIP_MIN, DEFAULT_HEAD_LIMIT, DEFAULT_HEADER_TIMEOUT, DEFAULT_IDLE_TIMEOUT,
    DEFAULT_MAX_CONNECTIONS, DEFAULT_MAX_IN_FLIGHT, DEFAULT_MESSAGE_LIMIT, DEFAULT_PING_INTERVAL,
    DEFAULT_REPLY_MEMORY, DEFAULT_SHUTDOWN_GRACE, DEFAULT_WRITE_TIMEOUT, HttpConfig, MAX_HEADERS,
    SMALL_BODY,
};
pub use dispatch::HttpState;
pub use file::{BrowserPage, StaticFile};
pub use hosts::PRIVATE_HOSTS;
pub use ipc::IpcListener;
pub use listener::listen;
pub use metrics::{CloseReason, EndpointMetrics, HttpMetrics, MethodName, NoMetrics, Outcome};
pub use page::{Page, PageReply};
pub use routes::{Endpoint, MAX_PATHS, Readiness, RouteError, Routes};
pub use server::serve;
pub use tls::{CertificateError, CertificateFiles, Tls};
