//! Finds a key whose hash begins with the path of a node, so that the key's proof shows the node.

use alloy_primitives::{Address, B256, U256, keccak256};
use alloy_trie::Nibbles;

/// Longest path, nibbles. Each more takes sixteen times as long; these take seconds.
pub(super) const MAX_PATH: usize = 6;
/// Most tries, in multiples of those that are needed on average. One in three thousand searches needs more.
const PATIENCE: u64 = 8;

/// An address below a path of the account trie. The caller is on a thread for blocking work.
pub(super) fn find_address(path: &Nibbles) -> Option<Address> {
    let address = |counter: u64| {
        let mut address = Address::ZERO;
        address[12..].copy_from_slice(&counter.to_be_bytes());
        address
    };
    search(path, |counter| keccak256(address(counter))).map(address)
}

/// A slot below a path of a storage trie.
pub(super) fn find_slot(path: &Nibbles) -> Option<U256> {
    search(path, |counter| keccak256(B256::from(U256::from(counter)))).map(U256::from)
}

/// The first counter whose hash begins with a path.
fn search(path: &Nibbles, hash: impl Fn(u64) -> B256) -> Option<u64> {
    let length = path.len();
    if length > MAX_PATH {
        return None;
    }
    let mut wanted = [0; MAX_PATH.div_ceil(2)];
    let mut mask = wanted;
    for (at, nibble) in path.iter().enumerate() {
        let shift = if at % 2 == 0 { 4 } else { 0 };
        wanted[at / 2] |= nibble << shift;
        mask[at / 2] |= 0xf << shift;
    }
    let most = (1u64 << (4 * length)).saturating_mul(PATIENCE);
    (0..most).find(|counter| {
        let hash = hash(*counter);
        wanted
            .iter()
            .zip(mask)
            .zip(hash.iter())
            .all(|((wanted, mask), byte)| byte & mask == *wanted)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_begin_with_the_path() {
        for path in [vec![], vec![7], vec![0, 15], vec![1, 2, 3], vec![15, 0, 9]] {
            let path = Nibbles::from_nibbles(&path);
            let address = find_address(&path).unwrap();
            assert!(Nibbles::unpack(keccak256(address)).starts_with(&path));
            let slot = B256::from(find_slot(&path).unwrap());
            assert!(Nibbles::unpack(keccak256(slot)).starts_with(&path));
        }
        assert_eq!(find_slot(&Nibbles::from_nibbles([1; MAX_PATH + 1])), None);
    }
}
