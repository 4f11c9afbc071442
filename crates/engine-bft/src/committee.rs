//! The validators of an epoch, as the library knows them.

use std::collections::BTreeSet;

use commonware_consensus::simplex::scheme::ed25519::Scheme;
use commonware_utils::TryCollect;
use commonware_utils::ordered::Set;
use esker_chain::{BundleId, EngineError};
use esker_validators::{MAX_VALIDATORS, ValidatorKey, ValidatorPublicKey};

use crate::library::ToLibrary as _;

/// The validators of a network, in no particular order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Committee {
    /// Bound into every vote and handshake, so that they count in one network only.
    namespace: Vec<u8>,
    members: BTreeSet<ValidatorPublicKey>,
}

impl Committee {
    /// The validators of the network with this ID and first bundle.
    ///
    /// # Errors
    /// There are none, more than 100, or one twice.
    pub(crate) fn new(
        network: u32,
        genesis: BundleId,
        members: &[ValidatorPublicKey],
    ) -> Result<Self, EngineError> {
        let set: BTreeSet<_> = members.iter().copied().collect();
        if set.is_empty() || set.len() > MAX_VALIDATORS || set.len() != members.len() {
            let text = format!(
                "a network has 1 to {MAX_VALIDATORS} validators, each once: not {} with {} keys",
                members.len(),
                set.len()
            );
            return Err(EngineError::Protocol(text));
        }
        let namespace =
            [b"esker-bft-0".as_slice(), &network.to_be_bytes(), genesis.as_bytes()].concat();
        Ok(Self { namespace, members: set })
    }

    /// The number of validators.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn namespace(&self) -> &[u8] {
        &self.namespace
    }

    fn keys(&self) -> Set<commonware_cryptography::ed25519::PublicKey> {
        let keys = self.members.iter().map(|key| key.to_library());
        keys.try_collect().expect("the members are distinct")
    }

    /// A scheme that checks votes and signs none.
    pub(crate) fn verifier(&self) -> Scheme {
        Scheme::verifier(&self.namespace, self.keys())
    }

    /// A scheme that signs votes with this key.
    pub(crate) fn signer(&self, key: &ValidatorKey) -> Result<Scheme, EngineError> {
        Scheme::signer(&self.namespace, self.keys(), key.to_library()).ok_or_else(|| {
            let text = format!("{} is not a validator of this network", key.public_key());
            EngineError::Protocol(text)
        })
    }
}

#[cfg(test)]
mod tests {
    use esker_primitives::Id;

    use super::*;

    #[test]
    fn a_committee_has_each_validator_once_and_signs_for_its_members_only() {
        let keys: Vec<_> = (0..4).map(|n| ValidatorKey::from_bytes(&[n; 32])).collect();
        let members: Vec<_> = keys.iter().map(ValidatorKey::public_key).collect();
        let committee = Committee::new(7, Id::ZERO, &members).unwrap();
        assert_eq!(committee.len(), 4);
        assert!(keys.iter().all(|key| committee.signer(key).is_ok()));
        let stranger = ValidatorKey::from_bytes(&[9; 32]);
        let error = committee.signer(&stranger).unwrap_err().to_string();
        assert_eq!(error, format!("{} is not a validator of this network", stranger.public_key()));
        let twice = [members[0], members[1], members[0]];
        for wrong in [&[][..], &twice] {
            assert!(Committee::new(7, Id::ZERO, wrong).is_err());
        }
    }
}
