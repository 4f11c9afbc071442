//! Health (docs/api/health.md, "Node: health").

use std::io::ErrorKind;

use esker_storage::{FailPoint, StorageError, WriteSet};
use esker_testkit::http_client::{Client, Reply};
use serde_json::{Value, json};

use super::Node;

const JSON: Option<&str> = Some("application/json");

fn names(report: &Value) -> Vec<&str> {
    report["checks"].as_object().unwrap().keys().map(String::as_str).collect()
}

impl Node {
    /// Repeats the request until the answer has this status: a result is kept for a second.
    async fn until(&self, path: &str, status: u16) -> Reply {
        let asked = async {
            loop {
                let reply = self.get(path).await;
                if reply.status == status {
                    return reply;
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(20), asked).await.unwrap()
    }
}

#[tokio::test]
async fn a_fresh_node_is_healthy() {
    let node = Node::start().await;
    for path in ["/ext/health", "/ext/health/health"] {
        let reply = node.get(path).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, JSON));
        assert_eq!(reply.header("x-content-type-options"), None);
        assert!(reply.text().ends_with("}\n"));
        let report = reply.json();
        assert_eq!(report["healthy"], json!(true));
        let all = ["P", "X", "bootstrapped", "database", "diskspace", "network", "router"];
        assert_eq!(names(&report), all);
        assert_eq!(report["checks"]["X"]["message"], json!("fine"));
        assert_eq!(report["checks"]["bootstrapped"]["message"], json!([]));
        assert_eq!(report["checks"]["X"]["timestamp"], json!("2020-12-05T05:00:00Z"));
        assert!(report["checks"]["X"]["duration"].is_u64());
    }
    let readiness = node.get("/ext/health/readiness").await.json();
    assert_eq!((names(&readiness), &readiness["healthy"]), (vec!["bootstrapped"], &json!(true)));
    let liveness = node.get("/ext/health/liveness").await;
    assert_eq!(liveness.text(), "{\"checks\":{},\"healthy\":true}\n");
}

#[tokio::test]
async fn tags_limit_the_chains_alone() {
    let node = Node::start().await;
    let application = ["bootstrapped", "database", "diskspace", "network", "router"];
    let tagged = node.get("/ext/health?tag=none&x=y").await.json();
    assert_eq!(names(&tagged), application);
    let primary = node.get("/ext/health?tag=a&tag=11111111111111111111111111111111LpoYY").await;
    assert_eq!(names(&primary.json()), [&["P", "X"][..], &application].concat());
    let params = json!({"tags": ["none"]});
    let report = node.result("/ext/health", "health.health", params.clone()).await;
    assert_eq!(names(&report), application);
    let report = node.result("/ext/health", "health.readiness", params).await;
    assert_eq!(names(&report), ["bootstrapped"]);
    let report = node.result("/ext/health", "health.liveness", json!({})).await;
    assert_eq!(report, json!({"checks": {}, "healthy": true}));
    // Liveness ignores tags, but checks their form.
    for (tags, message) in [(json!(["none"]), None), (json!("none"), Some("couldn't unmarshal"))] {
        let reply = node.call("/ext/health", "health.liveness", json!({"tags": tags})).await;
        let error = reply["error"]["message"].as_str();
        assert_eq!(error.map(|e| e.get(..18).unwrap()), message);
    }
    let report = node.result("/ext/health", "health.health", json!({"tags": null})).await;
    assert_eq!(names(&report).len(), 7);
}

#[tokio::test]
async fn methods() {
    let node = Node::start().await;
    for method in ["PUT", "HEAD", "DELETE", "OPTIONS"] {
        let reply =
            node.request(&format!("{method} /ext/health HTTP/1.1\nHost: localhost\n\n")).await;
        assert_eq!(reply.status, 405, "{method}");
    }
    // Below it, every method gets the answer to GET.
    for method in ["PUT", "DELETE", "FOO", "POST"] {
        let path = "/ext/health/liveness";
        let reply = node.request(&format!("{method} {path} HTTP/1.1\nHost: localhost\n\n")).await;
        assert_eq!(reply.text(), "{\"checks\":{},\"healthy\":true}\n", "{method}");
    }
    let call = Client::post(
        "/ext/health/health",
        r#"{"jsonrpc":"2.0","id":1,"method":"health.liveness"}"#,
    );
    assert_eq!(names(&node.request(&call).await.json()).len(), 7);
    let unknown = node.error("/ext/health", "health.nothing", json!({})).await;
    assert_eq!(unknown, "rpc: can't find method \"health.Nothing\"");
}

