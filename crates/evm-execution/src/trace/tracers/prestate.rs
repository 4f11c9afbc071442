//! `prestateTracer`: the accounts that a transaction needs as they are before it, or what it changes.
//!
//! Accounts and slots are shown as they are when the transaction first accesses them. That is before the transaction
//! changes them, except for a contract that the transaction itself creates: its nonce is already 1
//! (docs/protocol/c-chain-tracing.md, "prestateTracer").

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, B256, Bytes, U256};

use crate::executor::{ExecutionEnd, blob_fee, opcode};
use crate::trace::{
    FrameStart, Step, StepFilter, TraceContext, TraceError, TraceOutput, TraceResult, Tracer,
    TxStart, json,
};

/// Bytes that an account counts besides its code.
const ACCOUNT_BYTES: usize = 200;
/// Bytes that a slot counts.
const SLOT_BYTES: usize = 160;

/// Collects accounts.
#[derive(Debug, Default)]
struct PrestateTracer {
    diff_mode: bool,
    pre: Accounts,
    post: Accounts,
    created: BTreeSet<Address>,
    deleted: BTreeSet<Address>,
    has_begun: bool,
}

type Accounts = BTreeMap<Address, Account>;

/// The shown fields of an account. In `post`, only changed fields.
#[derive(Debug, Default)]
struct Account {
    balance: Option<U256>,
    nonce: u64,
    code: Bytes,
    storage: BTreeMap<U256, U256>,
}

impl Account {
    fn is_empty(&self) -> bool {
        self.nonce == 0
            && self.code.is_empty()
            && self.storage.is_empty()
            && self.balance.unwrap_or_default().is_zero()
    }
}

/// A tracer with this `tracerConfig`.
pub(super) fn new(config: &str) -> Result<Box<dyn Tracer>, TraceError> {
    let mut tracer = PrestateTracer::default();
    let slots: &mut [(_, &mut dyn esker_go_json::args::Slot)] =
        &mut [("diffMode", &mut tracer.diff_mode)];
    super::configure(config, "native.prestateTracerConfig", slots)?;
    Ok(Box::new(tracer))
}

impl PrestateTracer {
    /// Adds an account as it is now, unless it is already there.
    fn look_up(
        &mut self,
        address: Address,
        context: &mut TraceContext<'_, '_>,
    ) -> Result<&mut Account, TraceError> {
        match self.pre.entry(address) {
            Entry::Occupied(found) => Ok(found.into_mut()),
            Entry::Vacant(vacant) => {
                let account = account_now(address, context)?;
                context.out.hold(ACCOUNT_BYTES + account.code.len())?;
                Ok(vacant.insert(account))
            }
        }
    }

    fn look_up_slot(
        &mut self,
        address: Address,
        key: U256,
        context: &mut TraceContext<'_, '_>,
    ) -> TraceResult {
        // A call with assets reaches contracts without an instruction that names them.
        let account = self.look_up(address, context)?;
        if let Entry::Vacant(vacant) = account.storage.entry(key) {
            context.out.hold(SLOT_BYTES)?;
            vacant.insert(context.storage(address, key)?);
        }
        Ok(())
    }

    fn look_up_created(
        &mut self,
        address: Address,
        context: &mut TraceContext<'_, '_>,
    ) -> TraceResult {
        self.look_up(address, context)?;
        self.created.insert(address);
        Ok(())
    }

    /// Finds the changes of each account. Unchanged accounts, and slots that are unchanged or were zero, are removed
    /// from `pre`.
    fn compare(&mut self, context: &mut TraceContext<'_, '_>) -> TraceResult {
        let (deleted, post) = (&self.deleted, &mut self.post);
        let mut failed = None;
        self.pre.retain(|address, before| {
            if failed.is_some() || deleted.contains(address) {
                return true;
            }
            match change(*address, before, context) {
                Ok(change) => change.is_some_and(|change| post.insert(*address, change).is_none()),
                Err(error) => {
                    failed = Some(error);
                    true
                }
            }
        });
        failed.map_or(Ok(()), Err)
    }
}

impl Tracer for PrestateTracer {
    fn steps(&self) -> StepFilter {
        StepFilter::from_opcodes([
            opcode::SLOAD,
            opcode::SSTORE,
            opcode::EXTCODECOPY,
            opcode::EXTCODEHASH,
            opcode::EXTCODESIZE,
            opcode::BALANCE,
            opcode::SELFDESTRUCT,
            opcode::CALL,
            opcode::CALLCODE,
            opcode::DELEGATECALL,
            opcode::STATICCALL,
            opcode::CREATE,
            opcode::CREATE2,
        ])
    }

    fn start(&mut self, tx: &TxStart<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        let blob_fee = blob_fee(tx.block, tx.message);
        let sender = self.look_up(tx.message.from, context)?;
        // The reference reads the sender after all payments, and adds the cost of gas and value again, but not that
        // of blobs.
        sender.balance = sender.balance.map(|balance| balance.saturating_sub(blob_fee));
        self.look_up(tx.to, context)?;
        self.look_up(tx.block.coinbase, context)?;
        if tx.message.to.is_none() {
            self.created.insert(tx.to);
        }
        Ok(())
    }

