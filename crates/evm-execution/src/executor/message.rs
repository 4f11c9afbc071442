//! What is run: a transaction, or an unsigned call.

use alloy_consensus::Transaction as _;
use alloy_eips::eip2930::AccessList;
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use esker_evm_state::types::Transaction;

use super::impersonated;

/// A transaction without its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who sends it.
    pub from: Address,
    /// The recipient; `None` creates a contract.
    pub to: Option<Address>,
    /// The sender's nonce.
    pub nonce: u64,
    /// Wei that go along.
    pub value: U256,
    /// Gas that may be used.
    pub gas_limit: u64,
    /// Most that a gas may cost, wei.
    pub fee_cap: U256,
    /// Most that a gas may cost above the base fee, wei; equal to `fee_cap` for a plain gas price.
    pub tip_cap: U256,
    /// Call data, or init code.
    pub input: Bytes,
    /// What it will touch.
    pub access_list: AccessList,
    /// Hashes of blobs; `None` for anything but a blob transaction.
    pub blob_hashes: Option<Vec<B256>>,
    /// Most that a blob gas may cost, wei.
    pub blob_fee_cap: U256,
    /// Where it comes from, which decides what is checked.
    pub origin: Origin,
}

/// Where a message comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A signed transaction: everything is checked.
    Signed,
    /// A simulated or impersonated transaction that is to be checked like a signed one, but that any account may send.
    Simulated,
    /// A call: nonce and sender are not checked, and without a price there is no base fee.
    Call,
}

impl Message {
    /// The message of a signed transaction.
    pub fn from_tx(tx: &Transaction, sender: Address) -> Self {
        let fee_cap = U256::from(tx.max_fee_per_gas());
        Self {
            from: sender,
            to: tx.to(),
            nonce: tx.nonce(),
            value: tx.value(),
            gas_limit: tx.gas_limit(),
            fee_cap,
            tip_cap: tx.max_priority_fee_per_gas().map_or(fee_cap, U256::from),
            input: tx.input().clone(),
            access_list: tx.access_list().cloned().unwrap_or_default(),
            blob_hashes: tx.blob_versioned_hashes().map(<[B256]>::to_vec),
            blob_fee_cap: U256::from(tx.max_fee_per_blob_gas().unwrap_or_default()),
            origin: match impersonated(tx.signature()) {
                // Whether the rules allow it was decided with the sender.
                Some(_) => Origin::Simulated,
                None => Origin::Signed,
            },
        }
    }

    pub(super) fn is_call(&self) -> bool {
        self.origin == Origin::Call
    }

    /// Is it a call without a price? It costs nothing, and there is no base fee then.
    pub fn is_free_call(&self) -> bool {
        self.is_call() && self.fee_cap.is_zero() && self.tip_cap.is_zero()
    }

    /// What a gas costs at a base fee, wei.
    pub fn effective_price(&self, base_fee: U256) -> U256 {
        if self.is_free_call() {
            return U256::ZERO;
        }
        self.tip_cap.saturating_add(base_fee).min(self.fee_cap)
    }

    /// Call or creation.
    pub fn kind(&self) -> TxKind {
        self.to.map_or(TxKind::Create, TxKind::Call)
    }
}
