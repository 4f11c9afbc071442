//! Forms of state tests: without bytes of transactions, of other forks, malformed.

use std::collections::BTreeMap;

use esker_state_test::{CaseResult, FORKS, Failure, run};
use serde_json::{Value, json};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/state-tests");

/// Files with access lists, with blobs, with authorizations.
const FILES: [&str; 3] = [
    "eip7939_count_leading_zeros__count_leading_zeros__clz_from_set_code",
    "eip7594_peerdas__max_blob_per_tx__invalid_max_blobs_per_tx",
    "eip7825_transaction_gas_limit_cap__tx_gas_limit__transaction_gas_limit_cap",
];

type Tests = BTreeMap<String, Value>;

fn file(name: &str) -> Tests {
    serde_json::from_slice(&std::fs::read(format!("{FOLDER}/{name}.json")).unwrap()).unwrap()
}

fn run_tests(tests: &Tests) -> Vec<CaseResult> {
    run(&serde_json::to_vec(tests).unwrap()).unwrap()
}

fn posts(tests: &mut Tests) -> impl Iterator<Item = &mut Value> {
    let forks =
        tests.values_mut().flat_map(|test| test["post"].as_object_mut().unwrap().values_mut());
    forks.flat_map(|posts| posts.as_array_mut().unwrap())
}

#[test]
fn fields_are_enough_without_bytes() {
    for name in FILES {
        let mut tests = file(name);
        posts(&mut tests).for_each(|post| drop(post.as_object_mut().unwrap().remove("txbytes")));
        for case in run_tests(&tests) {
            assert!(case.outcome.is_ok(), "{case}");
        }
        for test in tests.values_mut() {
            assert!(test["transaction"].as_object_mut().unwrap().remove("sender").is_some());
        }
        for case in run_tests(&tests) {
            assert!(case.outcome.is_ok(), "sender of the key: {case}");
        }
    }
}

/// A transfer of 5 wei at 10 wei a gas, from an account that has 1,000,000.
fn transfer() -> Value {
    json!({
        "env": {
            "currentCoinbase": "0x2adc25665018aa1fe0e6bc666dac8fc2697ff9ba",
            "currentDifficulty": "0x020000",
            "currentGasLimit": "0xff112233445566",
            "currentNumber": "1",
            "currentTimestamp": "0x03e8",
        },
        "pre": {
            "a94f5374fce5edbc8e2a8697c15331677e6ebf0b": {
                "balance": "0x0f4240", "code": "0x", "nonce": "0x00", "storage": {},
            },
        },
        "transaction": {
            "data": ["0x"], "gasLimit": ["0x5208"], "gasPrice": "0x0a", "nonce": "0x00",
            "secretKey": "0x45a915e4d060149eb4365960e6a7a45f334393093061116b197e3240065ff2d8",
            "to": "0x00000000000000000000000000000000000000aa", "value": ["0x05"],
        },
        "post": {},
    })
}

fn one(test: &Value) -> Result<(), Failure> {
    let results = run(&serde_json::to_vec(&json!({ "transfer": test })).unwrap()).unwrap();
    let [result] = <[CaseResult; 1]>::try_from(results).unwrap();
    result.outcome
}

fn with_post(fork: &str, mut post: Value) -> Value {
    let mut test = transfer();
    let fields = post.as_object_mut().unwrap();
    fields.insert("indexes".into(), json!({ "data": 0, "gas": 0, "value": 0 }));
    let no_logs = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347";
    fields.entry("logs").or_insert(no_logs.into());
    fields.entry("hash").or_insert("0x".into());
    test["post"][fork] = json!([post]);
    test
}

#[test]
fn forks_are_named() {
    for (fork, _) in FORKS {
        let got = one(&with_post(fork, json!({})));
        assert!(matches!(got, Err(Failure::Root { .. })), "{fork}: {got:?}");
    }
    for fork in ["FrontierToHomesteadAt5", "ShanghaiToCancunAtTime15k", "Amsterdam", ""] {
        let failure = one(&with_post(fork, json!({}))).unwrap_err();
        assert_eq!(failure.to_string(), format!("fork {fork} is not supported"));
    }
}

#[test]
fn root_and_logs_are_compared() {
    let root = |fork| match one(&with_post(fork, json!({}))) {
        Err(Failure::Root { got, .. }) => got,
        got => panic!("{got:?}"),
    };
    // The base fee of London is burnt.
    assert_eq!(root("Berlin"), root("Frontier"));
    assert_ne!(root("London"), root("Berlin"));
    assert_eq!(root("London"), root("Osaka"));
    let hash = root("Osaka").to_string();
    assert!(one(&with_post("Osaka", json!({ "hash": hash }))).is_ok());
    let logs = one(&with_post("Osaka", json!({ "hash": hash, "logs": "0x01" })));
    assert!(matches!(logs, Err(Failure::Logs { .. })), "{logs:?}");
}

