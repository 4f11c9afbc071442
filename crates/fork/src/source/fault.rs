//! Why a source gave no answer.

use std::time::Duration;

use serde_json::Value;
use thiserror::Error;

/// A request that has no answer: the source, the method, and what the source said.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{url}: {method}: {fault}")]
pub struct SourceError {
    /// The source, without credentials and keys.
    pub url: String,
    /// The method that was called.
    pub method: String,
    /// What happened.
    pub fault: Fault,
}

/// What a source did instead of answering. Texts are the source's, shortened.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Fault {
    /// No connection, or one that ended before the reply was complete.
    #[error("unreachable: {0}")]
    Unreachable(String),
    /// No complete reply in time.
    #[error("no reply within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// A status other than 200, without a JSON-RPC error.
    #[error("HTTP status {status} and no JSON-RPC reply: {text}")]
    Status {
        /// The status.
        status: u16,
        /// The beginning of the body.
        text: String,
    },
    /// The source does not accept the credentials.
    #[error("access denied (HTTP status {status}): {text}; check the URL's key or the headers")]
    Denied {
        /// The status.
        status: u16,
        /// The beginning of the body.
        text: String,
    },
    /// Too many requests.
    #[error("rate limited: {text}; lower the rate of the fork's requests")]
    RateLimited {
        /// What the source said.
        text: String,
        /// The time after which the source wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// The reply is longer than this node reads.
    #[error("the reply is longer than {0} bytes")]
    TooLong(usize),
    /// This node has no memory for the reply.
    #[error("the reply is long, and this node has too many long replies in memory; try again")]
    NoRoom,
    /// The source refuses a batch, or one of this size.
    #[error("the batch is refused: {0}")]
    BatchRefused(String),
    /// Not a JSON-RPC reply.
    #[error("not a JSON-RPC reply: {0}")]
    Garbage(String),
    /// The source does not have the method.
    #[error("the method is not there: {0}")]
    NoMethod(String),
    /// The source does not have the block's state, or not any more.
    #[error("the state is not there: {0}; an archive node has it")]
    NoState(String),
    /// Another error of JSON-RPC.
    #[error("error {code}: {text}")]
    Refused {
        /// The code.
        code: i64,
        /// The message.
        text: String,
    },
    /// The source has become that of another chain.
    #[error("it is of chain {found}, not {expected}")]
    OtherChain {
        /// The chain of the fork.
        expected: u64,
        /// The source's.
        found: u64,
    },
}

/// The kinds of faults, as metrics name them.
pub const FAULT_KINDS: [&str; 13] = [
    "unreachable",
    "timed_out",
    "status",
    "denied",
    "rate_limited",
    "too_long",
    "batch_refused",
    "garbage",
    "no_method",
    "no_state",
    "refused",
    "other_chain",
    "wrong",
];

/// The position of answers that are wrong: they contradict a proof, a hash, or the request.
pub(super) const WRONG: usize = 12;

/// Numbers of faults by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts(pub(super) [u64; FAULT_KINDS.len()]);

impl FaultCounts {
    /// Each kind with its number.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        FAULT_KINDS.into_iter().zip(self.0)
    }

    /// The number of faults of a kind; 0 for an unknown kind.
    pub fn of(&self, kind: &str) -> u64 {
        self.iter().find(|(name, _)| *name == kind).map_or(0, |(_, count)| count)
    }
}

impl Fault {
    /// The position of its kind in [`FAULT_KINDS`].
    pub(super) fn kind(&self) -> usize {
        match self {
            Self::Unreachable(_) => 0,
            Self::TimedOut(_) => 1,
            Self::Status { .. } => 2,
            Self::Denied { .. } => 3,
            Self::RateLimited { .. } => 4,
            Self::TooLong(_) | Self::NoRoom => 5,
            Self::BatchRefused(_) => 6,
            Self::Garbage(_) => 7,
            Self::NoMethod(_) => 8,
            Self::NoState(_) => 9,
            Self::Refused { .. } => 10,
            Self::OtherChain { .. } => 11,
        }
    }

