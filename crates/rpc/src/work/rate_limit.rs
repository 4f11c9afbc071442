//! How much an address may ask for in a time: units of work, of which each call costs some.
//!
//! The rule is GCRA (a leaky bucket), by the crate `governor`. The states of addresses are kept here, because they have
//! a bound: of too many, the address that has been silent for the longest is forgotten.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use esker_primitives::ClientAddress;
use esker_primitives::sync::Mutex;
use governor::clock::{Clock, MonotonicClock};
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::{Quota, RateLimiter};
use lru::LruCache;

use crate::error::RpcError;

/// Most addresses whose use is known, some 6 MB of them.
const MAX_ADDRESSES: NonZeroUsize = NonZeroUsize::new(65_536).expect("not zero");
/// Most units each second: a unit for each nanosecond.
const MAX_UNITS_PER_SECOND: u32 = 1_000_000_000;

/// The units that each address may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitConfig {
    /// Units each second in the long run.
    pub units_per_second: NonZeroU32,
    /// Units at once after a time without use. A call that costs more counts as this many.
    pub burst: NonZeroU32,
}

/// An address has used its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("limit exceeded: too many requests from your address, try again in {} s", self.retry_after_s())]
pub struct RateExceeded {
    wait: Duration,
}

impl RateExceeded {
    /// Whole seconds after which the same call passes if nothing else is sent; at least one.
    #[must_use]
    pub fn retry_after_s(&self) -> u32 {
        let begun = u64::from(self.wait.subsec_nanos() > 0 || self.wait.is_zero());
        u32::try_from(self.wait.as_secs() + begun).unwrap_or(u32::MAX)
    }
}

impl From<RateExceeded> for RpcError {
    fn from(error: RateExceeded) -> Self {
        Self::with_code(Self::LIMIT_EXCEEDED, error.to_string())
    }
}

/// The limit of a server, over all its connections.
#[derive(Debug)]
pub(super) struct RateLimit<C: Clock = MonotonicClock> {
    limiter: RateLimiter<ClientAddress, RecentAddresses, C, NoOpMiddleware<C::Instant>>,
    burst: u32,
    refused: AtomicU64,
}

/// When each address will have all its units again.
#[derive(Clone, Debug)]
struct RecentAddresses(Arc<Mutex<LruCache<ClientAddress, Nanos>>>);

impl Default for RecentAddresses {
    fn default() -> Self {
        Self(Arc::new(Mutex::new_named("rpc.rates", LruCache::new(MAX_ADDRESSES))))
    }
}

impl StateStore for RecentAddresses {
    type Key = ClientAddress;

    fn measure_and_replace<T, F, E>(&self, address: &ClientAddress, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let mut known = self.0.lock();
        let (passed, state) = measure(known.get(address).copied())?;
        known.put(*address, state);
        Ok(passed)
    }
}

impl RateLimit {
    pub(super) fn new(config: RateLimitConfig) -> Self {
        Self::with(config, RecentAddresses::default(), MonotonicClock)
    }
}

impl<C: Clock> RateLimit<C> {
    fn with(config: RateLimitConfig, known: RecentAddresses, clock: C) -> Self {
        let most = NonZeroU32::new(MAX_UNITS_PER_SECOND).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_second(config.units_per_second.min(most)).allow_burst(config.burst);
        Self {
            limiter: RateLimiter::new(quota, known, clock),
            burst: config.burst.get(),
            refused: AtomicU64::new(0),
        }
    }

    /// Takes the units of a call; what is refused takes none.
    pub(super) fn charge(&self, address: ClientAddress, cost: u32) -> Result<(), RateExceeded> {
        let Some(cost) = NonZeroU32::new(cost.min(self.burst)) else { return Ok(()) };
        let checked = self.limiter.check_key_n(&address, cost);
        let checked = checked.expect("no cost is larger than the burst");
        checked.map_err(|until| {
            self.refused.fetch_add(1, Ordering::Relaxed);
            RateExceeded { wait: until.wait_time_from(self.limiter.clock().now()) }
        })
    }

    /// Calls that were refused since the start.
    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use governor::clock::FakeRelativeClock;

