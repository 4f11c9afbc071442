//! The bytes that the large requests of one address hold.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Client;

/// Bytes that a permit stands for.
const UNIT: usize = 1024;

/// A request's part of what those of its address may hold, until this is dropped.
#[derive(Debug)]
pub struct RequestShare {
    permit: OwnedSemaphorePermit,
    /// The address is known while something of it is.
    _client: Client,
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX)
}

impl Client {
    /// Waits until the large requests of the client's address hold so little that one of so many bytes fits. `limit` is
    /// what they may hold together, the same for all calls; one request may have all of it.
    pub async fn request_share(&self, bytes: usize, limit: usize) -> RequestShare {
        let most = units(limit).max(1);
        let new = || Arc::new(Semaphore::new(most as usize));
        let share = self.requests().0.get_or_init(new);
        let permit = Arc::clone(share).acquire_many_owned(units(bytes).min(most)).await;
        let permit = permit.expect("the semaphore is never closed");
        RequestShare { permit, _client: self.clone() }
    }
}

impl RequestShare {
    /// Gives back what the request does not need, now that its size is known.
    pub fn shrink_to(&mut self, bytes: usize) {
        let spare = self.permit.num_permits().saturating_sub(units(bytes) as usize);
        drop(self.permit.split(spare));
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use crate::work::{Work, WorkConfig};

    #[test]
    fn the_requests_of_an_address_wait_for_each_other() {
        let work = Work::new(WorkConfig::default());
        let client = |last| work.client(Some([192, 0, 2, last].into()));
        let ask = |last, bytes| {
            let client = client(last);
            async move { client.request_share(bytes, 10_240).await }.boxed()
        };
        let mut first = ask(1, 10_000).now_or_never().expect("there is room");
        let mut second = ask(1, 5_000);
        assert!((&mut second).now_or_never().is_none());
        assert!(ask(2, 5_000).now_or_never().is_some(), "another address has its own");
        first.shrink_to(5_120);
        let second = (&mut second).now_or_never().expect("there is room again");
        drop((first, second));
        assert!(ask(1, 50_000).now_or_never().is_some(), "a larger one gets all");
    }
}
