//! Fees of a block, which follow from its parent.

use alloy_primitives::{B256, Bytes, U256};
use esker_evm_state::types::Header;

use super::addresses::BLACKHOLE;
use super::block_gas_cost::block_gas_cost;
use super::extra::no_predicate_results;
use super::fee_error::FeeRuleError;
use super::fortuna::{GasState, STATE_BYTES};
use super::phase::{Phase, PhaseRules};
use super::rules::CChainRules;
use super::window::{Parent, WINDOW_BYTES, Window, child_fee};
use crate::rules::child_terms::ChildTerms;
use crate::rules::interface::Rules;

/// What the base fee of a block follows from. The block's extra data begins with it.
enum FeeState {
    /// Before Fortuna: the gas of the last seconds, and the base fee in wei.
    Window(Window, U256),
    /// From Fortuna on, before the block's own gas.
    Gas(GasState),
}

impl CChainRules {
    /// Fees and limits of a child of `parent` at `time`, Unix s.
    pub(super) fn terms(&self, parent: &Header, time: u64) -> Result<ChildTerms, FeeRuleError> {
        let (phase, state) = self.fee_state(parent, time)?;
        let step = phase.block_gas_cost_step;
        let (gas_limit, capacity, base_fee) = match state {
            FeeState::Window(_, base_fee) => (phase.gas_limit, None, base_fee),
            FeeState::Gas(state) => (
                self.overrides.gas_limit.unwrap_or(state.max_capacity()),
                Some(state.capacity),
                U256::from(state.price()).max(phase.min_base_fee_wei()),
            ),
        };
        Ok(ChildTerms {
            execution: phase.execution,
            gas_limit,
            capacity,
            base_fee,
            min_base_fee: phase.min_base_fee_wei(),
            block_gas_cost: block_gas_cost(parent.block_gas_cost, step, parent.time, time),
            ext_gas_limit: phase.atomic_gas_limit,
            coinbase: BLACKHOLE,
            random: B256::ZERO,
            difficulty: U256::from(1),
            blob_base_fee: U256::from(1),
            excess_blob_gas: phase.at_least(Phase::Etna).then_some(0),
        })
    }

    /// Extra data of a child that uses this much gas in transactions and in ext data.
    pub fn child_extra(
        &self,
        parent: &Header,
        time: u64,
        gas_used: u64,
        ext_data_gas_used: u64,
    ) -> Result<Bytes, FeeRuleError> {
        let (phase, state) = self.fee_state(parent, time)?;
        let mut extra = Vec::with_capacity(WINDOW_BYTES.max(STATE_BYTES) + 6);
        match state {
            FeeState::Window(window, _) => extra.extend_from_slice(&window.to_bytes()),
            FeeState::Gas(state) => {
                let used = state.consume_gas(gas_used, ext_data_gas_used)?;
                extra.extend_from_slice(&used.to_bytes());
            }
        }
        if let Some(results) = no_predicate_results(&phase) {
            extra.extend_from_slice(results);
        }
        Ok(extra.into())
    }

    /// Checks the part of a header's extra data that fees depend on.
    pub(super) fn check_extra(
        &self,
        parent: &Header,
        header: &Header,
        ext_data_gas_used: u64,
    ) -> Result<(), FeeRuleError> {
        let extra = &header.extra;
        match self.fee_state(parent, header.time)?.1 {
            FeeState::Window(window, _) => {
                let want = window.to_bytes();
                if !extra.starts_with(&want) {
                    let (want, got) = (Bytes::copy_from_slice(&want), extra.clone());
                    return Err(FeeRuleError::Window { want, got });
                }
            }
            FeeState::Gas(state) => {
                let got = GasState::parse(extra).ok_or(FeeRuleError::BadParent("gas state"))?;
                // The block votes: its target counts, as far as one block may change the target.
                let used = state.consume_gas(header.gas_used, ext_data_gas_used)?;
                let want = used.update_target_excess(got.target_excess);
                if want != got {
                    return Err(FeeRuleError::GasState { want, got });
                }
            }
        }
        Ok(())
    }

    fn fee_state(
        &self,
        parent: &Header,
        time: u64,
    ) -> Result<(PhaseRules, FeeState), FeeRuleError> {
        if time < parent.time {
            return Err(FeeRuleError::TimeBeforeParent);
        }
        let phase = self.phase_at(time)?;
        let state = match phase.at_least(Phase::Fortuna) {
            true => FeeState::Gas(self.gas_state(parent, time)?),
            false => {
                let (window, base_fee) = self.window_fee(parent, time)?;
                FeeState::Window(window, base_fee)
            }
        };
        Ok((phase, state))
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
