//! The bundles that become final, and the status.

use std::sync::Arc;
use std::time::Duration;

use esker_chain::{Bundle, ChainMachine, Engine as _, EngineError, Machine, Role, Shutdown};
use esker_follow::{
    FeedItem, FollowedValidators, Follower, FollowerConfig, PreferredSource, Source, SourceError,
};
use esker_primitives::Id;
use esker_primitives::clock::{Clock, ManualClock};
use esker_storage::{FailingStore, MemoryStore, StorageError};
use tokio::task::JoinHandle;

use crate::toy::{ListSource, NOW_MS, bundle, bundles, clock, machine, machine_on, until};

pub(crate) struct Run {
    pub(crate) follower: Arc<Follower>,
    pub(crate) machine: Arc<Machine>,
    pub(crate) preferred: PreferredSource,
    stop: esker_chain::ShutdownTrigger,
    task: JoinHandle<Result<(), EngineError>>,
}

impl Run {
    fn start(clock: &Arc<ManualClock>, sources: &[&Arc<ListSource>]) -> Self {
        let sources = sources.iter().map(|source| Arc::clone(source) as Arc<dyn Source>).collect();
        Self::start_on(machine(clock), clock, sources, None)
    }

    /// A follower with this machine.
    pub(crate) fn start_on(
        machine: Arc<Machine>,
        clock: &Arc<ManualClock>,
        sources: Vec<Arc<dyn Source>>,
        validators: Option<Arc<dyn FollowedValidators>>,
    ) -> Self {
        let preferred = PreferredSource::default();
        let wait = Duration::from_millis(1);
        let config =
            FollowerConfig { retry_min: wait, retry_max: wait, ..FollowerConfig::default() };
        let clock = Arc::clone(clock) as Arc<dyn Clock>;
        let mut follower = Follower::new(sources, config, clock);
        if let Some(validators) = validators {
            follower = follower.with_validators(validators, preferred.clone());
        }
        let follower = Arc::new(follower);
        let (stop, stopped) = Shutdown::new();
        let of_machine = Arc::clone(&machine) as Arc<dyn ChainMachine>;
        let task = tokio::spawn(Arc::clone(&follower).run(of_machine, stopped));
        Self { follower, machine, preferred, stop, task }
    }

    pub(crate) fn height(&self) -> u64 {
        self.machine.last_final().0
    }

    pub(crate) async fn end(self) {
        self.stop.trigger();
        self.task.await.unwrap().unwrap();
    }
}

fn items(bundles: &[Bundle]) -> Vec<FeedItem> {
    bundles.iter().map(|bundle| FeedItem::Bundle { bundle: bundle.clone(), proof: None }).collect()
}

pub(crate) fn gone() -> SourceError {
    SourceError::Unreachable("gone".to_owned())
}

pub(crate) fn fresh_bundles(count: u64) -> Vec<Bundle> {
    bundles(&machine(&clock()).genesis(), count)
}

#[tokio::test]
async fn bundles_of_several_sources_become_final_in_order() {
    let all = fresh_bundles(200);
    let first = ListSource::new("first", items(&all[..150]), gone());
    let second = ListSource::new("second", items(&all[150..]), gone());
    let run = Run::start(&clock(), &[&first, &second]);
    until("all bundles are final", || run.height() == 200).await;
    assert_eq!(run.machine.last_final().1, all[199].id());
    assert_eq!((first.opened.lock()[0], second.opened.lock()[0]), (0, 150));
    assert_eq!(run.follower.status().role, Role::Follower);
    run.end().await;
}

#[tokio::test]
async fn blocks_become_bundles_of_the_machine() {
    // A chain that the machine does not have: the bundle is invalid, and the next source is asked.
    let block = FeedItem::Block { chain: Id::sha256(b"chain"), bytes: vec![1].into() };
    let first = ListSource::new("first", vec![block], gone());
    let second = ListSource::new("second", items(&fresh_bundles(1)), gone());
    let run = Run::start(&clock(), &[&first, &second]);
    until("the bundle of the second source is final", || run.height() == 1).await;
    run.end().await;
}

#[tokio::test]
async fn a_bundle_ahead_of_the_clock_waits_for_its_time() {
    let genesis = machine(&clock()).genesis();
    let late = bundle(genesis.id(), 1, NOW_MS + 60_000);
    let source = ListSource::new("source", items(&[late]), gone());
    let clock = clock();
    let run = Run::start(&clock, &[&source]);
    until("the follower waits for the clock", || clock.sleepers() > 0).await;
    assert_eq!(run.height(), 0);
    while run.height() == 0 {
        until("it waits, or is done", || clock.sleepers() > 0 || run.height() == 1).await;
        clock.advance(10_000);
    }
    assert!(clock.now_ms() <= NOW_MS + 70_000);
    run.end().await;
}

#[tokio::test]
async fn a_store_that_can_not_be_read_for_a_moment_is_tried_again() {
    let failing = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let clock = clock();
    let machine = machine_on(failing.clone(), &clock);
    failing.refuse_reads(StorageError::TooManySnapshots { max: 1 });
    let source = ListSource::new("source", items(&fresh_bundles(2)), gone());
    let run = Run::start_on(machine, &clock, vec![source], None);
    until("the follower waits", || clock.sleepers() > 0).await;
    clock.advance(1_000);
    until("it waits again", || clock.sleepers() > 0).await;
    assert_eq!(run.height(), 0);
    failing.refuse_reads(None);
    clock.advance(1_000);
    until("the bundles are final", || run.height() == 2).await;
    run.end().await;
}

#[tokio::test]
async fn what_contradicts_changes_nothing_and_is_a_fault() {
    let all = fresh_bundles(3);
    let fork = bundle(all[0].id(), 2, NOW_MS + 1);
    let honest = ListSource::new("honest", items(&all[..2]), gone());
    let liar = ListSource::new("liar", items(&[fork]), gone());
    let run = Run::start(&clock(), &[&honest, &liar]);
    until("the fault is known", || run.follower.follow_status().fault.is_some()).await;
    let fault = run.follower.follow_status().fault.unwrap();
    assert!(fault.starts_with("liar: source contradicts this node: another bundle, "), "{fault}");
    assert_eq!(run.machine.last_final(), (2, all[1].id()));
    run.end().await;
}

#[tokio::test]
async fn the_status_has_the_lag() {
    let all = fresh_bundles(2);
    let mut sent = vec![FeedItem::Remaining(5)];
    sent.extend(items(&all));
    let source = ListSource::new("source", sent, gone());
    let run = Run::start(&clock(), &[&source]);
    until("both bundles are final", || run.height() == 2).await;
    until("the source is lost", || run.follower.follow_status().last_error.is_some()).await;
    let status = run.follower.follow_status();
    assert_eq!((status.tip_final, status.tip_seen, status.lag_bundles()), (2, 5, 3));
    assert_eq!(status.last_error.as_deref(), Some("source: gone"));
    assert_eq!((status.source, status.fault), (None, None));
    run.end().await;
}

#[tokio::test]
async fn without_a_source_there_is_nothing_to_follow() {
    let run = Run::start(&clock(), &[]);
    let error = run.task.await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "no source to follow");
}
