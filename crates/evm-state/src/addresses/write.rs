//! Writes the rows of a block.

use alloy_primitives::Address;
use esker_storage::{KvRead, KvWrite, Scope, StorageResult};

use super::places::TxPlaces;
use super::tables::{ADDRESS_START, ADDRESS_TXS};

/// Adds the rows of the block at a height: pairs of an account and the place of a transaction that touched it, each
/// once and ascending. `None`: the index is off, so that it ends with the block before. `below` is the state of the
/// store after the block's parent.
pub fn write_addresses(
    below: &dyn KvRead,
    scope: Scope,
    height: u64,
    touched: Option<&[(Address, u32)]>,
    out: &mut dyn KvWrite,
) -> StorageResult<()> {
    let has_begun = ADDRESS_START.contains(below, scope, &())?;
    let Some(touched) = touched else {
        if has_begun {
            ADDRESS_START.delete(out, scope, &());
        }
        return Ok(());
    };
    if !has_begun {
        ADDRESS_START.put(out, scope, &(), &height);
    }
    let mut row = Vec::new();
    for of_account in touched.chunk_by(|(a, _), (b, _)| a == b) {
        let Some((account, _)) = of_account.first() else { continue };
        row.clear();
        TxPlaces::encode(of_account.iter().map(|(_, place)| *place), &mut row);
        ADDRESS_TXS.put_bytes(out, scope, &(account.into_array(), height), &row);
    }
    Ok(())
}
