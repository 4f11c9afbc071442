//! Returning to a preferred source that is back, while a lower one of the list is followed.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use esker_chain::ChainMachine;
use esker_primitives::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use crate::engine::FollowerConfig;
use crate::feed::{Feed, FeedItem, Source, SourceError};

/// Longest wait before the next probe of a source that can't be reached, refuses or is behind.
const GONE_MAX: Duration = Duration::from_secs(30);
/// A source that is left within this time after a return, in ms, is probed less often.
const STEADY_MS: u64 = 600_000;
/// Number of bundles above this node's height that are enough for a probe.
const AHEAD: u64 = 256;

/// The times of the next probes of preferred sources.
#[derive(Debug)]
pub(super) struct Schedule {
    min: Duration,
    max: Duration,
    wait: Duration,
    /// The last return to a source: its place, and the time in Unix ms.
    returned: Option<(usize, u64)>,
}

impl Schedule {
    pub(super) fn new(config: &FollowerConfig) -> Self {
        let (min, max) = (config.return_min, config.return_max);
        Self { min, max, wait: min, returned: None }
    }

    /// No preferred source is back; `error` is that of the best of them.
    fn failed(&mut self, error: &SourceError) {
        let is_gone = matches!(
            error,
            SourceError::Unreachable(_)
                | SourceError::Refused(_)
                | SourceError::Behind(_)
                | SourceError::Ended(_)
        );
        let doubled = self.wait.saturating_mul(2);
        let most = if is_gone { GONE_MAX.max(self.wait) } else { self.max };
        self.wait = doubled.min(most).min(self.max);
    }

    pub(super) fn returned(&mut self, place: usize, now_ms: u64) {
        self.returned = Some((place, now_ms));
    }

    /// The source at that place is left. A source that failed soon after a return is probed later, so that the
    /// follower does not go back and forth.
    pub(super) fn left(&mut self, place: usize, now_ms: u64) {
        match self.returned.take() {
            Some((of, at)) if of == place && now_ms.saturating_sub(at) < STEADY_MS => {
                self.wait = self.wait.saturating_mul(2).min(self.max);
            }
            Some((of, _)) if of == place => self.wait = self.min,
            other => self.returned = other,
        }
    }
}

/// Probes preferred sources in the background, until one is back.
#[derive(Debug)]
pub(super) struct ReturnWatch(Option<JoinHandle<usize>>);

impl ReturnWatch {
    /// Probes these sources, the preferred one first. An empty list needs no task.
    pub(super) fn spawn(
        preferred: &[Arc<dyn Source>],
        machine: &Arc<dyn ChainMachine>,
        schedule: &Arc<Mutex<Schedule>>,
        time: Duration,
    ) -> Self {
        if preferred.is_empty() {
            return Self(None);
        }
        let (preferred, machine) = (preferred.to_vec(), Arc::clone(machine));
        let schedule = Arc::clone(schedule);
        Self(Some(tokio::spawn(async move {
            loop {
                let wait = schedule.lock().wait;
                tokio::time::sleep(wait).await;
                let mut failed = None;
                for (place, source) in preferred.iter().enumerate() {
                    match probe(source.as_ref(), machine.as_ref(), time).await {
                        Ok(()) => return place,
                        Err(error) => {
                            tracing::debug!(source = source.name(), %error, "not back");
                            failed.get_or_insert(error);
                        }
                    }
                }
                failed.iter().for_each(|error| schedule.lock().failed(error));
            }
        })))
    }

    /// Waits until a source is back, and returns its place in the list.
    pub(super) async fn wait(&mut self) -> usize {
        let Some(task) = &mut self.0 else { return pending().await };
        match task.await {
            Ok(place) => {
                self.0 = None;
                place
            }
            Err(_) => pending().await,
        }
    }
}

impl Drop for ReturnWatch {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

/// Whether a source is worth a return: for `time` it sends the bundles that become final here through another source,
/// and then has this node's last bundle. None of its bundles is executed.
async fn probe(
    source: &dyn Source,
    machine: &dyn ChainMachine,
    time: Duration,
) -> Result<(), SourceError> {
    let opened = machine.last_final();
    let mut probed = ProbedFeed { feed: source.open(opened).await?, height: opened.0 };
    let until = Instant::now() + time;
    while probed.height < machine.last_final().0.saturating_add(AHEAD) {
        match timeout_at(until, probed.next()).await {
            Ok(taken) => taken?,
            Err(_) => break,
        }
    }
    let last = machine.last_final();
    let rest = async {
        while probed.height < last.0 {
            probed.next().await?;
        }
        Ok(())
    };
    let withheld = || SourceError::Withheld(format!("it does not send bundle {}", last.0));
    timeout(time, rest).await.unwrap_or_else(|_| Err(withheld()))?;
    drop(probed);
    // Checks that it has this node's last bundle.
    source.open(last).await.map(drop)
}

/// The bundles that a source has sent.
struct ProbedFeed {
    feed: Box<dyn Feed>,
    /// Height of the last bundle.
    height: u64,
}

impl ProbedFeed {
    async fn next(&mut self) -> Result<(), SourceError> {
        match self.feed.next().await? {
            FeedItem::Bundle { bundle, .. } => self.height = bundle.height,
            // A source of blocks has passed the comparison with this node, and has further blocks.
            FeedItem::Block { .. } => self.height = u64::MAX,
            FeedItem::Remaining(_) => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule() -> Schedule {
        Schedule::new(&FollowerConfig::default())
    }

    fn waits(schedule: &mut Schedule, error: &SourceError, times: usize) -> Vec<u64> {
        let wait = |_| {
            schedule.failed(error);
            schedule.wait.as_secs()
        };
        (0..times).map(wait).collect()
    }

    #[test]
    fn a_source_that_is_gone_is_probed_each_half_minute_and_one_that_withholds_less_often() {
        let gone = SourceError::Unreachable("gone".to_owned());
        assert_eq!(schedule().wait.as_secs(), 1);
        assert_eq!(waits(&mut schedule(), &gone, 7), [2, 4, 8, 16, 30, 30, 30]);
        let withheld = SourceError::Withheld("bundles".to_owned());
        let mut schedule = schedule();
        assert_eq!(waits(&mut schedule, &withheld, 10), [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(waits(&mut schedule, &gone, 1), [300]);
    }

    #[test]
    fn a_source_that_fails_soon_after_a_return_waits_longer() {
        let mut schedule = schedule();
        let mut waits = Vec::new();
        for round in 0..4 {
            schedule.returned(0, round * 30_000);
            // Another source fails meanwhile.
            schedule.left(1, round * 30_000);
            schedule.left(0, round * 30_000 + 20_000);
            waits.push(schedule.wait.as_secs());
        }
        assert_eq!(waits, [2, 4, 8, 16]);
        // It was followed for a long time.
        schedule.returned(0, 200_000);
        schedule.left(0, 200_000 + STEADY_MS);
        assert_eq!(schedule.wait.as_secs(), 1);
        // It is left without a return.
        schedule.left(0, 900_000);
        assert_eq!(schedule.wait.as_secs(), 1);
    }
}
