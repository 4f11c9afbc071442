//! The reasons why a command on a running node fails.

use esker_client::CallError;
use esker_settings::exit_code;
use thiserror::Error;

use crate::node_url::NodeUrlError;

/// The reason why a command on a running node fails. The text says what to do next.
#[derive(Debug, Error)]
pub enum OnlineError {
    /// The URL is not one of a node.
    #[error("--url {url}: {reason}")]
    Url {
        /// As given.
        url: String,
        /// The fault.
        reason: NodeUrlError,
    },
    /// An argument is not what it must be.
    #[error("{name} {text}: {reason}")]
    Argument {
        /// Its name in the command's help.
        name: &'static str,
        /// As given, shortened.
        text: String,
        /// The fault.
        reason: String,
    },
    /// No usable private key. The text never has the key.
    #[error("{0}")]
    Key(String),
    /// The node gave no answer.
    #[error(
        "no answer from {url}: {error}; is the node running? `esker dev` starts one, --url names another"
    )]
    Unreachable {
        /// The node.
        url: String,
        /// The error.
        error: String,
    },
    /// The node refused the call, or answered something else.
    #[error("{method}: {error}")]
    Call {
        /// The method.
        method: String,
        /// The answer.
        error: CallError,
    },
    /// The node does not serve the endpoint.
    #[error(
        "{url} does not serve {path}: see `esker status` for its chains, and docs/api for what must be enabled"
    )]
    NotServed {
        /// The node.
        url: String,
        /// The endpoint.
        path: String,
    },
    /// The node has one chain, and not what the command uses.
    #[error(
        "{url} runs the chain {chain} alone and does not serve {path}: `esker accounts`, `balance`, `transfer`, `tx` and \
         `call` work there, and its controls are methods, as in `esker call evm_mine`"
    )]
    Alone {
        /// The node.
        url: String,
        /// Its chain.
        chain: String,
        /// The endpoint that it does not have.
        path: String,
    },
    /// The node is no development node.
    #[error(
        "{0} is not a development node, and only these have this command: start one with `esker dev`, or name it with --url"
    )]
    NotDevelopment(String),
    /// Something was not accepted in time.
    #[error("{what} within {seconds} s; {hint}")]
    Timeout {
        /// The event that did not occur in time.
        what: String,
        /// How long.
        seconds: u64,
        /// Advice for the user.
        hint: &'static str,
    },
    /// The user must say what network it is, or confirm a fee, and there is no terminal to ask.
    #[error("{0}")]
    Unnamed(String),
    /// The command can't be done.
    #[error("{0}")]
    Refused(String),
}

impl OnlineError {
    /// The exit code of the process.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Url { .. } | Self::Argument { .. } | Self::Key(_) | Self::Unnamed(_) => {
                exit_code::CONFIG
            }
            Self::Unreachable { .. }
            | Self::Call { .. }
            | Self::NotServed { .. }
            | Self::Alone { .. }
            | Self::NotDevelopment(_)
            | Self::Timeout { .. }
            | Self::Refused(_) => exit_code::FAILURE,
        }
    }
}
