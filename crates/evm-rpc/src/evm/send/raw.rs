//! Signed transactions as they are sent (docs/protocol/c-chain-pool.md, "Sent transactions").

use alloy_consensus::{Signed, TxEip1559, TxEip2930, TxLegacy};
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256, U512, keccak256};
use alloy_rlp::{Encodable, Header};
use esker_evm_state::types::Transaction;

use super::rlp::{self, Fields, RlpError};

/// The type of blob transactions.
const BLOB_TYPE: u8 = 3;

/// Bytes of a blob.
const BLOB_BYTES: usize = 131_072;

/// The reason why bytes are no transaction. The texts are the reference's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RawTxError {
    /// The input is empty, or only a type.
    #[error("typed transaction too short")]
    TooShort,
    /// A type that this chain does not have.
    #[error("transaction type not supported")]
    Type,
    /// The encoding is wrong.
    #[error("{0}")]
    Rlp(String),
    /// A fee above any balance.
    #[error("max fee per gas higher than 2^256-1")]
    Fee,
    /// A tip above any balance.
    #[error("max priority fee per gas higher than 2^256-1")]
    Tip,
    /// A value that no balance has, of more than 512 bits. The reference compares it with the balance, whatever its
    /// length.
    #[error("value higher than 2^256-1")]
    Value,
}

impl From<RlpError> for RawTxError {
    fn from(error: RlpError) -> Self {
        Self::Rlp(error.to_string())
    }
}

/// A decoded transaction, before it is known whether its numbers are sensible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RawTx {
    tx_type: u8,
    chain_id: Option<u64>,
    nonce: u64,
    tip_cap: WidePrice,
    /// Most wei a gas.
    pub(super) fee_cap: WidePrice,
    /// Gas that may be used.
    pub(super) gas: u64,
    to: Option<Address>,
    value: U256,
    /// A value beyond 256 bits, in place of which `value` is the largest there is.
    pub(super) large_value: Option<LargeValue>,
    data: Bytes,
    access_list: AccessList,
    /// Whether it is bound to a chain (EIP-155; typed ones always are).
    pub(super) is_protected: bool,
    /// `None`: the numbers can't be those of a signature.
    signature: Option<Signature>,
}

/// Wei a gas, of any width, big-endian: a fee above the cap is refused before one that is too wide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WidePrice(Box<[u8]>);

impl WidePrice {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn to_u128(&self, too_wide: RawTxError) -> Result<u128, RawTxError> {
        let narrow = U256::try_from_be_slice(&self.0).and_then(|wei| u128::try_from(wei).ok());
        narrow.ok_or(too_wide)
    }
}

impl From<&[u8]> for WidePrice {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl From<U256> for WidePrice {
    fn from(wei: U256) -> Self {
        Self(wei.to_be_bytes_trimmed_vec().into())
    }
}

/// A value above any balance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LargeValue {
    /// Wei.
    pub(super) value: U512,
    /// The hash that the sender signed.
    pub(super) signed_hash: B256,
}

impl LargeValue {
    /// The value, if it is a large one, of a transaction that was signed as the list of these elements.
    fn detect(
        value: &[u8],
        tx_type: Option<u8>,
        elements: &[u8],
    ) -> Result<Option<Self>, RawTxError> {
        if value.len() <= 32 {
            return Ok(None);
        }
        let value = U512::try_from_be_slice(value).ok_or(RawTxError::Value)?;
        let mut signed: Vec<u8> = tx_type.into_iter().collect();
        Header { list: true, payload_length: elements.len() }.encode(&mut signed);
        signed.extend_from_slice(elements);
        Ok(Some(Self { value, signed_hash: keccak256(signed) }))
    }
}

