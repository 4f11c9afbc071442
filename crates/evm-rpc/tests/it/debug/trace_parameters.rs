//! Every form of the parameters of traces, and what is answered to the forms that are wrong.

use alloy_primitives::U256;
use serde_json::{Value, json};

use super::world::World;

const UNKNOWN: &str = "0x1212121212121212121212121212121212121212121212121212121212121212";

/// A chain of two blocks: a contract that sets slots, and a transaction that calls it.
struct Traced {
    world: World,
    contract: String,
    tx: String,
    hash: Value,
    genesis: Value,
}

impl Traced {
    async fn new() -> Self {
        let world = World::new(std::path::Path::new("/nowhere"));
        let contract = world.deploy_setter(0);
        world.block().await;
        let tx = world.set_slots(1, contract, &[(U256::from(1), U256::from(7))]);
        world.block().await;
        let hash = world.call("eth_getBlockByNumber", json!(["0x2", false])).await["hash"].clone();
        let genesis = world.call("eth_getBlockByNumber", json!(["0x0", false])).await;
        let genesis = genesis["hash"].clone();
        Self { world, contract: contract.to_string(), tx: tx.to_string(), hash, genesis }
    }

    async fn trace_tx(&self, config: Value) -> Value {
        self.world.call("debug_traceTransaction", json!([self.tx, config])).await
    }

    async fn refused(&self, method: &str, cases: &[(Value, i64, &str)]) {
        for (params, code, text) in cases {
            let error = self.world.error(method, params.clone()).await;
            assert_eq!(error, (*code, (*text).to_owned()), "{method} {params}");
        }
    }
}

#[tokio::test]
async fn transactions() {
    let traced = Traced::new().await;
    let tx = traced.tx.as_str();
    let plain = traced.world.call("debug_traceTransaction", json!([tx])).await;
    assert_eq!(plain["gas"], 43429);
    assert_eq!(traced.trace_tx(Value::Null).await, plain);
    assert_eq!(traced.trace_tx(json!({})).await, plain);
    let upper = tx.to_uppercase();
    assert_eq!(traced.world.call("debug_traceTransaction", json!([upper])).await, plain);
    let hash = "Go value of type common.Hash";
    let config = "Go value of type tracers.TraceConfig";
    traced
        .refused(
            "debug_traceTransaction",
            &[
                (json!([]), -32602, "missing value for required argument 0"),
                (json!({"hash": tx}), -32602, "non-array args"),
                (json!([tx, {}, 1]), -32602, "too many arguments, want at most 2"),
                (
                    json!(["0x12"]),
                    -32602,
                    "invalid argument 0: hex string has length 2, want 64 for common.Hash",
                ),
                (json!([UNKNOWN]), -32000, "transaction not found"),
            ],
        )
        .await;
    for (params, text) in [
        (json!([null]), format!("0: json: cannot unmarshal non-string into {hash}")),
        (json!([5]), format!("0: json: cannot unmarshal non-string into {hash}")),
        (
            json!([&tx[2..]]),
            format!("0: json: cannot unmarshal hex string without 0x prefix into {hash}"),
        ),
        (json!([tx, []]), format!("1: json: cannot unmarshal array into {config}")),
        (json!([tx, "x"]), format!("1: json: cannot unmarshal string into {config}")),
        (json!([tx, 5]), format!("1: json: cannot unmarshal number into {config}")),
    ] {
        let text = format!("invalid argument {text}");
        traced.refused("debug_traceTransaction", &[(params, -32602, text.as_str())]).await;
    }
}

