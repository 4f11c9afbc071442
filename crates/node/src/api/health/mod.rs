//! Health checks of the node, with names and tags. They run together; `/ext/health` and its sub-paths report them.
//!
//! They run at the start, every [`PERIOD`], and for a request if the last run is older than [`MAX_AGE`]. A new node
//! is thus healthy at once, the next request reports a failure, and concurrent requests share one run. `standard.rs`
//! lists the node's checks.

mod api;
mod standard;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use esker_chain::Shutdown;
use esker_primitives::clock::Clock;
use esker_primitives::sync::Mutex;
use futures_util::future::{BoxFuture, join_all};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::time::Timestamp;
use crate::metrics::Metrics;

pub(super) use api::install;
pub(super) use standard::{database, diskspace, standard};

/// How often the checks run without a request.
pub const PERIOD: Duration = Duration::from_secs(30);
/// Maximum age of a reported result.
pub const MAX_AGE: Duration = Duration::from_secs(1);
/// Timeout of one check.
pub const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// Tag of the checks that are always reported.
pub const APPLICATION: &str = "application";

/// The result of a check: a message for the report, or the failure.
pub type Outcome = Result<Value, Failure>;

/// The reason why a check failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The error.
    pub error: String,
    /// Further text or figures.
    pub message: Value,
}

impl<T: Into<String>> From<T> for Failure {
    fn from(error: T) -> Self {
        Self { error: error.into(), message: Value::Null }
    }
}

type CheckFn = Arc<dyn Fn() -> BoxFuture<'static, Outcome> + Send + Sync>;

struct Check {
    name: String,
    tags: Vec<String>,
    run: CheckFn,
}

/// The last result of one check, as reported.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CheckResult {
    #[serde(skip_serializing_if = "Value::is_null")]
    message: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    timestamp: Timestamp,
    /// Nanoseconds.
    duration: u64,
    #[serde(skip_serializing_if = "is_zero")]
    contiguous_failures: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_of_first_failure: Option<Timestamp>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// The health report.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct HealthReport {
    checks: BTreeMap<String, CheckResult>,
    healthy: bool,
}

impl HealthReport {
    pub(crate) const fn is_healthy(&self) -> bool {
        self.healthy
    }
}

/// The results of one run.
#[derive(Default)]
struct Run {
    /// End of the run.
    at: Option<Instant>,
    results: BTreeMap<String, CheckResult>,
}

/// The checks and their last results.
pub struct Health {
    checks: Vec<Check>,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    max_age: Duration,
    last: Mutex<Run>,
    /// One run at a time; waiting callers use its results.
    turn: Semaphore,
}

impl Health {
    /// No checks.
    pub fn new(clock: Arc<dyn Clock>, metrics: Arc<Metrics>) -> Self {
        Self {
            checks: Vec::new(),
            clock,
            metrics,
            max_age: MAX_AGE,
            last: Mutex::new_named("health", Run::default()),
            turn: Semaphore::new(1),
        }
    }

    /// Reports results up to this age.
    #[must_use]
    pub fn with_max_age(mut self, max_age: Duration) -> Self {
        self.max_age = max_age;
        self
    }

