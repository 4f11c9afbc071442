//! The reasons why a node could not be used.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use esker_client::{CallError, ParamsError, WalletError};

/// The reason why a node could not be started, used or stopped. `log` has the last lines that it wrote, where its
/// process, or a call without an answer, is the cause.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No binary was given, `ESKER_BIN` is not set, and the `PATH` has none.
    #[error(
        "there is no `esker` on the PATH: build it (`cargo build --release` makes target/release/esker) and put it \
         on the PATH, or name it in ESKER_BIN or with `DevNode::builder().binary(..)`"
    )]
    NoBinary,
    /// The process could not be started.
    #[error("starting {program}: {error}")]
    Spawn {
        /// The binary, and where its name is from.
        program: String,
        /// The cause.
        error: std::io::Error,
    },
    /// A file of the harness could not be written or read.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// The process has ended by itself.
    #[error("the node ended: {status}\n{log}")]
    Ended {
        /// How.
        status: ExitStatus,
        /// Its last lines.
        log: String,
    },
    /// A condition was not met in time.
    #[error("timed out after {} s: waiting until {what}\n{log}", patience.as_secs_f64())]
    Timeout {
        /// The condition.
        what: String,
        /// Time that it was waited for.
        patience: Duration,
        /// The node's last lines.
        log: String,
    },
    /// The ready file is not one of this version.
    #[error("unexpected ready file: {0}")]
    ReadyFile(String),
    /// The process could not be asked to stop, or waited for.
    #[error("process {pid}: {error}")]
    Process {
        /// Its number.
        pid: u32,
        /// The cause.
        error: std::io::Error,
    },
    /// The node refused a call, or did not answer.
    #[error("{what}: {error}\n{log}")]
    Call {
        /// The request.
        what: String,
        /// The cause.
        error: CallError,
        /// The node's last lines.
        log: String,
    },
    /// The node's network or fees are not those of a development node.
    #[error("the parameters of the X-Chain: {0}")]
    Params(#[from] ParamsError),
    /// A payment could not be made up.
    #[error("a payment of the well-known key: {0}")]
    Wallet(#[from] WalletError),
    /// Neither an address of the X-Chain, of this network, nor of the C-Chain.
    #[error("expected an address such as X-local1.. or 0x..: {0:?}")]
    Address(String),
    /// Something else went back past the snapshot, or reset the node.
    #[error(
        "snapshot {0} is gone: it, or an earlier one, was reverted already, or the node was reset"
    )]
    SnapshotGone(String),
    /// The X-Chain did not accept a payment.
    #[error("a payment of the well-known key was rejected: {0}")]
    Rejected(String),
}
