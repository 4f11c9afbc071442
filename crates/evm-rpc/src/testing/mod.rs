//! `testing`: blocks that are built on request and do not become part of the chain. The service `testing`, off unless it
//! is named.

mod attributes;
mod payload;

use std::fmt::Debug;
use std::sync::Arc;

use alloy_eips::eip2718::Decodable2718;
use alloy_eips::eip4895::Withdrawal;
use esker_evm::chain::{BlockRequest, Evm, RequestedBlock, RequestedBlockError};
use esker_evm_execution::rules::BlockAttributes;
use esker_evm_state::types::Transaction;
use esker_rpc::handler::blocking;
use esker_rpc::{MethodTable, RpcError, Service, cost};

use self::attributes::PayloadAttributes;
use self::payload::EnvelopeReply;
use crate::wire::{Data, Hash};

/// Builds blocks on request.
pub trait BlockBuilder: Send + Sync + Debug + 'static {
    /// Builds a block.
    fn build(&self, request: BlockRequest) -> Result<RequestedBlock, RequestedBlockError>;
}

impl BlockBuilder for Evm {
    fn build(&self, request: BlockRequest) -> Result<RequestedBlock, RequestedBlockError> {
        self.build_requested(request)
    }
}

/// What the methods need.
#[derive(Debug)]
struct TestingApi(Arc<dyn BlockBuilder>);

/// The methods of the service `testing`.
pub fn testing_methods(builder: Arc<dyn BlockBuilder>) -> Service {
    MethodTable::new("testing")
        .on_list("buildBlockV1", blocking(build_block))
        .params(&["parentHash", "attributes", "transactions", "extraData"])
        .cost(cost::HEAVY)
        .bind(Arc::new(TestingApi(builder)))
}

type BuildArgs = (Hash, PayloadAttributes, Option<Vec<Data>>, Option<Data>);

/// Builds a block with these attributes; without transactions, of those of the pool.
fn build_block(
    api: &TestingApi,
    (Hash(parent), attributes, transactions, extra): BuildArgs,
) -> Result<EnvelopeReply, RpcError> {
    let PayloadAttributes { timestamp, prev_randao, fee_recipient, withdrawals, beacon_root } =
        attributes;
    let withdrawals = withdrawals.map(|list| list.into_iter().map(Withdrawal::from).collect());
    let request = BlockRequest {
        parent,
        time: timestamp.0,
        random: prev_randao.0,
        fee_recipient: fee_recipient.0,
        attributes: BlockAttributes {
            beacon_root: beacon_root.map(|Hash(root)| root),
            withdrawals,
            extra: extra.map(|Data(extra)| extra),
        },
        transactions: transactions.map(decoded).transpose()?,
    };
    let built = api.0.build(request);
    built.map(EnvelopeReply::new).map_err(|error| RpcError::new(error.to_string()))
}

fn decoded(transactions: Vec<Data>) -> Result<Vec<Transaction>, RpcError> {
    let decode = |Data(bytes): Data| {
        let decoded = Transaction::decode_2718_exact(&bytes);
        decoded.map_err(|error| RpcError::new(error.to_string()))
    };
    transactions.into_iter().map(decode).collect()
}
