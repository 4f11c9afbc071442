//! Reading a snapshot from a source.

use std::sync::Arc;

use esker_chain::Bundle;
use esker_chain::commitment::StateSummary;
use esker_chain::snapshot::SnapshotItem;

use super::PATH;
use super::record::{
    SNAPSHOT_VERSION, SnapshotHello, SnapshotRecord, SnapshotRecordReader, SnapshotTotals,
};
use crate::client::{SourceBody, get, unexpected_end};
use crate::validators::update;
use crate::{EskerSource, FollowedValidators, Source as _, SourceError};

/// Most records without content in a row: a source sends one a second while it counts.
const MAX_ALIVE: u32 = 3600;

/// A node that sends snapshots.
#[derive(Clone, Debug)]
pub struct SnapshotSource {
    source: EskerSource,
    validators: Option<Arc<dyn FollowedValidators>>,
}

/// The beginning of a snapshot.
pub(super) struct Opened {
    pub(super) bundle: Bundle,
    pub(super) proof: Option<bytes::Bytes>,
    pub(super) summary: StateSummary,
    pub(super) body: SnapshotBody,
}

/// What follows.
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
    pub(super) async fn open(&self) -> Result<Opened, SourceError> {
        let connect = self.source.timeouts.connect;
        let opened = tokio::time::timeout(connect, self.connect()).await;
        let opened = opened.map_err(|_| SourceError::Stalled(connect))??;
        // Nothing of the state is read before it is known that the network decided it.
        self.check_proof(&opened.bundle, opened.proof.as_deref()).await?;
        Ok(opened)
    }

    async fn connect(&self) -> Result<Opened, SourceError> {
        let EskerSource { dialer, url, timeouts, .. } = &self.source;
        let body = get(dialer, url, PATH, timeouts.idle).await?;
        let mut body = SnapshotBody { body, records: SnapshotRecordReader::default(), alive: 0 };
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
        Ok(Opened { bundle, proof, summary, body })
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
    /// Records without content since the last other one.
    alive: u32,
}

impl SnapshotBody {
    /// Bytes of the records so far.
    pub(super) fn bytes(&self) -> u64 {
        self.records.bytes()
    }

    /// The next item, or the end.
    pub(super) async fn next(&mut self) -> Result<Next, SourceError> {
        let record = self.record().await?;
        self.alive = if record == SnapshotRecord::Alive { self.alive + 1 } else { 0 };
        match record {
            SnapshotRecord::Alive if self.alive > MAX_ALIVE => {
                Err(SourceError::Protocol(format!("{MAX_ALIVE} records without content")))
            }
            SnapshotRecord::Item(item) => Ok(Next::Item(item)),
            SnapshotRecord::Total(rows) => Ok(Next::Total(rows)),
            SnapshotRecord::Alive => Ok(Next::Nothing),
            SnapshotRecord::End(totals) if totals.bytes != self.bytes() => {
                let text = format!("{} bytes came of {}", self.bytes(), totals.bytes);
                Err(SourceError::Snapshot(text))
            }
            SnapshotRecord::End(totals) => Ok(Next::End(totals)),
            SnapshotRecord::Failed(reason) => Err(SourceError::Ended(reason)),
            SnapshotRecord::Hello(_)
            | SnapshotRecord::Bundle { .. }
            | SnapshotRecord::Summary(_) => {
                Err(SourceError::Protocol("a second beginning".to_owned()))
            }
        }
    }

    async fn record(&mut self) -> Result<SnapshotRecord, SourceError> {
        loop {
            let record = self.records.next();
            if let Some(record) = record.map_err(|e| SourceError::Protocol(e.to_string()))? {
                return Ok(record);
            }
            match self.body.next().await? {
                Some(data) => self.records.push(&data),
                None => return Err(unexpected_end(self.records.is_in_record())),
            }
        }
    }
}
