//! Another Esker node as a source: its stream of bundles over HTTP/1.1.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use esker_chain::BundleId;
use esker_outbound::{Dialer, SourceUrl};
use tokio::time::Instant;

use crate::feed::{Feed, FeedItem, Source, SourceError};
use crate::patience::Patience;
use crate::record::{Hello, PROTOCOL_VERSION, Record, RecordReader};
use crate::request::{SourceBody, Timeouts, get};
use crate::validators;

/// Path of the stream.
pub(crate) const PATH: &str = "/ext/sync/bundles";
/// Bytes a second that a source must send of a record that takes longer than the idle time.
const MIN_RATE: u64 = 256 << 10;
/// Most consecutive tips without a bundle while a bundle is due.
const MAX_TIPS: u32 = 100;

/// An Esker node with its stream of bundles (docs/protocol/bundle-stream.md, "Request").
#[derive(Clone, Debug)]
pub struct EskerSource {
    pub(crate) url: SourceUrl,
    pub(crate) dialer: Dialer,
    name: String,
    network_id: u32,
    genesis: BundleId,
    pub(crate) timeouts: Timeouts,
}

impl EskerSource {
    /// A source of a network with this ID and this bundle of height 0.
    pub fn new(
        url: SourceUrl,
        dialer: Dialer,
        (network_id, genesis): (u32, BundleId),
        timeouts: Timeouts,
    ) -> Self {
        let name = url.to_string();
        Self { url, dialer, name, network_id, genesis, timeouts }
    }

    async fn connect(&self, last: (u64, BundleId)) -> Result<EskerFeed, SourceError> {
        let path = format!("{PATH}?from={}", last.0.saturating_add(1));
        let idle = self.timeouts.idle;
        let mut feed = EskerFeed {
            body: get(&self.dialer, &self.url, &path, idle).await?,
            records: RecordReader::default(),
            last: last.0,
            tip: last.0,
            record_patience: Patience::new(idle, MIN_RATE),
            bundle_patience: Patience::new(idle, MIN_RATE),
            idle,
        };
        match feed.record().await? {
            Record::Hello(hello) => {
                self.check(&hello, last)?;
                feed.tip = last.0.max(hello.tip);
            }
            Record::End(reason) => return Err(SourceError::Ended(reason)),
            Record::Bundle { .. } | Record::Tip(_) => {
                return Err(SourceError::Protocol("the first record is not a greeting".to_owned()));
            }
        }
        Ok(feed)
    }

    /// Checks that the stream continues after the last final bundle of this node.
    fn check(&self, hello: &Hello, last: (u64, BundleId)) -> Result<(), SourceError> {
        if hello.version != PROTOCOL_VERSION {
            let version = hello.version;
            let text = format!("its stream has version {version}, not {PROTOCOL_VERSION}");
            return Err(SourceError::Refused(text));
        }
        self.check_network((hello.network_id, hello.genesis))?;
        if hello.parent != last.1 {
            let (height, id) = last;
            let text = format!("bundle {height} is {} there and {id} here", hello.parent);
            return Err(SourceError::Contradiction(text));
        }
        Ok(())
    }

    /// Compares network ID and bundle 0 of a source with this node's.
    pub(crate) fn check_network(&self, there: (u32, BundleId)) -> Result<(), SourceError> {
        let here = (self.network_id, self.genesis);
        if there == here {
            return Ok(());
        }
        let text = if there.0 == here.0 {
            format!(
                "network {} there has other chains or parameters: its first bundle is {}, here it is {}",
                there.0, there.1, here.1
            )
        } else {
            format!("it is of network {}, this node of {}", there.0, here.0)
        };
        Err(SourceError::Contradiction(text))
    }
}

#[async_trait]
impl Source for EskerSource {
    fn name(&self) -> &str {
        &self.name
    }

