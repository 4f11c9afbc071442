//! The limits of sending snapshots.

use std::sync::Arc;
use std::time::Duration;

use esker_chain::snapshot::{PartRestore, PartSnapshot, SnapshotRefusal, SnapshotTable};
use esker_chain::{ChainMachine as _, Machine, Shutdown, ShutdownTrigger};
use esker_follow::snapshot::{
    SnapshotLimits, SnapshotOpenError, SnapshotRecord, SnapshotRecordReader, SnapshotServer,
    SnapshotStream,
};
use futures_util::StreamExt as _;

use crate::toy::{bundles, clock, finalize, machine, until};

/// Records of a snapshot without chains.
const RECORDS: usize = 5;

/// Shared memory that is never used.
#[derive(Debug)]
pub(crate) struct Nothing;

impl PartSnapshot for Nothing {
    fn tables(&self) -> Vec<SnapshotTable> {
        Vec::new()
    }

    fn restore(&self) -> Box<dyn PartRestore + '_> {
        unreachable!("a source restores nothing")
    }
}

/// A source with one bundle, and a place for one snapshot.
async fn source(grace: Duration) -> (Arc<Machine>, Arc<SnapshotServer>, ShutdownTrigger) {
    let machine = machine(&clock());
    finalize(&machine, &bundles(&machine.genesis(), 1)).await;
    let (stop, stopped) = Shutdown::new();
    let limits = SnapshotLimits { max_snapshots: 1, grace, ..SnapshotLimits::default() };
    let server = SnapshotServer::new(Arc::clone(&machine), Arc::new(Nothing), 7, limits, stopped);
    (machine, server, stop)
}

pub(crate) async fn read(stream: SnapshotStream) -> Vec<SnapshotRecord> {
    let chunks = tokio::time::timeout(Duration::from_secs(30), stream.collect::<Vec<_>>());
    let mut reader = SnapshotRecordReader::default();
    for chunk in chunks.await.expect("the snapshot ends within 30 s") {
        let Ok(bytes) = chunk;
        reader.push(&bytes);
    }
    std::iter::from_fn(|| reader.next().unwrap()).collect()
}

async fn place_is_free(server: &Arc<SnapshotServer>) -> SnapshotStream {
    let mut stream = None;
    until("there is a place", || {
        stream = server.open().ok();
        stream.is_some()
    })
    .await;
    stream.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn places_are_limited_and_free_again() {
    let (_machine, server, _stop) = source(Duration::from_secs(60)).await;
    let first = server.open().unwrap();
    let refused = server.open().unwrap_err();
    assert!(matches!(refused, SnapshotOpenError::Full(1)), "{refused}");
    let records = read(first).await;
    assert_eq!(records.len(), RECORDS);
    assert!(matches!(records[RECORDS - 1], SnapshotRecord::End(_)), "{records:?}");
    // A client that disconnects early.
    drop(place_is_free(&server).await);
    let last = place_is_free(&server).await;
    assert_eq!(read(last).await, records);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_too_slowly_is_cut() {
    let (_machine, server, _stop) = source(Duration::from_millis(50)).await;
    let unread = server.open().unwrap();
    let _next = place_is_free(&server).await;
    let records = read(unread).await;
    assert!(!records.iter().any(|record| matches!(record, SnapshotRecord::End(_))), "{records:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_stops_ends_its_snapshots() {
    let (_machine, server, stop) = source(Duration::from_secs(60)).await;
    let unread = server.open().unwrap();
    stop.trigger();
    let _next = place_is_free(&server).await;
    let records = read(unread).await;
    assert!(!records.iter().any(|record| matches!(record, SnapshotRecord::End(_))), "{records:?}");
}

#[tokio::test]
async fn a_source_without_bundles_has_no_snapshot() {
    let (machine, (_stop, stopped)) = (machine(&clock()), Shutdown::new());
    let limits = SnapshotLimits::default();
    let server = SnapshotServer::new(machine, Arc::new(Nothing), 7, limits, stopped);
    let refused = server.open().unwrap_err();
    assert!(matches!(refused, SnapshotOpenError::Refused(SnapshotRefusal::Genesis)), "{refused}");
}
