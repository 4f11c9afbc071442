//! Transactions of a block.

use alloy_primitives::{B256, Bytes, U256, keccak256};
use alloy_rlp::{BufMut, Encodable, Header};
use serde_json::Value;

use super::root::{BodyFault, check_root};
use crate::json::{FieldError, Fields, fixed};

const LIST: &str = "transactions";

/// Checks the transactions of a block by the root in its header. Returns whether they could be checked: a block may have
/// only their hashes, and those of other types than Ethereum's have other encodings.
///
/// # Errors
/// They give another root, or are no transactions.
pub fn check_transactions(block: &Value, root: B256) -> Result<bool, BodyFault> {
    let form = |index| move |fault| BodyFault::Form { list: LIST, index, fault };
    let list = Fields::of(block).and_then(|block| block.list(LIST)).map_err(form(0))?;
    if list.first().is_some_and(Value::is_string) {
        return Ok(false);
    }
    let mut encoded = Vec::with_capacity(list.len());
    for (index, transaction) in list.iter().enumerate() {
        let Some(bytes) = encode(transaction).map_err(form(index))? else { return Ok(false) };
        let claimed = Fields::of(transaction).and_then(|fields| fields.hash("hash"));
        let (claimed, found) = (claimed.map_err(form(index))?, keccak256(&bytes));
        if claimed != found {
            return Err(BodyFault::Hash { index, claimed, found });
        }
        encoded.push(bytes);
    }
    check_root(LIST, &encoded, root).map(|()| true)
}

/// A list of RLP that is being made.
#[derive(Default)]
struct List(Vec<u8>);

impl List {
    fn add(&mut self, item: impl Encodable) {
        item.encode(&mut self.0);
    }

    /// The list after the bytes that precede it.
    fn finish(self, prefix: &[u8]) -> Vec<u8> {
        let mut out = prefix.to_vec();
        Header { list: true, payload_length: self.0.len() }.encode(&mut out);
        out.put_slice(&self.0);
        out
    }

    fn add_list(&mut self, list: Self) {
        self.0.extend(list.finish(&[]));
    }
}

/// The bytes of a transaction (EIP-2718); `None` if its type is unknown.
fn encode(transaction: &Value) -> Result<Option<Vec<u8>>, FieldError> {
    let fields = Fields::of(transaction)?;
    let kind = fields.optional("type", Fields::u64)?.unwrap_or_default();
    let Some(kind) = u8::try_from(kind).ok().filter(|kind| *kind <= 4) else { return Ok(None) };
    let mut list = List::default();
    if kind > 0 {
        list.add(fields.u256("chainId")?);
    }
    list.add(fields.u64("nonce")?);
    if kind > 1 {
        list.add(fields.u256("maxPriorityFeePerGas")?);
        list.add(fields.u256("maxFeePerGas")?);
    } else {
        list.add(fields.u256("gasPrice")?);
    }
    list.add(fields.u64("gas")?);
    match fields.optional("to", Fields::address)? {
        Some(to) => list.add(to),
        None => list.add(Bytes::new()),
    }
    list.add(fields.u256("value")?);
    list.add(fields.bytes("input")?);
    if kind > 0 {
        list.add_list(access_list(fields)?);
    }
    if kind == 3 {
        list.add(fields.u256("maxFeePerBlobGas")?);
        let mut hashes = List::default();
        for hash in fields.list("blobVersionedHashes")? {
            hashes.add(hash_of("blobVersionedHashes", hash)?);
        }
        list.add_list(hashes);
    }
    if kind == 4 {
        list.add_list(authorizations(fields)?);
    }
    add_signature(&mut list, fields, kind)?;
    let prefix = [kind];
    Ok(Some(list.finish(if kind == 0 { &[] } else { &prefix })))
}

/// Typed transactions have the parity, which some sources call `v` only.
fn add_signature(list: &mut List, fields: Fields<'_>, kind: u8) -> Result<(), FieldError> {
    let parity = fields.optional("yParity", Fields::u256)?.filter(|_| kind > 0);
    let v: U256 = parity.map_or_else(|| fields.u256("v"), Ok)?;
    list.add(v);
    list.add(fields.u256("r")?);
    list.add(fields.u256("s")?);
    Ok(())
}