    /// Adds a check. The tag [`APPLICATION`] makes every report include it; otherwise a report includes it if the
    /// request has one of its tags, or no tag.
    #[must_use]
    pub fn check<F, Fut>(mut self, name: &str, tags: &[&str], run: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Outcome> + Send + 'static,
    {
        self.checks.push(Check {
            name: name.to_owned(),
            tags: tags.iter().map(ToString::to_string).collect(),
            run: Arc::new(move || Box::pin(run())),
        });
        self
    }

    /// Adds a check that may block its thread.
    #[must_use]
    pub fn blocking_check<F>(self, name: &str, tags: &[&str], run: F) -> Self
    where
        F: Fn() -> Outcome + Send + Sync + 'static,
    {
        let (run, turn) = (Arc::new(run), Turn::default());
        self.check(name, tags, move || {
            let (run, turn) = (Arc::clone(&run), turn.clone());
            async move { turn.run(move || run()).await? }
        })
    }

    /// Runs the checks at once and then periodically, until `stop`.
    pub async fn run(self: Arc<Self>, mut stop: Shutdown) {
        let forever = async {
            loop {
                self.refresh(Duration::ZERO).await;
                tokio::time::sleep(PERIOD).await;
            }
        };
        tokio::select! {
            () = forever => {}
            () = stop.wait() => {}
        }
    }

    /// The report of the checks with one of the tags, and of those that every report includes; of all checks without
    /// tags.
    pub(crate) async fn report<T: AsRef<str>>(&self, tags: &[T]) -> HealthReport {
        self.refresh(self.max_age).await;
        self.select(|check| {
            tags.is_empty()
                || check
                    .tags
                    .iter()
                    .any(|tag| tag == APPLICATION || tags.iter().any(|asked| asked.as_ref() == tag))
        })
    }

    /// The report of one check by its name, and of another one if it fails.
    pub(crate) async fn report_readiness(&self, always: &str, failing: &str) -> HealthReport {
        self.refresh(self.max_age).await;
        self.select_results(|check, result| {
            check.name == always || check.name == failing && result.error.is_some()
        })
    }

    fn select(&self, wanted: impl Fn(&Check) -> bool) -> HealthReport {
        self.select_results(|check, _| wanted(check))
    }

    fn select_results(&self, wanted: impl Fn(&Check, &CheckResult) -> bool) -> HealthReport {
        let last = self.last.lock();
        let checks: BTreeMap<_, _> = self
            .checks
            .iter()
            .filter_map(|check| Some((check, last.results.get(&check.name)?)))
            .filter(|(check, result)| wanted(check, result))
            .map(|(check, result)| (check.name.clone(), result.clone()))
            .collect();
        let healthy = checks.values().all(|result| result.error.is_none());
        HealthReport { checks, healthy }
    }

    async fn refresh(&self, max_age: Duration) {
        let asked = Instant::now();
        let fresh = || {
            // A run that ended after the request arrived is fresh enough, however long it took.
            let at = self.last.lock().at;
            at.is_some_and(|at| at >= asked || asked.duration_since(at) < max_age)
        };
        if fresh() {
            return;
        }
        let Ok(_turn) = self.turn.acquire().await else { return };
        if !fresh() {
            self.run_checks().await;
        }
    }

    async fn run_checks(&self) {
        let outcomes = join_all(self.checks.iter().map(|check| async {
            let start = Instant::now();
            let outcome = match tokio::time::timeout(CHECK_TIMEOUT, (check.run)()).await {
                Ok(outcome) => outcome,
                Err(_) => Err(format!("no result within {CHECK_TIMEOUT:?}").into()),
            };
            (outcome, start.elapsed())
        }))
        .await;
        let now = Timestamp::from_ms(self.clock.now_ms());
        let mut last = self.last.lock();
        for (check, (outcome, duration)) in self.checks.iter().zip(outcomes) {
            let before = last.results.get(&check.name);
            let result = CheckResult::new(outcome, duration, now, before);
            log_change(&check.name, before, &result);
            last.results.insert(check.name.clone(), result);
        }
        last.at = Some(Instant::now());
        let failing = last.results.values().filter(|result| result.error.is_some()).count();
        self.metrics.checks_failing(failing);
    }
}

/// The turn of a check that may block its thread. A hanging run keeps it, so that at most one thread runs the check.
#[derive(Clone, Debug)]
struct Turn(Arc<Semaphore>);

impl Default for Turn {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl Turn {
    /// Runs work on a thread that may block.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let Ok(place) = Arc::clone(&self.0).try_acquire_owned() else {
            return Err("an earlier run of the check has not ended".into());
        };
        let work = move || {
            let _place = place;
            work()
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|error| error.to_string().into())
    }
}

impl CheckResult {
    fn new(outcome: Outcome, duration: Duration, now: Timestamp, before: Option<&Self>) -> Self {
        let (message, error) = match outcome {
            Ok(message) => (message, None),
            Err(Failure { error, message }) => (message, Some(error)),
        };
        let failed_before = before.filter(|_| error.is_some());
        Self {
            message,
            timestamp: now,
            duration: u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX),
            contiguous_failures: match &error {
                Some(_) => failed_before.map_or(0, |before| before.contiguous_failures) + 1,
                None => 0,
            },
            time_of_first_failure: error
                .as_ref()
                .map(|_| failed_before.and_then(|b| b.time_of_first_failure).unwrap_or(now)),
            error,
        }
    }
}

