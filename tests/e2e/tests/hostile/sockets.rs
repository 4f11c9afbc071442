//! Many websockets.

use std::time::Duration;

use esker_e2e::hostile::figures::{metric, mib, peak, resident};
use esker_e2e::hostile::requests::request;
use esker_e2e::hostile::{Wire, frame};
use esker_e2e::until;
use serde_json::{Value, json};

use crate::support::{alone, assert_served, dev, measured};

const MIB: u64 = 1024 * 1024;

#[test]
fn many_websockets_that_subscribe_and_read_nothing() {
    let kinds = [json!(["newHeads"]), json!(["logs", {}]), json!(["newPendingTransactions", true])];
    let requests = kinds.map(|kind| request("eth_subscribe", &kind));
    let series = r#"esker_rpc_subscriptions{chain="C",kind="newHeads"}"#;
    read_nothing(300, "/ext/bc/C/ws", &requests, series);
}

/// Each begins at the genesis, in all kinds, many times.
#[test]
fn many_websockets_that_ask_for_the_history_of_x_and_read_nothing() {
    let kinds = [
        json!({ "kind": "blocks", "encoding": "json", "fromHeight": 0 }),
        json!({ "kind": "transactions", "encoding": "json", "fromHeight": 0 }),
        json!({ "kind": "utxos", "fromHeight": 0 }),
    ];
    let requests: Vec<_> =
        kinds.iter().cycle().take(60).map(|kind| request("xvm.subscribe", kind)).collect();
    let series = r#"esker_rpc_subscriptions{chain="X",kind="utxos"}"#;
    read_nothing(200, "/ext/bc/X/ws", &requests, series);
}

/// Opens websockets that send these requests and read nothing, and measures an honest client meanwhile.
///
/// `series` counts their subscriptions.
fn read_nothing(number: usize, path: &str, requests: &[Value], series: &str) {
    let _alone = alone();
    let node = dev().start().unwrap();
    let before = resident(node.pid());
    assert_eq!(metric(&node, series).unwrap(), 0.0);
    let ((), latencies) = measured(&node, |address| {
        let open = || {
            let mut wire = Wire::open_socket(address, path).unwrap();
            for request in requests {
                wire.send(&frame(&request.to_string())).unwrap();
            }
            wire
        };
        let sockets: Vec<_> = (0..number).map(|_| open()).collect();
        std::thread::sleep(Duration::from_secs(3));
        until("some have subscribed", || (metric(&node, series).unwrap() > 0.0).then_some(()));
        drop(sockets);
    });
    assert_served(&format!("{number} websockets at {path} that read nothing"), &latencies);
    if let Some(before) = before {
        let most = peak(node.pid()).unwrap();
        println!("from {} to at most {}", mib(before), mib(most));
        assert!(most < before + 150 * MIB, "{}", mib(most));
    }
}
