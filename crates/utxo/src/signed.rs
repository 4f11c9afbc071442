//! Signed transactions: immutable, shared, with everything that is derived from them computed once.

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use esker_primitives::codec::{self, CodecError, Decode, Encode, Reader, VERSION_LEN, Writer};
use esker_primitives::hash::sha256;
use esker_primitives::ids::{Id, ShortId, TxId};
use esker_primitives::keys::{PrivateKey, PublicKey, Signature, SignatureError};

use crate::credential::CredentialSlot;
use crate::fx::{FxKind, Signers, Witness};
use crate::keychain::Keychain;
use crate::utxo::Utxo;

/// An unsigned transaction of a chain.
pub trait Unsigned: Encode + Decode + fmt::Debug {
    /// The type of a credential slot.
    type Slot: Encode + Decode + fmt::Debug + From<CredentialSlot>;

    /// The slot as the feature extensions know it; none if it holds what no extension knows.
    fn shared(slot: &Self::Slot) -> Option<&CredentialSlot>;
}

/// An unsigned transaction that produces UTXOs.
pub trait ProducesUtxos: Unsigned {
    /// UTXOs that join this chain's set once the transaction, named `id`, is accepted, in the order of their
    /// indices.
    fn produced_utxos(&self, id: TxId) -> impl Iterator<Item = Utxo>;

    /// UTXOs that join shared memory once the transaction, named `id`, is accepted, in the order of their indices.
    fn exported_utxos(&self, id: TxId) -> impl Iterator<Item = Utxo>;
}

/// A signed transaction. Cloning shares it, with the signers recovered so far.
pub struct SignedTx<U: Unsigned>(Arc<Inner<U>>);

struct Inner<U: Unsigned> {
    unsigned: U,
    credentials: Vec<U::Slot>,
    bytes: Bytes,
    /// How much of `bytes` is signed.
    unsigned_len: usize,
    id: TxId,
    signing_hash: OnceLock<[u8; 32]>,
    /// Signers by slot and signature, each recovered on the first request.
    signers: Box<[Box<[Cell]>]>,
}

/// The signer of a signature, recovered on the first request.
type Cell = OnceLock<Result<Signer, SignatureError>>;

#[derive(Clone, Copy)]
struct Signer {
    key: PublicKey,
    address: ShortId,
}

impl<U: Unsigned> SignedTx<U> {
    /// Decodes a transaction, with its version prefix, of at most [`codec::MAX_SIZE`] bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, CodecError> {
        Self::from_versioned_bytes(bytes, codec::MAX_SIZE)
    }

    /// Decodes a transaction that this node stored or configured: one of the genesis may be longer than
    /// what the codec takes from outside.
    pub fn parse_stored(bytes: &[u8]) -> Result<Self, CodecError> {
        Self::from_versioned_bytes(bytes, codec::MAX_GENESIS_SIZE)
    }

    /// Puts a transaction together.
    pub fn new(unsigned: U, credentials: Vec<U::Slot>) -> Self {
        let mut w = Writer::new();
        w.u16(codec::VERSION);
        unsigned.encode(&mut w);
        let unsigned_len = w.as_slice().len();
        w.values(&credentials);
        Self::assemble(unsigned, credentials, Bytes::from(w.into_vec()), unsigned_len)
    }

    /// Signs a transaction: one credential for each entry, of that extension and by those keys in their order.
    pub fn sign(unsigned: U, signers: &[(FxKind, Vec<&PrivateKey>)]) -> Self {
        let hash = sha256(&unsigned.to_versioned_bytes());
        let slot = |(fx, keys): &(FxKind, Vec<&PrivateKey>)| {
            CredentialSlot::new(*fx, keys.iter().map(|key| key.sign_hash(&hash)).collect()).into()
        };
        let credentials = signers.iter().map(slot).collect();
        Self::new(unsigned, credentials)
    }

    /// Signs a transaction by a keychain: one credential for each entry, of that extension and of those addresses in their
    /// order. An address that the keychain lacks has no signature.
    pub fn sign_by(unsigned: U, keys: &Keychain, signers: &[(FxKind, Vec<ShortId>)]) -> Self {
        let hash = sha256(&unsigned.to_versioned_bytes());
        let slot = |(fx, who): &(FxKind, Vec<ShortId>)| {
            let signatures = who.iter().filter_map(|address| keys.sign(address, &hash));
            CredentialSlot::new(*fx, signatures.collect()).into()
        };
        let credentials = signers.iter().map(slot).collect();
        Self::new(unsigned, credentials)
    }

    /// All signatures, in the order of the slots.
    pub fn all_signatures(&self) -> impl Iterator<Item = &Signature> {
        self.0.credentials.iter().flat_map(signatures::<U>)
    }

    fn assemble(unsigned: U, credentials: Vec<U::Slot>, bytes: Bytes, unsigned_len: usize) -> Self {
        let cells = |slot: &U::Slot| -> Box<[_]> {
            signatures::<U>(slot).iter().map(|_| OnceLock::new()).collect()
        };
        let signers = credentials.iter().map(cells).collect();
        let id = Id::sha256(&bytes);
        let signing_hash = OnceLock::new();
        Self(Arc::new(Inner {
            unsigned,
            credentials,
            bytes,
            unsigned_len,
            id,
            signing_hash,
            signers,
        }))
    }

    /// The part that is signed.
    pub fn unsigned(&self) -> &U {
        &self.0.unsigned
    }

    /// Credentials, in the order of what they authorise.
    pub fn credentials(&self) -> &[U::Slot] {
        &self.0.credentials
    }

    /// Encoded form, with its version prefix.
    pub fn bytes(&self) -> &Bytes {
        &self.0.bytes
    }

    /// Encoded form without credentials, with its version prefix: what is signed.
    pub fn unsigned_bytes(&self) -> &[u8] {
        self.0.bytes.get(..self.0.unsigned_len).unwrap_or_default()
    }

    /// `sha256` of [`bytes`](Self::bytes).
    pub fn id(&self) -> TxId {
        self.0.id
    }

    /// `sha256` of [`unsigned_bytes`](Self::unsigned_bytes).
    pub fn signing_hash(&self) -> &[u8; 32] {
        self.0.signing_hash.get_or_init(|| sha256(self.unsigned_bytes()))
    }

    /// The credential in that slot together with its signers, as the extensions' rules ask for it; none if the
    /// slot holds what no extension knows.
    pub fn witness(&self, slot: usize) -> Option<Witness<'_>> {
        let credential = U::shared(self.0.credentials.get(slot)?)?;
        Some(Witness { credential, slot, signers: self, allows_impersonation: false })
    }

    /// The key that made signature `index` of the credential in slot `slot`.
    pub fn signing_key(&self, slot: usize, index: usize) -> Result<PublicKey, SignatureError> {
        Ok(self.recovered(slot, index)?.key)
    }

    /// Each signature is recovered once, however often and from however many threads it is requested.
    fn recovered(&self, slot: usize, index: usize) -> Result<Signer, SignatureError> {
        let signatures = self.0.credentials.get(slot).map(signatures::<U>);
        let signature = signatures.and_then(|signatures| signatures.get(index));
        let cell = self.0.signers.get(slot).and_then(|cells| cells.get(index));
        let (Some(signature), Some(cell)) = (signature, cell) else {
            return Err(SignatureError::Invalid);
        };
        *cell.get_or_init(|| {
            let key = signature.recover(self.signing_hash())?;
            Ok(Signer { key, address: key.address() })
        })
    }
}

