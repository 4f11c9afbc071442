//! Keys that may spend, and which of them an output requires.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use esker_primitives::ids::ShortId;
use esker_primitives::keys::{PrivateKey, Signature};

use crate::owners::OutputOwners;

/// Private keys by their addresses, in the order in which they were added, and addresses that are impersonated.
#[derive(Clone, Debug, Default)]
pub struct Keychain {
    order: Vec<ShortId>,
    /// `None`: the address is impersonated.
    keys: BTreeMap<ShortId, Option<PrivateKey>>,
}

/// The owners that sign for an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SigningOwners {
    /// Their positions among the output's addresses, ascending: the signature indices of an input.
    pub indices: Vec<u32>,
    /// Their addresses, in the same order: the signatures of a credential.
    pub addresses: Vec<ShortId>,
}

impl Keychain {
    /// Adds a key whose address is known; one that is there already keeps its place.
    pub fn add(&mut self, address: ShortId, key: PrivateKey) {
        if self.keys.insert(address, Some(key)).is_none() {
            self.order.push(address);
        }
    }

    /// Adds an address that stands in place of its signatures; a key that is there already stays.
    pub fn impersonate(&mut self, address: ShortId) {
        if let Entry::Vacant(entry) = self.keys.entry(address) {
            entry.insert(None);
            self.order.push(address);
        }
    }

    /// The signature of an address, or what stands in its place; `None` if the address is not here.
    pub fn sign(&self, address: &ShortId, hash: &[u8; 32]) -> Option<Signature> {
        Some(match self.keys.get(address)? {
            Some(key) => key.sign_hash(hash),
            None => Signature::impersonating(address),
        })
    }

    /// The address of the key that was added first.
    pub fn first(&self) -> Option<ShortId> {
        self.order.first().copied()
    }

    /// All addresses, ascending by their bytes.
    pub fn addresses(&self) -> impl Iterator<Item = &ShortId> {
        self.keys.keys()
    }

    /// The key of an address.
    pub fn get(&self, address: &ShortId) -> Option<&PrivateKey> {
        self.keys.get(address)?.as_ref()
    }

    /// Whether there is a key of this address, or it is impersonated.
    pub fn contains(&self, address: &ShortId) -> bool {
        self.keys.contains_key(address)
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The owners that sign: as many as the threshold requires, the first ones whose keys are here. `None` if the keys
    /// do not suffice, or the output is locked at `now_s` (Unix seconds).
    pub fn signing_owners(&self, owners: &OutputOwners, now_s: u64) -> Option<SigningOwners> {
        if owners.locktime > now_s {
            return None;
        }
        let needed = usize::try_from(owners.threshold).ok()?;
        let (indices, addresses): (Vec<u32>, Vec<ShortId>) = (0..)
            .zip(owners.addresses.iter().copied())
            .filter(|(_, address)| self.contains(address))
            .take(needed)
            .unzip();
        (indices.len() == needed).then_some(SigningOwners { indices, addresses })
    }
}

impl FromIterator<PrivateKey> for Keychain {
    /// Keys whose addresses are computed.
    fn from_iter<I: IntoIterator<Item = PrivateKey>>(keys: I) -> Self {
        let mut keychain = Self::default();
        for key in keys {
            keychain.add(key.address(), key);
        }
        keychain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u8) -> PrivateKey {
        PrivateKey::from_slice(&[n; 32]).unwrap()
    }

    fn owners(locktime: u64, threshold: u32, keys: &[u8]) -> OutputOwners {
        let mut addresses: Vec<ShortId> = keys.iter().map(|n| key(*n).address()).collect();
        addresses.sort();
        OutputOwners { locktime, threshold, addresses }
    }

    #[test]
    fn threshold_owners_sign() {
        let keychain: Keychain = [key(1), key(2), key(1)].into_iter().collect();
        assert_eq!((keychain.len(), keychain.first()), (2, Some(key(1).address())));
        for (threshold, named, signs) in [
            (1, &[1, 3][..], Some(1)),
            (1, &[1, 2], Some(1)),
            (2, &[1, 2, 3], Some(2)),
            (2, &[1, 3], None),
            (1, &[3], None),
            (0, &[], Some(0)),
        ] {
            let owners = owners(0, threshold, named);
            let signing = keychain.signing_owners(&owners, 0);
            assert_eq!(signing.as_ref().map(|s| s.indices.len()), signs, "{owners:?}");
            for (index, address) in signing.iter().flat_map(|s| s.indices.iter().zip(&s.addresses))
            {
                assert_eq!(owners.addresses[*index as usize], *address);
                assert!(keychain.get(address).is_some_and(|key| key.address() == *address));
            }
        }
    }

    #[test]
    fn an_impersonated_address_stands_in_place_of_its_signature() {
        let (of_key, impersonated) = (key(1).address(), key(2).address());
        let mut keychain: Keychain = [key(1)].into_iter().collect();
        keychain.impersonate(impersonated);
        keychain.impersonate(of_key);
        assert_eq!((keychain.len(), keychain.first()), (2, Some(of_key)));
        assert!(keychain.contains(&impersonated) && keychain.get(&impersonated).is_none());
        let sign = |address| keychain.sign(address, &[7; 32]);
        assert_eq!(sign(&of_key), Some(key(1).sign_hash(&[7; 32])));
        let named = sign(&impersonated).unwrap();
        assert_eq!(named.impersonated(), Some(impersonated));
        assert!(named.recover(&[7; 32]).is_err());
        assert_eq!(sign(&of_key).unwrap().impersonated(), None);
        assert_eq!(sign(&key(3).address()), None);
    }

    #[test]
    fn nobody_signs_before_the_locktime() {
        let keychain: Keychain = [key(1)].into_iter().collect();
        assert!(keychain.signing_owners(&owners(8, 1, &[1]), 7).is_none());
        assert!(keychain.signing_owners(&owners(8, 1, &[1]), 8).is_some());
    }
}
