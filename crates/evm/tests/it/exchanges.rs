//! Calls, estimates and access lists: the recorded exchanges with the reference, without RPC.

use std::collections::BTreeMap;
use std::time::Duration;

use alloy_eips::eip2718::Decodable2718;
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{Address, B256, Bytes, U256};
use esker_evm::extension::NoExtension;
use esker_evm::verify::{assemble, child_executor};
use esker_evm_execution::call::{
    AccountOverride, BlockOverrides, CallEnv, CallError, CallLimits, CallRequest, StateOverrides,
    call, create_access_list, estimate_gas,
};
use esker_evm_execution::executor::{BlockContext, ExtOutcome};
use esker_evm_execution::rules::BlockPoint;
use esker_evm_state::state::{StateVersion, StateView};
use esker_evm_state::types::{Receipt, Transaction};
use esker_storage::WriteSet;
use esker_testkit::first_block::SCOPE;
use regex_lite::Regex;
use serde_json::{Value, json};

use crate::ledger::Ledger;

const GAS_CAP: u64 = 50_000_000;

/// Puts a transaction into a block of its own, some seconds after the tip. Returns its receipt.
fn include(chain: &mut Ledger, raw: &[u8]) -> (B256, Receipt) {
    let tx = Transaction::decode_2718(&mut &raw[..]).unwrap();
    let mut out = WriteSet::default();
    let block = chain.with_site(&NoExtension, |site| {
        let time = site.parent.time.max(1_700_000_000) + 3;
        let terms = site.chain.rules.child_terms(site.parent, time).unwrap();
        let mut executor = child_executor(site, &terms, time).unwrap();
        executor.execute(&tx, None).unwrap();
        let processed = executor.finish(ExtOutcome::default()).unwrap();
        assemble(site, &terms, time, vec![tx], Bytes::new(), &processed, &mut out).unwrap()
    });
    // The built block is valid, and its verification writes the same rows.
    let (mut processed, verified) = chain.verify(&block, &NoExtension).unwrap();
    assert_eq!(verified, out);
    chain.accept(&block, &out);
    (*block.transactions[0].hash(), processed.receipts.remove(0))
}

/// The part of a receipt that follows from the execution.
fn receipt_json(receipt: &Receipt) -> Value {
    let logs = receipt.logs.iter().map(|log| {
        json!({"address": log.address.to_string().to_lowercase(), "topics": log.topics(),
               "data": log.data.data})
    });
    json!({
        "status": format!("{:#x}", u8::from(receipt.success)),
        "gasUsed": format!("{:#x}", receipt.gas_used),
        "type": format!("{:#x}", receipt.tx_type),
        "from": receipt.from.to_string().to_lowercase(),
        "contractAddress": receipt.contract_address.map(|a| a.to_string().to_lowercase()),
        "logs": logs.collect::<Vec<_>>(),
        "logsBloom": receipt.bloom(),
    })
}

/// Whether `want`, which has more members, has every member of `got`.
fn agrees(want: &Value, got: &Value) -> bool {
    match (want, got) {
        (Value::Object(want), Value::Object(got)) => {
            got.iter().all(|(k, g)| want.get(k).is_some_and(|w| agrees(w, g)))
        }
        (Value::Array(want), Value::Array(got)) => {
            want.len() == got.len() && want.iter().zip(got).all(|(w, g)| agrees(w, g))
        }
        _ => matches(want, got),
    }
}

/// Reads of the state.
fn look(chain: &Ledger, method: &str, params: &[Value], view: StateView<'_>) -> Option<Value> {
    let address = params[0].as_str()?.parse().ok()?;
    let account = view.account(&address).unwrap().unwrap_or_default();
    Some(match method {
        "eth_getBalance" => format!("{:#x}", account.balance).into(),
        "eth_getTransactionCount" => format!("{:#x}", account.nonce).into(),
        "eth_getCode" => view.code(account.code_hash).unwrap().to_string().into(),
        "eth_getStorageAt" => {
            let slot = chain.params.rules.storage_keys().slot(hex_number(&params[1])?);
            B256::from(view.storage(&address, slot).unwrap()).to_string().into()
        }
        _ => return None,
    })
}

fn hex_number<T: TryFrom<U256>>(value: &Value) -> Option<T> {
    let text = value.as_str()?;
    T::try_from(U256::from_str_radix(text.strip_prefix("0x")?, 16).unwrap()).ok()
}

fn hex_bytes(value: &Value) -> Option<Bytes> {
    value.as_str().map(|text| text.parse().unwrap())
}

