//! Many websockets.

use std::time::Duration;

use esker_e2e::hostile::figures::{mib, peak, resident};
use esker_e2e::hostile::requests::request;
use esker_e2e::hostile::{Wire, frame};
use serde_json::json;

use crate::support::{alone, assert_served, dev, measured};

const MIB: u64 = 1024 * 1024;

#[test]
fn many_websockets_that_subscribe_and_read_nothing() {
    let _alone = alone();
    let node = dev().start().unwrap();
    let before = resident(node.pid());
    let ((), latencies) = measured(&node, |address| {
        let kinds =
            [json!(["newHeads"]), json!(["logs", {}]), json!(["newPendingTransactions", true])];
        let open = || {
            let mut wire = Wire::open_socket(address, "/ext/bc/C/ws").unwrap();
            for kind in &kinds {
                wire.send(&frame(&request("eth_subscribe", kind).to_string())).unwrap();
            }
            wire
        };
        let sockets: Vec<_> = (0..300).map(|_| open()).collect();
        std::thread::sleep(Duration::from_secs(3));
        drop(sockets);
    });
    assert_served("300 websockets with subscriptions that read nothing", &latencies);
    if let Some(before) = before {
        let most = peak(node.pid()).unwrap();
        println!("from {} to at most {}", mib(before), mib(most));
        assert!(most < before + 150 * MIB, "{}", mib(most));
    }
}

/// Each begins at the genesis, in all kinds, and takes nothing.
#[test]
fn many_websockets_that_ask_for_the_history_of_x_and_read_nothing() {
    let _alone = alone();
    let node = dev().start().unwrap();
    let before = resident(node.pid());
    let ((), latencies) = measured(&node, |address| {
        let kinds = [
            json!({ "kind": "blocks", "encoding": "json", "fromHeight": 0 }),
            json!({ "kind": "transactions", "encoding": "json", "fromHeight": 0 }),
            json!({ "kind": "utxos", "fromHeight": 0 }),
        ];
        let open = || {
            let mut wire = Wire::open_socket(address, "/ext/bc/X/ws").unwrap();
            for kind in kinds.iter().cycle().take(60) {
                wire.send(&frame(&request("xvm.subscribe", kind).to_string())).unwrap();
            }
            wire
        };
        let sockets: Vec<_> = (0..200).map(|_| open()).collect();
        std::thread::sleep(Duration::from_secs(3));
        drop(sockets);
    });
    assert_served("200 websockets that ask for the history of X and read nothing", &latencies);
    if let Some(before) = before {
        let most = peak(node.pid()).unwrap();
        println!("from {} to at most {}", mib(before), mib(most));
        assert!(most < before + 150 * MIB, "{}", mib(most));
    }
}
