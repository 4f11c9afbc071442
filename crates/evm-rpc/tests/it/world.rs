//! A chain with its pool and its reading methods, without HTTP.

use std::sync::Arc;

use alloy_eips::eip2718::Decodable2718;
use esker_chain::forward::{ForwardLimits, Forwarding, TxForwarder};
use esker_chain::{
    BlockWaits, ChainContext, ChainMachine, ChainVm, Machine, MachineConfig, ProposeCtx,
};
use esker_evm::chain::{Evm, EvmConfig};
use esker_evm::extension::{BlockExtension, NoExtension};
use esker_evm::pool::PoolConfig;
use esker_evm::view::ChainReader;
use esker_evm_execution::executor::ChainParams;
use esker_evm_execution::genesis::Genesis;
use esker_evm_execution::rules::{CChainRules, FeeOverrides, ForkSchedule};
use esker_evm_rpc::{Apis, ProofWindow, ReadApi, ReadConfig, evm};
use esker_evm_state::blocks::History;
use esker_evm_state::types::{SealedHeader, Transaction};
use esker_primitives::Id;
use esker_primitives::clock::ManualClock;
use esker_rpc::Caller;
use esker_rpc::positional::{Limits, Server};
use esker_rpc::work::Client;
use esker_storage::{MemoryStore, Scope, Store};
use esker_testkit::context::chain_context;
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};

const START_MS: u64 = 1_800_000_000_000;
/// Between two blocks, so long that tips need not pay for speed.
const BLOCK_MS: u64 = 10_000;
/// The chain's ID in bundles.
pub(crate) const CHAIN: &[u8] = b"C";

/// How a chain is set up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) history: History,
    pub(crate) window: ProofWindow,
    pub(crate) allow_unfinalized_queries: bool,
    pub(crate) allow_unprotected: bool,
    pub(crate) preimages: bool,
    pub(crate) is_development: bool,
    pub(crate) hardhat_answers: bool,
    pub(crate) anvil_answers: bool,
    /// Blocks from the last one to the `safe` one.
    pub(crate) slots_in_an_epoch: u64,
    /// Whether sends wait for their block.
    pub(crate) waits: bool,
    /// Whether the chain has an index of addresses.
    pub(crate) index_addresses: bool,
}

impl Setup {
    pub(crate) const ARCHIVE: Self = Self {
        history: History::Archive,
        window: ProofWindow::new(true, 43_200),
        allow_unfinalized_queries: false,
        allow_unprotected: false,
        preimages: false,
        is_development: false,
        hardhat_answers: false,
        anvil_answers: false,
        slots_in_an_epoch: 0,
        waits: false,
        index_addresses: false,
    };
}

/// A chain over an empty store in memory, and what reads it.
pub(crate) struct Chain {
    pub(crate) evm: Arc<Evm>,
    pub(crate) machine: Arc<Machine>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) params: ChainParams,
    pub(crate) reads: Arc<ReadApi>,
}

impl Chain {
    pub(crate) fn open(setup: Setup, extension: Arc<dyn BlockExtension>) -> Self {
        Self::open_with(setup, extension, None)
    }

