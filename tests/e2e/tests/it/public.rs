//! Nodes for the public: what the profile withholds and bounds, and how much a client may ask for.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use esker_client::HttpReply;
use esker_e2e::files::tests_path;
use esker_e2e::{Node, Socket, until};
use serde_json::{Value, json};

use crate::support::{PROGRAM, local};

const RPC: &str = "/ext/bc/C/rpc";
const WS: &str = "/ext/bc/C/ws";
const X: &str = "/ext/bc/X";
const KEYSTORE: &str = "/ext/keystore";
const PASSWORD: &str = "Str0ng-Pass-W0rd!";
/// The EVM chains of tests/networks/evm-chains.json.
const EVM_CHAINS: [&str; 5] = ["C", "E", "F", "G", "N"];

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn post(node: &Node, path: &str, headers: &[(&str, &str)], body: &Value) -> HttpReply {
    let json = ("Content-Type", "application/json");
    let headers: Vec<_> = headers.iter().copied().chain([json]).collect();
    let body = body.to_string();
    node.rpc().http().request("POST", path, &headers, body.as_bytes()).unwrap()
}

fn json_of(reply: &HttpReply) -> Value {
    serde_json::from_slice(&reply.body).unwrap_or_else(|_| panic!("{}", reply.text()))
}

fn call(node: &Node, path: &str, method: &str, params: &Value) -> Value {
    json_of(&post(node, path, &[], &request(1, method, params)))
}

/// The text of a call's error; an empty one if it has none.
fn error(node: &Node, path: &str, method: &str, params: &Value) -> String {
    call(node, path, method, params)["error"]["message"].as_str().unwrap_or_default().to_owned()
}

fn status(node: &Node, path: &str) -> u16 {
    post(node, path, &[], &request(1, "admin.getLoggerLevel", &json!({}))).status
}

fn batch(node: &Node, path: &str, calls: u64) -> Value {
    let calls: Vec<_> = (0..calls).map(|id| request(id, "eth_chainId", &json!([]))).collect();
    json_of(&post(node, path, &[], &Value::Array(calls)))
}

fn ask(socket: &mut Socket, method: &str, params: &Value) -> Value {
    socket.send(&request(9, method, params).to_string()).unwrap();
    serde_json::from_str(&socket.read().unwrap()).unwrap()
}

/// Whether an endpoint of the positional dialect serves a method at all.
fn serves(node: &Node, path: &str, method: &str) -> bool {
    !error(node, path, method, &json!([])).ends_with("does not exist/is not available")
}

/// A node with two asset-VM chains and five EVM chains.
fn five_evm_chains() -> esker_e2e::NodeBuilder {
    local().network(tests_path("networks/evm-chains.json"))
}

#[test]
fn a_public_node_serves_no_admin_keystore_or_key_methods() {
    let paths = ["/ext/admin", KEYSTORE, "/ext/bc/C/admin", "/ext/bc/E/admin"];
    let user = json!({ "username": "alice", "password": PASSWORD });
    let key_methods = [
        (X, "xvm.send", "xvm.Send"),
        (X, "avm.createAddress", "avm.CreateAddress"),
        ("/ext/bc/Y", "xvm.exportKey", "xvm.ExportKey"),
        ("/ext/bc/X/wallet", "wallet.send", "wallet.Send"),
        ("/ext/bc/C/nat", "nat.importKey", "nat.ImportKey"),
        ("/ext/bc/C/avax", "avax.export", "avax.Export"),
        ("/ext/bc/E/nat", "nat.import", "nat.Import"),
    ];
    let public = five_evm_chains().arg("--public").start().unwrap();
    for path in paths {
        assert_eq!(status(&public, path), 404, "{path}");
    }
    for (path, method, shown) in key_methods {
        let refused = error(&public, path, method, &user);
        assert_eq!(refused, format!("rpc: can't find method \"{shown}\""), "{path}");
    }
    for (path, method) in
        [(X, "xvm.getHeight"), ("/ext/bc/C/nat", "nat.version"), ("/ext/info", "info.getNodeID")]
    {
        assert!(call(&public, path, method, &json!({}))["result"].is_object(), "{path} {method}");
    }
    assert_eq!(error(&public, "/ext/bc/X/wallet", "wallet.issueTx", &json!({ "tx": "0x" })), {
        error(
            &five_evm_chains().start().unwrap(),
            "/ext/bc/X/wallet",
            "wallet.issueTx",
            &json!({ "tx": "0x" }),
        )
    });

    let usual = local().config(tests_path("golden/profiles/default.toml")).start().unwrap();
    for path in ["/ext/admin", KEYSTORE, "/ext/bc/C/admin"] {
        assert_eq!(status(&usual, path), 200, "{path}");
    }
    let refused = error(&usual, X, "xvm.createAddress", &user);
    assert_eq!(refused, "problem retrieving user \"alice\": incorrect password: user \"alice\"");
}

