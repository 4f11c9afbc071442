//! The rows of a section.

use std::collections::BTreeMap;

use alloy_primitives::Bloom;
use esker_storage::{KvRead, Scope, StorageResult};

use super::query::{BITS, LogQuery, set_bits};
use super::row::{Row, SECTION};
use super::tables::LOG_ROWS;

/// Number of the row of blocks with logs. Lower numbers are the bits of the blooms.
const ANY: u16 = BITS as u16;

/// The rows of these blooms, without empty rows. Each bloom has its block's index in the section.
pub(super) fn rows_of<'a>(
    blooms: impl Iterator<Item = (u64, &'a Bloom)>,
) -> impl Iterator<Item = (u16, Row)> {
    let mut rows = vec![Row::NONE; BITS + 1];
    for (place, bloom) in blooms.filter(|(_, bloom)| !bloom.is_zero()) {
        let place = place as usize % SECTION as usize;
        rows[usize::from(ANY)].set(place);
        for bit in set_bits(bloom) {
            rows[bit].set(place);
        }
    }
    (0..).zip(rows).filter(|(_, row)| !row.is_none())
}

/// Blocks of a section that may match.
pub(super) fn find(
    reader: &dyn KvRead,
    scope: Scope,
    section: u64,
    query: &LogQuery,
) -> StorageResult<Row> {
    let mut rows = Rows { reader, scope, section, read: BTreeMap::new() };
    let mut found = rows.get(ANY)?.clone();
    for clause in &query.clauses {
        if found.is_none() {
            break;
        }
        let mut any = Row::NONE;
        for bits in clause {
            let mut all = found.clone();
            for bit in bits {
                all.and(rows.get(*bit)?);
                if all.is_none() {
                    break;
                }
            }
            any.or(&all);
            if any == found {
                break;
            }
        }
        found = any;
    }
    Ok(found)
}

/// Rows that were read. Each row is read once, since many values share rows.
struct Rows<'a> {
    reader: &'a dyn KvRead,
    scope: Scope,
    section: u64,
    read: BTreeMap<u16, Row>,
}

impl Rows<'_> {
    fn get(&mut self, bit: u16) -> StorageResult<&Row> {
        use std::collections::btree_map::Entry;
        match self.read.entry(bit) {
            Entry::Occupied(row) => Ok(row.into_mut()),
            Entry::Vacant(place) => {
                let row = LOG_ROWS.get(self.reader, self.scope, &(self.section, bit))?;
                Ok(place.insert(row.unwrap_or(Row::NONE)))
            }
        }
    }
}
