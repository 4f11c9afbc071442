//! Errors of requests and of ports.

use thiserror::Error;

/// The error of a port's implementation, whose type this crate does not know.
pub type PortError = Box<dyn std::error::Error + Send + Sync>;

/// The error text with which a node answered a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The method.
    pub(crate) method: &'static str,
    /// The node's text.
    pub(crate) message: String,
}

impl From<Refusal> for ClientError {
    fn from(Refusal { method, message }: Refusal) -> Self {
        Self::Refused { method, message }
    }
}

/// The reason why the node gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClientError {
    /// No connection, or it broke.
    #[error("the node can't be reached: {0}")]
    Unreachable(String),
    /// No answer in time.
    #[error("the node did not answer within {ms} ms")]
    Timeout {
        /// The deadline of a request, ms.
        ms: u64,
    },
    /// The node or the chain is starting.
    #[error("the node is not ready: {0}")]
    NotReady(String),
    /// The answer is longer than allowed.
    #[error("the answer has more than {max} bytes")]
    TooLong {
        /// The limit.
        max: usize,
    },
    /// The node refuses requests that name it like this.
    #[error(
        "the node refuses the request: {0}; its --http-allowed-hosts must have the host's name"
    )]
    Forbidden(String),
    /// Another error of the node.
    #[error("the node answers to {method}: {message}")]
    Refused {
        /// The method.
        method: &'static str,
        /// The node's text.
        message: String,
    },
    /// The answer is not what AvalancheGo answers.
    #[error("unexpected answer to {method}: {reason}")]
    Garbage {
        /// The method.
        method: &'static str,
        /// The reason.
        reason: String,
    },
}

impl ClientError {
    /// Whether the same request may succeed later without a change by somebody.
    #[must_use]
    pub const fn is_temporary(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Timeout { .. } | Self::NotReady(_) => true,
            Self::TooLong { .. }
            | Self::Forbidden(_)
            | Self::Refused { .. }
            | Self::Garbage { .. } => false,
        }
    }
}
