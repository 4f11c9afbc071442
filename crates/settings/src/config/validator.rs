//! The validator that a node is, or the follower among the validators' peers, if its network has any.

use std::fs::TryLockError;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use esker_primitives::{hexfmt, open_secret, read_at_most, read_input};
use esker_validators::{KeyError, MemoryChangeLog, SignedChange, ValidatorConfig, ValidatorKey};
use zeroize::Zeroizing;

use super::{Config, Mode, Settings};
use crate::networks::Network;

/// Folder of the engine's files below the data folder.
pub const ENGINE_FOLDER: &str = "consensus";

const VALIDATOR_KEY: &str = "validator-key";
const PEER_KEY: &str = "peer-key";

/// Most bytes of a key file.
const MAX_KEY_FILE: u64 = 1024;

/// Most bytes of a file with changes of the validators.
const MAX_CHANGES_FILE: u64 = 64 << 20;

/// The reason why a node can't be the validator that its settings name. Each has the setting or file at fault.
#[derive(Debug, thiserror::Error)]
pub enum ValidatorError {
    /// No setting says which validator the node is.
    #[error(
        "network \"{0}\" has validators: give the key of one (--validator-key), or follow one (--follow)"
    )]
    NoKey(String),
    /// The file has no key.
    #[error("--{setting} {}: {reason}", path.display())]
    Key {
        /// The setting with the file.
        setting: &'static str,
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// The file has no changes of the validators.
    #[error("--validator-changes {}: {reason}", path.display())]
    Changes {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// Another process uses the key.
    #[error("--{setting} {}: another process uses this key: a validator never runs twice", path.display())]
    InUse {
        /// The setting with the file.
        setting: &'static str,
        /// The file.
        path: PathBuf,
    },
}

impl Config {
    /// The settings of the validator that this node is, or of the follower among the validators' peers; `None`: the
    /// node decides alone, or follows sources.
    ///
    /// # Errors
    /// The key is missing, unreadable, not one of the network's, or used by another process.
    pub fn validator(&self, data_dir: &Path) -> Result<Option<ValidatorConfig>, ValidatorError> {
        let validators = &self.network.validators;
        let settings = &self.settings;
        let (setting, path) = match (&settings.validator_key, &settings.peer_key) {
            (Some(path), _) => (VALIDATOR_KEY, path),
            (None, Some(path)) => (PEER_KEY, path),
            (None, None) if validators.is_empty() || !settings.follow.0.is_empty() => {
                return Ok(None);
            }
            (None, None) => return Err(ValidatorError::NoKey(self.network.name.clone())),
        };
        let wrong = |reason| ValidatorError::Key { setting, path: path.clone(), reason };
        let failed = |error: std::io::Error| wrong(error.to_string());
        let key_lock = open_secret(path).map_err(failed)?;
        let bytes = Zeroizing::new(read_at_most(&key_lock, MAX_KEY_FILE).map_err(failed)?);
        match key_lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(ValidatorError::InUse { setting, path: path.clone() });
            }
            Err(TryLockError::Error(error)) => return Err(wrong(format!("can't lock: {error}"))),
        }
        let text = std::str::from_utf8(&bytes).map_err(|error| wrong(error.to_string()))?;
        let key: ValidatorKey = text.parse().map_err(|error: KeyError| wrong(error.to_string()))?;
        let public_key = key.public_key();
        let given_changes = self.validator_changes()?;
        let not_of =
            |role| wrong(format!("{public_key} is not the key of a {role} of this network"));
        let listen = if setting == PEER_KEY {
            if !validators.followers.contains(&public_key) {
                return Err(not_of("follower"));
            }
            // Nobody connects to a follower.
            SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
        } else {
            // The engine checks their signatures.
            let changed = given_changes.iter().rev().filter_map(|document| {
                let signed = SignedChange::from_bytes(document).ok()?;
                let mut members = signed.change.members().iter();
                members.find(|(key, _)| *key == public_key).map(|(_, address)| address.clone())
            });
            let mut addresses = changed.chain(validators.address(&public_key).cloned());
            let address = addresses.next().ok_or_else(|| not_of("validator"))?;
            let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port()));
            match settings.validator_listen.as_str() {
                "" => address.socket().unwrap_or(any),
                given => given.parse().expect("checked by Config::load"),
            }
        };
        Ok(Some(ValidatorConfig {
            key,
            network: self.network.id,
            validators: validators.members.clone(),
            changes: Arc::new(MemoryChangeLog::default()),
            given_changes,
            followers: validators.followers.clone(),
            listen,
            folder: data_dir.join(ENGINE_FOLDER),
            is_new_key: self.settings.validator_key_is_new,
            key_lock: Some(Arc::new(key_lock)),
            timings: validators.timings,
            pools: Arc::default(),
        }))
    }

    /// The changes in the file of the setting `validator-changes`, one in each line, in hex.
    fn validator_changes(&self) -> Result<Vec<Bytes>, ValidatorError> {
        let Some(path) = &self.settings.validator_changes else { return Ok(Vec::new()) };
        let wrong = |reason| ValidatorError::Changes { path: path.clone(), reason };
        let bytes = read_input(path, MAX_CHANGES_FILE).map_err(|error| wrong(error.to_string()))?;
        let text = std::str::from_utf8(&bytes).map_err(|error| wrong(error.to_string()))?;
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let document = |(number, line): (usize, &str)| {
            let at = |reason: String| wrong(format!("line {number}: {reason}"));
            let bytes = hexfmt::decode_plain(line.trim()).map_err(|error| at(error.to_string()))?;
            let _signed =
                SignedChange::from_bytes(&bytes).map_err(|error| at(error.to_string()))?;
            Ok(Bytes::from(bytes))
        };
        lines.map(document).collect()
    }
}

