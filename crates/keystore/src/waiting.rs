//! Bounds how many calls wait, with room for every client.

use std::collections::BTreeMap;

use esker_primitives::ClientAddress;
use esker_primitives::sync::Mutex;

/// Limits waiting calls.
#[derive(Debug)]
pub(crate) struct WaitingCalls {
    max: usize,
    by_client: Mutex<BTreeMap<ClientAddress, usize>>,
}

/// A waiting call; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct WaitingCall<'a> {
    calls: &'a WaitingCalls,
    client: ClientAddress,
}

impl WaitingCalls {
    /// At most `max` calls.
    pub(crate) fn new(max: usize) -> Self {
        Self { max, by_client: Mutex::new_named("keystore.waiting", BTreeMap::new()) }
    }

    /// One more call of the client. `None` if the client has as many as there are places left: however many one
    /// has, there is room for others.
    pub(crate) fn enter(&self, client: ClientAddress) -> Option<WaitingCall<'_>> {
        let mut by_client = self.by_client.lock();
        let free = self.max.saturating_sub(by_client.values().sum());
        let own = by_client.get(&client).copied().unwrap_or(0);
        if own >= free {
            return None;
        }
        by_client.insert(client, own + 1);
        Some(WaitingCall { calls: self, client })
    }
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        let mut by_client = self.calls.by_client.lock();
        if let Some(calls) = by_client.get_mut(&self.client) {
            *calls -= 1;
            if *calls == 0 {
                by_client.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_client_has_as_many_as_are_left_for_others() {
        let calls = WaitingCalls::new(8);
        let client = |n| ClientAddress::from_peer(Some(Ipv4Addr::new(192, 0, 2, n).into()));
        let all_of = |n| -> Vec<_> { std::iter::from_fn(|| calls.enter(client(n))).collect() };
        let (first, second, third) = (all_of(1), all_of(2), all_of(3));
        assert_eq!([first.len(), second.len(), third.len()], [4, 2, 1]);
        assert!(calls.enter(client(4)).is_some(), "a place is left");
        drop(first);
        assert_eq!(all_of(3).len(), 2, "and the one that it has");
        drop((second, third));
        assert!(calls.by_client.lock().is_empty());
        assert!(WaitingCalls::new(0).enter(client(1)).is_none());
    }
}