fn access_list(fields: Fields<'_>) -> Result<List, FieldError> {
    let mut out = List::default();
    let list = fields.optional("accessList", Fields::list)?.unwrap_or_default();
    for entry in list {
        let entry = Fields::of(entry)?;
        let (mut item, mut keys) = (List::default(), List::default());
        item.add(entry.address("address")?);
        for key in entry.list("storageKeys")? {
            keys.add(hash_of("storageKeys", key)?);
        }
        item.add_list(keys);
        out.add_list(item);
    }
    Ok(out)
}

fn authorizations(fields: Fields<'_>) -> Result<List, FieldError> {
    let mut out = List::default();
    for entry in fields.list("authorizationList")? {
        let entry = Fields::of(entry)?;
        let mut item = List::default();
        item.add(entry.u256("chainId")?);
        item.add(entry.address("address")?);
        item.add(entry.u64("nonce")?);
        add_signature(&mut item, entry, 4)?;
        out.add_list(item);
    }
    Ok(out)
}

fn hash_of(field: &str, value: &Value) -> Result<B256, FieldError> {
    fixed(value).ok_or_else(|| FieldError::new(field, "32 bytes in hexadecimal", Some(value)))
}

#[cfg(test)]
mod tests {
    use alloy_consensus::{
        SignableTransaction, TxEip1559, TxEip2930, TxEip4844, TxEip7702, TxLegacy,
    };
    use alloy_eips::eip2930::{AccessList, AccessListItem};
    use alloy_eips::eip7702::{Authorization, SignedAuthorization};
    use alloy_primitives::{Address, Signature, TxKind};
    use serde_json::json;

    use super::*;

    const TO: Address = Address::repeat_byte(7);
    const KEY: B256 = B256::repeat_byte(9);

    fn signature() -> Signature {
        Signature::new(U256::from(11), U256::from(1) << 200, true)
    }

    /// The JSON of a transaction with the fields that each type has, and further ones.
    fn with(kind: u8, more: Value) -> Value {
        let mut transaction = json!({
            "type": format!("{kind:#x}"), "chainId": "0x539", "nonce": "0x5", "gas": "0x5208",
            "to": TO.to_string(), "value": "0x3", "input": "0x0102", "r": "0xb",
            "s": format!("{:#x}", U256::from(1) << 200), "v": "0x1", "blockNumber": "0x1",
            "from": TO.to_string(),
        });
        let more = more.as_object().unwrap().clone();
        transaction.as_object_mut().unwrap().extend(more);
        transaction
    }

    fn access_list() -> AccessList {
        AccessList(vec![AccessListItem { address: TO, storage_keys: vec![KEY] }])
    }

    /// Checks a transaction, and that each change of a field is noticed.
    fn check(mut transaction: Value, hash: B256) {
        transaction["hash"] = json!(hash.to_string());
        let encoded = encode(&transaction).unwrap().unwrap();
        assert_eq!(keccak256(&encoded), hash, "{transaction}");
        let block = |transaction: &Value| json!({"transactions": [transaction]});
        let root = ordered_root(&encoded);
        assert_eq!(check_transactions(&block(&transaction), root), Ok(true));
        assert!(matches!(
            check_transactions(&block(&transaction), B256::ZERO),
            Err(BodyFault::Root { .. })
        ));
        for field in ["nonce", "gas", "value", "input", "r", "to"] {
            let mut other = transaction.clone();
            other[field] =
                json!(if field == "to" { Address::ZERO.to_string() } else { "0x77".to_owned() });
            let fault = check_transactions(&block(&other), root).unwrap_err();
            assert!(matches!(fault, BodyFault::Hash { index: 0, .. }), "{field}: {fault}");
            other.as_object_mut().unwrap().remove(field);
            if field != "to" {
                let fault = check_transactions(&block(&other), root).unwrap_err();
                assert!(matches!(fault, BodyFault::Form { index: 0, .. }), "{field}: {fault}");
            }
        }
    }

