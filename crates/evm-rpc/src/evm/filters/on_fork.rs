//! Filters for logs whose blocks begin before a forked chain's first own one: the fork's source has the logs up to there.

use esker_rpc::positional::RpcId;
use esker_rpc::{CallContext, RpcError};
use serde_json::Value;

use super::Filters;
use crate::wire::{BlockNumber, LogBlocks, LogFilter};

impl Filters {
    /// The criteria of a filter for logs, as the argument of `getLogs`; `None` if there is no such filter.
    pub fn criteria(&self, id: &RpcId) -> Option<Value> {
        self.log_filter(id).ok().map(|filter| filter.to_json())
    }

    /// JSON of the logs of a filter's blocks from a height on. This blocks.
    ///
    /// # Errors
    /// There is no such filter, or its logs can't be returned.
    pub fn logs_from(
        &self,
        id: &RpcId,
        first: u64,
        context: &CallContext,
    ) -> Result<String, RpcError> {
        let mut filter = LogFilter::clone(&*self.log_filter(id)?);
        if let LogBlocks::Range { from, .. } = &mut filter.blocks {
            *from = BlockNumber::Number(first);
        }
        let found = self.logs(&filter, context)?;
        serde_json::to_string(&found).map_err(|error| RpcError::new(error.to_string()))
    }
}
