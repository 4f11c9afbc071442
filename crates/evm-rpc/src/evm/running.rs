//! Running unsigned calls on the state after an accepted block (docs/protocol/c-chain-execution.md, "Calls").

use std::sync::Arc;

use alloy_primitives::{B256, Bytes, KECCAK256_EMPTY, U256};
use esker_evm::oracle::next_base_fee;
use esker_evm::view::{StateSnapshot, ViewError};
use esker_evm_execution::call::{
    self, AccountOverride, BlockOverrides, CallEnv, CallError, CallLimits, CallOutcome,
    CallRequest, Estimates, StateOverrides,
};
use esker_evm_execution::executor::{BlockContext, BlockHashes, Bounds, Stop};
use esker_evm_execution::rules::BlockPoint;
use esker_evm_state::state::StateError;
use esker_evm_state::types::SealedHeader;
use esker_rpc::{CallContext, CallNotes, RpcError};

use super::printing::{ObservedCall, any_outcome, failed_outcome};
use super::transact::TransactApi;
use crate::error::read_error;
use crate::wire::call as args;
use crate::wire::{Addr, Big, BlockNumber, BlockNumberOrHash, Data, Uint64};

/// JSON-RPC code of a revert.
pub(super) const REVERTED: i64 = 3;

pub(crate) const LATEST: BlockNumberOrHash = BlockNumberOrHash::Number(BlockNumber::Latest);

/// What a transfer to an account without code costs.
const TRANSFER_GAS: u64 = 21_000;

const PENDING: BlockNumberOrHash = BlockNumberOrHash::Number(BlockNumber::Pending);

/// The block on whose state an unsigned call runs.
#[derive(Clone, Debug)]
pub(crate) struct CallBlock {
    /// That block.
    pub(crate) header: Arc<SealedHeader>,
    /// Whether code sees the block that would be built on it now, rather than this one.
    is_next: bool,
    /// Whether it is the block that a development node would build now.
    is_pending: bool,
}

pub(super) type Overrides = (Option<args::StateOverrides>, Option<args::BlockOverrides>);

/// Gas that code gets where it runs on the thread that serves the connection: enough for the usual getter,
/// well below a millisecond whatever it is spent on.
const TRY_GAS: u64 = 60_000;

impl TransactApi {
    /// The place of a block parameter: `pending` is the next block, on the state of the last one, or on a development
    /// node the block that would be built now.
    pub(crate) fn place(&self, at: BlockNumberOrHash) -> Result<CallBlock, RpcError> {
        let header = self.reads.header_of_state(at)?;
        let is_pending = self.reads.is_pending(at);
        Ok(CallBlock { header, is_next: at == PENDING && !is_pending, is_pending })
    }

    /// The next block after that of a parameter.
    pub(super) fn place_after(&self, at: BlockNumberOrHash) -> Result<CallBlock, RpcError> {
        Ok(CallBlock { is_next: true, ..self.place(at)? })
    }

    /// The place of what is estimated: without a parameter it is to be sent, into the next block on the state of the last
    /// one.
    pub(super) fn place_of_estimate(
        &self,
        at: Option<BlockNumberOrHash>,
    ) -> Result<CallBlock, RpcError> {
        match at {
            Some(at) => self.place(at),
            None => {
                let header = self.reads.chain.head();
                Ok(CallBlock { header, is_next: true, is_pending: false })
            }
        }
    }

    /// Makes a call, which `method` asks for.
    pub(super) fn call(
        &self,
        method: &'static str,
        request: &CallRequest,
        at: BlockNumberOrHash,
        (state, block): Overrides,
        context: &CallContext,
    ) -> Result<CallOutcome, RpcError> {
        let (mut state, block) = (state_overrides(state), block_overrides(block));
        let place = self.place(at)?;
        self.fund_sender(request, &place, &mut state)?;
        self.at(&place, request, context, |env, limits| {
            let observed = ObservedCall {
                method: Some(method),
                request,
                notes: context.notes(),
                overrides: (&state, &block),
                outcome: any_outcome,
            };
            let call = |limits: &CallLimits<'_>| call::call(env, request, &state, &block, limits);
            self.observing(env, observed, limits, call)
        })
    }

