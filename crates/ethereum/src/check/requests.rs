//! The requests of a block against its header (EIP-7685).

use alloy_primitives::B256;
use thiserror::Error;

/// Why the requests of a block are not those of its header. The texts are those of go-ethereum's block validator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RequestsError {
    /// Other requests.
    #[error("invalid requests hash (remote: {header:x} local: {found:x})")]
    Hash {
        /// That of the header.
        header: B256,
        /// The result.
        found: B256,
    },
    /// Requests that the header does not have.
    #[error("block has requests before prague fork")]
    Early,
}

/// Checks that the hash of a block's requests is the one in its header.
///
/// # Errors
/// It is not.
pub fn check_requests(header: Option<B256>, found: Option<B256>) -> Result<(), RequestsError> {
    match (header, found) {
        (None, Some(_)) => Err(RequestsError::Early),
        (Some(header), Some(found)) if header != found => {
            Err(RequestsError::Hash { header, found })
        }
        // A header with requests before Prague has been refused.
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_those_of_the_header() {
        let (one, other) = (Some(B256::ZERO), Some(B256::repeat_byte(1)));
        assert_eq!(check_requests(None, None), Ok(()));
        assert_eq!(check_requests(one, one), Ok(()));
        assert_eq!(check_requests(None, one), Err(RequestsError::Early));
        let text = check_requests(one, other).unwrap_err().to_string();
        assert!(text.starts_with("invalid requests hash (remote: 0000"), "{text}");
    }
}
