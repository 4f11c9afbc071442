//! A development node for tests.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use alloy_primitives::{Address, B256, U256};
use esker_client::evm::Receipt;
use esker_client::{CallError, ChainParams, DevClient, EvmClient, RpcClient, Wallet, XvmClient};
use esker_primitives::sync::Mutex;
use esker_primitives::{PrivateKey, ShortId, address, network};
use parking_lot::ReentrantMutex;
use serde::Deserialize;

use crate::error::Error;
use crate::funds::funded;
use crate::node::{Node, NodeBuilder};
use crate::snapshot::Snapshot;
use crate::until::{PATIENCE, PAUSE};

/// The variable that names the binary.
const BINARY_VARIABLE: &str = "ESKER_BIN";
const BINARY: &str = "esker";
/// Time that a node may take to stop before it is killed.
const STOP_WITHIN: Duration = Duration::from_secs(10);
/// Time that a test may wait for its turn on a shared node: until all tests before it are done.
const TURN_WITHIN: Duration = Duration::from_secs(600);
/// Wei of one unit of the X-Chain.
const WEI: u64 = 1_000_000_000;

/// The arguments with which a development node is started.
#[derive(Debug, Default)]
#[must_use = "nothing is started yet"]
pub struct DevNodeBuilder {
    binary: Option<PathBuf>,
    data_dir: Option<PathBuf>,
    log_file: Option<PathBuf>,
    http_port: u16,
    evm_port: u16,
    start_within: Option<Duration>,
    args: Vec<OsString>,
}

impl DevNodeBuilder {
    /// The binary. By default the one that the variable `ESKER_BIN` names, else `esker` on the `PATH`.
    pub fn binary(mut self, program: impl Into<PathBuf>) -> Self {
        self.binary = Some(program.into());
        self
    }

    /// Number of accounts, 1 to 1000; 10 by default.
    pub fn accounts(self, count: u32) -> Self {
        self.args(["--accounts", &count.to_string()])
    }

    /// The balance of each account on each chain, in whole units of the native asset; 10,000 by default.
    pub fn balance(self, units: u64) -> Self {
        self.args(["--balance", &units.to_string()])
    }

    /// The phrase of the accounts' keys.
    pub fn mnemonic(self, phrase: &str) -> Self {
        self.args(["--mnemonic", phrase])
    }

    /// The time at which the clock of all chains begins, Unix seconds.
    pub fn timestamp(self, time_s: u64) -> Self {
        self.args(["--timestamp", &time_s.to_string()])
    }

    /// A file of assets, UTXOs and contracts that the node begins with.
    pub fn fixture(self, file: impl AsRef<Path>) -> Self {
        self.args(["--fixture".as_ref(), file.as_ref().as_os_str()])
    }

    /// A data folder that outlives the node. By default it is temporary, and no block waits for the disk.
    pub fn data_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.data_dir = Some(folder.into());
        self
    }

    /// A file for what the node writes to its outputs, which outlives it.
    pub fn log_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.log_file = Some(file.into());
        self
    }

    /// The port of HTTP; a free one by default.
    pub fn http_port(mut self, port: u16) -> Self {
        self.http_port = port;
        self
    }

    /// The port that has the C-Chain's JSON-RPC at `/`; a free one by default.
    pub fn evm_port(mut self, port: u16) -> Self {
        self.evm_port = port;
        self
    }

    /// Time that the start may take; a minute by default.
    pub fn start_within(mut self, patience: Duration) -> Self {
        self.start_within = Some(patience);
        self
    }

    /// Further arguments of `esker dev`.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Starts the node and waits until it serves.
    ///
    /// # Errors
    /// There is no binary, the node ended, or it did not serve in time.
    pub fn start(self) -> Result<DevNode, Error> {
        let (program, origin) = binary(self.binary, std::env::var_os(BINARY_VARIABLE));
        let mut node = NodeBuilder::new(program).dev().ends_with_us();
        node = node.http_port(self.http_port).evm_port(self.evm_port);
        node = match self.data_dir {
            Some(folder) => node.data_dir(folder),
            None => node.temporary(),
        };
        if let Some(file) = self.log_file {
            node = node.log_file(file);
        }
        let node = self.args.into_iter().fold(node, NodeBuilder::arg);
        let starting = node.spawn().map_err(|error| with_origin(error, origin))?;
        DevNode::from_node(starting.wait_within(self.start_within.unwrap_or(PATIENCE))?)
    }
}

