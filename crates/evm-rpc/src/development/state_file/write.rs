//! Writes a state in anvil's form.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;

use alloy_consensus::{Header as EthHeader, Transaction as _};
use alloy_primitives::{B256, hex};
use esker_evm_execution::rules::Dialect;
use esker_evm_state::types::{Account, Receipt, SealedBlock, SealedHeader};
use esker_rpc::{CallContext, RpcError};
use serde_json::{Value, json};

use super::super::{DevelopmentNode, refused};
use super::loaded::header_without_extras;
use super::parts::{LimitedWriter, SlotForm, WrittenBlock, each_account, write_slots};
use super::write_states::{MAX_STATES, write_states};
use crate::debug::walk::Walk;
use crate::error::read_error;
use crate::evm::running::LATEST;
use crate::wire::{BlockNumber, TransactionReply};

/// Most blocks of a state: the last ones.
const MAX_BLOCKS: u64 = 10_000;

/// Writes the last state with all accounts whose addresses are known, and the last blocks with their receipts; also the states
/// of the blocks before, if `with_states`. At most `most` bytes: what does not fit of the older blocks, and then of the older
/// states, is left out.
pub(super) fn write(
    node: &DevelopmentNode,
    context: &CallContext,
    (with_states, most): (bool, usize),
    out: &mut impl Write,
) -> Result<(), RpcError> {
    let reads = &node.transact.reads;
    let header = reads.header_of_state(LATEST)?;
    let mut out = LimitedWriter::new(out, most);
    out.raw(&format!("{{\"block\":{},\"accounts\":{{", block_env(&header)))?;
    let last = header.header.number;
    let walk = Walk { reads, header, context, is_of_changes: reads.config.anvil_answers };
    let mut is_first = true;
    each_account(&walk, |hash, account, address| {
        let comma = if std::mem::take(&mut is_first) { "" } else { "," };
        out.raw(&format!("{comma}\"{address:#x}\":"))?;
        write_account(node, &walk, (hash, account), &mut out)
    })?;
    out.raw(&format!("}},\"best_block_number\":{last},"))?;
    let oldest = if with_states { last.saturating_sub(MAX_STATES) } else { last };
    let written = blocks(node, context, (last, oldest), out.left().saturating_sub(200))?;
    for (name, list) in [("blocks", written.blocks), ("transactions", written.txs)] {
        out.raw(&format!("\"{name}\":["))?;
        for (index, one) in list.iter().enumerate() {
            out.raw(if index == 0 { "" } else { "," })?;
            out.raw(one)?;
        }
        out.raw("],")?;
    }
    out.raw("\"historical_states\":")?;
    match with_states {
        true => write_states(node, context, &written.named, &mut out)?,
        false => out.raw("null")?,
    }
    out.raw("}")
}

fn block_env(SealedHeader { header, .. }: &SealedHeader) -> Value {
    let random = match header.mix_digest {
        B256::ZERO => header.difficulty.into(),
        random => random,
    };
    json!({
        "number": format!("{:#x}", header.number),
        "beneficiary": format!("{:#x}", header.coinbase),
        "timestamp": format!("{:#x}", header.time),
        "gas_limit": header.gas_limit,
        "basefee": header.base_fee.unwrap_or_default().saturating_to::<u64>(),
        "difficulty": "0x0",
        "prevrandao": format!("{random:#x}"),
        "blob_excess_gas_and_price": {"excess_blob_gas": 0, "blob_gasprice": 1},
        "slot_num": 0,
    })
}

fn write_account<W: Write>(
    node: &DevelopmentNode,
    walk: &Walk<'_>,
    (hash, account): (B256, &Account),
    out: &mut LimitedWriter<W>,
) -> Result<(), RpcError> {
    let code = walk.part(|view| view.code(account.code_hash))?;
    let (nonce, balance) = (account.nonce, account.balance);
    let code = hex::encode_prefixed(code);
    out.raw(&format!(
        "{{\"nonce\":{nonce},\"balance\":\"{balance:#x}\",\"code\":\"{code}\",\"storage\":"
    ))?;
    write_slots(node, walk, (hash, SlotForm::Whole), out)?;
    out.raw("}")
}

/// Blocks and transactions as JSON, the newest blocks first.
#[derive(Default)]
struct WrittenBlocks {
    blocks: Vec<String>,
    txs: Vec<String>,
    /// The same blocks, the oldest first.
    named: Vec<WrittenBlock>,
}

/// A block and its transactions as JSON.
struct BlockPart {
    json: String,
    txs: Vec<String>,
    named: WrittenBlock,
}

impl BlockPart {
    fn bytes(&self) -> usize {
        self.json.len() + 1 + self.txs.iter().map(|tx| tx.len() + 1).sum::<usize>()
    }
}

