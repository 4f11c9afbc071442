//! The recorded chain of logs, with methods that find them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::hex;
use esker_chain::Machine;
use esker_evm::chain::Evm;
use esker_evm::extension::NoExtension;
use esker_evm::view::ChainEvents;
use esker_evm_rpc::Apis;
use esker_evm_rpc::evm::{FilterConfig, Filters, filter_methods};
use esker_evm_state::types::Transaction;
use esker_primitives::Randomness;
use esker_primitives::clock::ManualClock;
use esker_rpc::Caller;
use esker_rpc::positional::{Limits, Server};
use esker_rpc::work::{Work, WorkConfig};
use serde_json::Value;

use crate::golden;
use crate::world::{Chain, Setup, answer, make_block};

const BLOCK_MS: u64 = 10_000;

pub(super) struct World {
    pub(super) evm: Arc<Evm>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) machine: Arc<Machine>,
    pub(super) filters: Arc<Filters>,
    server: Server,
}

impl World {
    pub(super) fn new(config: FilterConfig) -> Self {
        Self::with(Setup::ARCHIVE, config, None)
    }

    pub(super) fn with(
        setup: Setup,
        config: FilterConfig,
        events: Option<Arc<dyn ChainEvents>>,
    ) -> Self {
        let Chain { evm, machine, clock, reads, .. } = Chain::open(setup, Arc::new(NoExtension));
        let events = events.unwrap_or_else(|| evm.clone());
        let count = AtomicU8::new(1);
        let randomness: Randomness =
            Arc::new(move |bytes| bytes.fill(count.fetch_add(1, Ordering::Relaxed)));
        let filters = Filters::new(reads, events, clock.clone(), randomness, config);
        let service = filter_methods(&filters, &Apis::default());
        Self { evm, clock, machine, filters, server: Server::new(service, Limits::default()) }
    }

    /// The recorded transactions, each submitted when its turn comes: blocks 4 to 7 have 1, 2, 6 and 1 logs, and
    /// block 8, the last, none.
    pub(super) async fn fill(&self) {
        for transactions in blocks() {
            self.block(transactions).await;
        }
        assert_eq!(self.evm.head().header.number, 8);
    }

    /// Makes one block of these.
    pub(super) async fn block(&self, transactions: Vec<Transaction>) {
        for tx in transactions {
            self.evm.submit(tx).unwrap();
        }
        make_block(&self.machine, &self.clock, BLOCK_MS).await;
        assert_eq!(self.evm.pool().counts().0, 0);
    }

    pub(super) async fn reply(&self, method: &str, params: &str) -> Value {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        serde_json::from_str(&answer(&self.server, &body).await).unwrap()
    }

    /// The reply to a client at this address, 192.0.2.x.
    pub(super) async fn reply_to(&self, last: u8, method: &str, params: &str) -> Value {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let work = Work::new(WorkConfig::default());
        let client = work.client(Some([192, 0, 2, last].into()));
        let caller = Caller { client: Some(client), ..Caller::default() };
        let answer = self.server.answer(body.as_bytes(), None, &caller).await;
        serde_json::from_slice(&answer.into_bytes()).unwrap()
    }

    /// The result of a call.
    pub(super) async fn call(&self, method: &str, params: &str) -> Value {
        let reply = self.reply(method, params).await;
        reply.get("result").unwrap_or_else(|| panic!("{method}{params}: {reply}")).clone()
    }

    /// The error of a call.
    pub(super) async fn error(&self, method: &str, params: &str) -> Value {
        let reply = self.reply(method, params).await;
        reply.get("error").unwrap_or_else(|| panic!("{method}{params}: {reply}")).clone()
    }

    /// Heights of the logs that a call finds.
    pub(super) async fn heights(&self, method: &str, params: &str) -> Vec<u64> {
        heights(&self.call(method, params).await)
    }

    /// A filter's ID, in the brackets of a list of arguments.
    pub(super) async fn install(&self, method: &str, params: &str) -> String {
        format!("[{}]", self.call(method, params).await)
    }
}

pub(super) fn heights(logs: &Value) -> Vec<u64> {
    let height = |log: &Value| {
        let text = log["blockNumber"].as_str().unwrap();
        u64::from_str_radix(text.strip_prefix("0x").unwrap(), 16).unwrap()
    };
    logs.as_array().unwrap().iter().map(height).collect()
}

/// The recorded transactions by blocks.
pub(super) fn blocks() -> Vec<Vec<Transaction>> {
    let (mut blocks, mut block) = (Vec::new(), Vec::new());
    for exchange in golden::exchanges("golden/c/logs-1.io") {
        let request: Value = serde_json::from_str(&exchange.body).unwrap();
        if request["method"] == "eth_sendRawTransaction" {
            let raw = hex::decode(request["params"][0].as_str().unwrap()).unwrap();
            block.push(Transaction::decode_2718_exact(&raw).unwrap());
        } else if request["method"] == "eth_getTransactionReceipt" {
            blocks.push(std::mem::take(&mut block));
        }
    }
    blocks
}
