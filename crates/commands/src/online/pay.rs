//! Payments: built, signed, sent, and waited for.

use std::fmt::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use alloy_consensus::{TxEip1559, TypedTransaction};
use alloy_eips::Encodable2718 as _;
use alloy_primitives::{Address, B256, Bytes, TxKind, U64, U256, hex};
use esker_client::{CallError, ChainParams, ParamsError, Wallet, WalletError, XvmClient};
use esker_evm::accounts::{AccountKey, sign_transaction_with};
use esker_node::clock::SystemClock;
use esker_primitives::hash::sha256_parts;
use esker_primitives::{AssetId, Clock as _, ShortId, TxId};
use esker_transactions::xvm::UnsignedTx;
use serde_json::{Value, json};

use super::connection::{Asset, Connection, NANO_DECIMALS, NATIVE, unexpected};
use super::key::SigningKey;
use super::known::Identity;
use super::target::{C, Target};
use super::terms::{Claim, Terms};
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

/// The amount and the receiver of a payment.
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
    /// Time that acceptance may take, in seconds.
    pub(super) timeout_s: u64,
    /// The highest fee and the network.
    pub(super) terms: Terms,
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
    /// The fee in units of the coin that pays it.
    fee: U256,
    coin: Asset,
}

impl Payment {
    /// The command's output.
    pub(super) fn output(&self, as_json: bool) -> String {
        let amount = amount::format(self.units, self.asset.decimals);
        let fee = amount::format(self.fee, self.coin.decimals);
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
                "fee": fee,
                "feeUnits": self.fee.to_string(),
            });
            return format!("{document}\n");
        }
        let mut out = String::new();
        let _written = writeln!(out, "{amount} {} to {}", self.asset.symbol, self.to);
        let _written = writeln!(out, "fee          {fee} {}", self.coin.symbol);
        let _written = writeln!(out, "from         {}", self.from);
        let _written = writeln!(out, "transaction  {}", self.id);
        let _written = writeln!(out, "block        {} {}", self.height, self.block_id);
        out
    }
}

