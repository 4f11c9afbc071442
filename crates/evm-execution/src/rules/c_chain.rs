//! The interface of rules, and the C-Chain's rules.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256, address, hex};
use alloy_rlp::Encodable;
use esker_evm_state::types::{Account, AccountCodec, Block, Header};
use thiserror::Error;

use super::execution::{ExecutionRules, Revision, StorageKeys};
use super::fortuna::{CapacityError, GasState, STATE_BYTES};
use super::phase::{Phase, PhaseRules};
use super::window::{INITIAL_BASE_FEE, Parent, WINDOW_BYTES, Window, child_fee};
use super::{BlockGasCost, ForkSchedule, HeaderTerms, NextHeader, block_gas_cost};

/// The recipient of all fees: an address without a key.
pub const BLACKHOLE: Address = address!("0x0100000000000000000000000000000000000000");

/// The contract for beacon roots, if it is deployed (EIP-4788).
const BEACON_ROOTS: Address = address!("0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02");

/// Predicate results of a block without predicates: codec version 0, an empty map.
const NO_PREDICATE_RESULTS: [u8; 6] = [0; 6];

/// Constants of a network file that replace those of all phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeeOverrides {
    /// Gas limit of blocks.
    pub gas_limit: Option<u64>,
    /// Target gas of the fee window.
    pub target_gas: Option<u64>,
    /// Minimum base fee, wei; also the base fee of the first block.
    pub min_base_fee: Option<u64>,
    /// Block gas cost for each second that a block is too early; 0 makes blocks in quick succession free.
    pub block_gas_cost_step: Option<u64>,
}

