//! The source of a forked chain, which clients may replace.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use esker_evm_rpc::ForkSource;
use esker_fork::Fork;
use esker_fork::source::{Source, SourceAddress, SourceLimits};
use esker_outbound::Dialer;
use esker_primitives::sync::Mutex;
use esker_settings::config::{Config, Settings};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use crate::own_addresses::OwnAddresses;

/// Longest time of a group of calls to the source: clients get its fault before their own request has taken too long.
const MAX_WAIT: Duration = Duration::from_secs(20);
/// Most URLs that are checked at a time.
const MAX_CHECKED: usize = 8;

/// The limits of the requests to a source.
pub(crate) fn source_limits(settings: &Settings) -> SourceLimits {
    let usual = SourceLimits::default();
    let (request_timeout, first_backoff) = (settings.fork_timeout.0, settings.fork_backoff.0);
    SourceLimits {
        calls_per_second: settings.fork_rate,
        retries: settings.fork_retries,
        request_timeout,
        first_backoff,
        max_backoff: usual.max_backoff.max(first_backoff),
        deadline: MAX_WAIT.max(request_timeout),
        ..usual
    }
}

/// The source of a forked chain.
pub(super) struct ForkSourceControl {
    fork: Fork,
    dialer: Dialer,
    limits: SourceLimits,
    /// The URLs of the settings. Only their nodes get the headers.
    urls: Vec<String>,
    headers: Vec<String>,
    own: OwnAddresses,
    places: Semaphore,
    /// Requests so far.
    asked: AtomicU64,
    last: Mutex<Change>,
}

/// The last change of the source.
#[derive(Default)]
struct Change {
    /// The requests up to its own.
    asked: u64,
    urls: Option<String>,
}

impl ForkSourceControl {
    pub(super) fn new(fork: Fork, config: &Config, own: OwnAddresses) -> Self {
        let settings = &config.settings;
        Self {
            fork,
            dialer: config.dialer.clone(),
            limits: source_limits(settings),
            urls: settings.fork_url.0.clone(),
            headers: settings.fork_header.0.clone(),
            own,
            places: Semaphore::new(MAX_CHECKED),
            asked: AtomicU64::default(),
            last: Mutex::default(),
        }
    }

    /// The addresses of URLs with commas between them.
    fn addresses(&self, urls: &str) -> Result<Vec<SourceAddress>, String> {
        let urls = urls.split(',').map(str::trim).filter(|url| !url.is_empty());
        urls.map(|url| self.address(url)).collect()
    }

    fn address(&self, url: &str) -> Result<SourceAddress, String> {
        if self.own.has(url) {
            return Err("a node can't fork itself".to_owned());
        }
        let address = SourceAddress::parse(url);
        let is_of_settings = self.urls.iter().any(|known| known == url);
        let headers = self.headers.iter().filter(|_| is_of_settings);
        headers
            .fold(address, |address, header| address?.with_header(header))
            .map_err(|error| error.to_string())
    }

    async fn replace(&self, urls: String) -> Result<(), String> {
        let addresses = self.addresses(&urls)?;
        let place = self.places.try_acquire();
        let _place = place.map_err(|_| "too many changes of the URL at once: try again")?;
        let asked = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let source = Source::new(addresses, self.dialer.clone(), self.limits.clone());
        let other = self.fork.other_source(source).await.map_err(|error| error.to_string())?;
        let mut last = self.last.lock();
        if asked < last.asked {
            return Err("another URL was set while this one was checked, and stays".to_owned());
        }
        other.take_over();
        *last = Change { asked, urls: Some(urls) };
        tracing::info!(source = self.fork.url(), "the fork reads from another source from now on");
        Ok(())
    }
}

impl fmt::Debug for ForkSourceControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForkSourceControl").field("fork", &self.fork.url()).finish_non_exhaustive()
    }
}

impl ForkSource for ForkSourceControl {
    fn url(&self) -> Option<String> {
        self.fork.url()
    }

    fn changed_url(&self) -> Option<String> {
        self.last.lock().urls.clone()
    }

    fn set_url(&self, url: String) -> BoxFuture<'_, Result<(), String>> {
        self.replace(url).boxed()
    }
}
