//! Followers of a network with certificates: a bundle without a certificate, and without a descendant with one, never
//! becomes final.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use esker_chain::{
    Bundle, BundleId, ChainMachine as _, Machine, ProofError, ProofVerifier, Shutdown,
};
use esker_follow::snapshot::{SnapshotLimits, SnapshotOpenError, SnapshotRecord, SnapshotServer};
use esker_follow::{
    ChangeRefusal, Feed, FeedItem, FollowedValidators, MAX_UNCERTIFIED, MAX_UNCERTIFIED_BYTES,
    Source, SourceError,
};
use esker_primitives::Id;
use esker_primitives::clock::ManualClock;

use crate::engine::{Run, fresh_bundles, gone};
use crate::snapshot::{Nothing, read};
use crate::toy::{ListSource, NOW_MS, bundle, bundles, clock, finalize, machine, until};

/// A toy in which the ID of a bundle is its certificate.
#[derive(Debug, Default)]
pub(crate) struct Toy {
    /// The heights at which the validators change.
    pub(crate) changes: Vec<u64>,
    /// Number of the changes that are known.
    pub(crate) known: AtomicU64,
}

impl ProofVerifier for Toy {
    fn verify(&self, bundle: &Bundle, proof: &[u8]) -> Result<(), ProofError> {
        let epoch = self.changes.iter().filter(|first| **first <= bundle.height).count();
        if epoch as u64 > self.known.load(Ordering::SeqCst) {
            return Err(ProofError("unknown validators".to_owned()));
        }
        if proof == bundle.id().as_bytes() {
            return Ok(());
        }
        Err(ProofError("a false certificate".to_owned()))
    }
}

/// A change is the number of its epoch; 255 can't be stored.
#[async_trait]
impl FollowedValidators for Toy {
    fn next_epoch(&self) -> u64 {
        self.known.load(Ordering::SeqCst) + 1
    }

    async fn append(&self, changes: &[Bytes]) -> Result<usize, ChangeRefusal> {
        let mut count = 0;
        for change in changes {
            match u64::from(change[0]) {
                255 => return Err(ChangeRefusal::Storage("no space left".to_owned())),
                known if known < self.next_epoch() => {}
                next if next == self.next_epoch() => {
                    self.known.fetch_add(1, Ordering::SeqCst);
                    count += 1;
                }
                _ => return Err(ChangeRefusal::Invalid("not the next change".to_owned())),
            }
        }
        Ok(count)
    }
}

fn item(bundle: &Bundle, proof: Option<Bytes>) -> FeedItem {
    FeedItem::Bundle { bundle: bundle.clone(), proof }
}

pub(crate) fn certified(bundle: &Bundle) -> FeedItem {
    item(bundle, Some(Bytes::copy_from_slice(bundle.id().as_bytes())))
}

pub(crate) fn uncertified(bundle: &Bundle) -> FeedItem {
    item(bundle, None)
}

fn source(name: &'static str, items: Vec<FeedItem>) -> Arc<ListSource> {
    ListSource::new(name, items, gone())
}

fn start(sources: &[&Arc<ListSource>]) -> Run {
    start_on(machine(&clock()), sources)
}

fn start_on(machine: Arc<Machine>, sources: &[&Arc<ListSource>]) -> Run {
    let sources = sources.iter().map(|source| Arc::clone(source) as Arc<dyn Source>).collect();
    Run::start_on(machine, &clock(), sources, Some(Arc::new(Toy::default())))
}

pub(crate) async fn fault(run: &Run, text: &str) {
    until(text, || {
        let fault = run.follower.follow_status().fault;
        fault.is_some_and(|fault| fault.contains(text))
    })
    .await;
}

