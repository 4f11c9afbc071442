//! The bundles that a reorg takes back, in the store until it is done: a node that was killed puts them back at its next start.

use std::ops::ControlFlow;

use esker_chain::tables::REPLACED;
use esker_chain::{Bundle, BundleId, ChainMachine as _, Machine};
use esker_primitives::codec::Encode as _;
use esker_storage::{Scope, Store, WriteSet};

use super::ControlError;
use super::error::refusal;

/// Most bytes of the bundles that a reorg replaces.
const MAX_BYTES: usize = 256 << 20;

/// Most bytes of bundles that one write adds.
const WRITE_BYTES: usize = 4 << 20;

/// The key of the row with [`ReplacedBundles::to`] and [`ReplacedBundles::last`], which is written last.
const COMPLETE: u64 = u64::MAX;

/// The bundles above a height.
#[derive(Clone, Debug)]
pub(super) struct ReplacedBundles {
    /// Height of the bundle before these bundles.
    pub(super) to: u64,
    /// The last one of them.
    pub(super) last: BundleId,
    /// The bundles, in ascending order.
    pub(super) bundles: Vec<Bundle>,
}

impl ReplacedBundles {
    /// The final bundles above a height, up to this last one.
    pub(super) fn above(
        machine: &Machine,
        to: u64,
        (height, last): (u64, BundleId),
    ) -> Result<Self, ControlError> {
        let (mut bundles, mut bytes) = (Vec::new(), 0_usize);
        for height in to + 1..=height {
            let missing =
                || ControlError::Refused(format!("the bundle of height {height} is not stored"));
            let (bundle, _) = machine.bundle_at(height).map_err(refusal)?.ok_or_else(missing)?;
            bytes = bytes.saturating_add(bundle.encoded_len());
            if bytes > MAX_BYTES {
                return Err(ControlError::Refused(format!(
                    "the blocks to replace have more than {MAX_BYTES} bytes"
                )));
            }
            bundles.push(bundle);
        }
        Ok(Self { to, last, bundles })
    }

    /// Stores the bundles outside of the chains.
    pub(super) async fn store(&self, store: &Store) -> Result<(), ControlError> {
        let mut writes = forget(store)?;
        for bundle in &self.bundles {
            REPLACED.put(&mut writes, Scope::NODE, &bundle.height, &bundle.to_versioned_bytes());
            if writes.size_bytes() >= WRITE_BYTES {
                let full = std::mem::take(&mut writes);
                store.commit(full).await.map_err(refusal)?;
            }
        }
        let complete = [&self.to.to_be_bytes(), self.last.as_bytes().as_slice()].concat();
        REPLACED.put(&mut writes, Scope::NODE, &COMPLETE, &complete);
        store.commit(writes).await.map_err(refusal)
    }

    /// Whether a store has replaced bundles.
    pub(super) fn are_stored(store: &Store) -> Result<bool, esker_storage::StorageError> {
        let reader = store.snapshot()?;
        Ok(REPLACED.get(reader.as_ref(), Scope::NODE, &COMPLETE)?.is_some())
    }

    /// The stored bundles of an unfinished reorg.
    pub(super) fn stored(store: &Store) -> Result<Option<Self>, ControlError> {
        let reader = store.snapshot().map_err(refusal)?;
        let complete = REPLACED.get(reader.as_ref(), Scope::NODE, &COMPLETE).map_err(refusal)?;
        let Some(complete) = complete else { return Ok(None) };
        let damaged = || ControlError::Refused("the row of an unfinished reorg is damaged".into());
        let (to, last) = complete.split_first_chunk().ok_or_else(damaged)?;
        let last = BundleId::new(last.try_into().map_err(|_| damaged())?);
        let to = u64::from_be_bytes(*to);
        let (mut bundles, mut outcome) = (Vec::new(), Ok(()));
        REPLACED
            .scan(reader.as_ref(), Scope::NODE, &[], None, |key, value| {
                match REPLACED.decode_key(key) {
                    Ok(COMPLETE) => {}
                    Ok(_) => match Bundle::parse(value) {
                        Ok(bundle) => bundles.push(bundle),
                        Err(_) => outcome = Err(damaged()),
                    },
                    Err(error) => outcome = Err(refusal(error)),
                }
                if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })
            .map_err(refusal)?;
        outcome?;
        Ok(Some(Self { to, last, bundles }))
    }

    /// ID of the bundle before these bundles.
    pub(super) fn parent(&self) -> Option<BundleId> {
        self.bundles.first().map(|bundle| bundle.parent)
    }
}

/// Returns the write that deletes the stored bundles.
pub(super) fn forget(store: &Store) -> Result<WriteSet, ControlError> {
    let reader = store.snapshot().map_err(refusal)?;
    let mut writes = WriteSet::new();
    let mut keys = Vec::new();
    REPLACED
        .scan(reader.as_ref(), Scope::NODE, &[], None, |key, _| {
            keys.push(REPLACED.decode_key(key));
            ControlFlow::Continue(())
        })
        .map_err(refusal)?;
    for key in keys {
        REPLACED.delete(&mut writes, Scope::NODE, &key.map_err(refusal)?);
    }
    Ok(writes)
}
