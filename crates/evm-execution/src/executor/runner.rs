//! revm with the parts of this chain.

use std::fmt;

use alloy_eips::eip2930::AccessList;
use alloy_eips::eip7702::{RecoveredAuthority, RecoveredAuthorization, SignedAuthorization};
use alloy_primitives::{Address, Bytes, Log, U256};
use esker_evm_state::not_fetched::{LackingCall, NotFetched, Want};
use esker_evm_state::state::StateError;
use esker_evm_state::types::Transaction;
use revm::context::{BlockEnv, CfgEnv, Evm, LocalContext, TxEnv};
use revm::context_interface::block::BlobExcessGasAndPrice;
use revm::context_interface::context::ContextError;
use revm::context_interface::either::Either;
use revm::context_interface::result::{EVMError, ExecutionResult};
use revm::handler::Handler;
use revm::inspector::{InspectorHandler, NoOpInspector};
use revm::interpreter::interpreter::EthInterpreter;
use revm::primitives::AddressSet;
use revm::primitives::hardfork::SpecId;

use super::called::CalledAccounts;
use super::check::{WARP, check};
use super::control_values::{CHAIN_ID_KEY, chain_id_of};
use super::database::DatabaseError;
use super::env::{ChainEnv, EvmContext};
use super::handler::{ChainHandler, Machine};
use super::precompiles::{MovedPrecompiles, Precompiles};
use super::refund_counter::RefundCounter;
use super::stop_meter::StopMeter;
use super::{
    BlockContext, Bounds, MachineParams, Message, StateOverlay, TxError, VmError, check_chain_id,
    instructions, recover_signer, storage,
};
use crate::console::ConsoleCalls;
use crate::rules::{ExecutionRules, Revision};

pub(crate) use revm::Inspector;
pub(crate) use revm::bytecode::opcode;
pub(crate) use revm::interpreter;

/// The outcome of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionEnd {
    /// The error with which the message ended, if any.
    pub error: Option<VmError>,
    /// Gas used.
    pub gas_used: u64,
    /// Gas used before the refund.
    pub max_gas_used: u64,
    /// Returned data, also that of a revert.
    pub output: Bytes,
    /// The logs; none after an error.
    pub logs: Vec<Log>,
}

/// Executes messages one after the other on a [`StateOverlay`].
pub struct Runner<'a, I = NoOpInspector> {
    pub(super) machine: Machine<'a, I>,
}

impl<I> fmt::Debug for Runner<'_, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("state", self.state_ref()).finish_non_exhaustive()
    }
}

type RunError = EVMError<DatabaseError>;

impl<'a> Runner<'a> {
    /// A runner without inspector.
    pub fn new(
        chain: &MachineParams,
        state: StateOverlay<'a>,
        block: &BlockContext,
        bounds: Bounds<'a>,
    ) -> Self {
        Self::with_inspector(chain, state, block, bounds, NoOpInspector)
    }
}

impl<'a, I> Runner<'a, I> {
    /// A runner whose [`Self::inspect`] shows every step to an inspector.
    pub fn with_inspector(
        chain: &MachineParams,
        mut state: StateOverlay<'a>,
        block: &BlockContext,
        bounds: Bounds<'a>,
        inspector: I,
    ) -> Self {
        let spec = spec_of(block.rules.revision);
        state.set_revision(block.rules.revision);
        let context = EvmContext {
            block: BlockEnv::default(),
            tx: TxEnv::default(),
            cfg: cfg(chain, &block.rules, bounds),
            journaled_state: revm::context_interface::JournalTr::new(state),
            chain: ChainEnv {
                chain: chain.clone(),
                knows_chain_id: false,
                rules: block.rules,
                base_fee: U256::ZERO,
                gas_price: U256::ZERO,
                prepaid: U256::ZERO,
                intrinsic_gas: 0,
                floor_gas: 0,
                withheld_gas: 0,
                end: None,
                failure: None,
                bounds,
                meter: StopMeter::new(),
                stopped: None,
                frame_error: None,
                skips_steps: false,
                refunds: RefundCounter::default(),
                refund_shown: 0,
                destroyed: None,
                console: None,
                called: None,
            },
            local: LocalContext::default(),
            error: Ok(()),
        };
        let machine = Evm::new_with_inspector(
            context,
            inspector,
            instructions::table(block.rules.revision, spec, bounds),
            Precompiles::new(&block.rules),
        );
        let mut runner = Self { machine };
        runner.machine.ctx.journaled_state.inner.set_spec_id(spec);
        runner.set_block(block);
        runner
    }

