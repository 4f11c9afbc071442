//! Methods about the chain as a whole.

use std::sync::Arc;

use esker_rpc::handler::quick;
use esker_rpc::{RpcError, Service, schema};
use serde::Serialize;
use serde_json::value::RawValue;

use super::table::table;
use crate::error::read_error;
use crate::reads::ReadApi;
use crate::wire::{Addr, Big, Uint64};

/// The service `eth`: who gets the fees.
pub(super) fn eth(reads: &Arc<ReadApi>) -> Service {
    table::<ReadApi>()
        .on_list("etherbase", quick(fee_recipient))
        .on_list("coinbase", quick(fee_recipient))
        .bind(Arc::clone(reads))
}

fn fee_recipient(reads: &ReadApi, (): ()) -> Result<Addr, RpcError> {
    if reads.config.is_development {
        // A control may have set another one.
        let (head, rules) = (reads.chain.head(), reads.chain.rules());
        let terms = rules.next_terms(&head.header, head.header.time.saturating_add(1));
        return Ok(Addr(terms.map_or(rules.fee_recipient(), |terms| terms.coinbase)));
    }
    Ok(Addr(reads.chain.rules().fee_recipient()))
}

pub(super) fn chain_id(reads: &ReadApi, (): ()) -> Result<Uint64, RpcError> {
    Ok(Uint64(reads.chain.chain_id().map_err(read_error)?))
}

pub(super) fn block_number(reads: &ReadApi, (): ()) -> Result<Uint64, RpcError> {
    Ok(Uint64(reads.chain.head().header.number))
}

/// What a chain publishes of its forks, in its own form.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct ChainConfigReply(pub(super) Box<RawValue>);

schema!(ChainConfigReply, "PublishedChainConfig", {
    "type": "object",
    "description": "When each fork begins, and the chain's ID.",
    "properties": { "chainId": { "type": "integer" } },
    "required": ["chainId"],
});

pub(super) fn get_chain_config(reads: &ReadApi, (): ()) -> Result<ChainConfigReply, RpcError> {
    Ok(ChainConfigReply(reads.chain.rules().chain_config()))
}

/// The price of blob gas in the last block.
pub(super) fn blob_base_fee(reads: &ReadApi, (): ()) -> Result<Big, RpcError> {
    Ok(Big(reads.chain.rules().blob_base_fee(&reads.chain.head().header)))
}
