//! A pooled transaction.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use alloy_consensus::Transaction as _;
use alloy_eips::eip2718::Encodable2718;
use alloy_eips::eip7702::SignedAuthorization;
use alloy_primitives::{Address, B256, U256, U512};
use esker_evm_execution::executor::recover_signer;
use esker_evm_execution::rules::ExecutionRules;
use esker_evm_state::types::Transaction;

use super::sidecar::{self, BlobError, Sidecar};

/// Bytes of a slot, the unit of the pool's limits.
const SLOT_SIZE: usize = 32 * 1024;

/// Percent by which the replacement of a blob transaction must pay more, at least. It is geth's.
const BLOB_PRICE_BUMP: u64 = 100;

/// A signed transaction with its recovered sender. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PooledTx(Arc<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    /// In the form of blocks.
    tx: Transaction,
    sidecar: Option<Sidecar>,
    /// Accounts that authorize delegations in it, once they are recovered.
    authorities: OnceLock<Vec<Address>>,
    sender: Address,
    cost: U256,
    size: usize,
    /// Number in the order of arrival in this process.
    arrival: u64,
    /// Time of arrival, Unix ms.
    arrived_ms: u64,
}

/// Lowest price of a replacement, wei a gas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplacementPrice {
    /// Lowest fee cap.
    pub fee_cap: u128,
    /// Lowest tip cap.
    pub tip_cap: u128,
}

impl PooledTx {
    /// Wraps a transaction with its recovered sender. `arrival` orders transactions that pay the same.
    pub fn new(tx: Transaction, sender: Address, arrival: u64, arrived_ms: u64) -> Self {
        let size = tx.encode_2718_len();
        let (tx, sidecar) = sidecar::split(tx);
        let gas = U256::from(tx.gas_limit());
        let fee = gas.saturating_mul(U256::from(tx.max_fee_per_gas()));
        let cost = fee.saturating_add(blob_fee(&tx)).saturating_add(tx.value());
        let authorities = OnceLock::new();
        Self(Arc::new(Inner { tx, sidecar, authorities, sender, cost, size, arrival, arrived_ms }))
    }

    /// Checks the blobs, if it is a blob transaction, except for their proofs.
    pub(crate) fn check_blobs(&self, rules: &ExecutionRules) -> Result<(), BlobError> {
        let Transaction::Eip4844(signed) = self.tx() else { return Ok(()) };
        sidecar::check(signed.tx().tx(), self.sidecar(), rules)
    }

    /// Checks the proofs of its blobs, if it has any. Its sidecar gets the proofs that `rules` want.
    pub(crate) fn with_checked_proofs(self, rules: &ExecutionRules) -> Result<Self, BlobError> {
        if self.sidecar().is_none() {
            return Ok(self);
        }
        let mut inner = Arc::unwrap_or_clone(self.0);
        if let Some(sidecar) = inner.sidecar.take() {
            let hashes = inner.tx.blob_versioned_hashes().unwrap_or_default();
            let sidecar = sidecar::prove(sidecar, hashes, rules)?;
            // Cell proofs are longer than those that they replace.
            inner.size = sidecar::join(&inner.tx, &sidecar).encode_2718_len();
            inner.sidecar = Some(sidecar);
        }
        Ok(Self(Arc::new(inner)))
    }

    /// The transaction for subscribers, who may hold it for long: without its sidecar.
    pub(super) fn without_sidecar(&self) -> Self {
        if self.0.sidecar.is_none() {
            return self.clone();
        }
        let inner = &*self.0;
        let (tx, authorities) = (inner.tx.clone(), inner.authorities.clone());
        Self(Arc::new(Inner { tx, authorities, sidecar: None, ..*inner }))
    }

    /// Blobs, commitments and proofs of a blob transaction.
    pub fn sidecar(&self) -> Option<&Sidecar> {
        self.0.sidecar.as_ref()
    }

    /// The accounts that authorize delegations in it. The first call recovers their signatures, which is costly.
    pub(crate) fn authorities(&self) -> &[Address] {
        self.0.authorities.get_or_init(|| {
            let signed = self.0.tx.authorization_list().unwrap_or_default();
            signed.iter().filter_map(authority).collect()
        })
    }

    /// Whether it has blobs with proofs to check, or signatures besides the sender's.
    pub(crate) fn has_costly_checks(&self) -> bool {
        self.0.sidecar.is_some() || self.0.tx.authorization_list().is_some()
    }

    /// Number of its blobs.
    pub fn blobs(&self) -> usize {
        self.0.tx.blob_versioned_hashes().map_or(0, <[_]>::len)
    }

    /// The transaction.
    pub fn tx(&self) -> &Transaction {
        &self.0.tx
    }