    /// Continues in another block with the same rules.
    pub fn set_block(&mut self, block: &BlockContext) {
        let BlockContext { number, time, gas_limit, base_fee, coinbase, difficulty, .. } = *block;
        let blob_gasprice = block.blob_base_fee.saturating_to();
        self.machine.ctx.block = BlockEnv {
            number,
            beneficiary: coinbase,
            timestamp: U256::from(time),
            gas_limit,
            basefee: base_fee.saturating_to(),
            difficulty,
            prevrandao: Some(difficulty.into()),
            blob_excess_gas_and_price: Some(BlobExcessGasAndPrice {
                excess_blob_gas: 0,
                blob_gasprice,
            }),
            slot_num: 0,
        };
        self.machine.ctx.chain.base_fee = base_fee;
    }

    /// The state with the committed changes.
    pub fn state(&mut self) -> &mut StateOverlay<'a> {
        &mut self.machine.ctx.journaled_state.database
    }

    fn state_ref(&self) -> &StateOverlay<'a> {
        &self.machine.ctx.journaled_state.database
    }

    /// The chain ID in the state.
    pub(crate) fn chain_id(&mut self) -> Result<u64, StateError> {
        let context = &mut self.machine.ctx;
        let chain = &mut context.chain;
        if chain.chain.has_control_values && !chain.knows_chain_id {
            let slot = chain.rules.storage_keys.slot(CHAIN_ID_KEY);
            let stored = context.journaled_state.database.control_value(slot)?;
            let chain_id = chain_id_of(stored).unwrap_or(chain.chain.chain_id);
            (chain.chain.chain_id, context.cfg.chain_id) = (chain_id, chain_id);
            chain.knows_chain_id = true;
        }
        Ok(chain.chain.chain_id)
    }

    /// Checks that a transaction is for the chain with the ID in the state.
    ///
    /// # Errors
    /// It is for another chain, or the state can't be read.
    pub fn check_chain_id(&mut self, tx: &Transaction) -> Result<(), TxError> {
        Ok(check_chain_id(tx, self.chain_id()?)?)
    }

    /// Moves precompiled contracts to other addresses.
    pub(crate) fn move_precompiles(&mut self, moved: MovedPrecompiles) {
        self.machine.precompiles.move_to(moved);
    }

    /// Keeps from now on what each message prints.
    pub fn keep_console(&mut self) {
        self.machine.ctx.chain.console = Some(ConsoleCalls::default());
    }

    /// Takes what the last message printed.
    pub fn take_console(&mut self) -> ConsoleCalls {
        self.machine.ctx.chain.console.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Keeps from now on which accounts each message calls.
    pub(super) fn keep_called(&mut self) {
        self.machine.ctx.chain.called = Some(CalledAccounts::default());
    }

    /// The accounts that the last message called, each once, without precompiled contracts.
    pub(super) fn called(&mut self) -> impl Iterator<Item = Address> + '_ {
        let has_warp = self.machine.ctx.chain.rules.warp;
        let contracts = self.machine.precompiles.addresses();
        let called = self.machine.ctx.chain.called.as_mut().map(CalledAccounts::distinct);
        let is_precompiled =
            move |address: &Address| contracts.contains(address) || has_warp && *address == WARP;
        called.unwrap_or_default().iter().copied().filter(move |address| !is_precompiled(address))
    }

    /// The addresses of the precompiled contracts, without warp.
    pub(crate) fn precompiles(&self) -> &AddressSet {
        self.machine.precompiles.addresses()
    }

    /// The inspector.
    pub fn inspector(&mut self) -> &mut I {
        &mut self.machine.inspector
    }

    /// The context of code, and the inspector.
    pub(crate) fn context_and_inspector(&mut self) -> (&mut EvmContext<'a>, &mut I) {
        (&mut self.machine.ctx, &mut self.machine.inspector)
    }

    /// Returns the state and the inspector.
    pub fn into_parts(self) -> (StateOverlay<'a>, I) {
        (self.machine.ctx.journaled_state.database, self.machine.inspector)
    }

    /// Checks and executes a message. Call [`Self::commit`] or [`Self::discard`] afterwards.
    pub fn run(
        &mut self,
        block: &BlockContext,
        message: &Message,
    ) -> Result<ExecutionEnd, TxError> {
        let ended = self.run_once(block, message);
        self.look_ahead_after(ended, block, message)
    }

    fn run_once(
        &mut self,
        block: &BlockContext,
        message: &Message,
    ) -> Result<ExecutionEnd, TxError> {
        self.prepare(block, message)?;
        let result = ChainHandler::default().run(&mut self.machine);
        self.execution_end(result)
    }

    /// If the message lacked state of a forked chain, runs it once more to find out what else it lacks, so that all of it
    /// is fetched together.
    fn look_ahead_after(
        &mut self,
        ended: Result<ExecutionEnd, TxError>,
        block: &BlockContext,
        message: &Message,
    ) -> Result<ExecutionEnd, TxError> {
        let lacking = match &ended {
            Err(TxError::State(error)) => error.not_fetched().cloned(),
            _ => None,
        };
        let Some(lacking) = lacking else { return ended };
        self.discard();
        self.state().begin_look_ahead(lacking);
        let _wrong_result = self.run_once(block, message);
        self.discard();
        let all = self.state().end_look_ahead();
        all.map_or(ended, |all| Err(StateError::from(named(all, message)).into()))
    }

    /// As [`Self::run`], with the inspector.
    pub fn inspect(
        &mut self,
        block: &BlockContext,
        message: &Message,
    ) -> Result<ExecutionEnd, TxError>
    where
        I: Inspector<EvmContext<'a>, EthInterpreter>,
    {
        self.prepare(block, message)?;
        let result = ChainHandler::default().inspect_run(&mut self.machine);
        let ended = self.execution_end(result);
        self.look_ahead_after(ended, block, message)
    }

    fn prepare(&mut self, block: &BlockContext, message: &Message) -> Result<(), TxError> {
        let costs = check(block, message, self.state())?;
        self.chain_id()?;
        let context = &mut self.machine.ctx;
        context.tx = tx_env(message);
        let least = costs.intrinsic_gas.max(costs.floor_gas);
        let most = bounds_gas(context.chain.bounds, least);
        context.chain.withheld_gas = message.gas_limit.saturating_sub(most);
        context.tx.gas_limit = message.gas_limit.min(most);
        let chain = &mut context.chain;
        chain.gas_price = costs.price;
        // As in the reference, the base fee of a call without a price is 0.
        chain.base_fee = if message.is_free_call() { U256::ZERO } else { block.base_fee };
        chain.prepaid = costs.prepaid;
        chain.intrinsic_gas = costs.intrinsic_gas;
        chain.floor_gas = costs.floor_gas;
        chain.end = None;
        chain.destroyed = None;
        chain.refund_shown = 0;
        if let Some(console) = &mut chain.console {
            *console = ConsoleCalls::default();
        }
        if let Some(called) = &mut chain.called {
            called.clear();
        }
        Ok(())
    }

    fn execution_end(
        &mut self,
        result: Result<ExecutionResult, RunError>,
    ) -> Result<ExecutionEnd, TxError> {
        let error = self.machine.ctx.chain.end.take();
        match result {
            Ok(result) => {
                let gas_used = result.tx_gas_used();
                let max_gas_used = result.gas().total_gas_spent().max(gas_used);
                let (output, logs) = match result {
                    ExecutionResult::Success { output, logs, .. } => (output.into_data(), logs),
                    ExecutionResult::Revert { output, .. } => (output, Vec::new()),
                    ExecutionResult::Halt { .. } => (Bytes::new(), Vec::new()),
                };
                Ok(ExecutionEnd { error, gas_used, max_gas_used, output, logs })
            }
            Err(error) => {
                let kept = std::mem::replace(&mut self.machine.ctx.error, Ok(()));
                Err(match (self.machine.ctx.chain.stopped, kept, error) {
                    (Some(stop), _, _) => TxError::Stopped(stop),
                    (None, Err(ContextError::Db(error)), _)
                    | (None, _, EVMError::Database(error)) => TxError::State(error.0),
                    (None, _, error) => TxError::Machine(error.to_string()),
                })
            }
        }
    }

    /// Commits the last message's changes to the state.
    pub fn commit(&mut self) -> Result<(), StateError> {
        self.commit_burning(U256::ZERO)
    }

    /// As [`Self::commit`]. The burnt part of the message's fee, wei, does not count as destroyed.
    pub(super) fn commit_burning(&mut self, burnt: U256) -> Result<(), StateError> {
        let state = self.machine.ctx.journaled_state.inner.finalize();
        self.machine.ctx.journaled_state.database.commit(state, burnt)
    }

    /// Discards the last message's changes.
    pub fn discard(&mut self) {
        self.machine.ctx.journaled_state.inner.finalize();
    }
}

