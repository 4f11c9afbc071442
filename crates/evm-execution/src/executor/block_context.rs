//! The block that code sees.

use alloy_primitives::{Address, U256};
use esker_evm_state::types::Header;

use super::ChainParams;
use crate::rules::{BlockPoint, ChildTerms, ExecutionRules, Revision, RuleError, Rules};

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
    /// DIFFICULTY, or PREVRANDAO.
    pub difficulty: U256,
    /// BLOBBASEFEE, wei.
    pub blob_base_fee: U256,
    /// The rules of execution.
    pub rules: ExecutionRules,
}

impl BlockContext {
    /// The context of a block with this header.
    pub fn for_header(chain: &ChainParams, header: &Header) -> Result<Self, RuleError> {
        let execution = chain.rules.execution_rules(&BlockPoint::of(header))?;
        Ok(Self::with_rules(&*chain.rules, header, execution))
    }

    /// As [`Self::for_header`], for calls, which also run in blocks of a history that is not executed.
    pub fn for_call(chain: &ChainParams, header: &Header) -> Self {
        let execution = chain.rules.call_rules(&BlockPoint::of(header));
        Self::with_rules(&*chain.rules, header, execution)
    }

    fn with_rules(rules: &dyn Rules, header: &Header, execution: ExecutionRules) -> Self {
        Self {
            number: U256::from(header.number),
            time: header.time,
            gas_limit: header.gas_limit,
            base_fee: header.base_fee.unwrap_or_default(),
            coinbase: header.coinbase,
            difficulty: rules.difficulty_word(header),
            blob_base_fee: rules.blob_base_fee(header),
            rules: execution,
        }
    }

    /// The context of the block that would be built on `parent` at `now_s` (Unix s), or at the earliest later
    /// time. For calls, see [`Self::for_call`] about a parent that is not executed.
    pub fn next(chain: &ChainParams, parent: &Header, now_s: u64) -> Self {
        let time = chain.rules.child_time(parent, now_s);
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
            difficulty: terms.difficulty_word(),
            blob_base_fee: terms.blob_base_fee,
            rules: terms.execution,
        }
    }

    /// What selects the block's rules.
    pub fn point(&self) -> BlockPoint {
        BlockPoint {
            number: self.number.saturating_to(),
            time: self.time,
            is_merged: self.rules.revision >= Revision::Paris,
        }
    }
}
