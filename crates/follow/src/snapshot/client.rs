//! Reading a snapshot from a source.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use esker_chain::Bundle;
use esker_chain::commitment::StateSummary;
use esker_chain::snapshot::SnapshotItem;
use tokio::time::Instant;

use super::PATH;
use super::record::{
    SNAPSHOT_VERSION, SnapshotHello, SnapshotRecord, SnapshotRecordReader, SnapshotTotals,
};
use crate::client::{EskerSource, unexpected_end};
use crate::feed::{Source as _, SourceError};
use crate::patience::Patience;
use crate::request::{SourceBody, get};
use crate::validators::{FollowedValidators, update};

/// Most records without content: a source sends one a second while it counts, for two seconds.
const MAX_ALIVE: u32 = 100;
/// Bytes a second that a source must send on average: a sixteenth of the rate that it requires of its readers.
const MIN_RATE: u64 = 64 << 10;

/// A node that sends snapshots.
#[derive(Clone, Debug)]
pub struct SnapshotSource {
    source: EskerSource,
    validators: Option<Arc<dyn FollowedValidators>>,
}

/// The beginning of a snapshot.
pub(super) struct SnapshotStart {
    pub(super) bundle: Bundle,
    pub(super) proof: Option<Bytes>,
    pub(super) summary: StateSummary,
    pub(super) body: SnapshotBody,
}

/// The next part of the stream.
pub(super) enum Next {
    Item(SnapshotItem),
    /// Number of rows that will come.
    Total(u64),
    Nothing,
    /// The end.
    End(SnapshotTotals),
}

impl SnapshotSource {
    /// The snapshots of this node.
    pub fn new(source: EskerSource) -> Self {
        Self { source, validators: None }
    }

    /// Takes only the snapshot of a bundle that these validators have decided.
    #[must_use]
    pub fn with_validators(self, validators: Arc<dyn FollowedValidators>) -> Self {
        Self { validators: Some(validators), ..self }
    }

    /// Its address, for logs and status.
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// Connects, and reads the records before the first item.
    pub(super) async fn open(&self) -> Result<SnapshotStart, SourceError> {
        let connect = self.source.timeouts.connect;
        let opened = tokio::time::timeout(connect, self.connect()).await;
        let opened = opened.map_err(|_| SourceError::Stalled(connect))??;
        // The proof is checked before any of the state is read.
        self.check_proof(&opened.bundle, opened.proof.as_deref()).await?;
        Ok(opened)
    }

    async fn connect(&self) -> Result<SnapshotStart, SourceError> {
        let EskerSource { dialer, url, timeouts, .. } = &self.source;
        let body = get(dialer, url, PATH, timeouts.idle).await?;
        let mut body = SnapshotBody {
            body,
            records: SnapshotRecordReader::default(),
            patience: Patience::new(timeouts.idle, MIN_RATE),
            idle: timeouts.idle,
            has_items: false,
            has_total: false,
        };
        let unexpected = |what: &str| SourceError::Protocol(format!("a record that is no {what}"));
        let hello = match body.record().await? {
            SnapshotRecord::Hello(hello) => hello,
            SnapshotRecord::Failed(reason) => return Err(SourceError::Ended(reason)),
            _ => return Err(unexpected("greeting")),
        };
        self.check(&hello)?;
        let SnapshotRecord::Bundle { bundle, proof } = body.record().await? else {
            return Err(unexpected("bundle"));
        };
        if (bundle.height, bundle.id()) != (hello.height, hello.bundle) {
            let text = "its bundle is not that of its greeting";
            return Err(SourceError::Snapshot(text.to_owned()));
        }
        let SnapshotRecord::Summary(summary) = body.record().await? else {
            return Err(unexpected("summary"));
        };
        Ok(SnapshotStart { bundle, proof, summary, body })
    }

    fn check(&self, hello: &SnapshotHello) -> Result<(), SourceError> {
        if hello.version != SNAPSHOT_VERSION {
            let version = hello.version;
            let text = format!("its snapshot has version {version}, not {SNAPSHOT_VERSION}");
            return Err(SourceError::Refused(text));
        }
        self.source.check_network((hello.network_id, hello.genesis))
    }

