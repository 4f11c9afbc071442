//! A chain with all its methods that read, run code and send, over a clock that stands still.

use std::sync::Arc;
use std::time::Duration;

use esker_chain::forward::{ForwardLimits, TxForwarder};
use esker_chain::{BundleId, ChainMachine, Machine, ProposeCtx};
use esker_evm::accounts::{KeyRing, WELL_KNOWN_KEY};
use esker_evm::chain::Evm;
use esker_evm::extension::NoExtension;
use esker_evm::oracle::{FeeOracle, OracleConfig};
use esker_evm::view::PoolReader;
use esker_evm_rpc::evm::{self, ReceiptWaits, TransactApi, TransactConfig};
use esker_evm_rpc::{Apis, ReadApi};
use esker_primitives::clock::{Clock, ManualClock};
use esker_rpc::Caller;
use esker_rpc::positional::{Limits, Server};
use esker_rpc::work::Client;

use crate::world::{Chain, Setup, answer, answer_client, make_block};

/// Between two blocks, so long that tips need not pay for speed.
const BLOCK_MS: u64 = 2_000;

pub(super) struct World {
    pub(super) evm: Arc<Evm>,
    pub(super) machine: Arc<Machine>,
    pub(super) clock: Arc<ManualClock>,
    server: Server,
}

impl World {
    pub(super) fn new(config: TransactConfig, allow_unfinalized_queries: bool) -> Self {
        Self::with_pool(config, allow_unfinalized_queries, None)
    }

    /// A world that shows another pool than its own.
    pub(super) fn with_pool(
        config: TransactConfig,
        allow_unfinalized_queries: bool,
        pool: Option<Arc<dyn PoolReader>>,
    ) -> Self {
        let setup = Setup {
            allow_unfinalized_queries,
            allow_unprotected: config.allow_unprotected_txs,
            ..Setup::ARCHIVE
        };
        Self::over(config, Chain::open(setup, Arc::new(NoExtension)), pool)
    }

    /// A world of a development network.
    pub(super) fn development() -> Self {
        let setup = Setup { is_development: true, ..Setup::ARCHIVE };
        let chain = Chain::open(setup, Arc::new(NoExtension));
        Self::over(TransactConfig::default(), chain, None)
    }

    /// A world whose sends wait for their block.
    pub(super) fn waiting() -> Self {
        Self::waiting_with(TransactConfig::default())
    }

    /// Like [`Self::waiting`], with other settings.
    pub(super) fn waiting_with(config: TransactConfig) -> Self {
        let chain = Chain::open(Setup { waits: true, ..Setup::ARCHIVE }, Arc::new(NoExtension));
        Self::over(config, chain, None)
    }

    /// A world where another node decides.
    pub(super) fn following(forwarder: Arc<dyn TxForwarder>, limits: ForwardLimits) -> Self {
        let (extension, forwarder) = (Arc::new(NoExtension), Some((forwarder, limits)));
        let chain = Chain::open_with(Setup::ARCHIVE, extension, forwarder);
        Self::over(TransactConfig::default(), chain, None)
    }

    fn over(config: TransactConfig, chain: Chain, pool: Option<Arc<dyn PoolReader>>) -> Self {
        let Chain { evm, machine, clock, params, reads } = chain;
        let reads = match pool {
            None => reads,
            Some(pool) => Arc::new(ReadApi {
                loaded: esker_evm_rpc::LoadedBlocks::default(),
                chain: Arc::clone(&reads.chain),
                pool,
                ext_data: None,
                config: reads.config.clone(),
            }),
        };
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
        let apis = Apis::parse([
            "eth",
            "net",
            "web3",
            "internal-eth",
            "internal-blockchain",
            "internal-transaction",
            "internal-tx-pool",
            "internal-account",
            "internal-personal",
        ]);
        let apis = apis.unwrap();
        let service =
            evm::reading_methods(&reads, &apis).merge(&evm::transacting_methods(&transact, &apis));
        Self { evm, machine, clock, server: Server::new(service, Limits::default()) }
    }

    /// The answer to a message.
    pub(super) async fn ask(&self, body: &str) -> String {
        answer(&self.server, body).await
    }

    /// The reply to a call of a connection.
    pub(super) async fn call_as(
        &self,
        client: &Client,
        method: &str,
        params: &str,
    ) -> serde_json::Value {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        serde_json::from_str(&answer_client(&self.server, client, &body).await).unwrap()
    }

    /// The reply to a message of a caller.
    pub(super) async fn reply_to(&self, caller: &Caller, body: &str) -> serde_json::Value {
        let answer = self.server.answer(body.as_bytes(), None, caller).await;
        serde_json::from_slice(&answer.into_bytes()).unwrap()
    }

    /// The reply to a call.
    pub(super) async fn call(&self, method: &str, params: &str) -> serde_json::Value {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        serde_json::from_str(&self.ask(&body).await).unwrap()
    }

    /// A world in which time ends calls, after 5 s, and gas does not.
    pub(super) fn with_endless_gas() -> Self {
        let max_duration = Duration::from_secs(5);
        Self::new(TransactConfig { gas_cap: 0, max_duration, ..TransactConfig::default() }, false)
    }

    /// The reply to a call during which the clock goes on.
    pub(super) async fn call_while_time_passes(
        &self,
        method: &str,
        params: &str,
    ) -> serde_json::Value {
        let call = self.call(method, params);
        tokio::pin!(call);
        loop {
            tokio::select! {
                biased;
                reply = &mut call => return reply,
                () = tokio::task::yield_now() => self.clock.advance(1_000),
            }
        }
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
            make_block(&self.machine, &self.clock, BLOCK_MS).await;
        }
    }

    /// The last final bundle.
    pub(super) fn last_final(&self) -> (u64, BundleId) {
        self.machine.last_final()
    }

    /// Builds a bundle, if there is anything to build, without waiting for it.
    pub(super) async fn propose_at(&self, height: u64, parent: BundleId) {
        let now_ms = self.clock.now_ms();
        let at = ProposeCtx { height, parent, ancestry: &[], wait_until_ms: now_ms };
        let _none = self.machine.propose(at).await.unwrap();
        tokio::task::yield_now().await;
    }

    fn has_work(&self) -> bool {
        let next = self.evm.next_block().unwrap();
        self.evm.pool().best(next.base_fee).peek().is_some()
    }

    pub(super) fn now_s(&self) -> u64 {
        self.clock.now_s()
    }
}
