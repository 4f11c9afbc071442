//! Any argument is answered.

use alloy_primitives::hex;
use esker_evm_rpc::evm::TransactConfig;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::world::World;

const METHODS: [&str; 19] = [
    "eth_call",
    "eth_callDetailed",
    "eth_estimateGas",
    "eth_createAccessList",
    "eth_gasPrice",
    "eth_baseFee",
    "eth_maxPriorityFeePerGas",
    "eth_suggestPriceOptions",
    "eth_feeHistory",
    "eth_syncing",
    "eth_sendRawTransaction",
    "eth_sendTransaction",
    "eth_fillTransaction",
    "eth_signTransaction",
    "eth_sign",
    "eth_signTypedData_v4",
    "eth_pendingTransactions",
    "eth_resend",
    "eth_accounts",
];

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!(1.5)),
        Just(json!("latest")),
        Just(json!("pending")),
        Just(json!("0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc")),
        Just(json!(format!("0x{}", "ff".repeat(32)))),
        any::<u64>().prop_map(|number| json!(format!("{number:#x}"))),
        any::<Vec<u8>>().prop_map(|bytes| json!(hex::encode_prefixed(bytes))),
        ".{0,8}".prop_map(Value::String),
    ]
}

fn argument() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "from",
        "to",
        "gas",
        "gasPrice",
        "maxFeePerGas",
        "maxPriorityFeePerGas",
        "value",
        "nonce",
        "data",
        "input",
        "accessList",
        "chainId",
        "blobVersionedHashes",
        "maxFeePerBlobGas",
        "blockNumber",
        "balance",
        "stateDiff",
        "address",
        "storageKeys",
        "time",
    ]);
    scalar().prop_recursive(3, 16, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(name.clone(), inner, 0..5)
                .prop_map(|members| json!(members)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_call_is_answered(
        calls in prop::collection::vec(
            (prop::sample::select(METHODS.to_vec()), prop::collection::vec(argument(), 0..5)),
            1..20,
        ),
    ) {
        let world = World::new(TransactConfig::default(), false);
        for (method, params) in calls {
            let params = Value::Array(params).to_string();
            let reply = block_on(world.call(method, &params));
            prop_assert!(reply.get("result").is_some() || reply.get("error").is_some());
            let crashed = reply["error"]["code"] == -32603;
            prop_assert!(!crashed, "{method}{params}: {reply}");
        }
    }

    #[test]
    fn any_transaction_is_refused_or_taken(start in prop::option::of(1u8..3), bytes: Vec<u8>) {
        let world = World::new(TransactConfig::default(), false);
        let raw: Vec<u8> = start.into_iter().chain(bytes).collect();
        let params = json!([hex::encode_prefixed(raw)]).to_string();
        let reply = block_on(world.call("eth_sendRawTransaction", &params));
        prop_assert!(reply["error"]["code"] == -32000, "{reply}");
    }
}
