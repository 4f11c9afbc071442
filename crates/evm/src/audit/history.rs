//! Audits earlier states: the rows that a block replaced must lead to the state root of the block before it.

use std::ops::ControlFlow;

use alloy_primitives::B256;
use alloy_trie::Nibbles;
use esker_chain::audit::AuditContext;
use esker_evm_state::blocks::tables::TIP;
use esker_evm_state::state::tables::{
    ACCOUNT_UNDO, ACCOUNTS, NODE_UNDO, PathKey, SLOT_UNDO, SLOTS, STORAGE_NODE_UNDO, UNDO_KEYS,
};
use esker_evm_state::state::{
    AccountNodes, StateError, StateVersion, StateView, StorageNodes, StoredAccount, StoredSlot,
    UndoKeys,
};
use esker_evm_state::trie::{NodeSource, prove};
use esker_storage::audit::{AuditError, shown};
use esker_storage::{KeyCodec, KvRead, Table, ValueCodec};

use super::{Auditing, damage_text};
use crate::chain::ChainView;

/// Bytes of a stored key before the table's own.
const HEAD: usize = 3;

impl Auditing<'_> {
    /// Audits the undo rows of earlier states.
    pub(super) fn audit_history(&self, ctx: &mut AuditContext<'_>) -> Result<(), AuditError> {
        let (stored, scope) = (ctx.stored, self.scope());
        let Ok(Some(tip)) = TIP.get(stored, scope, &()) else { return Ok(()) };
        let view = ChainView::new(stored, scope, self.evm.params().rules.as_ref());
        let mut listed = 0u64;
        for height in tip.oldest_state.saturating_add(1)..=tip.height {
            let place = format!("state before block {height}");
            let keys = match UNDO_KEYS.get(stored, scope, &height) {
                // A block may change nothing.
                Ok(keys) => keys.map(|UndoKeys(keys)| keys).unwrap_or_default(),
                Err(error) => {
                    self.wrong(ctx, place, "a list of rows", error);
                    continue;
                }
            };
            listed = listed.saturating_add(keys.len() as u64);
            // All headers were read before.
            let Ok(Some(before)) = view.header(height - 1) else { continue };
            let earlier = EarlierState {
                audit: self,
                state: StateView::new(stored, scope, StateVersion::AtHeight(height - 1)),
                stored,
                root: before.state_root,
            };
            for key in &keys {
                let wrong_value = match earlier.find_wrong_value(key) {
                    Ok(found) => found,
                    Err(error) => Some(damage_text(error)?),
                };
                if let Some(found) = wrong_value {
                    let what = format!("{place}: row {}", shown(key.get(2..).unwrap_or(key)));
                    self.wrong(ctx, what, "what leads to its state root", found);
                }
            }
            ctx.log.progress(&self.place("earlier states"), height, Some(tip.height))?;
        }
        UNDO_KEYS.scan(stored, scope, &[], None, |key, _| {
            let height = UNDO_KEYS.decode_key(key).unwrap_or(u64::MAX);
            if height <= tip.oldest_state || height > tip.height {
                let (first, last) = (tip.oldest_state.saturating_add(1), tip.height);
                let expected = format!("blocks {first} to {last}");
                self.wrong(ctx, "earlier states", expected, format!("rows of block {height}"));
            }
            ControlFlow::Continue(())
        })?;
        let mut rows = 0u64;
        let mut count = |_: &[u8], _: &[u8]| {
            rows = rows.saturating_add(1);
            ControlFlow::Continue(())
        };
        ACCOUNT_UNDO.scan(stored, scope, &[], None, &mut count)?;
        SLOT_UNDO.scan(stored, scope, &[], None, &mut count)?;
        NODE_UNDO.scan(stored, scope, &[], None, &mut count)?;
        STORAGE_NODE_UNDO.scan(stored, scope, &[], None, &mut count)?;
        if rows != listed {
            self.wrong(ctx, "earlier states", format!("{listed} rows"), format!("{rows} rows"));
        }
        Ok(())
    }
}

