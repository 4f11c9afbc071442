//! Sending snapshots.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use esker_chain::snapshot::{PartSnapshot, SnapshotReader, SnapshotRefusal};
use esker_chain::{ChainError, ChainMachine as _, Machine, Shutdown};
use esker_storage::{GrowthLimit, StorageError};
use futures_util::Stream;
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::Instant;

use super::record::{SNAPSHOT_VERSION, SnapshotHello, SnapshotRecord, SnapshotTotals};

/// Records that wait for the connection.
const BACKLOG: usize = 4;
/// Time between two records while there is nothing to send.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// Longest count of the rows. A longer one is stopped, since a reader waits for the state itself.
const COUNT_TIME: Duration = Duration::from_secs(2);
/// Time between two checks whether the last bundle has a proof.
const PROOF_LOOK: Duration = Duration::from_millis(20);

/// Limits of a node's snapshots.
#[derive(Clone, Copy, Debug)]
pub struct SnapshotLimits {
    /// Most snapshots at a time.
    pub max_snapshots: usize,
    /// The time that a client may take in addition to the time of its bytes.
    pub grace: Duration,
    /// Bytes a second that a client has to read, on average after `grace`.
    pub min_rate: u64,
    /// Time to wait until the last final bundle has a proof of its own; `None`: bundles of this network have none.
    pub proof_wait: Option<Duration>,
}

impl Default for SnapshotLimits {
    fn default() -> Self {
        let grace = Duration::from_secs(60);
        Self { max_snapshots: 2, grace, min_rate: 1 << 20, proof_wait: None }
    }
}

/// The reason why there is no snapshot.
#[derive(Debug, Error)]
pub enum SnapshotOpenError {
    /// Other snapshots are being sent.
    #[error("{0} snapshots are being sent: try again later")]
    Full(usize),
    /// The last final bundle has no proof of its own.
    #[error("the last final bundle {0} has no certificate of its own yet: try again later")]
    NoProof(u64),
    /// The store can't give a snapshot.
    #[error(transparent)]
    Refused(#[from] SnapshotRefusal),
}

/// Sends snapshots of a machine's state, each from a thread with its own view of the store.
pub struct SnapshotServer {
    machine: Arc<Machine>,
    shared: Arc<dyn PartSnapshot>,
    network_id: u32,
    limits: SnapshotLimits,
    places: Arc<Semaphore>,
    stop: Shutdown,
}

impl SnapshotServer {
    /// A server that ends its snapshots at `stop`. `shared` is the shared memory's part.
    pub fn new(
        machine: Arc<Machine>,
        shared: Arc<dyn PartSnapshot>,
        network_id: u32,
        limits: SnapshotLimits,
        stop: Shutdown,
    ) -> Arc<Self> {
        let places = Arc::new(Semaphore::new(limits.max_snapshots));
        Arc::new(Self { machine, shared, network_id, limits, places, stop })
    }

    /// Begins a snapshot of the state after the last final bundle. Reads the store on the calling thread, which must
    /// be a blocking thread of a runtime: it may wait for a bundle with a proof.
    pub fn open(self: &Arc<Self>) -> Result<SnapshotStream, SnapshotOpenError> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        let place = place.map_err(|_| SnapshotOpenError::Full(self.limits.max_snapshots))?;
        let failed = |error: StorageError| SnapshotRefusal::Failed(error.into());
        let store = self.machine.store().kv.as_ref();
        let growth = GrowthLimit::for_store(store).map_err(failed)?;
        let reader = self.reader()?;
        let (records, receiver) = mpsc::channel(BACKLOG);
        let sender = Sender {
            server: Arc::clone(self),
            records,
            runtime: Handle::current(),
            begun: Instant::now(),
            last: Instant::now(),
            growth,
            totals: SnapshotTotals::default(),
            _place: place,
        };
        let run = move || sender.run(reader);
        let spawned = thread::Builder::new().name("snapshot".to_owned()).spawn(run);
        spawned.map_err(|error| failed(StorageError::io("thread", error)))?;
        Ok(SnapshotStream(receiver))
    }

    /// A view of the store. If bundles have proofs, its last bundle has one, since a reader trusts nothing else.
    fn reader(&self) -> Result<SnapshotReader, SnapshotOpenError> {
        let begun = Instant::now();
        loop {
            let reader = self.machine.open_snapshot(self.shared.as_ref())?;
            let (bundle, proof) = reader.bundle();
            let Some(wait) = self.limits.proof_wait.filter(|_| proof.is_none()) else {
                return Ok(reader);
            };
            if begun.elapsed() >= wait || self.stop.is_triggered() {
                return Err(SnapshotOpenError::NoProof(bundle.height));
            }
            thread::sleep(PROOF_LOOK);
        }
    }
}