fn request(args: &Value) -> CallRequest {
    CallRequest {
        from: args["from"].as_str().map(|text| text.parse().unwrap()),
        to: args["to"].as_str().map(|text| text.parse().unwrap()),
        gas: hex_number(&args["gas"]),
        gas_price: hex_number(&args["gasPrice"]),
        max_fee_per_gas: hex_number(&args["maxFeePerGas"]),
        max_priority_fee_per_gas: hex_number(&args["maxPriorityFeePerGas"]),
        value: hex_number(&args["value"]),
        input: hex_bytes(&args["input"]).or(hex_bytes(&args["data"])).unwrap_or_default(),
        access_list: args["accessList"].as_array().map(|items| {
            AccessList(
                items
                    .iter()
                    .map(|item| AccessListItem {
                        address: item["address"].as_str().unwrap().parse().unwrap(),
                        storage_keys: serde_json::from_value(item["storageKeys"].clone()).unwrap(),
                    })
                    .collect(),
            )
        }),
        authorization_list: None,
        blob_hashes: args["blobVersionedHashes"]
            .as_array()
            .map(|hashes| hashes.iter().map(|h| h.as_str().unwrap().parse().unwrap()).collect()),
        max_fee_per_blob_gas: hex_number(&args["maxFeePerBlobGas"]),
        nonce: hex_number(&args["nonce"]),
        chain_id: hex_number(&args["chainId"]),
    }
}

fn words(value: &Value) -> Option<BTreeMap<B256, B256>> {
    let words = value.as_object()?.iter();
    Some(words.map(|(k, v)| (k.parse().unwrap(), v.as_str().unwrap().parse().unwrap())).collect())
}

fn state_overrides(value: &Value) -> StateOverrides {
    let accounts = value.as_object().into_iter().flatten().map(|(address, account)| {
        let account = AccountOverride {
            balance: hex_number(&account["balance"]),
            nonce: hex_number(&account["nonce"]),
            code: hex_bytes(&account["code"]),
            state: words(&account["state"]),
            state_diff: words(&account["stateDiff"]),
        };
        (address.parse::<Address>().unwrap(), account)
    });
    StateOverrides(accounts.collect())
}

fn block_overrides(value: &Value) -> BlockOverrides {
    BlockOverrides {
        number: hex_number(&value["number"]),
        difficulty: hex_number(&value["difficulty"]),
        time: hex_number(&value["time"]),
        gas_limit: hex_number(&value["gasLimit"]),
        coinbase: value["coinbase"].as_str().map(|text| text.parse().unwrap()),
        base_fee: hex_number(&value["baseFee"]),
        blob_base_fee: hex_number(&value["blobBaseFee"]),
    }
}

/// The block of a parameter; `None` if RPC handles it.
fn height(chain: &Ledger, parameter: &Value, names: &BTreeMap<String, u64>) -> Option<u64> {
    let tip = chain.tip.number;
    match parameter {
        Value::Null => Some(tip),
        Value::Object(by) => names.get(by.get("blockHash")?.as_str()?).copied(),
        Value::String(text) => match text.as_str() {
            "earliest" => Some(0),
            "latest" | "pending" | "accepted" | "finalized" | "safe" => Some(tip),
            _ => hex_number(parameter).filter(|number| *number <= tip),
        },
        _ => None,
    }
}

fn failure(error: CallError) -> Value {
    if let CallError::Failed(outcome) = &error
        && let Some(data) = outcome.revert_data()
    {
        return json!({"error": {"code": 3, "message": error.to_string(), "data": data.to_string()}});
    }
    json!({"error": {"code": -32000, "message": error.to_string()}})
}

/// Answers a request if it is tested here.
fn answer(chain: &Ledger, call_of: &Value, names: &BTreeMap<String, u64>) -> Option<Value> {
    let params = call_of["params"].as_array()?;
    let at = |index: usize| params.get(index).cloned().unwrap_or(Value::Null);
    let method = call_of["method"].as_str()?;
    if params.is_empty() || (method == "eth_callDetailed" && params.len() < 2) {
        return None;
    }
    let block_at = usize::from(method == "eth_getStorageAt") + 1;
    let height = height(chain, &at(block_at), names)?;
    let reader = chain.reader();
    let view = StateView::new(&*reader, SCOPE, StateVersion::AtHeight(height));
    if let Some(result) = look(chain, method, params, view) {
        return Some(json!({"result": result}));
    }
    let header = &chain.headers[height as usize];
    let mut block = BlockContext::for_call(&chain.params, header);
    if height == chain.tip.number {
        let next = chain.params.rules.child_terms(header, header.time.max(1_700_000_000)).unwrap();
        block.base_fee = block.base_fee.min(next.base_fee);
    }
    let is_call = method == "eth_call" || method == "eth_callDetailed";
    if at(1) == "pending" && is_call {
        block.number += U256::from(1);
        block.time += 2;
    }
    let (state_point, hashes) = (BlockPoint::of(header), &chain.hashes);
    let site = CallEnv { chain: &chain.params, view, state_point, block, hashes };
    let limits = CallLimits { gas_cap: GAS_CAP, timeout: Duration::ZERO, ..Default::default() };
    let request = request(&at(0));
    let (state, overrides) = (state_overrides(&at(2)), block_overrides(&at(3)));
    Some(match method {
        "eth_call" => match call(&site, &request, &state, &overrides, &limits) {
            Ok(outcome) if outcome.error.is_none() => json!({"result": outcome.output.to_string()}),
            Ok(outcome) => failure(CallError::Failed(Box::new(outcome))),
            Err(error) => failure(error),
        },
        "eth_callDetailed" => match call(&site, &request, &state, &overrides, &limits) {
            Ok(outcome) => json!({"result": {
                "gas": outcome.gas_used,
                "errCode": if outcome.revert_data().is_some() { 3 } else { 0 },
                "err": outcome.message(),
                "returnData": outcome.output.to_string(),
            }}),
            Err(error) => failure(error),
        },
        "eth_estimateGas" => match estimate_gas(&site, &request, &state, &limits) {
            Ok(gas) => json!({"result": format!("{gas:#x}")}),
            Err(error) => failure(error),
        },
        "eth_createAccessList" => {
            let fee = site.block.base_fee * U256::from(2) + U256::from(1);
            let gas = request.gas.or(Some(GAS_CAP));
            let cap = request.gas_price.is_none().then_some(fee);
            let tip = cap.map(|_| U256::from(1));
            let request = CallRequest {
                gas,
                max_fee_per_gas: request.max_fee_per_gas.or(cap),
                max_priority_fee_per_gas: request.max_priority_fee_per_gas.or(tip),
                ..request
            };
            match create_access_list(&site, &request, &limits) {
                Ok(found) => {
                    let items = found.access_list.0.iter().map(|item| {
                        json!({"address": item.address.to_string().to_lowercase(),
                               "storageKeys": item.storage_keys})
                    });
                    let mut result = json!({
                        "accessList": items.collect::<Vec<_>>(),
                        "gasUsed": format!("{:#x}", found.gas_used),
                    });
                    if let Some(error) = found.error {
                        result["error"] = error.to_string().into();
                    }
                    json!({"result": result})
                }
                Err(error) => failure(error),
            }
        }
        _ => return None,
    })
}

