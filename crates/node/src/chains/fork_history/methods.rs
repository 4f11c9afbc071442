//! The methods that the source of a fork answers.

use std::sync::{Arc, Weak};

use esker_evm::chain::Evm;
use esker_evm_rpc::PRUNED_HISTORY;
use esker_evm_rpc::evm::Filters;
use esker_fork::Fork;
use esker_rpc::positional::RpcId;
use esker_rpc::work::Client;
use esker_rpc::{ElsewhereReply, Fallback, Instead, Method, RpcError, Unanswered};
use serde_json::{Map, Value, json};

use super::answers::Answers;
use super::ask::ask;
use super::offline::OfflineHistory;
use super::room::ClientRoom;

/// Methods that the source answers in place of this node, by their names without and with the namespace.
const METHODS: &[(&str, &str)] = &[
    ("call", "eth_call"),
    ("createAccessList", "eth_createAccessList"),
    ("estimateGas", "eth_estimateGas"),
    ("feeHistory", "eth_feeHistory"),
    ("getBalance", "eth_getBalance"),
    ("getBlockByHash", "eth_getBlockByHash"),
    ("getBlockByNumber", "eth_getBlockByNumber"),
    ("getBlockReceipts", "eth_getBlockReceipts"),
    ("getBlockTransactionCountByHash", "eth_getBlockTransactionCountByHash"),
    ("getBlockTransactionCountByNumber", "eth_getBlockTransactionCountByNumber"),
    ("getCode", "eth_getCode"),
    (FILTER_LOGS, "eth_getFilterLogs"),
    ("getHeaderByHash", "eth_getHeaderByHash"),
    ("getHeaderByNumber", "eth_getHeaderByNumber"),
    (LOGS, "eth_getLogs"),
    ("getProof", "eth_getProof"),
    ("getRawTransactionByHash", "eth_getRawTransactionByHash"),
    ("getStorageAt", "eth_getStorageAt"),
    ("getTransactionByBlockHashAndIndex", "eth_getTransactionByBlockHashAndIndex"),
    ("getTransactionByBlockNumberAndIndex", "eth_getTransactionByBlockNumberAndIndex"),
    ("getTransactionByHash", "eth_getTransactionByHash"),
    ("getTransactionCount", "eth_getTransactionCount"),
    ("getTransactionReceipt", "eth_getTransactionReceipt"),
    ("getUncleByBlockHashAndIndex", "eth_getUncleByBlockHashAndIndex"),
    ("getUncleByBlockNumberAndIndex", "eth_getUncleByBlockNumberAndIndex"),
    ("getUncleCountByBlockHash", "eth_getUncleCountByBlockHash"),
    ("getUncleCountByBlockNumber", "eth_getUncleCountByBlockNumber"),
    ("getRawBlock", "debug_getRawBlock"),
    ("getRawHeader", "debug_getRawHeader"),
    ("getRawReceipts", "debug_getRawReceipts"),
    ("traceBlockByHash", "debug_traceBlockByHash"),
    ("traceBlockByNumber", "debug_traceBlockByNumber"),
    ("traceCall", "debug_traceCall"),
    ("traceTransaction", "debug_traceTransaction"),
    ("getBlockDetails", "ots_getBlockDetails"),
    ("getBlockDetailsByHash", "ots_getBlockDetailsByHash"),
    ("getBlockTransactions", "ots_getBlockTransactions"),
    ("getContractCreator", "ots_getContractCreator"),
    ("getInternalOperations", "ots_getInternalOperations"),
    ("getTransactionBySenderAndNonce", "ots_getTransactionBySenderAndNonce"),
    ("getTransactionError", "ots_getTransactionError"),
    ("hasCode", "ots_hasCode"),
    (SEARCH, "ots_searchTransactionsBefore"),
    ("traceTransaction", "ots_traceTransaction"),
    ("block", "trace_block"),
    ("call", "trace_call"),
    ("callMany", "trace_callMany"),
    (FILTER, "trace_filter"),
    ("get", "trace_get"),
    ("rawTransaction", "trace_rawTransaction"),
    ("replayBlockTransactions", "trace_replayBlockTransactions"),
    ("replayTransaction", "trace_replayTransaction"),
    ("transaction", "trace_transaction"),
];

