//! A chain with the services `debug`, `internal-debug` and `admin`, and contracts whose storage anybody sets.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use alloy_consensus::{TxLegacy, TypedTransaction};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256, hex};
use async_trait::async_trait;
use esker_chain::{ChainMachine as _, Machine};
use esker_evm::accounts::{AccountManager, KeyRing, WELL_KNOWN_KEY, sign_transaction};
use esker_evm::chain::Evm;
use esker_evm::extension::NoExtension;
use esker_evm::oracle::{FeeOracle, OracleConfig};
use esker_evm_rpc::evm::{self, ReceiptWaits, TransactApi, TransactConfig};
use esker_evm_rpc::{
    Apis, BlockImporter, ChainFiles, ChainTraces, ImportError, TraceFiles, admin_methods,
    file_tracing_methods, otterscan_methods, trace_methods, tracing_methods,
};
use esker_evm_state::blocks::History;
use esker_primitives::clock::ManualClock;
use esker_primitives::{Id, Randomness};
use esker_rpc::positional::{Limits, Server};
use serde_json::{Value, json};

use crate::world::{CHAIN, Chain, Setup, answer, make_block};

/// Above the base fee of the first block.
const PRICE: u128 = 400_000_000_000;
/// Between two blocks, so long that tips need not pay for speed.
const BLOCK_MS: u64 = 10_000;
/// No test waits longer for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Init code of a contract that sets the slots of its call's data, which are pairs of a slot and its value: PUSH1 0,
/// JUMPDEST, DUP1, PUSH1 32, ADD, CALLDATALOAD, DUP2, CALLDATALOAD, SSTORE, PUSH1 64, ADD, CALLDATASIZE, DUP2, LT,
/// PUSH1 2, JUMPI, STOP.
const SETTER: &str = "0x6015600c60003960156000f360005b806020013581355560400136811060025700";

/// Most bytes of the files of a trace.
pub(super) const MAX_TRACED: u64 = 1 << 20;

/// Counts, in the last bytes.
fn counting() -> Randomness {
    let next = AtomicU64::new(0);
    Arc::new(move |bytes: &mut [u8]| {
        let next = next.fetch_add(1, Ordering::Relaxed) + 1;
        let start = bytes.len() - 8;
        bytes[start..].copy_from_slice(&next.to_be_bytes());
    })
}

/// Takes blocks as the node's own importer does.
#[derive(Debug)]
struct Importer(Option<Arc<Machine>>);

#[async_trait]
impl BlockImporter for Importer {
    async fn import(&self, blocks: Vec<bytes::Bytes>) -> Result<(), ImportError> {
        let machine = self.0.as_ref().ok_or(ImportError::NotAlone)?;
        let (_, last) = machine.last_final();
        let blocks = blocks.into_iter().map(|block| (Id::sha256(CHAIN), block)).collect();
        let done = machine.finalize_blocks(&last, blocks).await;
        done.map_err(|error| ImportError::Refused(error.to_string()))
    }
}

pub(super) struct World {
    pub(super) evm: Arc<Evm>,
    pub(super) machine: Arc<Machine>,
    clock: Arc<ManualClock>,
    pub(super) server: Server,
    keys: KeyRing,
}

impl World {
    /// An archive that keeps what it hashes, with files in a folder.
    pub(super) fn new(files: &Path) -> Self {
        Self::with(Setup { preimages: true, ..Setup::ARCHIVE }, files, true)
    }

    pub(super) fn with(setup: Setup, files: &Path, decides_alone: bool) -> Self {
        Self::with_config(setup, files, decides_alone, TransactConfig::default())
    }

    fn with_config(
        setup: Setup,
        files: &Path,
        decides_alone: bool,
        config: TransactConfig,
    ) -> Self {
        let Chain { evm, machine, clock, params, reads } =
            Chain::open(setup, Arc::new(NoExtension));
        let transact = Arc::new(TransactApi {
            reads: Arc::clone(&reads),
            oracle: FeeOracle::new(OracleConfig::default(), Arc::clone(&params.rules)),
            chain: params,
            submitter: evm.clone(),
            events: evm.clone(),
            accounts: Arc::new(KeyRing::new([WELL_KNOWN_KEY.as_slice()]).unwrap()),
            clock: clock.clone(),
            limit_clock: clock.clone(),
            config,
            senders: Arc::default(),
            scripts: Arc::new(esker_evm_execution::trace::NoScripts),
            printed: None,
            traces_calls: false,
            artifacts: None,
            receipt_waits: ReceiptWaits::default(),
        });
        let apis =
            Apis::parse(["debug", "internal-debug", "internal-blockchain", "internal-transaction"])
                .unwrap();
        let importer = Importer(decides_alone.then(|| Arc::clone(&machine)));
        let traced = TraceFiles::new(&transact, files.to_owned(), counting());
        let traced = Arc::new(traced.with_max_bytes(MAX_TRACED));
        let files = ChainFiles::new(evm.clone(), Arc::new(importer), files.to_owned());
        let service = evm::reading_methods(&reads, &apis)
            .merge(&evm::transacting_methods(&transact, &apis))
            .merge(&admin_methods(&Arc::new(files)))
            .merge(&tracing_methods(&transact))
            .merge(&otterscan_methods(&transact))
            .merge(&trace_methods(&transact))
            .merge(&file_tracing_methods(&traced));
        let server = Server::new(service, Limits::default())
            .with_notifier(ChainTraces::new(&transact, counting()));
        let keys = KeyRing::new([WELL_KNOWN_KEY.as_slice()]).unwrap();
        Self { evm, machine, clock, server, keys }
    }

