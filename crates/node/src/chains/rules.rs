//! The rules of an EVM chain.

use std::sync::Arc;

use esker_ethereum::genesis::Genesis as EthereumGenesis;
use esker_ethereum::rules::EthereumRules;
use esker_evm::chain::ParseGenesis;
use esker_evm_execution::genesis::Genesis;
use esker_evm_execution::rules::{CChainRules, NextHeader, Rules};
use esker_settings::networks::{EvmParameters, EvmRules};

/// The rules of a chain with these parameters; `has_controls`: its blocks may have control records. `next_header` has what
/// clients ask of the next block. The second value has the rules of atomic transactions, if the rules know any.
pub(super) fn of_chain(
    parameters: &EvmParameters,
    has_controls: bool,
    next_header: Option<Arc<NextHeader>>,
) -> (Arc<dyn Rules>, Option<CChainRules>) {
    match &parameters.rules {
        EvmRules::CChain { schedule, fees } => {
            let mut rules = CChainRules::new(parameters.chain_id, *schedule, *fees);
            if has_controls {
                rules = rules.for_development();
            }
            if let Some(next_header) = next_header {
                rules = rules.with_next_header(next_header);
            }
            (Arc::new(rules.clone()), Some(rules))
        }
        EvmRules::Ethereum(config) => {
            let mut rules = EthereumRules::new(config.as_ref().clone());
            if has_controls {
                rules = rules.for_development();
            }
            if let Some(next_header) = next_header {
                rules = rules.with_next_header(next_header);
            }
            (Arc::new(rules), None)
        }
    }
}

/// Reads the genesis of a chain with these parameters.
pub(super) fn parse_genesis(parameters: &EvmParameters) -> ParseGenesis {
    match parameters.rules {
        EvmRules::CChain { .. } => |json| Ok(Genesis::parse(json)?),
        EvmRules::Ethereum(_) => |json| Ok(EthereumGenesis::parse(json)?.fields),
    }
}
