//! Checks certificates without an engine: for followers, which trust no source.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use commonware_codec::{Copying, Decode};
use commonware_consensus::Epochable;
use commonware_consensus::simplex::scheme::ed25519::Scheme;
use commonware_consensus::simplex::types::{Finalization, Subject};
use commonware_cryptography::certificate::Verifier;
use commonware_parallel::Sequential;
use esker_chain::{Bundle, BundleId, EngineError, ProofError, ProofVerifier};
use esker_primitives::Randomness;
use esker_primitives::sync::RwLock;
use esker_validators::{MAX_VALIDATORS, ValidatorPublicKey, quorum};
use rand_core::{TryCryptoRng, TryRng};
use thiserror::Error;

use crate::block::{Digest, digest_of, id_of};
use crate::changes::ChangeHistory;
use crate::committee::Committee;

/// The reason why bytes do not show that a bundle is final.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CertificateError {
    /// They are no certificate.
    #[error("bytes that are no certificate: {0}")]
    Encoding(String),
    /// The certificate is of another bundle.
    #[error("a certificate of bundle {0}, which is another one")]
    OtherBundle(BundleId),
    /// It is of an epoch whose validators are not known.
    #[error(
        "a certificate of epoch {found}, but the validators are known up to epoch {known} only"
    )]
    UnknownEpoch {
        /// The certificate's.
        found: u64,
        /// The newest one.
        known: u64,
    },
    /// It is of another epoch than that of the bundle's height.
    #[error(
        "a certificate of epoch {found}; at this height the validators are those of epoch {expected}"
    )]
    OtherEpoch {
        /// The certificate's.
        found: u64,
        /// The quorum of the validators at the bundle's height.
        expected: u64,
    },
    /// It has less votes than decide.
    #[error("a certificate with {votes} votes; {needed} are needed")]
    TooFewVotes {
        /// The number of signatures that it has.
        votes: usize,
        /// The quorum.
        needed: usize,
    },
    /// The votes are false, or of validators of another network.
    #[error("a certificate whose votes are not those of this network's validators")]
    Votes,
    /// The validators at this height are not known.
    #[error("the validators at height {0} are not known")]
    NoCommittee(u64),
}

impl From<CertificateError> for ProofError {
    fn from(error: CertificateError) -> Self {
        Self(error.to_string())
    }
}

/// The reason why a set of validators can't be added.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommitteeError {
    /// No network can have these validators.
    #[error("{0}")]
    Members(String),
    /// Sets are added in order of their heights and epochs.
    #[error(
        "validators from height {height} on, of epoch {epoch}, come after those from height {last_height} on, of epoch {last_epoch}"
    )]
    Order {
        /// Their first height.
        height: u64,
        /// Their epoch.
        epoch: u64,
        /// First height of the last set.
        last_height: u64,
        /// Epoch of the last set.
        last_epoch: u64,
    },
}

/// The validators of the heights from `first` on.
struct Members {
    first: u64,
    epoch: u64,
    committee: Committee,
    scheme: Scheme,
}

/// Checks certificates against the validators of a network, which may be others from some height on.
pub struct CertificateVerifier {
    network: u32,
    genesis: BundleId,
    /// In order of height.
    committees: RwLock<Vec<Arc<Members>>>,
    randomness: Randomness,
}

impl CertificateVerifier {
    /// For the network with this ID, this bundle of height 0 and these validators from there on. `randomness` is for
    /// checking many votes at once.
    ///
    /// # Errors
    /// No network can have these validators.
    pub fn new(
        network: u32,
        genesis: BundleId,
        validators: &[ValidatorPublicKey],
        randomness: Randomness,
    ) -> Result<Self, CommitteeError> {
        let committees = RwLock::new_named("engine_bft.committees", Vec::new());
        let verifier = Self { network, genesis, committees, randomness };
        verifier.add_committee(0, 0, validators)?;
        Ok(verifier)
    }

