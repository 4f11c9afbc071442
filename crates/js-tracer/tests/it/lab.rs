//! A state made of a genesis, in which calls are traced.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes, U256, address};
use esker_evm_execution::call::CallRequest;
use esker_evm_execution::executor::{
    BlockContext, Bounds, ChainParams, NoHashes, Runner, StateOverlay,
};
use esker_evm_execution::genesis::{Genesis, GenesisAccount};
use esker_evm_execution::rules::{CChainRules, FeeOverrides, ForkSchedule};
use esker_evm_execution::trace::{BufferOutput, Observer, Tracer, TxPlace};
use esker_evm_state::state::{StateVersion, StateView};
use esker_evm_state::types::Header;
use esker_js_tracer::JsTracer;
use esker_storage::{KvStore, MemoryStore, Scope, WriteSet};

const SCOPE: Scope = Scope(3);
pub(crate) const ALICE: Address = address!("0xa11ce00000000000000000000000000000000001");
pub(crate) const CODE: Address = address!("0xc0de000000000000000000000000000000000001");
pub(crate) const OTHER: Address = address!("0xc0de000000000000000000000000000000000002");

/// Alice has a thousand coins, contracts lie at [`CODE`] and [`OTHER`].
pub(crate) struct Lab {
    params: ChainParams,
    store: MemoryStore,
    parent: Header,
}

impl Lab {
    pub(crate) fn new(code: &[u8], other: &[u8]) -> Self {
        let rules = CChainRules::new(43112, ForkSchedule::LOCAL, FeeOverrides::default());
        let params = ChainParams::new(Arc::new(rules), 12345, [7; 32].into());
        let json = br#"{"config":{},"gasLimit":"0x0","difficulty":"0x0","timestamp":1,"alloc":{}}"#;
        let mut genesis = Genesis::parse(json).unwrap();
        let balance = U256::from(10).pow(U256::from(21));
        genesis.alloc.insert(ALICE, GenesisAccount { balance, nonce: 7, ..Default::default() });
        for (address, code) in [(CODE, code), (OTHER, other)] {
            let code = Bytes::copy_from_slice(code);
            genesis.alloc.insert(address, GenesisAccount { code, ..Default::default() });
        }
        let (store, mut out) = (MemoryStore::new(), WriteSet::default());
        let block = genesis.build(&*params.rules, SCOPE, Default::default(), &mut out).unwrap();
        store.write(&out).unwrap();
        Self { params, store, parent: block.header }
    }

    /// Calls [`CODE`] with a million gas while `tracer` watches.
    pub(crate) fn run(
        &self,
        tracer: Box<dyn Tracer>,
        bounds: Bounds<'_>,
    ) -> Result<String, String> {
        let reader = self.store.snapshot().unwrap();
        let view = StateView::new(&*reader, SCOPE, StateVersion::Latest);
        let state = StateOverlay::new(view, &NoHashes, self.params.machine.codes.clone());
        let block = BlockContext::next(&self.params, &self.parent, 2_000_000_000);
        let request = CallRequest {
            from: Some(ALICE),
            to: Some(CODE),
            gas: Some(1_000_000),
            value: Some(U256::from(9)),
            input: Bytes::from_static(&[1, 2, 3, 4, 5]),
            ..Default::default()
        };
        let message = request.message(0).unwrap();
        let mut out = BufferOutput::new(1 << 20);
        let observer = Observer::new(&mut out);
        let mut runner =
            Runner::with_inspector(&self.params.machine, state, &block, bounds, observer);
        let traced = runner.trace(&block, &message, TxPlace::default(), tracer);
        traced.map_err(|error| error.to_string())?;
        drop(runner);
        Ok(String::from_utf8(out.into_bytes()).unwrap())
    }

    /// The result of a script in this process for that call.
    pub(crate) fn trace(&self, source: &str, config: &str) -> Result<String, String> {
        let tracer = JsTracer::new(source, config).map_err(|error| error.to_string())?;
        self.run(Box::new(tracer), Bounds::default())
    }
}

/// PUSH1 each of the operands, the last on top, then the instruction.
pub(crate) fn op(operands: &[u8], op: u8) -> Vec<u8> {
    operands.iter().flat_map(|operand| [0x60, *operand]).chain([op]).collect()
}
