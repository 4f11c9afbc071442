//! Transactions of the funded account that only a chain with Ethereum's rules takes.

use alloy_consensus::{
    TxEip4844, TxEip4844Variant, TxEip4844WithSidecar, TxEip7702, TxEnvelope, TypedTransaction,
};
use alloy_eips::eip4844::{Blob, Bytes48};
use alloy_eips::eip7594::{BlobTransactionSidecarEip7594, BlobTransactionSidecarVariant};
use alloy_eips::eip7702::{Authorization, SignedAuthorization};
use alloy_eips::{Decodable2718 as _, Encodable2718 as _};
use alloy_primitives::{B256, Bytes, U256, hex};
use esker_e2e::funds::{funded, key};
use esker_evm::accounts::{AccountKey, sign_transaction_with};
use esker_primitives::hash::sha256;

use super::{CHAIN_ID, payer, receiver};
use crate::legacy_tx::LegacyTx;

const GWEI: u128 = 1_000_000_000;
/// Proofs of a blob: one for each cell of its extension.
const CELLS: usize = 128;

/// A transfer of so many wei, by EIP-155.
pub(super) fn transfer(nonce: u64, wei: u64) -> String {
    let (to, value) = (receiver(), U256::from(wei));
    LegacyTx { nonce, gas: 21_000, to: to.as_slice(), value, data: &[] }.signed(CHAIN_ID)
}

/// A transaction with a blob, in both of its forms.
pub(super) struct BlobTx {
    /// With its sidecar, as it is sent.
    pub(super) pooled: String,
    /// As a block has it.
    pub(super) in_block: String,
}

/// A transaction with a blob of zeros, whose commitment and proofs are the point at infinity.
pub(super) fn blob(nonce: u64) -> BlobTx {
    let mut infinity = Bytes48::ZERO;
    infinity[0] = 0xc0;
    let mut versioned_hash = B256::new(sha256(infinity.as_slice()));
    versioned_hash[0] = 1;
    let tx = TxEip4844 {
        chain_id: CHAIN_ID,
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: 100 * GWEI,
        max_priority_fee_per_gas: GWEI,
        to: receiver(),
        value: U256::ZERO,
        access_list: Default::default(),
        blob_versioned_hashes: vec![versioned_hash],
        max_fee_per_blob_gas: 100 * GWEI,
        input: Bytes::new(),
    };
    let sidecar = BlobTransactionSidecarVariant::Eip7594(BlobTransactionSidecarEip7594 {
        blobs: vec![Blob::ZERO],
        commitments: vec![infinity],
        cell_proofs: vec![infinity; CELLS],
    });
    let pooled = TxEip4844WithSidecar::from_tx_and_sidecar(tx.clone(), sidecar);
    BlobTx {
        pooled: signed(TypedTransaction::Eip4844(TxEip4844Variant::TxEip4844WithSidecar(pooled))),
        in_block: signed(TypedTransaction::Eip4844(TxEip4844Variant::TxEip4844(tx))),
    }
}

/// The key of the account that delegates to other code.
pub(super) fn authority() -> AccountKey {
    AccountKey::new(key(11))
}

/// A transaction by which the authority, which has sent so many transactions and authorizations, delegates to the
/// receiver.
pub(super) fn set_code(nonce: u64, authority_nonce: u64) -> String {
    let chain_id = U256::from(CHAIN_ID);
    let authorization = Authorization { chain_id, address: receiver(), nonce: authority_nonce };
    signed(TypedTransaction::Eip7702(TxEip7702 {
        chain_id: CHAIN_ID,
        nonce,
        gas_limit: 100_000,
        max_fee_per_gas: 100 * GWEI,
        max_priority_fee_per_gas: GWEI,
        to: receiver(),
        value: U256::ZERO,
        access_list: Default::default(),
        authorization_list: vec![authorized(authorization)],
        input: Bytes::new(),
    }))
}

fn authorized(authorization: Authorization) -> SignedAuthorization {
    let signature = authority().sign_hash(&authorization.signature_hash());
    authorization.into_signed(signature)
}

/// The hash of a transaction.
pub(super) fn hash(raw: &str) -> B256 {
    let bytes = hex::decode(raw).unwrap();
    *TxEnvelope::decode_2718(&mut bytes.as_slice()).unwrap().tx_hash()
}

fn signed(tx: TypedTransaction) -> String {
    let key = AccountKey::new(funded());
    assert_eq!(key.address(), payer());
    hex::encode_prefixed(sign_transaction_with(&key, tx).encoded_2718())
}
