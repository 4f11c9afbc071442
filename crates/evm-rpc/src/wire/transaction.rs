//! Transactions (docs/protocol/c-chain-rpc.md, "Transactions").

use std::sync::Arc;

use alloy_consensus::Transaction as _;
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_eips::eip7702::SignedAuthorization;
use alloy_primitives::{Address, B256, U256};
use esker_evm::pool::PooledTx;
use esker_evm_execution::rules::Dialect;
use esker_evm_state::types::{SealedBlock, Transaction};
use esker_rpc::schema_as;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{Addr, AuthorizationMembers, Big, Hash, HexRef, Uint64};

/// A transaction of a block or of the pool.
#[derive(Clone, Debug)]
pub struct TransactionReply {
    source: Source,
    dialect: Dialect,
    /// Bytes of the input that are shown.
    shown_input: usize,
    form: TransactionForm,
}

/// Which members a transaction has, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionForm {
    /// Those of geth.
    Standard,
    /// Those of anvil, whose tests compare the order. One that waits has the price that it would have in the next block.
    Anvil {
        /// Of the next block, wei; `None` of a transaction that is in a block, or without base fees.
        next_base_fee: Option<U256>,
    },
}

#[derive(Clone, Debug)]
enum Source {
    Accepted { block: Arc<SealedBlock>, index: usize, from: Address },
    Undecided { block: Arc<SealedBlock>, index: usize, from: Address },
    Pooled(PooledTx),
}

impl TransactionReply {
    /// The transaction at this place of a block, which has it.
    pub fn accepted(
        dialect: Dialect,
        block: &Arc<SealedBlock>,
        index: usize,
        from: Address,
    ) -> Self {
        Self::new(Source::Accepted { block: Arc::clone(block), index, from }, dialect)
    }

    /// The transaction at this place of a block that is not built: it waits.
    pub fn undecided(
        dialect: Dialect,
        block: &Arc<SealedBlock>,
        index: usize,
        from: Address,
    ) -> Self {
        Self::new(Source::Undecided { block: Arc::clone(block), index, from }, dialect)
    }

    /// One that waits: it has no block yet.
    pub const fn pooled(dialect: Dialect, tx: PooledTx) -> Self {
        Self::new(Source::Pooled(tx), dialect)
    }

    const fn new(source: Source, dialect: Dialect) -> Self {
        Self { source, dialect, shown_input: usize::MAX, form: TransactionForm::Standard }
    }

    /// In another form.
    #[must_use]
    pub fn in_form(self, form: TransactionForm) -> Self {
        Self { form, ..self }
    }

    /// With the first bytes of its input only.
    #[must_use]
    pub fn with_short_input(self, bytes: usize) -> Self {
        Self { shown_input: bytes, ..self }
    }

    /// Bytes of it as JSON, about.
    pub fn size(&self) -> usize {
        let tx = match &self.source {
            Source::Pooled(pooled) => Some(pooled.tx()),
            Source::Accepted { block, index, .. } | Source::Undecided { block, index, .. } => {
                block.block.transactions.get(*index)
            }
        };
        tx.map_or(0, size_of_transaction)
    }
}

/// Most bytes of a transaction as JSON, but for its input and access list.
const TRANSACTION: usize = 900;
/// Bytes of an entry of an access list as JSON, and of a storage key.
const ENTRY: (usize, usize) = (80, 70);
/// Bytes of a blob's hash as JSON, and of an authorization.
const BLOB_HASH: usize = 70;
const AUTHORIZATION: usize = 320;

/// Bytes of a transaction as JSON, at most.
pub fn size_of_transaction(tx: &Transaction) -> usize {
    let entries = tx.access_list().map_or(&[][..], |list| &list.0);
    let (entry, key) = ENTRY;
    let entries = entries.iter().map(|item| entry + key * item.storage_keys.len());
    let blobs = BLOB_HASH * tx.blob_versioned_hashes().map_or(0, <[_]>::len);
    let authorizations = AUTHORIZATION * tx.authorization_list().map_or(0, <[_]>::len);
    TRANSACTION + 2 * tx.input().len() + entries.sum::<usize>() + blobs + authorizations
}

/// An entry of an access list.
#[derive(Clone, Copy, Debug)]
pub struct AccessTuple<'a>(pub &'a AccessListItem);

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TupleMembers {
    address: Addr,
    storage_keys: Vec<Hash>,
}

