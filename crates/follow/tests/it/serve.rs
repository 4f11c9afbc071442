//! The records of a stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use esker_chain::{
    Bundle, BundleId, ChainError, ChainMachine, FinalizeError, Machine, ProposeCtx, ProposeError,
    Shutdown, ShutdownTrigger, Verdict,
};
use esker_follow::{BundleServer, BundleStream, OpenError, Record, RecordReader, ServerConfig};
use esker_primitives::ChainId;
use futures_util::StreamExt as _;

use crate::toy::{bundles, clock, finalize, machine};

/// A machine that counts reads of bundles.
struct Counting(Arc<Machine>, AtomicU64);

#[async_trait]
impl ChainMachine for Counting {
    fn genesis(&self) -> Bundle {
        self.0.genesis()
    }

    fn last_final(&self) -> (u64, BundleId) {
        self.0.last_final()
    }

    async fn propose(&self, at: ProposeCtx<'_>) -> Result<Option<Bundle>, ProposeError> {
        self.0.propose(at).await
    }

    async fn propose_now(&self, at: ProposeCtx<'_>) -> Result<Bundle, ProposeError> {
        self.0.propose_now(at).await
    }

    async fn verify(&self, ancestry: &[Bundle], bundle: &Bundle) -> Result<Verdict, ChainError> {
        self.0.verify(ancestry, bundle).await
    }

    async fn finalize_all(
        &self,
        bundles: Vec<(Bundle, Option<Bytes>)>,
    ) -> Result<(), FinalizeError> {
        self.0.finalize_all(bundles).await
    }

    async fn finalize_blocks(
        &self,
        on: &BundleId,
        blocks: Vec<(ChainId, Bytes)>,
    ) -> Result<(), FinalizeError> {
        self.0.finalize_blocks(on, blocks).await
    }

    async fn abandon(&self, id: &BundleId) -> Result<usize, ChainError> {
        self.0.abandon(id).await
    }

    async fn notarized(&self, id: &BundleId) -> Result<(), ChainError> {
        self.0.notarized(id).await
    }

    fn bundle_at(&self, height: u64) -> Result<Option<(Bundle, Option<Bytes>)>, ChainError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.bundle_at(height)
    }

    fn height_of(&self, id: &BundleId) -> Result<Option<u64>, ChainError> {
        self.0.height_of(id)
    }
}

struct Served {
    machine: Arc<Machine>,
    counting: Arc<Counting>,
    server: Arc<BundleServer>,
    stop: ShutdownTrigger,
}

fn serve(max_followers: usize) -> Served {
    let machine = machine(&clock());
    let counting = Arc::new(Counting(Arc::clone(&machine), AtomicU64::new(0)));
    let (stop, stopped) = Shutdown::new();
    let config = ServerConfig { max_followers, heartbeat: Duration::from_millis(200) };
    let events = machine.subscribe();
    let of_server = Arc::clone(&counting) as Arc<dyn ChainMachine>;
    let server = BundleServer::spawn(of_server, events, 7, config, stopped);
    Served { machine, counting, server, stop }
}

/// Reads a stream's records with a deadline.
struct Reader(BundleStream, RecordReader);

impl Reader {
    fn open(server: &Arc<BundleServer>, from: u64) -> Self {
        Self(server.open(from).unwrap(), RecordReader::default())
    }

    async fn next(&mut self) -> Option<Record> {
        loop {
            if let Some(record) = self.1.next().unwrap() {
                return Some(record);
            }
            let chunk = tokio::time::timeout(Duration::from_secs(30), self.0.next()).await;
            let Ok(bytes) = chunk.expect("a record or the end within 30 s")?;
            self.1.push(&bytes);
        }
    }

    /// The next bundle; skips tips.
    async fn bundle(&mut self) -> Bundle {
        loop {
            match self.next().await {
                Some(Record::Bundle { bundle, .. }) => return bundle,
                Some(Record::Tip(_)) => {}
                other => panic!("{other:?} instead of a bundle"),
            }
        }
    }
}

#[tokio::test]
async fn old_bundles_then_new_ones() {
    let Served { machine, server, stop, .. } = serve(2);
    let all = bundles(&machine.genesis(), 300);
    finalize(&machine, &all[..200]).await;
    let mut reader = Reader::open(&server, 151);
    let Some(Record::Hello(hello)) = reader.next().await else { panic!("no greeting") };
    assert_eq!((hello.network_id, hello.genesis), (7, machine.genesis().id()));
    assert_eq!((hello.parent, hello.tip), (all[149].id(), 200));
    assert_eq!(reader.next().await, Some(Record::Tip(200)));
    for expected in &all[150..200] {
        assert_eq!(&reader.bundle().await, expected);
    }
    for expected in &all[200..] {
        finalize(&machine, std::slice::from_ref(expected)).await;
        assert_eq!(&reader.bundle().await, expected);
    }
    // There is nothing new: the stream repeats the tip.
    assert_eq!(reader.next().await, Some(Record::Tip(300)));
    assert_eq!(reader.next().await, Some(Record::Tip(300)));
    stop.trigger();
    loop {
        match reader.next().await {
            Some(Record::Tip(300)) => {}
            ended => break assert_eq!(ended, Some(Record::End("the source is stopping".into()))),
        }
    }
    assert_eq!(reader.next().await, None);
}

#[tokio::test]
async fn followers_at_the_tip_share_what_is_read() {
    let Served { machine, counting, server, stop: _running } = serve(10);
    let all = bundles(&machine.genesis(), 50);
    let mut readers: Vec<_> = (0..10).map(|_| Reader::open(&server, 1)).collect();
    for reader in &mut readers {
        assert!(matches!(reader.next().await, Some(Record::Hello(_))));
    }
    for expected in &all {
        finalize(&machine, std::slice::from_ref(expected)).await;
        for reader in &mut readers {
            assert_eq!(&reader.bundle().await, expected);
        }
    }
    assert_eq!(counting.1.load(Ordering::Relaxed), 50);
    assert_eq!(server.followers(), 10);
}

#[tokio::test]
async fn places_are_limited_and_free_again() {
    let Served { machine, server, stop: _running, .. } = serve(1);
    assert!(matches!(server.open(0), Err(OpenError::Genesis)));
    assert!(matches!(server.open(2), Err(OpenError::Ahead { tip: 0 })));
    assert!(matches!(server.open(u64::MAX), Err(OpenError::Ahead { tip: 0 })));
    let first = Reader::open(&server, 1);
    assert!(matches!(server.open(1), Err(OpenError::Full(1))));
    drop(first);
    assert_eq!(server.followers(), 0);
    finalize(&machine, &bundles(&machine.genesis(), 1)).await;
    let _again = Reader::open(&server, 2);
}
