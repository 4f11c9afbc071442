//! The parts of the chain's extension, and the view of the chain that services have.

use std::sync::{Arc, OnceLock, Weak};

use alloy_primitives::U256;
use esker_chain::ChainContext;
use esker_evm::chain::{ChainReadError, Evm};
use esker_evm_execution::rules::{CChainRules, PhaseRules, RuleError};
use esker_storage::{KvRead, StorageError, StorageResult};

use crate::pool::AtomicPool;

/// The C-Chain's extension: its rules, and the pool of what waits.
#[derive(Debug)]
pub struct AtomicExtension {
    pub(super) context: ChainContext,
    pub(super) rules: CChainRules,
    pub(super) pool: AtomicPool,
    /// The chain, which owns this.
    pub(super) evm: OnceLock<Weak<Evm>>,
}

impl AtomicExtension {
    /// The extension of a chain with these rules.
    pub fn new(context: ChainContext, rules: CChainRules) -> Self {
        let pool = AtomicPool::new(context.native_asset_id, Arc::clone(&context.clock))
            .log_as(context.primary_alias());
        Self { context, rules, pool, evm: OnceLock::new() }
    }

    /// Sets the chain, whose pool is asked for transactions that exports follow; the first call counts.
    pub(super) fn set_chain(&self, evm: &Arc<Evm>) {
        // A second call is a defect of the wiring that changes nothing.
        let _already = self.evm.set(Arc::downgrade(evm));
    }

    /// The chain's context.
    pub const fn context(&self) -> &ChainContext {
        &self.context
    }

    /// Transactions that wait for a block.
    pub const fn pool(&self) -> &AtomicPool {
        &self.pool
    }
}

/// The C-Chain and its atomic transactions.
#[derive(Clone, Debug)]
pub struct Nat {
    pub(super) evm: Arc<Evm>,
    pub(super) extension: Arc<AtomicExtension>,
}

impl Nat {
    /// Like [`Self::new`], for a chain and an extension that know each other.
    pub(crate) const fn over(evm: Arc<Evm>, extension: Arc<AtomicExtension>) -> Self {
        Self { evm, extension }
    }

    /// The chain.
    pub const fn evm(&self) -> &Arc<Evm> {
        &self.evm
    }

    /// The extension.
    pub const fn extension(&self) -> &Arc<AtomicExtension> {
        &self.extension
    }

    /// The extension, for what must not keep it.
    pub(crate) fn weak_extension(&self) -> Weak<AtomicExtension> {
        Arc::downgrade(&self.extension)
    }

    /// The chain's context: names, clock, store.
    pub fn context(&self) -> &ChainContext {
        self.extension.context()
    }

    /// Transactions that wait for a block.
    pub fn pool(&self) -> &AtomicPool {
        self.extension.pool()
    }

    /// Wei a gas, in a block that would be made now.
    pub fn next_base_fee(&self) -> Result<U256, RuleError> {
        let head = self.evm.head();
        let time = self.context().clock.now_s().max(head.header.time);
        Ok(self.evm.params().rules.next_terms(&head.header, time)?.base_fee)
    }

    /// The rules of the last block. A genesis may be older than all rules that blocks are executed by: above it the
    /// rules of the next block hold.
    pub(crate) fn phase(&self) -> Result<PhaseRules, RuleError> {
        let head = self.evm.head();
        let time = match head.header.number {
            0 => self.context().clock.now_s().max(head.header.time),
            _ => head.header.time,
        };
        Ok(self.extension.rules.phase_at(time)?)
    }

    /// Height of the last block that a reader shows.
    pub(super) fn height(&self, reader: &dyn KvRead) -> StorageResult<u64> {
        match self.evm.view(reader).tip() {
            Ok(tip) => Ok(tip.height),
            Err(ChainReadError::Storage(error)) => Err(error),
            Err(other) => Err(StorageError::Corrupted(other.to_string())),
        }
    }
}