/// Refuses settings that validators can't have. The error names the setting at fault.
pub(super) fn check(
    settings: &Settings,
    mode: Mode,
    network: &Network,
) -> Result<(), (&'static str, String)> {
    let listen = &settings.validator_listen;
    if !listen.is_empty() && listen.parse::<SocketAddr>().is_err() {
        let reason = "expected an IP address and a port, such as 0.0.0.0:9700";
        return Err(("validator-listen", reason.to_owned()));
    }
    if !network.validators.is_empty() && settings.rewind_depth > 0 {
        let reason = "not on a network with validators: they never rewind bundles";
        return Err(("rewind-depth", reason.to_owned()));
    }
    if settings.validator_key.is_none() {
        for (name, is_set, with) in [
            (
                "validator-changes",
                settings.validator_changes.is_some() && settings.peer_key.is_none(),
                "validator-key or peer-key",
            ),
            ("validator-key-is-new", settings.validator_key_is_new, VALIDATOR_KEY),
            ("validator-listen", !listen.is_empty(), VALIDATOR_KEY),
        ] {
            if is_set {
                return Err((name, format!("only with {with}")));
            }
        }
    }
    let name = match (&settings.validator_key, &settings.peer_key) {
        (None, None) => return Ok(()),
        (Some(_), None) => VALIDATOR_KEY,
        (None, Some(_)) => PEER_KEY,
        (Some(_), Some(_)) => {
            let reason = "not with validator-key: a node is a validator or a follower";
            return Err((PEER_KEY, reason.to_owned()));
        }
    };
    let refused = |reason: &str| Err((name, reason.to_owned()));
    if mode.is_development() {
        return refused(&format!("{} decides alone", mode.command()));
    }
    if !settings.follow.0.is_empty() {
        return refused(match name {
            PEER_KEY => "not with follow: it takes bundles from the validators that it connects to",
            _ => "not with follow: a follower decides nothing",
        });
    }
    if network.validators.is_empty() {
        return refused("this network has no validators (docs/validators.md)");
    }
    Ok(())
}