schema_as!(AccessTuple<'_>, "AccessListEntry", TupleMembers);
schema_as!(Tuples<'_>, "AccessList", Vec<AccessTuple<'static>>);
schema_as!(TransactionReply, "Transaction", Members<'_>);

impl Serialize for AccessTuple<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let storage_keys = self.0.storage_keys.iter().copied().map(Hash).collect();
        TupleMembers { address: Addr(self.0.address), storage_keys }.serialize(serializer)
    }
}

struct Tuples<'a>(&'a AccessList);

impl Serialize for Tuples<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.0.iter().map(AccessTuple))
    }
}

struct BlobHashes<'a>(&'a [B256]);

impl Serialize for BlobHashes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().copied().map(Hash))
    }
}

struct Authorizations<'a>(&'a [SignedAuthorization]);

impl Serialize for Authorizations<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(AuthorizationMembers::from))
    }
}

schema_as!(BlobHashes<'_>, "BlobHashes", Vec<Hash>);
schema_as!(Authorizations<'_>, "AuthorizationList", Vec<AuthorizationMembers>);

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Members<'a> {
    block_hash: Option<Hash>,
    block_number: Option<Uint64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_timestamp: Option<Option<Uint64>>,
    from: Addr,
    gas: Uint64,
    gas_price: Big,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_fee_per_gas: Option<Big>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_priority_fee_per_gas: Option<Big>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_fee_per_blob_gas: Option<Big>,
    hash: Hash,
    input: HexRef<'a>,
    nonce: Uint64,
    to: Option<Addr>,
    transaction_index: Option<Uint64>,
    value: Big,
    #[serde(rename = "type")]
    tx_type: Uint64,
    #[serde(skip_serializing_if = "Option::is_none")]
    access_list: Option<Tuples<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chain_id: Option<Big>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blob_versioned_hashes: Option<BlobHashes<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_list: Option<Authorizations<'a>>,
    v: Big,
    r: Big,
    s: Big,
    #[serde(skip_serializing_if = "Option::is_none")]
    y_parity: Option<Uint64>,
}

/// The block of a transaction and its place there, if it is in a block.
struct Inclusion {
    block_hash: B256,
    number: u64,
    /// Unix s.
    time: u64,
    index: usize,
    base_fee: Option<U256>,
}

impl Serialize for TransactionReply {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let missing = || serde::ser::Error::custom("the block has no such transaction");
        let members = match &self.source {
            Source::Pooled(pooled) => self.members(pooled.tx(), pooled.sender(), None),
            Source::Accepted { block, index, from } => {
                let header = &block.block.header;
                let place = Inclusion {
                    block_hash: block.hash,
                    number: header.number,
                    time: header.time,
                    index: *index,
                    base_fee: header.base_fee,
                };
                let tx = block.block.transactions.get(*index);
                self.members(tx.ok_or_else(missing)?, *from, Some(&place))
            }
            Source::Undecided { block, index, from } => {
                let tx = block.block.transactions.get(*index);
                self.members(tx.ok_or_else(missing)?, *from, None)
            }
        };
        match self.form {
            TransactionForm::Standard => members.serialize(serializer),
            TransactionForm::Anvil { .. } => AnvilMembers::from(members).serialize(serializer),
        }
    }
}

/// [`Members`] in anvil's order.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AnvilMembers<'a> {
    #[serde(rename = "type")]
    tx_type: Uint64,
    #[serde(skip_serializing_if = "Option::is_none")]
    chain_id: Option<Big>,
    nonce: Uint64,
    #[serde(rename = "gasPrice", skip_serializing_if = "Option::is_none")]
    own_price: Option<Big>,
    gas: Uint64,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_fee_per_gas: Option<Big>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_priority_fee_per_gas: Option<Big>,
    to: Option<Addr>,
    value: Big,
    #[serde(skip_serializing_if = "Option::is_none")]
    access_list: Option<Tuples<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blob_versioned_hashes: Option<BlobHashes<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_fee_per_blob_gas: Option<Big>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_list: Option<Authorizations<'a>>,
    input: HexRef<'a>,
    r: Big,
    s: Big,
    #[serde(skip_serializing_if = "Option::is_none")]
    y_parity: Option<Uint64>,
    v: Big,
    hash: Hash,
    block_hash: Option<Hash>,
    block_number: Option<Uint64>,
    transaction_index: Option<Uint64>,
    from: Addr,
    #[serde(rename = "gasPrice", skip_serializing_if = "Option::is_none")]
    paid_price: Option<Big>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_timestamp: Option<Uint64>,
}