    /// Whether clients cause it: the source answers, and has reasons, or this node has no room for the answer.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Refused { .. } | Self::NoMethod(_) | Self::BatchRefused(_) | Self::NoRoom
        )
    }

    /// Whether the same request may succeed later or at another source.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_)
                | Self::TimedOut(_)
                | Self::Status { status: 408 | 425 | 500.., .. }
                | Self::RateLimited { .. }
                | Self::Garbage(_)
        )
    }

    /// Whether only another URL can answer.
    pub(super) fn is_of_url(&self) -> bool {
        let is_status = matches!(self, Self::Status { .. }) && !self.is_transient();
        is_status || matches!(self, Self::Denied { .. } | Self::OtherChain { .. })
    }

    /// The fault that a JSON-RPC error object reports. `show` shortens and redacts its text.
    pub(super) fn of_error(error: &Value, show: impl Fn(&str) -> String) -> Self {
        let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
        let message = match error.get("message").and_then(Value::as_str) {
            Some(message) => message.to_owned(),
            None => error.to_string(),
        };
        let lower = message.to_lowercase();
        let has = |texts: &[&str]| texts.iter().any(|text| lower.contains(text));
        let text = show(&message);
        if is_rate_limit(code, &lower) {
            return Self::RateLimited { text, retry_after: retry_after(error) };
        }
        if has(BATCH_TEXTS) {
            return Self::BatchRefused(text);
        }
        if has(STATE_TEXTS) {
            return Self::NoState(text);
        }
        if code == -32601 || code == -32004 || has(METHOD_TEXTS) {
            return Self::NoMethod(text);
        }
        Self::Refused { code, text }
    }
}

/// Texts of Alchemy, Infura, QuickNode and others about rates.
const RATE_TEXTS: &[&str] = &[
    "rate limit",
    "rate-limit",
    "ratelimit",
    "too many requests",
    "compute units",
    "request limit",
    "requests limit",
    "request count exceeded",
    "requests per second",
    "request/second",
    "requests/second",
    "capacity exceeded",
    "exceeded the quota",
    "throughput",
];
const BATCH_TEXTS: &[&str] = &[
    "batch too large",
    "batch size",
    "batch limit",
    "batch requests are not",
    "batch request not",
    "batching is not",
    "batches are not",
    "batch of more than",
    "response too large",
    "response size",
];
/// Texts of geth, coreth, Erigon, Nethermind, reth and others about state that they don't have.
const STATE_TEXTS: &[&str] = &[
    "missing trie node",
    "header not found",
    "block not found",
    "unknown block",
    "historical state",
    "state is not available",
    "state not available",
    "state already discarded",
    "state unavailable",
    "is pruned",
    "been pruned",
    "due to pruning",
    "pruned history",
    "proof window",
    "no state found",
    "not supported for blocks older",
    "cannot query unfinalized data",
    "archive node",
];
const METHOD_TEXTS: &[&str] = &[
    "method not found",
    "method not supported",
    "unsupported method",
    "does not exist/is not available",
    "method is not available",
    "is not whitelisted",
    "unknown method",
    "not implemented",
];

fn is_rate_limit(code: i64, text: &str) -> bool {
    // The same code reports ranges of logs that are too long.
    let is_result_limit = text.contains("query returned more than");
    let is_code = matches!(code, 429 | -32005 | -32016 | -32029 | -32097);
    !is_result_limit && (is_code || RATE_TEXTS.iter().any(|rate| text.contains(rate)))
}

/// The wait that an error asks for: Infura's `data.rate.backoff_seconds`, or "try again in 2s" in the data.
fn retry_after(error: &Value) -> Option<Duration> {
    let rate = error.get("data")?.get("rate")?;
    let seconds = rate.get("backoff_seconds")?.as_f64()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fault(code: i64, message: &str) -> Fault {
        Fault::of_error(&json!({"code": code, "message": message}), str::to_owned)
    }

    #[test]
    fn errors_of_providers() {
        for (code, message) in [
            (429, "Your app has exceeded its compute units per second capacity."),
            (-32005, "daily request count exceeded, request rate limited"),
            (-32007, "50/second request limit reached - reduce calls per second"),
            (-32016, "over rate limit"),
            (-32000, "Too Many Requests"),
        ] {
            assert!(matches!(fault(code, message), Fault::RateLimited { .. }), "{message}");
        }
        for message in [
            "missing trie node 12 (path )",
            "header not found",
            "distance exceeds maximum proof window",
        ] {
            assert!(matches!(fault(-32000, message), Fault::NoState(_)), "{message}");
        }
        assert!(matches!(fault(-32601, "x"), Fault::NoMethod(_)));
        assert!(matches!(fault(-32000, "batch too large"), Fault::BatchRefused(_)));
        let ranges = fault(-32005, "query returned more than 10000 results");
        assert!(matches!(ranges, Fault::Refused { code: -32005, .. }));
        let error =
            json!({"code": -32005, "message": "m", "data": {"rate": {"backoff_seconds": 1.5}}});
        let expected = Some(Duration::from_millis(1500));
        let Fault::RateLimited { retry_after, .. } = Fault::of_error(&error, str::to_owned) else {
            panic!("not a rate limit")
        };
        assert_eq!(retry_after, expected);
    }
}
