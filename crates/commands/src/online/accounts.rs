//! `esker accounts`: the accounts of a development node.

use std::fmt::Write as _;

use alloy_primitives::U256;
use esker_primitives::address;
use esker_settings::networks::accounts::{Account, well_known};
use serde_json::{Value, json};

use super::connection::{Asset, Connection, NATIVE};
use super::key::development_accounts;
use super::target::C;
use super::{OnlineError, amount};

/// An account with what it has.
struct Row {
    /// `None`: the account of the well-known key.
    number: Option<usize>,
    account: Account,
    x_address: String,
    c_address: String,
    x_balance: String,
    c_balance: String,
}

/// Executes the command and returns its output.
pub(super) fn run(
    node: &mut Connection,
    private_keys: bool,
    as_json: bool,
) -> Result<String, OnlineError> {
    let (chain, accounts) = development_accounts(node)?;
    if chain != C {
        return of_only_chain(node, &chain, &accounts, private_keys, as_json);
    }
    let prefix = node.address_prefix()?;
    let native = node.asset("X", None)?;
    let numbered = accounts.into_iter().enumerate();
    let rows = numbered
        .map(|(number, account)| (Some(number), account))
        .chain([(None, well_known())])
        .map(|(number, account)| row(node, number, account, prefix, &native))
        .collect::<Result<Vec<_>, _>>()?;
    if as_json {
        let (well_known, numbered): (Vec<_>, Vec<_>) =
            rows.iter().partition(|row| row.number.is_none());
        let objects = |rows: Vec<&Row>| -> Vec<Value> {
            rows.into_iter().map(|row| object(row, private_keys)).collect()
        };
        let document = json!({
            "symbol": native.symbol,
            "accounts": objects(numbered),
            "wellKnown": objects(well_known).pop(),
        });
        return Ok(format!("{document}\n"));
    }
    let mut out = String::new();
    for row in &rows {
        let name = row.number.map_or("well-known key".to_owned(), |number| number.to_string());
        let evm = row.account.c_address();
        let _written = writeln!(out, "{name}  {evm}  {} {}", row.c_balance, native.symbol);
        let _written = writeln!(out, "   {}  {} {}", row.x_address, row.x_balance, native.symbol);
        let _written = writeln!(out, "   {}", row.c_address);
        if private_keys {
            let key = row.account.key();
            let _written = writeln!(out, "   0x{}  {}", row.account.key_hex(), key.to_text());
        }
    }
    Ok(out)
}

fn row(
    node: &mut Connection,
    number: Option<usize>,
    account: Account,
    prefix: &str,
    native: &Asset,
) -> Result<Row, OnlineError> {
    let x_address = address::format("X", prefix, &account.address());
    let c_address = address::format(C, prefix, &account.address());
    let nano = node
        .asset_chain("X")
        .get_balance(&x_address, NATIVE)
        .map_err(|error| node.xvm_error("X", "getBalance", error))?
        .balance;
    let wei = node.wei_balance(C, &account.c_address())?;
    let x_balance = amount::format(U256::from(nano), native.decimals);
    let c_balance = amount::format(wei, super::connection::WEI_DECIMALS);
    Ok(Row { number, account, x_address, c_address, x_balance, c_balance })
}

fn object(row: &Row, private_keys: bool) -> Value {
    let mut object = json!({
        "number": row.number,
        "address": row.account.c_address().to_string(),
        "xAddress": row.x_address,
        "cAddress": row.c_address,
        "xBalance": row.x_balance,
        "cBalance": row.c_balance,
    });
    if private_keys {
        object["privateKey"] = json!(format!("0x{}", row.account.key_hex()));
    }
    object
}

/// The accounts on the only chain of a node, which has no addresses of other forms.
fn of_only_chain(
    node: &mut Connection,
    chain: &str,
    accounts: &[Account],
    private_keys: bool,
    as_json: bool,
) -> Result<String, OnlineError> {
    let coin = node.coin(chain)?;
    let (mut objects, mut out) = (Vec::new(), String::new());
    for (number, account) in accounts.iter().enumerate() {
        let address = account.c_address();
        let balance = amount::format(node.wei_balance(chain, &address)?, coin.decimals);
        let _written = writeln!(out, "{number}  {address}  {balance} {}", coin.symbol);
        let mut object =
            json!({"number": number, "address": address.to_string(), "balance": balance});
        if private_keys {
            let key = format!("0x{}", account.key_hex());
            let _written = writeln!(out, "   {key}");
            object["privateKey"] = json!(key);
        }
        objects.push(object);
    }
    if as_json {
        let document = json!({"chain": chain, "symbol": coin.symbol, "accounts": objects});
        return Ok(format!("{document}\n"));
    }
    Ok(out)
}
