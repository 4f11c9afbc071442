//! Arguments: what each type takes, what it says of the rest, and that anything has an answer.

use alloy_primitives::{Address, B256, U256, hex};
use esker_evm_rpc::wire::call::{AccessListArg, BlockOverrides, StateOverrides, TransactionArgs};
use esker_evm_rpc::wire::{
    Addr, AssetId, Big, BlockNumber, BlockNumberOrHash, Data, Hash, LogFilter, StorageKey, Uint,
    Uint64,
};
use esker_go_json::args::Argument;
use esker_go_json::{Document, to_go_vec};
use proptest::prelude::*;
use serde_json::Value;

pub(crate) fn decode<T: Argument>(json: &str) -> Result<T, String> {
    T::decode(Document::first(json.as_bytes()).unwrap()).map_err(|error| error.to_string())
}

/// Checks the error texts of values that do not fit.
#[track_caller]
pub(crate) fn refused<T: Argument>(texts: &[(&str, &str)]) {
    for (json, text) in texts {
        assert_eq!(decode::<T>(json).err().as_deref(), Some(*text), "{json}");
    }
}

pub(crate) fn mismatch(found: &str, of: &str) -> String {
    format!("json: cannot unmarshal {found} into Go value of type {of}")
}

/// Checks the values that every number of a type refuses.
fn refused_numbers<T: Argument>(name: &str) {
    let non_string = mismatch("non-string", name);
    for json in ["null", "5", "{}", "[]", "true"] {
        assert_eq!(decode::<T>(json).err(), Some(non_string.clone()), "{json}");
    }
    for (json, found) in [
        ("\"5\"", "hex string without 0x prefix"),
        ("\"latest\"", "hex string without 0x prefix"),
        ("\"0x\"", "hex string \"0x\""),
        ("\"0x05\"", "hex number with leading zero digits"),
        ("\"0x00\"", "hex number with leading zero digits"),
        ("\"0xg\"", "invalid hex string"),
        ("\"0x-1\"", "invalid hex string"),
        // Escapes are not resolved here.
        ("\"\\u0030x1\"", "hex string without 0x prefix"),
    ] {
        assert_eq!(decode::<T>(json).err(), Some(mismatch(found, name)), "{json}");
    }
}

#[test]
fn numbers() {
    assert_eq!(decode("\"0x0\""), Ok(Uint64(0)));
    assert_eq!(decode("\"\""), Ok(Uint64(0)));
    assert_eq!(decode("\"0Xff\""), Ok(Uint64(255)));
    assert_eq!(decode("\"0xffffffffffffffff\""), Ok(Uint64(u64::MAX)));
    assert_eq!(decode("\"0xABCdef\""), Ok(Big(U256::from(0xab_cdef))));
    assert_eq!(decode(&format!("\"{:#x}\"", U256::MAX)), Ok(Big(U256::MAX)));
    refused_numbers::<Uint64>("hexutil.Uint64");
    refused_numbers::<Uint>("hexutil.Uint");
    refused_numbers::<Big>("*hexutil.Big");
    let long = mismatch("hex number > 64 bits", "hexutil.Uint64");
    refused::<Uint64>(&[("\"0x10000000000000000\"", &long), ("\"0x1zzzzzzzzzzzzzzzz\"", &long)]);
    let longer = format!("\"0x1{}\"", "0".repeat(64));
    refused::<Big>(&[(&longer, &mismatch("hex number > 256 bits", "*hexutil.Big"))]);
}

#[test]
fn bytes() {
    assert_eq!(decode("\"0x\""), Ok(Data::default()));
    assert_eq!(decode("\"\""), Ok(Data::default()));
    assert_eq!(decode("\"0XaBcD\""), Ok(Data(vec![0xab, 0xcd].into())));
    let address = Address::repeat_byte(0xab);
    assert_eq!(decode(&format!("\"{address:#x}\"")), Ok(Addr(address)));
    // The checksum of mixed case is not looked at.
    assert_eq!(decode(&format!("\"{}\"", address.to_string().to_uppercase())), Ok(Addr(address)));
    for (name, refuse) in [
        ("hexutil.Bytes", refused::<Data> as fn(&[(&str, &str)])),
        ("common.Hash", refused::<Hash>),
        ("common.Address", refused::<Addr>),
    ] {
        refuse(&[
            ("null", &mismatch("non-string", name)),
            ("5", &mismatch("non-string", name)),
            ("\"12\"", &mismatch("hex string without 0x prefix", name)),
            ("\"0x1\"", &mismatch("hex string of odd length", name)),
        ]);
    }
    refused::<Data>(&[("\"0xzz\"", &mismatch("invalid hex string", "hexutil.Bytes"))]);
    let hash = |digits: &str| format!("\"0x{}\"", digits.repeat(32));
    refused::<Hash>(&[
        ("\"0x12\"", "hex string has length 2, want 64 for common.Hash"),
        ("\"\"", "hex string has length 0, want 64 for common.Hash"),
        ("\"0x\"", "hex string has length 0, want 64 for common.Hash"),
        ("\"0xzz\"", "hex string has length 2, want 64 for common.Hash"),
        (&hash("zz"), &mismatch("invalid hex string", "common.Hash")),
    ]);
    refused::<Addr>(&[("\"0x12\"", "hex string has length 2, want 40 for common.Address")]);
}

