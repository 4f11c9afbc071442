//! The validators of each epoch.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use commonware_consensus::simplex::scheme::ed25519::Scheme;
use esker_chain::{BundleId, EngineError};
use esker_primitives::codec::Reader;
use esker_validators::{
    ChangeError, MAX_SIGNED_CHANGE, SetChange, SignedChange, ValidatorAddress, ValidatorPublicKey,
    VerifiedChange,
};

use super::signing::{self, Domain};
use crate::committee::Committee;

/// Most changes of a network.
pub(super) const MAX_CHANGES: usize = 4_096;

/// The validators of an epoch.
#[derive(Clone, Debug)]
pub(crate) struct ValidatorSet {
    /// The first height that they decide.
    pub(crate) first: u64,
    pub(crate) members: Vec<(ValidatorPublicKey, ValidatorAddress)>,
    pub(crate) committee: Committee,
    pub(super) verifier: Arc<Scheme>,
}

impl ValidatorSet {
    fn new(
        domain: (u32, BundleId),
        first: u64,
        members: Vec<(ValidatorPublicKey, ValidatorAddress)>,
    ) -> Result<Self, EngineError> {
        let keys: Vec<_> = members.iter().map(|(key, _)| *key).collect();
        let committee = Committee::new(domain.0, domain.1, &keys)?;
        let verifier = Arc::new(committee.verifier());
        Ok(Self { first, members, committee, verifier })
    }

    pub(crate) fn keys(&self) -> BTreeSet<ValidatorPublicKey> {
        self.members.iter().map(|(key, _)| *key).collect()
    }
}

/// The validators of a network since its first bundle: those of the network file, and the changes, each checked with the
/// validators before it.
#[derive(Clone, Debug)]
pub struct ChangeHistory {
    network: (u32, BundleId),
    pub(super) domain: Domain,
    /// By epoch; never empty.
    sets: Vec<Arc<ValidatorSet>>,
    /// The changes, which begin epoch 1 and later.
    documents: Vec<Bytes>,
}

impl ChangeHistory {
    /// The validators of a network file, without a change. `network` and `genesis` name the network.
    ///
    /// # Errors
    /// There are none, more than 100, or one twice.
    pub fn new(
        network: u32,
        genesis: BundleId,
        members: Vec<(ValidatorPublicKey, ValidatorAddress)>,
    ) -> Result<Self, EngineError> {
        let network = (network, genesis);
        let sets = vec![Arc::new(ValidatorSet::new(network, 0, members)?)];
        let domain = Domain::new(network.0, genesis);
        Ok(Self { network, domain, sets, documents: Vec::new() })
    }

    /// Adds the next change. One that is known already changes nothing; returns whether it was new.
    ///
    /// # Errors
    /// The bytes are no change, it is not the next one, or too few of the validators before it have signed.
    pub fn append(&mut self, document: &[u8]) -> Result<bool, ChangeError> {
        match self.verify(document)? {
            Some(verified) => self.add(verified),
            None => Ok(false),
        }
    }

    /// Verifies the next change, without adding it; `None`: it is known already.
    pub(crate) fn verify(&self, document: &[u8]) -> Result<Option<VerifiedChange>, ChangeError> {
        if document.len() > MAX_SIGNED_CHANGE {
            return Err(ChangeError::Form("too long"));
        }
        if self.has_change_of(document) {
            return Ok(None);
        }
        let signed = SignedChange::from_bytes(document)?;
        self.check_place(&signed.change)?;
        signing::verify(&signed, &self.domain, &self.newest().keys())?;
        let document = Bytes::copy_from_slice(document);
        Ok(Some(VerifiedChange::new(signed.change, document)))
    }

    /// Adds a change that [`Self::verify`] returned; returns whether it was new.
    pub(crate) fn add(&mut self, verified: VerifiedChange) -> Result<bool, ChangeError> {
        let (change, document) = verified.into_parts();
        if self.has_change_of(&document) {
            return Ok(false);
        }
        self.check_place(&change)?;
        let set = ValidatorSet::new(self.network, change.first_height, change.members().to_vec());
        self.sets.push(Arc::new(set.map_err(|_| ChangeError::Form("its set is none"))?));
        self.documents.push(document);
        Ok(true)
    }

    /// Whether the change of this document, with whatever signatures, is in the list. Reads no key.
    pub(super) fn has_change_of(&self, document: &[u8]) -> bool {
        change_bytes(document).is_some_and(|change| self.has_change(change))
    }

    /// Whether the change with this encoding is in the list.
    pub(crate) fn has_change(&self, change: &[u8]) -> bool {
        self.documents.iter().any(|known| change_bytes(known) == Some(change))
    }

    fn check_place(&self, change: &SetChange) -> Result<(), ChangeError> {
        let epoch = self.newest_epoch();
        let (found, expected) = (change.epoch, epoch + 1);
        if found != expected {
            return Err(ChangeError::Epoch { expected, found });
        }
        let (found, least) = (change.first_height, self.newest().first.saturating_add(2));
        if found < least {
            return Err(ChangeError::Height { found, epoch, least });
        }
        if self.documents.len() >= MAX_CHANGES {
            return Err(ChangeError::TooMany(MAX_CHANGES));
        }
        Ok(())
    }

    /// The changes in order, as they are stored and sent.
    #[must_use]
    pub fn documents(&self) -> &[Bytes] {
        &self.documents
    }

    /// For each epoch its first height, its number, and its validators' keys.
    #[must_use]
    pub fn committees(&self) -> Vec<(u64, u64, Vec<ValidatorPublicKey>)> {
        let of = |(epoch, set): (u64, &ValidatorSet)| {
            (set.first, epoch, set.members.iter().map(|(key, _)| *key).collect())
        };
        (0..).zip(self.sets()).map(of).collect()
    }

    /// The last epoch that is known.
    #[must_use]
    pub fn newest_epoch(&self) -> u64 {
        u64::try_from(self.documents.len()).unwrap_or(u64::MAX)
    }

    pub(crate) fn newest(&self) -> &ValidatorSet {
        self.sets.last().expect("there is always the network file's")
    }

    pub(crate) fn set(&self, epoch: u64) -> Option<&ValidatorSet> {
        self.sets.get(usize::try_from(epoch).ok()?).map(Arc::as_ref)
    }

    pub(crate) fn sets(&self) -> impl DoubleEndedIterator<Item = &ValidatorSet> {
        self.sets.iter().map(Arc::as_ref)
    }

    /// The epoch in which a height is decided.
    pub(crate) fn epoch_of(&self, height: u64) -> u64 {
        let later = self.sets.iter().skip(1).take_while(|set| set.first <= height).count();
        u64::try_from(later).unwrap_or(u64::MAX)
    }

    /// The last height of an epoch; of the newest one there is no last.
    pub(crate) fn last(&self, epoch: u64) -> Option<u64> {
        self.set(epoch)?;
        let next = epoch.checked_add(1).and_then(|next| self.set(next));
        Some(next.map_or(u64::MAX, |next| next.first - 1))
    }

    /// The address that the newest set with this key gives it.
    pub(crate) fn address(&self, key: &ValidatorPublicKey) -> Option<&ValidatorAddress> {
        let members = self.sets.iter().rev().flat_map(|set| &set.members);
        members.into_iter().find(|(member, _)| member == key).map(|(_, address)| address)
    }
}

/// The change of a document, without its signatures.
fn change_bytes(document: &[u8]) -> Option<&[u8]> {
    Reader::new(document).bytes().ok()
}
