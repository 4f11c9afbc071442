//! Payments: built, signed, sent, and waited for.

use std::fmt::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use alloy_consensus::{TxEip1559, TypedTransaction};
use alloy_eips::Encodable2718 as _;
use alloy_primitives::{Address, Bytes, TxKind, U64, U256, hex};
use esker_client::{CallError, ChainParams, Wallet, WalletError, XvmClient};
use esker_evm::accounts::{AccountKey, sign_transaction_with};
use esker_node::clock::SystemClock;
use esker_primitives::hash::sha256_parts;
use esker_primitives::{Clock as _, PrivateKey, ShortId, TxId};
use serde_json::{Value, json};

use super::connection::{Asset, Connection, unexpected};
use super::target::{C, Target};
use super::{OnlineError, amount};

/// Between two looks at a transaction.
const LOOK: Duration = Duration::from_millis(50);

/// How the node refuses a transaction after another one of the same key.
const OUTRUN: [&str; 4] = [
    "tx conflicts with other tx: ",
    "nonce too low: ",
    "already known",
    "replacement transaction underpriced",
];

/// UTXOs of a page.
const PAGE: u32 = 1024;

/// What is paid to whom.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// As the user wrote it.
    pub(super) amount: String,
    /// Who gets it.
    pub(super) to: String,
    /// Asset by ID or alias; the native one without.
    pub(super) asset: Option<String>,
    /// The chain, which the address decides otherwise.
    pub(super) chain: Option<String>,
    /// How long acceptance may take, in seconds.
    pub(super) timeout_s: u64,
}

/// A payment in an accepted block.
#[derive(Clone, Debug)]
pub(super) struct Payment {
    chain: String,
    id: String,
    height: u64,
    block_id: String,
    from: String,
    to: String,
    asset: Asset,
    units: U256,
}

impl Payment {
    /// The command's output.
    pub(super) fn output(&self, as_json: bool) -> String {
        let amount = amount::format(self.units, self.asset.decimals);
        if as_json {
            let document = json!({
                "chain": self.chain,
                "id": self.id,
                "block": {"height": self.height.to_string(), "id": self.block_id},
                "from": self.from,
                "to": self.to,
                "assetID": self.asset.id,
                "symbol": self.asset.symbol,
                "amount": amount,
                "units": self.units.to_string(),
            });
            return format!("{document}\n");
        }
        let mut out = String::new();
        let _written = writeln!(out, "{amount} {} to {}", self.asset.symbol, self.to);
        let _written = writeln!(out, "from         {}", self.from);
        let _written = writeln!(out, "transaction  {}", self.id);
        let _written = writeln!(out, "block        {} {}", self.height, self.block_id);
        out
    }
}

/// Pays, and returns when it is accepted. `key` gives the key that pays.
pub(super) fn pay(
    node: &mut Connection,
    key: impl FnOnce(&mut Connection) -> Result<PrivateKey, OnlineError>,
    order: &Order,
) -> Result<Payment, OnlineError> {
    match Target::parse("TO", &order.to)? {
        Target::Evm(to) => {
            let chain = order.chain.as_deref().unwrap_or(C);
            if chain == "X" {
                let reason = "a hex address is of the C-Chain; the X-Chain's begin with X-";
                return Err(wrong_address(order, reason));
            }
            if order.asset.is_some() {
                return Err(OnlineError::Argument {
                    name: "--asset",
                    text: order.asset.clone().unwrap_or_default(),
                    reason: "to a hex address only the chain's coin can be paid: leave it out"
                        .to_owned(),
                });
            }
            let asset = node.coin(chain)?;
            let units = units(order, &asset)?;
            let key = AccountKey::new(key(node)?);
            pay_on_evm(node, chain, &key, to, asset, units, order.timeout_s)
        }
        Target::Bech32 { alias, .. } if alias == C => {
            let reason = "to an address with C- assets are only exported: give the 0x address, or the one with X-";
            Err(wrong_address(order, reason))
        }
        Target::Bech32 { alias, prefix, address } => {
            if order.chain.as_ref().is_some_and(|chain| *chain != alias) {
                return Err(wrong_address(order, "it is of another chain than --chain"));
            }
            let expected = node.address_prefix()?;
            if prefix != expected {
                let reason =
                    format!("it is of another network: the node's addresses have {expected}1");
                return Err(wrong_address(order, &reason));
            }
            let asset = node.asset(&alias, order.asset.as_deref())?;
            let units = units(order, &asset)?;
            let key = key(node)?;
            pay_assets(node, &alias, key, address, asset, units, order)
        }
    }
}

fn wrong_address(order: &Order, reason: &str) -> OnlineError {
    let text = order.to.clone();
    OnlineError::Argument { name: "TO", text, reason: reason.to_owned() }
}

fn wrong_amount(order: &Order, reason: String) -> OnlineError {
    let text = esker_primitives::excerpt(&order.amount).into_owned();
    OnlineError::Argument { name: "AMOUNT", text, reason }
}

