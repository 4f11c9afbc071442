//! Another Esker as source: its stream of bundles over HTTP/1.1.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use esker_chain::BundleId;
use esker_outbound::{Dialer, HttpConnection, SourceUrl};
use esker_primitives::excerpt;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Incoming;

use crate::record::{Hello, PROTOCOL_VERSION, Record, RecordReader};
use crate::{Feed, FeedItem, Source, SourceError, validators};

/// Path of the stream.
pub(crate) const PATH: &str = "/ext/sync/bundles";
/// Most bytes of a refusal's text that are read.
const MAX_REFUSAL: usize = 4096;

/// How long a follower waits for a source.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For the connection and the first record.
    pub connect: Duration,
    /// Between two reads of a stream; an honest source sends a record every second.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), idle: Duration::from_secs(10) }
    }
}

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
        let mut feed = EskerFeed {
            body: get(&self.dialer, &self.url, &path, self.timeouts.idle).await?,
            records: RecordReader::default(),
            last: last.0,
        };
        match feed.record().await? {
            Record::Hello(hello) => self.check(&hello, last)?,
            Record::End(reason) => return Err(SourceError::Ended(reason)),
            Record::Bundle { .. } | Record::Tip(_) => {
                return Err(SourceError::Protocol("the first record is not a greeting".to_owned()));
            }
        }
        Ok(feed)
    }

    /// Checks that the stream continues what is final here.
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

/// Why a source answered with a status other than 200.
async fn refusal(status: StatusCode, body: Incoming) -> SourceError {
    let body = Limited::new(body, MAX_REFUSAL).collect().await;
    let bytes = body.map(|body| body.to_bytes()).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let text = format!("{}: {}", status.as_u16(), excerpt(text.trim()));
    match status {
        StatusCode::CONFLICT => SourceError::Behind(text),
        StatusCode::NOT_FOUND => SourceError::Refused(format!(
            "{text}; a source serves followers with --api-sync-enabled"
        )),
        StatusCode::GONE => SourceError::Refused(format!(
            "{text}; follow a node that has the whole history, or join from a snapshot"
        )),
        _ => SourceError::Refused(text),
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

/// Asks for a path; the body of an answer with status 200. A body that sends nothing for `idle` is a failure.
pub(crate) async fn get(
    dialer: &Dialer,
    url: &SourceUrl,
    path: &str,
    idle: Duration,
) -> Result<SourceBody, SourceError> {
    let lost = |error: &dyn std::fmt::Display| SourceError::Unreachable(error.to_string());
    let mut connection = dialer.connect(url).await.map_err(|error| lost(&error))?;
    let request = Request::builder()
        .method(Method::GET)
        .uri(path)
        .header(header::HOST, url.authority())
        .body(Empty::<Bytes>::new())
        .map_err(|error| lost(&error))?;
    let reply = connection.sender.send_request(request).await.map_err(|error| lost(&error))?;
    let status = reply.status();
    if status != StatusCode::OK {
        return Err(refusal(status, reply.into_body()).await);
    }
    Ok(SourceBody { body: reply.into_body(), idle, _connection: connection })
}

/// The body of a source's answer.
pub(crate) struct SourceBody {
    body: Incoming,
    idle: Duration,
    _connection: HttpConnection<Empty<Bytes>>,
}

impl SourceBody {
    /// The next bytes; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, SourceError> {
        loop {
            let frame = tokio::time::timeout(self.idle, self.body.frame()).await;
            match frame.map_err(|_| SourceError::Stalled(self.idle))? {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(error)) => return Err(SourceError::Unreachable(error.to_string())),
                None => return Ok(None),
            }
        }
    }
}

/// The end of a stream that has none.
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
}

impl EskerFeed {
    async fn record(&mut self) -> Result<Record, SourceError> {
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
                Ok(FeedItem::Bundle { bundle, proof })
            }
            Record::Tip(height) => Ok(FeedItem::Remaining(height.saturating_sub(self.last))),
            Record::End(reason) => Err(SourceError::Ended(reason)),
            Record::Hello(_) => Err(SourceError::Protocol("a second greeting".to_owned())),
        }
    }
}
