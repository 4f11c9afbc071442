//! `esker balance`: what an address has.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use alloy_primitives::U256;
use esker_client::CallError;
use esker_client::xvm::reply::PageIndex;
use esker_primitives::{Decode as _, address, hexfmt};
use esker_utxo::Utxo;
use serde::Deserialize;
use serde_json::{Value, json};

use super::connection::{Asset, Connection};
use super::key::{development_accounts, no_account};
use super::target::{C, Target};
use super::{OnlineError, amount};

/// UTXOs of a page.
const PAGE: usize = 1024;

/// The reply of `nat.getUTXOs`.
#[derive(Debug, Deserialize)]
struct ExportedPage {
    utxos: Vec<String>,
    #[serde(rename = "endIndex")]
    end: PageIndex,
}

/// Executes the command and returns its output.
pub(super) fn run(
    node: &mut Connection,
    address: &str,
    asset: Option<&str>,
    as_json: bool,
) -> Result<String, OnlineError> {
    if !address.is_empty() && address.bytes().all(|byte| byte.is_ascii_digit()) {
        return of_account(node, address, asset, as_json);
    }
    let target = Target::parse("ADDRESS", address)?;
    let argument = |name, text: &str, reason: &str| OnlineError::Argument {
        name,
        text: text.to_owned(),
        reason: reason.to_owned(),
    };
    let (chain, kind, balances) = match target {
        Target::Evm(of) => {
            let (chain, native) = node.evm_chain(None)?;
            if let Some(name) = asset
                && node.asset("X", Some(name))?.id != native.id
            {
                let reason = "an EVM account has only the native asset";
                return Err(argument("--asset", name, reason));
            }
            let wei = node.wei_balance(&chain, &of)?;
            (chain, "account", vec![(native, wei)])
        }
        Target::Bech32 { alias, prefix, .. } => {
            let expected = node.address_prefix()?;
            if prefix != expected {
                let reason =
                    format!("it is of another network: the node's addresses have {expected}1");
                return Err(argument("ADDRESS", address, &reason));
            }
            let (kind, balances) = if alias == C {
                ("exported", exported(node, address)?)
            } else {
                ("outputs", held(node, &alias, address, asset)?)
            };
            let chosen = match asset {
                Some(name) if alias == C => {
                    let chosen = node.asset("X", Some(name))?;
                    let units = balances.iter().find(|(other, _)| other.id == chosen.id);
                    let units = units.map_or(U256::ZERO, |(_, units)| *units);
                    vec![(chosen, units)]
                }
                _ => balances,
            };
            (alias, kind, chosen)
        }
    };
    Ok(output(address, &chain, kind, &balances, as_json))
}

/// The balances of a development account on the C-Chain and on the X-Chain. The document is that of its address on
/// the C-Chain, and its member `xChain` is that of the X-Chain. On a node with one chain it is the balance there.
fn of_account(
    node: &mut Connection,
    number: &str,
    asset: Option<&str>,
    as_json: bool,
) -> Result<String, OnlineError> {
    let (chain, accounts) = development_accounts(node)?;
    let index = number.parse::<usize>().unwrap_or(usize::MAX);
    let account = accounts.get(index).ok_or_else(|| no_account("ADDRESS", number, &accounts))?;
    let c = account.c_address().to_string();
    if chain != C {
        let out = run(node, &c, asset, as_json)?;
        return Ok(if as_json { out } else { format!("{c}\n{out}") });
    }
    let x = address::format("X", node.address_prefix()?, &account.address());
    // An EVM account has the native asset alone.
    let is_native = match asset {
        Some(name) => node.asset("X", Some(name))?.is_native,
        None => true,
    };
    let x_out = run(node, &x, asset, as_json)?;
    if !is_native {
        return Ok(x_out);
    }
    let c_out = run(node, &c, asset, as_json)?;
    if !as_json {
        return Ok(format!("{c}\n{c_out}{x}\n{x_out}"));
    }
    let document = |out: &str| serde_json::from_str::<Value>(out).unwrap_or_default();
    let mut both = document(&c_out);
    both["xChain"] = document(&x_out);
    Ok(format!("{both}\n"))
}

fn output(
    address: &str,
    chain: &str,
    kind: &str,
    balances: &[(Asset, U256)],
    as_json: bool,
) -> String {
    if as_json {
        let balances: Vec<_> = balances
            .iter()
            .map(|(asset, units)| {
                json!({
                    "assetID": asset.id,
                    "symbol": asset.symbol,
                    "decimals": asset.decimals,
                    "amount": amount::format(*units, asset.decimals),
                    "units": units.to_string(),
                })
            })
            .collect();
        let document =
            json!({"address": address, "chain": chain, "kind": kind, "balances": balances});
        return format!("{document}\n");
    }
    let mut out = String::new();
    if kind == "exported" {
        out.push_str("exported to the C-Chain and not imported there (nat.import):\n");
    }
    for (asset, units) in balances {
        let amount = amount::format(*units, asset.decimals);
        let id = asset.id.map(|id| id.to_string()).unwrap_or_default();
        let line = format!("{amount} {}  {id}", asset.symbol);
        let _written = writeln!(out, "{}", line.trim_end());
    }
    if balances.is_empty() {
        out.push_str("nothing\n");
    }
    out
}

/// The balances that an address alone owns on a chain of the asset VM.
fn held(
    node: &mut Connection,
    alias: &str,
    address: &str,
    asset: Option<&str>,
) -> Result<Vec<(Asset, U256)>, OnlineError> {
    let mut chain = node.asset_chain(alias);
    if let Some(name) = asset {
        let asset = node.asset(alias, Some(name))?;
        let balance = chain
            .get_balance(address, name)
            .map_err(|error| node.xvm_error(alias, "getBalance", error))?;
        return Ok(vec![(asset, U256::from(balance.balance))]);
    }
    let all = chain
        .get_all_balances(address)
        .map_err(|error| node.xvm_error(alias, "getAllBalances", error))?;
    all.balances
        .iter()
        .map(|held| Ok((node.asset(alias, Some(&held.asset))?, U256::from(held.balance))))
        .collect()
}

/// The amounts that X exported to an address of C and that are not imported yet.
fn exported(node: &mut Connection, address: &str) -> Result<Vec<(Asset, U256)>, OnlineError> {
    const METHOD: &str = "nat.getUTXOs";
    let mut sums: BTreeMap<_, U256> = BTreeMap::new();
    let mut params = json!({"addresses": [address], "sourceChain": "X", "limit": PAGE});
    loop {
        let page: ExportedPage = node.call("/ext/bc/C/nat", METHOD, params.clone())?;
        for text in &page.utxos {
            let utxo = hexfmt::decode_checked(text)
                .ok()
                .and_then(|bytes| Utxo::from_versioned_bytes(&bytes, bytes.len()).ok())
                .ok_or_else(|| super::connection::unexpected(METHOD, &json!(text)))?;
            let units = utxo.output.as_transfer().map_or(0, |output| output.amount);
            let sum = sums.entry(utxo.asset_id).or_default();
            *sum = sum.saturating_add(U256::from(units));
        }
        if page.utxos.len() < PAGE {
            break;
        }
        if params["startIndex"]["utxo"] == page.end.utxo.as_str() {
            let error = CallError::Unexpected("pages of UTXOs without end".to_owned());
            return Err(OnlineError::Call { method: METHOD.to_owned(), error });
        }
        params["startIndex"] = json!({"address": page.end.address, "utxo": page.end.utxo});
    }
    sums.into_iter()
        .map(|(id, units)| Ok((node.asset("X", Some(&id.to_string()))?, units)))
        .collect()
}