/// Why fees can't be computed or are wrong. Texts are the reference's, if it has one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FeeRuleError {
    /// The block belongs to the chain's early history.
    #[error(
        "block time {0} is before Apricot 5: blocks of that history are not executed by this node"
    )]
    BeforeApricot5(u64),
    /// The block is older than its parent.
    #[error("timestamp less than parent's")]
    TimeBeforeParent,
    /// The parent's header lacks a field that the fee depends on.
    #[error("parent header has no {0}")]
    BadParent(&'static str),
    /// The fee window in the extra data does not follow from the parent.
    #[error("expected rollup window bytes: {}, found {}", hex::encode(want), hex::encode(got))]
    Window {
        /// The expected value.
        want: Bytes,
        /// The value in the header.
        got: Bytes,
    },
    /// The gas state of Fortuna does not follow from the parent and the gas used.
    #[error("incorrect fee state: expected {want}, found {got}")]
    GasState {
        /// The expected value.
        want: GasState,
        /// The value in the header.
        got: GasState,
    },
    /// The header has no base fee.
    #[error("expected baseFee to be non-nil")]
    NoBaseFee,
    /// The base fee is wrong.
    #[error("expected base fee ({want}), found ({got})")]
    BaseFee {
        /// Wei.
        want: U256,
        /// Wei.
        got: U256,
    },
    /// The gas limit is wrong.
    #[error("expected gas limit to be {want} in {phase:?}, but found {got}")]
    GasLimit {
        /// Gas.
        want: u64,
        /// Gas.
        got: u64,
        /// The phase with this rule.
        phase: Phase,
    },
    /// The block gas cost is wrong.
    #[error("invalid blockGasCost: have {got}, want {want}")]
    BlockGasCost {
        /// Gas.
        want: BlockGasCost,
        /// Gas.
        got: U256,
    },
    /// The block used more gas than the capacity of Fortuna.
    #[error(transparent)]
    Capacity(#[from] CapacityError),
}

/// The terms of a block, which follow from its parent and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildTerms {
    /// The rules at the time of the block.
    pub phase: PhaseRules,
    /// Gas limit of the header.
    pub gas_limit: u64,
    /// Gas that may be used: the gas limit, or the capacity under Fortuna.
    pub gas_available: u64,
    /// Base fee, wei.
    pub base_fee: U256,
    /// Gas that tips must pay for.
    pub block_gas_cost: BlockGasCost,
    /// Recipient of the fees.
    pub coinbase: Address,
    /// The mix digest: zero without a control record.
    pub random: B256,
    fee_state: FeeState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FeeState {
    Window(Window),
    Gas(GasState),
}

impl ChildTerms {
    /// These terms with the header fields of a control record.
    #[must_use]
    pub fn with(mut self, set: &HeaderTerms) -> Self {
        if let Some(gas_limit) = set.gas_limit {
            self.set_gas_limit(gas_limit);
        }
        self.base_fee = set.base_fee.unwrap_or(self.base_fee);
        self.coinbase = set.coinbase.unwrap_or(self.coinbase);
        self.random = set.random.unwrap_or(self.random);
        self
    }

    /// Sets the gas limit. Under Fortuna the capacity also limits the gas.
    fn set_gas_limit(&mut self, gas_limit: u64) {
        self.gas_limit = gas_limit;
        if matches!(self.fee_state, FeeState::Window(_)) {
            self.gas_available = gas_limit;
        }
    }
}

/// A set of rules.
pub trait Rules: AccountCodec {
    /// The chain's EIP-155 number.
    fn chain_id(&self) -> u64;

    /// Whether transactions without a key's signature are valid: on development networks
    /// (docs/protocol/c-chain-blocks.md, "Impersonated senders").
    fn allows_impersonation(&self) -> bool {
        false
    }

    /// The times at which phases begin.
    fn schedule(&self) -> &ForkSchedule;

    /// The rules at a time in Unix s.
    fn phase_at(&self, time: u64) -> Result<PhaseRules, FeeRuleError>;

    /// Fees and limits of a child at `time`, Unix s.
    fn child_terms(&self, parent: &Header, time: u64) -> Result<ChildTerms, FeeRuleError>;

    /// As [`Self::child_terms`], for the block that would be built now, with the header fields that a development
    /// node will set.
    fn next_terms(&self, parent: &Header, time: u64) -> Result<ChildTerms, FeeRuleError> {
        self.child_terms(parent, time)
    }

    /// Whether a development node will set the base fee of the next block.
    fn sets_next_base_fee(&self) -> bool {
        false
    }

    /// Extra data of a child that uses this much gas in transactions and in ext data.
    fn child_extra(
        &self,
        terms: &ChildTerms,
        gas_used: u64,
        ext_data_gas_used: u64,
    ) -> Result<Bytes, FeeRuleError>;

    /// Checks the part of a child's extra data that fees depend on.
    fn check_extra(
        &self,
        terms: &ChildTerms,
        extra: &Bytes,
        gas_used: u64,
        ext_data_gas_used: u64,
    ) -> Result<(), FeeRuleError>;

    /// Base fee of the first block after genesis, wei. A genesis without a base fee also shows it, since wallets use
    /// the last block.
    fn initial_base_fee(&self) -> U256;

    /// Length of the part that [`Self::check_extra`] checks. Predicate results follow it, if the phase has them.
    fn extra_prefix_length(&self, phase: &PhaseRules) -> usize;

    /// Predicate results of a block without predicates; `None` if the phase has no predicates.
    fn no_predicate_results(&self, phase: &PhaseRules) -> Option<&'static [u8]>;

    /// The slot of a storage key (docs/protocol/c-chain-state.md, "Storage keys").
    fn storage_slot(&self, key: U256) -> U256;

    /// The contract of the system call before a block's first transaction.
    fn system_call(&self, rules: &ExecutionRules) -> Option<Address>;

    /// Recipient of all fees, base fee included.
    fn fee_recipient(&self) -> Address;

    /// Decodes a block.
    fn decode_block(&self, bytes: &[u8]) -> alloy_rlp::Result<Block>;

    /// A block's bytes.
    fn encode_block(&self, block: &Block) -> Vec<u8>;

    /// A block's hash.
    fn block_hash(&self, header: &Header) -> B256;
}

/// The C-Chain's rules.
#[derive(Clone, Debug)]
pub struct CChainRules {
    /// Header fields of the next block on a development node.
    next_header: Option<Arc<NextHeader>>,
    chain_id: u64,
    schedule: ForkSchedule,
    overrides: FeeOverrides,
    is_development: bool,
}

impl CChainRules {
    /// Rules of a network.
    pub const fn new(chain_id: u64, schedule: ForkSchedule, overrides: FeeOverrides) -> Self {
        Self { next_header: None, chain_id, schedule, overrides, is_development: false }
    }

    /// The rules of a development network.
    #[must_use]
    pub fn for_development(self) -> Self {
        Self { is_development: true, ..self }
    }

    /// Adds the header fields that the next block will set.
    #[must_use]
    pub fn with_next_header(self, next: Arc<NextHeader>) -> Self {
        Self { next_header: Some(next), ..self }
    }

    /// Window and base fee of a child before Fortuna. The rules are those of the parent's time.
    fn window_fee(&self, parent: &Header, time: u64) -> Result<(Window, U256), FeeRuleError> {
        // A parent of the early history is genesis on every network that this software runs.
        let parent_rules = match self.phase_at(parent.time) {
            Ok(rules) if parent.number > 0 => rules,
            _ => return Ok((Window::default(), self.initial_base_fee())),
        };
        let window = Window::parse(&parent.extra).ok_or(FeeRuleError::BadParent("fee window"))?;
        let base_fee = parent.base_fee.ok_or(FeeRuleError::BadParent("base fee"))?;
        let ext_gas = parent.ext_data_gas_used.unwrap_or_default().saturating_to::<u64>();
        let gas_used = parent.gas_used.saturating_add(ext_gas);
        let terms = Parent { window, base_fee, gas_used };
        Ok(child_fee(&parent_rules, &terms, time - parent.time))
    }

    /// The gas state at the start of a child under Fortuna.
    fn gas_state(&self, parent: &Header, time: u64) -> Result<GasState, FeeRuleError> {
        let is_fortuna =
            self.phase_at(parent.time).is_ok_and(|rules| rules.at_least(Phase::Fortuna));
        // The first block of Fortuna and the first block after genesis start with an empty state.
        let state = if is_fortuna && parent.number > 0 {
            GasState::parse(&parent.extra).ok_or(FeeRuleError::BadParent("gas state"))?
        } else {
            GasState::default()
        };
        Ok(state.advance_time(time - parent.time))
    }
}

impl AccountCodec for CChainRules {
    fn encode_account(&self, account: &Account, out: &mut Vec<u8>) {
        account.encode(out);
    }
}

impl Rules for CChainRules {
    fn chain_id(&self) -> u64 {
        self.chain_id
    }

    fn allows_impersonation(&self) -> bool {
        self.is_development
    }

    fn schedule(&self) -> &ForkSchedule {
        &self.schedule
    }

    fn phase_at(&self, time: u64) -> Result<PhaseRules, FeeRuleError> {
        let phase = self.schedule.phase_at(time).ok_or(FeeRuleError::BeforeApricot5(time))?;
        let mut rules = phase.rules();
        let FeeOverrides { gas_limit, target_gas, min_base_fee, block_gas_cost_step } =
            self.overrides;
        rules.gas_limit = gas_limit.unwrap_or(rules.gas_limit);
        rules.target_gas = target_gas.unwrap_or(rules.target_gas);
        rules.min_base_fee = min_base_fee.unwrap_or(rules.min_base_fee);
        rules.block_gas_cost_step = block_gas_cost_step.unwrap_or(rules.block_gas_cost_step);
        Ok(rules)
    }

    fn initial_base_fee(&self) -> U256 {
        U256::from(self.overrides.min_base_fee.unwrap_or(INITIAL_BASE_FEE))
    }

    fn child_terms(&self, parent: &Header, time: u64) -> Result<ChildTerms, FeeRuleError> {
        if time < parent.time {
            return Err(FeeRuleError::TimeBeforeParent);
        }
        let phase = self.phase_at(time)?;
        let step = phase.block_gas_cost_step;
        let block_gas_cost = block_gas_cost(parent.block_gas_cost, step, parent.time, time);
        if phase.at_least(Phase::Fortuna) {
            let state = self.gas_state(parent, time)?;
            return Ok(ChildTerms {
                gas_limit: self.overrides.gas_limit.unwrap_or(state.max_capacity()),
                gas_available: state.capacity,
                base_fee: U256::from(state.price()).max(phase.min_base_fee_wei()),
                block_gas_cost,
                coinbase: self.fee_recipient(),
                random: B256::ZERO,
                fee_state: FeeState::Gas(state),
                phase,
            });
        }
        let (window, base_fee) = self.window_fee(parent, time)?;
        Ok(ChildTerms {
            gas_limit: phase.gas_limit,
            gas_available: phase.gas_limit,
            base_fee,
            block_gas_cost,
            coinbase: self.fee_recipient(),
            random: B256::ZERO,
            fee_state: FeeState::Window(window),
            phase,
        })
    }

    fn next_terms(&self, parent: &Header, time: u64) -> Result<ChildTerms, FeeRuleError> {
        let terms = self.child_terms(parent, time)?;
        Ok(match &self.next_header {
            Some(next) => terms.with(&next.get()),
            None => terms,
        })
    }

    fn sets_next_base_fee(&self) -> bool {
        self.next_header.as_ref().is_some_and(|next| next.get().base_fee.is_some())
    }

    fn child_extra(
        &self,
        terms: &ChildTerms,
        gas_used: u64,
        ext_data_gas_used: u64,
    ) -> Result<Bytes, FeeRuleError> {
        let mut extra = Vec::with_capacity(WINDOW_BYTES.max(STATE_BYTES) + 6);
        match terms.fee_state {
            FeeState::Window(window) => extra.extend_from_slice(&window.to_bytes()),
            FeeState::Gas(state) => {
                extra
                    .extend_from_slice(&state.consume_gas(gas_used, ext_data_gas_used)?.to_bytes());
            }
        }
        if let Some(results) = self.no_predicate_results(&terms.phase) {
            extra.extend_from_slice(results);
        }
        Ok(extra.into())
    }

    fn check_extra(
        &self,
        terms: &ChildTerms,
        extra: &Bytes,
        gas_used: u64,
        ext_data_gas_used: u64,
    ) -> Result<(), FeeRuleError> {
        match terms.fee_state {
            FeeState::Window(window) => {
                let want = window.to_bytes();
                if !extra.starts_with(&want) {
                    let (want, got) = (Bytes::copy_from_slice(&want), extra.clone());
                    return Err(FeeRuleError::Window { want, got });
                }
            }
            FeeState::Gas(state) => {
                let got = GasState::parse(extra).ok_or(FeeRuleError::BadParent("gas state"))?;
                // The block votes: its target counts, as far as one block may change the target.
                let used = state.consume_gas(gas_used, ext_data_gas_used)?;
                let want = used.update_target_excess(got.target_excess);
                if want != got {
                    return Err(FeeRuleError::GasState { want, got });
                }
            }
        }
        Ok(())
    }

    fn extra_prefix_length(&self, phase: &PhaseRules) -> usize {
        if phase.at_least(Phase::Fortuna) { STATE_BYTES } else { WINDOW_BYTES }
    }

    fn no_predicate_results(&self, phase: &PhaseRules) -> Option<&'static [u8]> {
        phase.execution.warp.then_some(&NO_PREDICATE_RESULTS)
    }

    fn storage_slot(&self, key: U256) -> U256 {
        StorageKeys::Separated.slot(key)
    }

    fn system_call(&self, rules: &ExecutionRules) -> Option<Address> {
        (rules.revision >= Revision::Cancun).then_some(BEACON_ROOTS)
    }

    fn fee_recipient(&self) -> Address {
        BLACKHOLE
    }

    fn decode_block(&self, bytes: &[u8]) -> alloy_rlp::Result<Block> {
        Block::parse(bytes)
    }

    fn encode_block(&self, block: &Block) -> Vec<u8> {
        block.to_bytes()
    }

    fn block_hash(&self, header: &Header) -> B256 {
        header.hash()
    }
}
