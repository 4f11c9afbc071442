//! The settings of a validator.

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use esker_chain::forward::ExchangePools;

use crate::address::ValidatorAddress;
use crate::change_log::ChangeLog;
use crate::keys::{ValidatorKey, ValidatorPublicKey};
use crate::settings::Timings;

/// The settings of a validator, or of a follower among the validators' peers.
#[derive(Clone, Debug)]
pub struct ValidatorConfig {
    /// Its key, of one of the validators or followers.
    pub key: ValidatorKey,
    /// ID of the network. Votes count in this network only.
    pub network: u32,
    /// The validators of the network file, with their addresses.
    pub validators: Vec<(ValidatorPublicKey, ValidatorAddress)>,
    /// Where agreed changes of the validators are kept.
    pub changes: Arc<dyn ChangeLog>,
    /// Agreed changes that the operator gives, in order; those that are known already are no error.
    pub given_changes: Vec<Bytes>,
    /// Nodes that validators let connect: they take what is decided, and never vote.
    pub followers: Vec<ValidatorPublicKey>,
    /// Where it listens for its peers. Nobody connects to a follower.
    pub listen: SocketAddr,
    /// A folder of the engine's own for votes and recent bundles. A validator whose votes are not there waits until
    /// the others are past the rounds in which it may have voted.
    pub folder: PathBuf,
    /// Whether the key has never voted, so that a new folder has nothing to wait for.
    pub is_new_key: bool,
    /// The file of the key, locked: no second process of this machine votes with it.
    pub key_lock: Option<Arc<File>>,
    /// Timeouts.
    pub timings: Timings,
    /// The pools of its chains.
    pub pools: Arc<ExchangePools>,
}