#[tokio::test]
async fn members_of_the_configuration() {
    let traced = Traced::new().await;
    let plain = traced.trace_tx(json!({})).await;
    for same in [
        json!({"tracer": null, "timeout": null, "reexec": null, "tracerConfig": null}),
        json!({"timeout": "1h"}),
        json!({"timeout": "1.5h30m"}),
        json!({"reexec": 0}),
        json!({"reexec": u64::MAX}),
        json!({"overrides": {"cancunTime": 0}}),
        json!({"overrides": null}),
        json!({"limit": 0, "debug": true}),
        // Only a tracer has a use for it, and only calls have overrides.
        json!({"tracerConfig": 5}),
        json!({"stateOverrides": 5, "unknown": [1]}),
    ] {
        assert_eq!(traced.trace_tx(same.clone()).await, plain, "{same}");
    }
    for (limit, steps) in [(1, 1), (3, 3), (-1, 0)] {
        let limited = traced.trace_tx(json!({"limit": limit})).await;
        assert_eq!(limited["structLogs"].as_array().unwrap().len(), steps, "{limit}");
    }
    let calls = traced.trace_tx(json!({"tracer": "callTracer"})).await;
    assert_eq!(traced.trace_tx(json!({"TRACER": "callTracer", "tracerConfig": null})).await, calls);
    // As the reference writes members that have no names for JSON.
    for (member, value, found, go_type) in [
        ("Tracer", json!(5), "number", "string"),
        ("Timeout", json!(5), "number", "string"),
        ("Reexec", json!(-1), "number -1", "uint64"),
        ("Reexec", json!(1.5), "number 1.5", "uint64"),
        ("Reexec", json!("128"), "string", "uint64"),
        ("limit", json!("x"), "string", "int"),
        ("limit", json!(1.5), "number 1.5", "int"),
        ("enableMemory", json!("x"), "string", "bool"),
        ("disableStack", json!(1), "number", "bool"),
        ("disableStorage", json!([]), "array", "bool"),
        ("enableReturnData", json!({}), "object", "bool"),
        ("debug", json!(1), "number", "bool"),
        ("overrides", json!(5), "number", "params.ChainConfig"),
        ("overrides", json!("x"), "string", "params.ChainConfig"),
        ("overrides", json!([]), "array", "params.ChainConfig"),
    ] {
        let field = format!("Go struct field TraceConfig.{member} of type {go_type}");
        let text = format!("invalid argument 1: json: cannot unmarshal {found} into {field}");
        let params = json!([traced.tx, {member: value}]);
        traced.refused("debug_traceTransaction", &[(params, -32602, text.as_str())]).await;
    }
}

#[tokio::test]
async fn tracers_and_times() {
    let traced = Traced::new().await;
    let not_defined =
        |name: &str| format!("ReferenceError: {name} is not defined at <eval>:1:2(0)");
    let no_scripts = "this node runs no tracers in JavaScript";
    let alone = "muxTracer takes no tracers in JavaScript, trace with them alone";
    let script = "{fault:function(){},result:function(){return 1}}";
    let mux = |name: &str| json!({"tracer": "muxTracer", "tracerConfig": {name: {}}});
    let native = "Go value of type native.callTracerConfig";
    let cut = format!("{}...", "q".repeat(100));
    for (config, text) in [
        (json!({"tracer": "nope"}), not_defined("nope")),
        (json!({"tracer": "CallTracer"}), not_defined("CallTracer")),
        (json!({"tracer": "q".repeat(3000)}), not_defined(&cut)),
        (json!({"tracer": "callTracer "}), no_scripts.to_owned()),
        (json!({"tracer": script}), no_scripts.to_owned()),
        (mux("nope"), format!("{}: {alone}", not_defined("nope"))),
        (mux(script), alone.to_owned()),
        (
            json!({"tracer": "callTracer", "tracerConfig": 5}),
            format!("json: cannot unmarshal number into {native}"),
        ),
        (
            json!({"tracer": "callTracer", "tracerConfig": []}),
            format!("json: cannot unmarshal array into {native}"),
        ),
        (
            json!({"tracer": "callTracer", "tracerConfig": {"onlyTopCall": 1}}),
            "json: cannot unmarshal number into Go struct field callTracerConfig.onlyTopCall of type bool"
                .to_owned(),
        ),
        (json!({"timeout": "5"}), "time: missing unit in duration \"5\"".to_owned()),
        (json!({"timeout": ""}), "time: invalid duration \"\"".to_owned()),
        (json!({"timeout": "1 h"}), "time: unknown unit \" h\" in duration \"1 h\"".to_owned()),
        (json!({"timeout": "9999999h"}), "time: invalid duration \"9999999h\"".to_owned()),
    ] {
        for (method, place) in [
            ("debug_traceTransaction", json!(traced.tx)),
            ("debug_traceBlockByNumber", json!("0x2")),
            ("debug_traceBlockByHash", traced.hash.clone()),
        ] {
            let params = json!([place, config]);
            traced.refused(method, &[(params, -32000, text.as_str())]).await;
        }
        let call = json!([{"to": traced.contract}, "latest", config]);
        traced.refused("debug_traceCall", &[(call, -32000, text.as_str())]).await;
    }
    for empty in [json!({"tracer": ""}), mux("")] {
        let (code, text) =
            traced.world.error("debug_traceTransaction", json!([traced.tx, empty])).await;
        assert!(code == -32000 && text.starts_with("SyntaxError"), "{text}");
    }
    assert_eq!(traced.trace_tx(json!({"tracer": "muxTracer"})).await, json!({}));
}

