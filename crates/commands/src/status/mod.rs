//! `esker status`: role, heights and lag of a running node, from `/ext/status` and `/ext/health`.

mod cli;

use std::fmt::Write as _;
use std::time::Duration;

use esker_client::{HttpClient, HttpError};
use esker_node::TakenOver;
use esker_settings::exit_code;
use serde::Deserialize as _;
use serde_json::{Value, json};
use thiserror::Error;

pub(crate) use cli::{command, parse};

use crate::node_url::{NodeUrl, NodeUrlError};

/// Time that the node may take for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The parsed arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusCommand {
    /// The running node.
    pub node: NodeUrl,
    /// Print JSON.
    pub json: bool,
}

/// The reason why there is no status.
#[derive(Debug, Error)]
pub enum StatusError {
    /// The URL is not one of a node.
    #[error("--url {url}: {reason}")]
    Url {
        /// As given.
        url: String,
        /// The fault.
        reason: NodeUrlError,
    },
    /// The node gave no answer.
    #[error("no answer from {url}: {error}; is the node running?")]
    Unreachable {
        /// The node.
        url: String,
        /// The error.
        error: HttpError,
    },
    /// The answer is not a status.
    #[error("unexpected answer from {url}: {reason}; is it an Esker node?")]
    Unexpected {
        /// The node.
        url: String,
        /// The text of the answer.
        reason: String,
    },
}

impl StatusError {
    /// The exit code of the process.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Url { .. } => exit_code::CONFIG,
            Self::Unreachable { .. } | Self::Unexpected { .. } => exit_code::FAILURE,
        }
    }
}

/// Executes the command and returns its output, and whether the node is healthy.
///
/// # Errors
/// The node did not answer.
pub fn run(command: &StatusCommand) -> Result<(String, bool), StatusError> {
    let url = &command.node.url;
    let client = command.node.client(PATIENCE);
    let mut node = client.map_err(|reason| StatusError::Url { url: url.clone(), reason })?;
    let unexpected = |reason| StatusError::Unexpected { url: url.clone(), reason };
    let status = get(&mut node, url, "/ext/status", &[200])?;
    check_status(&status).map_err(|error| unexpected(error.to_string()))?;
    // 503: a check fails.
    let health = get(&mut node, url, "/ext/health", &[200, 503])?;
    let is_healthy = check_health(&health).map_err(|error| unexpected(error.to_string()))?;
    let output = match command.json {
        true => format!("{}\n", json!({ "status": status, "health": health })),
        false => text(&status, &health),
    };
    Ok((output, is_healthy))
}

fn get(
    node: &mut HttpClient,
    url: &str,
    path: &str,
    expected: &[u16],
) -> Result<Value, StatusError> {
    let reply = node
        .request("GET", path, &[], b"")
        .map_err(|error| StatusError::Unreachable { url: url.to_owned(), error })?;
    let unexpected = |reason| StatusError::Unexpected { url: url.to_owned(), reason };
    if !expected.contains(&reply.status) {
        return Err(unexpected(format!("status {} at {path}", reply.status)));
    }
    serde_json::from_slice(&reply.body).map_err(|error| unexpected(format!("{path}: {error}")))
}

/// A document is no status, or no health report.
#[derive(Debug, Error)]
#[error("{path}: {fault}: {document}")]
struct DocumentError {
    path: &'static str,
    fault: String,
    /// Its beginning.
    document: String,
}

impl DocumentError {
    fn new(path: &'static str, fault: impl Into<String>, document: &Value) -> Self {
        Self { path, fault: fault.into(), document: shortened(document) }
    }
}

/// Refuses a document that is no status.
fn check_status(status: &Value) -> Result<(), DocumentError> {
    let has = [
        ("network", status["network"].is_string()),
        ("networkID", status["networkID"].is_u64()),
        ("nodeID", status["nodeID"].is_string()),
        ("role", status["role"].is_string()),
        ("bundle", status["bundle"].is_u64()),
        ("chains", status["chains"].is_array()),
    ];
    match has.iter().find(|(_, has)| !has) {
        Some((name, _)) => Err(DocumentError::new("/ext/status", format!("no {name}"), status)),
        None => Ok(()),
    }
}

/// Whether the node is healthy. Refuses a document that is no health report, or contradicts itself.
fn check_health(health: &Value) -> Result<bool, DocumentError> {
    let fault = |fault: &str| Err(DocumentError::new("/ext/health", fault, health));
    let Some(is_healthy) = health["healthy"].as_bool() else { return fault("no healthy") };
    let Some(checks) = health["checks"].as_object() else { return fault("no checks") };
    match checks.values().any(|check| !check["error"].is_null()) {
        false if !is_healthy => fault("not healthy, and no check fails"),
        true if is_healthy => fault("healthy, and a check fails"),
        _ => Ok(is_healthy),
    }
}

fn shortened(document: &Value) -> String {
    esker_primitives::excerpt(&document.to_string()).into_owned()
}

