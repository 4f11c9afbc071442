//! Sources of outputs that lie, fail or change.

use std::sync::atomic::{AtomicU64, Ordering};

use esker_settings::config::Mode;
use serde_json::{Value, json};

use crate::fork::refusal_as;
use crate::fork_x::{Origin, address_of, dev};
use crate::proxy::{Lie, Proxy};

/// A height that is another one each time.
fn next_height(result: &mut Value) {
    static HEIGHT: AtomicU64 = AtomicU64::new(1000);
    result["height"] = json!(HEIGHT.fetch_add(1, Ordering::Relaxed).to_string());
}

/// A page that is another one each time, so that two reads differ.
fn next_page(result: &mut Value) {
    static READS: AtomicU64 = AtomicU64::new(0);
    let utxos = result["utxos"].as_array_mut().unwrap();
    if READS.fetch_add(1, Ordering::Relaxed) % 4 < 2 && !utxos.is_empty() {
        utxos.pop();
    }
}

/// Ends nowhere: each page says that another one follows.
fn endless(result: &mut Value) {
    static PAGES: AtomicU64 = AtomicU64::new(0);
    let page = PAGES.fetch_add(1, Ordering::Relaxed);
    *result = json!({"utxos": [], "endIndex": {"address": "a", "utxo": page.to_string()}});
}

fn damaged(result: &mut Value) {
    let text = result["utxos"][0].as_str().unwrap().replacen("0x00", "0x01", 1);
    result["utxos"][0] = json!(text);
}

fn other_tx(result: &mut Value) {
    let text = result["tx"].as_str().unwrap();
    let mut bytes = esker_primitives::hexfmt::decode_checked(text).unwrap();
    // The last byte of the credentials.
    *bytes.last_mut().unwrap() ^= 1;
    result["tx"] = json!(esker_primitives::hexfmt::encode_checked(&bytes));
}

#[tokio::test(flavor = "multi_thread")]
async fn lies_are_named_and_leave_nothing() {
    let origin = Origin::start().await;
    let proxy = Proxy::start(origin.node.http_addr()).await;
    let owner = address_of(9, "local");
    let folder = tempfile::tempdir().unwrap();
    let data = ("data-dir", folder.path().to_str().unwrap());
    let flags = [data, ("fork-x", &*proxy.url), ("fork-x-address", &*owner), ("fork-retries", "0")];
    let lies: [(&str, Lie, &str); 9] = [
        (
            "info.getNetworkID",
            |result| *result = Value::Null,
            "info.getNetworkID: not the expected",
        ),
        ("info.getNetworkID", |result| result["networkID"] = json!("1"), "avm.getUTXOs: error"),
        (
            "avm.getAssetDescription",
            |result| result["assetID"] = json!(7),
            "not the expected answer",
        ),
        ("avm.getHeight", |result| *result = json!({"height": "x"}), "avm.getHeight: not the"),
        ("avm.getUTXOs", |result| *result = Value::Null, "avm.getUTXOs: not the expected answer"),
        ("avm.getUTXOs", |result| result["utxos"] = json!([5]), "an output is no text"),
        ("avm.getUTXOs", damaged, "an output is damaged"),
        ("avm.getTx", |result| result["tx"] = json!("0x00"), "avm.getTx: asset "),
        ("avm.getTx", other_tx, "the answer is another transaction"),
    ];
    for (method, lie, expected) in lies {
        proxy.lie(method, Some(lie));
        let refused = refusal_as(Mode::Dev, &flags).await;
        assert!(refused.contains(expected), "{method}: {refused}");
        assert!(refused.contains(&proxy.url), "{method}: {refused}");
    }
    let other = address_of(9, "fuji");
    let flags_of_other = [flags[0], flags[1], ("fork-x-address", other.as_str()), flags[3]];
    proxy.lie("avm.getHeight", None);
    let refused = refusal_as(Mode::Dev, &flags_of_other).await;
    assert!(refused.contains("an address begins with fuji1"), "{refused}");
    proxy.lie("avm.getUTXOs", Some(endless));
    let fork = dev(&[("fork-x", &proxy.url), ("fork-x-address", &owner)]).await;
    assert_eq!(fork.taken_over().unwrap().outputs, 0, "an empty page is the last one");
    fork.stop().await.unwrap();
    proxy.lie("avm.getHeight", None);
    // The folder of the refused starts is as new.
    let fork = dev(&flags).await;
    assert!(fork.taken_over().unwrap().outputs > 3);
    fork.stop().await.unwrap();
    origin.node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_that_moves_on_is_read_again() {
    let origin = Origin::start().await;
    let proxy = Proxy::start(origin.node.http_addr()).await;
    let owner = address_of(9, "local");
    let flags = [("fork-x", &*proxy.url), ("fork-x-address", &*owner)];
    // The height is another one each time, and two reads find the same.
    proxy.lie("avm.getHeight", Some(next_height));
    let fork = dev(&flags).await;
    assert!(fork.taken_over().unwrap().outputs > 3);
    fork.stop().await.unwrap();
    let heads = proxy.take_heads();
    assert!(heads.iter().all(|head| head.contains("/ext/bc/X") || head.contains("/ext/info")));
    proxy.lie_also("avm.getUTXOs", next_page);
    let refused = refusal_as(Mode::Dev, &flags).await;
    assert!(refused.contains("the outputs changed during each of 6 reads"), "{refused}");
    origin.node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_do_not_fit_are_refused() {
    let owner = address_of(9, "local");
    let address = ("fork-x-address", owner.as_str());
    for (flags, expected) in [
        (&[("fork-x", "http://127.0.0.1:1"), ("fork-retries", "0"), address][..], "unreachable"),
        (&[("fork-x", "http://127.0.0.1:1/ext/bc/C/rpc"), address], "expected the URL of a node"),
        (&[("fork-x", "127.0.0.1:1"), address], "the fork URL is not valid"),
    ] {
        let refused = refusal_as(Mode::Dev, flags).await;
        assert!(refused.contains(expected), "{refused}");
    }
}