#[test]
fn assets() {
    assert_eq!(decode("null"), Ok(AssetId::default()));
    assert_eq!(decode("\"11111111111111111111111111111111LpoYY\""), Ok(AssetId::default()));
    refused::<AssetId>(&[
        ("5", "first and last characters should be quotes"),
        ("\"nope\"", "couldn't decode ID to bytes: input string is smaller than the checksum size"),
    ]);
}

#[test]
fn block_numbers() {
    for (name, number) in [
        ("earliest", BlockNumber::Earliest),
        ("latest", BlockNumber::Latest),
        ("pending", BlockNumber::Pending),
        ("accepted", BlockNumber::Accepted),
        ("finalized", BlockNumber::Finalized),
        ("safe", BlockNumber::Safe),
        ("0x0", BlockNumber::Number(0)),
        ("0xfF", BlockNumber::Number(255)),
        ("0x7fffffffffffffff", BlockNumber::Number(i64::MAX as u64)),
    ] {
        assert_eq!(decode(&format!("\"{name}\"")), Ok(number));
        assert_eq!(decode(&format!("\"{name}\"")), Ok(BlockNumberOrHash::Number(number)));
        let object = format!("{{\"blockNumber\":\"{name}\"}}");
        assert_eq!(decode(&object), Ok(BlockNumberOrHash::Number(number)));
    }
    refused::<BlockNumber>(&[
        ("null", "hex string without 0x prefix"),
        ("5", "hex string without 0x prefix"),
        ("{}", "hex string without 0x prefix"),
        ("\"Latest\"", "hex string without 0x prefix"),
        ("\"\"", "empty hex string"),
        ("\"0x\"", "hex string \"0x\""),
        ("\"0x01\"", "hex number with leading zero digits"),
        ("\"0xz\"", "invalid hex string"),
        ("\"0x1000000000000000z\"", "invalid hex string"),
        ("\"0x10000000000000000z\"", "hex number > 64 bits"),
        ("\"0x8000000000000000\"", "block number larger than int64"),
    ]);
}

#[test]
fn block_numbers_or_hashes() {
    let hash = B256::repeat_byte(0xab);
    let by_hash = |require_canonical| BlockNumberOrHash::Hash { hash, require_canonical };
    assert_eq!(decode(&format!("\"{hash}\"")), Ok(by_hash(false)));
    assert_eq!(decode(&format!("{{\"blockHash\":\"{hash}\"}}")), Ok(by_hash(false)));
    let canonical = format!("{{\"BLOCKHASH\":\"{hash}\",\"requireCanonical\":true,\"x\":1}}");
    assert_eq!(decode(&canonical), Ok(by_hash(true)));
    assert_eq!(decode("null"), Ok(BlockNumberOrHash::Null));
    for nothing in ["{}", "{\"blockHash\":null}", "{\"requireCanonical\":true}"] {
        assert_eq!(decode(nothing), Ok(BlockNumberOrHash::Neither), "{nothing}");
    }
    let both = format!("{{\"blockNumber\":\"0x1\",\"blockHash\":\"{hash}\"}}");
    let no_hash = format!("\"{}\"", "a".repeat(66));
    let bad_hash = format!("\"0x{}\"", "z".repeat(64));
    refused::<BlockNumberOrHash>(&[
        (&both, "cannot specify both BlockHash and BlockNumber, choose one or the other"),
        (&no_hash, "hex string without 0x prefix"),
        (&bad_hash, "invalid hex string"),
        ("5", "json: cannot unmarshal number into Go value of type string"),
        ("true", "json: cannot unmarshal bool into Go value of type string"),
        ("[]", "json: cannot unmarshal array into Go value of type string"),
        // A fault within an object is not reported.
        ("{\"blockNumber\":5}", "json: cannot unmarshal object into Go value of type string"),
        ("{\"requireCanonical\":1}", "json: cannot unmarshal object into Go value of type string"),
        ("\"\"", "empty hex string"),
        ("\"0x8000000000000000\"", "blocknumber too high"),
    ]);
}