/// The binary, and what an error says of the origin of its name.
fn binary(given: Option<PathBuf>, variable: Option<OsString>) -> (PathBuf, &'static str) {
    // An empty variable is as none, as it is in the packages for other languages.
    match (given, variable.filter(|named| !named.is_empty())) {
        (Some(given), _) => (given, ""),
        (None, Some(named)) => (named.into(), " (of ESKER_BIN)"),
        (None, None) => (BINARY.into(), ""),
    }
}

/// Prefix of the addresses of `esker dev`.
fn hrp() -> &'static str {
    network::hrp(network::LOCAL_ID)
}

/// Says where the name of the binary that can't be started is from.
fn with_origin(error: Error, origin: &str) -> Error {
    match error {
        Error::Spawn { program, error }
            if program == BINARY && error.kind() == std::io::ErrorKind::NotFound =>
        {
            Error::NoBinary
        }
        Error::Spawn { program, error } => {
            Error::Spawn { program: format!("{program}{origin}"), error }
        }
        other => other,
    }
}

/// An account of a development node, with the same key on all chains.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    x_address: String,
    c_address: String,
    private_key: String,
    x_private_key: String,
}

impl Account {
    /// The address on the X-Chain: `X-local1..`.
    pub fn x_address(&self) -> &str {
        &self.x_address
    }

    /// The address on the C-Chain.
    ///
    /// # Panics
    /// Never: [`DevNode`] has read it.
    pub fn c_address(&self) -> Address {
        self.c_address.parse().expect("read at the start")
    }

    /// The key in the form of tools of the C-Chain: `0x` and 64 digits.
    pub fn private_key(&self) -> &str {
        &self.private_key
    }

    /// The key in the form of tools of the X-Chain: `PrivateKey-..`.
    pub fn x_private_key(&self) -> &str {
        &self.x_private_key
    }

    /// The key, for a [`Wallet`].
    ///
    /// # Panics
    /// Never: [`DevNode`] has read it.
    pub fn key(&self) -> PrivateKey {
        self.x_private_key.parse().expect("read at the start")
    }

    fn is_readable(&self) -> bool {
        self.c_address.parse::<Address>().is_ok()
            && self.x_private_key.parse::<PrivateKey>().is_ok()
    }
}

/// A running `esker dev`; stopped when dropped.
#[derive(Debug)]
pub struct DevNode {
    node: Node,
    accounts: Vec<Account>,
    /// Whoever has a snapshot.
    turn: ReentrantMutex<()>,
    /// Payments of the well-known key consume each other's outputs.
    paying: Mutex<()>,
}

impl DevNode {
    /// Starts a node with the defaults of `esker dev`, on free ports and with a temporary data folder.
    ///
    /// # Errors
    /// See [`DevNodeBuilder::start`].
    pub fn start() -> Result<Self, Error> {
        Self::builder().start()
    }

    /// For a node with other settings.
    pub fn builder() -> DevNodeBuilder {
        DevNodeBuilder::default()
    }