fn units(order: &Order, asset: &Asset) -> Result<U256, OnlineError> {
    amount::parse(&order.amount, asset.decimals, asset.is_native)
        .map_err(|error| wrong_amount(order, error.to_string()))
}

/// Pays on a chain of the asset VM.
fn pay_assets(
    node: &mut Connection,
    alias: &str,
    key: PrivateKey,
    to: ShortId,
    asset: Asset,
    amount: U256,
    order: &Order,
) -> Result<Payment, OnlineError> {
    let units: u64 = amount.try_into().map_err(|_| wrong_amount(order, "too large".to_owned()))?;
    let fault = |node: &Connection, method: &str, error| node.xvm_error(alias, method, error);
    let params = ChainParams::fetch(node.address(), alias, "NAT")
        .map_err(|error| fault(node, "getTxFee", error))?;
    let to_text = params.address(&to);
    let asset_id = asset.id.unwrap_or(params.fee_asset_id);
    let now_s = node.time()?;
    let mut chain = node.asset_chain(alias);
    let memo = payment_number();
    let begun = Instant::now();
    let (wallet, id, before) = loop {
        let mut wallet = Wallet::new(params.clone(), key.clone(), Vec::new(), now_s);
        let coins = chain
            .walk_utxos(&[wallet.address()], PAGE, None)
            .map_err(|error| fault(node, "getUTXOs", error))?;
        wallet.add_utxos(coins);
        let tx = wallet
            .base_tx(vec![Wallet::output(asset_id, units, to)], &memo)
            .map_err(|error| not_enough(&wallet, &asset, &error))?;
        let before = chain.get_height().map_err(|error| fault(node, "getHeight", error))?;
        match chain.issue_tx(&tx) {
            Ok(id) => break (wallet, id, before),
            Err(error) if is_outrun(&error) && is_before(begun, order.timeout_s) => {
                thread::sleep(LOOK);
            }
            Err(error) => return Err(fault(node, "issueTx", error)),
        }
    };
    let what = format!("transaction {id} was not accepted on {alias}");
    wait(what, order.timeout_s, "`esker tx` shows its status", || {
        let status = chain.get_tx_status(&id).map_err(|error| fault(node, "getTxStatus", error))?;
        if status.status == "Rejected" {
            let reason = status.reason.unwrap_or_default();
            return Err(OnlineError::Refused(format!("transaction {id} was rejected: {reason}")));
        }
        Ok(status.is_accepted().then_some(()))
    })?;
    let (height, block_id) = find_block(node, &mut chain, alias, before, &id)?;
    let from = wallet.address();
    let (chain, id) = (alias.to_owned(), id.to_string());
    Ok(Payment { chain, id, height, block_id, from, to: to_text, asset, units: amount })
}

/// The block after the height `before` that has an accepted transaction: height and ID.
fn find_block(
    node: &Connection,
    chain: &mut XvmClient,
    alias: &str,
    before: u64,
    id: &TxId,
) -> Result<(u64, String), OnlineError> {
    let fault = |method: &str, error| node.xvm_error(alias, method, error);
    let last = chain.get_height().map_err(|error| fault("getHeight", error))?;
    for height in before.saturating_add(1)..=last {
        let block =
            chain.get_block_by_height(height).map_err(|error| fault("getBlockByHeight", error))?;
        if block.txs().iter().any(|tx| tx.id() == *id) {
            return Ok((height, block.id().to_string()));
        }
    }
    Err(OnlineError::Refused(format!(
        "transaction {id} is accepted, but in no block after {before}"
    )))
}

/// The error of a wallet without enough, in the units of people.
fn not_enough(wallet: &Wallet, asset: &Asset, error: &WalletError) -> OnlineError {
    let WalletError::InsufficientFunds { asset: id, wanted, available } = error else {
        return OnlineError::Refused(error.to_string());
    };
    let (symbol, decimals) = if asset.id == Some(*id) {
        (asset.symbol.as_str(), asset.decimals)
    } else {
        ("for the fee", 9)
    };
    let text = |units: u64| amount::format(U256::from(units), decimals);
    OnlineError::Refused(format!(
        "{} has {} {symbol} that can be spent, and {} are needed{}",
        wallet.address(),
        text(*available),
        text(*wanted),
        if *id == wallet.params().fee_asset_id { ", the fee included" } else { "" },
    ))
}

