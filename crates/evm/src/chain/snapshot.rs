//! The chain's part of a snapshot: its last blocks with receipts, code, accounts and storage.

use std::sync::Arc;

use alloy_consensus::Transaction as _;
use alloy_primitives::{B256, U256};
use bytes::Bytes;
use esker_chain::ChainError;
use esker_chain::snapshot::{
    ChainSnapshot, MAX_BLOCKS, PartRestore, PartSnapshot, RestoreError, SnapshotBlock,
    SnapshotTable,
};
use esker_evm_execution::executor::sender_of;
use esker_evm_execution::rules::{BlockPoint, Rules};
use esker_evm_state::blocks::tables::{
    BLOCKS, HEIGHTS, LOCATIONS, Location, RECEIPTS, TIP, TOTAL_DIFFICULTIES, Tip,
};
use esker_evm_state::state::tables::{ACCOUNTS, CODE, PREIMAGES, SLOTS, STATE_START};
use esker_evm_state::state::{RestoreError as StateFault, StateRestore};
use esker_evm_state::types::{Block, Header, Receipt, StoredReceipts, block_bloom, receipts_root};
use esker_primitives::BlockId;
use esker_storage::{KvRead, Scope, ValueCodec as _, WriteSet};

use super::ChainReadError;
use super::vm::Evm;
use crate::extension::{BlockExtension, ExtBlock};
use crate::total_difficulty;

/// Bytes of a hash.
const HASH: usize = 32;
/// Most bytes of the row of an account or a slot.
const MAX_VALUE: usize = 128;
/// Most bytes of code. A genesis may have code up to the limit of the network file.
const MAX_CODE: usize = 16 << 20;

impl PartSnapshot for Evm {
    fn tables(&self) -> Vec<SnapshotTable> {
        // Accounts are checked against code, and slots against accounts.
        vec![
            SnapshotTable::new(CODE.tag(), CODE.name(), HASH, MAX_CODE),
            SnapshotTable::new(ACCOUNTS.tag(), ACCOUNTS.name(), HASH, MAX_VALUE),
            SnapshotTable::new(SLOTS.tag(), SLOTS.name(), 2 * HASH, MAX_VALUE),
        ]
    }

    fn restore(&self) -> Box<dyn PartRestore + '_> {
        let (rules, scope) = (self.params.rules.as_ref(), self.context.scope);
        Box::new(Restore {
            rules,
            scope,
            extension: &self.extension,
            state: Some(StateRestore::new(rules, scope)),
            state_root: B256::ZERO,
            total_difficulty: None,
        })
    }
}

impl ChainSnapshot for Evm {
    fn block_count(&self) -> u64 {
        // BLOCKHASH reaches back that far.
        MAX_BLOCKS
    }

    fn block_extra(&self, reader: &dyn KvRead, height: u64) -> Result<Bytes, ChainError> {
        let scope = self.context.scope;
        let receipts = RECEIPTS.get_with(reader, scope, &height, Bytes::copy_from_slice);
        let receipts = receipts?.unwrap_or_default();
        let rules = self.params.rules.as_ref();
        if !rules.needs_total_difficulty() {
            return Ok(receipts);
        }
        let header = self.view(reader).header(height)?.ok_or(ChainReadError::NoTip)?;
        Ok(match total_difficulty::total_difficulty(rules, reader, scope, &header)? {
            Some(total) => [&total.to_be_bytes::<HASH>()[..], &receipts].concat().into(),
            None => receipts,
        })
    }

    fn keeps_genesis_row(&self, key: &[u8]) -> bool {
        let kept = [BLOCKS.tag(), HEIGHTS.tag(), PREIMAGES.tag(), TOTAL_DIFFICULTIES.tag()];
        key.first().is_some_and(|tag| kept.contains(tag))
    }
}

struct Restore<'a> {
    rules: &'a dyn Rules,
    scope: Scope,
    extension: &'a Arc<dyn BlockExtension>,
    /// `None` after the last table.
    state: Option<StateRestore<'a>>,
    /// State root of the last block.
    state_root: B256,
    /// The sum of difficulties that the next block must have, which is the parent of the one before.
    total_difficulty: Option<U256>,
}

