//! `evm`, which clients know as `eth`: one file a topic, one table a service
//! (docs/protocol/c-chain-rpc.md, "Services").

mod accounts;
mod blocks;
mod calls;
mod chain;
mod config;
mod defaults;
mod fees;
mod filters;
mod proof;
mod send;
mod sender_nonce;
mod simulate;
mod state;
mod transact;
mod transactions;

use std::sync::Arc;

use esker_rpc::{MethodTable, Service};

use crate::{Api, Apis, Reads};

pub use filters::{FilterConfig, Filters, filter_methods};
pub use send::{
    DEFAULT_RECEIPT_WAIT, MAX_RECEIPT_WAIT, MAX_RECEIPT_WAITS, RawTxError, ReceiptWaits,
    decode_transaction,
};
pub use transact::{Transact, TransactConfig, TxSubmitter, transacting_methods};

/// The canonical namespace, and the name that clients use.
pub(crate) fn table<S: Send + Sync + 'static>() -> MethodTable<S> {
    MethodTable::new("evm").alias("eth")
}

/// Makes a service's methods.
type MakeService = fn(&Arc<Reads>) -> Service;

/// The reading methods of the services that are served, in every namespace.
pub fn reading_methods(reads: &Arc<Reads>, apis: &Apis) -> Service {
    let services: [(Api, MakeService); 6] = [
        (Api::Eth, chain::eth),
        (Api::InternalBlockchain, blockchain),
        (Api::InternalTransaction, transactions::service),
        (Api::InternalTxPool, crate::txpool::service),
        (Api::Net, crate::net::service),
        (Api::Web3, crate::web3::service),
    ];
    let served = services.into_iter().filter(|(api, _)| apis.has(*api));
    served.fold(Service::default(), |all, (_, service)| all.merge(&service(reads)))
}

/// The reading methods of the service `internal-blockchain`.
fn blockchain(reads: &Arc<Reads>) -> Service {
    table::<Reads>()
        .on_list("chainId", chain::chain_id)
        .on_list("blockNumber", chain::block_number)
        .on_list("getChainConfig", chain::get_chain_config)
        .on_list("blobBaseFee", chain::blob_base_fee)
        .on_list("config", config::config)
        .on_list("getBalance", state::get_balance)
        .on_list("getAssetBalance", state::get_asset_balance)
        .on_list("getCode", state::get_code)
        .on_list("getStorageAt", state::get_storage_at)
        .on_list("getAccount", state::get_account)
        .on_list("getAccountInfo", state::get_account_info)
        .on_list_blocking_with("getProof", proof::get_proof)
        .on_list("getHeaderByNumber", blocks::get_header_by_number)
        .on_list("getHeaderByHash", blocks::get_header_by_hash)
        .on_list_tried("getBlockByNumber", blocks::try_block_by_number, blocks::get_block_by_number)
        .on_list_tried("getBlockByHash", blocks::try_block_by_hash, blocks::get_block_by_hash)
        .on_list_blocking("getBlockReceipts", blocks::get_block_receipts)
        .on_list("getUncleByBlockNumberAndIndex", blocks::get_uncle_by_number)
        .on_list("getUncleByBlockHashAndIndex", blocks::get_uncle_by_hash)
        .on_list("getUncleCountByBlockNumber", blocks::get_uncle_count_by_number)
        .on_list("getUncleCountByBlockHash", blocks::get_uncle_count_by_hash)
        .on_list_blocking("getBadBlocks", blocks::get_bad_blocks)
        .bind(Arc::clone(reads))
}
