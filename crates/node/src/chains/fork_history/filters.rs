//! Logs of a client's filter whose blocks begin before the fork's first own one.

use std::sync::Arc;

use esker_fork::source::ReplyRoom as _;
use esker_rpc::positional::RpcId;
use esker_rpc::work::Client;
use esker_rpc::{CallContext, Instead, RpcError};
use serde_json::{Value, json};

use super::methods::ForkHistory;
use super::room::ClientRoom;

impl ForkHistory {
    /// The logs of a filter: as those of `getLogs` with its criteria.
    pub(super) fn filter_logs(&self, params: &Value, client: Option<&Client>) -> Option<Instead> {
        let id = RpcId(params.get(0)?.as_str()?.to_owned());
        let criteria = json!([self.filters.criteria(&id)?]);
        let (before, change) = match self.logs(&criteria, client)? {
            Instead::Before(before, _, change) => (before, change),
            whole => return Some(whole),
        };
        let (filters, first) = (Arc::clone(&self.filters), self.height() + 1);
        let room = ClientRoom::new(client);
        Some(Instead::Reply(Box::pin(async move {
            let before = before.await?;
            let search = move || filters.logs_from(&id, first, &CallContext::new());
            let own = tokio::task::spawn_blocking(search).await;
            let own = own.map_err(|error| RpcError::new(error.to_string()))?.map_err(change)?;
            match room.take(own.len()) {
                true => Ok(joined(&before, &own)),
                false => Err(RpcError::new(
                    "the logs are too many for this connection: ask for fewer blocks",
                )),
            }
        })))
    }
}

/// The entries of two lists.
fn joined(first: &str, second: &str) -> String {
    let entries = |list: &str| {
        let list = list.trim().strip_prefix('[')?.strip_suffix(']')?.trim();
        (!list.is_empty()).then(|| list.to_owned())
    };
    let entries: Vec<String> = [first, second].into_iter().filter_map(entries).collect();
    format!("[{}]", entries.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        for (first, second, both) in [
            ("[]", "[]", "[]"),
            ("[1]", "[]", "[1]"),
            (" [ ] ", "[2]", "[2]"),
            ("[1]", "[2,3]", "[1,2,3]"),
        ] {
            assert_eq!(joined(first, second), both);
        }
    }
}