    /// [`Self::call`] as a try; `None`: the try was inconclusive.
    pub(super) fn try_call(
        &self,
        method: &'static str,
        request: &CallRequest,
        at: BlockNumberOrHash,
        notes: &CallNotes,
    ) -> Result<Option<CallOutcome>, RpcError> {
        let place = self.place(at)?;
        let (mut state, block) = (StateOverrides::default(), BlockOverrides::default());
        self.fund_sender(request, &place, &mut state)?;
        let bounds = Bounds { try_gas: Some(TRY_GAS), ..Bounds::default() };
        self.run(&place, request, bounds, |env, limits| {
            let (method, overrides) = (Some(method), (&state, &block));
            let outcome = any_outcome;
            let observed = ObservedCall { method, request, notes, overrides, outcome };
            match self.observing(env, observed, limits, |limits| {
                call::call(env, request, &state, &block, limits)
            }) {
                Err(CallError::TryEnded) => Ok(None),
                result => result.map(Some),
            }
        })
    }

    /// Estimates gas. What the code of a `method` prints is reported; `None`: no client asks.
    pub(super) fn estimate(
        &self,
        method: Option<&'static str>,
        request: &CallRequest,
        at: Option<BlockNumberOrHash>,
        state: &StateOverrides,
        context: &CallContext,
    ) -> Result<u64, RpcError> {
        let place = self.place_of_estimate(at)?;
        let mut state = state.clone();
        self.fund_sender(request, &place, &mut state)?;
        // What the node estimates for a send may be in a block that differs from the one of the estimate.
        let is_exact = method.is_some() && self.reads.stands_for_tool();
        let estimated = self.at(&place, request, context, |env, limits| {
            let estimates = match limits.estimates {
                Estimates::Usual if is_exact => Estimates::Exact,
                estimates => estimates,
            };
            let limits = &CallLimits { estimates, ..*limits };
            let (notes, outcome) = (context.notes(), failed_outcome);
            let overrides = (&state, &BlockOverrides::default());
            let observed = ObservedCall { method, request, notes, overrides, outcome };
            self.observing(env, observed, limits, |limits| {
                self.estimate_at(&place, env, request, &state, limits)
            })
        })?;
        Ok(self.shown_estimate(method, estimated))
    }

    /// The estimate that a client gets: of a transfer, that of Hardhat's node is one more than what it costs.
    fn shown_estimate(&self, method: Option<&str>, gas: u64) -> u64 {
        let is_for_client = method.is_some() && self.reads.config.hardhat_answers;
        if is_for_client && gas == TRANSFER_GAS { gas + 1 } else { gas }
    }

    /// Lets the sender of a call pay for it, as Hardhat's node does, which asks for no balance.
    fn fund_sender(
        &self,
        request: &CallRequest,
        place: &CallBlock,
        overrides: &mut StateOverrides,
    ) -> Result<(), RpcError> {
        if !self.reads.config.hardhat_answers {
            return Ok(());
        }
        let from = request.from.unwrap_or_default();
        let price = request.gas_price.or(request.max_fee_per_gas).unwrap_or_default();
        let gas = U256::from(request.gas.unwrap_or(self.config.gas_cap));
        let needed = gas.saturating_mul(price).saturating_add(request.value.unwrap_or_default());
        if needed.is_zero() {
            return Ok(());
        }
        // An estimate asks for more than the value.
        let needed = needed.saturating_add(U256::from(1));
        let (state, _) = self.state_of(place)?;
        let account = state.view().account(&from).map_err(read_error)?.unwrap_or_default();
        let overridden = overrides.0.entry(from).or_default();
        let balance = overridden.balance.unwrap_or(account.balance);
        if balance < needed {
            overridden.balance = Some(needed);
        }
        Ok(())
    }

    fn estimate_at(
        &self,
        place: &CallBlock,
        env: &CallEnv<'_>,
        request: &CallRequest,
        state: &StateOverrides,
        limits: &CallLimits<'_>,
    ) -> Result<u64, CallError> {
        if !place.is_next {
            return call::estimate_gas(env, request, state, limits);
        }
        let later = self.next_block(&place.header, request, env.block.time + 1);
        call::estimate_gas_for_next(env, &later, request, state, limits)
    }

    /// Gas that a transaction needs which is sent now. Brief work gets it where code runs for a moment at most, such
    /// as for a plain transfer.
    pub(super) fn estimate_for_next(
        &self,
        request: &CallRequest,
        context: &CallContext,
    ) -> Result<u64, RpcError> {
        let state = StateOverrides::default();
        if !context.is_brief() {
            return self.estimate(None, request, None, &state, context);
        }
        let place = self.place_of_estimate(None)?;
        self.try_estimate(&place, request, context.notes())?.ok_or_else(|| {
            context.leave_short_lane();
            self.refusal(CallError::TryEnded)
        })
    }

