//! What was before the block of a fork without a source: the block itself is known, and little else.

use esker_evm::chain::Evm;
use esker_evm::view::ChainReader as _;
use esker_evm_rpc::PRUNED_HISTORY;
use esker_fork::Fork;
use esker_rpc::{Instead, RpcError, Unanswered};
use serde_json::{Map, Value, json};

/// Tags of the newest block.
const NEWEST: [&str; 4] = ["latest", "pending", "safe", "finalized"];
/// Lists of a block's JSON.
const TRANSACTIONS: &str = "transactions";
const UNCLES: &str = "uncles";

/// A fork without a source.
#[derive(Debug)]
pub(super) struct OfflineHistory<'a> {
    pub(super) fork: &'a Fork,
    pub(super) chain: &'a Evm,
}

impl OfflineHistory<'_> {
    /// The answer to a call of what the source would be asked under the name `full`.
    pub(super) fn instead(
        &self,
        call: &Unanswered<'_>,
        full: &'static str,
        params: &Value,
    ) -> Option<Instead> {
        if call.error.is_some_and(|error| error.code != PRUNED_HISTORY) {
            return None;
        }
        let first = params.get(0);
        let hash = first.and_then(Value::as_str).filter(|text| text.len() == 66);
        if call.method == "feeHistory" {
            return Some(self.own_fees(full, params));
        }
        if self.is_pinned(first) {
            return Some(self.reply(full, params));
        }
        match (call.error, hash) {
            // A transaction of this chain that is not in a block yet, or is since a moment.
            (None, Some(hash)) if self.has_transaction(hash) => None,
            (None, None) => None,
            _ => Some(self.refuse(full)),
        }
    }

    fn height(&self) -> u64 {
        self.fork.pin().header.number
    }

    /// Whether an argument names the fork's block. The newest block is known by itself, if it is another one.
    fn is_pinned(&self, block: Option<&Value>) -> bool {
        let Some(text) = block.and_then(Value::as_str) else { return false };
        let is_hash = text.eq_ignore_ascii_case(&self.fork.pin().hash.to_string());
        is_hash || NEWEST.contains(&text) || number(text) == Some(self.height())
    }

    fn has_transaction(&self, hash: &str) -> bool {
        let Ok(hash) = hash.parse() else { return false };
        // A transaction leaves the pool after its block is there.
        self.chain.pool().get(&hash).is_some() || matches!(self.chain.location(hash), Ok(Some(_)))
    }

    /// The fork's block, or a part of it.
    fn reply(&self, full: &'static str, params: &Value) -> Instead {
        let block: Map<String, Value> =
            serde_json::from_str(self.fork.pin().json()).unwrap_or_default();
        let count = |list: &str| {
            let list = block.get(list).and_then(Value::as_array);
            list.map(|list| json!(format!("{:#x}", list.len())))
        };
        let wants_bodies = params.get(1).and_then(Value::as_bool).unwrap_or_default();
        let is_empty = block.get(TRANSACTIONS).and_then(Value::as_array).is_some_and(Vec::is_empty);
        let found = match full {
            "eth_getBlockByHash" | "eth_getBlockByNumber" if !wants_bodies || is_empty => {
                Some(Value::Object(block))
            }
            "eth_getHeaderByHash" | "eth_getHeaderByNumber" => {
                let fields = block.into_iter().filter(|(_, value)| !value.is_array());
                Some(fields.collect())
            }
            "eth_getBlockTransactionCountByHash" | "eth_getBlockTransactionCountByNumber" => {
                count(TRANSACTIONS)
            }
            "eth_getUncleCountByBlockHash" | "eth_getUncleCountByBlockNumber" => count(UNCLES),
            _ => None,
        };
        match found {
            Some(found) => Instead::Reply(Box::pin(async move { Ok(found.to_string()) })),
            None => self.refuse(full),
        }
    }

    /// The fees of the chain's own blocks, as of a chain that has no earlier ones; if there are none, those of the fork's
    /// block, without what its transactions paid.
    fn own_fees(&self, full: &'static str, params: &Value) -> Instead {
        let newest = params.get(1).and_then(Value::as_str).unwrap_or_default();
        let head = self.chain.head().header.number;
        let last = number(newest).unwrap_or(head);
        let own = last.saturating_sub(self.height());
        let mut params = params.clone();
        if own == 0 && last < head {
            return self.refuse(full);
        }
        if own == 0 {
            params[0] = json!("0x1");
            params[2] = json!([]);
        } else {
            params[0] = json!(format!("{own:#x}"));
        }
        Instead::Own(params.to_string())
    }

    fn refuse(&self, full: &'static str) -> Instead {
        let error = RpcError::new(self.fork.no_history(full).to_string());
        Instead::Reply(Box::pin(async move { Err(error) }))
    }
}

fn number(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}
