//! Requests with wrong lengths, slow bodies and large batches.

use std::time::Duration;

use esker_e2e::hostile::figures::{mib, peak, resident};
use esker_e2e::hostile::requests::request;
use esker_e2e::hostile::{RPC, Wire, post};
use serde_json::json;

use crate::support::{alone, assert_served, dev, measured};

const MIB: u64 = 1024 * 1024;

#[test]
fn lengths_that_lie() {
    let _alone = alone();
    let node = dev().arg("--http-read-timeout").arg("1s").start().unwrap();
    let head = |length: &str| {
        format!(
            "POST {RPC} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n"
        )
    };
    let call = request("eth_chainId", &json!([])).to_string();
    let ((), latencies) = measured(&node, |address| {
        // The declared length exceeds the body: the node waits no longer than configured.
        let mut promises: Vec<_> = (0..50).map(|_| Wire::open(address).unwrap()).collect();
        for wire in &mut promises {
            wire.send((head("5000000") + &call).as_bytes()).unwrap();
        }
        // The declared length is too short: the rest is no request.
        let mut less = Wire::open(address).unwrap();
        less.send((head("10") + &call).as_bytes()).unwrap();
        assert!(less.reply().unwrap().json().unwrap()["error"]["code"] == -32700);
        for wrong in ["-1", "1e3", "99999999999999999999999", "5, 6"] {
            let mut wire = Wire::open(address).unwrap();
            wire.send((head(wrong) + &call).as_bytes()).unwrap();
            wire.until_closed().unwrap();
        }
        for wire in &mut promises {
            assert!(wire.until_closed().unwrap() < Duration::from_secs(20));
        }
    });
    assert_served("50 connections that promise more than they send", &latencies);
}

#[test]
fn slow_bodies() {
    let _alone = alone();
    let node =
        dev().arg("--http-read-timeout").arg("2s").arg("--http-read-header-timeout").arg("2s");
    let node = node.start().unwrap();
    let whole = post(RPC, &" ".repeat(1000), "");
    let ((), latencies) = measured(&node, |address| {
        let mut slow: Vec<_> = (0..50).map(|_| Wire::open(address).unwrap()).collect();
        let mut at = 0;
        // Each byte comes well before any timeout.
        while !slow.is_empty() && at < whole.len() {
            slow.retain_mut(|wire| wire.send(&whole.as_bytes()[at..=at]).is_ok());
            at += 1;
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(at < whole.len(), "all were served");
    });
    assert_served("50 connections that send a byte every 50 ms", &latencies);
}

#[test]
fn large_batches() {
    let _alone = alone();
    let node = dev().start().unwrap();
    let before = resident(node.pid());
    let long = "[".repeat(2_000_000);
    let ids = format!("[{}]", vec![format!(r#"{{"id":"{}"}}"#, "x".repeat(4000)); 1000].join(","));
    let bombs = [
        // More messages than a batch may have, as many as a body holds.
        format!("[{}1]", "1,".repeat(2_400_000)),
        // Whatever is in them is repeated in the answer.
        ids,
        long,
        format!("[{}]", vec!["null"; 1000].join(",")),
    ];
    let ((), latencies) = measured(&node, |address| {
        for bomb in &bombs {
            for _ in 0..8 {
                let mut wire = Wire::open(address).unwrap();
                let reply = wire.call(RPC, bomb).unwrap();
                assert_eq!(reply.status, 200);
                assert!(reply.body.len() < 6_000_000, "{}", reply.body.len());
            }
        }
    });
    assert_served("bodies of 5 MB that are hard to read", &latencies);
    if let Some(before) = before {
        let most = peak(node.pid()).unwrap();
        assert!(most < before + 250 * MIB, "{}", mib(most));
    }
}

#[test]
fn requests_that_do_not_wait_for_replies() {
    let _alone = alone();
    let node = dev().start().unwrap();
    let before = resident(node.pid());
    let call = post(RPC, &request("eth_getBlockByNumber", &json!(["0x0", true])).to_string(), "");
    let many = call.repeat(200);
    let ((), latencies) = measured(&node, |address| {
        let clients: Vec<_> = (0..50)
            .map(|_| {
                let mut wire = Wire::open(address).unwrap();
                wire.send(many.as_bytes()).unwrap();
                wire
            })
            .collect();
        std::thread::sleep(Duration::from_secs(2));
        drop(clients);
    });
    assert_served("50 connections with 200 requests each, sent at once and not read", &latencies);
    if let Some(before) = before {
        let most = peak(node.pid()).unwrap();
        assert!(most < before + 150 * MIB, "{}", mib(most));
    }
}
