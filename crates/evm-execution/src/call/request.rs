//! Requests of calls.

use alloy_eips::eip2930::AccessList;
use alloy_eips::eip7702::SignedAuthorization;
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_rlp::{BufMut, Encodable, Header};

use super::CallError;
use crate::executor::{Message, Origin};

/// Gas limit of a call without any limit.
const UNLIMITED: u64 = u64::MAX / 2;

/// A requested call; absent fields have defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallRequest {
    /// The caller; by default the zero address.
    pub from: Option<Address>,
    /// The recipient; `None` creates a contract.
    pub to: Option<Address>,
    /// Gas limit. Zero is not replaced by a default.
    pub gas: Option<u64>,
    /// Gas price, wei a gas. It sets both caps.
    pub gas_price: Option<U256>,
    /// Fee cap, wei a gas.
    pub max_fee_per_gas: Option<U256>,
    /// Tip cap, wei a gas.
    pub max_priority_fee_per_gas: Option<U256>,
    /// Value, wei.
    pub value: Option<U256>,
    /// Call data, or init code.
    pub input: Bytes,
    /// Access list.
    pub access_list: Option<AccessList>,
    /// Hashes of blobs. A list, even an empty one, makes the call a blob transaction.
    pub blob_hashes: Option<Vec<B256>>,
    /// Blob fee cap, wei a blob gas.
    pub max_fee_per_blob_gas: Option<U256>,
    /// Authorizations of accounts to delegate to contracts (EIP-7702). A list makes the call a set-code transaction.
    pub authorization_list: Option<Vec<SignedAuthorization>>,
    /// The sender's nonce. Only the hash of the transaction uses it.
    pub nonce: Option<u64>,
    /// The chain ID. Only the hash of the transaction uses it.
    pub chain_id: Option<u64>,
}

impl CallRequest {
    /// The message of the call, with at most `gas_cap` gas (0 is no limit).
    pub fn message(&self, gas_cap: u64) -> Result<Message, CallError> {
        let has_caps = self.max_fee_per_gas.is_some() || self.max_priority_fee_per_gas.is_some();
        if self.gas_price.is_some() && has_caps {
            return Err(CallError::BothPrices);
        }
        let most = if gas_cap == 0 { UNLIMITED } else { gas_cap };
        let gas = self.gas.unwrap_or(most);
        Ok(Message {
            from: self.from.unwrap_or_default(),
            to: self.to,
            nonce: self.nonce.unwrap_or_default(),
            value: self.value.unwrap_or_default(),
            gas_limit: if gas_cap == 0 { gas } else { gas.min(gas_cap) },
            fee_cap: self.gas_price.or(self.max_fee_per_gas).unwrap_or_default(),
            tip_cap: self.gas_price.or(self.max_priority_fee_per_gas).unwrap_or_default(),
            input: self.input.clone(),
            access_list: self.access_list.clone().unwrap_or_default(),
            blob_hashes: self.blob_hashes.clone(),
            blob_fee_cap: self.max_fee_per_blob_gas.unwrap_or_default(),
            authorization_list: self.authorization_list.clone(),
            origin: Origin::Call,
        })
    }

    /// Hash of the call's transaction, with zeros as its signature.
    pub fn unsigned_hash(&self) -> B256 {
        let mut fields = Fields::default();
        let list = self.access_list.clone().unwrap_or_default();
        let dynamic = self.max_fee_per_gas.is_some();
        let tx_type = match () {
            () if self.authorization_list.is_some() => 4,
            () if self.blob_hashes.is_some() => 3,
            () if dynamic => 2,
            () if self.access_list.is_some() => 1,
            () => 0,
        };
        if tx_type > 0 {
            fields.put(&self.chain_id.unwrap_or_default());
        }
        fields.put(&self.nonce.unwrap_or_default());
        if tx_type > 1 {
            fields.put(&self.max_priority_fee_per_gas.unwrap_or_default());
            fields.put(&self.max_fee_per_gas.unwrap_or_default());
        } else {
            fields.put(&self.gas_price.unwrap_or_default());
        }
        fields.put(&self.gas.unwrap_or_default());
        match self.to {
            Some(to) => fields.put(&to),
            None if tx_type > 2 => fields.put(&Address::ZERO),
            None => fields.put(&Bytes::new()),
        }
        fields.put(&self.value.unwrap_or_default());
        fields.put(&self.input);
        if tx_type > 0 {
            fields.put(&list);
        }
        if let Some(hashes) = self.blob_hashes.as_ref().filter(|_| tx_type == 3) {
            fields.put(&self.max_fee_per_blob_gas.unwrap_or_default());
            fields.put(hashes);
        }
        if let Some(list) = &self.authorization_list {
            fields.put(list);
        }
        // v, r, s
        (0..3).for_each(|_| fields.put(&0u64));
        fields.hash(tx_type)
    }
}

/// Fields of a list.
#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    fn put(&mut self, field: &dyn Encodable) {
        field.encode(&mut self.0);
    }

    fn hash(self, tx_type: u8) -> B256 {
        let mut out = Vec::with_capacity(self.0.len() + 10);
        if tx_type > 0 {
            out.put_u8(tx_type);
        }
        Header { list: true, payload_length: self.0.len() }.encode(&mut out);
        out.extend_from_slice(&self.0);
        keccak256(out)
    }
}

#[cfg(test)]
mod tests {
    use alloy_consensus::{SignableTransaction, TxEip1559, TxEip2930};
    use alloy_primitives::{Signature, TxKind};

    use super::*;

    #[test]
    fn the_hash_is_that_of_the_transaction_without_signature() {
        let none = Signature::new(U256::ZERO, U256::ZERO, false);
        let (to, input) = (Address::repeat_byte(7), Bytes::from_static(&[1, 2]));
        let request = CallRequest {
            to: Some(to),
            gas: Some(50_000),
            max_fee_per_gas: Some(U256::from(9)),
            max_priority_fee_per_gas: Some(U256::from(8)),
            value: Some(U256::from(3)),
            input: input.clone(),
            access_list: Some(AccessList::default()),
            nonce: Some(4),
            chain_id: Some(43112),
            ..Default::default()
        };
        let dynamic = TxEip1559 {
            chain_id: 43112,
            nonce: 4,
            gas_limit: 50_000,
            max_fee_per_gas: 9,
            max_priority_fee_per_gas: 8,
            to: TxKind::Call(to),
            value: U256::from(3),
            input: input.clone(),
            ..Default::default()
        };
        assert_eq!(request.unsigned_hash(), *dynamic.into_signed(none).hash());
        let priced = CallRequest {
            to: None,
            gas_price: Some(U256::from(5)),
            max_fee_per_gas: None,
            max_priority_fee_per_gas: None,
            ..request
        };
        let listed = TxEip2930 {
            chain_id: 43112,
            nonce: 4,
            gas_limit: 50_000,
            gas_price: 5,
            value: U256::from(3),
            input,
            ..Default::default()
        };
        assert_eq!(priced.unsigned_hash(), *listed.into_signed(none).hash());
        // Nine fields of a legacy transaction, all empty: 0xc9 and nine times 0x80.
        let mut plain = vec![0xc9];
        plain.resize(10, 0x80);
        assert_eq!(CallRequest::default().unsigned_hash(), keccak256(plain));
    }
}