/// The fork of Ethereum with the instructions of a block.
fn spec_of(revision: Revision) -> SpecId {
    match revision {
        Revision::Frontier => SpecId::FRONTIER,
        Revision::Homestead => SpecId::HOMESTEAD,
        Revision::TangerineWhistle => SpecId::TANGERINE,
        Revision::SpuriousDragon => SpecId::SPURIOUS_DRAGON,
        Revision::Byzantium => SpecId::BYZANTIUM,
        // Constantinople differs by the gas of SSTORE only ([`super::storage`]).
        Revision::Constantinople | Revision::Petersburg => SpecId::PETERSBURG,
        Revision::Istanbul => SpecId::ISTANBUL,
        Revision::Berlin => SpecId::BERLIN,
        Revision::London => SpecId::LONDON,
        Revision::Paris => SpecId::MERGE,
        Revision::Shanghai => SpecId::SHANGHAI,
        Revision::Cancun => SpecId::CANCUN,
        Revision::Prague => SpecId::PRAGUE,
        Revision::Osaka => SpecId::OSAKA,
    }
}

fn cfg(chain: &MachineParams, rules: &ExecutionRules, bounds: Bounds<'_>) -> CfgEnv {
    let revision = rules.revision;
    let spec = spec_of(revision);
    let mut cfg = CfgEnv::new_with_spec(spec);
    cfg.chain_id = chain.chain_id;
    let memory = [bounds.memory, rules.limits.memory].into_iter().flatten().min();
    cfg.memory_limit = memory.unwrap_or(u64::MAX);
    // Calls have no such limit, and transactions are checked before.
    cfg.tx_gas_limit_cap = Some(u64::MAX);
    cfg.limit_contract_code_size = rules.limits.code_size;
    if revision == Revision::Constantinople {
        cfg.gas_params.override_gas(storage::constantinople_gas());
    }
    cfg
}

