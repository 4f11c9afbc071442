//! The time of traces for each transaction. Run it optimised: `cargo test --release -p esker-evm-execution --test it
//! trace::measure -- --ignored --nocapture`

use std::time::Instant;

use alloy_primitives::{Address, U256, hex};
use esker_evm_execution::executor::{Bounds, Message, Origin, Runner, StateOverlay};
use esker_evm_execution::rules::Phase;
use esker_evm_execution::trace::{
    BufferOutput, Observer, StructLogConfig, StructLogger, TraceOutput, Tracer, TxPlace, tracers,
};

use crate::machine::{ALICE, CODE, Lab, PRICE};

/// Transfers of a full block.
const TRANSFERS: u64 = 292;
const ROUNDS: u32 = 200;

/// A token's `transfer`, as a compiler writes it: the selector, two balances in a mapping, checks, an event.
fn token() -> Vec<u8> {
    let balance = |address: &str| format!("{address}5f525f60205260405f20");
    let (from, to) = (balance("33"), balance("600435"));
    let event = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
    let code = format!(
        "6080604052345f5260043610155f35 60e01c63a9059cbb14 50 50 \
         {from} 80 54 602435 90 03 90 55 {to} 80 54 602435 01 90 55 \
         602435 5f 52 600435 33 7f{event} 60205fa3 60015f52 60205ff3"
    );
    hex::decode(code.replace(' ', "")).unwrap()
}

#[test]
#[ignore = "a measurement"]
fn traces_of_a_block() {
    let lab = Lab::new(Phase::Etna, &token());
    let message = |nonce: u64| {
        let to = Address::from_word(U256::from(0xb0b0_0000 + nonce).into());
        let words = [to.into_word().0, U256::ZERO.to_be_bytes()].concat();
        Message {
            from: ALICE,
            to: Some(CODE),
            nonce,
            value: U256::ZERO,
            gas_limit: 100_000,
            fee_cap: U256::from(PRICE),
            tip_cap: U256::from(PRICE),
            input: [&[0xa9, 5, 0x9c, 0xbb], &words[..]].concat().into(),
            access_list: Default::default(),
            blob_hashes: None,
            authorization_list: None,
            blob_fee_cap: U256::ZERO,
            origin: Origin::Signed,
        }
    };
    let run = |name: &str, tracer: Option<&dyn Fn() -> Box<dyn Tracer>>| {
        let mut least = u128::MAX;
        let mut bytes = 0;
        for _ in 0..ROUNDS {
            lab.with_env(|env| {
                let begun = Instant::now();
                let mut out = BufferOutput::new(1 << 30);
                let state =
                    StateOverlay::new(env.view, env.hashes, env.chain.machine.codes.clone());
                let stop = || None;
                let bounds = Bounds { stop: Some(&stop), ..Bounds::default() };
                let observer = Observer::new(&mut out);
                let mut runner =
                    Runner::with_inspector(&env.chain.machine, state, &env.block, bounds, observer);
                for nonce in 0..TRANSFERS {
                    let message = message(nonce);
                    let ended = match tracer {
                        None => runner.run(&env.block, &message).unwrap(),
                        Some(new) => {
                            runner.trace(&env.block, &message, TxPlace::default(), new()).unwrap()
                        }
                    };
                    assert_eq!(ended.error, None);
                    runner.commit().unwrap();
                }
                bytes = out.buffer().len();
                least = least.min(begun.elapsed().as_nanos());
            });
        }
        let per_tx = least as f64 / 1e3 / TRANSFERS as f64;
        println!("{name}: {per_tx:.2} us a transaction, {bytes} bytes");
    };
    run("no tracer", None);
    run("callTracer", Some(&|| tracers::create("callTracer", "null").unwrap()));
    run(
        "callTracer, withLog",
        Some(&|| tracers::create("callTracer", r#"{"withLog":true}"#).unwrap()),
    );
    for (name, config) in [
        ("4byteTracer", "null"),
        ("flatCallTracer", "null"),
        ("prestateTracer", "null"),
        ("prestateTracer", r#"{"diffMode":true}"#),
        ("muxTracer", r#"{"callTracer":{},"flatCallTracer":{},"prestateTracer":{}}"#),
    ] {
        run(&format!("{name} {config}"), Some(&|| tracers::create(name, config).unwrap()));
    }
    run("struct logger", Some(&|| Box::new(StructLogger::new(StructLogConfig::default()))));
}