/// The last blocks as Ethereum has them: their headers lack what it does not have, so their hashes are others, by which
/// each names its parent. They have at most so many bytes; from `oldest` on their states are wanted.
fn blocks(
    node: &DevelopmentNode,
    context: &CallContext,
    (last, oldest): (u64, u64),
    most: usize,
) -> Result<WrittenBlocks, RpcError> {
    let reads = &node.transact.reads;
    let first = (last + 1).saturating_sub(MAX_BLOCKS).max(reads.chain.genesis_number());
    // A forked chain has its own blocks.
    let first = reads.first_own_block(first);
    let mut parent = None;
    let mut parts = VecDeque::new();
    let mut bytes = 0_usize;
    for number in first..=last {
        if context.is_cancelled() {
            return Err(refused("the client has gone"));
        }
        let at = BlockNumber::Number(number);
        let own = if number < oldest { None } else { Some(reads.header_of_state(at.into())?) };
        let block = reads.block_by_number(at)?;
        let missing = || read_error(reads.chain.missing(format!("block {number}")));
        let block = block.ok_or_else(missing)?;
        let receipts = reads.receipts_of(&block)?;
        let header = &block.block.header;
        let header = header_without_extras(header, parent.unwrap_or(header.parent_hash));
        let hash = header.hash_slow();
        parent = Some(hash);
        let (json, txs) = block_parts(&block, &receipts, (&header, hash))?;
        let part = BlockPart { json, txs, named: WrittenBlock { number, hash, own } };
        bytes += part.bytes();
        parts.push_back(part);
        while bytes > most
            && let Some(part) = parts.pop_front()
        {
            bytes -= part.bytes();
        }
    }
    let mut written = WrittenBlocks::default();
    for BlockPart { json, txs, named } in parts.into_iter().rev() {
        written.blocks.push(json);
        written.txs.extend(txs);
        written.named.push(named);
    }
    written.named.reverse();
    Ok(written)
}

fn block_parts(
    block: &Arc<SealedBlock>,
    receipts: &[Receipt],
    (header, hash): (&EthHeader, B256),
) -> Result<(String, Vec<String>), RpcError> {
    let (mut txs, mut mined) = (Vec::new(), Vec::new());
    for (index, receipt) in receipts.iter().enumerate() {
        let tx = TransactionReply::accepted(Dialect::Reference, block, index, receipt.from);
        let tx = serde_json::to_value(tx).map_err(refused)?;
        txs.push(json!({"transaction": tx, "impersonated_sender": null}));
        mined.push(mined_json(block, (index, receipt), hash).to_string());
    }
    let block = json!({
        "header": header_json(header),
        "transactions": txs,
        "ommers": [],
        "withdrawals": null,
    });
    Ok((block.to_string(), mined))
}

fn header_json(header: &EthHeader) -> Value {
    let quantity = |number: u64| format!("{number:#x}");
    let hash = |hash: B256| format!("{hash:#x}");
    let mut json = json!({
        "parentHash": format!("{:#x}", header.parent_hash),
        "sha3Uncles": format!("{:#x}", header.ommers_hash),
        "miner": format!("{:#x}", header.beneficiary),
        "stateRoot": format!("{:#x}", header.state_root),
        "transactionsRoot": format!("{:#x}", header.transactions_root),
        "receiptsRoot": format!("{:#x}", header.receipts_root),
        "logsBloom": format!("{:#x}", header.logs_bloom),
        "difficulty": format!("{:#x}", header.difficulty),
        "number": quantity(header.number),
        "gasLimit": quantity(header.gas_limit),
        "gasUsed": quantity(header.gas_used),
        "timestamp": quantity(header.timestamp),
        "extraData": hex::encode_prefixed(&header.extra_data),
        "mixHash": format!("{:#x}", header.mix_hash),
        "nonce": format!("{:#x}", header.nonce),
    });
    let optional = [
        ("baseFeePerGas", header.base_fee_per_gas.map(quantity)),
        ("blobGasUsed", header.blob_gas_used.map(quantity)),
        ("excessBlobGas", header.excess_blob_gas.map(quantity)),
        ("parentBeaconBlockRoot", header.parent_beacon_block_root.map(hash)),
        ("withdrawalsRoot", header.withdrawals_root.map(hash)),
        ("requestsHash", header.requests_hash.map(hash)),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            json[name] = value.into();
        }
    }
    json
}

fn mined_json(block: &SealedBlock, (index, receipt): (usize, &Receipt), hash: B256) -> Value {
    let tx = &block.block.transactions[index];
    let log = |log: &alloy_primitives::Log| {
        let topics: Vec<_> = log.topics().iter().map(|topic| format!("{topic:#x}")).collect();
        let data = hex::encode_prefixed(&log.data.data);
        json!({"address": format!("{:#x}", log.address), "topics": topics, "data": data})
    };
    let (exit, status) = if receipt.success { ("Stop", "0x1") } else { ("Revert", "0x0") };
    json!({
        "info": {
            "transaction_hash": format!("{:#x}", tx.tx_hash()),
            "transaction_index": index,
            "from": format!("{:#x}", receipt.from),
            "to": tx.to().map(|to| format!("{to:#x}")),
            "contract_address": receipt.contract_address.map(|address| format!("{address:#x}")),
            "traces": [],
            "exit": exit,
            "out": null,
            "nonce": tx.nonce(),
            "gas_used": receipt.gas_used,
        },
        "receipt": {
            "type": format!("{:#x}", receipt.tx_type),
            "status": status,
            "cumulativeGasUsed": format!("{:#x}", receipt.cumulative_gas_used),
            "logs": receipt.logs.iter().map(log).collect::<Vec<_>>(),
            "logsBloom": format!("{:#x}", receipt.bloom()),
        },
        "block_hash": format!("{hash:#x}"),
        "block_number": block.block.header.number,
    })
}