    use super::*;

    fn config(units_per_second: u32, burst: u32) -> RateLimitConfig {
        RateLimitConfig {
            units_per_second: NonZeroU32::new(units_per_second).unwrap(),
            burst: NonZeroU32::new(burst).unwrap(),
        }
    }

    fn limit(units: u32, burst: u32) -> (RateLimit<FakeRelativeClock>, FakeRelativeClock) {
        let clock = FakeRelativeClock::default();
        let known = RecentAddresses::default();
        (RateLimit::with(config(units, burst), known, clock.clone()), clock)
    }

    fn address(n: u32) -> ClientAddress {
        ClientAddress::from_peer(Some(IpAddr::from(n.to_be_bytes())))
    }

    #[test]
    fn units_come_back_with_time_and_each_address_has_its_own() {
        let (limit, clock) = limit(10, 30);
        let [a, b] = [1, 2].map(address);
        assert_eq!(limit.charge(a, 20), Ok(()));
        assert_eq!(limit.charge(a, 10), Ok(()));
        let refused = limit.charge(a, 15).unwrap_err();
        assert_eq!((refused.wait, refused.retry_after_s()), (Duration::from_millis(1500), 2));
        let text = "limit exceeded: too many requests from your address, try again in 2 s";
        assert_eq!(RpcError::from(refused), RpcError::with_code(-32005, text));
        assert_eq!(limit.charge(b, 30), Ok(()), "another address");
        clock.advance(Duration::from_millis(1400));
        assert!(limit.charge(a, 15).is_err(), "a refusal takes nothing, and gives nothing");
        clock.advance(Duration::from_millis(100));
        assert_eq!(limit.charge(a, 15), Ok(()));
        assert_eq!(limit.refused(), 2);
        clock.advance(Duration::from_secs(3600));
        assert_eq!(limit.charge(a, 30), Ok(()), "no more than the burst is saved up");
        assert!(limit.charge(a, 1).is_err());
    }

    #[test]
    fn a_call_costs_at_most_the_burst() {
        let (limit, clock) = limit(1, 5);
        assert_eq!(limit.charge(address(1), 1000), Ok(()));
        assert_eq!(limit.charge(address(1), 1000).unwrap_err().retry_after_s(), 5);
        clock.advance(Duration::from_secs(5));
        assert_eq!(limit.charge(address(1), 1000), Ok(()));
        assert_eq!(limit.charge(address(1), 0), Ok(()), "what costs nothing is never refused");
    }

    #[test]
    fn extreme_settings_work() {
        let (limit, clock) = limit(u32::MAX, u32::MAX);
        assert_eq!(limit.charge(address(1), u32::MAX), Ok(()));
        clock.advance(Duration::from_secs(5));
        assert_eq!(limit.charge(address(1), u32::MAX), Ok(()));
    }

    #[test]
    fn many_addresses_take_a_bounded_memory() {
        let known = RecentAddresses::default();
        let limit = RateLimit::with(config(1, 5), known.clone(), FakeRelativeClock::default());
        let most = u32::try_from(MAX_ADDRESSES.get()).unwrap();
        for n in 0..most {
            limit.charge(address(n), 5).unwrap();
        }
        assert!(limit.charge(address(0), 1).is_err(), "still known, and now the latest");
        for n in most..most + 100 {
            limit.charge(address(n), 5).unwrap();
        }
        assert_eq!(known.0.lock().len(), MAX_ADDRESSES.get());
        assert!(limit.charge(address(0), 1).is_err(), "one that goes on is not forgotten");
        assert_eq!(
            limit.charge(address(1), 5),
            Ok(()),
            "the one that was silent for the longest is"
        );
    }

    #[test]
    fn a_wait_is_rounded_up_to_whole_seconds() {
        for (ms, seconds) in [(0, 1), (1, 1), (999, 1), (1000, 1), (1001, 2), (60_000, 60)] {
            let wait = Duration::from_millis(ms);
            assert_eq!(RateExceeded { wait }.retry_after_s(), seconds, "{ms}");
        }
    }
}