    fn ordered_root(encoded: &[u8]) -> B256 {
        alloy_trie::root::ordered_trie_root_with_encoder(&[encoded], |bytes, out: &mut Vec<u8>| {
            out.put_slice(bytes);
        })
    }

    #[test]
    fn each_type_has_the_hash_of_its_fields() {
        let (to, value, input) = (TxKind::Call(TO), U256::from(3), Bytes::from(vec![1, 2]));
        let legacy = TxLegacy {
            chain_id: Some(1337),
            nonce: 5,
            gas_price: 100,
            gas_limit: 21_000,
            to,
            value,
            input: input.clone(),
        };
        let v = json!({"gasPrice": "0x64", "v": "0xa96"});
        check(with(0, v), *legacy.into_signed(signature()).hash());
        let listed = json!([{"address": TO.to_string(), "storageKeys": [KEY.to_string()]}]);
        let tx = TxEip2930 {
            chain_id: 1337,
            nonce: 5,
            gas_price: 100,
            gas_limit: 21_000,
            to,
            value,
            access_list: access_list(),
            input: input.clone(),
        };
        let more = json!({"gasPrice": "0x64", "accessList": listed, "yParity": "0x1"});
        check(with(1, more), *tx.into_signed(signature()).hash());
        let tx = TxEip1559 {
            chain_id: 1337,
            nonce: 5,
            gas_limit: 21_000,
            max_fee_per_gas: 100,
            max_priority_fee_per_gas: 2,
            to,
            value,
            access_list: AccessList::default(),
            input: input.clone(),
        };
        // The effective price is there, too, and the parity only as v.
        let fees = json!({
            "gasPrice": "0x7", "maxFeePerGas": "0x64", "maxPriorityFeePerGas": "0x2", "accessList": [],
        });
        check(with(2, fees.clone()), *tx.into_signed(signature()).hash());
        let tx = TxEip4844 {
            chain_id: 1337,
            nonce: 5,
            gas_limit: 21_000,
            max_fee_per_gas: 100,
            max_priority_fee_per_gas: 2,
            to: TO,
            value,
            access_list: access_list(),
            blob_versioned_hashes: vec![KEY],
            max_fee_per_blob_gas: 8,
            input: input.clone(),
        };
        let mut more = fees.clone();
        more["accessList"] = listed.clone();
        more["maxFeePerBlobGas"] = json!("0x8");
        more["blobVersionedHashes"] = json!([KEY.to_string()]);
        check(with(3, more), *tx.into_signed(signature()).hash());
        let authorization = Authorization { chain_id: U256::from(1), address: TO, nonce: 6 };
        let signed =
            SignedAuthorization::new_unchecked(authorization, 1, U256::from(2), U256::from(3));
        let tx = TxEip7702 {
            chain_id: 1337,
            nonce: 5,
            gas_limit: 21_000,
            max_fee_per_gas: 100,
            max_priority_fee_per_gas: 2,
            to: TO,
            value,
            access_list: access_list(),
            authorization_list: vec![signed],
            input,
        };
        let mut more = fees;
        more["accessList"] = listed;
        more["authorizationList"] = json!([{
            "chainId": "0x1", "address": TO.to_string(), "nonce": "0x6", "yParity": "0x1", "r": "0x2",
            "s": "0x3",
        }]);
        check(with(4, more), *tx.into_signed(signature()).hash());
    }

    #[test]
    fn what_can_not_be_checked_passes() {
        for transactions in [json!([KEY.to_string()]), json!([{"type": "0x7e", "hash": "0x1"}])] {
            let block = json!({"transactions": transactions});
            assert_eq!(check_transactions(&block, B256::ZERO), Ok(false));
        }
        let empty = json!({"transactions": []});
        assert_eq!(check_transactions(&empty, alloy_trie::EMPTY_ROOT_HASH), Ok(true));
        for block in
            [json!({}), json!({"transactions": 7}), json!({"transactions": [7]}), Value::Null]
        {
            assert!(matches!(check_transactions(&block, B256::ZERO), Err(BodyFault::Form { .. })));
        }
    }
}
