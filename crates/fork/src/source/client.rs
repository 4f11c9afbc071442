//! Calls of JSON-RPC: batches, retries, fail-over.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use esker_outbound::Dialer;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};

use super::address::SourceAddress;
use super::counters::{Counters, LastFault, SourceCounts};
use super::endpoint::{Endpoint, HttpReply};
use super::fault::{Fault, SourceError};
use super::limits::SourceLimits;
use super::reply::{Entries, parse, request_body};
use super::room::{Meter, ReplyRoom};

/// After this time the log names a URL that has never answered.
const PATIENCE: Duration = Duration::from_secs(1);

/// A call of a method.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The method.
    pub method: &'static str,
    /// Its list of arguments.
    pub params: Value,
}

impl Call {
    /// A call with a list of arguments.
    pub const fn new(method: &'static str, params: Value) -> Self {
        Self { method, params }
    }
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The result, possibly null.
    pub result: Value,
    /// The source that gave it, without credentials and keys.
    pub url: Arc<str>,
}

/// One or several URLs of the same chain, the preferred one first. All methods that are called only read, so a call
/// may be sent again.
#[derive(Debug)]
pub struct Source {
    endpoints: Vec<Endpoint>,
    urls: Vec<Arc<str>>,
    dialer: Dialer,
    limits: SourceLimits,
    permits: Semaphore,
    /// Most calls of a batch, as far as the sources have refused larger ones.
    batch_limit: AtomicUsize,
    /// The chain that each URL must be of.
    chain: OnceLock<u64>,
    counters: Arc<Counters>,
}

/// The calls of one group that have no result yet.
struct Work<'a> {
    calls: &'a [Call],
    results: Vec<Option<Result<Answer, SourceError>>>,
    /// The last fault of each call.
    faults: Vec<Option<Fault>>,
    /// URLs that can't answer: they don't have the state, deny access, or are of another chain.
    excluded: BTreeSet<usize>,
    /// The URL that was asked last.
    last: usize,
    /// Requests in a row without any result.
    failures: u32,
    deadline: Instant,
    /// Where long replies are counted.
    room: Option<&'a dyn ReplyRoom>,
}

impl Work<'_> {
    fn pending(&self, max: usize) -> Vec<usize> {
        let open = self.results.iter().enumerate().filter(|(_, result)| result.is_none());
        open.map(|(at, _)| at).take(max.max(1)).collect()
    }

    /// Notes a fault of calls that may be asked again.
    fn note(&mut self, pending: &[usize], fault: &Fault) {
        pending.iter().for_each(|at| self.faults[*at] = Some(fault.clone()));
    }

    fn resolve(&mut self, at: usize, url: &Arc<str>, result: Result<Value, Fault>) {
        let method = self.calls[at].method.to_owned();
        self.results[at] = Some(match result {
            Ok(result) => Ok(Answer { result, url: Arc::clone(url) }),
            Err(fault) => Err(SourceError { url: url.to_string(), method, fault }),
        });
    }
}

impl Source {
    /// Opens nothing yet. `addresses` has at least one address.
    pub fn new(addresses: Vec<SourceAddress>, dialer: Dialer, limits: SourceLimits) -> Self {
        let urls = addresses.iter().map(|address| address.to_string().into()).collect();
        Self {
            endpoints: addresses.into_iter().map(Endpoint::new).collect(),
            urls,
            dialer,
            permits: Semaphore::new(limits.max_concurrent.max(1)),
            batch_limit: AtomicUsize::new(limits.max_batch.max(1)),
            limits,
            chain: OnceLock::new(),
            counters: Arc::default(),
        }
    }

    /// The preferred URL, without credentials and keys.
    pub fn url(&self) -> &str {
        self.urls.first().map_or("", |url| url)
    }

    /// What was asked so far.
    pub fn counts(&self) -> SourceCounts {
        self.counters.counts()
    }

    /// The last fault, other than an error that answers a call.
    pub fn last_fault(&self) -> Option<LastFault> {
        self.counters.last_fault()
    }

    /// Where its requests are counted.
    pub(crate) fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// Counts on where the requests of an earlier source were counted.
    pub(crate) fn count_on(&mut self, earlier: &Arc<Counters>) {
        earlier.add_all(&self.counters);
        self.counters = Arc::clone(earlier);
    }

    /// The limits of its requests.
    pub(crate) fn limits(&self) -> &SourceLimits {
        &self.limits
    }

    /// Sets times and retries of later requests. The number of parallel ones stays.
    pub(crate) fn set_limits(&mut self, limits: SourceLimits) {
        self.limits = limits;
    }

    /// Most calls of a batch that the sources take, as far as known.
    pub fn batch_limit(&self) -> usize {
        self.batch_limit.load(Ordering::Relaxed)
    }

    /// Sets the chain that each URL must be of from now on, and the URL that is known to be of it, if any. Only the
    /// first call counts.
    pub fn expect_chain(&self, id: u64, known: &str) {
        if self.chain.set(id).is_err() {
            return;
        }
        for (endpoint, url) in self.endpoints.iter().zip(&self.urls) {
            if &**url == known {
                endpoint.set_checked();
            }
        }
    }

