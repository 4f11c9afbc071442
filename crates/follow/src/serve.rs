//! The stream of final bundles for followers.

mod recent;
mod stream;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use esker_chain::{BundleId, ChainError, ChainMachine, MachineEvent, Shutdown};
use thiserror::Error;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast, watch};

use self::recent::Recent;
pub use self::stream::BundleStream;
use crate::record::{Hello, PROTOCOL_VERSION, bundle_record};

/// Most bundles that are read from the store at once.
const CHUNK_LEN: u64 = 64;
/// Bytes at which a chunk is complete.
const CHUNK_BYTES: usize = 512 << 10;

/// Settings of the stream.
#[derive(Clone, Copy, Debug)]
pub struct ServerConfig {
    /// Most followers at a time.
    pub max_followers: usize,
    /// Time between two records while there is no new bundle.
    pub heartbeat: Duration,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self { max_followers: 64, heartbeat: Duration::from_secs(1) }
    }
}

/// The reason why a follower gets no stream.
#[derive(Debug, Error)]
pub enum OpenError {
    /// Its first bundle is more than one above the last final one.
    #[error("the last final bundle is {tip}; a stream can begin at most at {}", tip + 1)]
    Ahead {
        /// Height of the last final bundle.
        tip: u64,
    },
    /// Neither its first bundle nor the one before it is stored here.
    #[error(
        "the history here begins at bundle {first} (joined from a snapshot); a stream can begin at {} or later",
        first.saturating_add(1)
    )]
    BeforeHistory {
        /// Height of the first stored bundle above 0.
        first: u64,
    },
    /// The bundle of height 0 is not sent.
    #[error("a stream begins at height 1 or later: height 0 follows from the network")]
    Genesis,
    /// There are too many followers.
    #[error("too many followers: {0} connected (sync-max-followers)")]
    Full(usize),
    /// The store can't be read.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

/// Serves the final bundles of a machine to followers. Each bundle is read and encoded once for all followers at the
/// tip; followers behind it read the store in chunks.
pub struct BundleServer {
    machine: Arc<dyn ChainMachine>,
    network_id: u32,
    config: ServerConfig,
    places: Arc<Semaphore>,
    /// Height of the last final bundle.
    tip: watch::Receiver<u64>,
    recent: Recent,
    stop: Shutdown,
}

impl BundleServer {
    /// A server for a machine's bundles. `events` are those of the machine; a task follows them until `stop`.
    pub fn spawn(
        machine: Arc<dyn ChainMachine>,
        events: broadcast::Receiver<MachineEvent>,
        network_id: u32,
        config: ServerConfig,
        stop: Shutdown,
    ) -> Arc<Self> {
        let (sender, tip) = watch::channel(machine.last_final().0);
        // The task ends with the events: the machine is dropped after the server.
        let _task = tokio::spawn(watch_tip(Arc::clone(&machine), events, sender, stop.clone()));
        let places = Arc::new(Semaphore::new(config.max_followers));
        let recent = Recent::default();
        Arc::new(Self { machine, network_id, config, places, tip, recent, stop })
    }

    /// Number of open streams.
    pub fn followers(&self) -> usize {
        self.config.max_followers.saturating_sub(self.places.available_permits())
    }

    /// Opens a stream that begins with the bundle of this height. Reads the store on the calling thread.
    pub fn open(self: &Arc<Self>, from: u64) -> Result<BundleStream, OpenError> {
        let Some(before) = from.checked_sub(1) else { return Err(OpenError::Genesis) };
        let (tip, last) = self.machine.last_final();
        if before > tip {
            return Err(OpenError::Ahead { tip });
        }
        let first = self.machine.history_start()?;
        if before < first {
            return Err(OpenError::BeforeHistory { first });
        }
        let place = self.place()?;
        let parent = match before == tip {
            true => last,
            false => self.parent_of(from)?,
        };
        let genesis = self.machine.genesis().id();
        let version = PROTOCOL_VERSION;
        let hello = Hello { version, network_id: self.network_id, genesis, parent, tip };
        Ok(BundleStream::new(Arc::clone(self), hello, from, place))
    }

    fn place(&self) -> Result<OwnedSemaphorePermit, OpenError> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        place.map_err(|_| OpenError::Full(self.config.max_followers))
    }

    fn parent_of(&self, height: u64) -> Result<BundleId, ChainError> {
        let bundle = self.machine.bundle_at(height)?;
        bundle.map(|(bundle, _)| bundle.parent).ok_or_else(|| missing(height))
    }

    /// Records of the bundles from this height on: at least one, and none above `tip`.
    async fn records(self: &Arc<Self>, from: u64, tip: u64) -> Result<Vec<Bytes>, ChainError> {
        if let Some(records) = self.recent.get(from) {
            return Ok(records);
        }
        // Followers at the tip wait here while one of them reads the new bundles.
        let is_at_tip = tip.saturating_sub(from) < CHUNK_LEN;
        let _turn = match is_at_tip {
            true => self.recent.turn().await,
            false => None,
        };
        if let Some(records) = self.recent.get(from) {
            return Ok(records);
        }
        let server = Arc::clone(self);
        let records = tokio::task::spawn_blocking(move || server.read(from, tip))
            .await
            .map_err(|_| ChainError::Stopped)??;
        if is_at_tip {
            self.recent.add(from, &records);
        }
        Ok(records)
    }

    fn read(&self, from: u64, tip: u64) -> Result<Vec<Bytes>, ChainError> {
        let mut records = Vec::new();
        let mut bytes = 0usize;
        for height in from..=tip.min(from.saturating_add(CHUNK_LEN - 1)) {
            let (bundle, proof) = self.machine.bundle_at(height)?.ok_or_else(|| missing(height))?;
            let record = bundle_record(&bundle, proof.as_deref());
            bytes = bytes.saturating_add(record.len());
            records.push(record);
            if bytes >= CHUNK_BYTES {
                break;
            }
        }
        Ok(records)
    }
}

impl fmt::Debug for BundleServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BundleServer").field("followers", &self.followers()).finish_non_exhaustive()
    }
}

fn missing(height: u64) -> ChainError {
    ChainError::Corrupted(format!("bundle {height} is missing"))
}

/// Keeps the height of the last final bundle up to date.
async fn watch_tip(
    machine: Arc<dyn ChainMachine>,
    mut events: broadcast::Receiver<MachineEvent>,
    tip: watch::Sender<u64>,
    mut stop: Shutdown,
) {
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            () = stop.wait() => return,
        };
        match event {
            Ok(_) | Err(RecvError::Lagged(_)) => {
                let _before = tip.send_replace(machine.last_final().0);
            }
            Err(RecvError::Closed) => return,
        }
    }
}
