//! The signed transaction: immutable, shared, with everything that is derived from it computed once.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use alloy_primitives::{Address, U256};
use bytes::Bytes;
use esker_evm::accounts::address_of_key;
use esker_primitives::amount::NanoNative;
use esker_primitives::codec::{self, CodecError, Decode, Encode, Reader, VERSION_LEN, Writer};
use esker_primitives::hash::sha256;
use esker_primitives::ids::{AssetId, Id, ShortId, TxId};
use esker_primitives::keys::{PrivateKey, PublicKey, Signature, SignatureError};
use esker_utxo::{CredentialSlot, FxKind, Signers, Witness};

use super::{
    AmountError, AtomicCredential, BASE_GAS, FeeError, GAS_PER_BYTE, UnsignedAtomicTx, dynamic_fee,
};

/// A signed transaction. Cloning shares it, with the signers recovered so far.
#[derive(Clone)]
pub struct AtomicTx(Arc<Inner>);

struct Inner {
    unsigned: UnsignedAtomicTx,
    credentials: Vec<AtomicCredential>,
    bytes: Bytes,
    /// How much of `bytes` is signed.
    unsigned_len: usize,
    id: TxId,
    conflict_keys: BTreeSet<Id>,
    signing_hash: OnceLock<[u8; 32]>,
    /// Signers by slot and signature, each recovered when first asked for.
    signers: Box<[Box<[Signer]>]>,
}

/// Who made a signature, once that was asked for.
type Signer = OnceLock<Result<PublicKey, SignatureError>>;

