//! The index (docs/api/index.md, "Index of accepted blocks: index").

use esker_primitives::Id;
use esker_rpc::wire::Encoding;
use serde_json::{Value, json};

use super::{INVALID_ARGUMENT, NOBODY, Node, START_MS};

const BLOCKS: &str = "/ext/index/X/block";

fn container(index: u64, id: &Id, bytes: &[u8], encoding: Encoding, time: &str) -> Value {
    json!({"id": id.to_string(), "bytes": encoding.encode(bytes).unwrap(), "timestamp": time,
        "encoding": encoding.name(), "index": index.to_string()})
}

#[tokio::test]
async fn accepted_blocks_in_their_order() {
    let node = Node::start().await;
    let first = node.vm.accept(b"first", START_MS);
    let second = node.vm.accept(b"second", START_MS + 250);
    let hex = |index: u64| match index {
        0 => container(0, &first, b"first", Encoding::Hex, "2020-12-05T05:00:00Z"),
        _ => container(1, &second, b"second", Encoding::Hex, "2020-12-05T05:00:00.25Z"),
    };
    let plain = container(1, &second, b"second", Encoding::HexNc, "2020-12-05T05:00:00.25Z");
    for (method, params, want) in [
        ("getLastAccepted", json!({}), hex(1)),
        ("getLastAccepted", json!({"encoding": "hexnc"}), plain.clone()),
        ("getContainerByIndex", json!({}), hex(0)),
        ("getContainerByIndex", json!({"index": "1"}), hex(1)),
        ("getContainerByID", json!({"id": first.to_string()}), hex(0)),
        ("getContainerRange", json!({"numToFetch": 2}), json!({"containers": [hex(0), hex(1)]})),
        (
            "getContainerRange",
            json!({"startIndex": "1", "numToFetch": "1024", "encoding": "hexnc"}),
            json!({"containers": [plain]}),
        ),
        ("getIndex", json!({"id": second.to_string()}), json!({"index": "1"})),
        ("isAccepted", json!({"id": second.to_string()}), json!({"isAccepted": true})),
        ("isAccepted", json!({"id": NOBODY}), json!({"isAccepted": false})),
        ("isAccepted", json!({}), json!({"isAccepted": false})),
    ] {
        let got = node.result(BLOCKS, &format!("index.{method}"), params.clone()).await;
        assert_eq!(got, want, "{method} {params}");
    }
    let between = |n: u64| format!("numToFetch must be in [1,1024] but is {n}");
    for (method, params, want) in [
        ("getContainerByIndex", json!({"index": 2}), "no container at index 2".to_owned()),
        (
            "getContainerByIndex",
            json!({"index": u64::MAX}),
            format!("no container at index {}", u64::MAX),
        ),
        ("getContainerByID", json!({"id": NOBODY}), "not found".to_owned()),
        ("getContainerByID", json!({}), "not found".to_owned()),
        ("getIndex", json!({"id": NOBODY}), "not found".to_owned()),
        (
            "getContainerRange",
            json!({"startIndex": 2, "numToFetch": 1}),
            "start index (2) > last accepted index (1)".to_owned(),
        ),
        ("getContainerRange", json!({}), between(0)),
        ("getContainerRange", json!({"numToFetch": 1025}), between(1025)),
        (
            "getContainerRange",
            json!({"numToFetch": 1, "encoding": "json"}),
            "unsupported encoding in method".to_owned(),
        ),
        (
            "getLastAccepted",
            json!({"encoding": "json"}),
            "unsupported encoding in method".to_owned(),
        ),
        ("isAccepted", json!({"id": "x"}), INVALID_ARGUMENT.to_owned()),
        ("nothing", json!({}), "rpc: can't find method \"index.Nothing\"".to_owned()),
    ] {
        let got = node.error(BLOCKS, &format!("index.{method}"), params.clone()).await;
        assert_eq!(got, want, "{method} {params}");
    }
}

#[tokio::test]
async fn empty_indexes() {
    let node = Node::start().await;
    let none = "no containers have been accepted";
    for index in ["block", "tx", "vtx"] {
        let path = format!("/ext/index/X/{index}");
        for (method, params, want) in [
            ("getLastAccepted", json!({}), none),
            ("getContainerByIndex", json!({}), "no container at index 0"),
            ("getContainerRange", json!({"numToFetch": 1}), none),
            ("getIndex", json!({}), "not found"),
        ] {
            let got = node.error(&path, &format!("index.{method}"), params).await;
            assert_eq!(got, want, "{index} {method}");
        }
        let got = node.result(&path, "index.isAccepted", json!({})).await;
        assert_eq!(got, json!({"isAccepted": false}));
    }
    for path in ["/ext/index/Y/block", "/ext/index/X", "/ext/index/avm/block"] {
        assert_eq!(node.get(path).await.status, 404, "{path}");
    }
}
