//! Which methods are served: those of the configured services.

use std::sync::Arc;

use esker_rpc::handler::{blocking, quick, quick_or_restartable, restartable};
use esker_rpc::{MethodTable, Service, cost};

use super::table::table;
use super::transact::TransactApi;
use super::{
    accounts, blocks, call_bundle, call_many, calls, capabilities, chain, config, fees, proof,
    send, simulate, state, storage, transactions,
};
use crate::apis::{Api, Apis};
use crate::reads::ReadApi;

/// Makes a service's methods.
type MakeService = fn(&Arc<ReadApi>) -> Service;

/// The reading methods of the services that are served, in every namespace.
pub fn reading_methods(reads: &Arc<ReadApi>, apis: &Apis) -> Service {
    let services: [(Api, MakeService); 7] = [
        (Api::Eth, chain::eth),
        (Api::InternalBlockchain, blockchain),
        (Api::InternalTransaction, transactions::service),
        (Api::InternalTxPool, crate::txpool::service),
        (Api::InternalDebug, crate::debug::raw::service),
        (Api::Net, crate::net::service),
        (Api::Web3, crate::web3::service),
    ];
    let served = services.into_iter().filter(|(api, _)| apis.has(*api));
    served.fold(Service::default(), |all, (_, service)| all.merge(&service(reads)))
}

/// The reading methods of the service `internal-blockchain`.
fn blockchain(reads: &Arc<ReadApi>) -> Service {
    table::<ReadApi>()
        .on_list("chainId", quick(chain::chain_id))
        .on_list("blockNumber", quick(chain::block_number))
        .on_list("getChainConfig", quick(chain::get_chain_config))
        .on_list("blobBaseFee", quick(chain::blob_base_fee))
        .on_list("config", quick(config::config))
        .on_list("getBalance", quick(state::get_balance))
        .params(&["address", "block"])
        .on_list("getAssetBalance", quick(state::get_asset_balance))
        .params(&["address", "block", "assetID"])
        .on_list("getCode", quick(state::get_code))
        .params(&["address", "block"])
        .on_list("getStorageAt", quick(storage::get_storage_at))
        .params(&["address", "slot", "block"])
        .on_list("getStorageValues", blocking(storage::get_storage_values))
        .params(&["slots", "block"])
        .cost(cost::CALL)
        .on_list("capabilities", quick(capabilities::capabilities))
        .on_list("getAccount", quick(state::get_account))
        .params(&["address", "block"])
        .on_list("getAccountInfo", quick(state::get_account_info))
        .params(&["address", "block"])
        .on_list("getProof", restartable(proof::get_proof))
        .params(&["address", "slots", "block"])
        .cost(cost::CALL)
        .on_list("getHeaderByNumber", quick(blocks::get_header_by_number))
        .params(&["block"])
        .on_list("getHeaderByHash", quick(blocks::get_header_by_hash))
        .params(&["hash"])
        .on_list(
            "getBlockByNumber",
            quick_or_restartable(blocks::try_block_by_number, blocks::get_block_by_number),
        )
        .params(&["block", "full"])
        .cost(cost::LARGE_READ)
        .on_list(
            "getBlockByHash",
            quick_or_restartable(blocks::try_block_by_hash, blocks::get_block_by_hash),
        )
        .params(&["hash", "full"])
        .cost(cost::LARGE_READ)
        .on_list("getBlockReceipts", blocking(blocks::get_block_receipts))
        .params(&["block"])
        .cost(cost::CALL)
        .on_list("getBlockAccessList", quick(blocks::get_block_access_list))
        .params(&["block"])
        .on_list("getUncleByBlockNumberAndIndex", quick(blocks::get_uncle_by_number))
        .params(&["block", "index"])
        .on_list("getUncleByBlockHashAndIndex", quick(blocks::get_uncle_by_hash))
        .params(&["hash", "index"])
        .on_list("getUncleCountByBlockNumber", quick(blocks::get_uncle_count_by_number))
        .params(&["block"])
        .on_list("getUncleCountByBlockHash", quick(blocks::get_uncle_count_by_hash))
        .params(&["hash"])
        .on_list("getBadBlocks", blocking(blocks::get_bad_blocks))
        .cost(cost::LARGE_READ)
        .bind(Arc::clone(reads))
}

/// Makes a service's table.
type MakeTable = fn() -> MethodTable<TransactApi>;

/// The methods that run code or send transactions, of the services that are served.
pub fn transacting_methods(transact: &Arc<TransactApi>, apis: &Apis) -> Service {
    let tables: [(Api, MakeTable); 9] = [
        (Api::InternalEth, fees::methods),
        (Api::InternalBlockchain, calls::methods),
        (Api::InternalBlockchain, simulate::methods),
        (Api::InternalBlockchain, call_many::methods),
        (Api::InternalBlockchain, call_bundle::methods),
        (Api::InternalTransaction, send::methods),
        (Api::InternalAccount, accounts::methods),
        (Api::InternalPersonal, crate::personal::methods),
        (Api::Debug, crate::debug::state::methods),
    ];
    let served = tables.into_iter().filter(|(api, _)| apis.has(*api));
    let bound = served.map(|(_, table)| table().bind(Arc::clone(transact)));
    bound.fold(Service::default(), |all, service| all.merge(&service))
}