    fn from_node(node: Node) -> Result<Self, Error> {
        let accounts = Vec::<Account>::deserialize(&node.ready()["accounts"]);
        let accounts = accounts.ok().filter(|accounts| accounts.iter().all(Account::is_readable));
        let Some(accounts) = accounts else {
            return Err(Error::ReadyFile(format!("no accounts in {}", node.ready())));
        };
        node.remove_scratch();
        Ok(Self { node, accounts, turn: ReentrantMutex::new(()), paying: Mutex::new(()) })
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.node.address()
    }

    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.node.pid()
    }

    /// The text that it has written to its outputs.
    pub fn output(&self) -> String {
        self.node.output()
    }

    /// `http://` and the address that has all APIs.
    pub fn url(&self) -> String {
        self.node.url()
    }

    /// JSON-RPC of the C-Chain, for tools that take one URL.
    pub fn evm_url(&self) -> String {
        let url = self.node.ready()["evmUrl"].as_str().map(str::to_owned);
        url.unwrap_or_else(|| format!("{}/ext/bc/C/rpc", self.url()))
    }

    /// The websocket of the C-Chain.
    pub fn ws_url(&self) -> String {
        format!("ws://{}/ext/bc/C/ws", self.node.address())
    }

    /// The websocket of the X-Chain.
    pub fn x_ws_url(&self) -> String {
        format!("ws://{}/ext/bc/X/ws", self.node.address())
    }

    /// The funded accounts, in the order of their numbers.
    pub fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// Calls of any method.
    pub fn rpc(&self) -> RpcClient {
        self.node.rpc()
    }

    /// Calls of the X-Chain.
    pub fn x(&self) -> XvmClient {
        self.node.x()
    }

    /// Calls of the C-Chain.
    pub fn c(&self) -> EvmClient {
        self.node.c()
    }

    /// Controls: blocks, time, state.
    pub fn dev(&self) -> DevClient {
        DevClient::new(self.node.address())
    }

    /// A wallet of the X-Chain with a key's UTXOs, as they are now.
    pub fn wallet(&self, key: PrivateKey) -> Result<Wallet, Error> {
        let params = ChainParams::fetch(self.node.address(), "X", "NAT")?;
        let wallet = || {
            let mut wallet = Wallet::new(params, key, Vec::new(), self.dev().time()?);
            wallet.add_utxos(self.x().walk_utxos(&[wallet.address()], 1024, None)?);
            Ok(wallet)
        };
        wallet().map_err(|error| self.call_error("reading the UTXOs of a key", error))
    }

    /// Gives an address of the X-Chain (`X-local1..`) or of the C-Chain (`0x..`) so many units of the native asset, 10^9 a
    /// whole one, on both chains. The address has it when this returns.
    ///
    /// # Errors
    /// The text is no address of these chains, the well-known key does not have that much on the X-Chain, or the node doesn't answer.
    pub fn fund(&self, address: &str, units: u64) -> Result<(), Error> {
        if let Ok(account) = address.parse::<Address>() {
            let wei = U256::from(units) * U256::from(WEI);
            let added = self.dev().add_balance(account, wei);
            return added.map_err(|error| self.call_error("adding to a balance", error));
        }
        let parts = address::split(address).ok();
        let parts = parts.filter(|(chain, prefix, _)| chain == "X" && prefix == hrp());
        let to = parts.and_then(|(_, _, bytes)| ShortId::from_slice(&bytes).ok());
        let Some(to) = to else { return Err(Error::Address(address.to_owned())) };
        let _one_at_a_time = self.paying.lock();
        let wallet = self.wallet(funded())?;
        let output = Wallet::output(wallet.params().fee_asset_id, units, to);
        let tx = wallet.base_tx(vec![output], b"")?;
        let mut x = self.x();
        let failed = |error| self.call_error("paying on the X-Chain", error);
        let id = x.issue_tx(&tx).map_err(failed)?;
        self.wait_for("a payment on the X-Chain is accepted", || {
            let status = x.get_tx_status(&id).map_err(failed)?;
            if status.status == "Rejected" {
                return Err(Error::Rejected(status.reason.unwrap_or_default()));
            }
            Ok(status.is_accepted().then_some(()))
        })
    }

    /// The receipt of a transaction of the C-Chain, once a block has it.
    ///
    /// # Errors
    /// There is none within a minute, or the node doesn't answer.
    pub fn wait_receipt(&self, tx: B256) -> Result<Receipt, Error> {
        let mut c = self.c();
        self.wait_for(&format!("a block has {tx}"), || {
            c.receipt(tx).map_err(|error| self.call_error("reading a receipt", error))
        })
    }

    /// Asks again and again until there is an answer, at most for a minute.
    ///
    /// # Errors
    /// There is none in time; the error names `what` and has the node's last log lines. An error of `ask` ends it, too.
    pub fn wait_for<T>(
        &self,
        what: &str,
        mut ask: impl FnMut() -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(answer) = ask()? {
                return Ok(answer);
            }
            if Instant::now() >= deadline {
                return Err(self.timeout(what, PATIENCE));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// A snapshot of all chains, the pools and the clock, to which the node goes back when it is dropped.
    ///
    /// # Errors
    /// Another thread has one for ten minutes, or the node doesn't answer.
    pub fn snapshot(&self) -> Result<Snapshot<'_>, Error> {
        let Some(turn) = self.turn.try_lock_for(TURN_WITHIN) else {
            return Err(self.timeout("no other thread has a snapshot of the node", TURN_WITHIN));
        };
        let id = self.dev().snapshot();
        let id = id.map_err(|error| self.call_error("taking a snapshot", error))?;
        Ok(Snapshot::new(&self.node, id, turn))
    }

    /// Runs a test and goes back to where the node was before it, also if it panics.
    ///
    /// # Errors
    /// The snapshot can't be taken, or it is gone.
    pub fn isolated<R>(&self, test: impl FnOnce(&Self) -> R) -> Result<R, Error> {
        let back = self.snapshot()?;
        let result = test(self);
        back.revert()?;
        Ok(result)
    }

    /// Stops the node: [`Error::Ended`] if that is no success.
    pub fn stop(mut self) -> Result<(), Error> {
        let status = self.node.stop_within(STOP_WITHIN)?;
        if status.success() {
            return Ok(());
        }
        Err(Error::Ended { status, log: self.node.last_lines() })
    }

    fn timeout(&self, what: &str, patience: Duration) -> Error {
        Error::Timeout { what: what.to_owned(), patience, log: self.node.last_lines() }
    }

    fn call_error(&self, what: &str, error: CallError) -> Error {
        self.node.call_error(what, error)
    }
}

