//! Filters for logs whose blocks begin before a forked chain's first own one: the fork's source has the logs up to there.

use esker_rpc::positional::RpcId;
use serde_json::Value;

use super::Filters;

impl Filters {
    /// The criteria of a filter for logs, as the argument of `getLogs`; `None` if there is no such filter.
    pub fn criteria(&self, id: &RpcId) -> Option<Value> {
        self.log_filter(id).ok().map(|filter| filter.to_json())
    }
}