#[tokio::test]
async fn bundles_wait_for_a_certified_descendant() {
    let all = fresh_bundles(300);
    // Certificates at 5 and 270 only, and none after that.
    let items: Vec<_> = all
        .iter()
        .map(|bundle| match bundle.height {
            5 | 270 => certified(bundle),
            _ => uncertified(bundle),
        })
        .collect();
    let first = source("first", items);
    let run = start(&[&first]);
    until("what is certified is final", || run.height() == 270).await;
    until("the source is lost", || first.opened.lock().len() > 3).await;
    assert_eq!(run.machine.last_final(), (270, all[269].id()), "the others have no certificate");
    let proof = |height| run.machine.bundle_at(height).unwrap().unwrap().1;
    assert_eq!(proof(270).as_deref(), Some(&all[269].id().as_bytes()[..]), "it is passed on");
    assert_eq!(proof(269), None);

    // After a restart it continues where it was.
    let machine = Arc::clone(&run.machine);
    run.end().await;
    let rest: Vec<_> =
        all[270..299].iter().map(uncertified).chain([certified(&all[299])]).collect();
    let second = source("second", rest);
    let run = start_on(machine, &[&second]);
    until("the rest is final", || run.height() == 300).await;
    assert_eq!(second.opened.lock()[0], 270);
    run.end().await;
}

#[tokio::test]
async fn a_false_certificate_ends_with_the_next_source() {
    let all = fresh_bundles(6);
    let liar = source(
        "liar",
        vec![
            uncertified(&all[0]),
            certified(&all[1]),
            item(&all[2], Some(Bytes::from_static(b"nonsense"))),
            certified(&all[3]),
        ],
    );
    let run = start(&[&liar]);
    fault(&run, "liar: its certificates are refused: bundle 3 has a false certificate").await;
    assert_eq!(run.height(), 2, "what was certified before it is final");
    let machine = Arc::clone(&run.machine);
    run.end().await;
    let liar = source("liar", vec![item(&all[2], Some(Bytes::from_static(b"nonsense")))]);
    let honest = ListSource::staying("honest", all[2..].iter().map(certified).collect());
    let run = start_on(machine, &[&liar, &honest]);
    until("the honest source is followed", || run.height() == 6).await;
    until("the fault is over", || run.follower.follow_status().fault.is_none()).await;
    assert_eq!(run.preferred.get(), 1, "transactions go to the honest source");
    run.end().await;
}

#[tokio::test]
async fn a_fork_without_certificates_never_becomes_final() {
    let all = fresh_bundles(4);
    let fork = bundle(all[0].id(), 2, NOW_MS + 1);
    let on_fork = bundle(fork.id(), 3, NOW_MS + 1);
    let stray = bundle(Id::sha256(b"elsewhere"), 3, NOW_MS + 1);
    let forked =
        source("forked", vec![certified(&all[0]), uncertified(&fork), uncertified(&on_fork)]);
    let broken =
        source("broken", vec![uncertified(&all[1]), certified(&stray), certified(&all[2])]);
    let run = start(&[&forked, &broken]);
    let text = format!(
        "broken: source contradicts this node: bundle 3 does not follow bundle 2, {}",
        all[1].id()
    );
    fault(&run, &text).await;
    assert_eq!(run.machine.last_final(), (1, all[0].id()));
    let machine = Arc::clone(&run.machine);
    run.end().await;
    let forked = source("forked", vec![uncertified(&fork), uncertified(&on_fork)]);
    let honest = source("honest", all[1..].iter().map(certified).collect());
    let run = start_on(machine, &[&forked, &honest]);
    until("the honest source is followed", || run.height() == 4).await;
    assert_eq!(run.machine.last_final().1, all[3].id());
    run.end().await;
}

