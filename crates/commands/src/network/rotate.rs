//! `esker network rotate`: the approval of a change of the validators, by the operator of one of them.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use esker_client::RpcClient;
use esker_client::rpc::CallError;
use esker_settings::exit_code;
use esker_settings::networks::{self, Network, NetworkError};
use serde_json::{Value, json};
use thiserror::Error;

use super::write_new;
use crate::node_url::{NodeUrl, NodeUrlError};

/// Time that the node may take for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time that the validators may take to promise a change that enough have approved.
const AGREEMENT: Duration = Duration::from_secs(15);

/// Time that approvals of others may take that were given before.
const OTHERS: Duration = Duration::from_secs(3);

/// Between two looks at it.
const LOOK: Duration = Duration::from_millis(250);

/// The endpoint of the admin API.
const ADMIN: &str = "/ext/admin";

/// The parsed arguments of `esker network rotate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RotateCommand {
    /// The network file with the new validators.
    pub network: PathBuf,
    /// The first bundle that they decide.
    pub height: u64,
    /// The operator's running validator.
    pub node: NodeUrl,
    /// The file for the agreed changes, for new validators.
    pub out: Option<PathBuf>,
}

/// The reason why the change is not approved, or its file not written.
#[derive(Debug, Error)]
pub enum RotateError {
    /// The file can't be read.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The file has no validators.
    #[error("--network {}: it has no validators", .0.display())]
    NoValidators(PathBuf),
    /// It is of another network.
    #[error("--network {}: {reason}", path.display())]
    OtherNetwork {
        /// The file.
        path: PathBuf,
        /// The difference.
        reason: String,
    },
    /// The URL is not one of a node.
    #[error("--url {url}: {reason}")]
    Url {
        /// As given.
        url: String,
        /// The fault.
        reason: NodeUrlError,
    },
    /// The admin API is not served.
    #[error("{0}: the node does not serve its admin API (api-admin-enabled)")]
    NoAdmin(String),
    /// The node refused, or gave no answer.
    #[error("{url}: {error}")]
    Call {
        /// The node.
        url: String,
        /// Its answer.
        error: CallError,
    },
    /// Not agreed, so there is nothing to write.
    #[error("{0}--out: the change is not agreed yet; run this command again when it is")]
    NotAgreed(String),
    /// The file can't be written.
    #[error("can't write {}: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

impl RotateError {
    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Network(_)
            | Self::NoValidators(_)
            | Self::OtherNetwork { .. }
            | Self::Url { .. } => exit_code::CONFIG,
            Self::NoAdmin(_) | Self::Call { .. } | Self::NotAgreed(_) => exit_code::FAILURE,
            Self::Write { error, .. } => exit_code::of_io(error),
        }
    }
}

/// Executes the command and returns its output.
///
/// # Errors
/// Nothing is approved; with [`RotateError::NotAgreed`] and [`RotateError::Write`] it is, without the file.
pub fn rotate(command: &RotateCommand) -> Result<String, RotateError> {
    let network = networks::load(&command.network.to_string_lossy())?;
    if network.validators.is_empty() {
        return Err(RotateError::NoValidators(command.network.clone()));
    }
    let url = &command.node.url;
    let client = command.node.client(PATIENCE);
    let mut node =
        RpcClient::over(client.map_err(|reason| RotateError::Url { url: url.clone(), reason })?);
    check_network(&mut node, command, &network)?;
    let members: Vec<Value> = network
        .validators
        .members
        .iter()
        .map(|(key, at)| json!({"publicKey": key.to_string(), "address": at.to_string()}))
        .collect();
    let before = call(&mut node, url, "admin.getValidators", json!({}))?;
    let params = json!({"height": command.height.to_string(), "validators": members});
    let mut reply = call(&mut node, url, "admin.approveValidators", params)?;
    let begun = Instant::now();
    let patience = |reply: &Value| if is_approved(reply) { AGREEMENT } else { OTHERS };
    while !is_agreed(&reply, command.height) && begun.elapsed() < patience(&reply) {
        thread::sleep(LOOK);
        reply = call(&mut node, url, "admin.getValidators", json!({}))?;
    }
    let mut output = String::new();
    describe_members(&mut output, &before["validators"], &members);
    let is_agreed = describe_state(&mut output, &reply, command.height);
    let Some(out) = &command.out else { return Ok(output) };
    if !is_agreed {
        return Err(RotateError::NotAgreed(output));
    }
    write_changes(out, &reply)?;
    let _written = writeln!(output, "the changes of the validators: {}", out.display());
    Ok(output)
}

fn call(
    node: &mut RpcClient,
    url: &str,
    method: &str,
    params: Value,
) -> Result<Value, RotateError> {
    node.call(ADMIN, method, params).map_err(|error| match error {
        CallError::Status { status: 404, .. } => RotateError::NoAdmin(url.to_owned()),
        error => RotateError::Call { url: url.to_owned(), error },
    })
}