#[test]
fn a_public_node_serves_no_debug_personal_txpool_or_admin_on_any_evm_chain() {
    let withheld = [
        "debug_traceTransaction",
        "debug_getRawBlock",
        "debug_memStats",
        "debug_dumpBlock",
        "personal_listAccounts",
        "txpool_status",
        "admin_exportChain",
        "eth_accounts",
    ];
    let served = ["eth_chainId", "eth_getLogs", "net_version", "web3_clientVersion", "eth_call"];
    let public = five_evm_chains().arg("--public").start().unwrap();
    for chain in EVM_CHAINS {
        let path = format!("/ext/bc/{chain}/rpc");
        for method in withheld {
            assert!(!serves(&public, &path, method), "{chain} {method}");
        }
        for method in served {
            assert!(serves(&public, &path, method), "{chain} {method}");
        }
    }
    let usual = local().config(tests_path("golden/profiles/default.toml")).start().unwrap();
    for method in withheld.iter().filter(|method| **method != "debug_dumpBlock") {
        assert!(serves(&usual, RPC, method), "{method}");
    }
}

#[test]
fn a_batch_has_forty_requests_at_most() {
    let public = five_evm_chains().arg("--public").start().unwrap();
    for chain in EVM_CHAINS {
        let path = format!("/ext/bc/{chain}/rpc");
        assert_eq!(batch(&public, &path, 40).as_array().unwrap().len(), 40, "{chain}");
        let refused = batch(&public, &path, 41);
        assert_eq!(refused[0]["error"], json!({ "code": -32600, "message": "batch too large" }));
        assert_eq!(refused.as_array().unwrap().len(), 1);
    }
    let usual = local().start().unwrap();
    assert_eq!(batch(&usual, RPC, 1000).as_array().unwrap().len(), 1000);
    assert_eq!(batch(&usual, RPC, 1001)[0]["error"]["message"], "batch too large");
}

