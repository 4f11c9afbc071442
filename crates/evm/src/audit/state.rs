//! Audits the newest state: accounts, storage, code, and their tries.

use std::ops::ControlFlow;

use alloy_primitives::{B256, keccak256};
use alloy_trie::{EMPTY_ROOT_HASH, HashBuilder, KECCAK_EMPTY, Nibbles};
use esker_chain::audit::AuditContext;
use esker_evm_state::state::tables::{ACCOUNTS, CODE, NODES, PREIMAGES, SLOTS, STORAGE_NODES};
use esker_evm_state::state::{
    AccountNodes, StateError, StateVersion, StateView, StorageNodes, StoredAccount, StoredSlot,
};
use esker_evm_state::types::{Account, Header};
use esker_storage::audit::{AuditError, shown};
use esker_storage::{KeyCodec, Table, ValueCodec};

use super::trie::{TrieWalk, walk};
use super::{Auditing, add_wide, damage_text};

/// Accounts between two reports of progress.
const STEP: u64 = 256;

/// Rows that belong to the accounts so far.
#[derive(Default)]
struct RowCounts {
    accounts: u64,
    slots: u64,
    storage_nodes: u64,
}

impl Auditing<'_> {
    /// Rebuilds every trie from the rows, and compares roots, nodes and leaves.
    pub(super) fn audit_state(
        &mut self,
        tip: &Header,
        ctx: &mut AuditContext<'_>,
    ) -> Result<(), AuditError> {
        let (stored, scope) = (ctx.stored, self.scope());
        let mut counts = RowCounts::default();
        let mut trie = HashBuilder::default();
        let mut ended = Ok(());
        ACCOUNTS.scan(stored, scope, &[], None, |key, value| {
            ended = self.audit_account(key, value, &mut counts, &mut trie, ctx);
            if ended.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        ended?;
        let root = trie.root();
        if root != tip.state_root {
            self.wrong(ctx, "state root of the accounts", tip.state_root, root);
        }
        self.audit_account_nodes(tip, counts.accounts, ctx)?;
        self.check_row_count(&SLOTS, counts.slots, "storage slot", ctx)?;
        self.check_row_count(&STORAGE_NODES, counts.storage_nodes, "storage trie node", ctx)?;
        self.audit_hashes(&CODE, "code", ctx)?;
        self.audit_hashes(&PREIMAGES, "preimage", ctx)
    }

    fn audit_account(
        &mut self,
        key: &[u8],
        value: &[u8],
        counts: &mut RowCounts,
        trie: &mut HashBuilder,
        ctx: &mut AuditContext<'_>,
    ) -> Result<(), AuditError> {
        counts.accounts += 1;
        let (hash, StoredAccount(account)) = match ACCOUNTS.entry(key, value) {
            Ok(entry) => entry,
            Err(error) => {
                self.wrong(ctx, format!("account {}", shown(key)), "an account", error);
                return Ok(());
            }
        };
        add_wide(&mut self.held, account.balance);
        let mut leaf = Vec::new();
        self.evm.params().rules.encode_account(&account, &mut leaf);
        trie.add_leaf(Nibbles::unpack(hash), &leaf);
        self.audit_storage(hash, &account, counts, ctx)?;
        let code = B256::from(account.code_hash);
        if code != KECCAK_EMPTY && !CODE.contains(ctx.stored, self.scope(), &code.0)? {
            let what = format!("code of account {}", B256::from(hash));
            self.wrong(ctx, what, code, "nothing");
        }
        if counts.accounts.is_multiple_of(STEP) {
            ctx.log.progress(&self.place("accounts"), counts.accounts, None)?;
        }
        Ok(())
    }

    fn audit_storage(
        &self,
        hash: [u8; 32],
        account: &Account,
        counts: &mut RowCounts,
        ctx: &mut AuditContext<'_>,
    ) -> Result<(), AuditError> {
        let (stored, scope) = (ctx.stored, self.scope());
        let place = |what: &str| format!("{what} of account {}", B256::from(hash));
        let mut trie = HashBuilder::default();
        let (mut slots, mut damaged) = (0u64, None);
        SLOTS.scan(stored, scope, &hash, None, |key, value| {
            match SLOTS.entry(key, value) {
                Ok(((_, slot), StoredSlot(value))) => {
                    trie.add_leaf(Nibbles::unpack(slot), &alloy_rlp::encode(value));
                }
                Err(error) => damaged = Some(error),
            }
            slots += 1;
            ControlFlow::Continue(())
        })?;
        counts.slots += slots;
        if let Some(error) = damaged {
            self.wrong(ctx, place("storage"), "slots", error);
        }
        let root = trie.root();
        if root != account.storage_root {
            self.wrong(ctx, place("storage root"), account.storage_root, root);
        }
        if account.storage_root == EMPTY_ROOT_HASH {
            return Ok(());
        }
        let view = StateView::new(stored, scope, StateVersion::Latest);
        let nodes = StorageNodes { view, account: B256::from(hash) };
        let mut leaves = Vec::new();
        let walked = walk(&nodes, account.storage_root, &mut |slot, value| {
            let row = SLOTS.get(stored, scope, &(hash, slot.0)).map_err(StateError::from)?;
            let row = row.map(|StoredSlot(value)| alloy_rlp::encode(value));
            if row.as_deref() != Some(value) {
                leaves.push((slot, shown(value), row.map_or("nothing".to_owned(), |r| shown(&r))));
            }
            Ok::<_, StateError>(())
        });
        for (slot, leaf, row) in leaves {
            self.wrong(ctx, format!("slot {slot} {}", place("in storage")), leaf, row);
        }
        let walked = self.report_trie(walked, &place("storage trie"), ctx)?;
        counts.storage_nodes += walked.rows;
        Ok(())
    }

    fn audit_account_nodes(
        &self,
        tip: &Header,
        accounts: u64,
        ctx: &mut AuditContext<'_>,
    ) -> Result<(), AuditError> {
        let (stored, scope) = (ctx.stored, self.scope());
        let view = StateView::new(stored, scope, StateVersion::Latest);
        let rules = &self.evm.params().rules;
        let mut leaves = Vec::new();
        let walked = walk(&AccountNodes(view), tip.state_root, &mut |hash, value| {
            let row = view.account_by_hash(hash)?.map(|account| {
                let mut leaf = Vec::new();
                rules.encode_account(&account, &mut leaf);
                leaf
            });
            if row.as_deref() != Some(value) {
                leaves.push((hash, shown(value), row.map_or("nothing".to_owned(), |r| shown(&r))));
            }
            Ok::<_, StateError>(())
        });
        for (hash, leaf, row) in leaves {
            self.wrong(ctx, format!("account {hash}"), leaf, row);
        }
        let walked = self.report_trie(walked, "account trie", ctx)?;
        if walked.wrong.is_empty() && walked.leaves < accounts {
            let expected = format!("{} accounts", walked.leaves);
            self.wrong(ctx, "account trie", expected, format!("{accounts} rows of accounts"));
        }
        if walked.wrong.is_empty() {
            self.check_row_count(&NODES, walked.rows, "account trie node", ctx)?;
        }
        Ok(())
    }

    /// Reports the wrong nodes of a trie.
    fn report_trie(
        &self,
        walked: Result<TrieWalk, StateError>,
        place: &str,
        ctx: &mut AuditContext<'_>,
    ) -> Result<TrieWalk, AuditError> {
        match walked {
            Ok(walked) => {
                for (path, expected, found) in &walked.wrong {
                    self.wrong(ctx, format!("{place}: node at {path:?}"), expected, found);
                }
                Ok(walked)
            }
            Err(error) => {
                let error = damage_text(error)?;
                self.wrong(ctx, place, "a trie", error);
                Ok(TrieWalk::default())
            }
        }
    }

    /// Reports rows that belong to no account or trie.
    fn check_row_count<K: KeyCodec, V: ValueCodec>(
        &self,
        table: &Table<K, V>,
        known: u64,
        what: &str,
        ctx: &mut AuditContext<'_>,
    ) -> Result<(), AuditError> {
        let mut rows = 0u64;
        table.scan(ctx.stored, self.scope(), &[], None, |_, _| {
            rows += 1;
            ControlFlow::Continue(())
        })?;
        if rows > known {
            self.wrong(ctx, format!("{what}s"), format!("{known} rows"), format!("{rows} rows"));
        }
        Ok(())
    }

    /// Checks rows whose key is the hash of their value.
    fn audit_hashes(
        &self,
        table: &Table<[u8; 32], Vec<u8>>,
        what: &str,
        ctx: &mut AuditContext<'_>,
    ) -> Result<(), AuditError> {
        let mut wrong = Vec::new();
        table.scan(ctx.stored, self.scope(), &[], None, |key, value| {
            let hash = keccak256(value);
            if key != hash.as_slice() {
                wrong.push((shown(key), hash));
            }
            ControlFlow::Continue(())
        })?;
        for (key, hash) in wrong {
            self.wrong(ctx, format!("{what} {key}"), "what has this hash", hash);
        }
        Ok(())
    }
}
