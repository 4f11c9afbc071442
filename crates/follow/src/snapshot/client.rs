//! Reading a snapshot from a source.

use std::sync::Arc;

use esker_chain::commitment::StateSummary;
use esker_chain::snapshot::SnapshotItem;
use esker_chain::{Bundle, BundleId, ProofVerifier};
use esker_outbound::{Dialer, SourceUrl};

use super::PATH;
use super::record::{
    SNAPSHOT_VERSION, SnapshotHello, SnapshotRecord, SnapshotRecordReader, SnapshotTotals,
};
use crate::client::{SourceBody, check_network, get, unexpected_end};
use crate::{SourceError, Timeouts};

/// Most records without content in a row: a source sends one a second while it counts.
const MAX_ALIVE: u32 = 3600;

/// A node that sends snapshots.
#[derive(Clone, Debug)]
pub struct SnapshotSource {
    url: SourceUrl,
    dialer: Dialer,
    name: String,
    network_id: u32,
    genesis: BundleId,
    timeouts: Timeouts,
    verifier: Option<Arc<dyn ProofVerifier>>,
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
    /// A source of a network with this ID and this bundle of height 0.
    pub fn new(
        url: SourceUrl,
        dialer: Dialer,
        (network_id, genesis): (u32, BundleId),
        timeouts: Timeouts,
    ) -> Self {
        let name = url.to_string();
        Self { url, dialer, name, network_id, genesis, timeouts, verifier: None }
    }

    /// Takes only the snapshot of a bundle that this verifier shows to be final.
    #[must_use]
    pub fn with_verifier(self, verifier: Arc<dyn ProofVerifier>) -> Self {
        Self { verifier: Some(verifier), ..self }
    }

    /// Its address, for logs and status.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Connects, and reads the records before the first item.
    pub(super) async fn open(&self) -> Result<Opened, SourceError> {
        match tokio::time::timeout(self.timeouts.connect, self.connect()).await {
            Ok(opened) => opened,
            Err(_) => Err(SourceError::Stalled(self.timeouts.connect)),
        }
    }

    async fn connect(&self) -> Result<Opened, SourceError> {
        let body = get(&self.dialer, &self.url, PATH, self.timeouts.idle).await?;
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
        self.check_proof(&bundle, proof.as_deref())?;
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
        check_network((hello.network_id, hello.genesis), (self.network_id, self.genesis))
    }

    /// Nothing of the state is read before it is known that the network decided it.
    fn check_proof(&self, bundle: &Bundle, proof: Option<&[u8]>) -> Result<(), SourceError> {
        let Some(verifier) = &self.verifier else { return Ok(()) };
        let checked = match proof {
            None => Err("no certificate".to_owned()),
            Some(proof) => verifier.verify(bundle, proof).map_err(|error| error.to_string()),
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
