//! A chain with all its methods that read, run code and send, over a clock that stands still.

use std::sync::Arc;

use alloy_primitives::{Address, B256};
use esker_chain::{
    Aliases, ChainContext, ChainMachine, ChainVm, Machine, MachineConfig, ProposeCtx,
};
use esker_evm::accounts::{KeyRing, WELL_KNOWN_KEY};
use esker_evm::chain::{Evm, EvmConfig, History};
use esker_evm::executor::{ChainParams, CodeCache};
use esker_evm::extension::NoExtension;
use esker_evm::genesis::Genesis;
use esker_evm::oracle::{FeeOracle, OracleConfig};
use esker_evm::pool::PooledTx;
use esker_evm::rules::{CChainRules, FeeOverrides, ForkSchedule};
use esker_evm::view::{ChainReader, PoolReader};
use esker_evm_rpc::evm::{self, SenderLocks, Transact, TransactConfig};
use esker_evm_rpc::{Apis, ProofWindow, ReadConfig, Reads};
use esker_primitives::clock::{Clock, ManualClock};
use esker_primitives::{ChainId, Id};
use esker_rpc::evm::{Limits, Server};
use esker_storage::{MemoryStore, Scope, Store};
use tokio::sync::Notify;

const START_MS: u64 = 1_800_000_000_000;
/// Between two blocks, so long that tips need not pay for speed.
const BLOCK_MS: u64 = 2_000;

#[derive(Debug)]
struct NoAliases;

impl Aliases for NoAliases {
    fn lookup(&self, _: &str) -> Option<ChainId> {
        None
    }
    fn primary_alias(&self, _: &ChainId) -> Option<String> {
        None
    }
    fn aliases(&self, _: &ChainId) -> Vec<String> {
        Vec::new()
    }
}

#[derive(Debug)]
struct PoolOf(Arc<Evm>);

impl PoolReader for PoolOf {
    fn transaction(&self, hash: B256) -> Option<PooledTx> {
        self.0.pool().transaction(hash)
    }

    fn next_nonce(&self, account: Address) -> Option<u64> {
        PoolReader::next_nonce(self.0.pool(), account)
    }
}

pub(super) struct World {
    pub(super) evm: Arc<Evm>,
    machine: Arc<Machine>,
    pub(super) clock: Arc<ManualClock>,
    server: Server,
}

impl World {
    pub(super) fn new(config: TransactConfig, allow_unfinalized_queries: bool) -> Self {
        let clock = Arc::new(ManualClock::new(START_MS));
        let work = Arc::new(Notify::new());
        let store = Store::new(Arc::new(MemoryStore::new())).unwrap();
        let context = ChainContext {
            network_id: 12345,
            hrp: "local".into(),
            chain_id: Id::sha256(b"C"),
            scope: Scope(2),
            native_asset_id: Id::ZERO,
            native_aliases: Vec::new(),
            aliases: Arc::new(NoAliases),
            clock: clock.clone(),
            store: store.clone(),
            primary_chains: Arc::default(),
            work: Arc::clone(&work),
        };
        let rules = CChainRules::new(43112, ForkSchedule::LOCAL, FeeOverrides::default());
        let params = ChainParams {
            rules: Arc::new(rules),
            network_id: 12345,
            blockchain_id: context.chain_id,
            codes: Arc::new(CodeCache::default()),
        };
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/genesis/local-c.json");
        let genesis = Genesis::parse(&std::fs::read(path).unwrap()).unwrap();
        let settings = EvmConfig {
            history: History::Archive,
            allow_unprotected: config.allow_unprotected_txs,
            ..EvmConfig::default()
        };
        let extension = Arc::new(NoExtension);
        let evm = Evm::new(context, params.clone(), settings, genesis, extension).unwrap();
        let chains = vec![Arc::clone(&evm) as Arc<dyn ChainVm>];
        let checked = MachineConfig { check_proposals: true };
        let machine = Machine::open(chains, store, clock.clone(), work, checked).unwrap();
        let reads = Arc::new(Reads {
            chain: Arc::clone(&evm) as Arc<dyn ChainReader>,
            pool: Arc::new(PoolOf(Arc::clone(&evm))),
            config: ReadConfig {
                allow_unfinalized_queries,
                proof_window: ProofWindow::of(true, 43_200),
                client_version: "esker/test".into(),
                net_version: "43112".into(),
            },
        });
        let transact = Arc::new(Transact {
            reads: Arc::clone(&reads),
            oracle: FeeOracle::new(OracleConfig::default(), Arc::clone(&params.rules)),
            chain: params,
            submitter: evm.clone(),
            accounts: Arc::new(KeyRing::new([WELL_KNOWN_KEY.as_slice()]).unwrap()),
            clock: clock.clone(),
            config,
            senders: SenderLocks::default(),
        });
        let apis = Apis::parse([
            "eth",
            "net",
            "web3",
            "internal-eth",
            "internal-blockchain",
            "internal-transaction",
            "internal-account",
        ]);
        let apis = apis.unwrap();
        let service =
            evm::reading_methods(&reads, &apis).merge(&evm::transacting_methods(&transact, &apis));
        Self { evm, machine, clock, server: Server::new(service, Limits::default()) }
    }

    /// The answer to a message.
    pub(super) async fn ask(&self, body: &str) -> String {
        let answer = self.server.answer(body.as_bytes(), None).await;
        String::from_utf8(answer.body).unwrap()
    }

    /// The reply to a call.
    pub(super) async fn call(&self, method: &str, params: &str) -> serde_json::Value {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        serde_json::from_str(&self.ask(&body).await).unwrap()
    }

    /// Is the method served?
    pub(super) fn serves(&self, method: &str) -> bool {
        self.server.service().methods().any(|info| {
            let mut names =
                [info.namespace].into_iter().chain(info.namespace_aliases.iter().copied());
            names.any(|namespace| format!("{namespace}_{}", info.name) == method)
        })
    }

    /// Makes blocks of all that pays the base fee.
    pub(super) async fn settle(&self) {
        while self.has_work() {
            self.clock.advance(BLOCK_MS);
            let (height, parent) = self.machine.last_final();
            let at =
                ProposeCtx { height: height + 1, parent, ancestry: &[], wait_until_ms: u64::MAX };
            let bundle = self.machine.propose(at).await.unwrap();
            self.machine.finalize(&bundle, None).await.unwrap();
        }
    }

    fn has_work(&self) -> bool {
        let next = self.evm.next_block().unwrap();
        self.evm.pool().best(next.base_fee).peek().is_some()
    }

    pub(super) fn now_s(&self) -> u64 {
        self.clock.now_s()
    }
}