/// A slot's signatures; none if it holds no credential.
fn signatures<U: Unsigned>(slot: &U::Slot) -> &[Signature] {
    U::shared(slot).map_or(&[], CredentialSlot::signatures)
}

impl<U: ProducesUtxos> SignedTx<U> {
    /// UTXOs that join this chain's set, in the order of their indices.
    pub fn produced_utxos(&self) -> impl Iterator<Item = Utxo> {
        self.0.unsigned.produced_utxos(self.0.id)
    }

    /// UTXOs that join shared memory, in the order of their indices.
    pub fn exported_utxos(&self) -> impl Iterator<Item = Utxo> {
        self.0.unsigned.exported_utxos(self.0.id)
    }
}

/// Answers from the transaction's cache.
impl<U: Unsigned> Signers for SignedTx<U> {
    fn signer(&self, slot: usize, index: usize) -> Result<ShortId, SignatureError> {
        Ok(self.recovered(slot, index)?.address)
    }
}

impl<U: Unsigned> Clone for SignedTx<U> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<U: Unsigned> PartialEq for SignedTx<U> {
    fn eq(&self, other: &Self) -> bool {
        self.0.bytes == other.0.bytes
    }
}

impl<U: Unsigned> Eq for SignedTx<U> {}

impl<U: Unsigned> fmt::Debug for SignedTx<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignedTx")
            .field("id", &self.0.id)
            .field("unsigned", &self.0.unsigned)
            .field("credentials", &self.0.credentials)
            .finish_non_exhaustive()
    }
}

/// The form without version, in which transactions stand in a block.
impl<U: Unsigned> Encode for SignedTx<U> {
    fn encode(&self, w: &mut Writer) {
        w.fixed(self.0.bytes.get(VERSION_LEN..).unwrap_or_default());
    }
}

impl<U: Unsigned> Decode for SignedTx<U> {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        let start = r.position();
        let unsigned = U::decode(r)?;
        let unsigned_len = r.since(start).len().saturating_add(VERSION_LEN);
        let credentials = r.values()?;
        let fields = r.since(start);
        let mut bytes = Vec::with_capacity(fields.len().saturating_add(VERSION_LEN));
        bytes.extend_from_slice(&codec::VERSION.to_be_bytes());
        bytes.extend_from_slice(fields);
        Ok(Self::assemble(unsigned, credentials, Bytes::from(bytes), unsigned_len))
    }
}
