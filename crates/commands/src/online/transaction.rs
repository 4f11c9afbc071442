//! `esker tx`: a transaction of any chain, decoded.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use alloy_primitives::{B256, U64, U256};
use esker_primitives::TxId;
use esker_transactions::xvm::UnsignedTx;
use serde_json::{Value, json};

use super::connection::{Asset, Connection, unexpected};
use super::names::{self, NameTerms, Names, TxNames};
use super::target::C;
use super::{OnlineError, amount, trace};

/// Number of last blocks of an asset VM's chain that are searched for a transaction.
const SEARCHED_BLOCKS: u64 = 1000;

/// A transaction as it is shown.
struct Shown {
    id: String,
    chain: String,
    /// `BaseTx`, `ImportTx`, ..; of an EVM transaction its type, `0x2`.
    kind: Option<String>,
    status: String,
    reason: Option<String>,
    /// Height and ID.
    block: Option<(String, Option<String>)>,
    inputs: Vec<Value>,
    outputs: Vec<Value>,
    /// The node's own form.
    tx: Value,
    names: TxNames,
}

/// Executes the command and returns its output.
pub(super) fn run(
    node: &mut Connection,
    id: &str,
    (chain, terms): (Option<&str>, &NameTerms),
    as_json: bool,
) -> Result<String, OnlineError> {
    let argument = |reason: &str| OnlineError::Argument {
        name: "ID",
        text: esker_primitives::excerpt(id).into_owned(),
        reason: reason.to_owned(),
    };
    let shown = if id.starts_with("0x") {
        let hash: B256 = id.parse().map_err(|_| argument("expected 0x and 64 hex digits"))?;
        let (chain, coin) = node.evm_chain(chain)?;
        let mut shown = of_evm(node, &chain, &coin, hash)?;
        if let Some(shown) = &mut shown {
            let mut names = Names::new(node, &chain, &terms.artifacts)?;
            shown.names = names::of_tx(&mut names, &shown.tx)?;
            let is_done = !shown.tx["receipt"].is_null();
            if terms.has_trace && is_done {
                shown.names.trace = Some(trace::lines(&mut names, &shown.tx["hash"])?);
            }
        }
        shown
    } else {
        let reason = "expected 0x and 64 hex digits, or the ID of a transaction of the X-Chain or an atomic one";
        let id: TxId = id.parse().map_err(|_| argument(reason))?;
        match chain {
            Some(C) => of_atomic(node, &id)?,
            Some(alias) => of_assets(node, alias, &id)?,
            None => match of_assets(node, "X", &id)? {
                None => of_atomic(node, &id)?,
                found => found,
            },
        }
    };
    let shown = shown.ok_or_else(|| {
        OnlineError::Refused(format!(
            "the node knows no transaction {id}: is it of another chain (--chain) or another network, or not issued?"
        ))
    })?;
    Ok(if as_json { shown.document() } else { shown.text() })
}

impl Shown {
    fn document(&self) -> String {
        let block = self.block.as_ref().map(|(height, id)| json!({"height": height, "id": id}));
        let document = json!({
            "id": self.id,
            "chain": self.chain,
            "type": self.kind,
            "status": self.status,
            "reason": self.reason.as_ref().or(self.names.reason.as_ref()),
            "contract": self.names.contract,
            "call": self.names.call,
            "events": self.names.events,
            "trace": self.names.trace,
            "block": block,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "tx": self.tx,
        });
        format!("{document}\n")
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let mut line = |name: &str, value: &str| {
            let _written = writeln!(out, "{name:<12} {value}");
        };
        line("transaction", &self.id);
        line("chain", &self.chain);
        line("status", &self.status);
        let TxNames { contract, call, reason, events, trace } = &self.names;
        if let Some(reason) = self.reason.as_ref().or(reason.as_ref()) {
            line("reason", reason);
        }
        if let Some(kind) = &self.kind {
            line("type", kind);
        }
        if let Some((height, id)) = &self.block {
            line("block", format!("{height} {}", id.as_deref().unwrap_or_default()).trim_end());
        }
        for (name, entries) in [("from", &self.inputs), ("to", &self.outputs)] {
            for entry in entries {
                line(name, &entry_text(entry));
            }
        }
        for (name, text) in [("contract", contract), ("call", call)] {
            if let Some(text) = text {
                line(name, text);
            }
        }
        for event in events {
            line("event", event);
        }
        for text in trace.iter().flatten() {
            line("trace", text);
        }
        out
    }
}