impl RawTx {
    /// Reads a transaction; total on any bytes.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, RawTxError> {
        match bytes {
            [0x80..=0xff, ..] => legacy(bytes),
            [] | [_] => Err(RawTxError::TooShort),
            [1, rest @ ..] => access_list_tx(rest),
            [2, rest @ ..] => dynamic_fee_tx(rest),
            [3, rest @ ..] => blob_tx(rest),
            [_, _, ..] => Err(RawTxError::Type),
        }
    }

    /// Was the signature chosen instead of made with a key? The sender has no key then, which makes this the way to
    /// deploy a contract at the same address on every chain.
    pub(super) fn has_predictable_signature(&self) -> bool {
        self.nonce == 0 && self.signature.is_some_and(|signature| signature.r() == signature.s())
    }

    /// The transaction in the chain's own form.
    ///
    /// Out-of-range signatures become unrecoverable, so that the pool's other checks come first.
    pub(super) fn into_transaction(self) -> Result<Transaction, RawTxError> {
        if self.tx_type == BLOB_TYPE {
            return Err(RawTxError::Type);
        }
        let fee_cap = self.fee_cap.to_u128(RawTxError::Fee)?;
        let tip_cap = self.tip_cap.to_u128(RawTxError::Tip)?;
        let unrecoverable = Signature::new(U256::ZERO, U256::ZERO, false);
        let signature = self.signature.unwrap_or(unrecoverable);
        let (nonce, gas_limit, value, input) = (self.nonce, self.gas, self.value, self.data);
        let to = self.to.map_or(TxKind::Create, TxKind::Call);
        let typed_id = self.chain_id.unwrap_or(u64::MAX);
        Ok(match self.tx_type {
            0 => Transaction::Legacy(Signed::new_unhashed(
                TxLegacy {
                    chain_id: self.chain_id,
                    nonce,
                    gas_price: fee_cap,
                    gas_limit,
                    to,
                    value,
                    input,
                },
                signature,
            )),
            1 => Transaction::Eip2930(Signed::new_unhashed(
                TxEip2930 {
                    chain_id: typed_id,
                    nonce,
                    gas_price: fee_cap,
                    gas_limit,
                    to,
                    value,
                    access_list: self.access_list,
                    input,
                },
                signature,
            )),
            _ => Transaction::Eip1559(Signed::new_unhashed(
                TxEip1559 {
                    chain_id: typed_id,
                    nonce,
                    gas_limit,
                    max_fee_per_gas: fee_cap,
                    max_priority_fee_per_gas: tip_cap,
                    to,
                    value,
                    access_list: self.access_list,
                    input,
                },
                signature,
            )),
        })
    }

    /// The hash, by which some may be sent that are not bound to a chain.
    pub(super) fn hash(bytes: &[u8]) -> B256 {
        alloy_primitives::keccak256(bytes)
    }
}

fn legacy(bytes: &[u8]) -> Result<RawTx, RawTxError> {
    let mut fields = rlp::root_fields(bytes, "types.LegacyTx")?;
    let nonce = fields.uint(".Nonce")?;
    let price = fields.big(".GasPrice")?;
    let gas = fields.uint(".Gas")?;
    let to = fields.optional_array("*common.Address", ".To")?;
    let value = fields.big(".Value")?;
    let data = fields.bytes(".Data")?;
    let mut signed = fields.consumed().to_vec();
    let [v, r, s] = signature_of(&mut fields)?;
    fields.end()?;
    rlp::alone(bytes)?;
    let v = U256::try_from_be_slice(v);
    // Like go-ethereum: these two and the two below them belong to no chain.
    let is_protected = v.is_none_or(|v| ![0, 1, 27, 28].map(U256::from).contains(&v));
    let (chain_id, parity) = match v.and_then(|v| u128::try_from(v).ok()) {
        Some(v @ 27..=28) => (None, Some(v == 28)),
        Some(v @ 35..) => {
            let chain_id = u64::try_from((v - 35) / 2).ok();
            (chain_id, chain_id.map(|_| v % 2 == 0))
        }
        Some(_) | None => (None, None),
    };
    let price = WidePrice::from(price);
    if let Some(chain_id) = chain_id {
        chain_id.encode(&mut signed);
        signed.extend_from_slice(&[alloy_rlp::EMPTY_STRING_CODE; 2]);
    }
    Ok(RawTx {
        tx_type: 0,
        chain_id,
        nonce,
        tip_cap: price.clone(),
        fee_cap: price,
        gas,
        to: to.map(Address::new),
        value: U256::try_from_be_slice(value).unwrap_or(U256::MAX),
        large_value: LargeValue::detect(value, None, &signed)?,
        data: Bytes::copy_from_slice(data),
        access_list: AccessList::default(),
        is_protected,
        signature: signature(parity, r, s),
    })
}

