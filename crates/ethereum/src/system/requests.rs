//! Requests to the consensus layer (EIP-7685).

use alloy_primitives::{B256, Bytes};
use esker_primitives::hash::sha256;

/// A request of a type with these data; `None` for none.
pub fn request(request_type: u8, data: &[u8]) -> Option<Bytes> {
    (!data.is_empty()).then(|| [&[request_type], data].concat().into())
}

/// The hash of requests in the order of their types: SHA-256 of the hashes of those with data.
pub fn requests_hash(requests: &[Bytes]) -> B256 {
    let with_data = requests.iter().filter(|request| request.len() > 1);
    let hashes: Vec<u8> = with_data.flat_map(|request| sha256(request)).collect();
    B256::new(sha256(&hashes))
}

#[cfg(test)]
mod tests {
    use alloy_eips::eip7685::EMPTY_REQUESTS_HASH;

    use super::*;

    #[test]
    fn requests_without_data_do_not_count() {
        assert_eq!(request(1, &[]), None);
        assert_eq!(request(1, &[5]), Some(Bytes::from_static(&[1, 5])));
        assert_eq!(requests_hash(&[]), EMPTY_REQUESTS_HASH);
        assert_eq!(requests_hash(&[Bytes::from_static(&[0])]), EMPTY_REQUESTS_HASH);
    }

    #[test]
    fn the_hash_is_one_of_hashes() {
        let all = [Bytes::from_static(&[0, 1]), Bytes::from_static(&[2, 9])];
        let hashes = [sha256(&[0, 1]), sha256(&[2, 9])].concat();
        assert_eq!(requests_hash(&all), B256::new(sha256(&hashes)));
    }
}