    /// The estimate, where code runs for a moment at most.
    fn try_estimate(
        &self,
        place: &CallBlock,
        request: &CallRequest,
        notes: &CallNotes,
    ) -> Result<Option<u64>, RpcError> {
        let mut state = StateOverrides::default();
        self.fund_sender(request, place, &mut state)?;
        let bounds = Bounds { try_gas: Some(TRY_GAS), ..Bounds::default() };
        self.run(place, request, bounds, |env, limits| {
            let (method, outcome) = (None, failed_outcome);
            let overrides = (&state, &BlockOverrides::default());
            let observed = ObservedCall { method, request, notes, overrides, outcome };
            match self.observing(env, observed, limits, |limits| {
                self.estimate_at(place, env, request, &state, limits)
            }) {
                Err(CallError::TryEnded) => Ok(None),
                result => result.map(Some),
            }
        })
    }

    /// The estimate of a transfer to an account without code; `None` of anything else.
    pub(super) fn estimate_of_transfer(
        &self,
        request: &CallRequest,
        at: Option<BlockNumberOrHash>,
    ) -> Result<Option<u64>, RpcError> {
        let Some(to) = request.to.filter(|_| request.input.is_empty()) else { return Ok(None) };
        let place = self.place_of_estimate(at)?;
        let state = self.reads.chain.state_after(&place.header).map_err(read_error)?;
        let account = state.view().account(&to).map_err(read_error)?.unwrap_or_default();
        if account.code_hash != KECCAK256_EMPTY {
            return Ok(None);
        }
        let estimated = self.try_estimate(&place, request, &CallNotes::default())?;
        Ok(estimated.map(|gas| self.shown_estimate(Some("evm_estimateGas"), gas)))
    }

    /// Runs `work` on the state after a block, within the limits of calls.
    pub(crate) fn at<R>(
        &self,
        place: &CallBlock,
        request: &CallRequest,
        context: &CallContext,
        work: impl FnOnce(&CallEnv<'_>, &CallLimits<'_>) -> Result<R, CallError>,
    ) -> Result<R, RpcError> {
        let max_ms = u64::try_from(self.config.max_duration.as_millis()).unwrap_or(u64::MAX);
        let deadline_ms = match max_ms {
            0 => u64::MAX,
            limit => self.limit_clock.now_ms().saturating_add(limit),
        };
        let stop = || {
            if context.is_cancelled() {
                return Some(Stop::Cancelled);
            }
            (deadline_ms != u64::MAX && self.limit_clock.now_ms() >= deadline_ms)
                .then_some(Stop::TimedOut)
        };
        self.run(place, request, Bounds { stop: Some(&stop), ..Bounds::default() }, work)
    }

    /// Runs `work` on the state after a block, with no more memory than calls may have.
    fn run<R>(
        &self,
        place: &CallBlock,
        request: &CallRequest,
        bounds: Bounds<'_>,
        work: impl FnOnce(&CallEnv<'_>, &CallLimits<'_>) -> Result<R, CallError>,
    ) -> Result<R, RpcError> {
        let (state, header) = self.state_of(place)?;
        let header = &*header;
        let hashes = Hashes { transact: self, newest: header.header.number };
        let env = CallEnv {
            chain: &self.chain,
            view: state.view(),
            state_point: BlockPoint::of(&header.header),
            block: match place.is_next {
                true => self.next_block(header, request, self.clock.now_s()),
                false => self.block_of(header, request),
            },
            hashes: &hashes,
        };
        let limits = CallLimits {
            gas_cap: self.config.gas_cap,
            bounds: Bounds { memory: Some(self.config.max_memory), ..bounds },
            timeout: self.config.max_duration,
            console: None,
            estimates: match self.reads.config.anvil_answers {
                true => Estimates::Anvil,
                false => Estimates::Usual,
            },
        };
        work(&env, &limits).map_err(|error| self.refusal(error))
    }

    /// The error of a call that gives no result.
    pub(super) fn refusal(&self, error: CallError) -> RpcError {
        if let Some(error) = self.anvil_refusal(&error) {
            return error;
        }
        match error {
            CallError::Failed(outcome) => self.failed(&outcome),
            CallError::State(error) => read_error(error),
            error => RpcError::new(error.to_string()),
        }
    }

    /// The error of a call whose code failed.
    pub(super) fn failed(&self, outcome: &CallOutcome) -> RpcError {
        if self.reads.config.hardhat_answers
            && let Some(error) = self.hardhat_failure(outcome.error.as_ref(), &outcome.output, None)
        {
            return error;
        }
        if let Some(error) = self.anvil_failure(outcome) {
            return error;
        }
        match self.revert_data(outcome) {
            Some(data) => {
                RpcError::with_code(REVERTED, self.message(outcome)).with_data(&Data(data.clone()))
            }
            None => RpcError::new(self.message(outcome)),
        }
    }