/// The status as lines for a person.
fn text(status: &Value, health: &Value) -> String {
    let mut out = String::new();
    let mut line = |name: &str, value: String| {
        // A String takes every line.
        let _written = writeln!(out, "{name:<10} {value}");
    };
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let network = format!("{} ({})", plain(&status["network"]), plain(&status["networkID"]));
    line("network", network);
    line("node", plain(&status["nodeID"]));
    line("role", plain(&status["role"]));
    line("bundle", plain(&status["bundle"]));
    if let Some(first) = status["firstBundle"].as_u64() {
        line("history", format!("from bundle {first} (joined from a snapshot)"));
    }
    if let Some(following) = status["following"].as_object() {
        let source = match &following["source"] {
            Value::String(source) => source.clone(),
            _ => "none connected".to_owned(),
        };
        line("source", source);
        let (bundles, ms) = (plain(&following["lagBundles"]), plain(&following["lagMs"]));
        line("behind", format!("{bundles} bundles, {ms} ms"));
        if let Some(error) = following["error"].as_str() {
            line("error", error.to_owned());
        }
    }
    let has_peers = status["peers"].as_u64().is_some_and(|peers| peers > 0);
    let takes_from_peers =
        has_peers && status["role"] == "follower" && status["following"].is_null();
    if status["role"] == "validator" || takes_from_peers && status["joining"].is_null() {
        line("peers", plain(&status["peers"]));
    }
    if let Some(change) = status["validatorChange"].as_object() {
        let (bundle, validators) = (plain(&change["bundle"]), plain(&change["validators"]));
        let state = match change.get("approvals").and_then(Value::as_u64) {
            Some(approvals) => {
                format!("approved by {approvals}, {} are needed", plain(&change["needed"]))
            }
            None => "agreed".to_owned(),
        };
        line("change", format!("{validators} validators from bundle {bundle} on, {state}"));
    }
    if let Some(joining) = status["joining"].as_object() {
        line("joining", joining_text(joining));
        if let Some(error) = joining["error"].as_str() {
            line("error", error.to_owned());
        }
    }
    if let Some(sources) = status["waiting"]["sources"].as_array() {
        line("waiting", "for a source that says when the network began".to_owned());
        for asked in sources {
            let error = asked["error"].as_str().unwrap_or("not asked yet");
            line("source", format!("{}: {error}", plain(&asked["source"])));
        }
    }
    if let Some(fork) = status["fork"].as_object() {
        fork_lines(fork).into_iter().for_each(|(name, value)| line(name, value));
    }
    if let Ok(taken) = TakenOver::deserialize(&status["forkX"]) {
        line("taken over", taken.counts_text());
        line("from", taken.origin_text());
    }
    line("followers", plain(&status["followers"]));
    for chain in status["chains"].as_array().into_iter().flatten() {
        let pending = plain(&chain["pending"]);
        let history = match chain["firstBlock"].as_u64() {
            Some(first) => format!(", history from block {first}"),
            None => String::new(),
        };
        let text = format!("height {}, {pending} pending{history}", plain(&chain["height"]));
        line(&plain(&chain["alias"]), text);
    }
    let failing: Vec<String> = health["checks"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, check)| !check["error"].is_null())
        .map(|(name, check)| format!("{name}: {}", plain(&check["error"])))
        .collect();
    match &*failing {
        [] => line("health", "ok".to_owned()),
        failing => failing.iter().for_each(|text| line("unhealthy", text.clone())),
    }
    out
}

/// The source of a forked chain, and what was asked of it.
fn fork_lines(fork: &serde_json::Map<String, Value>) -> Vec<(&'static str, String)> {
    let number = |name: &str| fork.get(name).and_then(Value::as_u64).unwrap_or_default();
    let text = |name: &str| fork.get(name).and_then(Value::as_str).unwrap_or("?");
    let values = match fork.get("isProven").and_then(Value::as_bool) {
        Some(true) => "values are proved".to_owned(),
        _ => format!("values are the source's word ({})", text("notProvenReason")),
    };
    let block = (number("blockNumber"), text("blockHash"), number("chainId"));
    let mut lines = vec![
        ("fork", format!("block {} ({}) of chain {}, {values}", block.0, block.1, block.2)),
        ("source", fork.get("url").and_then(Value::as_str).unwrap_or("none").to_owned()),
    ];
    let (requests, calls) = (number("requests"), number("calls"));
    let (retries, kib) = (number("retries"), number("receivedBytes") / 1024);
    let asked =
        format!("{requests} requests, {calls} calls, {kib} KiB received, {retries} retries");
    let read = format!("{} known, {} fetched", number("hits"), number("misses"));
    lines.extend([("asked", asked), ("reads", read)]);
    if let Some(fault) = fork.get("lastFault").and_then(Value::as_object) {
        let seconds = fault.get("msAgo").and_then(Value::as_u64).unwrap_or_default() / 1000;
        let text = fault.get("text").and_then(Value::as_str).unwrap_or("?");
        lines.push(("fault", format!("{seconds} s ago: {text}")));
    }
    lines
}