    /// Like [`Self::open`]; transactions go to another node, if there is one.
    pub(crate) fn open_with(
        setup: Setup,
        extension: Arc<dyn BlockExtension>,
        forwarder: Option<(Arc<dyn TxForwarder>, ForwardLimits)>,
    ) -> Self {
        let clock = Arc::new(ManualClock::new(START_MS));
        let forwarding = forwarder.map(|(forwarder, limits)| {
            Forwarding::new(forwarder, clock.clone(), Handle::current(), limits)
        });
        let work = Arc::new(Notify::new());
        let store = Store::new(Arc::new(MemoryStore::new())).unwrap();
        let context = ChainContext {
            work: Arc::clone(&work),
            forwarding,
            block_waits: setup
                .waits
                .then(|| BlockWaits::new(Arc::new(Semaphore::new(8)), Arc::clone(&work))),
            ..chain_context(Id::sha256(CHAIN), Scope(2), clock.clone(), store.clone())
        };
        let rules = CChainRules::new(43112, ForkSchedule::LOCAL, FeeOverrides::default());
        let params = ChainParams {
            keeps_touched: setup.index_addresses,
            ..ChainParams::new(Arc::new(rules), 12345, context.chain_id)
        };
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/genesis/local-c.json");
        let genesis = Genesis::parse(&std::fs::read(path).unwrap()).unwrap();
        let config = EvmConfig {
            history: setup.history,
            preimages: setup.preimages,
            allow_unprotected: setup.allow_unprotected,
            // Calls of one sender run beside each other, so that later nonces may come first.
            pool: PoolConfig { account_queue: 1024, ..PoolConfig::default() },
            ..EvmConfig::default()
        };
        let evm = Evm::new(context, params.clone(), config, genesis, extension, None).unwrap();
        let chains = vec![Arc::clone(&evm) as Arc<dyn ChainVm>];
        let checked = MachineConfig {
            check_proposals: true,
            decides_alone: true,
            ..MachineConfig::default()
        };
        let machine = Machine::open(chains, store, clock.clone(), work, checked).unwrap();
        let reads = Arc::new(ReadApi {
            loaded: esker_evm_rpc::LoadedBlocks::default(),
            chain: Arc::clone(&evm) as Arc<dyn ChainReader>,
            pool: evm.clone(),
            ext_data: None,
            config: ReadConfig {
                allow_unfinalized_queries: setup.allow_unfinalized_queries,
                is_development: setup.is_development,
                hardhat_answers: setup.hardhat_answers,
                anvil_answers: setup.anvil_answers,
                calls_take_any_price: setup.hardhat_answers,
                proof_window: setup.window,
                client_version: "esker/test".into(),
                net_version: "43112".into(),
                slots_in_an_epoch: setup.slots_in_an_epoch,
            },
        });
        Self { evm, machine, clock, params, reads }
    }
}

/// Makes a block, `after_ms` after the clock's time.
pub(crate) async fn make_block(machine: &Machine, clock: &ManualClock, after_ms: u64) {
    clock.advance(after_ms);
    let (height, parent) = machine.last_final();
    let at = ProposeCtx { height: height + 1, parent, ancestry: &[], wait_until_ms: u64::MAX };
    let bundle = machine.propose(at).await.unwrap().unwrap();
    machine.finalize(&bundle, None).await.unwrap();
}

/// The answer to a message.
pub(crate) async fn answer(server: &Server, body: &str) -> String {
    let answer = server.answer(body.as_bytes(), None, &Caller::default()).await;
    String::from_utf8(answer.into_bytes()).unwrap()
}

/// The answer to a message of a connection, whose work waits for its turn.
pub(crate) async fn answer_client(server: &Server, client: &Client, body: &str) -> String {
    let caller = Caller { client: Some(client.clone()), ..Caller::default() };
    let answer = server.answer(body.as_bytes(), None, &caller).await;
    String::from_utf8(answer.into_bytes()).unwrap()
}

pub(crate) struct World {
    pub(crate) evm: Arc<Evm>,
    pub(crate) machine: Arc<Machine>,
    clock: Arc<ManualClock>,
    pub(crate) server: Server,
}

impl World {
    pub(crate) fn new(setup: Setup) -> Self {
        Self::with_extension(setup, Arc::new(NoExtension))
    }

    pub(crate) fn with_extension(setup: Setup, extension: Arc<dyn BlockExtension>) -> Self {
        let Chain { evm, machine, clock, reads, .. } = Chain::open(setup, extension);
        let service = evm::reading_methods(&reads, &Apis::default());
        Self { evm, machine, clock, server: Server::new(service, Limits::default()) }
    }

    /// The answer to a message.
    pub(crate) async fn ask(&self, body: &str) -> String {
        answer(&self.server, body).await
    }

    /// The result of a call.
    pub(crate) async fn call(&self, method: &str, params: &str) -> serde_json::Value {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let reply: serde_json::Value = serde_json::from_str(&self.ask(&body).await).unwrap();
        reply.get("result").unwrap_or_else(|| panic!("{method}{params}: {reply}")).clone()
    }

    /// Puts a signed transaction into the pool; gives its hash.
    pub(crate) fn submit(&self, raw: &[u8]) -> Result<alloy_primitives::B256, String> {
        let tx = Transaction::decode_2718_exact(raw).map_err(|error| error.to_string())?;
        self.evm.submit(tx).map_err(|error| error.to_string())
    }

    pub(crate) fn head(&self) -> Arc<SealedHeader> {
        ChainReader::head(self.evm.as_ref())
    }

    /// Makes blocks until nothing that is executable waits.
    pub(crate) async fn settle(&self) {
        while self.evm.pool().counts().0 > 0 {
            make_block(&self.machine, &self.clock, BLOCK_MS).await;
        }
    }
}