/// The state before a block.
struct EarlierState<'a> {
    audit: &'a Auditing<'a>,
    state: StateView<'a>,
    stored: &'a dyn KvRead,
    root: B256,
}

impl EarlierState<'_> {
    /// The text of the row of a stored key if the row does not lead to the state root.
    fn find_wrong_value(&self, key: &[u8]) -> Result<Option<String>, StateError> {
        let Some(value) = self.stored.get(key)? else { return Ok(Some("nothing".to_owned())) };
        let (Some(tag), Some(rest)) = (key.get(HEAD - 1), key.get(HEAD..)) else {
            return Ok(Some("no key".to_owned()));
        };
        if *tag == ACCOUNT_UNDO.tag() {
            let (hash, _) = ACCOUNT_UNDO.decode_key(rest)?;
            let leaf = decode_undo_row(&ACCOUNTS, &value)?.map(|StoredAccount(account)| {
                let mut leaf = Vec::new();
                self.audit.evm.params().rules.encode_account(&account, &mut leaf);
                leaf
            });
            let proof = prove(&AccountNodes(self.state), self.root, B256::from(hash))?;
            return Ok(difference(proof.value, leaf));
        }
        if *tag == SLOT_UNDO.tag() {
            let (account, slot, _) = SLOT_UNDO.decode_key(rest)?;
            let leaf =
                decode_undo_row(&SLOTS, &value)?.map(|StoredSlot(value)| alloy_rlp::encode(value));
            let Some(root) = self.storage_root(account)? else { return Ok(difference(None, leaf)) };
            let nodes = self.storage_nodes(account);
            return Ok(difference(prove(&nodes, root, B256::from(slot))?.value, leaf));
        }
        if *tag == NODE_UNDO.tag() {
            let (PathKey(path), _) = NODE_UNDO.decode_key(rest)?;
            return wrong_node(&AccountNodes(self.state), self.root, path, &value);
        }
        if *tag == STORAGE_NODE_UNDO.tag() {
            let (account, PathKey(path), _) = STORAGE_NODE_UNDO.decode_key(rest)?;
            return match self.storage_root(account)? {
                Some(root) => wrong_node(&self.storage_nodes(account), root, path, &value),
                None => Ok(difference(None, (!value.is_empty()).then_some(value))),
            };
        }
        Ok(Some("a row of another table".to_owned()))
    }

    /// The storage root of an account in the account trie.
    fn storage_root(&self, account: [u8; 32]) -> Result<Option<B256>, StateError> {
        Ok(self.state.account_by_hash(B256::from(account))?.map(|account| account.storage_root))
    }

    fn storage_nodes(&self, account: [u8; 32]) -> StorageNodes<'_> {
        StorageNodes { view: self.state, account: B256::from(account) }
    }
}

/// The value in an undo row; `None` for an empty row, which says that there was no value.
fn decode_undo_row<K: KeyCodec, V: ValueCodec>(
    table: &Table<K, V>,
    value: &[u8],
) -> Result<Option<V>, StateError> {
    if value.is_empty() { Ok(None) } else { Ok(Some(table.value(value)?)) }
}

/// The text of the row's value if the trie has another value.
fn difference(in_trie: Option<Vec<u8>>, row: Option<Vec<u8>>) -> Option<String> {
    (in_trie != row).then(|| row.map_or("nothing".to_owned(), |row| shown(&row)))
}

/// The text of the row if it is not the node of that path, on the way to a key below it.
fn wrong_node(
    source: &dyn NodeSource,
    root: B256,
    path: Nibbles,
    row: &[u8],
) -> Result<Option<String>, StateError> {
    let mut key = path;
    while key.len() < 64 {
        key.push(0);
    }
    let key = B256::try_from(key.pack().as_slice()).unwrap_or_default();
    let proof = prove(source, root, key)?;
    let is_there = row.is_empty() || proof.nodes.iter().any(|node| node.as_ref() == row);
    Ok((!is_there).then(|| shown(row)))
}
