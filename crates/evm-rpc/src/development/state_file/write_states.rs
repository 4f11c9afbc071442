//! Writes the states of blocks before the last one in anvil's form.

use std::io::Write;

use esker_evm_state::types::Account;
use esker_rpc::{CallContext, RpcError};

use super::super::DevelopmentNode;
use super::code::code_json;
use super::parts::{LimitedWriter, SlotForm, WrittenBlock, each_account, write_slots};
use crate::debug::walk::Walk;
use crate::error::read_error;

/// Most states besides the last one: as many as anvil keeps in memory.
pub(super) const MAX_STATES: u64 = 500;

/// Most bytes of one of these states, which is held before it is written: only then it is known whether it fits.
const MAX_STATE_BYTES: usize = 64 << 20;

/// Hashes that code can ask for (`BLOCKHASH`).
const HASHES: usize = 256;

/// Bytes of a state besides its accounts, its slots and its hashes, and of what follows the states.
const FRAME_BYTES: usize = 200;

/// Writes the states of all blocks but the last one, the newest first, each with the hash of its block. Ends before the first
/// one that does not fit or is no longer kept. `blocks` are in their order.
pub(super) fn write_states<W: Write>(
    node: &DevelopmentNode,
    context: &CallContext,
    blocks: &[WrittenBlock],
    out: &mut LimitedWriter<W>,
) -> Result<(), RpcError> {
    out.raw("[")?;
    let mut comma = "";
    for at in (0..blocks.len().saturating_sub(1)).rev() {
        let Some((block, before)) = blocks.get(..=at).and_then(<[_]>::split_last) else { break };
        let Some(state) = read_state(node, context, block, out.left())? else { break };
        let hashes = before.iter().rev().take(HASHES - 1).chain([block]);
        let hashes = hashes
            .map(|WrittenBlock { number, hash, .. }| format!("\"{number:#x}\":\"{hash:#x}\""));
        let hashes = hashes.collect::<Vec<_>>().join(",");
        if state.bytes() + hashes.len() + FRAME_BYTES > out.left() {
            break;
        }
        out.raw(&format!("{comma}[\"{:#x}\",{{\"accounts\":{{", block.hash))?;
        out.raw(&state.accounts)?;
        out.raw("},\"storage\":{")?;
        out.raw(&state.storage)?;
        out.raw("},\"block_hashes\":{")?;
        out.raw(&hashes)?;
        out.raw("}}]")?;
        comma = ",";
    }
    out.raw("]")
}

/// The members of a state's accounts and of their storage.
struct StateParts {
    accounts: String,
    storage: String,
}

impl StateParts {
    fn bytes(&self) -> usize {
        self.accounts.len() + self.storage.len()
    }
}

/// The state after a block; `None` if it is no longer kept, or has too many bytes.
fn read_state(
    node: &DevelopmentNode,
    context: &CallContext,
    block: &WrittenBlock,
    most: usize,
) -> Result<Option<StateParts>, RpcError> {
    let reads = &node.transact.reads;
    let Some(header) = block.own.clone() else { return Ok(None) };
    let walk = Walk { reads, header, context, is_of_changes: reads.config.anvil_answers };
    let part = || LimitedWriter::new(Vec::new(), most.min(MAX_STATE_BYTES));
    let (mut accounts, mut storage) = (part(), part());
    let mut comma = "";
    let written = each_account(&walk, |hash, account, address| {
        accounts.raw(&format!("{comma}\"{address:#x}\":"))?;
        write_info(&walk, account, &mut accounts)?;
        storage.raw(&format!("{comma}\"{address:#x}\":"))?;
        comma = ",";
        write_slots(node, &walk, (hash, SlotForm::Short), &mut storage)
    });
    match written {
        Ok(()) => {}
        Err(_) if accounts.is_full() || storage.is_full() => return Ok(None),
        // Blocks that were made meanwhile may have ended its time.
        Err(error) => {
            let oldest = reads.chain.oldest_state().map_err(read_error)?;
            return if block.number < oldest { Ok(None) } else { Err(error) };
        }
    }
    let text =
        |part: LimitedWriter<Vec<u8>>| String::from_utf8_lossy(&part.into_inner()).into_owned();
    Ok(Some(StateParts { accounts: text(accounts), storage: text(storage) }))
}

fn write_info<W: Write>(
    walk: &Walk<'_>,
    account: &Account,
    out: &mut LimitedWriter<W>,
) -> Result<(), RpcError> {
    let code = walk.part(|view| view.code(account.code_hash))?;
    let Account { nonce, balance, code_hash, .. } = account;
    out.raw(&format!(
        "{{\"balance\":\"{balance:#x}\",\"nonce\":{nonce},\"code_hash\":\"{code_hash:#x}\",\"code\":{}}}",
        code_json(&code)
    ))
}