    /// The transaction as clients send it, which other pools take: with its sidecar, if it has one.
    pub(crate) fn sent_form(&self) -> Cow<'_, Transaction> {
        match &self.0.sidecar {
            Some(sidecar) => Cow::Owned(sidecar::join(&self.0.tx, sidecar)),
            None => Cow::Borrowed(&self.0.tx),
        }
    }

    /// Hash of the transaction.
    pub fn hash(&self) -> B256 {
        *self.0.tx.tx_hash()
    }

    /// The account that signed it.
    pub fn sender(&self) -> Address {
        self.0.sender
    }

    /// Nonce of the transaction.
    pub fn nonce(&self) -> u64 {
        self.0.tx.nonce()
    }

    /// Wei that the sender must have: the whole gas limit at the fee cap, and the value.
    pub fn cost(&self) -> U256 {
        self.0.cost
    }

    /// The cost of the transaction with another value, wei.
    pub fn cost_of(&self, value: U512) -> U512 {
        let fee = U512::from(self.fee_cap()) * U512::from(self.0.tx.gas_limit());
        fee.saturating_add(U512::from(blob_fee(&self.0.tx))).saturating_add(value)
    }

    /// Length in bytes, with its sidecar. The length of a typed transaction does not count the RLP string prefix.
    pub fn size(&self) -> usize {
        self.0.size
    }

    /// Length in a block, bytes.
    pub fn size_in_block(&self) -> usize {
        if self.blobs() > 0 { self.0.tx.encode_2718_len() } else { self.0.size }
    }

    /// Slots that it takes in the pool.
    pub fn slots(&self) -> usize {
        self.0.size.div_ceil(SLOT_SIZE)
    }

    /// Fee cap, wei a gas.
    pub fn fee_cap(&self) -> u128 {
        self.0.tx.max_fee_per_gas()
    }

    /// Tip cap, wei a gas.
    pub fn tip_cap(&self) -> u128 {
        self.0.tx.max_priority_fee_per_gas().unwrap_or_else(|| self.0.tx.max_fee_per_gas())
    }

    /// The tip that it pays above `base_fee`, wei a gas; `None` if it can't pay the base fee.
    pub fn effective_tip(&self, base_fee: u128) -> Option<u128> {
        Some(self.fee_cap().checked_sub(base_fee)?.min(self.tip_cap()))
    }

    /// Number in the order of arrival.
    pub fn arrival(&self) -> u64 {
        self.0.arrival
    }

    /// Time of arrival, Unix ms.
    pub fn arrived_ms(&self) -> u64 {
        self.0.arrived_ms
    }

    /// The lowest price of a transaction that [`Self::replaces`] this one.
    pub fn least_replacement(&self, bump: u64) -> ReplacementPrice {
        let bump = self.bump(bump);
        let least = |old: u128| {
            let threshold = U256::from(old) * U256::from(100 + bump) / U256::from(100);
            threshold.saturating_to::<u128>().max(old.saturating_add(1))
        };
        ReplacementPrice { fee_cap: least(self.fee_cap()), tip_cap: least(self.tip_cap()) }
    }

    /// Whether it may replace a transaction with the same nonce. Fee cap and tip cap must both be at least `bump`
    /// percent higher. Of blob transactions all three caps must be twice as high.
    pub fn replaces(&self, old: &Self, bump: u64) -> bool {
        let bump = self.bump(bump).max(old.bump(bump));
        let enough = |new: u128, old: u128| {
            let threshold = U256::from(old) * U256::from(100 + bump) / U256::from(100);
            new > old && U256::from(new) >= threshold
        };
        let blob_cap = |tx: &Self| tx.0.tx.max_fee_per_blob_gas();
        let pays_blobs = match (blob_cap(self), blob_cap(old)) {
            (Some(new), Some(old)) => enough(new, old),
            (Some(_), None) | (None, _) => true,
        };
        enough(self.fee_cap(), old.fee_cap()) && enough(self.tip_cap(), old.tip_cap()) && pays_blobs
    }

    fn bump(&self, usual: u64) -> u64 {
        if self.blobs() > 0 { usual.max(BLOB_PRICE_BUMP) } else { usual }
    }
}

/// Wei that a transaction pays for its blobs, at most.
fn blob_fee(tx: &Transaction) -> U256 {
    let price = U256::from(tx.max_fee_per_blob_gas().unwrap_or_default());
    U256::from(tx.blob_gas_used().unwrap_or_default()).saturating_mul(price)
}

/// The account that made an authorization.
fn authority(signed: &SignedAuthorization) -> Option<Address> {
    recover_signer(&signed.signature().ok()?, &signed.inner().signature_hash())
}