impl PartRestore for Restore<'_> {
    fn block(
        &mut self,
        given: SnapshotBlock<'_>,
        out: &mut WriteSet,
    ) -> Result<BlockId, RestoreError> {
        let block = self.rules.decode_block(given.bytes);
        let block = block.map_err(|error| RestoreError::invalid(error.to_string()))?;
        let hash = self.rules.block_hash(&block.header);
        if BlockId::new(hash.0) != given.id || block.header.number != given.height {
            return Err(RestoreError::invalid(format!("it is block {hash}")));
        }
        let checked = self.rules.check_body(&block);
        checked.map_err(|error| RestoreError::invalid(error.to_string()))?;
        let extra = self.total_difficulty(&block.header, given.extra, out)?;
        let receipts = receipts(&block, extra, self.rules)?;
        let (scope, height) = (self.scope, given.height);
        BLOCKS.put_bytes(out, scope, &height, given.bytes);
        HEIGHTS.put(out, scope, &hash.0, &height);
        for (index, tx) in (0u32..).zip(&block.transactions) {
            LOCATIONS.put(out, scope, &tx.tx_hash().0, &Location { height, index });
        }
        if !receipts.0.is_empty() {
            RECEIPTS.put_bytes(out, scope, &height, extra);
        }
        self.ext_data(&block, hash, out)?;
        if given.is_last {
            self.state_root = block.header.state_root;
            TIP.put(out, scope, &(), &Tip { height, hash, oldest_state: height });
            STATE_START.put(out, scope, &(), &height);
        }
        Ok(BlockId::new(block.header.parent_hash.0))
    }

    fn row(
        &mut self,
        tag: u8,
        (key, value): (&[u8], &[u8]),
        stored: &dyn KvRead,
        out: &mut WriteSet,
    ) -> Result<(), RestoreError> {
        let ended = || RestoreError::invalid("rows after the last table");
        let state = self.state.as_mut().ok_or_else(ended)?;
        let (first, second) = key.split_at(HASH);
        let first = B256::from_slice(first);
        let taken = if tag == CODE.tag() {
            state.code(first, value)
        } else if tag == ACCOUNTS.tag() {
            state.account(first, value, stored, out)
        } else {
            state.slot((first, B256::from_slice(second)), value, stored, out)
        };
        taken.map_err(fault)
    }

    fn end_table(
        &mut self,
        tag: u8,
        stored: &dyn KvRead,
        out: &mut WriteSet,
    ) -> Result<(), RestoreError> {
        if tag == ACCOUNTS.tag()
            && let Some(state) = &mut self.state
        {
            return state.end_accounts(self.state_root, out).map_err(fault);
        }
        if tag == SLOTS.tag()
            && let Some(state) = self.state.take()
        {
            return state.finish(stored, out).map_err(fault);
        }
        Ok(())
    }
}

impl Restore<'_> {
    /// Takes the sum of difficulties that precedes the receipts of a block with proof of work, if the rules need it.
    /// Blocks come in descending order. The first sum is the sender's word, the others follow from it.
    fn total_difficulty<'e>(
        &mut self,
        header: &Header,
        extra: &'e [u8],
        out: &mut WriteSet,
    ) -> Result<&'e [u8], RestoreError> {
        if !total_difficulty::is_stored(self.rules, header) {
            return Ok(extra);
        }
        let other = || RestoreError::invalid("its total difficulty is another one");
        let (total, receipts) = extra.split_first_chunk::<HASH>().ok_or_else(other)?;
        let total = U256::from_be_bytes(*total);
        let before = total.checked_sub(header.difficulty).ok_or_else(other)?;
        if self.total_difficulty.is_some_and(|expected| expected != total) {
            return Err(other());
        }
        self.total_difficulty = Some(before);
        total_difficulty::put(out, self.scope, header.number, total);
        Ok(receipts)
    }

    /// Writes the rows that the extension keeps of its transactions.
    fn ext_data(&self, block: &Block, hash: B256, out: &mut WriteSet) -> Result<(), RestoreError> {
        if block.ext_data.is_empty() {
            return Ok(());
        }
        let header = &block.header;
        let known = self.rules.execution_rules(&BlockPoint::of(header));
        known.map_err(|error| RestoreError::invalid(error.to_string()))?;
        let block = ExtBlock {
            number: header.number,
            time: header.time,
            base_fee: header.base_fee.unwrap_or_default(),
            hash,
            ext_data: &block.ext_data,
            undecided: &[],
            has_undecided: false,
        };
        let written = self.extension.restore_block(&block, out);
        written.map_err(|error| RestoreError::invalid(error.to_string()))
    }
}

fn fault(error: StateFault) -> RestoreError {
    match error {
        StateFault::Invalid(reason) => RestoreError::Invalid(reason),
        StateFault::Storage(error) => error.into(),
    }
}

/// Why the receipts of a block of a snapshot are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum ReceiptsError {
    #[error("its receipts do not decode")]
    Undecodable,
    #[error("its receipts are not those of its header")]
    Different,
}

impl From<ReceiptsError> for RestoreError {
    fn from(error: ReceiptsError) -> Self {
        Self::invalid(error.to_string())
    }
}

/// Decodes a block's receipts, and compares them with the header and with what follows from the transactions.
fn receipts(
    block: &Block,
    bytes: &[u8],
    rules: &dyn Rules,
) -> Result<StoredReceipts, ReceiptsError> {
    let receipts = match bytes {
        [] => StoredReceipts::default(),
        bytes => StoredReceipts::decode_value(bytes).ok_or(ReceiptsError::Undecodable)?,
    };
    let mut encoded = Vec::with_capacity(bytes.len());
    if !receipts.0.is_empty() {
        receipts.encode_value(&mut encoded);
    }
    let header = &block.header;
    let is_same = encoded == bytes
        && receipts.0.len() == block.transactions.len()
        && receipts_root(&receipts.0) == header.receipts_root
        && block_bloom(&receipts.0) == header.bloom
        && receipts.0.iter().zip(&block.transactions).all(|(receipt, tx)| {
            let Ok(sender) = sender_of(tx, rules) else { return false };
            let made = tx.to().is_none().then(|| sender.create(tx.nonce()));
            let Receipt { from, contract_address, tx_type, .. } = receipt;
            (*from, *contract_address, *tx_type) == (sender, made, tx.tx_type() as u8)
        });
    if is_same { Ok(receipts) } else { Err(ReceiptsError::Different) }
}
