//! The block that code sees.

use alloy_primitives::{Address, U256};
use esker_evm_state::types::Header;

use super::ChainParams;
use crate::rules::{ChildTerms, ExecutionRules, FeeRuleError, Phase};

/// The values that instructions about the block return, and the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockContext {
    /// NUMBER.
    pub number: U256,
    /// TIMESTAMP, Unix s.
    pub time: u64,
    /// GASLIMIT.
    pub gas_limit: u64,
    /// BASEFEE, wei.
    pub base_fee: U256,
    /// COINBASE.
    pub coinbase: Address,
    /// DIFFICULTY. No phase has PREVRANDAO.
    pub difficulty: U256,
    /// BLOBBASEFEE, wei.
    pub blob_base_fee: U256,
    /// The rules of execution.
    pub rules: ExecutionRules,
}

impl BlockContext {
    /// The context of a block with this header.
    pub fn for_header(chain: &ChainParams, header: &Header) -> Result<Self, FeeRuleError> {
        Ok(Self::with_rules(header, chain.rules.phase_at(header.time)?.execution))
    }

    /// As [`Self::for_header`], for calls: a block of the history that this software does not execute (the genesis
    /// of the public networks) counts as one of the first phase that it does.
    pub fn for_call(chain: &ChainParams, header: &Header) -> Self {
        let phase = chain.rules.phase_at(header.time);
        Self::with_rules(header, phase.unwrap_or_else(|_| Phase::Apricot5.rules()).execution)
    }

    fn with_rules(header: &Header, rules: ExecutionRules) -> Self {
        Self {
            number: U256::from(header.number),
            time: header.time,
            gas_limit: header.gas_limit,
            base_fee: header.base_fee.unwrap_or_default(),
            coinbase: header.coinbase,
            // Genesis has a mix digest of its own. That of a later block comes from a control record.
            difficulty: match header.number > 0 && !header.mix_digest.is_zero() {
                true => header.mix_digest.into(),
                false => header.difficulty,
            },
            blob_base_fee: U256::from(1),
            rules,
        }
    }

    /// The context of the block that would be built on `parent` at `now_s` (Unix s), or at the parent's time if that
    /// is later. For calls, see [`Self::for_call`] about a parent of the early history.
    pub fn next(chain: &ChainParams, parent: &Header, now_s: u64) -> Self {
        let time = now_s.max(parent.time);
        match chain.rules.next_terms(parent, time) {
            Ok(terms) => Self::child(parent, time, &terms),
            Err(_) => {
                let number = U256::from(parent.number) + U256::from(1);
                Self { number, time, ..Self::for_call(chain, parent) }
            }
        }
    }

    /// The context of a child of `parent` at `time` (Unix s), with known terms.
    pub fn child(parent: &Header, time: u64, terms: &ChildTerms) -> Self {
        Self {
            number: U256::from(parent.number) + U256::from(1),
            time,
            gas_limit: terms.gas_limit,
            base_fee: terms.base_fee,
            coinbase: terms.coinbase,
            difficulty: match terms.random.is_zero() {
                true => U256::from(1),
                false => terms.random.into(),
            },
            blob_base_fee: U256::from(1),
            rules: terms.phase.execution,
        }
    }
}
