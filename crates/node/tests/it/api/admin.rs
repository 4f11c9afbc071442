//! `admin` (docs/api/admin.md, "Node: admin").

use serde_json::json;

use super::{INVALID_ARGUMENT, NOBODY, Node};

const ADMIN: &str = "/ext/admin";

#[tokio::test]
async fn further_names_of_routes() {
    let node = Node::start().await;
    let alias = |endpoint: &str, alias: &str| json!({"endpoint": endpoint, "alias": alias});
    let reserved = |alias: &str| {
        format!("route is either already aliased or already maps to a handle: /ext/{alias}")
    };
    assert_eq!(node.result(ADMIN, "admin.alias", alias("bc/X", "myx")).await, json!({}));
    for path in ["/ext/myx", "/ext/myx/wallet"] {
        assert_eq!(node.result(path, "avm.getHeight", json!({})).await, json!(7));
    }
    assert_eq!(node.error(ADMIN, "admin.alias", alias("bc/X", "myx")).await, reserved("myx"));
    assert_eq!(node.error(ADMIN, "admin.alias", alias("bc/X", "bc/P")).await, reserved("bc/P"));
    assert_eq!(node.error(ADMIN, "admin.alias", alias("bc/X", "info")).await, reserved("info"));
    assert_eq!(node.result(ADMIN, "admin.alias", alias("bc/none", "none")).await, json!({}));
    assert_eq!(node.get("/ext/none").await.status, 404);
    let long = "a".repeat(513);
    let got = node.error(ADMIN, "admin.alias", alias("bc/X", &long)).await;
    assert_eq!(got, "alias length is too long");
    assert_eq!(node.result(ADMIN, "admin.alias", alias("bc/X", &long[1..])).await, json!({}));
}

#[tokio::test]
async fn further_names_of_chains() {
    let node = Node::start().await;
    let x = node.network.x_chain().id.to_string();
    let alias = |chain: &str, alias: &str| json!({"chain": chain, "alias": alias});
    assert_eq!(node.result(ADMIN, "admin.aliasChain", alias("X", "xx")).await, json!({}));
    assert_eq!(node.result("/ext/bc/xx", "xvm.getHeight", json!({})).await, json!(7));
    let reply = node.result("/ext/info", "info.getBlockchainID", json!({"alias": "xx"})).await;
    assert_eq!(reply, json!({"blockchainID": x}));
    assert_eq!(node.result(ADMIN, "admin.aliasChain", alias(&x, "yy")).await, json!({}));
    for (params, want) in [
        (alias("X", "xx"), "alias already mapped to an ID: xx"),
        (alias("C", "xx"), "alias already mapped to an ID: xx"),
        (alias("nothing", "zz"), "there is no ID with alias: nothing"),
        (json!({}), "there is no ID with alias: "),
        (alias("nothing", &"a".repeat(513)), "alias length is too long"),
    ] {
        assert_eq!(node.error(ADMIN, "admin.aliasChain", params).await, want);
    }
    for (chain, want) in [
        (x.as_str(), json!(["X", "avm", x, "xx", "yy"])),
        (
            "11111111111111111111111111111111LpoYY",
            json!(["P", "platform", "11111111111111111111111111111111LpoYY"]),
        ),
        (NOBODY, json!(null)),
    ] {
        let got = node.result(ADMIN, "admin.getChainAliases", json!({"chain": chain})).await;
        assert_eq!(got, json!({"aliases": want}));
    }
    for (params, want) in [
        (json!({"chain": "X"}), "input string is smaller than the checksum size"),
        (json!({}), "base58 decoding error: zero length string"),
    ] {
        assert_eq!(node.error(ADMIN, "admin.getChainAliases", params).await, want);
    }
}

#[tokio::test]
async fn levels() {
    let node = Node::start().await;
    let expected = |name: &str, log: &str, display: &str| json!({"loggerLevels": {name: {"logLevel": log, "displayLevel": display}}});
    let set = |log: Option<&str>, display: Option<&str>| {
        let mut params = json!({"loggerName": "C"});
        if let Some(log) = log {
            params["logLevel"] = json!(log);
        }
        if let Some(display) = display {
            params["displayLevel"] = json!(display);
        }
        params
    };
    let name = json!({"loggerName": "C"});
    assert_eq!(
        node.result(ADMIN, "admin.getLoggerLevel", name.clone()).await,
        expected("C", "INFO", "INFO")
    );
    for (params, log, display) in [
        (set(Some("DEBUG"), Some("ERROR")), "DEBUG", "ERROR"),
        (set(Some("info"), None), "INFO", "ERROR"),
        (set(None, Some("Verbo")), "INFO", "VERBO"),
        (set(Some("off"), Some("fatal")), "OFF", "FATAL"),
    ] {
        let want = expected("C", log, display);
        assert_eq!(node.result(ADMIN, "admin.setLoggerLevel", params).await, want);
        assert_eq!(node.result(ADMIN, "admin.getLoggerLevel", name.clone()).await, want);
    }
    let all = node.result(ADMIN, "admin.setLoggerLevel", json!({"logLevel": "warn"})).await;
    assert_eq!(all, node.result(ADMIN, "admin.getLoggerLevel", json!({})).await);
    assert_eq!(all["loggerLevels"].as_object().unwrap().len(), 4, "X, C, P and main");
    assert_eq!(all["loggerLevels"]["X"], json!({"logLevel": "WARN", "displayLevel": "INFO"}));
    let neither = "need to specify either displayLevel or logLevel";
    let unknown = "logger with name \"nothing\" not found";
    for (method, params, want) in [
        ("setLoggerLevel", name, neither),
        ("setLoggerLevel", json!({}), neither),
        ("setLoggerLevel", set(Some("loud"), None), INVALID_ARGUMENT),
        ("setLoggerLevel", set(Some(""), None), INVALID_ARGUMENT),
        ("setLoggerLevel", json!({"logLevel": 5}), INVALID_ARGUMENT),
        ("setLoggerLevel", json!({"loggerName": "nothing", "logLevel": "INFO"}), unknown),
        ("getLoggerLevel", json!({"loggerName": "nothing"}), unknown),
        // Later: these rest on parts that are not there yet.
        ("stacktrace", json!({}), "rpc: can't find method \"admin.Stacktrace\""),
    ] {
        assert_eq!(node.error(ADMIN, &format!("admin.{method}"), params).await, want);
    }
}