impl Drop for DevNode {
    fn drop(&mut self) {
        // A node that does not stop is killed when its process is dropped.
        let _stopped = self.node.stop_within(STOP_WITHIN);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind};

    use super::*;

    fn refusal(given: Option<&str>, variable: Option<&str>, kind: ErrorKind) -> String {
        let (program, origin) = binary(given.map(PathBuf::from), variable.map(OsString::from));
        let program = program.display().to_string();
        with_origin(Error::Spawn { program, error: io::Error::from(kind) }, origin).to_string()
    }

    #[test]
    fn a_missing_binary_is_named_with_its_origin() {
        let none = refusal(None, None, ErrorKind::NotFound);
        assert!(none.starts_with("there is no `esker` on the PATH: build it"), "{none}");
        assert!(none.contains("ESKER_BIN") && none.contains("binary(..)"), "{none}");
        assert_eq!(refusal(None, Some(""), ErrorKind::NotFound), none);
        let named = refusal(None, Some("bin/x"), ErrorKind::NotFound);
        assert_eq!(named, "starting bin/x (of ESKER_BIN): entity not found");
        let given = refusal(Some("bin/y"), Some("bin/x"), ErrorKind::PermissionDenied);
        assert_eq!(given, "starting bin/y: permission denied");
        let closed = refusal(None, None, ErrorKind::PermissionDenied);
        assert_eq!(closed, "starting esker: permission denied");
    }

    #[test]
    fn a_program_that_is_no_node() {
        // It takes `dev` for the name of a script.
        let error = DevNode::builder().binary("sh").start().err().unwrap();
        assert!(matches!(&error, Error::Ended { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.starts_with("the node ended: exit status: ") && text.contains("dev"),
            "{text}"
        );
    }
}
