//! Methods about the chain as a whole.

use std::sync::Arc;

use alloy_primitives::U256;
use esker_evm_execution::genesis::ChainConfig;
use esker_evm_execution::rules::{BLACKHOLE, Rules};
use esker_rpc::{RpcError, Service};

use super::table::table;
use crate::reads::ReadApi;
use crate::wire::{Addr, Big, Uint64};

/// The service `eth`: who gets the fees.
pub(super) fn eth(reads: &Arc<ReadApi>) -> Service {
    table::<ReadApi>()
        .on_list("etherbase", |_: &ReadApi, ()| Ok(Addr(BLACKHOLE)))
        .on_list("coinbase", |_: &ReadApi, ()| Ok(Addr(BLACKHOLE)))
        .bind(Arc::clone(reads))
}

pub(super) fn chain_id(reads: &ReadApi, (): ()) -> Result<Uint64, RpcError> {
    Ok(Uint64(reads.chain.rules().chain_id()))
}

pub(super) fn block_number(reads: &ReadApi, (): ()) -> Result<Uint64, RpcError> {
    Ok(Uint64(reads.chain.head().header.number))
}

pub(super) fn get_chain_config(reads: &ReadApi, (): ()) -> Result<ChainConfig, RpcError> {
    Ok(config_of(reads.chain.rules()))
}

/// The forks that a node publishes.
pub(super) fn config_of(rules: &dyn Rules) -> ChainConfig {
    ChainConfig::new(rules.chain_id(), rules.schedule())
}

/// The fee of blob gas: no block has blobs, so it is the least.
pub(super) fn blob_base_fee(_: &ReadApi, (): ()) -> Result<Big, RpcError> {
    Ok(Big(U256::ONE))
}