impl AtomicTx {
    /// Decodes a transaction, with its version prefix, of at most [`codec::MAX_SIZE`] bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, CodecError> {
        Self::from_versioned_bytes(bytes, codec::MAX_SIZE)
    }

    /// Puts a transaction together.
    pub fn new(unsigned: UnsignedAtomicTx, credentials: Vec<AtomicCredential>) -> Self {
        let mut w = Writer::new();
        w.u16(codec::VERSION);
        unsigned.encode(&mut w);
        let unsigned_len = w.as_slice().len();
        w.values(&credentials);
        Self::assemble(unsigned, credentials, Bytes::from(w.into_vec()), unsigned_len)
    }

    /// Signs a transaction: one credential for each entry, by those keys in their order.
    pub fn sign(unsigned: UnsignedAtomicTx, signers: &[Vec<&PrivateKey>]) -> Self {
        let hash = sha256(&unsigned.to_versioned_bytes());
        let slot = |keys: &Vec<&PrivateKey>| {
            let signatures = keys.iter().map(|key| key.sign_hash(&hash)).collect();
            AtomicCredential::Shared(CredentialSlot::new(FxKind::Secp256k1, signatures))
        };
        let credentials = signers.iter().map(slot).collect();
        Self::new(unsigned, credentials)
    }

    fn assemble(
        unsigned: UnsignedAtomicTx,
        credentials: Vec<AtomicCredential>,
        bytes: Bytes,
        unsigned_len: usize,
    ) -> Self {
        let cells = |slot: &AtomicCredential| -> Box<[_]> {
            let signatures = slot.credential().map_or(0, |credential| credential.signatures.len());
            (0..signatures).map(|_| OnceLock::new()).collect()
        };
        let signers = credentials.iter().map(cells).collect();
        let id = Id::sha256(&bytes);
        let conflict_keys = unsigned.conflict_keys();
        Self(Arc::new(Inner {
            unsigned,
            credentials,
            bytes,
            unsigned_len,
            id,
            conflict_keys,
            signing_hash: OnceLock::new(),
            signers,
        }))
    }

    /// What is signed.
    pub fn unsigned(&self) -> &UnsignedAtomicTx {
        &self.0.unsigned
    }

    /// Credentials, one for each input.
    pub fn credentials(&self) -> &[AtomicCredential] {
        &self.0.credentials
    }

    /// Encoded form, with its version prefix.
    pub fn bytes(&self) -> &Bytes {
        &self.0.bytes
    }

    /// Encoded form without credentials, with its version prefix: what is signed, and what gas is counted of.
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

    /// What two transactions can't both consume.
    pub fn conflict_keys(&self) -> &BTreeSet<Id> {
        &self.0.conflict_keys
    }

    /// Gas as it was before Apricot 5: bytes and signatures.
    pub fn gas_without_base(&self) -> u64 {
        let bytes = (self.0.unsigned_len as u64).saturating_mul(GAS_PER_BYTE);
        bytes.saturating_add(self.0.unsigned.signature_gas())
    }

    /// Gas.
    pub fn gas(&self) -> u64 {
        self.gas_without_base().saturating_add(BASE_GAS)
    }

    /// What the gas costs at `base_fee`, wei a gas.
    pub fn fee(&self, base_fee: U256) -> Result<NanoNative, FeeError> {
        dynamic_fee(self.gas(), base_fee)
    }

    /// What is consumed of an asset and not produced again.
    pub fn burned(&self, asset_id: &AssetId) -> Result<u64, AmountError> {
        self.0.unsigned.burned(asset_id)
    }

    /// Billionths a gas that are burned of `native`, rounded down: the order of the pool.
    pub fn gas_price(&self, native: &AssetId) -> Result<u64, AmountError> {
        Ok(self.burned(native)?.checked_div(self.gas()).unwrap_or_default())
    }

    /// The credential in that slot together with its signers, as the extensions' rules ask for it; none if the
    /// slot holds what no extension knows.
    pub fn witness(&self, slot: usize) -> Option<Witness<'_>> {
        let credential = self.0.credentials.get(slot)?.shared()?;
        Some(Witness { credential, slot, signers: self })
    }

    /// The account whose key made a signature.
    pub fn evm_signer(&self, slot: usize, index: usize) -> Result<Address, SignatureError> {
        Ok(address_of_key(&self.signing_key(slot, index)?))
    }

    /// Each signature is recovered once, however often and from however many threads it is asked for.
    fn signing_key(&self, slot: usize, index: usize) -> Result<PublicKey, SignatureError> {
        let cell = self.0.signers.get(slot).and_then(|cells| cells.get(index));
        let (Some(signature), Some(cell)) = (self.signature(slot, index), cell) else {
            return Err(SignatureError::Invalid);
        };
        *cell.get_or_init(|| signature.recover(self.signing_hash()))
    }

    fn signature(&self, slot: usize, index: usize) -> Option<&Signature> {
        self.0.credentials.get(slot)?.credential()?.signatures.get(index)
    }
}

impl Signers for AtomicTx {
    fn signer(&self, slot: usize, index: usize) -> Result<ShortId, SignatureError> {
        Ok(self.signing_key(slot, index)?.address())
    }
}

impl PartialEq for AtomicTx {
    fn eq(&self, other: &Self) -> bool {
        self.0.bytes == other.0.bytes
    }
}

impl Eq for AtomicTx {}

impl std::fmt::Debug for AtomicTx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AtomicTx")
            .field("id", &self.0.id)
            .field("unsigned", &self.0.unsigned)
            .field("credentials", &self.0.credentials)
            .finish_non_exhaustive()
    }
}

/// The form without version, in which transactions stand in a block.
impl Encode for AtomicTx {
    fn encode(&self, w: &mut Writer) {
        w.fixed(self.0.bytes.get(VERSION_LEN..).unwrap_or_default());
    }
}

impl Decode for AtomicTx {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        let start = r.position();
        let unsigned = UnsignedAtomicTx::decode(r)?;
        let unsigned_len = r.since(start).len().saturating_add(VERSION_LEN);
        let credentials = r.values()?;
        let fields = r.since(start);
        let mut bytes = Vec::with_capacity(fields.len().saturating_add(VERSION_LEN));
        bytes.extend_from_slice(&codec::VERSION.to_be_bytes());
        bytes.extend_from_slice(fields);
        Ok(Self::assemble(unsigned, credentials, Bytes::from(bytes), unsigned_len))
    }
}
