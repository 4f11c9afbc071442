//! `esker backup`: a copy of the data of a running node, by `admin.backup`, or of a stopped one (docs/operations.md,
//! "Backup").

mod cli;

use std::io;
use std::path::{self, Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use esker_chain::snapshot::check_finished;
use esker_client::RpcClient;
use esker_client::rpc::CallError;
use esker_node::backup::{BackupError, BackupSource};
use esker_node::wiring::{StartError, storage_exit_code};
use esker_settings::config::Config;
use esker_settings::exit_code;
use esker_storage::{KvStore as _, StorageError, meta};
use serde_json::{Value, json};
use thiserror::Error;

pub(crate) use cli::{command, parse};

use crate::node_url::{NodeUrl, NodeUrlError};
use crate::offline::{OfflineError, StopSignal, existing_folder};

/// Time that a running node may take.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);
/// The endpoint of `admin.backup`.
const ADMIN: &str = "/ext/admin";

/// The parsed arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupCommand {
    /// The folder to be written.
    pub to: PathBuf,
    /// The running node; `None`: the data folder of a stopped one.
    pub node: Option<NodeUrl>,
    /// Most bytes a second; 0 is no limit.
    pub bytes_per_second: u64,
}

/// The reason why there is no backup.
#[derive(Debug, Error)]
pub enum BackupCommandError {
    /// The data folder can't be opened.
    #[error(transparent)]
    Offline(#[from] OfflineError),
    /// A running node has the data folder.
    #[error("{0}; or have that node write the backup: --url http://ADDRESS, with its admin API")]
    Running(OfflineError),
    /// The backup failed.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// The URL is not one of a node.
    #[error("--url {url}: {reason}")]
    Url {
        /// As given.
        url: String,
        /// The fault.
        reason: NodeUrlError,
    },
    /// The node can't write the folder, which the user has chosen.
    #[error("{url}: {reason}")]
    Folder {
        /// The node.
        url: String,
        /// Its answer.
        reason: String,
    },
    /// The node refused, or gave no answer.
    #[error("{url}: {error}")]
    Call {
        /// The node.
        url: String,
        /// Its answer.
        error: CallError,
    },
    /// The admin API is not served.
    #[error("{0}: the node does not serve its admin API (api-admin-enabled)")]
    NoAdmin(String),
    /// The path has no absolute form, or signals can't be listened to.
    #[error("{0}")]
    System(io::Error),
}

impl BackupCommandError {
    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Offline(error) | Self::Running(error) => error.exit_code(),
            Self::Backup(BackupError::Exists(_) | BackupError::NoName(_))
            | Self::Url { .. }
            | Self::Folder { .. } => exit_code::CONFIG,
            Self::Backup(BackupError::Storage(error)) => storage_exit_code(error),
            Self::Backup(BackupError::Io { error, .. }) => exit_code::of_io(error),
            Self::Backup(_) | Self::Call { .. } | Self::NoAdmin(_) | Self::System(_) => {
                exit_code::FAILURE
            }
        }
    }
}

/// Executes the command on a running node and returns its output; the configuration here does not matter. `None` if the
/// command names none.
///
/// # Errors
/// Nothing was written, or nothing of it is left.
pub fn run_online(command: &BackupCommand) -> Option<Result<String, BackupCommandError>> {
    let node = command.node.as_ref()?;
    let written = path::absolute(&command.to)
        .map_err(BackupCommandError::System)
        .and_then(|to| online(node, &to, command.bytes_per_second));
    Some(written.map(|(to, size)| output(&to, &size)))
}

/// Executes the command on the folder of a stopped node and returns its output.
///
/// # Errors
/// Nothing was written, or nothing of it is left.
pub fn run(command: &BackupCommand, config: &Config) -> Result<String, BackupCommandError> {
    let to = path::absolute(&command.to).map_err(BackupCommandError::System)?;
    let (to, size) = offline(config, &to, command.bytes_per_second)?;
    Ok(output(&to, &size))
}