fn log_change(name: &str, before: Option<&CheckResult>, now: &CheckResult) {
    let failed_before = before.is_some_and(|before| before.error.is_some());
    match &now.error {
        Some(error) if !failed_before => tracing::warn!(check = name, error, "health check failed"),
        None if failed_before => tracing::info!(check = name, "health check passes again"),
        _ => {}
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.checks.iter().map(|check| &check.name).collect();
        f.debug_struct("Health").field("checks", &names).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use esker_primitives::clock::ManualClock;
    use serde_json::json;

    use super::*;

    fn clock() -> ManualClock {
        ManualClock::new(1_607_144_400_000)
    }

    fn empty(clock: &ManualClock) -> Health {
        Health::new(Arc::new(clock.clone()), Arc::new(Metrics::new())).with_max_age(Duration::ZERO)
    }

    /// The report without the durations, which vary.
    async fn report(health: &Health, tags: &[&str]) -> Value {
        let mut report = serde_json::to_value(health.report(tags).await).unwrap();
        for check in report["checks"].as_object_mut().unwrap().values_mut() {
            assert!(check.as_object_mut().unwrap().remove("duration").unwrap().is_u64());
        }
        report
    }

    #[tokio::test]
    async fn failures_are_counted_from_the_first_on() {
        let (clock, fails) = (clock(), Arc::new(AtomicBool::new(false)));
        let health = empty(&clock).check("disk", &[APPLICATION], {
            let fails = Arc::clone(&fails);
            move || {
                let failed = fails.load(Ordering::Relaxed);
                async move { if failed { Err("full".into()) } else { Ok(json!({"free": 1})) } }
            }
        });
        let good = |time| json!({"checks": {"disk": {"message": {"free": 1}, "timestamp": time}}, "healthy": true});
        assert_eq!(report(&health, &[]).await, good("2020-12-05T05:00:00Z"));
        fails.store(true, Ordering::Relaxed);
        for (failures, time) in [(1, "2020-12-05T05:00:01Z"), (2, "2020-12-05T05:00:02Z")] {
            clock.advance(1000);
            let check = json!({"error": "full", "timestamp": time, "contiguousFailures": failures,
                "timeOfFirstFailure": "2020-12-05T05:00:01Z"});
            assert_eq!(
                report(&health, &[]).await,
                json!({"checks": {"disk": check}, "healthy": false})
            );
            assert!(health.metrics.render().contains("esker_health_checks_failing 1"));
        }
        fails.store(false, Ordering::Relaxed);
        assert_eq!(report(&health, &[]).await, good("2020-12-05T05:00:02Z"));
    }

    #[tokio::test]
    async fn tags_choose_among_the_checks_that_are_not_of_the_application() {
        let fine = || async { Ok(Value::Null) };
        let health = empty(&clock())
            .check("database", &[APPLICATION], fine)
            .check("X", &["primary"], fine)
            .check("Y", &["other"], fine);
        for (tags, names) in [
            (&[][..], &["X", "Y", "database"][..]),
            (&["primary"], &["X", "database"]),
            (&["other", "primary"], &["X", "Y", "database"]),
            (&["none"], &["database"]),
        ] {
            let report = report(&health, tags).await;
            let found: Vec<_> = report["checks"].as_object().unwrap().keys().collect();
            assert_eq!(found, names, "{tags:?}");
        }
    }

    #[tokio::test]
    async fn a_recent_result_is_reported_again() {
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        let health = empty(&clock()).with_max_age(Duration::from_secs(3600)).blocking_check(
            "database",
            &[APPLICATION],
            move || {
                counted.fetch_add(1, Ordering::Relaxed);
                Ok(Value::Null)
            },
        );
        let ask = || health.report::<&str>(&[]);
        let reports = join_all([ask(), ask(), ask()]).await;
        assert!(reports.iter().all(HealthReport::is_healthy));
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_check_that_hangs_fails() {
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let wait = Mutex::new_named("test", wait);
        let health = empty(&clock()).blocking_check("disk", &[APPLICATION], move || {
            let _ = wait.lock().recv();
            Ok(Value::Null)
        });
        let error = |report: Value| report["checks"]["disk"]["error"].clone();
        // The runtime's clock is paused and advances to the next timer when the runtime is idle. A blocking task
        // prevents that, so the test advances it.
        let (first, ()) = tokio::join!(report(&health, &[]), async {
            tokio::task::yield_now().await;
            tokio::time::advance(CHECK_TIMEOUT).await;
        });
        assert_eq!(error(first), json!("no result within 5s"));
        assert_eq!(
            error(report(&health, &[]).await),
            json!("an earlier run of the check has not ended")
        );
        drop(go);
    }
}
