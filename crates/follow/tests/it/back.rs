//! Returning to a preferred source that is back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use esker_chain::{Bundle, BundleId, ChainMachine, Engine as _, Machine, Shutdown};
use esker_follow::{Feed, FeedItem, Follower, FollowerConfig, Source, SourceError};
use esker_primitives::clock::Clock;

use crate::engine::{fresh_bundles, gone};
use crate::toy::{clock, machine, until};

/// A source that can be switched off, and has the first bundles of a list.
#[derive(Debug)]
struct Switched {
    name: &'static str,
    all: Vec<Bundle>,
    is_up: AtomicBool,
    has: AtomicU64,
    opened: AtomicU64,
}

impl Switched {
    fn new(name: &'static str, all: &[Bundle], has: u64) -> Arc<Self> {
        let (is_up, has) = (AtomicBool::new(true), AtomicU64::new(has));
        Arc::new(Self { name, all: all.to_vec(), is_up, has, opened: AtomicU64::new(0) })
    }

    fn switch(&self, is_up: bool) {
        self.is_up.store(is_up, Ordering::Relaxed);
    }

    fn show(&self, bundles: u64) {
        self.has.store(bundles, Ordering::Relaxed);
    }
}

/// A connection to it.
struct SwitchedFeed(Arc<Switched>, u64);

/// The same, as a source.
#[derive(Clone, Debug)]
struct Shared(Arc<Switched>);

#[async_trait]
impl Source for Shared {
    fn name(&self) -> &str {
        self.0.name
    }

    async fn open(&self, last: (u64, BundleId)) -> Result<Box<dyn Feed>, SourceError> {
        self.0.opened.fetch_add(1, Ordering::Relaxed);
        if !self.0.is_up.load(Ordering::Relaxed) {
            return Err(gone());
        }
        if self.0.has.load(Ordering::Relaxed) < last.0 {
            return Err(SourceError::Behind("fewer bundles".to_owned()));
        }
        Ok(Box::new(SwitchedFeed(Arc::clone(&self.0), last.0)))
    }
}

#[async_trait]
impl Feed for SwitchedFeed {
    async fn next(&mut self) -> Result<FeedItem, SourceError> {
        if !self.0.is_up.load(Ordering::Relaxed) {
            return Err(gone());
        }
        if self.0.has.load(Ordering::Relaxed) > self.1 {
            let bundle = self.0.all[usize::try_from(self.1).unwrap()].clone();
            self.1 += 1;
            return Ok(FeedItem::Bundle { bundle, proof: None });
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
        Ok(FeedItem::Remaining(0))
    }
}

struct Run {
    follower: Arc<Follower>,
    machine: Arc<Machine>,
    stop: esker_chain::ShutdownTrigger,
    task: tokio::task::JoinHandle<Result<(), esker_chain::EngineError>>,
}

impl Run {
    fn start(sources: &[&Arc<Switched>]) -> Self {
        let sources = sources.iter().map(|source| Arc::new(Shared(Arc::clone(source))) as _);
        let wait = Duration::from_millis(1);
        let config = FollowerConfig {
            retry_min: wait,
            retry_max: wait,
            return_min: wait,
            return_max: Duration::from_millis(20),
            return_time: Duration::from_millis(50),
            ..FollowerConfig::default()
        };
        let time = clock();
        let machine = machine(&time);
        let follower =
            Arc::new(Follower::new(sources.collect(), config, Arc::clone(&time) as Arc<dyn Clock>));
        let (stop, stopped) = Shutdown::new();
        let of_machine = Arc::clone(&machine) as Arc<dyn ChainMachine>;
        let task = tokio::spawn(Arc::clone(&follower).run(of_machine, stopped));
        Self { follower, machine, stop, task }
    }

    async fn follows(&self, source: &Switched, height: u64) {
        let what = format!("{} is followed to bundle {height}", source.name);
        until(&what, || {
            let status = self.follower.follow_status();
            status.source.as_deref() == Some(source.name) && self.machine.last_final().0 == height
        })
        .await;
    }

    async fn end(self) {
        self.stop.trigger();
        self.task.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_follower_returns_to_the_first_source_that_is_back() {
    let all = fresh_bundles(9);
    let first = Switched::new("first", &all, 2);
    let (second, third) = (Switched::new("second", &all, 4), Switched::new("third", &all, 5));
    let run = Run::start(&[&first, &second, &third]);
    run.follows(&first, 2).await;
    first.switch(false);
    run.follows(&second, 4).await;
    second.switch(false);
    run.follows(&third, 5).await;
    // The second is back before the first, and both have only the bundles of the third.
    second.switch(true);
    second.show(5);
    run.follows(&second, 5).await;
    first.switch(true);
    first.show(6);
    run.follows(&first, 6).await;
    assert_eq!(run.follower.follow_status().last_error, None);
    run.end().await;
}

#[tokio::test]
async fn a_follower_does_not_return_to_a_source_that_stands_still() {
    let all = fresh_bundles(40);
    let (first, second) = (Switched::new("first", &all, 1), Switched::new("second", &all, 1));
    let run = Run::start(&[&first, &second]);
    run.follows(&first, 1).await;
    first.switch(false);
    run.follows(&second, 1).await;
    second.show(2);
    run.follows(&second, 2).await;
    first.switch(true);
    for height in 3..20 {
        first.show(height / 2);
        second.show(height);
        run.follows(&second, height).await;
        let before = first.opened.load(Ordering::Relaxed);
        until("the first is asked", || first.opened.load(Ordering::Relaxed) > before).await;
    }
    assert_eq!(run.follower.follow_status().source.as_deref(), Some("second"));
    first.show(40);
    second.show(20);
    until("the first is followed", || run.machine.last_final().0 == 40).await;
    run.end().await;
}