/// An input or output on a line.
fn entry_text(entry: &Value) -> String {
    let text = |name: &str| entry[name].as_str().unwrap_or_default();
    let owners: Vec<_> =
        entry["addresses"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let origin = match entry["txID"].as_str() {
        Some(id) => format!("output {} of {id}", entry["outputIndex"]),
        None => owners.join(" "),
    };
    let kind = match text("kind") {
        kind @ ("imported" | "exported") => format!(" ({kind})"),
        _ => String::new(),
    };
    format!("{} {}  {origin}{kind}", text("amount"), text("symbol"))
}

/// A transaction of a chain of the asset VM; `None` if it is unknown there.
fn of_assets(node: &mut Connection, alias: &str, id: &TxId) -> Result<Option<Shown>, OnlineError> {
    let mut chain = node.asset_chain(alias);
    let status =
        chain.get_tx_status(id).map_err(|error| node.xvm_error(alias, "getTxStatus", error))?;
    if status.status == "Unknown" {
        return Ok(None);
    }
    let mut shown = Shown {
        id: id.to_string(),
        chain: alias.to_owned(),
        kind: None,
        status: status.status.clone(),
        reason: status.reason.clone(),
        block: None,
        inputs: Vec::new(),
        outputs: Vec::new(),
        tx: Value::Null,
        names: TxNames::default(),
    };
    if !status.is_accepted() {
        return Ok(Some(shown));
    }
    let fault = |error| node.xvm_error(alias, "getTx", error);
    let tx = chain.get_tx(id).map_err(fault)?;
    shown.tx = chain.get_tx_json(id).map_err(fault)?;
    shown.kind = Some(kind(tx.unsigned()).to_owned());
    let fault = |error| node.xvm_error(alias, "getBlockByHeight", error);
    let last = chain.get_height().map_err(fault)?;
    for height in (last.saturating_sub(SEARCHED_BLOCKS)..=last).rev() {
        let block = chain.get_block_by_height(height).map_err(fault)?;
        if block.txs().iter().any(|tx| tx.id() == *id) {
            shown.block = Some((height.to_string(), Some(block.id().to_string())));
            break;
        }
    }
    flows(node, alias, &mut shown)?;
    Ok(Some(shown))
}

const fn kind(tx: &UnsignedTx) -> &'static str {
    match tx {
        UnsignedTx::Base(_) => "BaseTx",
        UnsignedTx::CreateAsset(_) => "CreateAssetTx",
        UnsignedTx::Operation(_) => "OperationTx",
        UnsignedTx::Import(_) => "ImportTx",
        UnsignedTx::Export(_) => "ExportTx",
    }
}

/// An atomic transaction of the C-Chain; `None` if it is unknown.
fn of_atomic(node: &mut Connection, id: &TxId) -> Result<Option<Shown>, OnlineError> {
    const PATH: &str = "/ext/bc/C/nat";
    let params = json!({"txID": id, "includeReason": true});
    let status: Value = node.call(PATH, "nat.getAtomicTxStatus", params)?;
    let text = |name: &str| status[name].as_str().map(str::to_owned);
    if status["status"] == "Unknown" {
        return Ok(None);
    }
    let params = json!({"txID": id, "encoding": "json"});
    // Only the last transactions that were dropped are kept.
    let tx = match node.call::<Value>(PATH, "nat.getAtomicTx", params) {
        Err(OnlineError::Call { .. }) if status["status"] == "Dropped" => Value::Null,
        reply => reply?["tx"].clone(),
    };
    let kind = match &tx["unsignedTx"] {
        Value::Null => None,
        tx if tx["importedInputs"].is_null() => Some("ExportTx"),
        _ => Some("ImportTx"),
    };
    let block = match text("blockHeight") {
        Some(height) => Some((height.clone(), evm_block(node, &height)?)),
        None => None,
    };
    let mut shown = Shown {
        id: id.to_string(),
        chain: C.to_owned(),
        kind: kind.map(str::to_owned),
        status: text("status").unwrap_or_default(),
        reason: text("reason"),
        block,
        inputs: Vec::new(),
        outputs: Vec::new(),
        tx,
        names: TxNames::default(),
    };
    flows(node, "X", &mut shown)?;
    Ok(Some(shown))
}