/// Compares with the recorded reply, in which strings may be patterns and lists may have any order.
fn matches(want: &Value, got: &Value) -> bool {
    match (want, got) {
        (Value::String(want), Value::String(got)) => match want.strip_prefix("$:/") {
            Some(pattern) => {
                Regex::new(&format!("^{}$", pattern.trim_end_matches('/'))).unwrap().is_match(got)
            }
            None => want == got,
        },
        (Value::Array(want), Value::Array(got)) => match want.split_first() {
            Some((first, rest)) if first == "$unordered" => {
                rest.len() == got.len()
                    && rest.iter().all(|want| got.iter().any(|got| matches(want, got)))
            }
            _ => want.len() == got.len() && want.iter().zip(got).all(|(w, g)| matches(w, g)),
        },
        (Value::Object(want), Value::Object(got)) => {
            want.len() == got.len()
                && want.iter().all(|(k, w)| got.get(k).is_some_and(|g| matches(w, g)))
        }
        _ => want == got,
    }
}

fn replay(file: &str, least: usize) {
    let path = format!("{}/../../tests/golden/c/{file}.io", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let (mut chain, mut names, mut checked) = (Ledger::local(), BTreeMap::new(), 0);
    let (mut request, mut faults) = (Value::Null, Vec::new());
    let mut receipts = BTreeMap::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix(":let ") {
            let name = rest.split(' ').next().unwrap();
            names.insert(format!("${{{name}}}"), chain.tip.number);
        } else if let Some(line) = line.strip_prefix(">> ") {
            request = serde_json::from_str(line).unwrap();
            if request["method"] == "eth_sendRawTransaction" {
                let raw = hex_bytes(&request["params"][0]).unwrap();
                let (hash, receipt) = include(&mut chain, &raw);
                receipts.insert(hash.to_string(), receipt);
            }
        } else if let Some(line) = line.strip_prefix("<< ") {
            let want: Value = serde_json::from_str(line).unwrap();
            let hash = request["params"][0].as_str().unwrap_or_default();
            if request["method"] == "eth_getTransactionReceipt"
                && let Some(receipt) = receipts.get(hash)
                && want["result"]["gasUsed"].is_string()
            {
                let got = receipt_json(receipt);
                checked += 1;
                if !agrees(&want["result"], &got) {
                    faults.push(format!("{hash}\n  want {}\n  got  {got}", want["result"]));
                }
                continue;
            }
            let Some(got) = answer(&chain, &request, &names) else { continue };
            checked += 1;
            let key = if want["error"].is_null() { "result" } else { "error" };
            if !matches(&want[key], &got[key]) {
                faults.push(format!("{}\n  want {}\n  got  {got}", request["id"], want[key]));
            }
        }
    }
    assert!(faults.is_empty(), "{file}: {} faults\n{}", faults.len(), faults.join("\n"));
    assert!(checked >= least, "{file}: only {checked} exchanges were checked");
}

#[test]
fn calls() {
    replay("call-1", 55);
}

#[test]
fn detailed_calls() {
    replay("call-detailed", 17);
}

#[test]
fn estimates_and_access_lists() {
    replay("estimate-1", 45);
}

#[test]
fn the_warp_precompile() {
    replay("warp", 19);
}

#[test]
fn contracts_and_transactions() {
    replay("contracts-1", 30);
    replay("contracts-2", 30);
    replay("transactions", 12);
    replay("precise-requests", 16);
}