    async fn check_proof(&self, bundle: &Bundle, proof: Option<&[u8]>) -> Result<(), SourceError> {
        let Some(validators) = &self.validators else { return Ok(()) };
        let checked = match proof {
            None => Err("no certificate".to_owned()),
            Some(proof) => {
                update(validators.as_ref(), &self.source).await?;
                validators.verify(bundle, proof).map_err(|error| error.to_string())
            }
        };
        let height = bundle.height;
        checked.map_err(|reason| SourceError::Snapshot(format!("its bundle {height} has {reason}")))
    }
}

/// The records of a snapshot, as they arrive.
pub(super) struct SnapshotBody {
    body: SourceBody,
    records: SnapshotRecordReader,
    /// Patience with the source. Bytes of its state restore it.
    patience: Patience,
    idle: Duration,
    has_items: bool,
    has_total: bool,
}

impl SnapshotBody {
    /// Bytes of the records so far.
    pub(super) fn bytes(&self) -> u64 {
        self.records.bytes()
    }

    /// The next item, or the end.
    pub(super) async fn next(&mut self) -> Result<Next, SourceError> {
        match self.record().await? {
            SnapshotRecord::Item(item) => {
                self.has_items = true;
                Ok(Next::Item(item))
            }
            SnapshotRecord::Total(_) if self.has_total || self.has_items => {
                Err(SourceError::Protocol("a total that is not before the items".to_owned()))
            }
            SnapshotRecord::Total(rows) => {
                self.has_total = true;
                Ok(Next::Total(rows))
            }
            SnapshotRecord::Alive => {
                // Many such records at once use up time, too.
                self.patience.add(self.idle / MAX_ALIVE, 0);
                Ok(Next::Nothing)
            }
            SnapshotRecord::End(totals) if totals.bytes != self.bytes() => {
                let text = format!("{} bytes came of {}", self.bytes(), totals.bytes);
                Err(SourceError::Snapshot(text))
            }
            SnapshotRecord::End(totals) => {
                self.end().await?;
                Ok(Next::End(totals))
            }
            SnapshotRecord::Failed(reason) => Err(SourceError::Ended(reason)),
            SnapshotRecord::Hello(_)
            | SnapshotRecord::Bundle { .. }
            | SnapshotRecord::Summary(_) => {
                Err(SourceError::Protocol("a second beginning".to_owned()))
            }
        }
    }

    /// Nothing may follow the end.
    async fn end(&mut self) -> Result<(), SourceError> {
        let is_over = !self.records.is_in_record() && self.read().await?.is_none();
        match is_over {
            true => Ok(()),
            false => Err(SourceError::Snapshot("bytes follow its end".to_owned())),
        }
    }

    async fn record(&mut self) -> Result<SnapshotRecord, SourceError> {
        loop {
            let record = self.records.next();
            if let Some(record) = record.map_err(|e| SourceError::Protocol(e.to_string()))? {
                return Ok(record);
            }
            match self.read().await? {
                Some(data) => self.records.push(&data),
                None => return Err(unexpected_end(self.records.is_in_record())),
            }
        }
    }

    /// The next bytes, within the patience for the source; `None` at the end.
    async fn read(&mut self) -> Result<Option<Bytes>, SourceError> {
        let left = self.patience.left();
        if left.is_zero() {
            return Err(self.overdue());
        }
        let begun = Instant::now();
        let read = tokio::time::timeout(left, self.body.next()).await;
        let waited = begun.elapsed();
        self.patience.add(waited, 0);
        match read {
            Ok(Ok(Some(data))) => {
                self.patience.credit(data.len());
                Ok(Some(data))
            }
            Ok(ended) => ended,
            Err(_) if waited >= self.idle => Err(SourceError::Stalled(self.idle)),
            Err(_) => Err(self.overdue()),
        }
    }

    fn overdue(&self) -> SourceError {
        let seconds = self.idle.as_secs_f32();
        SourceError::Withheld(format!(
            "this node has waited for {seconds} s longer than its state takes at {MIN_RATE} bytes a second"
        ))
    }
}