impl fmt::Debug for SnapshotServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotServer").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// The records of a snapshot, as chunks of bytes. They are read from the store only as the client reads.
#[derive(Debug)]
pub struct SnapshotStream(mpsc::Receiver<Bytes>);

impl Stream for SnapshotStream {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|record| record.map(Ok))
    }
}

/// The reason why a snapshot is not sent to its end.
enum StopReason {
    /// The client has disconnected.
    Gone,
    /// The text for the client.
    Ended(String),
    Failed(ChainError),
}

impl From<ChainError> for StopReason {
    fn from(error: ChainError) -> Self {
        Self::Failed(error)
    }
}

impl From<StorageError> for StopReason {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Cancelled(reason) => Self::Ended(reason),
            error => Self::Failed(error.into()),
        }
    }
}

/// The thread of one snapshot.
struct Sender {
    server: Arc<SnapshotServer>,
    records: mpsc::Sender<Bytes>,
    runtime: Handle,
    begun: Instant,
    /// Time of the last record.
    last: Instant,
    growth: GrowthLimit,
    totals: SnapshotTotals,
    _place: OwnedSemaphorePermit,
}

impl Sender {
    fn run(mut self, reader: SnapshotReader) {
        let height = reader.bundle().0.height;
        tracing::info!(height, "sending a snapshot");
        let sent = self.send_all(reader);
        let SnapshotTotals { rows, bytes } = self.totals;
        let ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let reason = match sent {
            Ok(()) => {
                tracing::info!(height, rows, bytes, ms, "sent a snapshot");
                return;
            }
            Err(StopReason::Gone) => "the client has closed the connection".to_owned(),
            Err(StopReason::Ended(reason)) => reason,
            Err(StopReason::Failed(error)) => {
                tracing::error!(%error, "can't read a snapshot");
                "the source can't read its store".to_owned()
            }
        };
        tracing::warn!(height, rows, bytes, ms, reason, "a snapshot ended early");
        // A client that does not read is disconnected without the reason.
        let _told = self.records.try_send(SnapshotRecord::Failed(reason).to_bytes());
    }

    fn send_all(&mut self, mut reader: SnapshotReader) -> Result<(), StopReason> {
        let (bundle, proof) = reader.bundle();
        let hello = SnapshotHello {
            version: SNAPSHOT_VERSION,
            network_id: self.server.network_id,
            genesis: self.server.machine.genesis().id(),
            height: bundle.height,
            bundle: bundle.id(),
        };
        let bundle = SnapshotRecord::Bundle { bundle: bundle.clone(), proof: proof.cloned() };
        self.send(&SnapshotRecord::Hello(hello))?;
        self.send(&bundle)?;
        self.send(&SnapshotRecord::Summary(reader.summary().clone()))?;
        let (mut cut, begun) = (None, Instant::now());
        let rows = reader.count_rows(|| match self.heartbeat() {
            Ok(()) => begun.elapsed() < COUNT_TIME,
            Err(error) => {
                cut = Some(error);
                false
            }
        })?;
        if let Some(cut) = cut {
            return Err(cut);
        }
        if let Some(rows) = rows {
            self.send(&SnapshotRecord::Total(rows))?;
        }
        while let Some((item, rows)) = reader.next_item()? {
            self.totals.rows += rows;
            self.send(&SnapshotRecord::Item(item))?;
            self.growth.check(self.server.machine.store().kv.as_ref(), "snapshot")?;
        }
        self.send(&SnapshotRecord::End(self.totals))
    }

    fn heartbeat(&mut self) -> Result<(), StopReason> {
        match self.last.elapsed() >= HEARTBEAT {
            true => self.send(&SnapshotRecord::Alive),
            false => Ok(()),
        }
    }

    /// Waits until the connection takes the record.
    fn send(&mut self, record: &SnapshotRecord) -> Result<(), StopReason> {
        let record = record.to_bytes();
        self.totals.bytes += record.len() as u64;
        let SnapshotLimits { grace, min_rate, .. } = self.server.limits;
        let time = Duration::from_millis(self.totals.bytes.saturating_mul(1000) / min_rate.max(1));
        let deadline = self.begun + grace + time;
        let mut stop = self.server.stop.clone();
        let records = &self.records;
        let sent = self.runtime.block_on(async {
            tokio::select! {
                sent = records.send(record) => sent.map_err(|_| StopReason::Gone),
                () = tokio::time::sleep_until(deadline) => {
                    let text = format!("the client reads less than {min_rate} bytes a second");
                    Err(StopReason::Ended(text))
                }
                () = stop.wait() => Err(StopReason::Ended("the source is stopping".to_owned())),
            }
        });
        self.last = Instant::now();
        sent
    }
}
