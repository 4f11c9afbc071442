//! Asks the source about blocks up to the fork's, and checks what it says as far as the answer allows.

use esker_fork::history::{check_receipts, check_transactions};
use esker_fork::pin::Pin;
use esker_fork::source::{Answer, Call};
use esker_fork::{Fork, ForkError};
use esker_rpc::RpcError;
use serde_json::{Value, json};

use super::room::ClientRoom;

/// Methods that answer with a block.
const BLOCKS: [&str; 4] =
    ["eth_getBlockByHash", "eth_getBlockByNumber", "eth_getHeaderByHash", "eth_getHeaderByNumber"];
const RECEIPTS: &str = "eth_getBlockReceipts";
const HASH_LENGTH: usize = 66;

/// The JSON of the answer to a call. What is of a block above the fork's is `null`.
pub(super) async fn ask(
    fork: &Fork,
    (method, params): (&'static str, Value),
    room: &ClientRoom,
) -> Result<String, RpcError> {
    let asked = params.get(0).cloned().unwrap_or_default();
    let answer = answer(fork, (method, params), room).await?;
    let number = height_of(method, &answer.result);
    if number.is_some_and(|number| number > fork.pin().header.number) {
        return Ok("null".to_owned());
    }
    let is_block = BLOCKS.contains(&method) && answer.result.is_object();
    if !is_block && method != RECEIPTS {
        return Ok(answer.result.to_string());
    }
    let header = match is_block {
        true => None,
        false => Some(answer_of_block(fork, &asked, room).await?),
    };
    let pin = fork.pin().clone();
    let checked = tokio::task::spawn_blocking(move || {
        match &header {
            None => check_block(&pin, (method, &asked), &answer)?,
            Some(header) => check_list(&pin, header, &answer)?,
        }
        Ok(answer.result.to_string())
    });
    checked.await.map_err(|_| failed(&ForkError::Cancelled))?
}

async fn answer(
    fork: &Fork,
    (method, params): (&'static str, Value),
    room: &ClientRoom,
) -> Result<Answer, RpcError> {
    fork.ask_within(Call::new(method, params), room).await.map_err(|error| failed(&error))
}

/// The block of a number or a hash, without transactions.
async fn answer_of_block(
    fork: &Fork,
    block: &Value,
    room: &ClientRoom,
) -> Result<Answer, RpcError> {
    let hash = block.get("blockHash").unwrap_or(block);
    let method = match hash.as_str().is_some_and(|text| text.len() == HASH_LENGTH) {
        true => "eth_getBlockByHash",
        false => "eth_getBlockByNumber",
    };
    let block = match method {
        "eth_getBlockByHash" => hash,
        _ => block.get("blockNumber").unwrap_or(block),
    };
    answer(fork, (method, json!([block, false])), room).await
}

/// The height of the block that a result is of, or in.
fn height_of(method: &str, result: &Value) -> Option<u64> {
    let first = result.get(0).unwrap_or(result);
    let number = first.get(if BLOCKS.contains(&method) { "number" } else { "blockNumber" })?;
    u64::from_str_radix(number.as_str()?.strip_prefix("0x")?, 16).ok()
}

/// Checks the hash of a block by its fields, that it is the one that was asked for, and its transactions, if it has them.
fn check_block(
    pin: &Pin,
    (method, asked): (&'static str, &Value),
    answer: &Answer,
) -> Result<(), RpcError> {
    let header = checked_header(pin, method, answer)?;
    let text = asked.as_str().unwrap_or_default();
    let is_other = match text.len() == HASH_LENGTH {
        true => !text.eq_ignore_ascii_case(&header.hash.to_string()),
        false => text
            .strip_prefix("0x")
            .and_then(|digits| u64::from_str_radix(digits, 16).ok())
            .is_some_and(|number| number != header.header.number),
    };
    if is_other {
        let found = format!("block {} ({})", header.header.number, header.hash);
        return Err(wrong(
            method,
            answer,
            format_args!("asked for block {text}, it gives {found}"),
        ));
    }
    if method.starts_with("eth_getHeader") {
        return Ok(());
    }
    match check_transactions(&answer.result, header.header.transactions_root) {
        Ok(_) => Ok(()),
        Err(fault) => Err(wrong(method, answer, of_block(&header, fault))),
    }
}

/// The header of a block, whose hash is that of its fields.
fn checked_header(pin: &Pin, method: &'static str, answer: &Answer) -> Result<Pin, RpcError> {
    let header = Pin::from_json(pin.chain_id, &answer.result);
    let header = header.map_err(|fault| wrong(method, answer, fault))?;
    let number = header.header.number;
    let is_other = number == pin.header.number && header.hash != pin.hash;
    if is_other || pin.is_verified() && !header.is_verified() {
        let hash = header.hash;
        let fault = format!(
            "block {number} has the hash {hash}, which its fields don't give, or which is not the fork's"
        );
        return Err(wrong(method, answer, fault));
    }
    Ok(header)
}

/// Checks the receipts of a block.
fn check_list(pin: &Pin, block: &Answer, receipts: &Answer) -> Result<(), RpcError> {
    if receipts.result.is_null() || block.result.is_null() {
        return Ok(());
    }
    let header = checked_header(pin, "eth_getBlockByNumber", block)?;
    let checked = check_receipts(&receipts.result, header.header.receipts_root);
    checked.map(drop).map_err(|fault| wrong(RECEIPTS, receipts, of_block(&header, fault)))
}

fn of_block(header: &Pin, fault: impl std::fmt::Display) -> String {
    format!("block {} ({}): {fault}", header.header.number, header.hash)
}

/// The error of a wrong answer.
fn wrong(method: &str, answer: &Answer, fault: impl std::fmt::Display) -> RpcError {
    let text = format!("{}: {method}: {fault}", answer.url);
    tracing::warn!(error = text, "the fork's source gives a wrong answer");
    RpcError::new(text)
}

fn failed(error: &ForkError) -> RpcError {
    RpcError::new(error.to_string())
}