/// A loop without an end: JUMPDEST, PUSH1 0, JUMP.
#[tokio::test]
async fn a_time_that_is_over_ends_what_runs() {
    let traced = Traced::new().await;
    let endless = json!({"data": "0x5b600056", "gas": "0x2faf080"});
    for timeout in ["0", "0s", "-1s", "1ns"] {
        let params = json!([endless, "latest", {"timeout": timeout, "tracer": "noopTracer"}]);
        let (code, text) = traced.world.error("debug_traceCall", params).await;
        assert!(code == -32000 && text.ends_with("execution timeout"), "{timeout}: {text}");
    }
}

#[tokio::test]
async fn blocks() {
    let traced = Traced::new().await;
    let world = &traced.world;
    let expected = world.call("debug_traceBlockByNumber", json!(["0x2"])).await;
    assert_eq!(expected[0]["txHash"], json!(traced.tx));
    for name in ["latest", "pending", "accepted", "finalized", "safe"] {
        assert_eq!(world.call("debug_traceBlockByNumber", json!([name])).await, expected, "{name}");
    }
    assert_eq!(world.call("debug_traceBlockByHash", json!([traced.hash])).await, expected);
    let raw = world.call("debug_getRawBlock", json!(["0x2"])).await;
    assert_eq!(world.call("debug_traceBlock", json!([raw, null])).await, expected);
    let no_prefix = "invalid argument 0: hex string without 0x prefix";
    traced
        .refused(
            "debug_traceBlockByNumber",
            &[
                (json!([]), -32602, "missing value for required argument 0"),
                (json!([null]), -32602, no_prefix),
                (json!([5]), -32602, no_prefix),
                (json!(["x"]), -32602, no_prefix),
                (json!(["Latest"]), -32602, no_prefix),
                (json!([{"blockNumber": "0x2"}]), -32602, no_prefix),
                (json!(["0x"]), -32602, "invalid argument 0: hex string \"0x\""),
                (json!([""]), -32602, "invalid argument 0: empty hex string"),
                (
                    json!(["0x02"]),
                    -32602,
                    "invalid argument 0: hex number with leading zero digits",
                ),
                (json!([traced.hash]), -32602, "invalid argument 0: hex number > 64 bits"),
                (
                    json!(["0x8000000000000000"]),
                    -32602,
                    "invalid argument 0: block number larger than int64",
                ),
                (json!(["0x7fffffffffffffff"]), -32000, "cannot query unfinalized data"),
                (json!(["0x3"]), -32000, "cannot query unfinalized data"),
                (json!(["0x0"]), -32000, "genesis is not traceable"),
                (json!(["earliest"]), -32000, "genesis is not traceable"),
            ],
        )
        .await;
    let hash = "Go value of type common.Hash";
    let not_string = format!("invalid argument 0: json: cannot unmarshal non-string into {hash}");
    let prefix = format!(
        "invalid argument 0: json: cannot unmarshal hex string without 0x prefix into {hash}"
    );
    let unknown = format!("block {UNKNOWN} not found");
    traced
        .refused(
            "debug_traceBlockByHash",
            &[
                (json!([null]), -32602, not_string.as_str()),
                (json!([{"blockHash": traced.hash}]), -32602, not_string.as_str()),
                (json!(["latest"]), -32602, prefix.as_str()),
                (json!([UNKNOWN]), -32000, unknown.as_str()),
                (json!([traced.genesis]), -32000, "genesis is not traceable"),
            ],
        )
        .await;
}

