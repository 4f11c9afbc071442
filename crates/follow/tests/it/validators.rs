//! Followers of a network whose validators change: sources pass the changes on.

use std::collections::VecDeque;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use esker_chain::{Bundle, BundleId};
use esker_follow::{Feed, FeedItem, FollowedValidators as _, Source, SourceError};
use esker_primitives::sync::Mutex;

use crate::certificates::{Toy, certified, fault, uncertified};
use crate::engine::{Run, fresh_bundles, gone};
use crate::toy::{ListSource, clock, machine, until};

type Answer = Result<Vec<Bytes>, SourceError>;

/// A source with answers to requests for changes. Later answers are empty.
#[derive(Debug)]
struct Changing {
    bundles: Arc<ListSource>,
    answers: Mutex<VecDeque<Answer>>,
    /// The epochs of the requests for changes.
    asked: Mutex<Vec<u64>>,
}

impl Changing {
    fn new(name: &'static str, items: Vec<FeedItem>, answers: Vec<Answer>) -> Arc<Self> {
        Self::with(ListSource::new(name, items, gone()), answers)
    }

    /// A source that stays connected after its last item.
    fn staying(name: &'static str, items: Vec<FeedItem>, answers: Vec<Answer>) -> Arc<Self> {
        Self::with(ListSource::staying(name, items), answers)
    }

    fn with(bundles: Arc<ListSource>, answers: Vec<Answer>) -> Arc<Self> {
        let (answers, asked) = (Mutex::new(answers.into()), Mutex::new(Vec::new()));
        Arc::new(Self { bundles, answers, asked })
    }
}

#[async_trait]
impl Source for Changing {
    fn name(&self) -> &str {
        self.bundles.name
    }

    async fn open(&self, last: (u64, BundleId)) -> Result<Box<dyn Feed>, SourceError> {
        self.bundles.open(last).await
    }

    async fn validator_changes(&self, from: u64) -> Answer {
        self.asked.lock().push(from);
        self.answers.lock().pop_front().unwrap_or(Ok(Vec::new()))
    }
}

fn start(sources: &[&Arc<Changing>], changes: &[u64]) -> (Run, Arc<Toy>) {
    let sources = sources.iter().map(|source| Arc::clone(source) as Arc<dyn Source>).collect();
    let validators = Arc::new(Toy { changes: changes.to_vec(), ..Toy::default() });
    let run = Run::start_on(machine(&clock()), &clock(), sources, Some(validators.clone()));
    (run, validators)
}

fn change(epoch: u8) -> Bytes {
    vec![epoch].into()
}

fn all_certified(bundles: &[Bundle]) -> Vec<FeedItem> {
    bundles.iter().map(certified).collect()
}

#[tokio::test]
async fn changes_are_taken_at_the_start_and_when_a_certificate_needs_them() {
    let all = fresh_bundles(9);
    let items = all.iter().map(|bundle| match bundle.height {
        2 | 5 | 8 => uncertified(bundle),
        _ => certified(bundle),
    });
    let answers = vec![Ok(vec![change(1)]), Ok(vec![]), Ok(vec![change(2)])];
    let source = Changing::new("source", items.collect(), answers);
    let (run, _) = start(&[&source], &[3, 6]);
    until("all is final", || run.height() == 9).await;
    assert_eq!(source.asked.lock()[..4], [1, 2, 2, 3]);
    assert_eq!(run.follower.follow_status().fault, None);
    run.end().await;
}

#[tokio::test]
async fn without_a_change_nothing_after_it_is_final_and_the_source_is_asked_once_a_refusal() {
    let all = fresh_bundles(6);
    let silent = Changing::new("silent", all_certified(&all), Vec::new());
    let (run, validators) = start(&[&silent], &[4]);
    fault(&run, "silent: its certificates are refused: bundle 4 has unknown validators").await;
    let opened = silent.bundles.opened.lock().len();
    assert!(silent.asked.lock().len() <= opened + 1, "once a connection, and once for the refusal");
    assert_eq!(run.height(), 3);
    run.end().await;
    assert_eq!(validators.next_epoch(), 1);

    // The next source has the change. The first one can't be reached for the request: the reason stays the
    // certificate.
    let lost = Changing::new("lost", all_certified(&all), vec![Ok(Vec::new()), Err(gone())]);
    let honest = Changing::staying("honest", all_certified(&all[3..]), vec![Ok(vec![change(1)])]);
    let (run, _) = start(&[&lost, &honest], &[4]);
    until("the honest source is followed", || run.height() == 6).await;
    assert_eq!(run.preferred.get(), 1);
    run.end().await;
}

#[tokio::test]
async fn a_source_with_false_changes_is_left_before_its_bundles_are_read() {
    let all = fresh_bundles(6);
    let refused = || SourceError::Changes("line 1: odd".to_owned());
    for (answers, height, text) in [
        (vec![Ok(vec![change(2)])], 0, "not the next change"),
        (vec![Ok(vec![change(1), change(1), change(9)])], 0, "not the next change"),
        (vec![Err(refused())], 0, "line 1: odd"),
        // At the boundary.
        (vec![Ok(Vec::new()), Err(refused())], 3, "line 1: odd"),
        (vec![Ok(Vec::new()), Ok(vec![change(7)])], 3, "not the next change"),
    ] {
        let liar = Changing::new("liar", all_certified(&all), answers);
        let (run, _) = start(&[&liar], &[4]);
        fault(&run, &format!("liar: its changes of the validators are refused: {text}")).await;
        assert_eq!(run.height(), height);
        run.end().await;
    }
    let liar = Changing::new("liar", all_certified(&all), vec![Ok(vec![change(2)])]);
    let honest = Changing::new("honest", all_certified(&all), vec![Ok(vec![change(1)])]);
    let (run, _) = start(&[&liar, &honest], &[4]);
    until("the honest source is followed", || run.height() == 6).await;
    run.end().await;
}

#[tokio::test]
async fn a_change_that_cannot_be_stored_is_no_fault_of_the_source() {
    let all = fresh_bundles(6);
    // When it connects, and at the boundary.
    for (before, height) in [(vec![], 0), (vec![Ok(vec![])], 3)] {
        let fails = std::iter::repeat_n(Ok(vec![change(255)]), 200);
        let answers = before.into_iter().chain(fails).chain([Ok(vec![change(1)])]).collect();
        let source = Changing::new("source", all_certified(&all), answers);
        let (run, validators) = start(&[&source], &[4]);
        let text = "source: a change of the validators can't be stored: no space left";
        until(text, || run.follower.follow_status().last_error.as_deref() == Some(text)).await;
        assert_eq!(run.follower.follow_status().fault, None);
        assert_eq!((run.height(), validators.next_epoch()), (height, 1));
        until("it is stored when there is room", || validators.next_epoch() == 2).await;
        run.end().await;
    }
}
