//! Sends and small reads while no place is left for long work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use alloy_primitives::{Address, address};
use esker_evm_rpc::evm::TransactConfig;
use esker_rpc::work::{Client, Lane, Work, WorkConfig};
use serde_json::{Value, json};

use super::world::World;

const HELD: Address = address!("0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc");
/// A place of nobody.
const NOBODY: &str = "0x00000000000000000000000000000000000000bb";
/// Jobs that do not end.
const JOBS: usize = 48;
/// The most jobs that run on two processors while those of the first level do not end: two of it, and twice two that
/// went on at the next. No long job begins then.
const BEGINNING: usize = 6;
/// No test waits longer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Init code of a contract that counts down from 3,000 and stops: PUSH2, JUMPDEST, PUSH1 1, SWAP1, SUB, DUP1, PUSH1 3,
/// JUMPI, STOP. Some 80,000 gas.
const COUNTS: &str = "0x600d600c600039600d6000f3610bb85b6001900380600357 00";
/// Init code of a contract that writes a word.
const WRITES: &str = "0x6005600c60003960056000f3602a600055";

/// Work that takes every place where long work begins, until it may go.
struct Deaf {
    go: Arc<AtomicBool>,
    work: Work,
    jobs: Vec<tokio::task::JoinHandle<()>>,
}

impl Deaf {
    async fn start() -> Self {
        let work = Work::new(WorkConfig { processors: 2, ..WorkConfig::default() });
        let go = Arc::new(AtomicBool::new(false));
        let mut jobs = Vec::new();
        for _ in 0..JOBS {
            let client = work.client(None);
            let go = Arc::clone(&go);
            jobs.push(tokio::spawn(async move {
                let wait = move || {
                    while !go.load(Ordering::SeqCst) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                };
                client.run(Lane::Long, wait).await.unwrap();
            }));
        }
        while work.stats().waiting < JOBS - BEGINNING || work.stats().running < BEGINNING {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Self { go, work, jobs }
    }

    fn client(&self) -> Client {
        self.work.client(None)
    }

    async fn end(self) {
        assert!(!self.go.swap(true, Ordering::SeqCst));
        for job in self.jobs {
            job.await.unwrap();
        }
    }
}

async fn deploy(world: &World, code: &str) -> Value {
    let code = code.replace(' ', "");
    let params = json!([{"from": HELD, "data": code}]).to_string();
    let hash = world.call("eth_sendTransaction", &params).await["result"].clone();
    world.settle().await;
    let receipt = world.call("eth_getTransactionReceipt", &json!([hash]).to_string()).await;
    assert_eq!(receipt["result"]["status"], "0x1", "{receipt}");
    receipt["result"]["contractAddress"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn sends_do_not_wait_for_long_work() {
    let test = async {
        let world = World::new(TransactConfig::default(), false);
        let writes = deploy(&world, WRITES).await;
        let deaf = Deaf::start().await;
        let client = deaf.client();
        let txs = [
            json!({"from": HELD, "to": NOBODY, "value": "0x1"}),
            json!({"from": HELD, "to": NOBODY, "gas": "0x5208"}),
            json!({"from": HELD, "to": writes}),
            json!({"from": HELD, "to": "0x0000000000000000000000000000000000000004"}),
            json!({"from": HELD, "data": WRITES}),
        ];
        let mut gas = Vec::new();
        for tx in &txs {
            let params = json!([tx]).to_string();
            let filled = world.call_as(&client, "eth_fillTransaction", &params).await;
            gas.push(filled["result"]["tx"]["gas"].clone());
            let sent = world.call_as(&client, "eth_sendTransaction", &params).await;
            assert!(sent["result"].is_string(), "{tx}: {sent}");
        }
        assert_eq!((&gas[0], &gas[1]), (&json!("0x5208"), &json!("0x5208")));
        // Errors come at once too.
        let reverts = json!([{"from": HELD, "data": "0x60006000fd"}]).to_string();
        let reply = world.call_as(&client, "eth_sendTransaction", &reverts).await;
        assert_eq!(reply["error"]["message"], "execution reverted", "{reply}");
        for (method, params) in [
            ("eth_estimateGas", json!([txs[0]])),
            ("eth_estimateGas", json!([txs[3], "latest"])),
            ("eth_getBlockByNumber", json!(["latest", true])),
            ("eth_getBlockByNumber", json!(["0x0", false])),
            ("eth_call", json!([txs[2], "latest"])),
            ("eth_getBalance", json!([HELD, "latest"])),
        ] {
            let reply = world.call_as(&client, method, &params.to_string()).await;
            assert!(reply.get("result").is_some(), "{method} {params}: {reply}");
        }
        assert!(deaf.work.stats().waiting > 0, "long work waits all the while");
        deaf.end().await;
        // Short and long estimates give the same gas.
        for (tx, gas) in txs.iter().zip(&gas) {
            let filled = world.call("eth_fillTransaction", &json!([tx]).to_string()).await;
            assert_eq!(filled["result"]["tx"]["gas"], *gas, "{tx}");
        }
    };
    tokio::time::timeout(PATIENCE, test).await.expect("still not answered after a long time");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_whose_estimate_is_long_takes_its_turn() {
    let test = async {
        let world = Arc::new(World::new(TransactConfig::default(), false));
        let counts = deploy(&world, COUNTS).await;
        let deaf = Deaf::start().await;
        let client = deaf.client();
        let before = deaf.work.stats().waiting;
        let params = json!([{"from": HELD, "to": counts}]).to_string();
        let (of_send, its_world) = (client.clone(), Arc::clone(&world));
        let mut send = tokio::spawn(async move {
            its_world.call_as(&of_send, "eth_sendTransaction", &params).await
        });
        while deaf.work.stats().waiting <= before {
            assert!(!send.is_finished(), "{:?}", (&mut send).await);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // Nothing of it was sent yet.
        let status = world.call_as(&client, "txpool_status", "[]").await;
        assert_eq!(status["result"]["pending"], "0x0");
        deaf.end().await;
        assert!(send.await.unwrap()["result"].is_string());
        let status = world.call("txpool_status", "[]").await;
        assert_eq!(status["result"]["pending"], "0x1");
    };
    tokio::time::timeout(PATIENCE, test).await.expect("still not answered after a long time");
}