/// How far a node is that joins from a snapshot.
fn joining_text(joining: &serde_json::Map<String, Value>) -> String {
    let Some(source) = joining["source"].as_str() else {
        return "from a snapshot, no source connected".to_owned();
    };
    let of_total = joining["totalRows"].as_u64().map(|total| format!(" of {total}"));
    let (rows, of_total) = (&joining["rows"], of_total.unwrap_or_default());
    format!("from a snapshot of bundle {}, {rows}{of_total} rows, from {source}", joining["bundle"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_that_say_nothing_are_refused() {
        let status = json!({
            "network": "local", "networkID": 12345, "nodeID": "NodeID-1", "role": "solo",
            "bundle": 9, "chains": [],
        });
        check_status(&status).unwrap();
        for name in ["network", "networkID", "nodeID", "role", "bundle", "chains"] {
            let mut without = status.clone();
            without[name] = json!(true);
            let error = check_status(&without).unwrap_err().to_string();
            assert!(error.starts_with(&format!("/ext/status: no {name}: {{")), "{error}");
        }
        let failing = json!({"X": {"error": "gone"}, "C": {"message": "fine"}});
        for (health, expected) in [
            (json!({"healthy": true, "checks": {}}), Ok(true)),
            (json!({"healthy": false, "checks": failing}), Ok(false)),
            (json!({"healthy": false, "checks": {"X": {"error": {"a": 1}}}}), Ok(false)),
            (json!({"healthy": true, "checks": failing}), Err("healthy, and a check fails")),
            (json!({"healthy": false, "checks": {}}), Err("not healthy, and no check fails")),
            (json!({"healthy": "yes", "checks": {}}), Err("no healthy")),
            (json!({"healthy": true}), Err("no checks")),
            (json!([]), Err("no healthy")),
            (json!("nonsense"), Err("no healthy")),
            (Value::Null, Err("no healthy")),
        ] {
            match (check_health(&health), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{health}"),
                (Err(found), Err(expected)) => {
                    assert!(found.to_string().contains(expected), "{found}");
                }
                (found, expected) => panic!("{health}: {found:?}, {expected:?}"),
            }
        }
    }

    #[test]
    fn lines_for_a_person() {
        let chain = |alias: &str| json!({"alias": alias, "id": "x", "height": 7, "pending": 1});
        let status = json!({
            "network": "local", "networkID": 12345, "nodeID": "NodeID-1", "role": "follower",
            "bundle": 9, "peers": 0, "followers": 2, "chains": [chain("X"), chain("C")],
            "following": {
                "source": null, "greatestBundleSeen": 12, "lagBundles": 3, "lagMs": 4500,
                "error": "http://writer:9650: gone",
            },
        });
        let health = json!({"healthy": false, "checks": {
            "X": {"message": "fine"}, "follower": {"error": "behind for 4500 ms"},
        }});
        let lines = "\
network    local (12345)
node       NodeID-1
role       follower
bundle     9
source     none connected
behind     3 bundles, 4500 ms
error      http://writer:9650: gone
followers  2
X          height 7, 1 pending
C          height 7, 1 pending
unhealthy  follower: behind for 4500 ms
";
        assert_eq!(text(&status, &health), lines);
        let joined = json!({
            "network": "local", "networkID": 12345, "nodeID": "NodeID-1", "role": "follower",
            "bundle": 9, "firstBundle": 5, "peers": 0, "followers": 0, "chains": [
                {"alias": "X", "id": "x", "height": 7, "firstBlock": 6, "pending": 0},
                {"alias": "D", "id": "x", "height": 0, "pending": 0},
            ],
        });
        let lines = "\
bundle     9
history    from bundle 5 (joined from a snapshot)
followers  0
X          height 7, 0 pending, history from block 6
D          height 0, 0 pending
";
        assert!(text(&joined, &health).contains(lines), "{}", text(&joined, &health));
        let fork = |is_proven: bool| {
            let mut status = joined.clone();
            status["fork"] = json!({
                "url": "http://h:1/***", "chainId": 1, "blockNumber": 7, "blockHash": "0xab",
                "isProven": is_proven, "requests": 12, "calls": 34, "sentBytes": 1,
                "receivedBytes": 5120, "hits": 5, "misses": 6, "retries": 2, "waitMs": 1,
            });
            status
        };
        let lines = "\
fork       block 7 (0xab) of chain 1, values are proved
source     http://h:1/***
asked      12 requests, 34 calls, 5 KiB received, 2 retries
reads      5 known, 6 fetched
followers  0
";
        assert!(text(&fork(true), &health).contains(lines), "{}", text(&fork(true), &health));
        let mut claimed = fork(false);
        claimed["fork"]["notProvenReason"] = json!("no eth_getProof");
        claimed["fork"]["lastFault"] = json!({"text": "http://h:1: gone", "msAgo": 2500});
        let shown = text(&claimed, &health);
        for line in [
            "chain 1, values are the source's word (no eth_getProof)\n",
            "fault      2 s ago: http://h:1: gone\n",
        ] {
            assert!(shown.contains(line), "{shown}");
        }
        let healthy = json!({"healthy": true, "checks": {}});
        assert!(text(&status, &healthy).ends_with("health     ok\n"));
    }
}
