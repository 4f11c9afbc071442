//! A well-behaved client that measures how long its calls take.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use esker_client::{ChainParams, Wallet, XvmClient};
use esker_primitives::TxId;
use esker_primitives::keys::PrivateKey;
use serde_json::{Value, json};

use super::Wire;
use super::requests::request;
use super::wire::RPC;

/// Longest wait until a transaction is accepted.
const PATIENCE: Duration = Duration::from_secs(60);

/// Counts down from 20,000: PUSH2, JUMPDEST, PUSH1 1, SWAP1, SUB, DUP1, PUSH1 3, JUMPI.
const LOOP: &str = "0x614e205b6001900380600357";

/// The names of the calls that the client repeats.
const CALLS: [&str; 11] = [
    "sendTransaction",
    "sendTransaction without gas",
    "estimateGas",
    "call",
    "blockNumber",
    "getBlockByNumber",
    "getBlockReceipts",
    "call of code",
    "xvm.getHeight",
    "xvm.getBalance",
    "xvm.issueTx",
];

/// The durations of calls.
#[derive(Clone, Debug, Default)]
pub struct Latencies(BTreeMap<&'static str, Vec<Duration>>);

impl Latencies {
    /// The longest duration of all calls.
    pub fn longest(&self) -> Duration {
        self.0.values().flatten().max().copied().unwrap_or_default()
    }

    /// The longest duration of the calls with this name.
    pub fn longest_of(&self, name: &str) -> Duration {
        self.0.get(name).and_then(|times| times.iter().max()).copied().unwrap_or_default()
    }

    /// Least number of times that each call was made.
    pub fn rounds(&self) -> usize {
        CALLS.iter().map(|name| self.0.get(name).map_or(0, Vec::len)).min().unwrap_or(0)
    }
}

impl fmt::Display for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, times) in &self.0 {
            let mut times = times.clone();
            times.sort_unstable();
            let median = times.get(times.len() / 2).copied().unwrap_or_default();
            let longest = times.last().copied().unwrap_or_default();
            let ms = |time: Duration| time.as_secs_f64() * 1000.0;
            let (count, median, longest) = (times.len(), ms(median), ms(longest));
            writeln!(f, "{name}: {count} calls, median {median:.1} ms, longest {longest:.1} ms")?;
        }
        Ok(())
    }
}

/// A client that works on a thread of its own.
#[derive(Debug)]
pub struct HonestClient {
    stop: Arc<AtomicBool>,
    /// The longest call since the last query, microseconds.
    longest_us: Arc<AtomicU64>,
    thread: JoinHandle<Result<Latencies>>,
}

impl HonestClient {
    /// Starts it. The node is one of `esker dev`, and nobody else spends the funds of the X-Chain's key.
    pub fn start(address: SocketAddr, key: PrivateKey, now_s: u64) -> Result<Self> {
        let mut client = Client::new(address, key, now_s)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let longest_us = Arc::clone(&client.longest_us);
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                client.round()?;
            }
            Ok(client.latencies)
        });
        Ok(Self { stop, longest_us, thread })
    }

    /// The longest call that ended since the last query.
    pub fn take_longest(&self) -> Duration {
        Duration::from_micros(self.longest_us.swap(0, Ordering::Relaxed))
    }

    /// Whether it still works; if not, [`Self::stop`] returns the reason.
    pub fn is_working(&self) -> bool {
        !self.thread.is_finished()
    }

    /// Ends after the present round. The error is that of a failed call.
    pub fn stop(self) -> Result<Latencies> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow!("the honest client panicked"))?
    }
}

struct Client {
    wire: Wire,
    x: XvmClient,
    wallet: Wallet,
    account: String,
    /// The last transaction that was issued.
    issued: Option<TxId>,
    latencies: Latencies,
    longest_us: Arc<AtomicU64>,
}

impl Client {
    fn new(address: SocketAddr, key: PrivateKey, now_s: u64) -> Result<Self> {
        let mut wire = Wire::open(address)?;
        let accounts = wire.call(RPC, &request("eth_accounts", &json!([])).to_string())?.json()?;
        let account = accounts["result"][0].as_str().context("no account")?.to_owned();
        let mut x = XvmClient::new(address, "X");
        let params = ChainParams::fetch(address, "X", "NAT")?;
        let mut wallet = Wallet::new(params, key, Vec::new(), now_s);
        wallet.add_utxos(x.walk_utxos(&[wallet.address()], 1024, None)?);
        Ok(Self {
            wire,
            x,
            wallet,
            account,
            issued: None,
            latencies: Latencies::default(),
            longest_us: Arc::default(),
        })
    }

    /// Makes every call once.
    fn round(&mut self) -> Result<()> {
        let to = "0x00000000000000000000000000000000000000bb";
        let transfer = json!([{ "from": self.account, "to": to, "value": "0x1" }]);
        let mut with_gas = transfer.clone();
        with_gas[0]["gas"] = json!("0x5208");
        // A loop that uses a million gas.
        let call_of_code =
            json!([{ "to": to, "gas": "0xf4240" }, "latest", { to: { "code": LOOP } }]);
        let owner = self.wallet.address();
        for name in CALLS {
            let begun = Instant::now();
            let took = match name {
                "sendTransaction" => self.evm(name, &with_gas)?,
                "sendTransaction without gas" => self.evm("sendTransaction", &transfer)?,
                "estimateGas" => self.evm(name, &transfer)?,
                "call" => self.evm(name, &json!([{ "to": to }, "latest"]))?,
                "blockNumber" => self.evm(name, &json!([]))?,
                "getBlockByNumber" => self.evm(name, &json!(["latest", true]))?,
                "getBlockReceipts" => self.evm(name, &json!(["latest"]))?,
                "call of code" => self.evm("call", &call_of_code)?,
                "xvm.getHeight" => {
                    self.x.get_height()?;
                    begun.elapsed()
                }
                "xvm.getBalance" => {
                    self.x.get_balance(&owner, "NAT")?;
                    begun.elapsed()
                }
                _ => self.issue()?,
            };
            let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            self.longest_us.fetch_max(micros, Ordering::Relaxed);
            self.latencies.0.entry(name).or_default().push(took);
        }
        Ok(())
    }

    fn evm(&mut self, method: &str, params: &Value) -> Result<Duration> {
        let body = request(&format!("eth_{method}"), params).to_string();
        let begun = Instant::now();
        let reply = self.wire.call(RPC, &body)?;
        let took = begun.elapsed();
        let reply = reply.json()?;
        ensure!(reply.get("error").is_none(), "{method}: {reply}");
        Ok(took)
    }

    /// Sends some of the wallet's funds to itself; returns the duration.
    fn issue(&mut self) -> Result<Duration> {
        // The outputs of the last transaction can be spent once it is in a block.
        if let Some(last) = self.issued.take() {
            let deadline = Instant::now() + PATIENCE;
            while !self.x.get_tx_status(&last)?.is_accepted() {
                ensure!(Instant::now() < deadline, "{last} is not accepted after {PATIENCE:?}");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        let asset = self.wallet.params().fee_asset_id;
        let output = Wallet::output(asset, 1_000_000, self.wallet.owner());
        let tx = self.wallet.base_tx(vec![output], b"")?;
        self.wallet.apply(&tx);
        let begun = Instant::now();
        self.issued = Some(self.x.issue_tx(&tx)?);
        Ok(begun.elapsed())
    }
}
