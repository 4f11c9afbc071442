//! Sums of difficulties, for rules under which proof of work ends at one.

use alloy_primitives::{U256, U512};
use esker_evm_execution::rules::Rules;
use esker_evm_state::blocks::tables::{BLOCKS, TOTAL_DIFFICULTIES};
use esker_evm_state::state::StoredSum;
use esker_evm_state::types::Header;
use esker_storage::{KvRead, KvWrite, Scope, StorageError, StorageResult};

/// Whether a block has a row with the sum.
pub(crate) fn is_stored(rules: &dyn Rules, header: &Header) -> bool {
    rules.needs_total_difficulty() && !header.difficulty.is_zero()
}

/// The sum of the difficulties up to a stored block; `None` if its child does not depend on it.
pub(crate) fn total_difficulty(
    rules: &dyn Rules,
    reader: &dyn KvRead,
    scope: Scope,
    header: &Header,
) -> StorageResult<Option<U256>> {
    match is_stored(rules, header) {
        true => total_at(rules, reader, scope, header.number).map(Some),
        false => Ok(None),
    }
}

/// The row of a block.
pub(crate) fn row(reader: &dyn KvRead, scope: Scope, height: u64) -> StorageResult<Option<U256>> {
    let row = TOTAL_DIFFICULTIES.get(reader, scope, &height)?;
    Ok(row.map(|StoredSum(total)| total.saturating_to()))
}

/// Writes the row of a block.
pub(crate) fn put(out: &mut dyn KvWrite, scope: Scope, height: u64, total: U256) {
    TOTAL_DIFFICULTIES.put(out, scope, &height, &StoredSum(U512::from(total)));
}

/// Writes the row of a chain's first block, if it has one.
pub(crate) fn put_first(rules: &dyn Rules, scope: Scope, header: &Header, out: &mut dyn KvWrite) {
    if is_stored(rules, header) {
        put(out, scope, header.number, header.difficulty);
    }
}

/// Writes the row of a block whose parent is stored in `below`, if it has one.
pub(crate) fn put_next(
    rules: &dyn Rules,
    below: &dyn KvRead,
    scope: Scope,
    header: &Header,
    out: &mut dyn KvWrite,
) -> StorageResult<()> {
    if is_stored(rules, header) {
        let before = match header.number.checked_sub(1) {
            Some(parent) => total_at(rules, below, scope, parent)?,
            None => U256::ZERO,
        };
        put(out, scope, header.number, before.saturating_add(header.difficulty));
    }
    Ok(())
}

/// The sum up to the block at a height.
fn total_at(
    rules: &dyn Rules,
    reader: &dyn KvRead,
    scope: Scope,
    mut height: u64,
) -> StorageResult<U256> {
    let mut above = U256::ZERO;
    loop {
        if let Some(total) = row(reader, scope, height)? {
            return Ok(total.saturating_add(above));
        }
        // Blocks that an older version stored have no rows.
        above = above.saturating_add(difficulty(rules, reader, scope, height)?);
        let Some(parent) = height.checked_sub(1) else { return Ok(above) };
        height = parent;
    }
}

fn difficulty(
    rules: &dyn Rules,
    reader: &dyn KvRead,
    scope: Scope,
    height: u64,
) -> StorageResult<U256> {
    let damaged = |what: &str| StorageError::Corrupted(format!("block {height} {what}"));
    let header = BLOCKS.get_with(reader, scope, &height, |bytes| rules.decode_header_of(bytes))?;
    let header = header.ok_or_else(|| damaged("is missing"))?;
    Ok(header.map_err(|error| damaged(&error.to_string()))?.difficulty)
}