    /// Adds the validators of the heights from `first_height` on, and of their certificates the epoch. Adding the last
    /// ones again changes nothing.
    ///
    /// # Errors
    /// No network can have these validators, or height or epoch is not above those of the last ones.
    pub fn add_committee(
        &self,
        first_height: u64,
        epoch: u64,
        validators: &[ValidatorPublicKey],
    ) -> Result<(), CommitteeError> {
        let committee = Committee::new(self.network, self.genesis, validators);
        let committee =
            committee.map_err(|error: EngineError| CommitteeError::Members(error.to_string()))?;
        let scheme = committee.verifier();
        let members = Members { first: first_height, epoch, committee, scheme };
        let mut committees = self.committees.write();
        if let Some(last) = committees.last() {
            let is_same = (last.first, last.epoch) == (members.first, members.epoch);
            if is_same && last.committee == members.committee {
                return Ok(());
            }
            if members.first <= last.first || members.epoch <= last.epoch {
                return Err(CommitteeError::Order {
                    height: first_height,
                    epoch,
                    last_height: last.first,
                    last_epoch: last.epoch,
                });
            }
        }
        committees.push(Arc::new(members));
        Ok(())
    }

    /// Adds the validators of a network's epochs that are not known yet.
    ///
    /// # Errors
    /// See [`Self::add_committee`].
    pub fn add_committees(&self, history: &ChangeHistory) -> Result<(), CommitteeError> {
        let known = self.committees.read().len();
        (0..).zip(history.sets()).skip(known).try_for_each(|(epoch, set)| {
            let keys: Vec<_> = set.keys().into_iter().collect();
            self.add_committee(set.first, epoch, &keys)
        })
    }

    /// Checks that these bytes are a certificate of this bundle.
    ///
    /// # Errors
    /// See [`CertificateError`].
    pub fn verify(&self, bundle: &Bundle, proof: &[u8]) -> Result<(), CertificateError> {
        self.verify_all(&[(bundle, proof)]).map_err(|(_, error)| error)
    }

    /// Checks several at once.
    ///
    /// # Errors
    /// The index of the first one that fails.
    pub fn verify_all(&self, proven: &[(&Bundle, &[u8])]) -> Result<(), (usize, CertificateError)> {
        let mut rng = Rng(&self.randomness);
        let newest = self.committees.read().last().map_or(0, |members| members.epoch);
        let mut from = 0;
        while let Some((bundle, _)) = proven.get(from) {
            let members = self.members(bundle.height).map_err(|error| (from, error))?;
            // Those of the same validators are checked together.
            let (mut read, mut failed) = (Vec::new(), None);
            for (bundle, proof) in &proven[from..] {
                match self.members(bundle.height) {
                    Ok(others) if Arc::ptr_eq(&others, &members) => {}
                    _ => break,
                }
                match members.read(bundle, proof, newest) {
                    Ok(certificate) => read.push(certificate),
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
            }
            let subjects: Vec<_> = read
                .iter()
                .map(|Finalization { proposal, certificate }| {
                    (Subject::Finalize { proposal }, certificate)
                })
                .collect();
            let scheme = &members.scheme;
            let valid =
                scheme.verify_certificates_bisect::<_, Digest>(&mut rng, &subjects, &Sequential);
            if let Some(index) = valid.iter().position(|valid| !valid) {
                return Err((from + index, CertificateError::Votes));
            }
            from += read.len();
            if let Some(error) = failed {
                return Err((from, error));
            }
        }
        Ok(())
    }

    fn members(&self, height: u64) -> Result<Arc<Members>, CertificateError> {
        let committees = self.committees.read();
        let members = committees.iter().rev().find(|members| members.first <= height);
        members.cloned().ok_or(CertificateError::NoCommittee(height))
    }
}

impl Members {
    /// Reads a certificate, and checks all but its signatures. `newest` is the newest known epoch.
    fn read(
        &self,
        bundle: &Bundle,
        proof: &[u8],
        newest: u64,
    ) -> Result<Finalization<Scheme, Digest>, CertificateError> {
        let decode = |size| Finalization::<Scheme, Digest>::decode_cfg(Copying(proof), &size);
        let decoded = decode(self.scheme.certificate_codec_config());
        let finalization = decoded.map_err(|error| {
            // Later validators may be more.
            let found = decode(MAX_VALIDATORS).map_or(0, |later| later.epoch().get());
            match found > newest {
                true => CertificateError::UnknownEpoch { found, known: newest },
                false => CertificateError::Encoding(error.to_string()),
            }
        })?;
        let payload = finalization.proposal.payload;
        if payload != digest_of(&bundle.id()) {
            return Err(CertificateError::OtherBundle(id_of(&payload)));
        }
        let found = finalization.epoch().get();
        if found > newest {
            return Err(CertificateError::UnknownEpoch { found, known: newest });
        }
        if found != self.epoch {
            return Err(CertificateError::OtherEpoch { found, expected: self.epoch });
        }
        let (votes, needed) =
            (finalization.certificate.signers.count(), quorum(self.committee.len()));
        if votes < needed {
            return Err(CertificateError::TooFewVotes { votes, needed });
        }
        Ok(finalization)
    }
}

impl ProofVerifier for CertificateVerifier {
    fn verify(&self, bundle: &Bundle, proof: &[u8]) -> Result<(), ProofError> {
        Ok(Self::verify(self, bundle, proof)?)
    }