    /// Calls a method.
    ///
    /// # Errors
    /// The call has no result; see [`Fault`].
    pub async fn call(&self, call: Call) -> Result<Answer, SourceError> {
        let calls = [call];
        self.run(&calls, None).await.remove(0)
    }

    /// As [`Self::call`]; a long reply takes `room`, if there is any given, or is an error.
    ///
    /// # Errors
    /// The call has no result; see [`Fault`].
    pub async fn call_within(
        &self,
        call: Call,
        room: Option<&dyn ReplyRoom>,
    ) -> Result<Answer, SourceError> {
        let calls = [call];
        self.run(&calls, room).await.remove(0)
    }

    /// Calls several methods in as few requests as the limits allow. The results are in the order of the calls.
    pub async fn batch(&self, calls: &[Call]) -> Vec<Result<Answer, SourceError>> {
        let parts = calls.chunks(self.batch_limit());
        join_all(parts.map(|part| self.run(part, None))).await.into_iter().flatten().collect()
    }

    async fn run(
        &self,
        calls: &[Call],
        room: Option<&dyn ReplyRoom>,
    ) -> Vec<Result<Answer, SourceError>> {
        let mut work = Work {
            calls,
            results: calls.iter().map(|_| None).collect(),
            faults: calls.iter().map(|_| None).collect(),
            excluded: BTreeSet::new(),
            last: 0,
            failures: 0,
            deadline: Instant::now() + self.limits.deadline,
            room,
        };
        loop {
            let pending = work.pending(self.batch_limit());
            if pending.is_empty() {
                break;
            }
            let is_over = work.failures > self.limits.retries;
            let next = if is_over { None } else { self.pick(&work) };
            let Some(at) = next else {
                self.give_up(&mut work);
                break;
            };
            self.step(&mut work, at, &pending).await;
        }
        // Each call has a result now.
        work.results.into_iter().flatten().collect()
    }

    /// The URL to ask next; `None` if no URL can answer before the deadline.
    fn pick(&self, work: &Work<'_>) -> Option<usize> {
        let now = Instant::now();
        let ready = self.endpoints.iter().enumerate().filter_map(|(at, endpoint)| {
            let (when, failures) = endpoint.readiness(now);
            let is_useful = when < work.deadline && !work.excluded.contains(&at);
            is_useful.then_some((when, failures, at))
        });
        ready.min().map(|(_, _, at)| at)
    }

    /// Every call without a result gets its last fault.
    fn give_up(&self, work: &mut Work<'_>) {
        let fallback = Fault::TimedOut(self.limits.deadline);
        let url = self.urls.get(work.last).cloned().unwrap_or_default();
        for at in work.pending(usize::MAX) {
            let fault = work.faults[at].take().unwrap_or_else(|| fallback.clone());
            work.resolve(at, &url, Err(fault));
        }
    }

    /// Sends one request, and notes what it brought.
    async fn step(&self, work: &mut Work<'_>, at: usize, pending: &[usize]) {
        if work.failures > 0 {
            Counters::add(&self.counters.retries, 1);
        }
        if work.last != at {
            Counters::add(&self.counters.failovers, 1);
            work.last = at;
        }
        let calls: Vec<_> =
            pending.iter().map(|at| (work.calls[*at].method, &work.calls[*at].params)).collect();
        let reply = match self.check_chain(at, work.deadline).await {
            Ok(()) => self.exchange(at, &calls, work.deadline, work.room).await,
            Err(fault) => Err(fault),
        };
        let is_progress = match reply {
            Ok(entries) => self.take_entries(work, at, pending, entries),
            Err(fault) => self.take_fault(work, at, pending, fault),
        };
        work.failures = if is_progress { 0 } else { work.failures + 1 };
    }

    /// Takes the results of a request. Returns whether there was any.
    fn take_entries(
        &self,
        work: &mut Work<'_>,
        at: usize,
        pending: &[usize],
        entries: Entries,
    ) -> bool {
        let mut failed = None;
        let mut is_progress = false;
        for (call, entry) in pending.iter().zip(entries) {
            let fault = match entry {
                Some(Ok(result)) => {
                    work.resolve(*call, &self.urls[at], Ok(result));
                    is_progress = true;
                    continue;
                }
                Some(Err(fault)) => fault,
                None => Fault::Garbage("a batch without the reply to this call".to_owned()),
            };
            self.count_fault(at, &fault);
            work.faults[*call] = Some(fault.clone());
            match fault {
                Fault::NoState(_) => {
                    is_progress |= work.excluded.insert(at);
                }
                Fault::BatchRefused(_) if pending.len() > 1 => {
                    self.shrink(pending.len());
                    is_progress = true;
                }
                fault if fault.is_transient() => failed = Some(fault),
                fault => {
                    work.resolve(*call, &self.urls[at], Err(fault));
                    is_progress = true;
                }
            }
        }
        match failed {
            Some(fault) => self.endpoint_failed(at, &fault),
            None => self.endpoints[at].succeeded(),
        }
        is_progress
    }

