//! Transactions of the funded account on EVM chains, signed with EIP-155.

use alloy_primitives::{U256, keccak256};
use alloy_rlp::{BufMut as _, Encodable as _, Header};
use esker_e2e::funds::funded;

/// The price of a unit of gas, in wei.
const GAS_PRICE: u64 = 300_000_000_000;

/// A transaction, not signed.
pub(crate) struct LegacyTx<'a> {
    pub(crate) nonce: u64,
    pub(crate) gas: u64,
    /// The receiver's address; empty to create a contract.
    pub(crate) to: &'a [u8],
    /// Wei.
    pub(crate) value: U256,
    pub(crate) data: &'a [u8],
}

impl LegacyTx<'_> {
    /// The signed transaction of a chain, in hex.
    pub(crate) fn signed(&self, chain_id: u64) -> String {
        let mut fields = Vec::new();
        self.nonce.encode(&mut fields);
        GAS_PRICE.encode(&mut fields);
        self.gas.encode(&mut fields);
        self.to.encode(&mut fields);
        self.value.encode(&mut fields);
        self.data.encode(&mut fields);
        let mut unsigned = fields.clone();
        chain_id.encode(&mut unsigned);
        0_u8.encode(&mut unsigned);
        0_u8.encode(&mut unsigned);
        let signature = funded().sign_hash(&keccak256(list(&unsigned)).0);
        let bytes = signature.as_bytes();
        (chain_id * 2 + 35 + u64::from(bytes[64] & 1)).encode(&mut fields);
        U256::from_be_slice(&bytes[..32]).encode(&mut fields);
        U256::from_be_slice(&bytes[32..64]).encode(&mut fields);
        let raw: String = list(&fields).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("0x{raw}")
    }
}

fn list(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Header { list: true, payload_length: payload.len() }.encode(&mut out);
    out.put_slice(payload);
    out
}