fn output(to: &str, size: &str) -> String {
    format!("backup written to {to}, {size} bytes of blocks and state\n")
}

/// Has the running node write it; path and size as the node says.
fn online(node: &NodeUrl, to: &Path, rate: u64) -> Result<(String, String), BackupCommandError> {
    let url = &node.url;
    let client = node.client(PATIENCE);
    let mut node = RpcClient::over(
        client.map_err(|reason| BackupCommandError::Url { url: url.clone(), reason })?,
    );
    let params = json!({ "path": to, "bytesPerSecond": rate.to_string() });
    let written: Value = node.call(ADMIN, "admin.backup", params).map_err(|error| match error {
        CallError::Status { status: 404, .. } => BackupCommandError::NoAdmin(url.to_owned()),
        CallError::Rpc { message, .. } if is_of_folder(&message) => {
            BackupCommandError::Folder { url: url.to_owned(), reason: message }
        }
        error => BackupCommandError::Call { url: url.to_owned(), error },
    })?;
    let text = |name: &str| written[name].as_str().unwrap_or_default().to_owned();
    Ok((text("path"), text("size")))
}

/// Whether a running node refuses the folder as this command itself does with exit code 2.
fn is_of_folder(message: &str) -> bool {
    let exists = BackupError::Exists(PathBuf::new()).to_string();
    let invalid = BackupError::NoName(PathBuf::new()).to_string();
    let denied = io::Error::from(rustix::io::Errno::ACCESS).to_string();
    message.ends_with(&exists)
        || message.ends_with(&denied)
        || message.starts_with(invalid.trim_end_matches("\"\""))
}

/// Copies the data folder of a stopped node.
fn offline(config: &Config, to: &Path, rate: u64) -> Result<(String, String), BackupCommandError> {
    let folder = existing_folder(config)?;
    let map_size = config.settings.store_map_size.0;
    let disk_reserve = config.settings.store_disk_reserve;
    let options = meta::OpenOptions { map_size, durable: true, disk_reserve };
    let store = meta::open_dir(folder, &options).map_err(|error| {
        match OfflineError::from(StartError::from(error)) {
            running @ OfflineError::Running(_) => BackupCommandError::Running(running),
            other => other.into(),
        }
    })?;
    let reader = store.snapshot().map_err(BackupError::from)?;
    check_finished(reader.as_ref()).map_err(|error| OfflineError::from(StartError::from(error)))?;
    drop(reader);
    let stop = StopSignal::listen().map_err(BackupCommandError::System)?;
    let (begun, mut size) = (Instant::now(), 0);
    BackupSource::from_config(config, folder).write(&store, to, &mut |bytes| {
        size = bytes;
        while !stop.is_requested() {
            let left = esker_node::backup::due_after(bytes, rate).saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(Duration::from_millis(20)));
        }
        Err(StorageError::Cancelled("stopped: nothing was written".to_owned()))
    })?;
    Ok((to.display().to_string(), size.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_the_folder() {
        let denied = BackupError::Io {
            action: "create",
            path: "/a".into(),
            error: io::Error::from_raw_os_error(rustix::io::Errno::ACCESS.raw_os_error()),
        };
        let full = BackupError::Io {
            action: "create",
            path: "/a".into(),
            error: io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error()),
        };
        for (error, code) in [
            (BackupError::Exists("/a".into()), 2),
            (BackupError::NoName("/a".into()), 2),
            (denied, 2),
            (full, 1),
            (BackupError::Running, 1),
            (BackupError::Storage(StorageError::Corrupted("x".to_owned())), 3),
        ] {
            let message = error.to_string();
            assert_eq!(is_of_folder(&message), code == 2, "{message}");
            assert_eq!(BackupCommandError::from(error).exit_code(), code, "{message}");
        }
    }
}
