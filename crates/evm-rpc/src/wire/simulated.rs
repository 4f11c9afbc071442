//! Simulated blocks: blocks with the results of their calls.

use alloy_primitives::Bytes;
use esker_evm_execution::call::CallOutcome;
use esker_evm_execution::rules::Dialect;
use esker_evm_execution::simulate::SimulatedBlock;
use esker_rpc::schema_as;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::block::{BlockReply, BlockSchema, Transactions, serialize_with_calls};
use super::{Data, LogReply, Uint64};

/// JSON-RPC code of a revert.
const REVERTED: i64 = 3;
/// JSON-RPC code of code that failed otherwise.
const VM_ERROR: i64 = -32015;

/// A simulated block.
#[derive(Clone, Debug)]
pub struct SimulatedBlockReply {
    block: BlockReply,
    calls: Vec<CallOutcome>,
    log_indexes: Vec<Vec<usize>>,
    shows_most_gas: bool,
}

impl SimulatedBlockReply {
    /// The reply; `full` shows transactions whole.
    pub fn new(dialect: Dialect, simulated: SimulatedBlock, full: bool) -> Self {
        let SimulatedBlock { block, senders, calls, log_indexes } = simulated;
        let transactions = if full { Transactions::Sent(senders) } else { Transactions::Hashes };
        let block = BlockReply {
            block,
            transactions,
            atomic_transactions: None,
            uncles: Vec::new(),
            is_pending: false,
            dialect,
        };
        Self { block, calls, log_indexes, shows_most_gas: true }
    }
}

impl SimulatedBlockReply {
    /// Without the gas of calls before refunds, as anvil's.
    #[must_use]
    pub fn without_most_gas(self) -> Self {
        Self { shows_most_gas: false, ..self }
    }
}

/// A simulated block, with the results of its calls.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the members are written by hand, with those of a block")]
struct SimulatedBlockSchema {
    #[schemars(flatten)]
    block: BlockSchema,
    calls: Vec<CallReply<'static>>,
}

schema_as!(SimulatedBlockReply, "SimulatedBlock", SimulatedBlockSchema);

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CallReply<'a> {
    return_data: Data,
    logs: Vec<LogReply<'a>>,
    gas_used: Uint64,
    /// Gas used before refunds.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_used_gas: Option<Uint64>,
    status: Uint64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<CallFailure>,
}

#[derive(Serialize, JsonSchema)]
struct CallFailure {
    message: String,
    code: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Data>,
}

impl Serialize for SimulatedBlockReply {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let calls = self.calls.iter().zip(&self.log_indexes).enumerate();
        let calls: Vec<_> = calls
            .map(|(index, (outcome, log_indexes))| self.call(index, outcome, log_indexes))
            .collect();
        serialize_with_calls(&self.block, &calls, serializer)
    }
}

impl SimulatedBlockReply {
    /// `log_indexes` are the indexes in the block of this call's logs.
    fn call<'a>(
        &self,
        index: usize,
        outcome: &'a CallOutcome,
        log_indexes: &[usize],
    ) -> CallReply<'a> {
        let (block, header) = (&self.block.block, &self.block.block.block.header);
        let hash = block.block.transactions.get(index).map(|tx| *tx.tx_hash());
        let log = |(log, log_index): (_, &usize)| LogReply {
            log,
            block_number: header.number,
            block_hash: Some(block.hash),
            block_time: Some(header.time),
            transaction_hash: hash.unwrap_or_default(),
            transaction_index: index,
            log_index: *log_index,
            removed: false,
        };
        let is_ok = outcome.error.is_none();
        CallReply {
            return_data: Data(if is_ok { outcome.output.clone() } else { Bytes::new() }),
            logs: outcome.logs.iter().zip(log_indexes).map(log).collect(),
            gas_used: Uint64(outcome.gas_used),
            max_used_gas: self.shows_most_gas.then_some(Uint64(outcome.max_gas_used)),
            status: Uint64(u64::from(is_ok)),
            error: failure(outcome),
        }
    }
}

fn failure(outcome: &CallOutcome) -> Option<CallFailure> {
    let message = outcome.message();
    Some(match outcome.has_reverted() {
        _ if outcome.error.is_none() => return None,
        true => CallFailure { message, code: REVERTED, data: Some(Data(outcome.output.clone())) },
        false => CallFailure { message, code: VM_ERROR, data: None },
    })
}