#[test]
fn websockets_serve_subscriptions_alone() {
    let public = five_evm_chains().arg("--public").arg("--evm-port=0").start().unwrap();
    let sockets = EVM_CHAINS.map(|chain| (public.address(), format!("/ext/bc/{chain}/ws")));
    let ready = std::fs::read_to_string(public.scratch().join("ready.json")).unwrap();
    let ready: Value = serde_json::from_str(&ready).unwrap();
    let evm = ready["evm"].as_str().unwrap().trim_start_matches("http://").parse().unwrap();
    for (address, path) in sockets.into_iter().chain([(evm, "/".to_owned())]) {
        let mut socket = Socket::open(address, &path).unwrap();
        for method in ["eth_chainId", "evm_getLogs", "web3_clientVersion", "rpc_modules"] {
            let text = format!(
                "the method {method} is not served over websockets by this node: call it over HTTP"
            );
            let reply = ask(&mut socket, method, &json!([]));
            assert_eq!(reply["error"], json!({ "code": -32601, "message": text }), "{path}");
            assert_eq!(reply["id"], 9);
        }
        let unknown = ask(&mut socket, "eth_nothing", &json!([]));
        let text = "the method eth_nothing does not exist/is not available";
        assert_eq!(unknown["error"]["message"], text);
        let id = ask(&mut socket, "eth_subscribe", &json!(["newHeads"]))["result"].clone();
        assert!(id.is_string(), "{path}");
        assert_eq!(ask(&mut socket, "eth_unsubscribe", &json!([id]))["result"], true);
        // Also within a batch.
        let calls = json!([
            request(1, "eth_chainId", &json!([])),
            request(2, "eth_subscribe", &json!(["logs", {}])),
        ]);
        socket.send(&calls.to_string()).unwrap();
        let replies: Value = serde_json::from_str(&socket.read().unwrap()).unwrap();
        assert_eq!(replies[0]["error"]["code"], -32601);
        assert!(replies[1]["result"].is_string());
        let calls: Vec<_> = (0..41).map(|id| request(id, "eth_chainId", &json!([]))).collect();
        socket.send(&Value::Array(calls).to_string()).unwrap();
        assert!(socket.read().unwrap().contains("batch too large"));
    }
    let usual = local().start().unwrap();
    let mut socket = Socket::open(usual.address(), WS).unwrap();
    assert!(ask(&mut socket, "eth_chainId", &json!([]))["result"].is_string());
}

#[test]
fn a_query_of_logs_has_2048_blocks_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("esker.toml");
    // So that blocks that are not there yet can be asked for.
    std::fs::write(&file, "[chains.C]\nallow-unfinalized-queries = true\n").unwrap();
    let public = local().config(&file).arg("--public").start().unwrap();
    let range = |to: u64| json!([{ "fromBlock": "0x0", "toBlock": format!("{to:#x}") }]);
    let refused = "requested too many blocks from 0 to 2048, maximum is set to 2048";
    assert_eq!(call(&public, RPC, "eth_getLogs", &range(2047))["result"], json!([]));
    assert_eq!(error(&public, RPC, "eth_getLogs", &range(2048)), refused);
    for (to, expected) in [(2047, ""), (2048, refused)] {
        let id = &call(&public, RPC, "eth_newFilter", &range(to))["result"];
        assert_eq!(error(&public, RPC, "eth_getFilterLogs", &json!([id])), expected);
    }
    let usual = local().config(&file).start().unwrap();
    assert_eq!(call(&usual, RPC, "eth_getLogs", &range(1 << 40))["result"], json!([]));
}

#[test]
fn a_start_with_what_a_public_node_withholds_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("esker.toml");
    for (flags, lines, key) in [
        (&["--public", "--api-admin-enabled"][..], "", "api-admin-enabled"),
        (&["--public", "--api-keystore-enabled"], "", "api-keystore-enabled"),
        (&["--public", "--api-key-methods-enabled"], "", "api-key-methods-enabled"),
        (&["--api-keystore-enabled"], "public = true\n", "api-keystore-enabled"),
        (&["--public"], "[chains.C]\nadmin-api-enabled = true\n", "admin-api-enabled"),
        (&["--public"], "[chains.C]\neth-apis = ['eth', 'debug']\n", "eth-apis"),
    ] {
        std::fs::write(&file, lines).unwrap();
        let node = local().config(&file).args(flags);
        let refused = node.start().err().unwrap().to_string();
        assert!(refused.contains("exit status: 2"), "{refused}");
        let expected = format!("does not serve that: leave out {key} or public");
        assert!(refused.contains(&expected), "{refused}");
    }
    let refused = local().dev().arg("--public").start().err().unwrap().to_string();
    assert!(refused.contains("exit status: 2"), "{refused}");
    assert!(refused.contains("esker dev can't be public"), "{refused}");
}

