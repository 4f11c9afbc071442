//! `rpc.discover`: the document of each endpoint has exactly what is served there, is valid OpenRPC, and is true of the
//! requests and answers that the pages show.

use std::collections::{BTreeMap, BTreeSet};

use esker_client::HttpClient;
use esker_e2e::Node;
use esker_e2e::docs::{Exchange, Page};
use esker_e2e::socket::Socket;
use esker_e2e::tables::{SWITCHES, every_chain_api, full_name, is_positional, tables};
use serde_json::{Value, json};

use crate::clients::run_with_file;
use crate::docs::api_pages;
use crate::support::local;

const C_CHAIN: &str = "/ext/bc/C/rpc";
const X_CHAIN: &str = "/ext/bc/X";

/// A development node with everything switched on.
fn node() -> Node {
    let node = local().dev().config(every_chain_api());
    SWITCHES.iter().fold(node, |node, switch| node.arg(switch)).start().unwrap()
}

fn discover(node: &Node, path: &str) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "rpc.discover" }).to_string();
    let reply = node.rpc().post(path, body.as_bytes()).unwrap();
    let mut answer: Value = serde_json::from_str(&reply.text()).unwrap();
    assert!(answer["error"].is_null(), "{path}: {answer}");
    answer["result"].take()
}

fn names(document: &Value) -> BTreeSet<String> {
    let methods = document["methods"].as_array().unwrap();
    let names: Vec<_> =
        methods.iter().map(|method| method["name"].as_str().unwrap().to_owned()).collect();
    let set: BTreeSet<_> = names.iter().cloned().collect();
    assert_eq!(set.len(), names.len(), "a method is described twice: {names:?}");
    set
}

#[test]
fn each_document_has_exactly_the_methods_of_its_endpoint() {
    let node = node();
    for (path, service) in tables().unwrap() {
        let document = discover(&node, &path);
        let mut served: BTreeSet<_> = service
            .methods()
            .map(|info| match (info.namespace, info.name) {
                ("rpc", "discover") => "rpc.discover".to_owned(),
                _ => full_name(&path, info),
            })
            .collect();
        if is_positional(&path) {
            for namespace in ["evm", "debug"] {
                served.insert(format!("{namespace}_subscribe"));
                served.insert(format!("{namespace}_unsubscribe"));
            }
        }
        assert_eq!(names(&document), served, "{path}");
        for method in document["methods"].as_array().unwrap() {
            let name = method["name"].as_str().unwrap();
            let info = service.methods().find(|info| full_name(&path, info) == name);
            let since = info.and_then(|info| info.deprecated_since);
            assert_eq!(method["x-deprecated-since"].as_str(), since, "{name}");
            assert_eq!(method["deprecated"].as_bool().unwrap_or(false), since.is_some(), "{name}");
        }
    }
}

#[test]
fn both_names_in_both_dialects() {
    let node = node();
    let document = discover(&node, C_CHAIN);
    assert_eq!(document["openrpc"], "1.3.2");
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    let paths: Vec<_> =
        document["servers"].as_array().unwrap().iter().map(|server| &server["url"]).collect();
    assert_eq!(paths, ["/ext/bc/C/rpc", "/ext/bc/C/ws"]);
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"rpc_discover","params":[]},
        {"jsonrpc":"2.0","id":2,"method":"rpc.discover"}]"#;
    let reply = node.rpc().post(C_CHAIN, batch.as_bytes()).unwrap();
    let answers: Vec<Value> = serde_json::from_str(&reply.text()).unwrap();
    assert_eq!((answers.len(), &answers[0]["result"]), (2, &document));
    assert_eq!(answers[1]["result"], document);
    let mut socket = Socket::open(node.address(), "/ext/bc/C/ws").unwrap();
    socket.send(r#"{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}"#).unwrap();
    let answer: Value = serde_json::from_str(&socket.read().unwrap()).unwrap();
    assert_eq!(answer["result"], document);
    // The brand's names are aliases.
    let method = |document: &Value, name: &str| {
        let methods = document["methods"].as_array().unwrap();
        methods.iter().find(|method| method["name"] == name).unwrap().clone()
    };
    assert_eq!(method(&document, "evm_chainId")["x-aliases"], json!(["eth_chainId"]));
    let x = discover(&node, X_CHAIN);
    assert_eq!(method(&x, "xvm.getHeight")["x-aliases"], json!(["avm.getHeight"]));
    assert_eq!(method(&x, "xvm.getHeight")["paramStructure"], "by-name");
    // As other methods, with an argument too many.
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"rpc.discover","params":[1]}"#;
    let reply = node.rpc().post(C_CHAIN, body.as_bytes()).unwrap();
    assert!(reply.text().contains("too many arguments, want at most 0"), "{}", reply.text());
}

#[test]
fn pages_of_other_origins_read_what_they_may_call() {
    let node = node();
    let headers = [("Content-Type", "application/json"), ("Origin", "https://example.com")];
    let body = br#"{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}"#;
    for (path, is_answered) in [
        (C_CHAIN, true),
        (X_CHAIN, true),
        ("/ext/info", true),
        ("/ext/keystore", false),
        ("/ext/admin", false),
    ] {
        let reply = HttpClient::new(node.address()).request("POST", path, &headers, body).unwrap();
        assert_eq!(reply.text().contains("\"openrpc\":\"1.3.2\""), is_answered, "{path}");
    }
}