impl<'a> From<Members<'a>> for AnvilMembers<'a> {
    fn from(members: Members<'a>) -> Self {
        let is_dynamic = members.max_fee_per_gas.is_some();
        let price = Some(members.gas_price);
        Self {
            tx_type: members.tx_type,
            chain_id: members.chain_id,
            nonce: members.nonce,
            own_price: price.filter(|_| !is_dynamic),
            gas: members.gas,
            max_fee_per_gas: members.max_fee_per_gas,
            max_priority_fee_per_gas: members.max_priority_fee_per_gas,
            to: members.to,
            value: members.value,
            access_list: members.access_list,
            blob_versioned_hashes: members.blob_versioned_hashes,
            max_fee_per_blob_gas: members.max_fee_per_blob_gas,
            authorization_list: members.authorization_list,
            input: members.input,
            r: members.r,
            s: members.s,
            y_parity: members.y_parity,
            v: members.v,
            hash: members.hash,
            block_hash: members.block_hash,
            block_number: members.block_number,
            transaction_index: members.transaction_index,
            from: members.from,
            paid_price: price.filter(|_| is_dynamic),
            block_timestamp: members.block_timestamp.flatten(),
        }
    }
}

impl TransactionReply {
    fn members<'a>(
        &self,
        tx: &'a Transaction,
        from: Address,
        place: Option<&Inclusion>,
    ) -> Members<'a> {
        let is_legacy = tx.is_legacy();
        let parity = u64::from(tx.signature().v());
        let chain_id = tx.chain_id().filter(|id| *id != 0);
        let time = || place.map(|place| Uint64(place.time));
        let next = || match self.form {
            TransactionForm::Anvil { next_base_fee } => next_base_fee,
            TransactionForm::Standard => None,
        };
        Members {
            block_hash: place.map(|place| Hash(place.block_hash)),
            block_number: place.map(|place| Uint64(place.number)),
            block_timestamp: self.dialect.is_standard().then(time),
            from: Addr(from),
            gas: Uint64(tx.gas_limit()),
            gas_price: Big(effective_price(tx, place.map_or_else(next, |place| place.base_fee))),
            max_fee_per_gas: tx.is_dynamic_fee().then(|| tx.max_fee_per_gas().into()),
            max_priority_fee_per_gas: tx.max_priority_fee_per_gas().map(Into::into),
            max_fee_per_blob_gas: tx.max_fee_per_blob_gas().map(Into::into),
            hash: Hash(*tx.tx_hash()),
            input: HexRef(&tx.input()[..tx.input().len().min(self.shown_input)]),
            nonce: Uint64(tx.nonce()),
            to: tx.to().map(Addr),
            transaction_index: place.map(|place| Uint64(place.index as u64)),
            value: Big(tx.value()),
            tx_type: Uint64(u64::from(tx.tx_type() as u8)),
            access_list: tx.access_list().map(Tuples),
            chain_id: chain_id.map(|id| Big(U256::from(id))),
            blob_versioned_hashes: tx.blob_versioned_hashes().map(BlobHashes),
            authorization_list: tx.authorization_list().map(Authorizations),
            v: Big(recovery_id(is_legacy, tx.chain_id(), parity)),
            r: Big(tx.signature().r()),
            s: Big(tx.signature().s()),
            y_parity: (!is_legacy).then_some(Uint64(parity)),
        }
    }
}

/// The price of a unit of gas over a base fee, in wei. Without a base fee it is the highest price that may be paid.
pub(crate) fn effective_price(tx: &Transaction, base_fee: Option<U256>) -> U256 {
    let cap = U256::from(tx.max_fee_per_gas());
    match (tx.max_priority_fee_per_gas(), base_fee) {
        (Some(tip), Some(base_fee)) => base_fee.saturating_add(U256::from(tip)).min(cap),
        (None, _) | (_, None) => cap,
    }
}

/// The signature's `v`: with the chain ID in it for a legacy transaction that is bound to a chain.
fn recovery_id(is_legacy: bool, chain_id: Option<u64>, parity: u64) -> U256 {
    let parity = U256::from(parity);
    match chain_id {
        _ if !is_legacy => parity,
        Some(id) => U256::from(id) * U256::from(2) + U256::from(35) + parity,
        None => U256::from(27) + parity,
    }
}