#[test]
fn storage_keys() {
    let shown = |text: &str| {
        let key = StorageKey::parse(text).map_err(|error| error.to_string())?;
        Ok((key.key, String::from_utf8(to_go_vec(&key).unwrap()).unwrap()))
    };
    for text in ["", "0x", "0X", "0", "0x0", "0x00", "00"] {
        assert_eq!(shown(text), Ok((B256::ZERO, "\"0x0\"".to_owned())), "{text}");
    }
    let short = B256::with_last_byte(0x12);
    assert_eq!(shown("0x12"), Ok((short, "\"0x12\"".to_owned())));
    assert_eq!(shown(&format!("{short}")), Ok((short, format!("\"{short}\""))));
    // 63 digits are 32 bytes.
    let digits = "1".repeat(63);
    assert_eq!(shown(&digits).unwrap().1, format!("\"0x0{digits}\""));
    for (text, error) in [
        ("zz", "hex string invalid"),
        ("0xz", "hex string invalid"),
        ("0x0x12", "hex string invalid"),
        ("é", "hex string invalid"),
        (&"1".repeat(65), "hex string too long, want at most 32 bytes"),
        (&"z".repeat(66), "hex string invalid"),
    ] {
        assert_eq!(shown(text), Err(error.to_owned()), "{text}");
    }
}