/// The node must be of the network of the file: same number, same chains.
fn check_network(
    node: &mut RpcClient,
    command: &RotateCommand,
    network: &Network,
) -> Result<(), RotateError> {
    let url = &command.node.url;
    let id: Value = node
        .call("/ext/info", "info.getNetworkID", json!({}))
        .map_err(|error| RotateError::Call { url: url.clone(), error })?;
    let other = |reason| RotateError::OtherNetwork { path: command.network.clone(), reason };
    let (found, expected) = (&id["networkID"], network.id.to_string());
    if *found != expected.as_str() {
        let found = found.as_str().unwrap_or("another one");
        return Err(other(format!("it is network {expected}, the node's is {found}")));
    }
    for chain in &network.chains {
        let Some(alias) = chain.aliases.first() else { continue };
        let params = json!({"alias": alias});
        let found: Result<Value, _> = node.call("/ext/info", "info.getBlockchainID", params);
        let is_same = match found {
            Ok(found) => found["blockchainID"] == chain.id.to_string().as_str(),
            // It has no chain of that name.
            Err(CallError::Rpc { .. }) => false,
            Err(error) => return Err(RotateError::Call { url: url.clone(), error }),
        };
        if !is_same {
            return Err(other(format!("its chain {alias} is not the node's")));
        }
    }
    Ok(())
}

/// The proposal of this operator.
fn own_proposal(reply: &Value) -> Option<&Value> {
    reply["proposals"].as_array()?.iter().find(|proposal| proposal["isOwn"] == true)
}

fn count(list: &Value) -> u64 {
    list.as_array().map_or(0, |list| list.len() as u64)
}

/// Whether the change at this height is agreed, or in force.
fn is_agreed(reply: &Value, height: u64) -> bool {
    let height = height.to_string();
    own_proposal(reply).is_none()
        && (reply["agreed"]["height"] == height.as_str() || reply["firstHeight"] == height.as_str())
}

/// Whether enough have approved, and the promises are on their way.
fn is_approved(reply: &Value) -> bool {
    let quorum = reply["quorum"].as_u64().unwrap_or(u64::MAX);
    own_proposal(reply).is_some_and(|proposal| count(&proposal["approvals"]) >= quorum)
}

/// Who comes and who leaves.
fn describe_members(output: &mut String, before: &Value, after: &[Value]) {
    let before = before.as_array().map_or(&[][..], Vec::as_slice);
    let _written =
        writeln!(output, "{} validators now, {} after the change", before.len(), after.len());
    for (sign, of, others) in [("+", after, before), ("-", before, after)] {
        for member in of.iter().filter(|member| !others.contains(member)) {
            let text = |name: &str| member[name].as_str().unwrap_or_default().to_owned();
            let _written = writeln!(output, "{sign} {} {}", text("publicKey"), text("address"));
        }
    }
}

/// Who has approved, or that it is agreed; returns whether it is.
fn describe_state(output: &mut String, reply: &Value, height: u64) -> bool {
    let Some(proposal) = own_proposal(reply) else {
        let agreed = is_agreed(reply, height);
        let text = match agreed {
            true => format!("agreed: the new validators decide from bundle {height} on"),
            false => "approved by this validator; the others' approvals are needed".to_owned(),
        };
        let _written = writeln!(output, "{text}");
        return agreed;
    };
    let keys = |list: &Value| -> Vec<String> {
        let list = list.as_array().into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let approvals = keys(&proposal["approvals"]);
    let quorum = reply["quorum"].as_u64().unwrap_or_default();
    let missing = quorum.saturating_sub(approvals.len() as u64);
    let validators = count(&reply["validators"]);
    let _written = writeln!(
        output,
        "bundle {height}: approved by {} of {validators} validators, {missing} more are needed",
        approvals.len()
    );
    for member in reply["validators"].as_array().into_iter().flatten() {
        let key = member["publicKey"].as_str().unwrap_or_default();
        let state =
            if approvals.iter().any(|approved| approved == key) { "approved" } else { "missing" };
        let own = if reply["ownKey"] == key { ", this node" } else { "" };
        let _written = writeln!(output, "  {key} {state}{own}");
    }
    false
}

fn write_changes(out: &Path, reply: &Value) -> Result<(), RotateError> {
    let lines = reply["changes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let failed = |error| RotateError::Write { path: out.to_owned(), error };
    // Written again by another run with the same content.
    if std::fs::read_to_string(out).is_ok_and(|written| written == text) {
        return Ok(());
    }
    write_new(out, 0o644, &text).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(approvals: &[&str], agreed: Value) -> Value {
        let validators: Vec<Value> =
            ["a", "b", "c", "d"].map(|key| json!({"publicKey": key, "address": "h:1"})).into();
        let proposals = match approvals {
            [] => json!([]),
            keys => json!([{"isOwn": true, "approvals": keys, "promises": []}]),
        };
        json!({
            "epoch": "0", "firstHeight": "0", "validators": validators, "quorum": 3, "ownKey": "b",
            "agreed": agreed, "proposals": proposals, "changes": [],
        })
    }

    #[test]
    fn the_output_says_who_is_missing() {
        let reply = reply(&["a", "b"], Value::Null);
        let mut output = String::new();
        let after: Vec<_> =
            ["b", "c", "d", "e"].map(|key| json!({"publicKey": key, "address": "h:1"})).into();
        describe_members(&mut output, &reply["validators"], &after);
        assert!(!describe_state(&mut output, &reply, 700));
        assert_eq!(
            output,
            "4 validators now, 4 after the change\n+ e h:1\n- a h:1\n\
             bundle 700: approved by 2 of 4 validators, 1 more are needed\n  a approved\n  b approved, this node\n  \
             c missing\n  d missing\n"
        );
        assert!(!is_approved(&reply) && is_approved(&self::reply(&["a", "b", "c"], Value::Null)));
        let agreed = self::reply(&[], json!({"height": "700"}));
        let mut output = String::new();
        assert!(describe_state(&mut output, &agreed, 700));
        assert_eq!(output, "agreed: the new validators decide from bundle 700 on\n");
    }
}
