//! One URL: its open connections, its rate, and its failures.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use esker_outbound::{Dialer, HttpConnection};
use esker_primitives::sync::Mutex;
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use tokio::time::Instant;

use super::address::SourceAddress;
use super::fault::Fault;
use super::limits::SourceLimits;
use super::room::Meter;

/// Least time between two lines of the log about one URL.
const LOG_PAUSE: Duration = Duration::from_secs(10);
/// Calls that may be sent at once after a pause: those of this time.
const BURST: Duration = Duration::from_secs(1);

type Connection = HttpConnection<Full<Bytes>>;

/// A reply of HTTP.
#[derive(Debug)]
pub(super) struct HttpReply {
    pub(super) status: StatusCode,
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Bytes,
}

#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) address: SourceAddress,
    idle: Mutex<Vec<Connection>>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The time up to which the calls so far use up the rate.
    used_until: Instant,
    /// Not asked before this time.
    resting_until: Instant,
    /// Failures in a row.
    failures: u32,
    /// Whether it is known to be of the fork's chain.
    is_checked: bool,
    /// Whether it has ever answered.
    has_answered: bool,
    /// When the log last had a line about it.
    logged: Option<Instant>,
}

impl Endpoint {
    pub(super) fn new(address: SourceAddress) -> Self {
        let now = Instant::now();
        let state = State {
            used_until: now,
            resting_until: now,
            failures: 0,
            is_checked: false,
            has_answered: false,
            logged: None,
        };
        Self { address, idle: Mutex::new(Vec::new()), state: Mutex::new(state) }
    }

    /// When it may be asked, and its failures in a row.
    pub(super) fn readiness(&self, now: Instant) -> (Instant, u32) {
        let state = self.state.lock();
        (state.resting_until.max(now), state.failures)
    }

    pub(super) fn is_checked(&self) -> bool {
        self.state.lock().is_checked
    }

    pub(super) fn set_checked(&self) {
        self.state.lock().is_checked = true;
    }

    pub(super) fn succeeded(&self) {
        let mut state = self.state.lock();
        state.failures = 0;
        state.has_answered = true;
    }

    pub(super) fn has_answered(&self) -> bool {
        self.state.lock().has_answered
    }

    /// Whether the log may have a line about it now. The caller writes it.
    pub(super) fn may_log(&self) -> bool {
        let mut state = self.state.lock();
        let may = state.logged.is_none_or(|at| at.elapsed() >= LOG_PAUSE);
        if may {
            state.logged = Some(Instant::now());
        }
        may
    }

    /// Lets it rest after a failure. After a lost connection another program may answer at this address.
    pub(super) fn failed(&self, fault: &Fault, limits: &SourceLimits) {
        let mut state = self.state.lock();
        state.failures = state.failures.saturating_add(1);
        let mut rest = limits.backoff(state.failures);
        if let Fault::RateLimited { retry_after: Some(wanted), .. } = fault {
            rest = rest.max(*wanted);
        }
        if matches!(fault, Fault::Unreachable(_)) {
            state.is_checked = false;
        }
        let until = Instant::now().checked_add(rest);
        state.resting_until = until.map_or(state.resting_until, |at| at.max(state.resting_until));
    }

    /// Takes a part of the rate for calls; they may be sent at the returned time.
    pub(super) fn reserve(&self, calls: usize, per_second: u32) -> Instant {
        let now = Instant::now();
        if per_second == 0 {
            return now;
        }
        let mut state = self.state.lock();
        let begin = state.used_until.max(now);
        let calls = u32::try_from(calls).unwrap_or(u32::MAX);
        state.used_until = begin + (Duration::from_secs(1) / per_second).saturating_mul(calls);
        begin.checked_sub(BURST).map_or(now, |at| at.max(now))
    }

    /// Posts a body and reads the reply within a time.
    pub(super) async fn exchange(
        &self,
        dialer: &Dialer,
        body: Bytes,
        (max, meter): (usize, Meter<'_>),
        timeout: Duration,
    ) -> Result<HttpReply, Fault> {
        match tokio::time::timeout(timeout, self.post(dialer, body, (max, meter))).await {
            Ok(reply) => reply,
            Err(_) => Err(Fault::TimedOut(timeout)),
        }
    }

    async fn post(
        &self,
        dialer: &Dialer,
        body: Bytes,
        limit: (usize, Meter<'_>),
    ) -> Result<HttpReply, Fault> {
        let pooled = self.idle.lock().pop();
        if let Some(open) = pooled {
            match self.post_on(open, body.clone(), limit).await {
                // Servers close idle connections: a new one shows whether it is reachable.
                Err(Fault::Unreachable(_)) => {}
                reply => return reply,
            }
        }
        let open = dialer.connect(&self.address.url).await;
        let open = open.map_err(|error| Fault::Unreachable(error.to_string()))?;
        self.post_on(open, body, limit).await
    }

    async fn post_on(
        &self,
        mut open: Connection,
        body: Bytes,
        (max, mut meter): (usize, Meter<'_>),
    ) -> Result<HttpReply, Fault> {
        let lost = |error: hyper::Error| Fault::Unreachable(self.reason(&error));
        open.sender.ready().await.map_err(lost)?;
        let reply = open.sender.send_request(self.request(body)?).await.map_err(lost)?;
        let status = reply.status();
        let retry_after = reply.headers().get(header::RETRY_AFTER).and_then(seconds);
        let mut body = reply.into_body();
        let mut read = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(lost)?.into_data() else { continue };
            if read.len().saturating_add(data.len()) > max {
                return Err(Fault::TooLong(max));
            }
            if !meter.fits(read.len() + data.len()) {
                return Err(Fault::NoRoom);
            }
            read.extend_from_slice(&data);
        }
        self.idle.lock().push(open);
        Ok(HttpReply { status, retry_after, body: read.freeze() })
    }

    fn request(&self, body: Bytes) -> Result<Request<Full<Bytes>>, Fault> {
        let mut request = Request::post(&self.address.path)
            .header(header::HOST, self.address.url.authority())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json");
        for (name, value) in &self.address.headers {
            request = request.header(name, value);
        }
        request.body(Full::new(body)).map_err(|error| Fault::Unreachable(error.to_string()))
    }

    /// The text of an error with its causes.
    fn reason(&self, error: &hyper::Error) -> String {
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(error);
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        self.address.redact(&text)
    }
}

/// The header `Retry-After` in seconds. Its other form, a date, counts as absent: this node's clock may differ.
fn seconds(value: &HeaderValue) -> Option<Duration> {
    let seconds: f64 = value.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}
