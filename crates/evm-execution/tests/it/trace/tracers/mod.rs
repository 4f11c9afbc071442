//! The tracers, one file for each: results as text, byte by byte.

mod console;
mod flat_call;
mod four_byte;
mod mux;
mod prestate;
mod prestate_enough;
mod recorded;

use alloy_primitives::{Address, B256, Bytes, U256, address};
use esker_evm_execution::executor::{
    BlockContext, Bounds, ExecutionEnd, Message, Origin, Runner, StateOverlay,
};
use esker_evm_execution::genesis::GenesisAccount;
use esker_evm_execution::rules::{BLACKHOLE, Phase};
use esker_evm_execution::trace::{BufferOutput, Observer, TraceError, TxPlace, tracers};

use crate::machine::{ALICE, CODE, Lab, until};

/// Contracts besides [`CODE`].
const INNER: Address = Address::repeat_byte(0x1e);
const OTHER: Address = Address::repeat_byte(0x2e);

/// A limit above the length of any trace here.
const LIMIT: usize = 1 << 26;

/// A tracer, by name and configuration.
type TracerConfig<'n> = (&'n str, &'n str);

/// Executes a message on a lab's state without changing it.
fn run_on(
    lab: &Lab,
    block: &BlockContext,
    message: &Message,
    place: TxPlace,
    (name, config): TracerConfig<'_>,
    limit: usize,
) -> Result<(String, ExecutionEnd), TraceError> {
    let tracer = tracers::create(name, config)?;
    let mut out = BufferOutput::new(limit);
    let end = lab.with_env(|env| {
        let state = StateOverlay::new(env.view, env.hashes, env.chain.machine.codes.clone());
        let observer = Observer::new(&mut out);
        let bounds = Bounds::default();
        let mut runner = Runner::with_inspector(&env.chain.machine, state, block, bounds, observer);
        runner.trace(block, message, place, tracer)
    })?;
    Ok((String::from_utf8(out.into_bytes()).unwrap(), end))
}

/// The trace of a message, or why there is none.
fn trace(lab: &Lab, message: &Message, named: TracerConfig<'_>) -> Result<String, String> {
    let traced = run_on(lab, &lab.block(), message, TxPlace::default(), named, LIMIT);
    traced.map(|(text, _)| text).map_err(|error| error.to_string())
}

/// A call of Alice without a price.
fn call(to: Option<Address>, input: &[u8], value: u64) -> Message {
    Message {
        from: ALICE,
        to,
        nonce: 0,
        value: U256::from(value),
        gas_limit: 1_000_000,
        fee_cap: U256::ZERO,
        tip_cap: U256::ZERO,
        input: input.to_vec().into(),
        access_list: Default::default(),
        blob_hashes: None,
        authorization_list: None,
        blob_fee_cap: U256::ZERO,
        origin: Origin::Call,
    }
}

fn contract(code: impl Into<Bytes>) -> GenesisAccount {
    GenesisAccount { code: code.into(), ..Default::default() }
}

/// Code, from hex. `INNER`, `OTHER` and `CODE` stand for PUSH20 of these addresses.
fn code(text: &str) -> Vec<u8> {
    let mut text = text.replace(' ', "");
    for (name, address) in [("INNER", INNER), ("OTHER", OTHER), ("CODE", CODE)] {
        text = text.replace(name, &format!("73{}", hex::encode(address)));
    }
    hex::decode(text).unwrap()
}

/// A lab with the contracts [`CODE`], [`INNER`] and [`OTHER`].
fn lab(codes: [&str; 3]) -> Lab {
    let accounts = [CODE, INNER, OTHER].into_iter().zip(codes.map(|text| contract(code(text))));
    Lab::with(until(Phase::Etna), accounts.filter(|(_, account)| !account.code.is_empty()))
}

/// A lab of Apricot 5, where [`CODE`] sends 5 of an asset to [`INNER`], and the message that makes it do so.
fn sending_an_asset(inner: &str) -> (Lab, Message) {
    let asset = B256::repeat_byte(0x44);
    let input = [INNER.as_slice(), asset.as_slice(), &U256::from(5).to_be_bytes::<32>()].concat();
    let to = address!("0x0100000000000000000000000000000000000002");
    let code = code(&format!("366000600037 60006000366000600073{} 5af1", hex::encode(to)));
    let sender = GenesisAccount { assets: [(asset, U256::from(9))].into(), ..contract(code) };
    let phase = until(Phase::Apricot5);
    let lab = Lab::with(phase, [(CODE, sender), (INNER, contract(self::code(inner)))]);
    (lab, call(Some(CODE), &input, 0))
}

/// Shortens an expected text: white space between members, and names of addresses.
fn compact(text: &str) -> String {
    let lines: String = text.lines().map(str::trim_start).collect();
    [
        ("$alice", ALICE),
        ("$code", CODE),
        ("$inner", INNER),
        ("$other", OTHER),
        ("$coinbase", BLACKHOLE),
    ]
    .iter()
    .fold(lines, |text, (name, address)| text.replace(name, &format!("0x{}", hex::encode(address))))
}
