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
    /// The key of this node, which is one of the validators or followers.
    pub key: ValidatorKey,
    /// ID of the network. Votes count in this network only.
    pub network: u32,
    /// The validators of the network file, with their addresses.
    pub validators: Vec<(ValidatorPublicKey, ValidatorAddress)>,
    /// The store of agreed changes of the validators.
    pub changes: Arc<dyn ChangeLog>,
    /// Agreed changes that the operator provides, in order. A change that is already known is not an error.
    pub given_changes: Vec<Bytes>,
    /// Nodes that validators allow to connect: they take decided bundles and never vote.
    pub followers: Vec<ValidatorPublicKey>,
    /// The address on which it listens for its peers. Nobody connects to a follower.
    pub listen: SocketAddr,
    /// The engine's own folder for votes and recent bundles. A validator without its votes waits until the others are
    /// past the rounds in which it may have voted.
    pub folder: PathBuf,
    /// Whether the key has never voted. A new folder then needs no wait.
    pub is_new_key: bool,
    /// The file of the key, locked: no second process of this machine votes with it.
    pub key_lock: Option<Arc<File>>,
    /// Timeouts.
    pub timings: Timings,
    /// The pools of its chains.
    pub pools: Arc<ExchangePools>,
}
