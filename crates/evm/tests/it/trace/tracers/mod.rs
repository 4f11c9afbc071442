//! The tracers behind the port, one file a tracer: results as text, byte by byte.

mod flat_call;
mod four_byte;
mod mux;
mod prestate;
mod prestate_enough;
mod recorded;

use alloy_primitives::{Address, Bytes, U256};
use esker_evm::executor::{
    BlockContext, Bounds, ExecutionEnd, Message, Origin, Runner, StateOverlay,
};
use esker_evm::genesis::GenesisAccount;
use esker_evm::trace::{BufferOutput, Observer, TraceError, TxPlace, tracers};

use crate::machine::{ALICE, CODE, Lab};

/// Contracts beside [`CODE`].
const INNER: Address = Address::repeat_byte(0x1e);
const OTHER: Address = Address::repeat_byte(0x2e);

/// More than any trace here needs.
const LIMIT: usize = 1 << 26;

/// A tracer, by name and configuration.
type Named<'n> = (&'n str, &'n str);

/// Runs a message on a lab's state, which stays as it is.
fn run_on(
    lab: &Lab,
    block: &BlockContext,
    message: &Message,
    place: TxPlace,
    (name, config): Named<'_>,
    limit: usize,
) -> Result<(String, ExecutionEnd), TraceError> {
    let tracer = tracers::create(name, config)?;
    let mut out = BufferOutput::new(limit);
    let end = lab.with_env(|env| {
        let state = StateOverlay::new(env.view, env.hashes, env.chain.codes.clone());
        let observer = Observer::new(&mut out);
        let bounds = Bounds::default();
        let mut runner = Runner::with_inspector(env.chain, state, block, bounds, observer);
        runner.trace(block, message, place, tracer)
    })?;
    Ok((String::from_utf8(out.into_bytes()).unwrap(), end))
}

/// The trace of a message, or why there is none.
fn trace(lab: &Lab, message: &Message, named: Named<'_>) -> Result<String, String> {
    let traced = run_on(lab, &lab.block(), message, TxPlace::default(), named, LIMIT);
    traced.map(|(text, _)| text).map_err(|error| error.to_string())
}

/// A call of Alice's without a price.
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
    let until = crate::machine::until(esker_evm::rules::Phase::Etna);
    Lab::with(until, accounts.filter(|(_, account)| !account.code.is_empty()))
}

/// Shortens an expected text: white space between members, and names of addresses.
fn compact(text: &str) -> String {
    let lines: String = text.lines().map(str::trim_start).collect();
    [
        ("$alice", ALICE),
        ("$code", CODE),
        ("$inner", INNER),
        ("$other", OTHER),
        ("$coinbase", esker_evm::rules::BLACKHOLE),
    ]
    .iter()
    .fold(lines, |text, (name, address)| text.replace(name, &format!("0x{}", hex::encode(address))))
}
