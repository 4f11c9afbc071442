//! Commands of users of a running node: pay, ask for balances, move a development node's time, call any method.
//!
//! Each takes `--url`, prints text or with `--json` one JSON document, and fails with an [`OnlineError`]. `connection`
//! calls the node through `esker-client`; `pay` signs here, so that no key goes to the node.

mod accounts;
mod amount;
mod balance;
mod call;
mod cli;
mod connection;
mod controls;
mod error;
mod forms;
mod key;
mod known;
mod names;
mod pay;
mod target;
mod terms;
mod times;
mod trace;
mod transaction;

pub(crate) use cli::{commands, is_command, parse};
pub use error::OnlineError;
pub use key::Signer;

use crate::node_url::NodeUrl;
use call::Call;
use connection::Connection;
use esker_settings::networks::accounts::well_known;
use forms::Forms;
use key::SigningKey;
use names::NameTerms;
use pay::Order;

/// A parsed command.
#[derive(Clone, Debug)]
pub struct OnlineCommand {
    /// The running node; empty for a command that calls none.
    pub node: NodeUrl,
    /// Print JSON.
    pub json: bool,
    action: Action,
}

/// The action of a command.
#[derive(Clone, Debug)]
enum Action {
    Transfer { order: Order, signer: Signer },
    Faucet(Order),
    Balance { address: String, asset: Option<String> },
    Accounts { private_keys: bool },
    Time(TimeAction),
    Mine { blocks: u64, interval_s: u64 },
    Snapshot(SnapshotAction),
    Call(Call),
    Address(Forms),
    Tx { id: String, chain: Option<String>, terms: NameTerms },
}

/// The action on a development node's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TimeAction {
    Get,
    /// By a duration, as the user wrote it.
    Increase(String),
    /// To a time, as the user wrote it.
    Set(String),
    /// By a duration or to a time.
    Move(String),
}

/// The action on a development node's snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SnapshotAction {
    Take,
    Revert(u64),
    List,
}

/// Executes the command and returns its output.
///
/// # Errors
/// The command is not done, unless the error is a timeout.
pub fn run(command: &OnlineCommand) -> Result<String, OnlineError> {
    execute(command).map_err(|error| match error {
        OnlineError::NotServed { url, path } => not_served(&command.node, url, path),
        other => other,
    })
}

/// The error of an endpoint that the node does not have. It names the chain of a node with one chain.
fn not_served(node: &NodeUrl, url: String, path: String) -> OnlineError {
    match Connection::new(node).ok().and_then(|mut node| node.only_chain()) {
        Some(chain) => OnlineError::Alone { url, chain, path },
        None => OnlineError::NotServed { url, path },
    }
}

fn execute(command: &OnlineCommand) -> Result<String, OnlineError> {
    let OnlineCommand { node: url, json, action } = command;
    let node = || Connection::new(url);
    match action {
        Action::Transfer { order, signer } => {
            Ok(pay::pay(&mut node()?, |node| signer.key(node), order)?.output(*json))
        }
        Action::Faucet(order) => {
            let mut node = node()?;
            node.development_time()?;
            let key = SigningKey { key: well_known().key().clone(), is_public: true };
            Ok(pay::pay(&mut node, |_| Ok(key), order)?.output(*json))
        }
        Action::Balance { address, asset } => {
            balance::run(&mut node()?, address, asset.as_deref(), *json)
        }
        Action::Accounts { private_keys } => accounts::run(&mut node()?, *private_keys, *json),
        Action::Time(action) => controls::time(&mut node()?, action, *json),
        Action::Mine { blocks, interval_s } => controls::mine(node()?, *blocks, *interval_s, *json),
        Action::Snapshot(action) => controls::snapshot(&mut node()?, *action, *json),
        Action::Call(call) => call::run(&mut node()?, call, *json),
        Action::Tx { id, chain, terms } => {
            transaction::run(&mut node()?, id, (chain.as_deref(), terms), *json)
        }
        Action::Address(forms) => forms::run(forms, *json),
    }
}
