//! Signatures of changes of the validators.

use std::collections::BTreeSet;

use commonware_codec::{Copying, DecodeExt, Encode};
use commonware_cryptography::{Signer as _, Verifier as _, ed25519};
use esker_chain::BundleId;
use esker_validators::{
    ChangeError, SetChange, Signature, SignedChange, ValidatorKey, ValidatorPublicKey, quorum,
};

use crate::library::ToLibrary as _;

/// The statement that a signature makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    /// The operator wants the change.
    Approval,
    /// In the epoch before it the signer votes for no bundle at its height or above.
    Promise,
}

/// The network in which signatures count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Domain(Vec<u8>);

impl Domain {
    pub(super) fn new(network: u32, genesis: BundleId) -> Self {
        Self(
            [b"esker-bft-change-0".as_slice(), &network.to_be_bytes(), genesis.as_bytes()].concat(),
        )
    }
}

/// The bytes that a signature covers.
fn message(change: &SetChange, statement: Statement) -> Vec<u8> {
    let statement = match statement {
        Statement::Approval => 0,
        Statement::Promise => 1,
    };
    [vec![statement], change.to_bytes()].concat()
}

/// Signs a change.
pub(super) fn sign(
    change: &SetChange,
    domain: &Domain,
    statement: Statement,
    key: &ValidatorKey,
) -> Signature {
    let signature = key.to_library().sign(&domain.0, &message(change, statement));
    let mut bytes = [0; 64];
    bytes.copy_from_slice(&signature.encode());
    bytes
}

/// Whether a validator has signed a change.
pub(super) fn is_signed(
    change: &SetChange,
    domain: &Domain,
    statement: Statement,
    key: &ValidatorPublicKey,
    signature: &Signature,
) -> bool {
    ed25519::Signature::decode(Copying(signature.as_slice())).is_ok_and(|signature| {
        key.to_library().verify(&domain.0, &message(change, statement), &signature)
    })
}

/// Checks the signatures of a change against the validators before it.
pub(super) fn verify(
    signed: &SignedChange,
    domain: &Domain,
    current: &BTreeSet<ValidatorPublicKey>,
) -> Result<(), ChangeError> {
    let (found, needed) = (signed.promises.len(), quorum(current.len()));
    if let Some(stranger) = signed.promises.keys().find(|key| !current.contains(*key)) {
        return Err(ChangeError::Stranger(*stranger));
    }
    if found < needed {
        return Err(ChangeError::TooFew { found, needed });
    }
    for (key, signature) in &signed.promises {
        if !is_signed(&signed.change, domain, Statement::Promise, key, signature) {
            return Err(ChangeError::Signature(*key));
        }
    }
    Ok(())
}
