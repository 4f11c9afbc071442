//! Unread replies: their memory is limited, and is freed with their clients.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use esker_e2e::Node;
use esker_e2e::hostile::figures::{metric, mib, peak, resident, until_below};
use esker_e2e::hostile::requests::{batch, large_call};
use esker_e2e::hostile::{RPC, Wire, frame, post};

use crate::support::{alone, assert_served, dev, measured};

const MIB: u64 = 1024 * 1024;
/// Memory of the process that has nothing to do with replies: code, tables, and what work takes while it runs.
const ROOM: u64 = 150 * MIB;

/// Connections that ask for large replies and read nothing.
fn deaf(node: SocketAddr, http: usize, sockets: usize, bytes: u32, headers: &str) -> Vec<Wire> {
    let call = large_call(bytes);
    let four = batch(&call, 4);
    let http = (0..http).map(|_| {
        let mut wire = Wire::open(node).unwrap();
        wire.send(post(RPC, &four, headers).as_bytes()).unwrap();
        wire
    });
    let mut clients: Vec<_> = http.collect();
    clients.extend((0..sockets).map(|_| {
        let mut wire = Wire::open_socket(node, "/ext/bc/C/ws").unwrap();
        (0..4).for_each(|_| wire.send(&frame(&call.to_string())).unwrap());
        wire.send(&frame(&four)).unwrap();
        wire
    }));
    clients
}

/// The most that replies held, while clients leave them unread.
fn watch(node: &Node, lasts: Duration) -> u64 {
    let end = Instant::now() + lasts;
    let mut most = 0.0_f64;
    while Instant::now() < end {
        most = most.max(metric(node, "esker_http_reply_memory_bytes").unwrap());
        std::thread::sleep(Duration::from_millis(50));
    }
    most as u64
}

#[test]
fn large_replies_that_nobody_reads() {
    let _alone = alone();
    for headers in ["", "Accept-Encoding: gzip\r\n"] {
        let node = dev().arg("--http-reply-memory").arg("20000000").start().unwrap();
        let before = resident(node.pid());
        let (held, latencies) = measured(&node, |address| {
            let clients = deaf(address, 60, 20, 150_000, headers);
            let held = watch(&node, Duration::from_secs(4));
            drop(clients);
            held
        });
        assert_served("80 connections that read nothing", &latencies);
        assert!(held <= 20_000_000, "{held}");
        if let Some(before) = before {
            let most = peak(node.pid()).unwrap();
            println!("from {} to at most {}", mib(before), mib(most));
            assert!(most < before + 20 * MIB + ROOM, "{}", mib(most));
            let after = until_below(node.pid(), before + ROOM / 2, Duration::from_secs(20));
            println!("{} after they left", mib(after));
            assert!(after < before + ROOM / 2, "{}", mib(after));
        }
        // The node notices each client's end by itself.
        esker_e2e::until("no reply is held", || {
            (metric(&node, "esker_http_reply_memory_bytes").unwrap() == 0.0).then_some(())
        });
    }
}

#[test]
fn a_client_that_reads_slowly_gets_all_of_it() {
    let _alone = alone();
    let node = dev().start().unwrap();
    let call = large_call(300_000);
    let mut wire = Wire::open(node.address()).unwrap();
    wire.post(RPC, &batch(&call, 8)).unwrap();
    // The node goes on only as far as its client reads.
    esker_e2e::until("a reply waits to be read", || {
        (metric(&node, "esker_http_reply_memory_bytes").unwrap() > 0.0).then_some(())
    });
    assert!(metric(&node, "esker_http_reply_memory_bytes").unwrap() < 2_000_000.0);
    let reply = wire.reply().unwrap();
    let results = reply.json().unwrap();
    let results = results.as_array().unwrap();
    assert_eq!(results.len(), 8);
    for result in results {
        assert_eq!(result["result"].as_str().unwrap().len(), 2 + 600_000, "{result:.100}");
    }
    // The connection serves the next request.
    assert!(
        wire.call(RPC, &large_call(1).to_string()).unwrap().json().unwrap()["result"] == "0x00"
    );
}

#[test]
#[ignore = "measures a release build: see docs/testing.md"]
fn slow_a_hundred_and_forty_connections_read_nothing() {
    let _alone = alone();
    for headers in ["", "Accept-Encoding: gzip\r\n"] {
        let node = dev().start().unwrap();
        let (held, latencies) = measured(&node, |address| {
            let clients = deaf(address, 100, 40, 1_850_000, headers);
            let held = watch(&node, Duration::from_secs(10));
            drop(clients);
            held
        });
        let most = peak(node.pid()).unwrap();
        std::thread::sleep(Duration::from_secs(5));
        let after = resident(node.pid()).unwrap();
        println!(
            "{headers:?} replies held {}, memory at most {}, {} five seconds after\n{latencies}",
            mib(held),
            mib(most),
            mib(after)
        );
        assert!(most < 500 * MIB && after < 200 * MIB, "{} {}", mib(most), mib(after));
        assert!(latencies.longest() < Duration::from_secs(1), "{latencies}");
    }
}
