//! `admin` (docs/api/admin.md, "Node: admin").

use esker_storage::WriteSet;
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
    let x = node.network.x_chain().unwrap().id.to_string();
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
    ] {
        assert_eq!(node.error(ADMIN, &format!("admin.{method}"), params).await, want);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_the_store() {
    let node = Node::start().await;
    let mut rows = WriteSet::new();
    rows.put(&[1, 2], &[0xab, 0xcd]);
    rows.put(&[1, 3], &[]);
    rows.put(&[1, 4], &vec![7; 1024 * 1024 + 1]);
    node.store.commit(rows).await.unwrap();
    let absent = json!({"value": "", "errorCode": 2});
    for (key, want) in [
        ("0x0102", json!({"value": "0xabcd", "errorCode": 0})),
        ("0x0103", json!({"value": "0x", "errorCode": 0})),
        ("0x01", absent.clone()),
        ("0x", absent.clone()),
        ("", absent.clone()),
        (&format!("0x{}", "01".repeat(600)), absent),
    ] {
        assert_eq!(node.result(ADMIN, "admin.dbGet", json!({"key": key})).await, want, "{key}");
    }
    for (key, want) in [
        ("zz", "missing 0x prefix to hex encoding"),
        ("0102", "missing 0x prefix to hex encoding"),
        ("0x1", "encoding/hex: odd length hex string"),
        ("0xzz", "encoding/hex: invalid byte: U+007A 'z'"),
        ("0x0104", "value of more than 1048576 bytes"),
    ] {
        assert_eq!(node.error(ADMIN, "admin.dbGet", json!({"key": key})).await, want, "{key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn profiles_go_into_their_folder() {
    let node = Node::start().await;
    let folder = node.profiles.path().join("profiles");
    let ask = async |method: &str| node.result(ADMIN, &format!("admin.{method}"), json!({})).await;
    assert_eq!(
        node.error(ADMIN, "admin.stopCPUProfiler", json!({})).await,
        "cpu profiler doesn't exist"
    );
    assert_eq!(ask("startCPUProfiler").await, json!({}));
    assert_eq!(
        node.error(ADMIN, "admin.startCPUProfiler", json!({})).await,
        "cpu profiler already running"
    );
    assert_eq!(ask("stopCPUProfiler").await, json!({}));
    for method in ["memoryProfile", "lockProfile", "stacktrace"] {
        assert_eq!(ask(method).await, json!({}), "{method}");
    }
    let files = ["cpu.profile", "lock.profile", "mem.profile", "stacktrace.txt"];
    let mut found: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    assert_eq!(found, files);
    // Each profile is compressed with gzip.
    for name in &files[..3] {
        assert_eq!(std::fs::read(folder.join(name)).unwrap()[..2], [0x1f, 0x8b], "{name}");
    }
    let stacks = std::fs::read_to_string(folder.join("stacktrace.txt")).unwrap();
    assert!(stacks.lines().any(|line| line.starts_with("thread ")), "{stacks}");

    // A folder that can't be written is an error, before the time of the profile.
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "a file").unwrap();
    for method in ["startCPUProfiler", "memoryProfile", "lockProfile", "stacktrace"] {
        let error = node.error(ADMIN, &format!("admin.{method}"), json!({})).await;
        assert!(error.starts_with(&format!("open {}/", folder.display())), "{method}: {error}");
    }
    assert_eq!(
        node.error(ADMIN, "admin.stopCPUProfiler", json!({})).await,
        "cpu profiler doesn't exist"
    );
}

/// Lines of a real log: `tests/e2e/tests/it/admin.rs`.
#[tokio::test]
async fn parameters_of_get_logs() {
    let node = Node::start().await;
    let empty = json!({"lines": [], "next": "0", "missed": false});
    for params in [
        json!({}),
        json!({"level": "warn", "loggerName": "X", "after": "0", "limit": 1000}),
        json!({"level": "OFF", "after": 18_446_744_073_709_551_615_u64, "limit": "1"}),
        json!({"loggerName": "", "level": null, "after": null, "limit": null}),
    ] {
        assert_eq!(node.result(ADMIN, "admin.getLogs", params.clone()).await, empty, "{params}");
    }
    let limit = "limit: expected a number from 1 to 1000";
    for (params, want) in [
        (json!({"limit": 0}), limit),
        (json!({"limit": 1001}), limit),
        (json!({"limit": "18446744073709551615"}), limit),
        (json!({"limit": -1}), INVALID_ARGUMENT),
        (json!({"limit": "many"}), INVALID_ARGUMENT),
        (json!({"after": "x"}), INVALID_ARGUMENT),
        (json!({"level": "loud"}), INVALID_ARGUMENT),
        (json!({"loggerName": "nothing"}), "logger with name \"nothing\" not found"),
    ] {
        assert_eq!(node.error(ADMIN, "admin.getLogs", params.clone()).await, want, "{params}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn configuration_and_virtual_machines() {
    let node = Node::start().await;
    assert_eq!(node.result(ADMIN, "admin.getConfig", json!({})).await, json!({"http-port": 0}));
    let none = json!({"settings": []});
    assert_eq!(node.result(ADMIN, "admin.getSettings", json!({})).await, none);
    assert_eq!(node.result(ADMIN, "admin.loadVMs", json!({})).await, json!({"newVMs": {}}));
}