#[tokio::test]
async fn too_many_bundles_without_a_certificate_are_refused() {
    let count = MAX_UNCERTIFIED as u64 + 1;
    let all = fresh_bundles(count);
    let enough = source("enough", all[..MAX_UNCERTIFIED - 1].iter().map(uncertified).collect());
    let run = start(&[&enough]);
    until("the source is lost", || enough.opened.lock().len() > 3).await;
    assert_eq!(run.follower.follow_status().fault, None);
    run.end().await;

    let many = source("many", all.iter().map(uncertified).collect());
    let run = start(&[&many]);
    let text = format!("bundle 1 and {} later ones have no certificate: at most", count - 1);
    fault(&run, &text).await;
    assert_eq!(run.height(), 0);
    run.end().await;

    // Large bundles.
    let (mut parent, mut large) = (machine(&clock()).genesis().id(), Vec::new());
    let block = Bytes::from(vec![0; MAX_UNCERTIFIED_BYTES / 4]);
    for height in 1..=5 {
        let mut bundle = bundle(parent, height, NOW_MS);
        bundle.blocks = vec![(Id::sha256(b"chain"), block.clone())];
        parent = bundle.id();
        large.push(uncertified(&bundle));
    }
    let large = source("large", large);
    let run = start(&[&large]);
    fault(&run, "large: its certificates are refused: bundle 1 and 3 later ones").await;
    run.end().await;
}

/// A source that sends a bundle and then reports again and again that it is the last one.
#[derive(Debug)]
struct Silent(Bundle);

#[async_trait]
impl Source for Silent {
    fn name(&self) -> &'static str {
        "silent"
    }

    async fn open(&self, _: (u64, BundleId)) -> Result<Box<dyn Feed>, SourceError> {
        Ok(Box::new(SilentFeed(Some(uncertified(&self.0)))))
    }
}

struct SilentFeed(Option<FeedItem>);

#[async_trait]
impl Feed for SilentFeed {
    async fn next(&mut self) -> Result<FeedItem, SourceError> {
        if let Some(item) = self.0.take() {
            return Ok(item);
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
        Ok(FeedItem::Remaining(0))
    }
}

#[tokio::test]
async fn a_certificate_that_does_not_come_is_not_waited_for_forever() {
    let all = fresh_bundles(1);
    let time: Arc<ManualClock> = clock();
    let silent = Arc::new(Silent(all[0].clone())) as Arc<dyn Source>;
    let honest = source("honest", vec![certified(&all[0])]);
    let sources = vec![silent, Arc::clone(&honest) as Arc<dyn Source>];
    let run = Run::start_on(machine(&time), &time, sources, Some(Arc::new(Toy::default())));
    until("the bundle is known and not final", || run.follower.follow_status().lag_bundles() == 1)
        .await;
    assert_eq!((run.height(), honest.opened.lock().len()), (0, 0));
    time.advance(30_000);
    until("the honest source is asked", || run.height() == 1).await;
    run.end().await;
}

#[tokio::test]
async fn blocks_of_a_source_without_bundles_are_refused() {
    let block = FeedItem::Block { chain: Id::sha256(b"chain"), bytes: vec![1].into() };
    let run = start(&[&source("blocks", vec![block])]);
    fault(&run, "a block without a bundle, which has no certificate").await;
    run.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_is_of_a_bundle_with_a_certificate_of_its_own() {
    let machine = machine(&clock());
    let all = bundles(&machine.genesis(), 2);
    finalize(&machine, &all[..1]).await;
    let (_stop, stopped) = Shutdown::new();
    let wait = Duration::from_millis(50);
    let limits = SnapshotLimits { proof_wait: Some(wait), ..SnapshotLimits::default() };
    let of_server = Arc::clone(&machine);
    let server = SnapshotServer::new(of_server, Arc::new(Nothing), 7, limits, stopped);
    let open = || {
        let server = Arc::clone(&server);
        tokio::task::spawn_blocking(move || server.open())
    };
    let refused = open().await.unwrap().unwrap_err();
    assert!(matches!(refused, SnapshotOpenError::NoProof(1)), "{refused}");
    let proof = Bytes::from_static(b"proof");
    machine.finalize(&all[1], Some(proof.clone())).await.unwrap();
    let records = read(open().await.unwrap().unwrap()).await;
    let sent = SnapshotRecord::Bundle { bundle: all[1].clone(), proof: Some(proof) };
    assert_eq!(records[1], sent);
}
