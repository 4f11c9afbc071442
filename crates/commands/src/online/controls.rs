//! `esker time`, `esker mine` and `esker snapshot`: the controls of a development node.

use std::fmt::Write as _;
use std::time::Duration;

use alloy_primitives::U64;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::connection::{Connection, unexpected};
use super::target::C;
use super::times::{self, Move};
use super::{OnlineError, SnapshotAction, TimeAction};

/// Time that the node may make blocks.
const MINING: Duration = Duration::from_secs(600);

/// Executes `esker time` and returns its output.
pub(super) fn time(
    node: &mut Connection,
    action: &TimeAction,
    as_json: bool,
) -> Result<String, OnlineError> {
    let seconds = match times::parse(action)? {
        None => node.development_time()?,
        Some(Move::By(seconds)) => {
            node.clock("dev.increaseTime", json!({"seconds": seconds.to_string()}))?
        }
        Some(Move::To(time)) => {
            node.clock("dev.setTime", json!({"timestamp": time.to_string()}))?
        }
    };
    let utc = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    let utc = utc.map(|utc| utc.to_string());
    if as_json {
        return Ok(format!("{}\n", json!({"timestamp": seconds.to_string(), "utc": utc})));
    }
    Ok(format!("{seconds}  {}\n", utc.unwrap_or_default()))
}

/// Executes `esker mine` and returns its output.
pub(super) fn mine(
    node: Connection,
    blocks: u64,
    interval_s: u64,
    as_json: bool,
) -> Result<String, OnlineError> {
    let mut node = node.with_patience(MINING);
    let params = json!({"blocks": blocks.to_string(), "interval": interval_s.to_string()});
    let _empty: Value = node.control("dev.mine", params)?;
    let height: U64 = node.evm(C, "evm_blockNumber", json!([]))?;
    if as_json {
        let document = json!({"blocks": blocks.to_string(), "height": height.to_string()});
        return Ok(format!("{document}\n"));
    }
    let plural = if blocks == 1 { "" } else { "s" };
    Ok(format!("{blocks} block{plural} made, the C-Chain's height is {height}\n"))
}

/// Executes `esker snapshot` and returns its output.
pub(super) fn snapshot(
    node: &mut Connection,
    action: SnapshotAction,
    as_json: bool,
) -> Result<String, OnlineError> {
    match action {
        SnapshotAction::Take => {
            let reply: Value = node.control("dev.snapshot", json!({}))?;
            let id = reply["id"].as_str().ok_or_else(|| unexpected("dev.snapshot", &reply))?;
            Ok(if as_json { format!("{}\n", json!({"id": id})) } else { format!("{id}\n") })
        }
        SnapshotAction::Revert(id) => {
            let reply: Value = node.control("dev.revert", json!({"id": id.to_string()}))?;
            if reply["success"] != true {
                return Err(OnlineError::Refused(format!(
                    "there is no snapshot {id}: a revert uses up its snapshot and all later ones; `esker snapshot list` \
                     shows those that are left"
                )));
            }
            let done = json!({"id": id.to_string(), "reverted": true});
            Ok(if as_json { format!("{done}\n") } else { format!("reverted to snapshot {id}\n") })
        }
        SnapshotAction::List => list(node, as_json),
    }
}

fn list(node: &mut Connection, as_json: bool) -> Result<String, OnlineError> {
    const METHOD: &str = "anvil_metadata";
    node.development_time()?;
    let reply: Value = node.evm(C, METHOD, json!([]))?;
    let mut snapshots = Vec::new();
    for (id, block) in reply["snapshots"].as_object().into_iter().flatten() {
        let id: U64 = id.parse().map_err(|_| unexpected(METHOD, &reply))?;
        snapshots.push((id, block[0].clone(), block[1].clone()));
    }
    snapshots.sort_by_key(|(id, ..)| *id);
    if as_json {
        let snapshots: Vec<_> = snapshots
            .iter()
            .map(|(id, height, hash)| {
                json!({"id": id.to_string(), "block": {"height": height.to_string(), "id": hash}})
            })
            .collect();
        return Ok(format!("{}\n", json!({"snapshots": snapshots})));
    }
    let mut out = String::new();
    for (id, height, hash) in &snapshots {
        let hash = hash.as_str().unwrap_or_default();
        let _written = writeln!(out, "{id}  at block {height} of the C-Chain, {hash}");
    }
    if snapshots.is_empty() {
        out.push_str("no snapshots\n");
    }
    Ok(out)
}
