//! Compares stored rows with expected rows.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};
use std::ops::ControlFlow;

use crate::error::{StorageError, StorageResult};
use crate::rows::{Entry, KvRead};

/// Rows that are read at a time.
const CHUNK: usize = 256;
/// Bytes of a value in a finding.
const SHOWN: usize = 40;

/// A difference between a stored and an expected row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The chain, the table or part, the key.
    pub place: String,
    /// The expected content.
    pub expected: String,
    /// The stored content.
    pub found: String,
}

impl Finding {
    /// A finding.
    pub fn new(
        place: impl fmt::Display,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) -> Self {
        Self { place: place.to_string(), expected: expected.to_string(), found: found.to_string() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, found {}", self.place, self.expected, self.found)
    }
}

/// The reason why an audit ended early.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The store can't be read, or derived rows can't be written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A stop was requested.
    #[error("stopped")]
    Stopped,
}

/// Receives the findings and the progress of an audit.
pub trait AuditLog {
    /// Reports a finding.
    fn finding(&mut self, finding: Finding);

    /// Reports how many parts of the work are done, and of how many if that is known.
    ///
    /// # Errors
    /// [`AuditError::Stopped`] to end the audit.
    fn progress(&mut self, what: &str, done: u64, of: Option<u64>) -> Result<(), AuditError>;
}

/// Keeps the findings.
impl AuditLog for Vec<Finding> {
    fn finding(&mut self, finding: Finding) {
        self.push(finding);
    }

    fn progress(&mut self, _: &str, _: u64, _: Option<u64>) -> Result<(), AuditError> {
        Ok(())
    }
}

/// Compares the rows whose keys begin with `prefix` with the expected rows; `name` describes a row by its key.
pub fn compare_rows(
    stored: &dyn KvRead,
    expected: &dyn KvRead,
    prefix: &[u8],
    name: &dyn Fn(&[u8]) -> String,
    log: &mut dyn AuditLog,
) -> Result<(), AuditError> {
    let (mut stored, mut expected) = (Cursor::new(stored, prefix), Cursor::new(expected, prefix));
    let mut done = 0u64;
    loop {
        let (found, wanted) = (stored.peek()?, expected.peek()?);
        let (take_found, take_wanted) = match (&found, &wanted) {
            (None, None) => return Ok(()),
            (Some(_), None) => (true, false),
            (None, Some(_)) => (false, true),
            (Some((found, _)), Some((wanted, _))) => (found <= wanted, wanted <= found),
        };
        match (found.filter(|_| take_found), wanted.filter(|_| take_wanted)) {
            (Some((_, found)), Some((_, wanted))) if found == wanted => {}
            (found, wanted) => {
                let key = found.or(wanted).map_or(&[][..], |(key, _)| key);
                let value =
                    |row: Option<&Entry>| row.map_or("nothing".to_owned(), |(_, v)| shown(v));
                log.finding(Finding::new(name(key), value(wanted), value(found)));
            }
        }
        if take_found {
            stored.advance();
        }
        if take_wanted {
            expected.advance();
        }
        done += 1;
        if done.is_multiple_of(CHUNK as u64) {
            log.progress("comparing rows", done, None)?;
        }
    }
}

/// Formats bytes for a finding.
pub fn shown(bytes: &[u8]) -> String {
    let mut text = String::from("0x");
    for byte in bytes.iter().take(SHOWN) {
        let _never = write!(text, "{byte:02x}");
    }
    match bytes.len() {
        0 => "an empty row".to_owned(),
        len if len > SHOWN => format!("{text}... ({len} bytes)"),
        _ => text,
    }
}

/// An ordered iterator over rows that reads them in chunks.
struct Cursor<'a> {
    reader: &'a dyn KvRead,
    prefix: &'a [u8],
    from: Option<Vec<u8>>,
    rows: VecDeque<Entry>,
    ended: bool,
}

impl<'a> Cursor<'a> {
    fn new(reader: &'a dyn KvRead, prefix: &'a [u8]) -> Self {
        Self { reader, prefix, from: None, rows: VecDeque::new(), ended: false }
    }

    fn peek(&mut self) -> StorageResult<Option<&Entry>> {
        if self.rows.is_empty() && !self.ended {
            let rows = &mut self.rows;
            self.reader.scan(self.prefix, self.from.as_deref(), &mut |key, value| {
                rows.push_back((key.to_vec(), value.to_vec()));
                if rows.len() < CHUNK { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            self.ended = self.rows.len() < CHUNK;
            // The first key after the last one.
            self.from = self.rows.back().map(|(key, _)| [key.as_slice(), &[0]].concat());
        }
        Ok(self.rows.front())
    }

    fn advance(&mut self) {
        self.rows.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{KvStore as _, MemoryStore, WriteSet};

    fn store(rows: &[(u16, u8)]) -> MemoryStore {
        let (store, mut set) = (MemoryStore::new(), WriteSet::new());
        for (key, value) in rows {
            set.put(&[&[7], &key.to_be_bytes()[..]].concat(), &[*value]);
        }
        set.put(&[6], b"before");
        set.put(&[8], b"after");
        store.write(&set).unwrap();
        store
    }

    fn compare(stored: &[(u16, u8)], expected: &[(u16, u8)]) -> Vec<Finding> {
        let (stored, expected) = (store(stored), store(expected));
        let mut findings = Vec::new();
        compare_rows(
            stored.snapshot().unwrap().as_ref(),
            expected.snapshot().unwrap().as_ref(),
            &[7],
            &|key| format!("row {}", u16::from_be_bytes(key[1..].try_into().unwrap())),
            &mut findings,
        )
        .unwrap();
        findings
    }

    #[test]
    fn each_kind_of_difference_is_reported() {
        let found = compare(&[(1, 1), (2, 9), (4, 4)], &[(1, 1), (2, 2), (3, 3)]);
        assert_eq!(
            found.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                "row 2: expected 0x02, found 0x09",
                "row 3: expected 0x03, found nothing",
                "row 4: expected nothing, found 0x04",
            ]
        );
        assert_eq!(shown(&[]), "an empty row");
        assert_eq!(shown(&[1; 100]), format!("0x{}... (100 bytes)", "01".repeat(SHOWN)));
    }

    proptest! {
        /// Finds exactly the differences, also across chunks.
        #[test]
        fn differences_are_found_wherever_they_are(
            removed in prop::collection::btree_set(0u16..1000, 0..4),
            changed in prop::collection::btree_set(0u16..1000, 0..4),
            added in prop::collection::btree_set(1000u16..2000, 0..4),
        ) {
            let expected: Vec<_> = (0..1000).map(|key| (key, 1)).collect();
            let mut stored: Vec<_> = expected
                .iter()
                .filter(|(key, _)| !removed.contains(key))
                .map(|(key, value)| (*key, if changed.contains(key) { 2 } else { *value }))
                .collect();
            stored.extend(added.iter().map(|key| (*key, 3)));
            let mut places: Vec<u16> = removed.union(&changed).chain(&added).copied().collect();
            places.sort_unstable();
            let found: Vec<String> = compare(&stored, &expected).into_iter().map(|f| f.place).collect();
            prop_assert_eq!(found, places.iter().map(|key| format!("row {key}")).collect::<Vec<_>>());
        }
    }
}
