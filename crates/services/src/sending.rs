//! Replies to methods that send a transaction.

use esker_chain::forward::{ForwardError, SendAnswer};
use esker_rpc::{ReplyWait, RpcError};

/// The error of a client whose transaction is not passed on to a follower's source; the source's own, where it refused.
pub fn forward_error(error: ForwardError) -> RpcError {
    match error {
        ForwardError::Refused { code, message } => RpcError::with_code(code, message),
        ForwardError::ReadOnly
        | ForwardError::Unreachable(_)
        | ForwardError::TimedOut(_)
        | ForwardError::Lost(_)
        | ForwardError::DependenciesPending
        | ForwardError::Busy(_) => RpcError::new(error.to_string()),
    }
}

/// The condition that the reply to a send waits for, if any.
pub fn reply_wait(answer: SendAnswer) -> Option<ReplyWait> {
    match answer {
        SendAnswer::Now => None,
        SendAnswer::Source(answer) => Some(ReplyWait::Verdict(Box::pin(async move {
            answer.outcome().await.map_err(forward_error)
        }))),
        SendAnswer::Block(wait) => Some(ReplyWait::Delay(Box::pin(wait.over()))),
    }
}