#[tokio::test]
async fn blocks_as_bytes() {
    let traced = Traced::new().await;
    let raw = async |number: &str| {
        let raw = traced.world.call("debug_getRawBlock", json!([number])).await;
        raw.as_str().unwrap().to_owned()
    };
    let (genesis, last) = (raw("0x0").await, raw("0x2").await);
    // Its parent's hash begins behind the heads of three lists and of the hash.
    let orphan = format!("{}{}{}", &last[..16], "12".repeat(32), &last[80..]);
    let no_parent = format!("block {UNKNOWN} not found");
    let bytes = "Go value of type hexutil.Bytes";
    let not_string = format!("invalid argument 0: json: cannot unmarshal non-string into {bytes}");
    let odd =
        format!("invalid argument 0: json: cannot unmarshal hex string of odd length into {bytes}");
    let decoding = "could not decode block: ";
    traced
        .refused(
            "debug_traceBlock",
            &[
                (json!([]), -32602, "missing value for required argument 0"),
                (json!([null]), -32602, not_string.as_str()),
                (json!([[1, 2]]), -32602, not_string.as_str()),
                (json!(["0x1"]), -32602, odd.as_str()),
                (json!(["0x"]), -32000, &format!("{decoding}EOF")),
                (
                    json!(["0x01"]),
                    -32000,
                    &format!("{decoding}rlp: expected input list for types.extblock"),
                ),
                (
                    json!(["0xc0"]),
                    -32000,
                    &format!("{decoding}rlp: too few elements for types.extblock"),
                ),
                (
                    json!([&last[..last.len() - 2]]),
                    -32000,
                    &format!("{decoding}rlp: value size exceeds available input length"),
                ),
                (
                    json!([format!("{last}00")]),
                    -32000,
                    &format!("{decoding}rlp: input contains more than one value"),
                ),
                (json!([genesis]), -32000, "genesis is not traceable"),
                (json!([orphan]), -32000, no_parent.as_str()),
            ],
        )
        .await;
}

#[tokio::test]
async fn calls_and_their_blocks() {
    let traced = Traced::new().await;
    let (world, hash) = (&traced.world, &traced.hash);
    let call = json!({"to": traced.contract});
    let expected = world.call("debug_traceCall", json!([call, "latest"])).await;
    assert_eq!(expected["gas"], 23249);
    for block in [
        json!("safe"),
        json!("finalized"),
        json!("accepted"),
        json!("0x2"),
        json!(hash),
        json!({"blockNumber": "0x2"}),
        json!({"blockHash": hash}),
        json!({"blockHash": hash, "requireCanonical": true}),
    ] {
        assert_eq!(world.call("debug_traceCall", json!([call, block])).await, expected, "{block}");
    }
    let earliest = world.call("debug_traceCall", json!([call, "earliest", {}])).await;
    assert_eq!((&earliest["gas"], &earliest["structLogs"]), (&json!(21000), &json!([])));
    let nothing = world.call("debug_traceCall", json!([null, "latest", null])).await;
    assert_eq!(nothing["gas"], 53000);
    let neither = "invalid arguments; neither block nor hash specified";
    let pending = "tracing on top of pending is not supported";
    let unknown = format!("block {UNKNOWN} not found");
    traced
        .refused(
            "debug_traceCall",
            &[
                (json!([]), -32602, "missing value for required argument 0"),
                (json!([call]), -32602, "missing value for required argument 1"),
                (json!([call, "latest", {}, 1]), -32602, "too many arguments, want at most 3"),
                (
                    json!([5, "latest"]),
                    -32602,
                    "invalid argument 0: json: cannot unmarshal number into Go value of type ethapi.TransactionArgs",
                ),
                (
                    json!([call, 5]),
                    -32602,
                    "invalid argument 1: json: cannot unmarshal number into Go value of type string",
                ),
                (json!([call, "x"]), -32602, "invalid argument 1: hex string without 0x prefix"),
                (
                    json!([call, {"blockNumber": "0x2", "blockHash": hash}]),
                    -32602,
                    "invalid argument 1: cannot specify both BlockHash and BlockNumber, choose one or the other",
                ),
                (
                    json!([call, "latest", 5]),
                    -32602,
                    "invalid argument 2: json: cannot unmarshal number into Go value of type tracers.TraceCallConfig",
                ),
                (json!([call, null]), -32000, neither),
                (json!([call, {}]), -32000, neither),
                (json!([call, "pending"]), -32000, pending),
                (json!([call, {"blockNumber": "pending"}]), -32000, pending),
                (json!([call, "0x3"]), -32000, "cannot query unfinalized data"),
                (json!([call, UNKNOWN]), -32000, unknown.as_str()),
                (json!([call, {"blockHash": UNKNOWN}]), -32000, unknown.as_str()),
            ],
        )
        .await;
}