const LOGS: &str = "getLogs";
const SEARCH: &str = "searchTransactionsBefore";
const FILTER: &str = "filter";
const FILTER_LOGS: &str = "getFilterLogs";

/// Tag of the first block.
const EARLIEST: &str = "earliest";
/// Tags of the newest block.
const NEWEST: [&str; 4] = ["latest", "pending", "safe", "finalized"];

/// Texts of errors that say that a block or transaction is unknown here.
const UNKNOWN: [&str; 4] =
    ["header for hash not found", "header not found", "transaction not found", "block not found"];

/// Text of the error about logs of a block by a hash that is unknown here.
const UNKNOWN_BLOCK: &str = "unknown block";

/// Asks the source of a fork what this node does not know.
#[derive(Debug)]
pub(in crate::chains) struct ForkHistory {
    fork: Fork,
    chain: Arc<Evm>,
    filters: Arc<Filters>,
    /// `getLogs`, which has this fallback itself.
    get_logs: Weak<Method>,
    answers: Answers,
}

impl ForkHistory {
    /// The history for the methods of a service, of which `get_logs` is one.
    pub(in crate::chains) fn new(
        fork: Fork,
        chain: Arc<Evm>,
        filters: Arc<Filters>,
        get_logs: Weak<Method>,
    ) -> Self {
        Self { fork, chain, filters, get_logs, answers: Answers::default() }
    }

    fn height(&self) -> u64 {
        self.fork.pin().header.number
    }

    /// Forwards a call. Blocks and what is in them count only up to the fork's block.
    fn forward(
        &self,
        method: &'static str,
        params: Value,
        client: Option<&Client>,
    ) -> ElsewhereReply {
        let fork = self.fork.clone();
        let request = format!("{method} {params}");
        let room = ClientRoom::new(client);
        self.answers.answer(request, async move { ask(&fork, (method, params), &room).await })
    }

    fn logs_of(&self, method: &str, params: &Value, client: Option<&Client>) -> Option<Instead> {
        match method {
            FILTER_LOGS => self.filter_logs(params),
            _ => self.logs(params, client),
        }
    }

    /// The logs of a client's filter: those of `getLogs` with its criteria.
    fn filter_logs(&self, params: &Value) -> Option<Instead> {
        let id = RpcId(params.get(0)?.as_str()?.to_owned());
        let arguments = json!([self.filters.criteria(&id)?]);
        Some(Instead::OfMethod(self.get_logs.upgrade()?, arguments.to_string()))
    }

    /// The logs up to the fork's block; those of later blocks are added.
    fn logs(&self, params: &Value, client: Option<&Client>) -> Option<Instead> {
        let filter = params.get(0)?.as_object()?.clone();
        let height = format!("{:#x}", self.height());
        if filter.contains_key("blockHash") || self.is_before(filter.get("toBlock")) {
            return Some(Instead::Reply(self.forward("eth_getLogs", params.clone(), client)));
        }
        let (mut before, mut own) = (filter.clone(), filter);
        let from = filter_start(&before).unwrap_or(&height).to_owned();
        let begin = if from == EARLIEST { "0x0".to_owned() } else { from.clone() };
        before.insert("fromBlock".to_owned(), from.into());
        before.insert("toBlock".to_owned(), height.into());
        own.insert("fromBlock".to_owned(), format!("{:#x}", self.height() + 1).into());
        let before = self.forward("eth_getLogs", json!([before]), client);
        if self.chain.head().header.number == self.height() {
            return Some(Instead::Reply(before));
        }
        let change = Box::new(move |error| of_whole_range(error, begin));
        Some(Instead::Before(before, json!([own]).to_string(), change))
    }

