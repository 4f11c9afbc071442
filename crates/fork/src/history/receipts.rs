//! Receipts of a block.

use alloy_primitives::{B256, Bloom, Log, LogData};
use esker_evm_state::types::Receipt;
use serde_json::Value;

use super::root::{BodyFault, check_root};
use crate::json::{FieldError, Fields};

const LIST: &str = "receipts";
/// The highest type of receipts whose encoding is known.
const LAST_TYPE: u64 = 4;

/// Checks all receipts of a block by the root in its header. Returns whether they could be checked: receipts of other
/// types than Ethereum's have other encodings.
///
/// # Errors
/// They give another root, or are no receipts.
pub fn check_receipts(receipts: &Value, root: B256) -> Result<bool, BodyFault> {
    let list = receipts.as_array().ok_or_else(|| BodyFault::Form {
        list: LIST,
        index: 0,
        fault: FieldError::new("", "a list", Some(receipts)),
    })?;
    let mut encoded = Vec::with_capacity(list.len());
    for (index, receipt) in list.iter().enumerate() {
        let read = read(receipt).map_err(|fault| BodyFault::Form { list: LIST, index, fault })?;
        let Some(receipt) = read else { return Ok(false) };
        let mut bytes = Vec::new();
        receipt.encode_consensus(&mut bytes);
        encoded.push(bytes);
    }
    check_root(LIST, &encoded, root).map(|()| true)
}

/// A receipt; `None` if its type is unknown.
fn read(receipt: &Value) -> Result<Option<Receipt>, FieldError> {
    let fields = Fields::of(receipt)?;
    let tx_type = fields.optional("type", Fields::u64)?.unwrap_or_default();
    if tx_type > LAST_TYPE {
        return Ok(None);
    }
    let logs: Vec<Log> = fields.list("logs")?.iter().map(log).collect::<Result<_, _>>()?;
    let state_root = fields.optional("root", Fields::hash)?;
    let receipt = Receipt {
        tx_type: u8::try_from(tx_type).unwrap_or_default(),
        success: fields.optional("status", Fields::u64)?.is_some_and(|status| status == 1),
        cumulative_gas_used: fields.u64("cumulativeGasUsed")?,
        gas_used: 0,
        from: Default::default(),
        contract_address: None,
        logs,
        // Before Byzantium a receipt has a root and no status.
        state_root: state_root.filter(|_| fields.get("status").is_none()),
    };
    let claimed: Bloom = fields.fixed::<256>("logsBloom")?.into();
    match claimed == receipt.bloom() {
        true => Ok(Some(receipt)),
        false => Err(FieldError::new("logsBloom", "that of the logs", fields.get("logsBloom"))),
    }
}

fn log(log: &Value) -> Result<Log, FieldError> {
    let fields = Fields::of(log)?;
    let topic = |value: &Value| {
        crate::json::fixed(value).ok_or_else(|| FieldError::new("topics", "hashes", Some(value)))
    };
    let topics = fields.list("topics")?.iter().map(topic).collect::<Result<Vec<B256>, _>>()?;
    let data = LogData::new(topics, fields.bytes("data")?);
    let data = data.ok_or_else(|| FieldError::new("topics", "at most 4", fields.get("topics")))?;
    Ok(Log { address: fields.address("address")?, data })
}
