//! Storage of a contract between two transactions of a block: `storageRangeAt`
//! (docs/decisions.md, "Storage before a transaction").

use std::collections::BTreeMap;
use std::ops::Bound;

use alloy_primitives::{Address, B256, U256, keccak256};
use esker_evm::view::ViewError;
use esker_evm_state::state::AccountChange;
use esker_rpc::{CallContext, RpcError};
use schemars::JsonSchema;
use serde::Serialize;

use super::walk::{STEPS, Walk};
use crate::evm::TransactApi;
use crate::evm::replayed::{block_of, parent_of, preceding, state_before, state_error};
use crate::wire::{BlockNumberOrHash, Hash};

/// Most slots of a reply. The reference has no limit; what is left is found with `nextKey`, as ever.
const MAX_SLOTS: usize = 65_536;

#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct StorageRangeReply {
    /// By the hash of the slot; `null`: the account has no storage.
    storage: Option<BTreeMap<Hash, StorageEntry>>,
    next_key: Option<Hash>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct StorageEntry {
    /// The slot, where it is known.
    key: Option<Hash>,
    value: Hash,
}

/// The requested range.
pub(super) struct StorageRange {
    pub(super) at: BlockNumberOrHash,
    pub(super) index: i64,
    pub(super) account: Address,
    pub(super) start: B256,
    pub(super) max: i64,
}

pub(super) fn storage_range(
    transact: &TransactApi,
    range: &StorageRange,
    context: &CallContext,
) -> Result<StorageRangeReply, RpcError> {
    let reads = &*transact.reads;
    let block = block_of(reads, range.at)?;
    let parent = parent_of(reads, &block)?;
    // The state must be there, also where the transaction is not.
    reads.chain.state_after(&parent).map_err(state_error)?;
    let count = preceding(&block, range.index)?;
    let change = match count {
        0 => None,
        count => state_before(transact, &block, &parent, count, context, |state| {
            Ok(state.changes().remove(&range.account))
        })?,
    };
    let storage = Storage {
        walk: Walk { reads, header: parent, context, is_of_changes: false },
        account: keccak256(range.account),
        is_wiped: change.as_ref().is_some_and(|change| change.wiped || change.account.is_none()),
        changed: change.map(hashed_slots).unwrap_or_default(),
    };
    storage.reply(range)
}

/// The slots of a change by their hashes.
fn hashed_slots(change: AccountChange) -> BTreeMap<B256, U256> {
    let hashed = |(slot, value): (U256, U256)| (keccak256(B256::from(slot)), value);
    change.slots.into_iter().map(hashed).collect()
}

/// Storage of an account: that of a state, under what was changed since.
struct Storage<'a> {
    walk: Walk<'a>,
    /// Hash of its address.
    account: B256,
    /// Nothing of the state is left.
    is_wiped: bool,
    changed: BTreeMap<B256, U256>,
}

impl Storage<'_> {
    fn reply(&self, range: &StorageRange) -> Result<StorageRangeReply, RpcError> {
        if self.first(B256::ZERO, 1)?.is_empty() {
            return Ok(StorageRangeReply::default());
        }
        let max = usize::try_from(range.max).unwrap_or_default().min(MAX_SLOTS);
        let mut found = self.first(range.start, max + 1)?;
        let next_key = (found.len() > max).then(|| found.pop()).flatten();
        let mut storage = BTreeMap::new();
        for slots in found.chunks(STEPS) {
            let keys = self.walk.part(|view| -> Result<Vec<_>, ViewError> {
                slots.iter().map(|(hash, _)| Ok(view.slot_of(*hash)?)).collect()
            })?;
            for ((hash, value), key) in slots.iter().zip(keys) {
                let entry = StorageEntry { key: key.map(Hash), value: Hash(B256::from(*value)) };
                storage.insert(Hash(*hash), entry);
            }
        }
        let next_key = next_key.map(|(hash, _)| Hash(hash));
        Ok(StorageRangeReply { storage: Some(storage), next_key })
    }

    /// The first slots from a hash on, with what they hold.
    fn first(&self, from: B256, most: usize) -> Result<Vec<(B256, U256)>, RpcError> {
        let mut found = Vec::new();
        let mut at = Some(from);
        while let (Some(from), true) = (at, found.len() < most) {
            let (below, next) = match self.is_wiped {
                true => (Vec::new(), None),
                false => {
                    let steps = STEPS.min(most);
                    let part = self.walk.part(|view| view.walk_slots(self.account, from, steps))?;
                    (part.found, part.next)
                }
            };
            let mut merged: BTreeMap<_, _> = below.into_iter().collect();
            let until = next.map_or(Bound::Unbounded, Bound::Excluded);
            merged.extend(self.changed.range((Bound::Included(from), until)));
            found.extend(merged.into_iter().filter(|(_, value)| !value.is_zero()));
            at = next;
        }
        found.truncate(most);
        Ok(found)
    }
}