    /// An archive with an index of addresses.
    pub(super) fn indexed() -> Self {
        let setup = Setup { index_addresses: true, ..Setup::ARCHIVE };
        Self::with(setup, Path::new("/nowhere"), true)
    }

    /// An archive that searches the traces of so many blocks at most.
    pub(super) fn searching(max_trace_blocks: u64) -> Self {
        let config = TransactConfig { max_trace_blocks, ..TransactConfig::default() };
        Self::with_config(Setup::ARCHIVE, Path::new("/nowhere"), true, config)
    }

    pub(super) fn pruning() -> Self {
        let setup = Setup { preimages: true, history: History::Window(3), ..Setup::ARCHIVE };
        Self::with(setup, Path::new("/nowhere"), true)
    }

    pub(super) fn sender(&self) -> Address {
        self.keys.accounts()[0]
    }

    /// Puts a transaction into the pool; its hash.
    pub(super) fn send(&self, nonce: u64, to: TxKind, value: u64, input: Bytes) -> B256 {
        let (chain_id, gas_price, gas_limit) = (Some(43112), PRICE, 1_000_000);
        let value = U256::from(value);
        let tx = TxLegacy { chain_id, nonce, gas_price, gas_limit, to, value, input };
        let tx = sign_transaction(&self.keys, &self.sender(), TypedTransaction::Legacy(tx));
        self.evm.submit(tx.unwrap()).unwrap()
    }

    /// Makes the contract that sets slots; its address.
    pub(super) fn deploy_setter(&self, nonce: u64) -> Address {
        self.send(nonce, TxKind::Create, 0, hex::decode(SETTER).unwrap().into());
        self.sender().create(nonce)
    }

    /// Sets slots of such a contract.
    pub(super) fn set_slots(&self, nonce: u64, contract: Address, slots: &[(U256, U256)]) -> B256 {
        let words = slots.iter().flat_map(|(slot, value)| [slot, value]);
        let input: Vec<u8> = words.flat_map(|word| word.to_be_bytes::<32>()).collect();
        self.send(nonce, TxKind::Call(contract), 0, input.into())
    }

    /// The same an hour later: blocks of the other worlds are of the past.
    pub(super) fn later(self) -> Self {
        self.clock.advance(3_600_000);
        self
    }

    /// Makes one block of what waits.
    pub(super) async fn block(&self) {
        make_block(&self.machine, &self.clock, BLOCK_MS).await;
    }

    pub(super) fn height(&self) -> u64 {
        self.evm.head().header.number
    }

    pub(super) fn height_hex(&self) -> String {
        format!("{:#x}", self.height())
    }

    /// Hash of the first transaction of a block.
    pub(super) async fn hash_of_first(&self, height: u64) -> Value {
        let block = self.call("eth_getBlockByNumber", json!([format!("{height:#x}"), false])).await;
        block["transactions"][0].clone()
    }

    pub(super) async fn ask(&self, method: &str, params: &Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let body = body.to_string();
        let answer = tokio::time::timeout(PATIENCE, answer(&self.server, &body));
        serde_json::from_str(&answer.await.unwrap()).unwrap()
    }

    pub(super) async fn call(&self, method: &str, params: Value) -> Value {
        let reply = self.ask(method, &params).await;
        reply.get("result").unwrap_or_else(|| panic!("{method}{params}: {reply}")).clone()
    }

    /// Code and text of an error.
    pub(super) async fn error(&self, method: &str, params: Value) -> (i64, String) {
        let reply = self.ask(method, &params).await;
        let error = &reply["error"];
        let text = error["message"].as_str().unwrap_or_else(|| panic!("{method}{params}: {reply}"));
        (error["code"].as_i64().unwrap(), text.to_owned())
    }
}
