//! A pooled transaction.

use std::sync::Arc;

use alloy_consensus::Transaction as _;
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, U256, U512};
use esker_evm_state::types::Transaction;

/// Bytes of a slot, the unit of the pool's limits.
const SLOT_SIZE: usize = 32 * 1024;

/// A signed transaction with its recovered sender. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PooledTx(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    tx: Transaction,
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
        let gas = U256::from(tx.gas_limit());
        let cost = gas.saturating_mul(U256::from(tx.max_fee_per_gas())).saturating_add(tx.value());
        let size = tx.encode_2718_len();
        Self(Arc::new(Inner { tx, sender, cost, size, arrival, arrived_ms }))
    }

    /// The transaction.
    pub fn tx(&self) -> &Transaction {
        &self.0.tx
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
        fee.saturating_add(value)
    }

    /// Length in bytes. The length of a typed transaction does not count the RLP string prefix.
    pub fn size(&self) -> usize {
        self.0.size
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
        let least = |old: u128| {
            let threshold = U256::from(old) * U256::from(100 + bump) / U256::from(100);
            threshold.saturating_to::<u128>().max(old.saturating_add(1))
        };
        ReplacementPrice { fee_cap: least(self.fee_cap()), tip_cap: least(self.tip_cap()) }
    }

    /// Whether it may replace a transaction with the same nonce. Fee cap and tip cap must both be at least `bump`
    /// percent higher.
    pub fn replaces(&self, old: &Self, bump: u64) -> bool {
        let enough = |new: u128, old: u128| {
            let threshold = U256::from(old) * U256::from(100 + bump) / U256::from(100);
            new > old && U256::from(new) >= threshold
        };
        enough(self.fee_cap(), old.fee_cap()) && enough(self.tip_cap(), old.tip_cap())
    }
}
