//! Validity rules of a bundle without its blocks (docs/protocol/bundles.md, "Bundle rules").

use esker_primitives::ChainId;

use super::tree::Place;
use crate::bundle::{
    Bundle, MAX_BUNDLE_AHEAD_MS, MAX_BUNDLE_BLOCKS, MAX_BUNDLE_SIZE, MAX_BUNDLE_TIME_MS,
};
use crate::verdict::Verdict;

/// Checks a bundle on a parent. Returns the chain indexes of its blocks.
pub(super) fn check(
    bundle: &Bundle,
    parent: Place,
    now_ms: u64,
    chain_index: impl Fn(&ChainId) -> Option<usize>,
) -> Result<Vec<usize>, Verdict> {
    let order = check_bundle(bundle, parent, chain_index);
    let order = order.map_err(Verdict::Invalid)?;
    let time_ms = bundle.timestamp_ms;
    // A clock that was set back must not stop the chain: the parent's time is always allowed.
    if time_ms > parent.timestamp_ms && time_ms > now_ms.saturating_add(MAX_BUNDLE_AHEAD_MS) {
        let until_ms = time_ms - MAX_BUNDLE_AHEAD_MS;
        let reason = format!("bundle has time {time_ms}, the clock shows {now_ms}");
        return Err(Verdict::NotYet { until_ms, reason });
    }
    Ok(order)
}

fn check_bundle(
    bundle: &Bundle,
    parent: Place,
    chain_index: impl Fn(&ChainId) -> Option<usize>,
) -> Result<Vec<usize>, String> {
    if bundle.version > Bundle::VERSION {
        return Err(format!("unknown bundle version {}", bundle.version));
    }
    if bundle.version < parent.version {
        let (version, before) = (bundle.version, parent.version);
        return Err(format!("bundle has version {version}, its parent has {before}"));
    }
    if parent.height.checked_add(1) != Some(bundle.height) {
        let (height, before) = (bundle.height, parent.height);
        return Err(format!("bundle has height {height}, its parent has {before}"));
    }
    if bundle.timestamp_ms < parent.timestamp_ms {
        return Err("bundle is older than its parent".into());
    }
    if bundle.timestamp_ms > MAX_BUNDLE_TIME_MS {
        return Err(format!("bundle has time {}, after the year 9999", bundle.timestamp_ms));
    }
    if bundle.blocks.len() > MAX_BUNDLE_BLOCKS || bundle.encoded_len() > MAX_BUNDLE_SIZE {
        let (blocks, bytes) = (bundle.blocks.len(), bundle.encoded_len());
        return Err(format!("bundle is too large: {blocks} blocks, {bytes} bytes"));
    }
    let mut order = Vec::with_capacity(bundle.blocks.len());
    for (chain, _) in &bundle.blocks {
        let index =
            chain_index(chain).ok_or_else(|| format!("bundle names unknown chain {chain}"))?;
        if order.last().is_some_and(|last| *last >= index) {
            return Err("blocks of a bundle are not in the order of the chains".into());
        }
        order.push(index);
    }
    Ok(order)
}
