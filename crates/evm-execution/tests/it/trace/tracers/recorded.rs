//! Replies of the reference, with its order of members (tests/golden/c/tracers-1.io).

use std::collections::BTreeMap;

use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{Address, B256, U256};
use esker_evm_execution::executor::{Message, recover_sender};
use esker_evm_execution::genesis::{Genesis, GenesisAccount};
use esker_evm_execution::rules::ForkSchedule;
use esker_evm_execution::trace::TxPlace;
use esker_evm_state::types::Transaction;
use esker_go_json::Document;
use serde_json::Value;

use super::{LIMIT, call, run_on};
use crate::machine::Lab;

const TRACERS: [&str; 5] =
    ["4byteTracer", "flatCallTracer", "muxTracer", "noopTracer", "prestateTracer"];

struct Exchange {
    method: String,
    params: Vec<Value>,
    /// The whole reply, as it was written.
    reply: String,
}

/// Requests and replies of the file.
fn exchanges() -> Vec<Exchange> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/c/tracers-1.io");
    let text = std::fs::read_to_string(path).unwrap();
    let mut exchanges = Vec::<Exchange>::new();
    for line in text.lines() {
        if let Some(request) = line.strip_prefix(">> ") {
            let request: Value = serde_json::from_str(request).unwrap();
            exchanges.push(Exchange {
                method: request["method"].as_str().unwrap().to_owned(),
                params: request["params"].as_array().unwrap().clone(),
                reply: String::new(),
            });
        } else if let Some(reply) = line.strip_prefix("<< ")
            && let Some(exchange) = exchanges.last_mut()
            && exchange.reply.is_empty()
        {
            exchange.reply = reply.to_owned();
        }
    }
    exchanges
}

/// The result of a reply, as the reference wrote it, with this test's hashes of blocks; or the text of its error.
fn want(reply: &str) -> Result<String, String> {
    let mut parts = BTreeMap::new();
    Document::first_with_members(reply.as_bytes(), |name, value| {
        parts.insert(name.text().into_owned(), value);
    })
    .unwrap();
    if let Some(error) = parts.get("error") {
        let error: Value = error.decode().unwrap();
        return Err(error["message"].as_str().unwrap().to_owned());
    }
    let mut out = Vec::new();
    parts["result"].write_compact(&mut out);
    let mut text = String::from_utf8(out).unwrap();
    for number in (1..=19).rev() {
        text = text.replace(&format!("$b{number}"), &block_hash(number).to_string());
    }
    Ok(text)
}

fn block_hash(number: u64) -> B256 {
    B256::repeat_byte(number as u8)
}

/// The tracer of a request, and its configuration.
fn named(options: &Value) -> Option<(&str, String)> {
    let name = options["tracer"].as_str().filter(|name| TRACERS.contains(name))?;
    Some((name, options.get("tracerConfig").map_or("null".to_owned(), Value::to_string)))
}

fn check(lab: &Lab, message: &Message, place: TxPlace, number: u64, exchange: &Exchange) -> bool {
    let options = exchange.params.last().unwrap();
    let Some((name, config)) = named(options) else { return false };
    let mut block = lab.block();
    block.number = U256::from(number);
    let traced = run_on(lab, &block, message, place, (name, &config), LIMIT);
    let have = traced.map(|(text, _)| text).map_err(|error| error.to_string());
    match want(&exchange.reply) {
        // A pattern: the text continues with a position in the source of the script engine.
        Err(text) if text.starts_with("$:/") => {
            let pattern = text.trim_start_matches("$:/").trim_end_matches('/');
            let pattern = regex_lite::Regex::new(pattern).unwrap();
            assert!(have.as_ref().is_err_and(|text| pattern.is_match(text)), "{options}: {have:?}");
        }
        want => assert_eq!(have, want, "{options}"),
    }
    true
}

#[test]
fn traces_are_those_of_the_reference() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/genesis/local-c.json");
    let genesis = Genesis::parse(&std::fs::read(path).unwrap()).unwrap();
    let accounts = genesis.alloc.into_iter().collect::<Vec<(Address, GenesisAccount)>>();
    let mut lab = Lab::with(ForkSchedule::LOCAL, accounts);
    let (mut checked, mut number) = (0, 0);
    let exchanges = exchanges();
    for sent in exchanges.iter().filter(|sent| sent.method == "eth_sendRawTransaction") {
        number += 1;
        let raw = hex::decode(&sent.params[0].as_str().unwrap()[2..]).unwrap();
        let tx = Transaction::decode_2718_exact(&raw).unwrap();
        let sender = recover_sender(&tx, 43112).unwrap();
        let message = Message::from_tx(&tx, sender);
        let hash = *tx.tx_hash();
        let place = TxPlace {
            block_hash: Some(block_hash(number)),
            tx_index: Some(0),
            tx_hash: Some(hash),
        };
        for exchange in &exchanges {
            let is_of_it = exchange.method == "debug_traceTransaction"
                && exchange.params[0].as_str() == Some(&hash.to_string());
            checked += usize::from(is_of_it && check(&lab, &message, place, number, exchange));
        }
        lab.in_block(|block| block.execute(&tx, Some(sender)).map(drop)).unwrap();
    }
    for exchange in exchanges.iter().filter(|traced| traced.method == "debug_traceCall") {
        let args = &exchange.params[0];
        let address = |name: &str| args[name].as_str().map(|text| text.parse().unwrap());
        let input =
            args["data"].as_str().map_or(Vec::new(), |text| hex::decode(&text[2..]).unwrap());
        let mut message = call(address("to"), &input, 0);
        message.from = address("from").unwrap();
        checked += usize::from(check(&lab, &message, TxPlace::default(), number, exchange));
    }
    assert_eq!((number, checked), (19, 35));
}
