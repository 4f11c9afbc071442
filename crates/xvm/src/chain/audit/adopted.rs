//! The rows that blocks before a snapshot left, on a node that joined from one. They follow from no stored block. The
//! audit checks the form of each row, and that each UTXO is listed for its owners.

use std::ops::ControlFlow;

use esker_chain::audit::AuditContext;
use esker_primitives::codec::Decode as _;
use esker_storage::audit::{AuditError, Finding, shown};
use esker_storage::{Entry, KvRead, StorageError, StorageResult, WriteSet};
use esker_utxo::Utxo;

use super::{XvmAudit, put_all};
use crate::execute::add_utxo;
use crate::state::tables::{ASSETS, UTXOS, utxo_key};

/// Rows that are read and written at once.
const CHUNK: usize = 4096;

impl XvmAudit<'_> {
    /// Adds the stored assets and UTXOs to the expected rows, where these have none.
    pub(super) fn adopt_state(&self, ctx: &mut AuditContext<'_>) -> Result<(), AuditError> {
        let scope = self.scope();
        let fee_asset = &self.xvm.params().fee_asset_id;
        self.adopt(ctx, &UTXOS.prefix(scope), "UTXO", |expected, key, value, rows| {
            let Ok(of_key) = UTXOS.decode_key(key) else {
                // Rows of transactions have the same tag.
                return Ok(None);
            };
            let utxo = match Utxo::from_versioned_bytes(value, value.len()) {
                Ok(utxo) if utxo_key(&utxo.utxo_id) == of_key => utxo,
                Ok(utxo) => return Ok(Some(utxo.utxo_id.input_id().to_string())),
                Err(error) => return Ok(Some(error.to_string())),
            };
            if !UTXOS.contains(expected, scope, &of_key)? {
                add_utxo(rows, scope, fee_asset, &utxo);
            }
            Ok(None)
        })?;
        self.adopt(ctx, &ASSETS.prefix(scope), "asset", |expected, key, value, rows| {
            let (id, asset) = match ASSETS.entry(key, value) {
                Ok(entry) => entry,
                Err(error) => return Ok(Some(error.to_string())),
            };
            if !ASSETS.contains(expected, scope, &id)? {
                ASSETS.put(rows, scope, &id, &asset);
            }
            Ok(None)
        })
    }

    /// Visits the stored rows of a table. `visit` gets the expected rows, a key without the prefix, and the value; it adds
    /// expected rows, or returns what is wrong.
    fn adopt(
        &self,
        ctx: &mut AuditContext<'_>,
        prefix: &[u8],
        what: &str,
        visit: impl Fn(&dyn KvRead, &[u8], &[u8], &mut WriteSet) -> StorageResult<Option<String>>,
    ) -> Result<(), AuditError> {
        let mut after: Option<Vec<u8>> = None;
        let mut done = 0u64;
        loop {
            let chunk = read_chunk(ctx.stored, prefix, after.as_deref())?;
            let Some((last, _)) = chunk.last() else { return Ok(()) };
            // The key that follows it.
            after = Some([last.as_slice(), &[0]].concat());
            let (expected, mut rows) = (ctx.scratch.rows()?, WriteSet::new());
            for (key, value) in &chunk {
                let key = key.get(prefix.len()..).unwrap_or_default();
                if let Some(found) = visit(expected.as_ref(), key, value, &mut rows)? {
                    let place = self.place(format!("{what} {}", shown(key)));
                    ctx.log.finding(Finding::new(place, format!("a row of {what}"), found));
                }
            }
            drop(expected);
            ctx.scratch.fill(|pending| {
                put_all(pending, &rows);
                Ok::<_, StorageError>(())
            })?;
            done = done.saturating_add(chunk.len() as u64);
            ctx.log.progress(&self.place("state"), done, None)?;
        }
    }
}

fn read_chunk(
    stored: &dyn KvRead,
    prefix: &[u8],
    from: Option<&[u8]>,
) -> StorageResult<Vec<Entry>> {
    let mut chunk = Vec::new();
    stored.scan(prefix, from, &mut |key, value| {
        chunk.push((key.to_vec(), value.to_vec()));
        if chunk.len() < CHUNK { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(chunk)
}
