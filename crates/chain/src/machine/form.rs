//! Validity rules of a bundle without its blocks (docs/protocol/bundles.md, "Bundle rules").

use esker_primitives::ChainId;
use thiserror::Error;

use super::tree::Place;
use crate::bundle::{
    Bundle, MAX_BUNDLE_AHEAD_MS, MAX_BUNDLE_BLOCKS, MAX_BUNDLE_SIZE, MAX_BUNDLE_TIME_MS,
};
use crate::verdict::Verdict;

/// The reason why a bundle is invalid, whatever its blocks are.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
enum FormError {
    #[error("unknown bundle version {0}")]
    UnknownVersion(u16),
    #[error("bundle has version {found}, its parent has {parent}")]
    OlderVersion { found: u16, parent: u16 },
    #[error("bundle has height {found}, its parent has {parent}")]
    Height { found: u64, parent: u64 },
    #[error("bundle is older than its parent")]
    Older,
    #[error("bundle has time {0}, after the year 9999")]
    TooLate(u64),
    #[error("bundle is too large: {blocks} blocks, {bytes} bytes")]
    TooLarge { blocks: usize, bytes: usize },
    #[error("bundle names unknown chain {0}")]
    UnknownChain(ChainId),
    #[error("blocks of a bundle are not in the order of the chains")]
    Order,
}

/// Checks a bundle on a parent. Returns the chain indexes of its blocks.
pub(super) fn check(
    bundle: &Bundle,
    parent: Place,
    now_ms: u64,
    chain_index: impl Fn(&ChainId) -> Option<usize>,
) -> Result<Vec<usize>, Verdict> {
    let order = check_bundle(bundle, parent, chain_index);
    let order = order.map_err(|error| Verdict::Invalid(error.to_string()))?;
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
) -> Result<Vec<usize>, FormError> {
    if bundle.version > Bundle::VERSION {
        return Err(FormError::UnknownVersion(bundle.version));
    }
    if bundle.version < parent.version {
        return Err(FormError::OlderVersion { found: bundle.version, parent: parent.version });
    }
    if parent.height.checked_add(1) != Some(bundle.height) {
        return Err(FormError::Height { found: bundle.height, parent: parent.height });
    }
    if bundle.timestamp_ms < parent.timestamp_ms {
        return Err(FormError::Older);
    }
    if bundle.timestamp_ms > MAX_BUNDLE_TIME_MS {
        return Err(FormError::TooLate(bundle.timestamp_ms));
    }
    let (blocks, bytes) = (bundle.blocks.len(), bundle.encoded_len());
    if blocks > MAX_BUNDLE_BLOCKS || bytes > MAX_BUNDLE_SIZE {
        return Err(FormError::TooLarge { blocks, bytes });
    }
    let mut order = Vec::with_capacity(blocks);
    for (chain, _) in &bundle.blocks {
        let index = chain_index(chain).ok_or(FormError::UnknownChain(*chain))?;
        if order.last().is_some_and(|last| *last >= index) {
            return Err(FormError::Order);
        }
        order.push(index);
    }
    Ok(order)
}