    /// The transactions of an address up to the fork's block: the source has later blocks of its own.
    fn search(&self, full: &'static str, mut params: Value, client: Option<&Client>) -> Instead {
        let after_fork = self.height().saturating_add(1);
        let block = params.get(1).map_or(0, plain_number);
        if let Some(before) = params.get_mut(1).filter(|_| block == 0 || block > after_fork) {
            *before = after_fork.into();
        }
        let asked = self.forward(full, params, client);
        if block != 0 {
            return Instead::Reply(asked);
        }
        // For this node it is the page of the newest transactions.
        Instead::Reply(Box::pin(async move {
            let reply = asked.await?;
            let Ok(Value::Object(mut page)) = serde_json::from_str(&reply) else {
                return Ok(reply);
            };
            page.insert("firstPage".to_owned(), true.into());
            Ok(Value::Object(page).to_string())
        }))
    }

    /// Whether an argument is a number up to that of the fork's block.
    fn is_before(&self, block: Option<&Value>) -> bool {
        let number = block.and_then(Value::as_str).and_then(|text| text.strip_prefix("0x"));
        let number = number.and_then(|hex| u64::from_str_radix(hex, 16).ok());
        number.is_some_and(|number| number <= self.height())
            || block.and_then(Value::as_str) == Some(EARLIEST)
    }

    /// The arguments with the fork's block in place of the newest one, which it is on this node.
    fn pinned(&self, mut params: Value) -> Value {
        let number = format!("{:#x}", self.height());
        for param in params.as_array_mut().into_iter().flatten() {
            if param.as_str().is_some_and(|tag| NEWEST.contains(&tag)) {
                *param = number.clone().into();
            }
        }
        params
    }
}

impl Fallback for ForkHistory {
    fn instead(&self, call: Unanswered<'_>) -> Option<Instead> {
        let prefix = match call.namespace {
            "evm" => "eth_",
            "debug" => "debug_",
            "ots" => "ots_",
            "trace" => "trace_",
            _ => return None,
        };
        let (_, full) =
            METHODS.iter().find(|(name, full)| *name == call.method && full.starts_with(prefix))?;
        let params: Value = serde_json::from_slice(call.params).ok()?;
        if !self.fork.has_source() {
            if call.namespace == "ots" {
                return None;
            }
            let offline = OfflineHistory { fork: &self.fork, chain: &self.chain };
            return offline.instead(&call, full, &params);
        }
        let is_before = match call.error {
            Some(error) if is_of_logs(call.method) => {
                let is_before = error.code == PRUNED_HISTORY || error.message == UNKNOWN_BLOCK;
                return is_before.then(|| self.logs_of(call.method, &params, call.client))?;
            }
            Some(error) if error.code == PRUNED_HISTORY => {
                return Some(match call.method {
                    // The traces of blocks of both chains are in no one's answer.
                    FILTER if !self.is_before(params.pointer("/0/toBlock")) => return None,
                    SEARCH => self.search(full, params, call.client),
                    _ => Instead::Reply(self.forward(full, self.pinned(params), call.client)),
                });
            }
            Some(error) => UNKNOWN.iter().any(|text| error.message.contains(text)),
            None => params.get(0).and_then(Value::as_str).is_some_and(|hash| hash.len() == 66),
        };
        is_before.then(|| Instead::Reply(self.forward(full, params, call.client)))
    }
}

fn is_of_logs(method: &str) -> bool {
    matches!(method, LOGS | FILTER_LOGS)
}

/// An error about the blocks of this node, for a client that asked for a range from before the fork: the range that its
/// `data` suggests begins where the client's does.
fn of_whole_range(error: RpcError, begin: String) -> RpcError {
    let data = error.data.as_ref().and_then(|data| serde_json::from_str(data.get()).ok());
    let Some(Value::Object(mut data)) = data else { return error };
    let Some(from) = data.get_mut("from") else { return error };
    *from = begin.into();
    error.with_data(&data)
}

/// A number as the methods of `ots` take it: a JSON number, or a text of decimal or hex digits.
fn plain_number(value: &Value) -> u64 {
    let text = value.as_str().unwrap_or_default();
    let of_text = || match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    value.as_u64().or_else(of_text).unwrap_or_default()
}

/// The first block of a filter; `None` if it is the newest one.
fn filter_start(filter: &Map<String, Value>) -> Option<&str> {
    filter.get("fromBlock").and_then(Value::as_str).filter(|from| !NEWEST.contains(from))
}