#[test]
fn what_is_switched_off_is_not_described() {
    let node = local().start().unwrap();
    let names = names(&discover(&node, C_CHAIN));
    assert!(names.contains("evm_chainId"));
    for absent in ["txpool_content", "debug_traceTransaction", "anvil_nodeInfo", "debug_subscribe"]
    {
        assert!(!names.contains(absent), "{absent}");
    }
}

/// Each kind of argument once: all of these must be refused by the schemas.
fn misfits() -> Value {
    let c = |method: &str, params: Value| json!({ "path": C_CHAIN, "method": method, "params": params });
    let x = |method: &str, params: Value| json!({ "path": X_CHAIN, "method": method, "params": params });
    let account = "0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC";
    json!([
        c("eth_getBalance", json!([])),
        c("eth_getBalance", json!([account])),
        c("eth_getBalance", json!(["0x1", "latest"])),
        c("eth_getBalance", json!([account, "newest"])),
        c("eth_getBalance", json!([account, 1])),
        c("eth_getBalance", json!([account, { "blockHash": "0x1" }])),
        c("eth_getBalance", json!([account, "latest", 1])),
        c("eth_getBlockByNumber", json!(["0x01", true])),
        c("eth_getBlockByNumber", json!(["latest", "yes"])),
        c("eth_getBlockByHash", json!(["0x12", true])),
        c("eth_sendRawTransaction", json!(["0x123"])),
        c("eth_call", json!([{ "value": 5 }, "latest"])),
        c("eth_call", json!([{ "to": "me" }, "latest"])),
        c("eth_call", json!([{ "accessList": [{ "address": account }] }, "latest"])),
        c("eth_call", json!([{}, "latest", { (account): { "balance": 5 } }])),
        c("eth_call", json!([{}, "latest", {}, { "time": "now" }])),
        c("eth_feeHistory", json!([-1, "latest", []])),
        c("eth_feeHistory", json!([1, "latest", ["a"]])),
        c("eth_getLogs", json!([{ "topics": ["0x1"] }])),
        c("eth_getLogs", json!([{ "address": [5] }])),
        c("eth_simulateV1", json!([{ "blockStateCalls": [{ "calls": [5] }] }])),
        c("eth_getFilterChanges", json!([5])),
        c("eth_subscribe", json!(["newTails"])),
        c("debug_traceTransaction", json!(["0x1"])),
        c("debug_traceCall", json!([{}, "latest", { "limit": "a" }])),
        c("debug_getModifiedAccountsByNumber", json!(["1"])),
        c("eth_signTypedData_v4", json!([account, {}])),
        x("xvm.getTx", json!({ "txID": "not cb58 0OIl" })),
        x("xvm.getTx", json!({ "txID": 5 })),
        x("xvm.getTx", json!({ "encoding": "base64" })),
        x("xvm.getBlockByHeight", json!({ "height": -1 })),
        x("xvm.getBlockByHeight", json!({ "height": "1.0" })),
        x("xvm.getUTXOs", json!({ "addresses": "one" })),
        x("xvm.getUTXOs", json!({ "startIndex": { "utxo": 5 } })),
        x("xvm.getBalance", json!({ "includePartial": "yes" })),
        x("xvm.importKey", json!({ "privateKey": "abc" })),
        x("xvm.getHeight", json!({ "height": 5 })),
    ])
}

#[test]
fn documents_are_valid_and_true_of_the_pages() {
    let node = node();
    let documents: BTreeMap<_, _> = tables()
        .unwrap()
        .into_iter()
        .map(|(path, _)| (path.clone(), discover(&node, &path)))
        // The others are the same under further names.
        .filter(|(path, document)| document["servers"][0]["url"] == **path)
        .collect();
    let exchanges: Vec<_> = api_pages()
        .iter()
        .flat_map(|page| page.sections.iter().map(move |section| (page, section)))
        .flat_map(|(page, section)| section.exchanges.iter().filter_map(|e| shown(page, e)))
        // Paths that a page itself adds have no document before.
        .filter(|call| call["path"].as_str().is_some_and(|path| documents.contains_key(path)))
        .collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    let input = json!({ "documents": documents, "exchanges": exchanges, "misfits": misfits() });
    std::fs::write(file.path(), input.to_string()).unwrap();
    run_with_file("openrpc.mjs", file.path());
}

/// A call that a page shows, and its result.
fn shown(page: &Page, exchange: &Exchange) -> Option<Value> {
    let request = exchange.request().ok()?;
    let call: Value = serde_json::from_str(&request.body).ok()?;
    let answer: Value = serde_json::from_str(&page.answer(exchange)?).ok()?;
    let name = page.file.file_name()?.to_string_lossy();
    Some(json!({
        "at": format!("{name}:{}", exchange.line),
        "path": request.path,
        "method": call.get("method")?,
        "params": call["params"],
        "result": answer.get("result")?,
    }))
}
