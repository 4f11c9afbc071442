//! The message of a case: from the bytes of its transaction, or from its fields.

use alloy_consensus::TxType;
use alloy_eips::eip2718::{Decodable2718, Eip2718Error};
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_eips::eip7702::{Authorization, SignedAuthorization};
use alloy_primitives::{Address, Bytes, U256};
use esker_evm_execution::executor::{Message, Origin, SenderError, check_form, recover_sender};
use esker_evm_execution::rules::ExecutionRules;
use esker_evm_state::types::Transaction;
use esker_primitives::keys::PrivateKey;

use crate::json::{self, Indexes, TransactionForm};
use crate::outcome::{Failure, Refusal};
use crate::text::{TextError, address, bytes, number, optional, short, word, wrong};

/// The message of a transaction's bytes.
pub(crate) fn from_bytes(
    rules: &ExecutionRules,
    chain_id: u64,
    encoded: &[u8],
) -> Result<Message, Refusal> {
    let mut rest = encoded;
    let tx = Transaction::decode_2718(&mut rest)?;
    if !rest.is_empty() {
        return Err(Eip2718Error::RlpError(alloy_rlp::Error::UnexpectedLength).into());
    }
    check_form(rules, &tx)?;
    let sender = recover_sender(&tx, chain_id)?;
    Ok(Message::from_tx(&tx, sender))
}

/// The message of a transaction's fields, for tests without its bytes.
pub(crate) fn from_fields(
    rules: &ExecutionRules,
    form: &TransactionForm,
    indexes: Indexes,
) -> Result<Result<Message, Refusal>, Failure> {
    let data = form.data.get(indexes.data).ok_or(Failure::Index("data"))?;
    let gas_limit = form.gas_limit.get(indexes.gas).ok_or(Failure::Index("gas limit"))?;
    let value = form.value.get(indexes.value).ok_or(Failure::Index("value"))?;
    let list = form.access_lists.as_ref().and_then(|lists| lists.get(indexes.data)?.as_deref());
    if !rules.has_transaction_type(tx_type(form, list.is_some()) as u8) {
        return Ok(Err(SenderError::Type.into()));
    }
    let fields = Fields { form, data, gas_limit, value, list };
    let from = sender(form)?;
    Ok(fields.message(from).map_err(Refusal::Field))
}

fn tx_type(form: &TransactionForm, has_list: bool) -> TxType {
    match form {
        TransactionForm { authorization_list: Some(_), .. } => TxType::Eip7702,
        TransactionForm { max_fee_per_blob_gas: Some(_), .. }
        | TransactionForm { blob_versioned_hashes: Some(_), .. } => TxType::Eip4844,
        TransactionForm { max_fee_per_gas: Some(_), .. } => TxType::Eip1559,
        _ if has_list => TxType::Eip2930,
        _ => TxType::Legacy,
    }
}

fn sender(form: &TransactionForm) -> Result<Address, TextError> {
    if let Some(sender) = &form.sender {
        return address("sender", sender);
    }
    let text = form.secret_key.as_deref().unwrap_or_default();
    let key = word("secretKey", text)?;
    let key = PrivateKey::from_slice(key.as_slice()).map_err(|_| wrong("secretKey", text))?;
    Ok(Address::from_raw_public_key(&key.public_key().to_uncompressed()[1..]))
}

/// The fields that a case selects.
struct Fields<'f> {
    form: &'f TransactionForm,
    data: &'f str,
    gas_limit: &'f str,
    value: &'f str,
    list: Option<&'f [json::AccessItem]>,
}

impl Fields<'_> {
    fn message(&self, from: Address) -> Result<Message, TextError> {
        let form = self.form;
        let gas_price = optional("gasPrice", &form.gas_price)?;
        let fee_cap = optional("maxFeePerGas", &form.max_fee_per_gas)?;
        let tip_cap = optional("maxPriorityFeePerGas", &form.max_priority_fee_per_gas)?;
        let blob_fee_cap = optional("maxFeePerBlobGas", &form.max_fee_per_blob_gas)?;
        let hashes = form.blob_versioned_hashes.as_ref();
        let hash = |text: &String| word("blobVersionedHashes", text);
        Ok(Message {
            from,
            to: match form.to.is_empty() {
                true => None,
                false => Some(address("to", &form.to)?),
            },
            nonce: short("nonce", &form.nonce)?,
            value: number("value", self.value)?,
            gas_limit: short("gasLimit", self.gas_limit)?,
            fee_cap: fee_cap.or(gas_price).unwrap_or_default(),
            tip_cap: tip_cap.or(gas_price).unwrap_or_default(),
            input: self.input()?,
            access_list: self.access_list()?,
            blob_hashes: hashes.map(|list| list.iter().map(hash).collect()).transpose()?,
            blob_fee_cap: blob_fee_cap.unwrap_or(U256::ZERO),
            authorization_list: self.authorizations()?,
            origin: Origin::Signed,
        })
    }

    fn input(&self) -> Result<Bytes, TextError> {
        bytes("data", self.data)
    }

    fn access_list(&self) -> Result<AccessList, TextError> {
        let item = |item: &json::AccessItem| {
            let keys = item.storage_keys.iter().map(|key| word("storageKeys", key));
            let storage_keys = keys.collect::<Result<_, _>>()?;
            Ok(AccessListItem { address: address("accessLists", &item.address)?, storage_keys })
        };
        self.list.unwrap_or_default().iter().map(item).collect::<Result<_, _>>().map(AccessList)
    }

    fn authorizations(&self) -> Result<Option<Vec<SignedAuthorization>>, TextError> {
        let signed = |given: &json::Authorization| {
            let authorization = Authorization {
                chain_id: number("chainId", &given.chain_id)?,
                address: address("address", &given.address)?,
                nonce: short("nonce", &given.nonce)?,
            };
            let parity = given.y_parity.as_ref().or(given.v.as_ref());
            let parity = number("yParity", parity.map_or("", String::as_str))?;
            // A parity beyond a byte is as invalid as the highest byte.
            let parity = u8::try_from(parity).unwrap_or(u8::MAX);
            let (r, s) = (number("r", &given.r)?, number("s", &given.s)?);
            Ok(SignedAuthorization::new_unchecked(authorization, parity, r, s))
        };
        let list = self.form.authorization_list.as_ref();
        list.map(|list| list.iter().map(signed).collect()).transpose()
    }
}