#[tokio::test]
async fn a_failing_store() {
    let node = Node::start().await;
    node.failing.refuse_reads(StorageError::Injected);
    let report = node.until("/ext/health", 503).await.json();
    assert_eq!(report["healthy"], json!(false));
    let check = &report["checks"]["database"];
    assert!(check["error"].is_string(), "{check}");
    assert_eq!(check["timeOfFirstFailure"], json!("2020-12-05T05:00:00Z"));
    // Over JSON-RPC the status is 200 all the same.
    let report = node.result("/ext/health", "health.health", json!({})).await;
    assert_eq!(report["healthy"], json!(false));
    node.failing.refuse_reads(None);
    node.until("/ext/health", 200).await;
    node.failing.crash_at_nth_write(1, FailPoint::Before);
    node.until("/ext/health", 503).await;
    node.failing.clear_failures();
    node.until("/ext/health", 200).await;
}

#[tokio::test]
async fn a_full_disk_makes_the_node_unready_but_alive() {
    let node = Node::start().await;
    // The probe of a suspended writer writes a row again. Without a row it finds the store writable.
    let mut row = WriteSet::new();
    row.put(b"key", b"value");
    node.store.commit(row).await.unwrap();
    node.failing.refuse_writes(StorageError::io("database", ErrorKind::StorageFull.into()));
    node.store.commit(WriteSet::new()).await.unwrap_err();
    let report = node.until("/ext/health", 503).await.json();
    assert_eq!(report["checks"]["database"]["error"], json!("insufficient disk space"));
    let readiness = node.until("/ext/health/readiness", 503).await.json();
    assert_eq!(names(&readiness), ["bootstrapped", "database"]);
    assert_eq!(node.get("/ext/health/liveness").await.status, 200);
    assert!(node.metrics.render().contains("\nesker_store_writable 0\n"));
    node.failing.refuse_writes(None);
    node.until("/ext/health", 200).await;
    assert_eq!(names(&node.get("/ext/health/readiness").await.json()), ["bootstrapped"]);
    assert!(node.metrics.render().contains("\nesker_store_writable 1\n"));
}

#[tokio::test]
async fn a_missing_route() {
    let node = Node::start().await;
    let path = format!("/ext/bc/{}/wallet", node.network.x_chain().unwrap().id);
    node.routes.remove(&path);
    let report = node.until("/ext/health", 503).await.json();
    let check = &report["checks"]["router"];
    assert_eq!(
        (&check["error"], &check["message"]["missing"]),
        (&json!("missing routes"), &json!([path]))
    );
}

#[tokio::test]
async fn a_chain_that_is_sick_or_not_ready() {
    let node = Node::start().await;
    node.vm.state.lock().sick = Some("no blocks".to_owned());
    let report = node.until("/ext/health", 503).await.json();
    assert_eq!(report["checks"]["X"]["error"], json!("no blocks"));
    assert_eq!(node.get("/ext/health?tag=none").await.status, 200, "its tag was not asked for");
    node.vm.state.lock().sick = None;
    node.ready.set(false);
    let report = node.until("/ext/health/readiness", 503).await.json();
    let check = &report["checks"]["bootstrapped"];
    assert_eq!(check["error"], json!("subnets not bootstrapped"));
    assert_eq!(check["message"], json!(["11111111111111111111111111111111LpoYY"]));
}

#[tokio::test]
async fn an_engine_that_is_behind() {
    let node = Node::start().await;
    node.engine.status.lock().syncing = true;
    let report = node.until("/ext/health", 503).await.json();
    let check = &report["checks"]["network"];
    assert_eq!(check["error"], json!("far behind the other nodes"));
    assert_eq!(check["message"]["connectedPeers"], json!(0));
}