/// The hash of the C-Chain's block at a height.
fn evm_block(node: &mut Connection, height: &str) -> Result<Option<String>, OnlineError> {
    let number: u64 = height
        .parse()
        .map_err(|_| unexpected("nat.getAtomicTxStatus", &json!({"blockHeight": height})))?;
    let params = json!([U64::from(number), false]);
    let block: Value = node.evm(C, "evm_getBlockByNumber", params)?;
    Ok(block["hash"].as_str().map(str::to_owned))
}

/// Fills in what a decoded transaction takes and gives. `alias` describes its assets.
fn flows(node: &mut Connection, alias: &str, shown: &mut Shown) -> Result<(), OnlineError> {
    let mut assets: BTreeMap<String, Asset> = BTreeMap::new();
    let unsigned = shown.tx["unsignedTx"].clone();
    let list = |name: &str| unsigned[name].as_array().cloned().unwrap_or_default();
    for (name, kind, is_input) in [
        ("inputs", "input", true),
        ("importedInputs", "imported", true),
        ("outputs", "output", false),
        ("exportedOutputs", "exported", false),
    ] {
        for entry in list(name) {
            // Accounts of the C-Chain have their members on the outer level.
            let inner = entry.get("input").or_else(|| entry.get("output")).unwrap_or(&entry);
            let id = entry["assetID"].as_str().unwrap_or_default().to_owned();
            let asset = match assets.get(&id) {
                Some(asset) => asset.clone(),
                None => assets.entry(id.clone()).or_insert(node.asset(alias, Some(&id))?).clone(),
            };
            let units = U256::from(inner["amount"].as_u64().unwrap_or_default());
            let addresses = match &entry["address"] {
                Value::Null => inner["addresses"].clone(),
                one => json!([one]),
            };
            let mut flow = flow(kind, &asset, units, addresses);
            if let Some(id) = entry["txID"].as_str() {
                flow["txID"] = json!(id);
                flow["outputIndex"] = entry["outputIndex"].clone();
            }
            if is_input { shown.inputs.push(flow) } else { shown.outputs.push(flow) }
        }
    }
    Ok(())
}

fn flow(kind: &str, asset: &Asset, units: U256, addresses: Value) -> Value {
    json!({
        "kind": kind,
        "assetID": asset.id,
        "symbol": asset.symbol,
        "amount": amount::format(units, asset.decimals),
        "units": units.to_string(),
        "addresses": addresses,
    })
}

/// A transaction of an EVM chain; `None` if it is unknown there.
fn of_evm(
    node: &mut Connection,
    alias: &str,
    coin: &Asset,
    hash: B256,
) -> Result<Option<Shown>, OnlineError> {
    let mut tx: Value = node.evm(alias, "evm_getTransactionByHash", json!([hash]))?;
    if tx.is_null() {
        return Ok(None);
    }
    let receipt: Value = node.evm(alias, "evm_getTransactionReceipt", json!([hash]))?;
    let status = match receipt["status"].as_str() {
        Some("0x1") => "Accepted",
        Some(_) => "Failed",
        None => "Processing",
    };
    let height: Option<U64> = serde_json::from_value(receipt["blockNumber"].clone()).ok();
    let units: U256 = serde_json::from_value(tx["value"].clone())
        .map_err(|_| unexpected("evm_getTransactionByHash", &tx))?;
    let to = if tx["to"].is_null() { &receipt["contractAddress"] } else { &tx["to"] };
    let side = |address: &Value| vec![flow("account", coin, units, json!([address]))];
    let (inputs, outputs) = (side(&tx["from"]), side(to));
    let block =
        height.map(|height| (height.to_string(), receipt["blockHash"].as_str().map(str::to_owned)));
    let kind = tx["type"].as_str().map(str::to_owned);
    tx["receipt"] = receipt;
    Ok(Some(Shown {
        id: hash.to_string(),
        chain: alias.to_owned(),
        kind,
        status: status.to_owned(),
        reason: None,
        block,
        inputs,
        outputs,
        tx,
        names: TxNames::default(),
    }))
}