/// Pays on a chain of the EVM.
fn pay_on_evm(
    node: &mut Connection,
    alias: &str,
    key: &AccountKey,
    to: Address,
    asset: Asset,
    units: U256,
    timeout_s: u64,
) -> Result<Payment, OnlineError> {
    let from = key.address();
    let begun = Instant::now();
    let id = loop {
        let raw = payment_on_evm(node, alias, key, to, &asset, units)?;
        match node.evm::<String>(alias, "evm_sendRawTransaction", json!([raw])) {
            Ok(id) => break id,
            Err(OnlineError::Call { error, .. })
                if is_outrun(&error) && is_before(begun, timeout_s) =>
            {
                thread::sleep(LOOK);
            }
            Err(error) => return Err(error),
        }
    };
    let what = format!("transaction {id} was in no accepted block of {alias}");
    let hint = "`esker tx` shows its status; if blocks are made on request only, use `esker mine`";
    let receipt = wait(what, timeout_s, hint, || {
        let receipt: Value = node.evm(alias, "evm_getTransactionReceipt", json!([id]))?;
        Ok((!receipt.is_null()).then_some(receipt))
    })?;
    let height: Option<U64> = serde_json::from_value(receipt["blockNumber"].clone()).ok();
    let (Some(height), Some(block_id)) = (height, receipt["blockHash"].as_str()) else {
        return Err(unexpected("evm_getTransactionReceipt", &receipt));
    };
    if receipt["status"] != "0x1" {
        return Err(OnlineError::Refused(format!(
            "transaction {id} failed in block {height}: {to} refused the payment; the fee is paid"
        )));
    }
    let (from, to, block_id) = (from.to_string(), to.to_string(), block_id.to_owned());
    let (chain, height) = (alias.to_owned(), height.to());
    Ok(Payment { chain, id, height, block_id, from, to, asset, units })
}

/// A signed payment with the account's next nonce.
fn payment_on_evm(
    node: &mut Connection,
    alias: &str,
    key: &AccountKey,
    to: Address,
    asset: &Asset,
    units: U256,
) -> Result<String, OnlineError> {
    let from = key.address();
    let lacks = |balance: U256, needed: U256, fee: &str| {
        let text = |wei| amount::format(wei, asset.decimals);
        let (symbol, has, needs) = (&asset.symbol, text(balance), text(needed));
        OnlineError::Refused(format!("{from} has {has} {symbol}, and {needs} are needed{fee}"))
    };
    let balance = node.wei_balance(alias, &from)?;
    if balance < units {
        return Err(lacks(balance, units, ", and the fee"));
    }
    let chain_id: U64 = node.evm(alias, "evm_chainId", json!([]))?;
    let nonce: U64 = node.evm(alias, "evm_getTransactionCount", json!([from, "pending"]))?;
    let call = json!([{"from": from, "to": to, "value": units}]);
    let gas: U64 = node.evm(alias, "evm_estimateGas", call)?;
    let tip: U256 = node.evm(alias, "evm_maxPriorityFeePerGas", json!([]))?;
    let base_fee: U256 = node.evm(alias, "evm_baseFee", json!([]))?;
    // The base fee can rise before the transaction's block.
    let max_fee = base_fee.saturating_mul(U256::from(2)).saturating_add(tip);
    let needed = units.saturating_add(max_fee.saturating_mul(U256::from(gas)));
    if balance < needed {
        return Err(lacks(balance, needed, ", the greatest fee included"));
    }
    let tx = TypedTransaction::Eip1559(TxEip1559 {
        chain_id: chain_id.to(),
        nonce: nonce.to(),
        gas_limit: gas.to(),
        max_fee_per_gas: max_fee.saturating_to(),
        max_priority_fee_per_gas: tip.saturating_to(),
        to: TxKind::Call(to),
        value: units,
        access_list: Default::default(),
        input: Bytes::new(),
    });
    Ok(hex::encode_prefixed(sign_transaction_with(key, tx).encoded_2718()))
}

/// Whether another transaction of the same key came first. A new one has other inputs, or another nonce.
fn is_outrun(error: &CallError) -> bool {
    error.rpc_message().is_some_and(|message| {
        // An input that is spent since it was listed is not found.
        message == "not found" || OUTRUN.iter().any(|beginning| message.starts_with(beginning))
    })
}

fn is_before(begun: Instant, seconds: u64) -> bool {
    begun.elapsed() < Duration::from_secs(seconds)
}

/// Distinguishes payments that are otherwise the same, so that two at a time are two transactions.
fn payment_number() -> [u8; 8] {
    let parts = [u64::from(std::process::id()), SystemClock.now_ms()].map(u64::to_be_bytes);
    let hash = sha256_parts(&[&parts[0], &parts[1]]);
    let mut number = [0; 8];
    number.copy_from_slice(&hash[..8]);
    number
}

/// Asks until there is an answer.
fn wait<T>(
    what: String,
    seconds: u64,
    hint: &'static str,
    mut ask: impl FnMut() -> Result<Option<T>, OnlineError>,
) -> Result<T, OnlineError> {
    let begun = Instant::now();
    loop {
        if let Some(found) = ask()? {
            return Ok(found);
        }
        if begun.elapsed() >= Duration::from_secs(seconds) {
            return Err(OnlineError::Timeout { what, seconds, hint });
        }
        thread::sleep(LOOK);
    }
}