#[test]
fn refusals_are_expected_or_not() {
    let expected = json!({ "expectException": "TR_NoFunds" });
    let executed = one(&with_post("Osaka", expected.clone())).unwrap_err();
    assert_eq!(executed.to_string(), "the transaction was executed; expected TR_NoFunds");
    let refused = |change: fn(&mut Value), text: &str| {
        let mut test = with_post("Osaka", json!({}));
        change(&mut test["transaction"]);
        let failure = one(&test).unwrap_err();
        assert_eq!(failure.to_string(), format!("the transaction was refused: {text}"));
        let mut test = with_post("Osaka", expected.clone());
        change(&mut test["transaction"]);
        assert!(one(&test).is_ok(), "{text}");
    };
    let huge = r#"value: "0x:bigint 0x10000000000000000000000000000000000000000000000000000000000000000" is not valid"#;
    refused(
        |tx| {
            tx["value"][0] = json!(
                "0x:bigint 0x10000000000000000000000000000000000000000000000000000000000000000"
            );
        },
        huge,
    );
    refused(
        |tx| tx["nonce"] = json!("0x01"),
        "nonce too high: address 0xa94f5374Fce5edBC8E2a8697C15331677e6EbF0B, tx: 1 state: 0",
    );
    refused(
        |tx| tx["gasLimit"][0] = json!("0x5207"),
        "intrinsic gas too low: have 20999, want 21000",
    );
    refused(
        |tx| tx["gasLimit"][0] = json!("0x1000001"),
        "transaction gas limit too high (cap: 16777216, tx: 16777217)",
    );
    refused(
        |tx| tx["authorizationList"] = json!([]),
        "EIP-7702 transaction with empty auth list (sender 0xa94f5374Fce5edBC8E2a8697C15331677e6EbF0B)",
    );
    refused(|tx| tx["blobVersionedHashes"] = json!([]), "blob transaction missing blob hashes");
    refused(
        |tx| tx["blobVersionedHashes"] = json!(["0x01", "0x01"]),
        "blob 0 has invalid hash version",
    );
}

/// A change of a transaction.
type Change = fn(&mut Value);

#[test]
fn types_belong_to_forks() {
    let refusal = |fork: &str, change: Change| {
        let mut test = with_post(fork, json!({}));
        change(&mut test["transaction"]);
        let text = one(&test).unwrap_err().to_string();
        text.strip_prefix("the transaction was refused: ").map(str::to_owned)
    };
    let unsupported = Some("transaction type not supported".to_owned());
    let changes: [(&str, &str, Change); 4] = [
        ("Istanbul", "Berlin", |tx| tx["accessLists"] = json!([[]])),
        ("Berlin", "London", |tx| tx["maxFeePerGas"] = json!("0x0a")),
        ("Shanghai", "Cancun", |tx| tx["maxFeePerBlobGas"] = json!("0x0a")),
        ("Cancun", "Prague", |tx| tx["authorizationList"] = json!([])),
    ];
    for (before, since, change) in changes {
        assert_eq!(refusal(before, change), unsupported, "{before}");
        assert_ne!(refusal(since, change), unsupported, "{since}");
    }
}

#[test]
fn malformed_tests_are_named() {
    assert!(run(b"{").unwrap_err().to_string().starts_with("not a file of state tests: "));
    assert!(run(br#"{"a":{}}"#).unwrap_err().to_string().contains("missing field `env`"));
    let failure = |change: fn(&mut Value)| {
        let mut test = with_post("Osaka", json!({}));
        change(&mut test);
        one(&test).unwrap_err().to_string()
    };
    let number = failure(|test| test["env"]["currentNumber"] = json!("0xz"));
    assert_eq!(number, r#"malformed: currentNumber: "0xz" is not valid"#);
    let index = failure(|test| test["post"]["Osaka"][0]["indexes"]["gas"] = json!(1));
    assert_eq!(index, "malformed: there is no gas limit with this index");
    let key = failure(|test| test["transaction"]["secretKey"] = json!("0x00"));
    assert_eq!(key, r#"malformed: secretKey: "0x00" is not valid"#);
    let bytes = failure(|test| test["post"]["Osaka"][0]["txbytes"] = json!("0x05"));
    assert!(bytes.starts_with("the transaction was refused: rlp: "), "{bytes}");
}