fn access_list_tx(bytes: &[u8]) -> Result<RawTx, RawTxError> {
    let mut fields = rlp::root_fields(bytes, "types.AccessListTx")?;
    let chain_id = fields.big(".ChainID")?;
    let nonce = fields.uint(".Nonce")?;
    let price = fields.big(".GasPrice")?;
    let rest = typed_rest(&mut fields)?;
    fields.end()?;
    rlp::alone(bytes)?;
    rest.into_tx(1, chain_id, nonce, [price, price])
}

fn dynamic_fee_tx(bytes: &[u8]) -> Result<RawTx, RawTxError> {
    let mut fields = rlp::root_fields(bytes, "types.DynamicFeeTx")?;
    let chain_id = fields.big(".ChainID")?;
    let nonce = fields.uint(".Nonce")?;
    let tip_cap = fields.big(".GasTipCap")?;
    let fee_cap = fields.big(".GasFeeCap")?;
    let rest = typed_rest(&mut fields)?;
    fields.end()?;
    rlp::alone(bytes)?;
    rest.into_tx(2, chain_id, nonce, [tip_cap, fee_cap])
}

/// A blob transaction, alone or with its blobs. It is refused, but not before it is known to be one.
fn blob_tx(bytes: &[u8]) -> Result<RawTx, RawTxError> {
    if !rlp::begins_with_list(bytes)? {
        let mut fields = rlp::root_fields(bytes, "types.BlobTx")?;
        let tx = blob_fields(&mut fields)?;
        fields.end()?;
        rlp::alone(bytes)?;
        return Ok(tx);
    }
    let mut fields = rlp::root_fields(bytes, "types.blobTxWithBlobs")?;
    let mut inner = fields.list("types.BlobTx", ".BlobTx")?;
    let tx = blob_fields(&mut inner)?;
    inner.end()?;
    let mut blobs = fields.list("[]kzg4844.Blob", ".Blobs")?;
    arrays::<BLOB_BYTES>(&mut blobs, "kzg4844.Blob")?;
    let mut commitments = fields.list("[]kzg4844.Commitment", ".Commitments")?;
    arrays::<48>(&mut commitments, "kzg4844.Commitment")?;
    let mut proofs = fields.list("[]kzg4844.Proof", ".Proofs")?;
    arrays::<48>(&mut proofs, "kzg4844.Proof")?;
    fields.end()?;
    rlp::alone(bytes)?;
    Ok(tx)
}

/// Reads arrays to the end of a list.
fn arrays<const N: usize>(list: &mut Fields<'_>, of: &'static str) -> Result<(), RlpError> {
    let mut at = 0;
    while list.has_more() {
        let _unused: Box<[u8; N]> = Box::new(list.element(of, at)?);
        at += 1;
    }
    Ok(())
}

