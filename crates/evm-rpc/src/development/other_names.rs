//! The names of other tools: Hardhat, Tenderly.

use std::sync::Arc;

use esker_rpc::handler::{
    blocking, quick, restartable, waits, waits_with_caller, waits_with_notes,
};
use esker_rpc::{MethodTable, Service, cost};

use super::{DevelopmentNode, compilation, hardhat_metadata};
use super::{chain, header, impersonation, mining, reset, state, state_file, time, tokens};

/// The methods with these names.
pub(super) fn methods(node: &Arc<DevelopmentNode>) -> Service {
    hardhat(node).merge(&tenderly(node))
}

/// The methods with Hardhat's names: first those of Hardhat, then those that only anvil gives such a name, with anvil's
/// replies.
fn hardhat(node: &Arc<DevelopmentNode>) -> Service {
    MethodTable::new("hardhat")
        .on_list("getAutomine", quick(mining::get_automine))
        .on_list("metadata", quick(hardhat_metadata))
        .on_list("getStackTraceFailuresCount", quick(chain::stack_trace_failures))
        .on_list("mine", waits_with_notes(mining::hardhat_mine))
        .params(&["blocks", "interval"])
        .on_list("dropTransaction", quick(mining::hardhat_drop))
        .params(&["hash"])
        .on_list("setLoggingEnabled", waits_with_notes(time::hardhat_set_logging))
        .params(&["enabled"])
        .on_list("setNextBlockBaseFeePerGas", quick(header::hardhat_set_base_fee))
        .params(&["wei"])
        .on_list("setMinGasPrice", quick(header::set_min_gas_price))
        .params(&["wei"])
        .on_list("setCoinbase", quick(header::hardhat_set_coinbase))
        .params(&["address"])
        .on_list("setPrevRandao", quick(header::hardhat_set_random))
        .params(&["value"])
        .on_list("reset", waits_with_caller(reset::hardhat_reset))
        .params(&["options"])
        .on_list("setBalance", waits_with_notes(state::hardhat_set_balance))
        .params(&["address", "wei"])
        .on_list("setNonce", waits_with_notes(state::hardhat_set_nonce))
        .params(&["address", "nonce"])
        .on_list("setCode", waits_with_notes(state::hardhat_set_code))
        .params(&["address", "code"])
        .on_list("setStorageAt", waits_with_notes(state::hardhat_set_storage_at))
        .params(&["address", "slot", "value"])
        .on_list("impersonateAccount", quick(impersonation::hardhat_impersonate))
        .params(&["address"])
        .on_list("stopImpersonatingAccount", quick(impersonation::hardhat_stop))
        .params(&["address"])
        .on_list("autoImpersonateAccount", quick(impersonation::auto))
        .params(&["enabled"])
        .on_list("addBalance", waits_with_notes(state::add_balance))
        .params(&["address", "wei"])
        .on_list("dealERC20", waits(tokens::deal))
        .params(&["address", "token", "units"])
        .on_list("dropAllTransactions", quick(mining::drop_all))
        .on_list("dumpState", restartable(state_file::dump))
        .params(&["history"])
        .cost(cost::HEAVY)
        .on_list("loadState", waits(state_file::load))
        .params(&["state"])
        .on_list("addCompilationResult", blocking(compilation::add))
        .params(&["compiler", "input", "output"])
        .cost(cost::HEAVY)
        .bind(Arc::clone(node))
}

/// Anvil's names for users of Tenderly.
fn tenderly(node: &Arc<DevelopmentNode>) -> Service {
    MethodTable::new("tenderly")
        .on_list("setBalance", waits_with_notes(state::set_balance))
        .params(&["address", "wei"])
        .on_list("addBalance", waits_with_notes(state::add_balance))
        .params(&["address", "wei"])
        .bind(Arc::clone(node))
}