    /// Takes a fault of a whole request. Returns whether another request will differ.
    fn take_fault(&self, work: &mut Work<'_>, at: usize, pending: &[usize], fault: Fault) -> bool {
        self.count_fault(at, &fault);
        work.note(pending, &fault);
        match fault {
            Fault::BatchRefused(_) | Fault::TooLong(_) if pending.len() > 1 => {
                self.shrink(pending.len());
                true
            }
            // Some servers answer batches with a status of clients' mistakes.
            Fault::Status { status: 400 | 405 | 422, .. } if pending.len() > 1 => {
                self.batch_limit.store(1, Ordering::Relaxed);
                true
            }
            fault if fault.is_of_url() => {
                self.endpoint_failed(at, &fault);
                work.excluded.insert(at)
            }
            fault if fault.is_transient() => {
                self.endpoint_failed(at, &fault);
                false
            }
            fault => {
                for call in pending {
                    work.resolve(*call, &self.urls[at], Err(fault.clone()));
                }
                true
            }
        }
    }

    fn count_fault(&self, at: usize, fault: &Fault) {
        self.counters.add_fault(fault.kind());
        if !fault.is_refusal() {
            self.counters.set_last_fault(format!("{}: {fault}", self.urls[at]));
        }
    }

    fn endpoint_failed(&self, at: usize, fault: &Fault) {
        if matches!(fault, Fault::RateLimited { .. }) {
            Counters::add(&self.counters.rate_limited, 1);
        }
        if self.endpoints[at].may_log() {
            tracing::warn!(url = &*self.urls[at], %fault, "the fork's source failed");
        }
        self.endpoints[at].failed(fault, &self.limits);
    }

    /// A batch of this size was refused.
    fn shrink(&self, size: usize) {
        self.batch_limit.fetch_min((size / 2).max(1), Ordering::Relaxed);
    }

    /// Checks that a URL which was not asked yet, or was lost, is of the fork's chain.
    async fn check_chain(&self, at: usize, deadline: Instant) -> Result<(), Fault> {
        let endpoint = &self.endpoints[at];
        let Some(expected) = self.chain.get().copied() else { return Ok(()) };
        if endpoint.is_checked() {
            return Ok(());
        }
        let params = json!([]);
        let mut entries = self.exchange(at, &[("eth_chainId", &params)], deadline, None).await?;
        let result = entries.pop().flatten().unwrap_or(Ok(Value::Null))?;
        let text = result.as_str().and_then(|text| text.strip_prefix("0x")).unwrap_or_default();
        let found = u64::from_str_radix(text, 16)
            .map_err(|_| Fault::Garbage(format!("eth_chainId: {result}")))?;
        if found != expected {
            return Err(Fault::OtherChain { expected, found });
        }
        endpoint.set_checked();
        Ok(())
    }

    /// Sends one request as soon as the limits allow it.
    async fn exchange(
        &self,
        at: usize,
        calls: &[(&str, &Value)],
        deadline: Instant,
        room: Option<&dyn ReplyRoom>,
    ) -> Result<Entries, Fault> {
        let endpoint = &self.endpoints[at];
        let begun = Instant::now();
        let overdue = || Fault::TimedOut(self.limits.deadline);
        sleep_until(endpoint.readiness(begun).0).await;
        let permit = tokio::time::timeout_at(deadline, self.permits.acquire()).await;
        let _permit = permit.map_err(|_| overdue())?;
        let when = endpoint.reserve(calls.len(), self.limits.calls_per_second);
        if when >= deadline {
            return Err(overdue());
        }
        sleep_until(when).await;
        let sent = Instant::now();
        Counters::add_time(&self.counters.wait_us, sent - begun);
        let body = request_body(calls);
        Counters::add(&self.counters.requests, 1);
        Counters::add(&self.counters.calls, calls.len());
        Counters::add(&self.counters.bytes_sent, body.len());
        let timeout = self.limits.request_timeout.min(deadline.saturating_duration_since(sent));
        let reply = self.reply(at, body, timeout, Meter::new(room)).await;
        Counters::add_time(&self.counters.request_us, sent.elapsed());
        let reply = reply?;
        Counters::add(&self.counters.bytes_received, reply.body.len());
        parse(&reply, calls.len(), |text| endpoint.address.redact(text))
    }

    /// Posts a body. The log names a URL whose first reply takes long.
    async fn reply(
        &self,
        at: usize,
        body: Bytes,
        timeout: Duration,
        meter: Meter<'_>,
    ) -> Result<HttpReply, Fault> {
        let endpoint = &self.endpoints[at];
        let exchange =
            endpoint.exchange(&self.dialer, body, (self.limits.max_reply, meter), timeout);
        let mut exchange = std::pin::pin!(exchange);
        if !endpoint.has_answered() {
            match tokio::time::timeout(PATIENCE, &mut exchange).await {
                Ok(reply) => return reply,
                Err(_) if endpoint.may_log() => {
                    let url = &*self.urls[at];
                    tracing::warn!(url, "the fork's source has not answered for a second");
                }
                Err(_) => {}
            }
        }
        exchange.await
    }
}
