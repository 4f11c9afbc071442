//! The results of a block's execution against its header.

use alloy_consensus::Header;
use alloy_primitives::{B256, Bloom, hex};
use thiserror::Error;

/// What a header says of the execution of its block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Gas of all transactions.
    pub gas_used: u64,
    /// Bloom filter of all logs.
    pub bloom: Bloom,
    /// Root of the receipts.
    pub receipts_root: B256,
    /// Hash of the requests; from Prague on.
    pub requests_hash: Option<B256>,
    /// Root of the state.
    pub state_root: B256,
}

/// Why the results of a block are not those of its header. The texts are those of go-ethereum's block validator.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OutcomeError {
    /// Another amount of gas.
    #[error("invalid gas used (remote: {header} local: {found})")]
    GasUsed {
        /// That of the header.
        header: u64,
        /// The result.
        found: u64,
    },
    /// Another bloom filter.
    #[error("invalid bloom (remote: {}  local: {})", hex::encode(header.as_slice()), hex::encode(found.as_slice()))]
    Bloom {
        /// That of the header.
        header: Box<Bloom>,
        /// The result.
        found: Box<Bloom>,
    },
    /// Other receipts.
    #[error("invalid receipt root hash (remote: {header:x} local: {found:x})")]
    Receipts {
        /// That of the header.
        header: B256,
        /// The result.
        found: B256,
    },
    /// Other requests.
    #[error("invalid requests hash (remote: {header:x} local: {found:x})")]
    Requests {
        /// That of the header.
        header: B256,
        /// The result.
        found: B256,
    },
    /// Requests that the header does not have.
    #[error("block has requests before prague fork")]
    EarlyRequests,
    /// Another state.
    #[error("invalid merkle root (remote: {header:x} local: {found:x})")]
    State {
        /// That of the header.
        header: B256,
        /// The result.
        found: B256,
    },
}

/// Checks that the results of a block are those of its header.
///
/// # Errors
/// The first difference.
pub fn check_outcome(header: &Header, outcome: &Outcome) -> Result<(), OutcomeError> {
    if header.gas_used != outcome.gas_used {
        return Err(OutcomeError::GasUsed { header: header.gas_used, found: outcome.gas_used });
    }
    if header.logs_bloom != outcome.bloom {
        let (header, found) = (Box::new(header.logs_bloom), Box::new(outcome.bloom));
        return Err(OutcomeError::Bloom { header, found });
    }
    let (named, found) = (header.receipts_root, outcome.receipts_root);
    if named != found {
        return Err(OutcomeError::Receipts { header: named, found });
    }
    match (header.requests_hash, outcome.requests_hash) {
        (None, Some(_)) => return Err(OutcomeError::EarlyRequests),
        (Some(header), Some(found)) if header != found => {
            return Err(OutcomeError::Requests { header, found });
        }
        // A header with requests before Prague has been refused.
        _ => {}
    }
    let (named, found) = (header.state_root, outcome.state_root);
    if named != found {
        return Err(OutcomeError::State { header: named, found });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_difference_is_named() {
        let header = Header { requests_hash: Some(B256::ZERO), gas_used: 5, ..Header::default() };
        let same = Outcome {
            gas_used: 5,
            bloom: Bloom::ZERO,
            receipts_root: header.receipts_root,
            requests_hash: Some(B256::ZERO),
            state_root: header.state_root,
        };
        assert_eq!(check_outcome(&header, &same), Ok(()));
        let other = B256::repeat_byte(1);
        let bloom = Bloom::repeat_byte(1);
        for (outcome, text) in [
            (Outcome { gas_used: 6, ..same.clone() }, "invalid gas used (remote: 5 local: 6)"),
            (Outcome { bloom, ..same.clone() }, "invalid bloom (remote: 0000"),
            (
                Outcome { receipts_root: other, ..same.clone() },
                "invalid receipt root hash (remote: 56e8",
            ),
            (
                Outcome { requests_hash: Some(other), ..same.clone() },
                "invalid requests hash (remote: 0000",
            ),
            (Outcome { state_root: other, ..same.clone() }, "invalid merkle root (remote: 56e8"),
        ] {
            let error = check_outcome(&header, &outcome).unwrap_err().to_string();
            assert!(error.starts_with(text), "{error}");
        }
        let early = Header { requests_hash: None, ..header };
        assert_eq!(check_outcome(&early, &same), Err(OutcomeError::EarlyRequests));
    }
}
