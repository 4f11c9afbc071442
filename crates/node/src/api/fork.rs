//! The source of a forked chain, for the status.

use esker_fork::{Fork, Trust};
use serde::Serialize;

/// The source of a forked chain, and what was asked of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ForkReport {
    /// Without credentials and keys; absent where the chain runs without a source.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    chain_id: u64,
    block_number: u64,
    block_hash: String,
    /// Whether values are proved against the state root of the block; else they are the source's word.
    is_proven: bool,
    /// Why they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_proven_reason: Option<String>,
    requests: u64,
    calls: u64,
    sent_bytes: u64,
    received_bytes: u64,
    /// Reads of known state.
    hits: u64,
    /// Reads of state that was fetched then.
    misses: u64,
    retries: u64,
    wait_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_fault: Option<FaultReport>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FaultReport {
    text: String,
    ms_ago: u64,
}

impl ForkReport {
    pub(super) fn of(fork: &Fork) -> Self {
        let (pin, counts) = (fork.pin(), fork.counts());
        let not_proven_reason = match fork.trust() {
            Trust::Proven => None,
            Trust::Claimed(reason) => Some(reason.clone()),
        };
        let last_fault = fork.last_fault().map(|fault| FaultReport {
            text: fault.text,
            ms_ago: u64::try_from(fault.age.as_millis()).unwrap_or(u64::MAX),
        });
        Self {
            url: fork.url(),
            chain_id: pin.chain_id,
            block_number: pin.header.number,
            block_hash: pin.hash.to_string(),
            is_proven: not_proven_reason.is_none(),
            not_proven_reason,
            requests: counts.source.requests,
            calls: counts.source.calls,
            sent_bytes: counts.source.bytes_sent,
            received_bytes: counts.source.bytes_received,
            hits: counts.state.hits,
            misses: counts.state.misses,
            retries: counts.source.retries,
            wait_ms: counts.source.wait_ms,
            last_fault,
        }
    }
}