    async fn open(&self, last: (u64, BundleId)) -> Result<Box<dyn Feed>, SourceError> {
        match tokio::time::timeout(self.timeouts.connect, self.connect(last)).await {
            Ok(feed) => Ok(Box::new(feed?)),
            Err(_) => Err(SourceError::Stalled(self.timeouts.connect)),
        }
    }

    async fn validator_changes(&self, from: u64) -> Result<Vec<Bytes>, SourceError> {
        validators::fetch((&self.dialer, &self.url), from, self.timeouts).await
    }
}

/// The error of a stream that ends without an end record.
pub(crate) fn unexpected_end(is_in_record: bool) -> SourceError {
    SourceError::Unreachable(match is_in_record {
        true => "the stream ended within a record".to_owned(),
        false => "the stream ended".to_owned(),
    })
}

/// An open stream.
struct EskerFeed {
    body: SourceBody,
    records: RecordReader,
    /// Height of the last bundle that was handed out.
    last: u64,
    /// Greatest height that the source has reported.
    tip: u64,
    /// Patience for the next record.
    record_patience: Patience,
    /// Patience for the next bundle, while the source reports that it has more.
    bundle_patience: Patience,
    idle: Duration,
}

impl EskerFeed {
    async fn record(&mut self) -> Result<Record, SourceError> {
        loop {
            let record = self.records.next();
            if let Some(record) = record.map_err(|e| SourceError::Protocol(e.to_string()))? {
                self.record_patience.reset();
                return Ok(record);
            }
            let is_behind = self.tip > self.last;
            let left = match is_behind {
                true => self.record_patience.left().min(self.bundle_patience.left()),
                false => self.record_patience.left(),
            };
            if left.is_zero() {
                return Err(self.overdue());
            }
            let begun = Instant::now();
            let read = tokio::time::timeout(left, self.body.next()).await;
            let data = match &read {
                Ok(Ok(Some(data))) => data.len(),
                _ => 0,
            };
            self.record_patience.add(begun.elapsed(), data);
            if is_behind {
                self.bundle_patience.add(begun.elapsed(), data);
            }
            let Ok(read) = read else { return Err(self.overdue()) };
            match read? {
                Some(data) => self.records.push(&data),
                None => return Err(unexpected_end(self.records.is_in_record())),
            }
        }
    }

    /// The reason why the follower stops waiting for the source.
    fn overdue(&self) -> SourceError {
        let seconds = self.idle.as_secs_f32();
        if !self.record_patience.left().is_zero() {
            let (last, tip) = (self.last, self.tip);
            return SourceError::Withheld(format!(
                "no bundle came within {seconds} s after bundle {last}, and it says that it has bundle {tip}"
            ));
        }
        match self.records.is_in_record() {
            true => SourceError::Withheld(format!("a record was not complete within {seconds} s")),
            false => SourceError::Stalled(self.idle),
        }
    }

    /// The source reports its height.
    fn note_tip(&mut self, height: u64) {
        if self.tip <= self.last {
            self.bundle_patience.reset();
        }
        // The bytes that arrived were not part of a bundle. Many such records at once use up time, too.
        self.bundle_patience.forget_bytes();
        self.bundle_patience.add(self.idle / MAX_TIPS, 0);
        self.tip = self.tip.max(height);
    }
}

#[async_trait]
impl Feed for EskerFeed {
    async fn next(&mut self) -> Result<FeedItem, SourceError> {
        match self.record().await? {
            Record::Bundle { bundle, proof } => {
                let expected = self.last.saturating_add(1);
                if bundle.height != expected {
                    let text = format!("bundle {} instead of {expected}", bundle.height);
                    return Err(SourceError::Protocol(text));
                }
                self.last = expected;
                self.bundle_patience.reset();
                Ok(FeedItem::Bundle { bundle, proof })
            }
            Record::Tip(height) => {
                self.note_tip(height);
                Ok(FeedItem::Remaining(height.saturating_sub(self.last)))
            }
            Record::End(reason) => Err(SourceError::Ended(reason)),
            Record::Hello(_) => Err(SourceError::Protocol("a second greeting".to_owned())),
        }
    }
}
