//! Checks the records of a file against the state root of its block.

use std::collections::{HashMap, HashSet};

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_trie::Nibbles;
use esker_evm_state::trie::{NodeSource, TrieError, prove};
use esker_evm_state::types::Account;

use super::record::{Framed, MAGIC, Record, read_records};
use crate::pin::Pin;
use crate::proof::{ProvenPath, verify_proof};
use crate::state::{BaseAccount, Fact, Trie, decode_account, decode_slot};

/// A record that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordFault {
    pub(super) index: usize,
    pub(super) offset: u64,
    pub(super) kind: &'static str,
    pub(super) reason: String,
    /// Whether the file ends before the record does.
    pub(super) is_cut: bool,
}

/// The good part of a file.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) pin: Pin,
    /// What the records show, in an order in which nodes precede what they prove.
    pub(super) facts: Vec<Fact>,
    pub(super) faults: Vec<RecordFault>,
    /// Nodes that are part of no proof.
    pub(super) surplus: Vec<RecordFault>,
}

/// Reads the bytes of a file.
///
/// # Errors
/// It does not begin as a file of a fork; the reason.
pub(super) fn check_file(file: &[u8]) -> Result<Checked, String> {
    if !file.starts_with(MAGIC) {
        return Err("it begins with other bytes".to_owned());
    }
    let mut records = read_records(file).into_iter();
    let first = records.next().ok_or("it has no records")?;
    let Record::Pin { chain_id, json } = first.record? else {
        return Err("its first record is not a block".to_owned());
    };
    let value: serde_json::Value =
        serde_json::from_str(&json).map_err(|error| format!("its block: {error}"))?;
    let pin = Pin::from_json(chain_id, &value).map_err(|error| format!("its block: {error}"))?;
    let mut check = Check {
        root: pin.header.state_root,
        chain_id,
        is_verified: pin.is_verified(),
        next_ancestor: (pin.header.number.saturating_sub(1), pin.header.parent_hash),
        nodes: HashMap::new(),
        used: HashSet::new(),
        accounts: HashMap::new(),
        facts: Vec::new(),
    };
    let mut faults = Vec::new();
    let mut all = Vec::new();
    for framed in records {
        check.note_node(&framed);
        all.push(framed);
    }
    for framed in &all {
        let added = framed.record.as_ref().map_err(Clone::clone).and_then(|r| check.add(r));
        if let Err(reason) = added {
            faults.push(fault(framed, reason));
        }
    }
    let surplus = all.iter().filter(|framed| check.is_surplus(framed));
    let surplus =
        surplus.map(|framed| fault(framed, "it is part of no proof".to_owned())).collect();
    Ok(Checked { pin, facts: check.facts, faults, surplus })
}

fn fault(framed: &Framed, reason: String) -> RecordFault {
    let Framed { index, offset, kind, is_cut, .. } = *framed;
    RecordFault { index, offset, kind, reason, is_cut }
}

struct Check {
    root: B256,
    chain_id: u64,
    is_verified: bool,
    /// Height and hash of the next header before the block.
    next_ancestor: (u64, B256),
    /// All nodes, not checked.
    nodes: HashMap<(Trie, Nibbles), Bytes>,
    /// Nodes that are part of a proof.
    used: HashSet<(Trie, Nibbles)>,
    /// Accounts that were proved, or why not.
    accounts: HashMap<Address, Result<Option<Account>, String>>,
    facts: Vec<Fact>,
}

/// The nodes of one trie.
struct NodesOf<'a> {
    nodes: &'a HashMap<(Trie, Nibbles), Bytes>,
    trie: Trie,
}

impl NodeSource for NodesOf<'_> {
    fn node(&self, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
        Ok(self.nodes.get(&(self.trie, *path)).map(|rlp| rlp.to_vec()))
    }
}

impl Check {
    fn note_node(&mut self, framed: &Framed) {
        if let Ok(Record::Node { trie, path, rlp }) = &framed.record {
            self.nodes.insert((*trie, *path), rlp.clone());
        }
    }

