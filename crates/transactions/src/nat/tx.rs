//! The signed transaction: what all signed transactions have, its gas and fee, and what excludes others.

use std::collections::BTreeSet;
use std::sync::Arc;

use alloy_primitives::{Address, U256};
use bytes::Bytes;
use esker_primitives::amount::NanoNative;
use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_primitives::ids::{AssetId, Id, ShortId, TxId};
use esker_primitives::keys::{PrivateKey, SignatureError};
use esker_utxo::{CredentialSlot, FxKind, Keychain, SignedTx, Unsigned, Witness};

use super::{
    AmountError, AtomicCredential, BASE_GAS, FeeError, GAS_PER_BYTE, UnsignedAtomicTx, dynamic_fee,
};

/// A signed transaction. Cloning shares it, with the signers recovered so far.
#[derive(Clone)]
pub struct AtomicTx {
    signed: SignedTx<UnsignedAtomicTx>,
    conflict_keys: Arc<BTreeSet<Id>>,
}

impl Unsigned for UnsignedAtomicTx {
    type Slot = AtomicCredential;

    fn shared(slot: &AtomicCredential) -> Option<&CredentialSlot> {
        slot.shared()
    }
}

impl AtomicTx {
    /// Decodes a transaction, with its version prefix, of at most
    /// [`codec::MAX_SIZE`](esker_primitives::codec::MAX_SIZE) bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, CodecError> {
        SignedTx::parse(bytes).map(Self::from)
    }

    /// Puts a transaction together.
    pub fn new(unsigned: UnsignedAtomicTx, credentials: Vec<AtomicCredential>) -> Self {
        SignedTx::new(unsigned, credentials).into()
    }

    /// Signs a transaction: one credential for each entry, by those keys in their order.
    pub fn sign(unsigned: UnsignedAtomicTx, signers: &[Vec<&PrivateKey>]) -> Self {
        let signers = signers.iter().map(|keys| (FxKind::Secp256k1, keys.clone()));
        SignedTx::sign(unsigned, &signers.collect::<Vec<_>>()).into()
    }

    /// Signs a transaction by a keychain: one credential for each entry, of those addresses in their order.
    pub fn sign_by(
        unsigned: UnsignedAtomicTx,
        keys: &Keychain,
        signers: Vec<Vec<ShortId>>,
    ) -> Self {
        let signers: Vec<_> = signers.into_iter().map(|who| (FxKind::Secp256k1, who)).collect();
        SignedTx::sign_by(unsigned, keys, &signers).into()
    }

    /// The part that it has in common with the transactions of other chains.
    pub fn signed(&self) -> &SignedTx<UnsignedAtomicTx> {
        &self.signed
    }

    /// The part that is signed.
    pub fn unsigned(&self) -> &UnsignedAtomicTx {
        self.signed.unsigned()
    }

    /// Credentials, one for each input.
    pub fn credentials(&self) -> &[AtomicCredential] {
        self.signed.credentials()
    }

    /// Encoded form, with its version prefix.
    pub fn bytes(&self) -> &Bytes {
        self.signed.bytes()
    }

    /// `sha256` of [`bytes`](Self::bytes).
    pub fn id(&self) -> TxId {
        self.signed.id()
    }

    /// The keys that two transactions can't both consume.
    pub fn conflict_keys(&self) -> &BTreeSet<Id> {
        &self.conflict_keys
    }

    /// Gas as it was before Apricot 5: bytes that are signed, and signatures.
    pub fn gas_without_base(&self) -> u64 {
        let bytes = (self.signed.unsigned_bytes().len() as u64).saturating_mul(GAS_PER_BYTE);
        bytes.saturating_add(self.unsigned().signature_gas())
    }

    /// Gas.
    pub fn gas(&self) -> u64 {
        self.gas_without_base().saturating_add(BASE_GAS)
    }

    /// The price of its gas at `base_fee`, wei for each gas.
    pub fn fee(&self, base_fee: U256) -> Result<NanoNative, FeeError> {
        dynamic_fee(self.gas(), base_fee)
    }

    /// The amount of an asset that it consumes and does not produce again.
    pub fn burned(&self, asset_id: &AssetId) -> Result<u64, AmountError> {
        self.unsigned().burned(asset_id)
    }

    /// Billionths a gas that are burned of `native`, rounded down: the order of the pool.
    pub fn gas_price(&self, native: &AssetId) -> Result<u64, AmountError> {
        Ok(self.burned(native)?.checked_div(self.gas()).unwrap_or_default())
    }

    /// The credential in that slot together with its signers; see [`SignedTx::witness`].
    pub fn witness(&self, slot: usize) -> Option<Witness<'_>> {
        self.signed.witness(slot)
    }

    /// The account whose key made a signature.
    pub fn evm_signer(&self, slot: usize, index: usize) -> Result<Address, SignatureError> {
        let key = self.signed.signing_key(slot, index)?;
        Ok(Address::from_raw_public_key(&key.to_uncompressed()[1..]))
    }
}

impl From<SignedTx<UnsignedAtomicTx>> for AtomicTx {
    fn from(signed: SignedTx<UnsignedAtomicTx>) -> Self {
        let conflict_keys = Arc::new(signed.unsigned().conflict_keys());
        Self { signed, conflict_keys }
    }
}

impl PartialEq for AtomicTx {
    fn eq(&self, other: &Self) -> bool {
        self.signed == other.signed
    }
}

impl Eq for AtomicTx {}

impl std::fmt::Debug for AtomicTx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AtomicTx").field(&self.signed).finish()
    }
}

/// The form without version, in which transactions stand in ext data.
impl Encode for AtomicTx {
    fn encode(&self, w: &mut Writer) {
        self.signed.encode(w);
    }
}

impl Decode for AtomicTx {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        SignedTx::decode(r).map(Self::from)
    }
}