    /// The data of a revert that has an error code of its own: on a development network also of one without data.
    pub(super) fn revert_data<'a>(&self, outcome: &'a CallOutcome) -> Option<&'a Bytes> {
        match self.reads.config.is_development {
            true => outcome.has_reverted().then_some(&outcome.output),
            false => outcome.revert_data(),
        }
    }

    /// The state after a block. One that was pending is made anew if it is out of date.
    fn state_of(&self, place: &CallBlock) -> Result<(StateSnapshot, Arc<SealedHeader>), RpcError> {
        match self.reads.chain.state_after(&place.header) {
            Err(ViewError::TakenBack(_)) if place.is_pending => self.reads.state(PENDING),
            state => Ok((state.map_err(read_error)?, Arc::clone(&place.header))),
        }
    }

    /// The block of a header. At the tip, a price that the next block takes is not refused because the last one
    /// would not have taken it (docs/decisions.md, "Base fee of a call").
    pub(crate) fn block_of(&self, header: &SealedHeader, request: &CallRequest) -> BlockContext {
        let mut block = BlockContext::for_call(&self.chain, &header.header);
        if is_below(request, block.base_fee) && self.reads.chain.head().hash == header.hash {
            let next = next_base_fee(&*self.chain.rules, &header.header, self.clock.now_s());
            block.base_fee = next.map_or(block.base_fee, |next| next.min(block.base_fee));
        }
        self.accept_price(request, &mut block);
        block
    }

    /// The block that would be built on `parent` at `now_s` (Unix s). Here, too, a price that the parent took is
    /// not refused.
    fn next_block(&self, parent: &SealedHeader, request: &CallRequest, now_s: u64) -> BlockContext {
        let mut block = BlockContext::next(&self.chain, &parent.header, now_s);
        if is_below(request, block.base_fee) {
            let last = parent.header.base_fee.unwrap_or(block.base_fee);
            block.base_fee = last.min(block.base_fee);
        }
        self.accept_price(request, &mut block);
        block
    }

    /// No price of a call is too low, if the settings say so.
    fn accept_price(&self, request: &CallRequest, block: &mut BlockContext) {
        if self.reads.config.calls_take_any_price && is_below(request, block.base_fee) {
            block.base_fee = request.gas_price.or(request.max_fee_per_gas).unwrap_or_default();
        }
    }
}

/// Whether a request offers a price below a base fee.
fn is_below(request: &CallRequest, base_fee: U256) -> bool {
    request.gas_price.or(request.max_fee_per_gas).is_some_and(|price| price < base_fee)
}

/// Hashes of accepted blocks, for code that runs on one of them.
pub(crate) struct Hashes<'a> {
    pub(crate) transact: &'a TransactApi,
    pub(crate) newest: u64,
}

impl BlockHashes for Hashes<'_> {
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        if number > self.newest {
            return Ok(None);
        }
        match self.transact.reads.chain.hash_at(number) {
            Ok(found) => Ok(found),
            Err(ViewError::State(error)) => Err(error),
            Err(ViewError::Storage(error)) => Err(StateError::Storage(error)),
            // The first stored block is so far below the oldest state that code reaches no block before it. A header
            // needs no state, and a damaged one has no hash.
            Err(
                ViewError::BeforeHistory { .. }
                | ViewError::StateGone(_)
                | ViewError::TakenBack(_)
                | ViewError::Damaged(_),
            ) => Ok(None),
        }
    }
}

pub(crate) fn state_overrides(given: Option<args::StateOverrides>) -> StateOverrides {
    let account = |account: args::AccountOverride| AccountOverride {
        balance: account.balance.map(|Big(balance)| balance),
        nonce: account.nonce.map(|Uint64(nonce)| nonce),
        code: account.code.map(|Data(code)| code),
        state: account.state,
        state_diff: account.state_diff,
    };
    let accounts = given.unwrap_or_default().0.into_iter();
    StateOverrides(accounts.map(|(address, change)| (address, account(change))).collect())
}

pub(crate) fn block_overrides(given: Option<args::BlockOverrides>) -> BlockOverrides {
    let given = given.unwrap_or_default();
    let big = |value: Option<Big>| value.map(|Big(value)| value);
    BlockOverrides {
        number: big(given.number),
        difficulty: big(given.difficulty),
        time: given.time.map(|Uint64(time)| time),
        gas_limit: given.gas_limit.map(|Uint64(gas)| gas),
        coinbase: given.coinbase.map(|Addr(coinbase)| coinbase),
        base_fee: big(given.base_fee),
        blob_base_fee: big(given.blob_base_fee),
    }
}
