//! Checks all elements.

use std::ops::ControlFlow;

use esker_primitives::ids::ChainId;
use esker_storage::audit::{AuditError, AuditLog, Finding, compare_rows, shown};
use esker_storage::{KvRead, StorageResult};

use crate::tables::{BY_TRAIT, ELEMENTS, SCOPE, Slot};

/// Compares what is stored with what follows from the blocks of all chains. Also reports a removal without a put: with
/// the blocks of all chains, each removal has its put.
pub fn compare(
    stored: &dyn KvRead,
    expected: &dyn KvRead,
    log: &mut dyn AuditLog,
) -> Result<(), AuditError> {
    for (prefix, what) in
        [(ELEMENTS.prefix(SCOPE), "element"), (BY_TRAIT.prefix(SCOPE), "trait and element")]
    {
        let name = |key: &[u8]| format!("shared memory: {}", named(what, &key[prefix.len()..]));
        compare_rows(stored, expected, &prefix, &name, log)?;
    }
    let mut unmatched = Vec::new();
    ELEMENTS.scan(expected, SCOPE, &[], None, |key, value| {
        if value.is_empty() {
            unmatched.push(named("element", key));
        }
        ControlFlow::Continue(())
    })?;
    for name in unmatched {
        log.finding(Finding::new(format!("shared memory: {name}"), "an export", "an import only"));
    }
    Ok(())
}

/// Visits the values of all elements, until `visit` breaks. Rows that can't be read are passed over.
pub fn visit(
    reader: &dyn KvRead,
    mut visit: impl FnMut(&[u8]) -> ControlFlow<()>,
) -> StorageResult<()> {
    ELEMENTS.scan(reader, SCOPE, &[], None, |_, value| match ELEMENTS.value(value) {
        Ok(Slot::Present { value, .. }) => visit(&value),
        Ok(Slot::Tombstone) | Err(_) => ControlFlow::Continue(()),
    })
}

/// The key of a row: whom it is for, whose it was, the rest.
fn named(what: &str, key: &[u8]) -> String {
    let parts = key.split_first_chunk::<32>().and_then(|(destination, rest)| {
        let (source, rest) = rest.split_first_chunk::<32>()?;
        Some((ChainId::new(*destination), ChainId::new(*source), rest))
    });
    match parts {
        Some((destination, source, rest)) => {
            format!("{what} {} from {source} for {destination}", shown(rest))
        }
        None => format!("{what} {}", shown(key)),
    }
}