    fn enter(&mut self, frame: &FrameStart<'_>, _: &mut TraceContext<'_, '_>) -> TraceResult {
        if frame.depth > 0 {
            return Ok(());
        }
        self.has_begun = true;
        if frame.kind.is_create()
            && let Some(created) = self.pre.get_mut(&frame.to)
        {
            // The reference reads the account after its creation.
            created.nonce = 1;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        if step.error.is_some() {
            return Ok(());
        }
        let contract = step.address();
        let named = |place| step.peek(place).map(|word| Address::from_word(B256::from(word)));
        match step.op {
            opcode::SLOAD | opcode::SSTORE => match step.peek(0) {
                Some(key) => self.look_up_slot(contract, key, context),
                None => Ok(()),
            },
            opcode::CREATE => {
                let nonce = context.nonce(contract)?;
                self.look_up_created(contract.create(nonce), context)
            }
            opcode::CREATE2 => {
                let (Some(at), Some(length), Some(salt)) =
                    (step.peek(1), step.peek(2), step.peek(3))
                else {
                    return Ok(());
                };
                let Some(init_code) = step.memory_copy(at, length) else { return Ok(()) };
                let created = contract.create2_from_code(B256::from(salt), init_code);
                self.look_up_created(created, context)
            }
            opcode::CALL | opcode::CALLCODE | opcode::DELEGATECALL | opcode::STATICCALL => {
                named(1).map_or(Ok(()), |called| self.look_up(called, context).map(drop))
            }
            op => {
                if op == opcode::SELFDESTRUCT {
                    self.deleted.insert(contract);
                }
                named(0).map_or(Ok(()), |named| self.look_up(named, context).map(drop))
            }
        }
    }

    fn end(&mut self, _: &ExecutionEnd, context: &mut TraceContext<'_, '_>) -> TraceResult {
        if !self.has_begun {
            self.pre.clear();
        }
        if self.diff_mode {
            self.compare(context)?;
            // Created contracts did not exist before, unless they have a balance.
            let Self { pre, created, .. } = self;
            pre.retain(|address, account| !(created.contains(address) && account.is_empty()));
        }
        Ok(())
    }

    fn write(&mut self, out: &mut dyn TraceOutput) -> TraceResult {
        if !self.diff_mode {
            return write_accounts(&self.pre, out);
        }
        out.buffer().extend_from_slice(b"{\"post\":");
        write_accounts(&self.post, out)?;
        out.buffer().extend_from_slice(b",\"pre\":");
        write_accounts(&self.pre, out)?;
        out.buffer().push(b'}');
        Ok(())
    }
}

fn account_now(
    address: Address,
    context: &mut TraceContext<'_, '_>,
) -> Result<Account, TraceError> {
    let Some(parts) = context.account(address)? else {
        return Ok(Account { balance: Some(U256::ZERO), ..Account::default() });
    };
    Ok(Account {
        balance: Some(parts.balance),
        nonce: parts.nonce,
        code: context.code(address)?,
        storage: BTreeMap::new(),
    })
}

/// The changes of an account. Slots that are unchanged or were zero are removed from `before`.
fn change(
    address: Address,
    before: &mut Account,
    context: &mut TraceContext<'_, '_>,
) -> Result<Option<Account>, TraceError> {
    let now = account_now(address, context)?;
    let mut change = Account::default();
    let mut has_changed = false;
    if now.balance != before.balance {
        has_changed = true;
        change.balance = now.balance;
    }
    if now.nonce != before.nonce {
        has_changed = true;
        change.nonce = now.nonce;
    }
    if now.code != before.code {
        has_changed = true;
        context.out.hold(now.code.len())?;
        change.code = now.code;
    }
    for (key, value) in std::mem::take(&mut before.storage) {
        let now = context.storage(address, key)?;
        if now == value {
            continue;
        }
        has_changed = true;
        if !value.is_zero() {
            before.storage.insert(key, value);
        }
        if !now.is_zero() {
            change.storage.insert(key, now);
        }
    }
    Ok(has_changed.then_some(change))
}

fn write_accounts(accounts: &Accounts, out: &mut dyn TraceOutput) -> TraceResult {
    out.buffer().push(b'{');
    for (at, (address, account)) in accounts.iter().enumerate() {
        super::separate(at, out)?;
        json::address(out.buffer(), address);
        out.buffer().push(b':');
        write_account(account, out)?;
    }
    out.buffer().push(b'}');
    Ok(())
}

fn write_account(account: &Account, out: &mut dyn TraceOutput) -> TraceResult {
    let mut mark = b'{';
    let mut name = |out: &mut Vec<u8>, name: &str| {
        out.push(mark);
        mark = b',';
        json::string(out, name);
        out.push(b':');
    };
    let buffer = out.buffer();
    if let Some(balance) = &account.balance {
        name(buffer, "balance");
        json::big(buffer, balance);
    }
    if !account.code.is_empty() {
        name(buffer, "code");
        json::data(buffer, &account.code);
    }
    if account.nonce != 0 {
        name(buffer, "nonce");
        json::decimal(buffer, account.nonce);
    }
    if !account.storage.is_empty() {
        name(buffer, "storage");
        write_storage(&account.storage, out)?;
    }
    if mark == b'{' {
        out.buffer().push(b'{');
    }
    out.buffer().push(b'}');
    Ok(())
}

fn write_storage(storage: &BTreeMap<U256, U256>, out: &mut dyn TraceOutput) -> TraceResult {
    out.buffer().push(b'{');
    for (at, (key, value)) in storage.iter().enumerate() {
        super::separate(at, out)?;
        let out = out.buffer();
        json::hash(out, &B256::from(*key));
        out.push(b':');
        json::hash(out, &B256::from(*value));
    }
    out.buffer().push(b'}');
    Ok(())
}
