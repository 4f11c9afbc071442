//! A change of the validators, and its form with signatures.
//!
//! A change is a version (1 byte, 0), the number of the new epoch (u64), its first height (u64), a count (u16), and for each
//! validator, in the order of their keys, the key (32 bytes), and the address as text with its length (u16). A signed
//! change is a change with its length (u32), a count (u16), and for each signature, in the order of the keys, the key and
//! the signature (64 bytes). Numbers are big-endian.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use esker_primitives::Id;
use esker_primitives::codec::{CodecError, Reader, Writer};
use thiserror::Error;

use crate::address::ValidatorAddress;
use crate::keys::ValidatorPublicKey;
use crate::settings::MAX_VALIDATORS;

/// Version of the encoding.
const VERSION: u8 = 0;

/// Most bytes of a change: each address is a name of at most 253 letters and a port.
pub const MAX_CHANGE: usize = 19 + MAX_VALIDATORS * (32 + 2 + 259);

/// Most bytes of a signed change.
pub const MAX_SIGNED_CHANGE: usize = 4 + MAX_CHANGE + 2 + MAX_VALIDATORS * (32 + 64);

/// The reason why bytes are not a change, or why a change does not count.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChangeError {
    /// The bytes are not a change.
    #[error("not a change of the validators: {0}")]
    Form(&'static str),
    /// The new set is empty or too large.
    #[error("{0} validators: a network has 1 to {MAX_VALIDATORS}")]
    Size(usize),
    /// A key occurs twice.
    #[error("{0} is there twice")]
    KeyTwice(ValidatorPublicKey),
    /// An address occurs twice.
    #[error("{0} is the address of two validators")]
    AddressTwice(ValidatorAddress),
    /// The change does not follow the last known one.
    #[error("the change begins epoch {found}, but epoch {expected} is the next one")]
    Epoch {
        /// The epoch after the last known one.
        expected: u64,
        /// The epoch of the change.
        found: u64,
    },
    /// It would end an epoch before its second bundle.
    #[error("the change is at height {found}; epoch {epoch} can't end before height {least}")]
    Height {
        /// The change's height.
        found: u64,
        /// The epoch that it ends.
        epoch: u64,
        /// The least height.
        least: u64,
    },
    /// Too few of the current validators have signed.
    #[error("{found} of the current validators have signed; {needed} are needed")]
    TooFew {
        /// Signatures of current validators.
        found: usize,
        /// A quorum.
        needed: usize,
    },
    /// A signature is wrong.
    #[error("the signature of {0} is wrong")]
    Signature(ValidatorPublicKey),
    /// The signer is not one of the current validators.
    #[error("{0} has signed, and is no validator")]
    Stranger(ValidatorPublicKey),
    /// The list of changes is full.
    #[error("a network has at most {0} changes of its validators")]
    TooMany(usize),
}

impl From<CodecError> for ChangeError {
    fn from(error: CodecError) -> Self {
        Self::Form(match error {
            CodecError::TrailingBytes { .. } => "more bytes than it says",
            _ => "cut off",
        })
    }
}

/// A signature of a validator.
pub type Signature = [u8; 64];

/// The signatures of a change by key.
pub type Signatures = BTreeMap<ValidatorPublicKey, Signature>;

/// A change: from a height on, other validators decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetChange {
    /// Number of the epoch that it begins. The validators of the network file are those of epoch 0.
    pub epoch: u64,
    /// The first height that the new validators decide.
    pub first_height: u64,
    /// In the order of their keys.
    members: Vec<(ValidatorPublicKey, ValidatorAddress)>,
}