#[test]
fn transactions() {
    let text = r#"{"from":"0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc","gas":"0x5208","data":"0x01","input":"0x02",
        "accessList":[{"address":"0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc","storageKeys":[]}],"type":"0x2","nonce":null}"#;
    let args: TransactionArgs = decode(text).unwrap();
    assert_eq!((args.gas, args.to, args.nonce), (Some(Uint64(21_000)), None, None));
    assert_eq!(args.payload(), vec![2]);
    assert_eq!(args.access_list.unwrap().0.len(), 1);
    assert_eq!(decode("null"), Ok(TransactionArgs::default()));
    let data: TransactionArgs = decode(r#"{"data":"0x01","input":null}"#).unwrap();
    assert_eq!(data.payload(), vec![1]);

    let field = |found: &str, field: &str, of: &str| {
        format!(
            "json: cannot unmarshal {found} into Go struct field TransactionArgs.{field} of type {of}"
        )
    };
    refused::<TransactionArgs>(&[
        ("5", &mismatch("number", "ethapi.TransactionArgs")),
        (r#"{"from":"0x12"}"#, "hex string has length 2, want 40 for common.Address"),
        (r#"{"from":5}"#, &field("non-string", "from", "common.Address")),
        (r#"{"GAS":"1"}"#, &field("hex string without 0x prefix", "gas", "hexutil.Uint64")),
        (
            r#"{"value":"0x01"}"#,
            &field("hex number with leading zero digits", "value", "*hexutil.Big"),
        ),
        (r#"{"data":"0x1"}"#, &field("hex string of odd length", "data", "hexutil.Bytes")),
        (r#"{"accessList":{}}"#, &field("object", "accessList", "types.AccessList")),
        (r#"{"accessList":[5]}"#, &field("number", "accessList", "types.AccessTuple")),
        (r#"{"accessList":[{}]}"#, "missing required field 'address' for AccessTuple"),
        (
            r#"{"accessList":[{"address":5}]}"#,
            &field("non-string", "accessList.address", "common.Address"),
        ),
        (
            r#"{"accessList":[{"address":"0x00","storageKeys":[5]}]}"#,
            "hex string has length 2, want 40 for common.Address",
        ),
        (
            r#"{"accessList":[{"storageKeys":["0x0"]}]}"#,
            &field("hex string of odd length", "accessList.storageKeys", "common.Hash"),
        ),
        (
            r#"{"accessList":[{"storageKeys":5}],"gas":5}"#,
            &field("number", "accessList.storageKeys", "[]common.Hash"),
        ),
    ]);
    let keyless = format!("{{\"accessList\":[{{\"address\":\"{:#x}\"}}]}}", Address::ZERO);
    let missing = "missing required field 'storageKeys' for AccessTuple";
    refused::<TransactionArgs>(&[(&keyless, missing)]);
}

#[test]
fn overrides() {
    let (account, slot) = (Address::repeat_byte(1), B256::repeat_byte(2));
    let text = format!(
        "{{\"{account:#x}\":{{\"balance\":\"0x1\",\"code\":\"0x00\",\"stateDiff\":{{\"{slot}\":\"{slot}\"}}}}}}"
    );
    let StateOverrides(accounts) = decode(&text).unwrap();
    let decoded = &accounts[&account];
    assert_eq!((decoded.balance, decoded.nonce), (Some(Big(U256::ONE)), None));
    assert_eq!(decoded.state_diff.as_ref().unwrap()[&slot], slot);
    assert!(decoded.state.is_none());
    assert_eq!(decode("null"), Ok(StateOverrides::default()));
    refused::<StateOverrides>(&[
        ("5", &mismatch("number", "ethapi.StateOverride")),
        ("{\"0x12\":{}}", "hex string has length 2, want 40 for common.Address"),
        ("{\"0x12\":5}", "hex string has length 2, want 40 for common.Address"),
        (
            "{\"0x12\":{\"nonce\":5}}",
            "json: cannot unmarshal non-string into Go struct field OverrideAccount.nonce of type hexutil.Uint64",
        ),
        (
            "{\"12\":{}}",
            "json: cannot unmarshal hex string without 0x prefix into Go value of type common.Address",
        ),
        (
            "{\"0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc\":{\"state\":{\"0x1\":\"0x\"}}}",
            "hex string has length 0, want 64 for common.Hash",
        ),
        (
            "{\"0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc\":{\"state\":{\"0x1\":[]}}}",
            "json: cannot unmarshal non-string into Go struct field OverrideAccount.state of type common.Hash",
        ),
        (
            "{\"0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc\":{\"balance\":\"1\"}}",
            "json: cannot unmarshal hex string without 0x prefix into Go struct field OverrideAccount.balance of type *hexutil.Big",
        ),
    ]);

    let block: BlockOverrides =
        decode("{\"number\":\"0x5\",\"time\":\"0x6\",\"baseFee\":\"0x7\"}").unwrap();
    assert_eq!((block.number, block.time), (Some(Big(U256::from(5))), Some(Uint64(6))));
    refused::<BlockOverrides>(&[(
        "{\"time\":6}",
        "json: cannot unmarshal non-string into Go struct field BlockOverrides.Time of type hexutil.Uint64",
    )]);
}

/// Members that some type has.
const NAMES: &[&str] = &[
    "from",
    "gas",
    "input",
    "accessList",
    "address",
    "storageKeys",
    "blockNumber",
    "blockHash",
    "fromBlock",
    "topics",
    "state",
    "code",
    "time",
];

/// Any JSON value; strings are often nearly right.
fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "0x[0-9a-fA-F]{0,66}",
        "0x[0-9a-f]{40}",
        "0x[0-9a-f]{64}",
        "[0-9a-zA-Z]{0,8}",
        Just("latest".to_owned()),
        any::<String>(),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    let name = prop_oneof![prop::sample::select(NAMES).prop_map(str::to_owned), text];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        let members = prop::collection::vec((name.clone(), inner.clone()), 0..5);
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(Value::from),
            members.prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Decodes or refuses; a text is a text.
fn answers<T: Argument>(json: &str) {
    if let Err(text) = decode::<T>(json) {
        assert!(!text.is_empty());
    }
}

proptest! {
    #[test]
    fn any_value_is_taken_or_refused(value in value()) {
        let json = value.to_string();
        answers::<Uint64>(&json);
        answers::<Uint>(&json);
        answers::<Big>(&json);
        answers::<Data>(&json);
        answers::<Hash>(&json);
        answers::<Addr>(&json);
        answers::<AssetId>(&json);
        answers::<BlockNumber>(&json);
        answers::<BlockNumberOrHash>(&json);
        answers::<LogFilter>(&json);
        answers::<AccessListArg>(&json);
        answers::<TransactionArgs>(&json);
        answers::<StateOverrides>(&json);
        answers::<BlockOverrides>(&json);
        answers::<Option<Vec<Data>>>(&json);
    }

    #[test]
    fn any_text_is_a_storage_key_or_not(text in "(0x)?[0-9a-zA-Z]{0,70}|\\PC*") {
        if let Ok(key) = StorageKey::parse(&text) {
            let shown: String = serde_json::from_slice(&to_go_vec(&key).unwrap()).unwrap();
            prop_assert_eq!(StorageKey::parse(&shown).unwrap(), key);
        }
    }

    #[test]
    fn what_is_written_reads_back(number in any::<u64>(), big in any::<[u8; 32]>(), bytes: Vec<u8>) {
        let text = |value: Vec<u8>| String::from_utf8(value).unwrap();
        let big = Big(U256::from_be_bytes(big) >> (number % 256) as usize);
        prop_assert_eq!(decode(&text(to_go_vec(&Uint64(number)).unwrap())), Ok(Uint64(number)));
        prop_assert_eq!(decode(&text(to_go_vec(&big).unwrap())), Ok(big));
        let data = Data(bytes.clone().into());
        let written = text(to_go_vec(&data).unwrap());
        prop_assert_eq!(&written, &format!("\"{}\"", hex::encode_prefixed(&bytes)));
        prop_assert_eq!(decode(&written), Ok(data));
    }
}
