//! Messages: transactions and unsigned calls.

use alloy_consensus::Transaction as _;
use alloy_eips::eip2930::AccessList;
use alloy_eips::eip7702::SignedAuthorization;
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use esker_evm_state::types::Transaction;

use super::impersonated;

/// A transaction without its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The sender.
    pub from: Address,
    /// The recipient; `None` creates a contract.
    pub to: Option<Address>,
    /// The sender's nonce.
    pub nonce: u64,
    /// Value, wei.
    pub value: U256,
    /// Gas limit.
    pub gas_limit: u64,
    /// Fee cap, wei a gas.
    pub fee_cap: U256,
    /// Tip cap, wei a gas. It equals `fee_cap` for a plain gas price.
    pub tip_cap: U256,
    /// Call data, or init code.
    pub input: Bytes,
    /// Access list.
    pub access_list: AccessList,
    /// Hashes of blobs; `None` for anything but a blob transaction.
    pub blob_hashes: Option<Vec<B256>>,
    /// Blob fee cap, wei a blob gas.
    pub blob_fee_cap: U256,
    /// Authorizations of accounts to delegate to contracts (EIP-7702); `None` for anything but a set-code transaction.
    pub authorization_list: Option<Vec<SignedAuthorization>>,
    /// The origin of the message, which decides the checks.
    pub origin: Origin,
}

/// The origin of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A signed transaction: everything is checked.
    Signed,
    /// A simulated or impersonated transaction. It is checked like a signed one, but any account may send it.
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
            authorization_list: tx.authorization_list().map(<[_]>::to_vec),
            origin: match impersonated(tx.signature()) {
                // The check of the sender has decided whether the rules allow it.
                Some(_) => Origin::Simulated,
                None => Origin::Signed,
            },
        }
    }

    pub(super) fn is_call(&self) -> bool {
        self.origin == Origin::Call
    }

    /// Whether it is a call without a price. Such a call costs nothing, and its base fee is 0.
    pub fn is_free_call(&self) -> bool {
        self.is_call() && self.fee_cap.is_zero() && self.tip_cap.is_zero()
    }

    /// The price at a base fee, wei a gas.
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