    fn is_surplus(&self, framed: &Framed) -> bool {
        match &framed.record {
            Ok(Record::Node { trie, path, rlp }) => {
                let key = (*trie, *path);
                !self.used.contains(&key) || self.nodes.get(&key) != Some(rlp)
            }
            _ => false,
        }
    }

    fn add(&mut self, record: &Record) -> Result<(), String> {
        match record {
            Record::Pin { .. } => return Err("a second block".to_owned()),
            Record::Node { .. } => {}
            Record::Account(address) => {
                self.account(*address)?;
            }
            Record::Slot(address, slot) => self.slot(*address, *slot)?,
            Record::Code { hash, code } => {
                let found = keccak256(code);
                if found != *hash {
                    return Err(format!("its hash is {found}, not {hash}"));
                }
                self.facts.push(Fact::Code { hash: *hash, code: code.clone() });
            }
            Record::Ancestor { json } => self.ancestor(json)?,
            Record::Text { name, text } => {
                let (name, text) = (name.as_str().into(), text.as_str().into());
                self.facts.push(Fact::Text { name, text });
            }
            Record::ClaimedAccount(address, account) => self.facts.push(Fact::Account {
                address: *address,
                account: *account,
                is_proven: false,
            }),
            Record::ClaimedSlot(address, slot, value) => self.facts.push(Fact::Slot {
                address: *address,
                slot: *slot,
                value: *value,
                is_proven: false,
            }),
        }
        Ok(())
    }

    fn ancestor(&mut self, json: &str) -> Result<(), String> {
        let value = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let header = Pin::from_json(self.chain_id, &value).map_err(|fault| fault.to_string())?;
        let (number, expected) = self.next_ancestor;
        let is_right = header.header.number == number
            && header.hash == expected
            && (header.is_verified() || !self.is_verified);
        if !is_right {
            return Err(format!("it is not block {number} with the hash {expected}"));
        }
        let parent = header.header.parent_hash;
        self.next_ancestor = (number.saturating_sub(1), parent);
        self.facts.push(Fact::Ancestor { number, parent, json: json.into() });
        Ok(())
    }

    fn account(&mut self, address: Address) -> Result<Option<Account>, String> {
        if let Some(known) = self.accounts.get(&address) {
            return known.clone();
        }
        let account = self.prove_account(address);
        self.accounts.insert(address, account.clone());
        if let Ok(account) = &account {
            let account = account.map(BaseAccount::from);
            self.facts.push(Fact::Account { address, account, is_proven: true });
        }
        account
    }

    fn prove_account(&mut self, address: Address) -> Result<Option<Account>, String> {
        let value = self.prove(Trie::Accounts, self.root, keccak256(address));
        let value = value.map_err(|reason| format!("account {address}: {reason}"))?;
        let account = value.as_deref().map(decode_account).transpose();
        account.map_err(|error| format!("account {address}: {error}"))
    }

    fn slot(&mut self, address: Address, slot: U256) -> Result<(), String> {
        let named = |reason: String| format!("slot {slot:#x} of {address}: {reason}");
        let account = self.account(address)?;
        let root = account.unwrap_or_default().storage_root;
        let trie = Trie::Storage(keccak256(address));
        let value = self.prove(trie, root, keccak256(B256::from(slot))).map_err(named)?;
        let value = value.as_deref().map(decode_slot).transpose();
        let value = value.map_err(|error| named(error.to_string()))?.unwrap_or_default();
        self.facts.push(Fact::Slot { address, slot, value, is_proven: true });
        Ok(())
    }

    /// Proves a key over the nodes of the file, and adds the nodes that it takes.
    fn prove(&mut self, trie: Trie, root: B256, key: B256) -> Result<Option<Vec<u8>>, String> {
        let source = NodesOf { nodes: &self.nodes, trie };
        let proof = prove(&source, root, key).map_err(|error| error.to_string())?;
        let ProvenPath { nodes, value } =
            verify_proof(root, key, &proof.nodes).map_err(|error| error.to_string())?;
        for (path, rlp) in nodes {
            if self.used.insert((trie, path)) {
                self.facts.push(Fact::Node { trie, path, rlp });
            }
        }
        Ok(value)
    }
}
