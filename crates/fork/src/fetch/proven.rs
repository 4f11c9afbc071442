//! Reads accounts and slots with `eth_getProof`: values are those of the proofs.

use alloy_primitives::{Address, B256, U256, keccak256};
use alloy_trie::{EMPTY_ROOT_HASH, KECCAK_EMPTY};
use esker_evm_state::types::Account;
use serde_json::{Value, json};

use crate::error::{Contradiction, ForkError, account_name};
use crate::json::{FieldError, Fields, quantity};
use crate::pin::{HeaderForm, Pin};
use crate::proof::{ProofFault, ProvenPath, verify_proof};
use crate::source::{Answer, Call};
use crate::state::{BaseAccount, Fact, Trie, decode_account, decode_slot, is_of_asset};

const METHOD: &str = "eth_getProof";

/// A proof of an account and some of its slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProofRequest {
    pub(super) address: Address,
    pub(super) slots: Vec<U256>,
}

impl ProofRequest {
    pub(super) fn call(&self, block: &Value) -> Call {
        let slots: Vec<String> =
            self.slots.iter().map(|slot| B256::from(*slot).to_string()).collect();
        Call::new(METHOD, json!([self.address.to_string(), slots, block]))
    }

    /// Verifies the answer against the state root of a block. Returns the account, and everything that is proved.
    pub(super) fn verify(
        &self,
        pin: &Pin,
        answer: &Answer,
    ) -> Result<(Option<BaseAccount>, Vec<Fact>), ForkError> {
        let root = pin.header.state_root;
        let check = Check { request: self, url: &answer.url, form: pin.form };
        let fields = Fields::of(&answer.result).map_err(|fault| check.form_error(fault))?;
        let mut facts = Vec::new();
        let account = check.account(root, fields, &mut facts)?;
        check.claims(account, fields)?;
        check.slots(account, fields, &mut facts)?;
        Ok((account.map(BaseAccount::from), facts))
    }
}

/// A check of one answer.
struct Check<'a> {
    request: &'a ProofRequest,
    url: &'a str,
    form: HeaderForm,
}

impl Check<'_> {
    fn form_error(&self, fault: FieldError) -> ForkError {
        ForkError::Form { url: self.url.to_owned(), method: METHOD, fault }
    }

    fn proof(&self, part: String, root: B256, fault: ProofFault) -> ForkError {
        ForkError::Proof { url: self.url.to_owned(), part, root, fault: Box::new(fault) }
    }

    fn equal(
        &self,
        part: impl FnOnce() -> String,
        field: &'static str,
        claimed: impl ToString,
        proven: impl ToString,
        is_equal: bool,
    ) -> Result<(), ForkError> {
        if is_equal {
            return Ok(());
        }
        let (url, part) = (self.url.to_owned(), part());
        let (claimed, proven) = (claimed.to_string(), proven.to_string());
        Err(Contradiction { url, method: METHOD, part, field, claimed, proven }.into())
    }

    /// The account that the proof shows.
    fn account(
        &self,
        root: B256,
        fields: Fields<'_>,
        facts: &mut Vec<Fact>,
    ) -> Result<Option<Account>, ForkError> {
        let address = self.request.address;
        let part = || account_name(&address);
        let nodes = fields.byte_strings("accountProof").map_err(|fault| self.form_error(fault))?;
        let proven = verify_proof(root, keccak256(address), &nodes)
            .map_err(|fault| self.proof(part(), root, fault))?;
        let account = proven.value.as_deref().map(decode_account).transpose();
        let account =
            account.map_err(|cause| self.proof(part(), root, ProofFault::Value(cause)))?;
        push_nodes(facts, Trie::Accounts, proven);
        let base = account.map(BaseAccount::from);
        facts.push(Fact::Account { address, account: base, is_proven: true });
        Ok(account)
    }

    /// Compares the fields of the answer with the account.
    fn claims(&self, account: Option<Account>, fields: Fields<'_>) -> Result<(), ForkError> {
        let address = self.request.address;
        let part = || account_name(&address);
        let form = |fault| self.form_error(fault);
        if let Some(claimed) = fields.optional("address", Fields::address).map_err(form)? {
            self.equal(part, "address", claimed, address, claimed == address)?;
        }
        let proven = account.unwrap_or_default();
        let nonce = fields.u64("nonce").map_err(form)?;
        self.equal(part, "nonce", nonce, proven.nonce, nonce == proven.nonce)?;
        let balance = fields.u256("balance").map_err(form)?;
        self.equal(part, "balance", balance, proven.balance, balance == proven.balance)?;
        // Sources give zero or the hash of nothing for an account that does not exist.
        let is_absent = account.is_none();
        let code = fields.hash("codeHash").map_err(form)?;
        let is_code = code == proven.code_hash || is_absent && is_nothing(code);
        self.equal(part, "codeHash", code, proven.code_hash, is_code)?;
        let storage = fields.hash("storageHash").map_err(form)?;
        let is_storage = storage == proven.storage_root || is_absent && is_nothing(storage);
        self.equal(part, "storageHash", storage, proven.storage_root, is_storage)
    }

    fn slots(
        &self,
        account: Option<Account>,
        fields: Fields<'_>,
        facts: &mut Vec<Fact>,
    ) -> Result<(), ForkError> {
        let wanted = &self.request.slots;
        if wanted.is_empty() {
            return Ok(());
        }
        let list = fields.list("storageProof").map_err(|fault| self.form_error(fault))?;
        if list.len() != wanted.len() {
            let part = || account_name(&self.request.address);
            return self.equal(part, "storageProof.length", list.len(), wanted.len(), false);
        }
        let root = account.unwrap_or_default().storage_root;
        wanted.iter().zip(list).try_for_each(|(slot, entry)| self.slot(root, *slot, entry, facts))
    }

    fn slot(
        &self,
        root: B256,
        slot: U256,
        entry: &Value,
        facts: &mut Vec<Fact>,
    ) -> Result<(), ForkError> {
        let address = self.request.address;
        let part = || format!("slot {slot:#x} of {address}");
        let form = |fault| self.form_error(fault);
        let fields = Fields::of(entry).map_err(form)?;
        let key = fields.get("key").and_then(quantity);
        let key = key.ok_or_else(|| form(FieldError::new("key", "a slot", fields.get("key"))))?;
        self.equal(part, "key", key, slot, key == slot)?;
        let nodes = fields.byte_strings("proof").map_err(form)?;
        let proven = verify_proof(root, keccak256(B256::from(slot)), &nodes)
            .map_err(|fault| self.proof(part(), root, fault))?;
        let value = proven.value.as_deref().map(decode_slot).transpose();
        let value = value.map_err(|cause| self.proof(part(), root, ProofFault::Value(cause)))?;
        let value = value.unwrap_or_default();
        let claimed = fields.u256("value").map_err(form)?;
        // Sources prove the key that was asked for, and give the value that code reads there, which is another slot's.
        let is_same = claimed == value || is_of_asset(self.form, slot);
        self.equal(part, "value", claimed, value, is_same)?;
        push_nodes(facts, Trie::Storage(keccak256(address)), proven);
        facts.push(Fact::Slot { address, slot, value, is_proven: true });
        Ok(())
    }
}

fn is_nothing(hash: B256) -> bool {
    hash.is_zero() || hash == KECCAK_EMPTY || hash == EMPTY_ROOT_HASH
}

fn push_nodes(facts: &mut Vec<Fact>, trie: Trie, proven: ProvenPath) {
    let nodes = proven.nodes.into_iter();
    facts.extend(nodes.map(|(path, rlp)| Fact::Node { trie, path, rlp }));
}