impl SetChange {
    /// A change to these validators, in any order.
    ///
    /// # Errors
    /// There are none, more than 100, or a key or an address twice.
    pub fn new(
        epoch: u64,
        first_height: u64,
        mut members: Vec<(ValidatorPublicKey, ValidatorAddress)>,
    ) -> Result<Self, ChangeError> {
        if members.is_empty() || members.len() > MAX_VALIDATORS {
            return Err(ChangeError::Size(members.len()));
        }
        members.sort_by_key(|(key, _)| *key);
        if let Some(pair) = members.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(ChangeError::KeyTwice(pair[0].0));
        }
        let mut addresses = BTreeSet::new();
        if let Some((_, address)) =
            members.iter().find(|(_, address)| !addresses.insert(address.to_string()))
        {
            return Err(ChangeError::AddressTwice(address.clone()));
        }
        Ok(Self { epoch, first_height, members })
    }

    /// The new validators, in the order of their keys.
    #[must_use]
    pub fn members(&self) -> &[(ValidatorPublicKey, ValidatorAddress)] {
        &self.members
    }

    /// The hash of the encoding, which names it.
    #[must_use]
    pub fn id(&self) -> Id {
        Id::sha256(&self.to_bytes())
    }

    /// The encoding.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::new();
        out.u8(VERSION);
        out.u64(self.epoch);
        out.u64(self.first_height);
        put_count(&mut out, self.members.len());
        for (key, address) in &self.members {
            out.fixed(key.as_bytes());
            out.string_bytes(address.to_string().as_bytes());
        }
        out.into_vec()
    }

    /// The change with this encoding.
    ///
    /// # Errors
    /// The bytes are no change in the one form that a change has.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ChangeError> {
        let mut reader = Reader::new(bytes);
        if reader.u8()? != VERSION {
            return Err(ChangeError::Form("an unknown version"));
        }
        let (epoch, first_height) = (reader.u64()?, reader.u64()?);
        let count = usize::from(reader.u16()?);
        if count > MAX_VALIDATORS {
            return Err(ChangeError::Size(count));
        }
        let mut members = Vec::with_capacity(count);
        for _ in 0..count {
            let key = read_key(&mut reader)?;
            let address = std::str::from_utf8(reader.string_bytes()?);
            let address = address.ok().and_then(|text| text.parse().ok());
            members.push((key, address.ok_or(ChangeError::Form("an address is none"))?));
        }
        reader.finish()?;
        let change = Self::new(epoch, first_height, members)?;
        match change.to_bytes() == bytes {
            true => Ok(change),
            false => Err(ChangeError::Form("not in the canonical form")),
        }
    }
}

/// A change with the promises of a quorum of the validators before it. It ends their epoch by itself. A quorum of
/// votes for a bundle at its height or above would include a validator that promised not to vote for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedChange {
    /// The change.
    pub change: SetChange,
    /// Signatures of validators that promise it.
    pub promises: Signatures,
}

impl SignedChange {
    /// The encoding.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::new();
        out.bytes(&self.change.to_bytes());
        put_signatures(&mut out, &self.promises);
        out.into_vec()
    }

    /// The signed change with this encoding. Its signatures are not checked.
    ///
    /// # Errors
    /// The bytes are no signed change.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ChangeError> {
        let mut reader = Reader::new(bytes);
        let change = SetChange::from_bytes(reader.bytes()?)?;
        let promises = read_signatures(&mut reader)?;
        reader.finish()?;
        Ok(Self { change, promises })
    }
}

/// A change whose place and signatures were verified, with the document that has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedChange {
    change: SetChange,
    document: Bytes,
}

impl VerifiedChange {
    /// For the implementation of a consensus library, which has verified the document of this change.
    #[must_use]
    pub const fn new(change: SetChange, document: Bytes) -> Self {
        Self { change, document }
    }

    /// The change.
    #[must_use]
    pub const fn change(&self) -> &SetChange {
        &self.change
    }

    /// The change, and its document as it is stored and sent.
    #[must_use]
    pub fn into_parts(self) -> (SetChange, Bytes) {
        (self.change, self.document)
    }
}

fn put_count(out: &mut Writer, count: usize) {
    out.u16(u16::try_from(count).expect("a network has at most MAX_VALIDATORS"));
}

/// Writes a count (u16), and each key with its signature.
pub fn put_signatures(out: &mut Writer, signatures: &Signatures) {
    put_count(out, signatures.len());
    for (key, signature) in signatures {
        out.fixed(key.as_bytes());
        out.fixed(signature);
    }
}

/// Reads the output of [`put_signatures`].
///
/// # Errors
/// There are too many, they are out of order, or a key is none.
pub fn read_signatures(reader: &mut Reader<'_>) -> Result<Signatures, ChangeError> {
    let count = usize::from(reader.u16()?);
    if count > MAX_VALIDATORS {
        return Err(ChangeError::Form("too many signatures"));
    }
    let mut signatures = Signatures::new();
    for _ in 0..count {
        let key = read_key(reader)?;
        if signatures.last_key_value().is_some_and(|(last, _)| *last >= key) {
            return Err(ChangeError::Form("its signatures are out of order"));
        }
        signatures.insert(key, reader.fixed()?);
    }
    Ok(signatures)
}

fn read_key(reader: &mut Reader<'_>) -> Result<ValidatorPublicKey, ChangeError> {
    let bytes = reader.fixed()?;
    ValidatorPublicKey::from_bytes(bytes).map_err(|_| ChangeError::Form("a key is none"))
}