#[tokio::test]
async fn calls_and_what_they_change() {
    let traced = Traced::new().await;
    let (world, contract) = (&traced.world, traced.contract.as_str());
    let call = json!({"to": contract});
    let with = |config: Value| json!([call, "latest", config]);
    let plain = world.call("debug_traceCall", with(json!({}))).await;
    let absent = json!({"stateOverrides": null, "blockOverrides": null});
    assert_eq!(world.call("debug_traceCall", with(absent)).await, plain);
    // NUMBER, PUSH1 0, MSTORE, PUSH1 32, PUSH1 0, RETURN.
    let number = json!({
        "stateOverrides": {contract: {"code": "0x4360005260206000f3"}},
        "blockOverrides": {"number": "0x1234"},
    });
    let changed = world.call("debug_traceCall", with(number)).await;
    assert_eq!(changed["returnValue"], format!("{:064x}", 0x1234));
    let field = "Go struct field TraceCallConfig";
    for (config, text) in [
        (
            json!({"stateOverrides": 5}),
            format!("number into {field}.StateOverrides of type ethapi.StateOverride"),
        ),
        (
            json!({"blockOverrides": 5}),
            format!("number into {field}.BlockOverrides of type ethapi.BlockOverrides"),
        ),
        (json!({"reexec": "x"}), format!("string into {field}.Reexec of type uint64")),
        (json!({"tracer": 5}), format!("number into {field}.Tracer of type string")),
        (json!({"enableMemory": 5}), format!("number into {field}.enableMemory of type bool")),
        (
            json!({"stateOverrides": {contract: {"balance": "x"}}}),
            "hex string without 0x prefix into Go struct field OverrideAccount.StateOverrides.balance of \
             type *hexutil.Big"
                .to_owned(),
        ),
    ] {
        let text = format!("invalid argument 2: json: cannot unmarshal {text}");
        traced.refused("debug_traceCall", &[(with(config), -32602, text.as_str())]).await;
    }
    let both = json!({"stateOverrides": {contract: {"state": {}, "stateDiff": {}}}});
    let from = json!({"from": contract, "to": contract, "value": "0x1"});
    let little = json!({"to": contract, "gas": "0x1"});
    let prices = json!({"to": contract, "gasPrice": "0x1", "maxFeePerGas": "0x1"});
    traced
        .refused(
            "debug_traceCall",
            &[
                (
                    with(both),
                    -32000,
                    &format!("account {contract} has both 'state' and 'stateDiff'"),
                ),
                (
                    json!([from, "latest"]),
                    -32000,
                    &format!(
                        "tracing failed: insufficient funds for gas * price + value: address {contract} \
                         have 0 want 1"
                    ),
                ),
                (
                    json!([little, "latest"]),
                    -32000,
                    "tracing failed: intrinsic gas too low: have 1, want 21000",
                ),
                (
                    json!([prices, "latest"]),
                    -32000,
                    "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified",
                ),
            ],
        )
        .await;
}