    fn verify_all(&self, proven: &[(&Bundle, &[u8])]) -> Result<(), (usize, ProofError)> {
        Self::verify_all(self, proven).map_err(|(index, error)| (index, error.into()))
    }
}

impl fmt::Debug for CertificateVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateVerifier")
            .field("network", &self.network)
            .finish_non_exhaustive()
    }
}

/// The node's randomness for the library.
struct Rng<'a>(&'a Randomness);

impl TryRng for Rng<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        (self.0)(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        (self.0)(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        (self.0)(bytes);
        Ok(())
    }
}

impl TryCryptoRng for Rng<'_> {}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use commonware_codec::Encode;
    use commonware_consensus::simplex::types::{Finalize, Proposal};
    use commonware_consensus::types::{Epoch, Round, View};
    use commonware_cryptography::Signer;
    use commonware_utils::iter::NonEmpty;
    use esker_primitives::Id;
    use esker_validators::ValidatorKey;

    use super::*;
    use crate::library::ToLibrary as _;

    const NETWORK: u32 = 7;

    fn keys(from: u8, count: u8) -> Vec<ValidatorKey> {
        (from..from + count).map(|n| ValidatorKey::from_bytes(&[n; 32])).collect()
    }

    fn public(keys: &[ValidatorKey]) -> Vec<ValidatorPublicKey> {
        keys.iter().map(ValidatorKey::public_key).collect()
    }

    fn bundle(height: u64) -> Bundle {
        Bundle {
            version: 1,
            parent: Id::sha256(b"parent"),
            height,
            timestamp_ms: 1_000,
            commitment: Id::sha256(b"state"),
            blocks: Vec::new(),
        }
    }

    fn randomness() -> Randomness {
        Arc::new(|bytes: &mut [u8]| {
            for (n, byte) in bytes.iter_mut().enumerate() {
                *byte = u8::try_from(n % 251).unwrap().wrapping_mul(37) ^ 0x5a;
            }
        })
    }

    /// A certificate of this bundle, with votes of `voters` of the network.
    fn certificate(
        network: u32,
        voters: &[ValidatorKey],
        all: &[ValidatorKey],
        epoch: u64,
        bundle: &Bundle,
    ) -> Bytes {
        let committee = Committee::new(network, Id::ZERO, &public(all)).unwrap();
        let round = Round::new(Epoch::new(epoch), View::new(9));
        let proposal = Proposal::new(round, View::new(8), digest_of(&bundle.id()));
        let votes: Vec<_> = voters
            .iter()
            .map(|key| Finalize::sign(&committee.signer(key).unwrap(), proposal.clone()).unwrap())
            .collect();
        let scheme = committee.verifier();
        let votes = NonEmpty::try_new(votes.into_iter()).unwrap();
        Finalization::from_owned_finalizes(&scheme, votes, &Sequential).unwrap().encode()
    }

    fn verifier(validators: &[ValidatorKey]) -> CertificateVerifier {
        CertificateVerifier::new(NETWORK, Id::ZERO, &public(validators), randomness()).unwrap()
    }

    #[test]
    fn a_certificate_of_a_quorum_is_accepted_and_any_other_is_refused_with_the_reason() {
        let all = keys(1, 4);
        let verifier = verifier(&all);
        let bundle_5 = bundle(5);
        let good = certificate(NETWORK, &all[..3], &all, 0, &bundle_5);
        verifier.verify(&bundle_5, &good).unwrap();
        let every = certificate(NETWORK, &all, &all, 0, &bundle_5);
        verifier.verify(&bundle_5, &every).unwrap();

        let error = |proof: &[u8]| verifier.verify(&bundle_5, proof).unwrap_err();
        for garbage in [&b""[..], b"garbage", &good[..good.len() - 1], &[0xff; 300]] {
            assert!(matches!(error(garbage), CertificateError::Encoding(_)), "{garbage:?}");
        }
        let longer = [&good[..], b"\0"].concat();
        assert!(matches!(error(&longer), CertificateError::Encoding(_)));
        let other = certificate(NETWORK, &all, &all, 0, &bundle(6));
        assert_eq!(error(&other), CertificateError::OtherBundle(bundle(6).id()));
        let other_network = certificate(NETWORK + 1, &all, &all, 0, &bundle_5);
        assert_eq!(error(&other_network), CertificateError::Votes);
        let strangers = keys(11, 4);
        let of_strangers = certificate(NETWORK, &strangers, &strangers, 0, &bundle_5);
        assert_eq!(error(&of_strangers), CertificateError::Votes);
        let later = certificate(NETWORK, &all, &all, 1, &bundle_5);
        assert_eq!(error(&later), CertificateError::UnknownEpoch { found: 1, known: 0 });
        let public: Vec<_> = all.iter().map(ValidatorKey::public_key).collect();
        verifier.add_committee(100, 1, &public).unwrap();
        assert_eq!(error(&later), CertificateError::OtherEpoch { found: 1, expected: 0 });
        // One signature is false.
        let mut tampered = good.to_vec();
        let last = tampered.len() - 1;
        tampered[last] ^= 1;
        assert_eq!(error(&tampered), CertificateError::Votes);
        // One voter of four is a quorum of one.
        let one = certificate(NETWORK, &all[..1], &all[..1], 0, &bundle_5);
        let refused = error(&one);
        assert!(
            matches!(refused, CertificateError::TooFewVotes { votes: 1, needed: 3 }),
            "{refused}"
        );
    }

    /// docs/protocol/validators.md, "Certificates".
    #[test]
    fn a_certificate_has_the_documented_form() {
        let all = keys(1, 4);
        let bundle = bundle(5);
        let bytes = certificate(NETWORK, &all[..3], &all, 0, &bundle);
        let mut sorted: Vec<_> = all.iter().map(|key| (key.public_key(), key)).collect();
        sorted.sort_unstable_by_key(|(public, _)| *public);
        let votes = all[..3].iter().map(ValidatorKey::public_key).collect::<Vec<_>>();
        let (mut signers, mut signatures) = (0, Vec::new());
        let proposal = [&[0, 9, 8][..], bundle.id().as_bytes()].concat();
        let namespace = [b"esker-bft-0", &NETWORK.to_be_bytes()[..], Id::ZERO.as_bytes()].concat();
        for (index, (public, key)) in sorted.iter().enumerate() {
            if votes.contains(public) {
                signers |= 1 << index;
                let namespace = [&namespace[..], b"_FINALIZE"].concat();
                signatures
                    .extend_from_slice(&key.to_library().sign(&namespace, &proposal).encode());
            }
        }
        let rest = [&4_u64.to_be_bytes()[..], &[signers, 3], &signatures].concat();
        assert_eq!(hex::encode(bytes), hex::encode([proposal, rest].concat()));
    }

    #[test]
    fn a_certificate_with_any_byte_changed_or_missing_is_refused() {
        let all = keys(1, 4);
        let (verifier, bundle) = (verifier(&all), bundle(5));
        let good = certificate(NETWORK, &all[..3], &all, 0, &bundle).to_vec();
        verifier.verify(&bundle, &good).unwrap();
        for index in 0..good.len() {
            assert!(verifier.verify(&bundle, &good[..index]).is_err(), "{index} bytes");
            for change in [1, 0x80, 0xff] {
                let mut bytes = good.clone();
                bytes[index] ^= change;
                assert!(verifier.verify(&bundle, &bytes).is_err(), "byte {index} ^ {change}");
            }
        }
    }

    #[test]
    fn the_first_false_certificate_of_several_is_named() {
        let all = keys(1, 4);
        let verifier = verifier(&all);
        let bundles: Vec<_> = (1..=20).map(bundle).collect();
        let mut proofs: Vec<_> =
            bundles.iter().map(|bundle| certificate(NETWORK, &all[1..], &all, 0, bundle)).collect();
        let check = |proofs: &[Bytes]| {
            let proven: Vec<_> =
                bundles.iter().zip(proofs).map(|(bundle, proof)| (bundle, &proof[..])).collect();
            verifier.verify_all(&proven)
        };
        check(&proofs).unwrap();
        proofs[17] = certificate(NETWORK + 1, &all, &all, 0, &bundles[17]);
        assert_eq!(check(&proofs).unwrap_err(), (17, CertificateError::Votes));
        proofs[12] = proofs[11].clone();
        let other = CertificateError::OtherBundle(bundles[11].id());
        assert_eq!(check(&proofs).unwrap_err(), (12, other));
        proofs[3] = certificate(NETWORK + 1, &all, &all, 0, &bundles[3]);
        assert_eq!(check(&proofs).unwrap_err(), (3, CertificateError::Votes));
        verifier.verify_all(&[]).unwrap();
    }

    #[test]
    fn other_validators_decide_from_their_height_on() {
        let (first, second) = (keys(1, 4), keys(3, 5));
        let verifier = verifier(&first);
        let (before, from) = (bundle(9), bundle(10));
        let proofs = [
            certificate(NETWORK, &first[..3], &first, 0, &before),
            certificate(NETWORK, &second[..4], &second, 1, &from),
        ];
        let unknown = CertificateError::UnknownEpoch { found: 1, known: 0 };
        let of_four = certificate(NETWORK, &second[..4], &second[..4], 1, &from);
        for proof in [&proofs[1], &of_four] {
            assert_eq!(verifier.verify(&from, proof).unwrap_err(), unknown);
        }
        verifier.add_committee(10, 1, &public(&second)).unwrap();
        verifier.add_committee(10, 1, &public(&second)).unwrap();
        verifier.verify_all(&[(&before, &proofs[0]), (&from, &proofs[1])]).unwrap();
        let of_first = certificate(NETWORK, &first, &first, 0, &from);
        let expected = CertificateError::OtherEpoch { found: 0, expected: 1 };
        assert_eq!(verifier.verify(&from, &of_first).unwrap_err(), expected);
        for (height, epoch) in [(10, 2), (9, 2), (11, 1), (11, 0)] {
            let error = verifier.add_committee(height, epoch, &public(&second)).unwrap_err();
            assert!(matches!(error, CommitteeError::Order { .. }), "{height} {epoch}: {error}");
        }
        let error = verifier.add_committee(11, 2, &[]).unwrap_err();
        assert!(matches!(error, CommitteeError::Members(_)), "{error}");
    }
}
