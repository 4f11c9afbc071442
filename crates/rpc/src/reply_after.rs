//! Replies of blocking handlers that wait for something else before they are sent.

use futures_util::future::BoxFuture;

use crate::RpcError;

/// What a reply waits for; its error becomes the reply.
pub type ReplyWait = BoxFuture<'static, Result<(), RpcError>>;

/// A reply, and what it waits for before it is sent. Nothing holds a thread meanwhile.
pub struct ReplyAfter<R> {
    /// The reply.
    pub reply: R,
    /// `None`: it is sent at once.
    pub wait: Option<ReplyWait>,
}

impl<R> ReplyAfter<R> {
    /// Another reply that waits for the same.
    pub fn map<T>(self, map: impl FnOnce(R) -> T) -> ReplyAfter<T> {
        ReplyAfter { reply: map(self.reply), wait: self.wait }
    }

    /// The reply, once what it waits for is there.
    ///
    /// # Errors
    /// That of what it waits for.
    pub async fn settled(self) -> Result<R, RpcError> {
        if let Some(wait) = self.wait {
            wait.await?;
        }
        Ok(self.reply)
    }
}

impl<R> From<R> for ReplyAfter<R> {
    fn from(reply: R) -> Self {
        Self { reply, wait: None }
    }
}

impl<R: std::fmt::Debug> std::fmt::Debug for ReplyAfter<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReplyAfter")
            .field("reply", &self.reply)
            .field("waits", &self.wait.is_some())
            .finish()
    }
}
