//! Replies of blocking handlers that wait for something else before they are sent.

use std::fmt;

use esker_primitives::sync::Mutex;
use futures_util::future::{BoxFuture, join_all};

use crate::error::RpcError;

/// Delays of one batch that are waited for together, at most.
const MAX_SHARED_DELAYS: usize = 256;

/// The condition that a reply waits for. Nothing holds a thread meanwhile.
pub enum ReplyWait {
    /// Something that decides the reply: its error becomes the reply.
    Verdict(BoxFuture<'static, Result<(), RpcError>>),
    /// Something that the reply only follows.
    Delay(BoxFuture<'static, ()>),
    /// Like [`Self::Delay`]. In a batch, calls of the same method in a row run without it, and wait for it together.
    SharedDelay(BoxFuture<'static, ()>),
}

impl ReplyWait {
    /// Waits for it.
    ///
    /// # Errors
    /// The error of the verdict.
    pub async fn over(self) -> Result<(), RpcError> {
        match self {
            Self::Verdict(verdict) => verdict.await,
            Self::Delay(delay) | Self::SharedDelay(delay) => {
                delay.await;
                Ok(())
            }
        }
    }
}

impl fmt::Debug for ReplyWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Verdict(_) => "Verdict",
            Self::Delay(_) => "Delay",
            Self::SharedDelay(_) => "SharedDelay",
        })
    }
}

/// A reply, and what it waits for before it is sent.
#[derive(Debug)]
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

    /// The same; its delay may be that of other calls in its batch, since none of them looks at what it waits for.
    #[must_use]
    pub fn with_shared_delay(self) -> Self {
        let wait = self.wait.map(|wait| match wait {
            ReplyWait::Delay(delay) => ReplyWait::SharedDelay(delay),
            wait => wait,
        });
        Self { wait, ..self }
    }

    /// The reply, once what it waits for is there.
    ///
    /// # Errors
    /// The error of the thing that it waits for.
    pub async fn settled(self) -> Result<R, RpcError> {
        if let Some(wait) = self.wait {
            wait.over().await?;
        }
        Ok(self.reply)
    }

    /// The reply, once it is decided: without its delay.
    ///
    /// # Errors
    /// The error of the verdict.
    pub async fn decided(self) -> Result<R, RpcError> {
        if let Some(ReplyWait::Verdict(verdict)) = self.wait {
            verdict.await?;
        }
        Ok(self.reply)
    }
}

impl<R> From<R> for ReplyAfter<R> {
    fn from(reply: R) -> Self {
        Self { reply, wait: None }
    }
}

/// The delays that calls of a batch wait for together.
pub(crate) struct SharedDelays(Mutex<Vec<BoxFuture<'static, ()>>>);

impl Default for SharedDelays {
    fn default() -> Self {
        Self(Mutex::new_named("rpc.shared-delays", Vec::new()))
    }
}

impl SharedDelays {
    /// Adds one; gives it back if there are too many.
    pub(crate) fn add(&self, delay: BoxFuture<'static, ()>) -> Result<(), BoxFuture<'static, ()>> {
        let mut delays = self.0.lock();
        if delays.len() >= MAX_SHARED_DELAYS {
            return Err(delay);
        }
        delays.push(delay);
        Ok(())
    }

    /// Waits for those that were added.
    pub(crate) async fn over(&self) {
        let delays = std::mem::take(&mut *self.0.lock());
        if !delays.is_empty() {
            join_all(delays).await;
        }
    }
}

impl fmt::Debug for SharedDelays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedDelays({})", self.0.lock().len())
    }
}