fn shown(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(["config", "show"]).args(arguments).output().unwrap()
}

#[test]
fn the_settings_of_the_profile_are_shown_with_their_origin() {
    let output = shown(&["--public", "--http-rate-limit=7"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for expected in [
        "public true flag --public",
        "http-rate-limit 7 flag --http-rate-limit",
        "http-rate-burst 2000 public",
        "api-admin-enabled false public",
        "chains.C.batch-request-limit 40 public",
        "chains.C.api-max-duration 10s public",
        "chains.C.ws-http-methods-enabled false public",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected} is not in {text}");
    }
    assert!(!String::from_utf8(shown(&[]).stdout).unwrap().contains("chains.C"));
    assert_eq!(shown(&["--public", "--api-admin-enabled"]).status.code(), Some(2));
}

/// The reply that is refused, of requests that are sent until one is.
fn until_refused(mut send: impl FnMut() -> HttpReply) -> HttpReply {
    until("a request is refused", || Some(send()).filter(|reply| reply.status == 429))
}

/// The seconds of the header, which the error repeats.
fn wait_s(reply: &HttpReply, error: &Value) -> u64 {
    let seconds: u64 = reply.header("Retry-After").unwrap().parse().unwrap();
    let text =
        format!("limit exceeded: too many requests from your address, try again in {seconds} s");
    assert_eq!((&error["code"], &error["message"]), (&json!(-32005), &json!(text)));
    seconds
}

#[test]
fn clients_that_ask_too_much_are_refused_and_served_again_after_the_wait() {
    let node = local().args(&["--http-rate-limit=20", "--http-rate-burst=40"]).start().unwrap();
    // A call of the positional dialect.
    let estimate = json!([{ "to": "0x0000000000000000000000000000000000000001" }]);
    let estimate = request(7, "eth_estimateGas", &estimate);
    let reply = until_refused(|| post(&node, RPC, &[], &estimate));
    let body = json_of(&reply);
    assert!((1..=2).contains(&wait_s(&reply, &body["error"])));
    assert_eq!(body["id"], 7);
    // One of the object dialect.
    let height = request(8, "xvm.getBlockByHeight", &json!({ "height": "0" }));
    let reply = until_refused(|| post(&node, X, &[], &height));
    let body = json_of(&reply);
    assert_eq!((wait_s(&reply, &body["error"]), &body["id"]), (1, &json!(8)));
    // A batch of which nothing runs, and then one of which a part runs.
    let calls = json!([estimate, request(9, "eth_chainId", &json!([]))]);
    let reply = until_refused(|| post(&node, RPC, &[], &calls));
    wait_s(&reply, &json_of(&reply)[0]["error"]);
    assert_eq!(json_of(&reply)[1]["id"], 9);
    let calls = Value::Array(vec![estimate; 4]);
    until("a batch is served in part", || {
        let replies = json_of(&post(&node, RPC, &[], &calls));
        let replies = replies.as_array()?;
        assert_eq!(replies.len(), 4);
        let refused = replies.iter().filter(|reply| reply["error"]["code"] == -32005).count();
        (1..4).contains(&refused).then_some(())
    });
    // Messages of a websocket.
    let mut socket = until("a websocket is opened", || Socket::open(node.address(), WS).ok());
    until("a message is refused", || {
        let reply = ask(&mut socket, "eth_subscribe", &json!(["newHeads"]));
        (reply["error"]["code"] == -32005).then_some(())
    });
    until("and served later", || {
        ask(&mut socket, "eth_chainId", &json!([])).get("result").cloned()
    });
    // A page, and its figure of what was refused.
    let page = until("the metrics are served", || {
        let reply = node.rpc().http().request("GET", "/ext/metrics", &[], &[]).unwrap();
        (reply.status == 200).then(|| reply.text())
    });
    let line =
        page.lines().find(|line| line.starts_with("esker_http_rate_limited_total ")).unwrap();
    let refused: f64 = line.split_once(' ').unwrap().1.parse().unwrap();
    assert!(refused >= 5.0, "{line}");
    until("calls are served again", || (post(&node, X, &[], &height).status == 200).then_some(()));
}

#[test]
fn a_public_node_has_limits_of_rates_and_others_have_none() {
    let simulation = request(1, "eth_simulateV1", &json!([{ "blockStateCalls": [] }]));
    let calls = Value::Array(vec![simulation; 40]);
    let refusals = |node: &Node| {
        let replies = json_of(&post(node, RPC, &[], &calls));
        let replies = replies.as_array().unwrap().clone();
        replies.iter().filter(|reply| reply["error"]["code"] == -32005).count()
    };
    let public = local().arg("--public").start().unwrap();
    until("the units are used", || (refusals(&public) > 0).then_some(()));
    let usual = local().start().unwrap();
    assert_eq!((0..5).map(|_| refusals(&usual)).sum::<usize>(), 0);
}

#[test]
fn a_trusted_proxy_names_the_client_and_nobody_else_does() {
    // A unit comes back each second; a simulation takes all fifty.
    let limits = ["--http-rate-limit=1", "--http-rate-burst=50"];
    let header = "--http-client-address-header=X-Forwarded-For";
    let simulation = request(1, "eth_simulateV1", &json!([{ "blockStateCalls": [] }]));
    let send = |node: &Node, clients: &str| {
        post(node, RPC, &[("X-Forwarded-For", clients)], &simulation).status
    };
    let node = local().args(&limits).arg(header).arg("--http-trusted-proxies=127.0.0.1,10.0.0.0/8");
    let node = node.start().unwrap();
    assert_eq!(send(&node, "192.0.2.1"), 200);
    assert_eq!(send(&node, "192.0.2.1"), 429);
    assert_eq!(send(&node, "198.51.100.7, 192.0.2.1, 10.1.1.1"), 429, "the left part is invented");
    assert_eq!(send(&node, "192.0.2.2"), 200);
    assert_eq!(send(&node, "not an address"), 200, "counts for the proxy");
    assert_eq!(post(&node, RPC, &[], &simulation).status, 429, "so does no header");
    for untrusting in [
        local().args(&limits).arg(header).arg("--http-trusted-proxies=10.0.0.0/8"),
        local().args(&limits),
    ] {
        let node = untrusting.start().unwrap();
        assert_eq!(send(&node, "192.0.2.1"), 200);
        assert_eq!(send(&node, "192.0.2.2"), 429, "the address is that of the connection");
    }
    for (flag, missing) in [
        (header, "http-trusted-proxies"),
        ("--http-trusted-proxies=127.0.0.1", "http-client-address-header"),
    ] {
        let refused = local().arg(flag).start().err().unwrap().to_string();
        assert!(refused.contains("exit status: 2") && refused.contains(missing), "{refused}");
    }
}

#[test]
fn guesses_of_passwords_count_for_the_client_behind_a_proxy() {
    let node = local().arg("--http-client-address-header=X-Real-IP");
    let node = node.arg("--http-trusted-proxies=127.0.0.1").start().unwrap();
    let with = |password: &str| json!({ "username": "alice", "password": password });
    assert_eq!(error(&node, KEYSTORE, "keystore.createUser", &with(PASSWORD)), "");
    let guess = |client: &str, password: &str| {
        let body = request(1, "keystore.exportUser", &with(password));
        let reply = json_of(&post(&node, KEYSTORE, &[("X-Real-IP", client)], &body));
        reply["error"]["message"].as_str().unwrap_or_default().to_owned()
    };
    let refused = (0..40).map(|n| guess("192.0.2.1", &format!("Wr0ng-Pass-W0rd-{n}!")));
    let refused = refused.filter(|text| text.contains("too many wrong passwords")).count();
    assert!(refused > 0, "one client has guessed too often");
    assert_eq!(guess("192.0.2.2", PASSWORD), "", "and another one does not wait");
}

#[test]
fn each_method_costs_what_its_work_is() {
    const BURST: u64 = 100;
    let node = local().config(tests_path("golden/profiles/default.toml"));
    let node = node.args(&["--http-rate-limit=1", "--http-rate-burst=100"]);
    let node =
        node.args(&["--http-client-address-header=X-Real-IP", "--http-trusted-proxies=127.0.0.1"]);
    let node = node.start().unwrap();
    let methods = [
        (RPC, "eth_call", 10),
        (RPC, "eth_getProof", 10),
        (RPC, "eth_getBlockReceipts", 10),
        (RPC, "eth_feeHistory", 10),
        (RPC, "eth_getFilterChanges", 10),
        (RPC, "eth_estimateGas", 20),
        (RPC, "eth_createAccessList", 20),
        (RPC, "eth_getLogs", 20),
        (RPC, "eth_getFilterLogs", 20),
        (RPC, "evm_simulateV1", 50),
        (RPC, "eth_callMany", 50),
        (RPC, "eth_callBundle", 50),
        (RPC, "debug_traceTransaction", 50),
        (RPC, "txpool_content", 50),
        (RPC, "personal_sign", 50),
        (X, "xvm.getUTXOs", 10),
        (X, "avm.getAddressTxs", 10),
        (X, "xvm.getAllBalances", 20),
        (X, "xvm.getBalance", 20),
        (X, "xvm.send", 50),
        ("/ext/bc/X/wallet", "wallet.send", 50),
        ("/ext/bc/C/nat", "nat.getUTXOs", 10),
        ("/ext/bc/C/nat", "nat.exportNative", 50),
        ("/ext/bc/P", "platform.getUTXOs", 10),
        ("/ext/index/X/block", "index.getContainerRange", 20),
        ("/ext/vm/xvm", "xvm.buildGenesis", 10),
        (KEYSTORE, "keystore.deleteUser", 50),
    ];
    // Each method by a client of its own; what is called without its arguments costs the same.
    for (client, (path, method, cost)) in (1..).zip(methods) {
        let params = if path == RPC { json!([]) } else { json!({}) };
        let body = request(1, method, &params);
        let address = format!("192.0.2.{client}");
        let header = [("X-Real-IP", address.as_str())];
        let served = (0..).take_while(|_| post(&node, path, &header, &body).status == 200).count();
        // A unit comes back each second, so that a slow machine may serve one more.
        let expected = usize::try_from(BURST / cost).unwrap();
        assert!((expected..=expected + 1).contains(&served), "{method}: {served}");
    }
    let mut socket = Socket::open(node.address(), WS).unwrap();
    let mut trace = || ask(&mut socket, "debug_subscribe", &json!(["traceChain", "0x0", "0x1"]));
    assert_ne!(trace()["error"]["code"], -32005, "60 units");
    assert_eq!(trace()["error"]["code"], -32005);
}

#[test]
fn a_call_takes_ten_seconds_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("esker.toml");
    // Gas without end, so that time is the limit.
    std::fs::write(&file, "[chains.C]\nrpc-gas-cap = 0\n").unwrap();
    let public = local().config(&file).arg("--public").start().unwrap();
    let to = "0x00000000000000000000000000000000000000aa";
    let code = json!({ to: { "code": esker_e2e::hostile::requests::ENDLESS } });
    let begun = Instant::now();
    let refused = error(&public, RPC, "eth_call", &json!([{ "to": to }, "latest", code]));
    let took = begun.elapsed();
    assert!(
        matches!(refused.as_str(), "execution aborted (timeout = 10s)" | "request timed out"),
        "{refused}"
    );
    // The usual limit is 29.9 s.
    assert!((Duration::from_secs(9)..Duration::from_secs(25)).contains(&took), "{took:?}");
}