fn blob_fields(fields: &mut Fields<'_>) -> Result<RawTx, RlpError> {
    let chain_id = u64::try_from(fields.uint256(".ChainID")?).ok();
    let nonce = fields.uint(".Nonce")?;
    let (tip_cap, fee_cap) = (fields.uint256(".GasTipCap")?, fields.uint256(".GasFeeCap")?);
    let gas = fields.uint(".Gas")?;
    let to = Some(Address::new(fields.array("common.Address", ".To")?));
    let value = fields.uint256(".Value")?;
    let data = Bytes::copy_from_slice(fields.bytes(".Data")?);
    let access_list = access_list(fields)?;
    fields.uint256(".BlobFeeCap")?;
    let mut hashes = fields.list("[]common.Hash", ".BlobHashes")?;
    arrays::<32>(&mut hashes, "common.Hash")?;
    for field in [".V", ".R", ".S"] {
        fields.uint256(field)?;
    }
    Ok(RawTx {
        tx_type: BLOB_TYPE,
        chain_id,
        nonce,
        tip_cap: tip_cap.into(),
        fee_cap: fee_cap.into(),
        gas,
        to,
        value,
        large_value: None,
        data,
        access_list,
        is_protected: true,
        signature: None,
    })
}

/// The members after the prices of a typed transaction.
struct TypedRest<'a> {
    gas: u64,
    to: Option<[u8; 20]>,
    value: &'a [u8],
    data: &'a [u8],
    access_list: AccessList,
    /// The elements that are signed.
    signed: &'a [u8],
    signature: [&'a [u8]; 3],
}

fn typed_rest<'a>(fields: &mut Fields<'a>) -> Result<TypedRest<'a>, RlpError> {
    Ok(TypedRest {
        gas: fields.uint(".Gas")?,
        to: fields.optional_array("*common.Address", ".To")?,
        value: fields.big(".Value")?,
        data: fields.bytes(".Data")?,
        access_list: access_list(fields)?,
        signed: fields.consumed(),
        signature: signature_of(fields)?,
    })
}

impl TypedRest<'_> {
    fn into_tx(
        self,
        tx_type: u8,
        chain_id: &[u8],
        nonce: u64,
        [tip_cap, fee_cap]: [&[u8]; 2],
    ) -> Result<RawTx, RawTxError> {
        let chain_id = U256::try_from_be_slice(chain_id).and_then(|id| u64::try_from(id).ok());
        let [v, r, s] = self.signature;
        let parity = match v {
            [] => Some(false),
            [1] => Some(true),
            _ => None,
        };
        Ok(RawTx {
            tx_type,
            chain_id,
            nonce,
            tip_cap: tip_cap.into(),
            fee_cap: fee_cap.into(),
            gas: self.gas,
            to: self.to.map(Address::new),
            value: U256::try_from_be_slice(self.value).unwrap_or(U256::MAX),
            large_value: LargeValue::detect(self.value, Some(tx_type), self.signed)?,
            data: Bytes::copy_from_slice(self.data),
            access_list: self.access_list,
            is_protected: true,
            signature: signature(parity.filter(|_| chain_id.is_some()), r, s),
        })
    }
}

fn signature_of<'a>(fields: &mut Fields<'a>) -> Result<[&'a [u8]; 3], RlpError> {
    Ok([fields.big(".V")?, fields.big(".R")?, fields.big(".S")?])
}

fn signature(parity: Option<bool>, r: &[u8], s: &[u8]) -> Option<Signature> {
    let (r, s) = (U256::try_from_be_slice(r)?, U256::try_from_be_slice(s)?);
    Some(Signature::new(r, s, parity?))
}

fn access_list(fields: &mut Fields<'_>) -> Result<AccessList, RlpError> {
    let mut tuples = fields.list("types.AccessList", ".AccessList")?;
    let mut list = Vec::new();
    while tuples.has_more() {
        let mut tuple = tuples.list("types.AccessTuple", &format!("[{}]", list.len()))?;
        let address = tuple.array("common.Address", ".Address")?;
        let mut keys = tuple.list("[]common.Hash", ".StorageKeys")?;
        let mut storage_keys = Vec::new();
        while keys.has_more() {
            storage_keys.push(B256::new(keys.element("common.Hash", storage_keys.len())?));
        }
        tuple.end()?;
        list.push(AccessListItem { address: Address::new(address), storage_keys });
    }
    Ok(AccessList(list))
}