/// Pays, and returns when it is accepted. `key` gives the key that pays.
pub(super) fn pay(
    node: &mut Connection,
    key: impl FnOnce(&mut Connection) -> Result<SigningKey, OnlineError>,
    order: &Order,
) -> Result<Payment, OnlineError> {
    match Target::parse("TO", &order.to)? {
        Target::Evm(to) => {
            if order.chain.as_deref() == Some("X") {
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
            let (chain, asset) = node.evm_chain(order.chain.as_deref())?;
            let units = units(order, &asset)?;
            let key = key(node)?;
            pay_on_evm(node, &chain, key, to, asset, units, order)
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
            let to = Destination { alias: &alias, prefix: &prefix, address };
            pay_assets(node, &to, &key, asset, units, order)
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

/// An address of a chain of the asset VM.
struct Destination<'a> {
    alias: &'a str,
    prefix: &'a str,
    address: ShortId,
}

/// Pays on a chain of the asset VM.
fn pay_assets(
    node: &mut Connection,
    to: &Destination<'_>,
    signer: &SigningKey,
    asset: Asset,
    amount: U256,
    order: &Order,
) -> Result<Payment, OnlineError> {
    let alias = to.alias;
    let units: u64 = amount.try_into().map_err(|_| wrong_amount(order, "too large".to_owned()))?;
    let fault = |node: &Connection, method: &str, error| node.xvm_error(alias, method, error);
    let (params, may_repeat) = checked_params(node, to, signer, order)?;
    let fee_asset = params.fee_asset_id;
    if asset.is_native != (asset.id == Some(fee_asset)) {
        return Err(OnlineError::Refused(format!("the node's native asset changes: {fee_asset}")));
    }
    let (to_text, now_s) = (params.address(&to.address), node.time()?);
    let mut chain = node.asset_chain(alias);
    let asset_id = asset.id.unwrap_or(fee_asset);
    if !asset.is_native {
        check_asset(node, &mut chain, to, &asset, may_repeat, order)?;
    }
    let memo = payment_number();
    let begun = Instant::now();
    let (wallet, id, before) = loop {
        let wallet = Wallet::new(params.clone(), signer.key.clone(), Vec::new(), now_s);
        // The fee is what the user has agreed to.
        let mut wallet = wallet.with_max_fee(params.tx_fee);
        let coins = chain
            .walk_utxos(&[wallet.address()], PAGE, None)
            .map_err(|error| fault(node, "getUTXOs", error))?;
        wallet.add_utxos(coins);
        let tx = wallet
            .base_tx(vec![Wallet::output(asset_id, units, to.address)], &memo)
            .map_err(|error| not_enough(&wallet, &asset, &error))?;
        let before = chain.get_height().map_err(|error| fault(node, "getHeight", error))?;
        match chain.issue_tx(&tx) {
            Ok(_) => break (wallet, tx.id(), before),
            Err(error) if is_outrun(&error) => {
                repeat_after(&error, &tx.id().to_string(), may_repeat, begun, order)?;
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
    let (height, block_id) = find_block(node, &mut chain, alias, before, &id, order.timeout_s)?;
    let from = wallet.address();
    let (chain, id) = (alias.to_owned(), id.to_string());
    let (fee, coin) = (U256::from(params.tx_fee), native(fee_asset));
    Ok(Payment { chain, id, height, block_id, from, to: to_text, asset, units: amount, fee, coin })
}

fn native(id: AssetId) -> Asset {
    let (symbol, decimals) = (NATIVE.to_owned(), NANO_DECIMALS);
    Asset { id: Some(id), symbol, decimals, is_native: true }
}

/// The chain's parameters, when they are of the network that the user means and the fee is not too high; and whether a
/// payment that another came before may be signed anew.
fn checked_params(
    node: &Connection,
    to: &Destination<'_>,
    signer: &SigningKey,
    order: &Order,
) -> Result<(ChainParams, bool), OnlineError> {
    let params = ChainParams::fetch_unchecked(node.http(), to.alias, NATIVE);
    let params = params.map_err(|error| match error {
        ParamsError::Call { method, error } => {
            node.error(&format!("/ext/bc/{}", to.alias), method, error)
        }
        other => OnlineError::Refused(other.to_string()),
    })?;
    let identity = Identity::Assets {
        network_id: params.network_id,
        blockchain_id: params.chain_id,
        native: params.fee_asset_id,
    };
    let (alias, prefix, is_public_key) = (to.alias, Some(to.prefix), signer.is_public);
    let claim = Claim { alias, identity, prefix, is_public_key };
    order.terms.check_network(node, &claim)?;
    order.terms.check_fee(U256::from(params.tx_fee), &native(params.fee_asset_id))?;
    Ok((params, claim.is_development()))
}

/// Makes sure that an asset other than the native one is the one that the user means, and has the decimal places that the
/// node says: its ID is the hash of the transaction that created it.
fn check_asset(
    node: &Connection,
    chain: &mut XvmClient,
    to: &Destination<'_>,
    asset: &Asset,
    is_development: bool,
    order: &Order,
) -> Result<(), OnlineError> {
    let Some(id) = asset.id else { return Ok(()) };
    let name = order.asset.as_deref().unwrap_or_default();
    if name.parse::<AssetId>().is_err() && !is_development {
        let reason = format!("only the node says which asset this is: name it by its ID, {id}");
        let text = esker_primitives::excerpt(name).into_owned();
        return Err(OnlineError::Argument { name: "--asset", text, reason });
    }
    let tx = chain.get_tx(&id).map_err(|error| node.xvm_error(to.alias, "getTx", error))?;
    match tx.unsigned() {
        UnsignedTx::CreateAsset(created)
            if tx.id() == id && created.denomination == asset.decimals =>
        {
            Ok(())
        }
        _ => Err(OnlineError::Refused(format!(
            "the node says that asset {id} has {} decimal places, which is not so: nothing was signed",
            asset.decimals
        ))),
    }
}

/// Waits before a payment that another transaction of the same key came before is signed anew. Only on a development
/// network: elsewhere a node could lie, send the first one, and have the payment signed a second time.
fn repeat_after(
    error: &CallError,
    id: &str,
    may_repeat: bool,
    begun: Instant,
    order: &Order,
) -> Result<(), OnlineError> {
    if may_repeat && is_before(begun, order.timeout_s) {
        thread::sleep(LOOK);
        return Ok(());
    }
    Err(OnlineError::Refused(format!(
        "the node says that another transaction of the same key came first ({error}). Before you pay again make sure that \
         this payment was not made: `esker tx {id}`"
    )))
}

/// The block after the height `before` that has an accepted transaction: height and ID.
fn find_block(
    node: &Connection,
    chain: &mut XvmClient,
    alias: &str,
    before: u64,
    id: &TxId,
    timeout_s: u64,
) -> Result<(u64, String), OnlineError> {
    let begun = Instant::now();
    let fault = |method: &str, error| node.xvm_error(alias, method, error);
    let last = chain.get_height().map_err(|error| fault("getHeight", error))?;
    for height in before.saturating_add(1)..=last {
        if !is_before(begun, timeout_s) {
            break;
        }
        let block =
            chain.get_block_by_height(height).map_err(|error| fault("getBlockByHeight", error))?;
        if block.txs().iter().any(|tx| tx.id() == *id) {
            return Ok((height, block.id().to_string()));
        }
    }
    Err(OnlineError::Refused(format!(
        "transaction {id} is accepted, but was found in no block after {before}"
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

/// A payment on a chain of the EVM.
struct EvmPayment<'a> {
    alias: &'a str,
    chain_id: u64,
    key: &'a AccountKey,
    to: Address,
    asset: &'a Asset,
    units: U256,
}

/// A payment that is signed.
struct SignedPayment {
    raw: String,
    id: B256,
    /// The greatest fee that can come of it, wei.
    max_fee: U256,
}

/// Pays on a chain of the EVM.
fn pay_on_evm(
    node: &mut Connection,
    alias: &str,
    signer: SigningKey,
    to: Address,
    asset: Asset,
    units: U256,
    order: &Order,
) -> Result<Payment, OnlineError> {
    let chain_id: U64 = node.evm(alias, "evm_chainId", json!([]))?;
    let chain_id = chain_id.to();
    let (identity, is_public_key) = (Identity::Evm { chain_id }, signer.is_public);
    let claim = Claim { alias, identity, prefix: None, is_public_key };
    order.terms.check_network(node, &claim)?;
    let key = AccountKey::new(signer.key);
    let from = key.address();
    let payment = EvmPayment { alias, chain_id, key: &key, to, asset: &asset, units };
    let begun = Instant::now();
    let signed = loop {
        let signed = payment.sign(node, &order.terms)?;
        match node.evm::<Value>(alias, "evm_sendRawTransaction", json!([signed.raw])) {
            Ok(_) => break signed,
            Err(OnlineError::Call { error, .. }) if is_outrun(&error) => {
                let may_repeat = claim.is_development();
                repeat_after(&error, &signed.id.to_string(), may_repeat, begun, order)?;
            }
            Err(error) => return Err(error),
        }
    };
    let id = signed.id;
    let what = format!("transaction {id} was in no accepted block of {alias}");
    let hint = "`esker tx` shows its status; if blocks are made on request only, use `esker mine`";
    let receipt = wait(what, order.timeout_s, hint, || {
        let receipt: Value = node.evm(alias, "evm_getTransactionReceipt", json!([id]))?;
        Ok((!receipt.is_null()).then_some(receipt))
    })?;
    let quantity = |name: &str| serde_json::from_value::<U256>(receipt[name].clone()).ok();
    let (Some(height), Some(block_id), Some(gas), Some(price)) = (
        quantity("blockNumber").and_then(|height| u64::try_from(height).ok()),
        receipt["blockHash"].as_str(),
        quantity("gasUsed"),
        quantity("effectiveGasPrice"),
    ) else {
        return Err(unexpected("evm_getTransactionReceipt", &receipt));
    };
    // It can't be more than what was signed.
    let fee = gas.saturating_mul(price).min(signed.max_fee);
    if receipt["status"] != "0x1" {
        return Err(OnlineError::Refused(format!(
            "transaction {id} failed in block {height}: {to} refused the payment; the fee of {} {} is paid",
            amount::format(fee, asset.decimals),
            asset.symbol,
        )));
    }
    let (from, to, block_id) = (from.to_string(), to.to_string(), block_id.to_owned());
    let (chain, id, coin) = (alias.to_owned(), id.to_string(), asset.clone());
    Ok(Payment { chain, id, height, block_id, from, to, asset, units, fee, coin })
}

impl EvmPayment<'_> {
    /// Signs it with the account's next nonce.
    fn sign(&self, node: &mut Connection, terms: &Terms) -> Result<SignedPayment, OnlineError> {
        let Self { alias, chain_id, key, to, asset, units } = *self;
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
        let nonce: U64 = node.evm(alias, "evm_getTransactionCount", json!([from, "pending"]))?;
        let call = json!([{"from": from, "to": to, "value": units}]);
        let gas: U64 = node.evm(alias, "evm_estimateGas", call)?;
        let tip: U256 = node.evm(alias, "evm_maxPriorityFeePerGas", json!([]))?;
        let base_fee: U256 = node.evm(alias, "evm_baseFee", json!([]))?;
        // The base fee can rise before the transaction's block.
        let price = base_fee.saturating_mul(U256::from(2)).saturating_add(tip);
        let max_fee = price.saturating_mul(U256::from(gas));
        terms.check_fee(max_fee, asset)?;
        let needed = units.saturating_add(max_fee);
        if balance < needed {
            return Err(lacks(balance, needed, ", the greatest fee included"));
        }
        let tx = TypedTransaction::Eip1559(TxEip1559 {
            chain_id,
            nonce: nonce.to(),
            gas_limit: gas.to(),
            max_fee_per_gas: price.saturating_to(),
            max_priority_fee_per_gas: tip.saturating_to(),
            to: TxKind::Call(to),
            value: units,
            access_list: Default::default(),
            input: Bytes::new(),
        });
        let signed = sign_transaction_with(key, tx);
        let raw = hex::encode_prefixed(signed.encoded_2718());
        Ok(SignedPayment { raw, id: *signed.tx_hash(), max_fee })
    }
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