/// Most gas of a message, besides the least gas that it pays.
fn bounds_gas(bounds: Bounds<'_>, least: u64) -> u64 {
    bounds.try_gas.map_or(u64::MAX, |gas| least.saturating_add(gas))
}

fn tx_env(message: &Message) -> TxEnv {
    // The type decides whether revm reads the access list, the blobs and the authorizations. Prices are in `ChainEnv`.
    let tx_type = match (&message.authorization_list, &message.blob_hashes) {
        (Some(_), _) => 4,
        (None, Some(_)) => 3,
        (None, None) => 1,
    };
    let authorizations = message.authorization_list.iter().flatten();
    TxEnv {
        tx_type,
        caller: message.from,
        gas_limit: message.gas_limit,
        gas_price: 0,
        kind: message.kind(),
        value: message.value,
        data: message.input.clone(),
        nonce: message.nonce,
        chain_id: None,
        access_list: AccessList(message.access_list.0.clone()),
        gas_priority_fee: None,
        blob_hashes: message.blob_hashes.clone().unwrap_or_default(),
        max_fee_per_blob_gas: 0,
        authorization_list: authorizations.map(|signed| Either::Right(recovered(signed))).collect(),
    }
}

/// An authorization with the account whose key signed it.
fn recovered(signed: &SignedAuthorization) -> RecoveredAuthorization {
    let authorization = signed.inner();
    let signature = signed.signature().ok();
    let signer = signature.and_then(|it| recover_signer(&it, &authorization.signature_hash()));
    let authority = signer.map_or(RecoveredAuthority::Invalid, RecoveredAuthority::Valid);
    RecoveredAuthorization::new_unchecked(authorization.clone(), authority)
}

/// Names the message where code that is not known yet may read much else.
fn named(lacking: NotFetched, message: &Message) -> NotFetched {
    let has_unknown_code = lacking.wants().iter().any(|want| matches!(want, Want::Account(_)));
    if !has_unknown_code || message.to.is_some() && message.input.is_empty() {
        return lacking;
    }
    lacking.with_call(LackingCall {
        from: message.from,
        to: message.to,
        value: message.value,
        input: message.input.clone(),
        gas: message.gas_limit,
    })
}
