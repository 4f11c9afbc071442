//! The rules of an EVM chain.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes};
use esker_ethereum::genesis::Genesis as EthereumGenesis;
use esker_ethereum::rules::EthereumRules;
use esker_ethereum::system::{request_calls, system_contracts};
use esker_evm::chain::ParseGenesis;
use esker_evm_execution::genesis::Genesis;
use esker_evm_execution::rules::{CChainRules, NextHeader, Rules};
use esker_evm_state::types::Header;
use esker_settings::networks::{EvmParameters, EvmRules};

/// The rules of a chain with these parameters; `has_controls`: its blocks may have control records. `next_header` has what
/// clients ask of the next block, and `has_log_timestamps` says whether logs show times. The second value has the rules of
/// atomic transactions, if the rules know any.
pub(crate) fn of_chain(
    parameters: &EvmParameters,
    has_controls: bool,
    next_header: Option<Arc<NextHeader>>,
    has_log_timestamps: bool,
) -> (Arc<dyn Rules>, Option<CChainRules>) {
    match &parameters.rules {
        EvmRules::CChain { schedule, fees } => {
            let rules = CChainRules::new(parameters.chain_id, *schedule, *fees);
            let mut rules = rules.with_log_timestamps(has_log_timestamps);
            if has_controls {
                rules = rules.for_development();
            }
            if let Some(next_header) = next_header {
                rules = rules.with_next_header(next_header);
            }
            (Arc::new(rules.clone()), Some(rules))
        }
        EvmRules::Ethereum(config) => {
            let rules = EthereumRules::new(config.as_ref().clone());
            let mut rules = rules.with_log_timestamps(has_log_timestamps);
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

/// The contracts that block 1 calls and that have no code in the genesis. Without them no block is valid.
pub(super) fn missing_contracts(parameters: &EvmParameters, genesis: &Genesis) -> Vec<Address> {
    let EvmRules::Ethereum(config) = &parameters.rules else { return Vec::new() };
    let fork = config.fork_at(1, genesis.timestamp.saturating_add(1), true);
    let called = request_calls(fork).into_iter().map(|request| request.call.address);
    let has_code = |address: &Address| {
        genesis.alloc.get(address).is_some_and(|account| !account.code.is_empty())
    };
    called.filter(|address| !has_code(address)).collect()
}

/// The contracts that each block after this one calls and that must have code, with their code.
pub(crate) fn called_contracts(
    parameters: &EvmParameters,
    header: &Header,
) -> Vec<(Address, Bytes)> {
    let EvmRules::Ethereum(config) = &parameters.rules else { return Vec::new() };
    let number = header.number.saturating_add(1);
    let fork = config.fork_at(number, header.time.saturating_add(1), true);
    let called: Vec<_> =
        request_calls(fork).into_iter().map(|request| request.call.address).collect();
    let contracts = system_contracts(fork).into_iter();
    let contracts = contracts.filter(|contract| called.contains(&contract.address));
    contracts.map(|contract| (contract.address, contract.code)).collect()
}

/// Reads the genesis of a chain with these parameters.
pub(super) fn parse_genesis(parameters: &EvmParameters) -> ParseGenesis {
    match parameters.rules {
        EvmRules::CChain { .. } => |json| Ok(Genesis::parse(json)?),
        EvmRules::Ethereum(_) => |json| Ok(EthereumGenesis::parse(json)?.fields),
    }
}
