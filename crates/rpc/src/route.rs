//! The endpoints that services have.

use std::sync::Arc;

use crate::positional::Server;
use crate::service::Service;
use crate::socket::SocketDialect;

/// One HTTP endpoint of a chain, below `/ext/bc/<alias or ID>`.
#[derive(Clone, Debug)]
pub struct Route {
    /// The path after the chain's name: empty, or for example `/wallet`.
    pub suffix: &'static str,
    /// The methods of the endpoint.
    pub dialect: Dialect,
    /// The chain's websockets: their path after the chain's name, and their dialect.
    pub socket: Option<(&'static str, Arc<dyn SocketDialect>)>,
}

/// The methods of a [`Route`], in one of the two dialects.
#[derive(Clone, Debug)]
pub enum Dialect {
    /// `service.method` with an object of named arguments.
    Object(Service),
    /// `namespace_method` with a list of arguments.
    Positional(Server),
}

impl Route {
    /// An endpoint of the object dialect.
    #[must_use]
    pub fn object(suffix: &'static str, service: Service) -> Self {
        Self { suffix, dialect: Dialect::Object(service), socket: None }
    }

    /// An endpoint of the positional dialect.
    #[must_use]
    pub fn positional(suffix: &'static str, server: Server) -> Self {
        Self { suffix, dialect: Dialect::Positional(server), socket: None }
    }

    /// Adds websockets at another suffix, in the same or another dialect.
    #[must_use]
    pub fn with_socket(self, suffix: &'static str, socket: Arc<dyn SocketDialect>) -> Self {
        Self { socket: Some((suffix, socket)), ..self }
    }
}
