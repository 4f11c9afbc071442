//! The names of other tools: Hardhat, Tenderly.

use std::sync::Arc;

use esker_rpc::{MethodTable, Service, cost};

use super::{DevelopmentNode, compilation, hardhat_metadata};
use super::{header, impersonation, mining, reset, state, state_file, time, tokens};

/// The methods with these names.
pub(super) fn methods(node: &Arc<DevelopmentNode>) -> Service {
    hardhat(node).merge(&tenderly(node))
}

/// The methods with Hardhat's names: first those of Hardhat, then those that only anvil gives such a name, with anvil's
/// replies.
fn hardhat(node: &Arc<DevelopmentNode>) -> Service {
    MethodTable::new("hardhat")
        .on_list("getAutomine", mining::get_automine)
        .on_list("metadata", hardhat_metadata)
        .on_list_async("mine", mining::mine)
        .params(&["blocks", "interval"])
        .on_list("dropTransaction", mining::hardhat_drop)
        .params(&["hash"])
        .on_list_async("setLoggingEnabled", time::set_logging)
        .params(&["enabled"])
        .on_list("setNextBlockBaseFeePerGas", header::hardhat_set_base_fee)
        .params(&["wei"])
        .on_list("setMinGasPrice", header::set_min_gas_price)
        .params(&["wei"])
        .on_list("setCoinbase", header::hardhat_set_coinbase)
        .params(&["address"])
        .on_list("setPrevRandao", header::hardhat_set_random)
        .params(&["value"])
        .on_list_async_by("reset", reset::hardhat_reset)
        .params(&["options"])
        .on_list_async("setBalance", state::hardhat_set_balance)
        .params(&["address", "wei"])
        .on_list_async("setNonce", state::hardhat_set_nonce)
        .params(&["address", "nonce"])
        .on_list_async("setCode", state::hardhat_set_code)
        .params(&["address", "code"])
        .on_list_async("setStorageAt", state::set_storage_at)
        .params(&["address", "slot", "value"])
        .on_list("impersonateAccount", impersonation::hardhat_impersonate)
        .params(&["address"])
        .on_list("stopImpersonatingAccount", impersonation::hardhat_stop)
        .params(&["address"])
        .on_list("autoImpersonateAccount", impersonation::auto)
        .params(&["enabled"])
        .on_list_async("addBalance", state::add_balance)
        .params(&["address", "wei"])
        .on_list_async("dealERC20", tokens::deal)
        .params(&["address", "token", "units"])
        .on_list("dropAllTransactions", mining::drop_all)
        .on_list_blocking_with("dumpState", state_file::dump)
        .params(&["history"])
        .cost(cost::HEAVY)
        .on_list_async("loadState", state_file::load)
        .params(&["state"])
        .on_list_blocking("addCompilationResult", compilation::add)
        .params(&["compiler", "input", "output"])
        .cost(cost::HEAVY)
        .bind(Arc::clone(node))
}

/// Anvil's names for users of Tenderly.
fn tenderly(node: &Arc<DevelopmentNode>) -> Service {
    MethodTable::new("tenderly")
        .on_list_async("setBalance", state::set_balance)
        .params(&["address", "wei"])
        .on_list_async("addBalance", state::add_balance)
        .params(&["address", "wei"])
        .bind(Arc::clone(node))
}
