//! Compression of replies for clients that accept gzip.

use std::io::Write as _;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use esker_rpc::positional::BatchAnswer;
use esker_rpc::work::{Client, Lane, ReplyBytes, ReplyReservation};
use flate2::{Compression, write::GzEncoder};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::HeaderValue;

/// Bodies of at least this size, in bytes, are compressed on the work threads, not on those of the connections.
const LARGE_BODY: usize = 64 * 1024;
/// Approximate memory of a running compressor, in bytes.
const COMPRESSOR_BYTES: usize = 320 * 1024;

/// A low level, because the client waits. It has most of the gain, because replies are mostly hex.
const LEVEL: Compression = Compression::new(3);

/// Whether the client accepts gzip. The header must name it, in any letter case, with a weight above zero; `*` does
/// not count.
pub(super) fn accepted(header: Option<&HeaderValue>) -> bool {
    let Some(text) = header.and_then(|value| value.to_str().ok()) else { return false };
    // The last readable entry wins.
    text.split(',').rev().find_map(gzip_quality).is_some_and(|weight| weight > 0.0)
}

/// The weight of a coding, if it is gzip and its weight can be read.
fn gzip_quality(coding: &str) -> Option<f64> {
    let mut parts = coding.split(';').map(str::trim);
    parts.next().filter(|name| name.eq_ignore_ascii_case("gzip"))?;
    let mut weight = Some(1.0);
    for part in parts {
        weight = match part.strip_prefix("q=") {
            Some(number) => number.parse().ok(),
            // Quirk: any other parameter resets the weight, unless it was unreadable.
            None => weight.map(|_| 1.0),
        };
    }
    weight
}

/// The compressed body; `None` if no thread or memory is available.
pub(super) async fn compress<B>(client: &Client, body: &Arc<B>) -> Option<ReplyBytes>
where
    B: AsRef<[u8]> + Send + Sync + 'static,
{
    let compressed = if (**body).as_ref().len() < LARGE_BODY {
        deflate((**body).as_ref())
    } else {
        let _held = client.reserve(COMPRESSOR_BYTES).ok()?;
        let body = Arc::clone(body);
        client.run(Lane::Long, move || deflate((*body).as_ref())).await.ok()?
    };
    ReplyBytes::counted(compressed?, Some(client)).ok()
}

fn deflate(body: &[u8]) -> Option<Vec<u8>> {
    // Most replies are hex, which shrinks to a third or less.
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), LEVEL);
    encoder.write_all(body).ok()?;
    encoder.finish().ok()
}

type Encoder = GzEncoder<Vec<u8>>;

/// Compresses a streamed reply part by part.
pub(super) struct Compressor {
    client: Client,
    _held: ReplyReservation,
    step: Step,
}

enum Step {
    /// Waits for a part.
    Idle(Encoder),
    /// Compresses a large part on a work thread.
    Compressing(BoxFuture<'static, Option<(Encoder, Vec<u8>)>>),
    /// The trailer has been sent.
    Ended,
}

impl Compressor {
    /// `None` if no memory is available.
    pub(super) fn new(client: &Client) -> Option<Self> {
        let held = client.reserve(COMPRESSOR_BYTES).ok()?;
        let step = Step::Idle(GzEncoder::new(Vec::new(), LEVEL));
        Some(Self { client: client.clone(), _held: held, step })
    }

    /// The next compressed part. After an error the reply can't be completed.
    pub(super) fn poll_compressed(
        &mut self,
        cx: &mut Context<'_>,
        answer: &mut BatchAnswer,
    ) -> Poll<Option<Result<ReplyBytes, axum::Error>>> {
        loop {
            let compressed = match &mut self.step {
                Step::Ended => return Poll::Ready(None),
                Step::Compressing(packing) => match ready!(packing.poll_unpin(cx)) {
                    None => return self.failed(),
                    Some((encoder, compressed)) => {
                        self.step = Step::Idle(encoder);
                        compressed
                    }
                },
                Step::Idle(_) => {
                    let part = ready!(answer.poll_part(cx));
                    let Step::Idle(encoder) = std::mem::replace(&mut self.step, Step::Ended) else {
                        return Poll::Ready(None);
                    };
                    match part {
                        None => match encoder.finish() {
                            Ok(compressed) => compressed,
                            Err(_) => return self.failed(),
                        },
                        Some(part) if part.len() < LARGE_BODY => {
                            match compress_part(encoder, &part) {
                                None => return self.failed(),
                                Some((encoder, compressed)) => {
                                    self.step = Step::Idle(encoder);
                                    compressed
                                }
                            }
                        }
                        Some(part) => {
                            self.step = Step::Compressing(self.compress_large(encoder, part));
                            continue;
                        }
                    }
                }
            };
            if !compressed.is_empty() {
                let compressed = ReplyBytes::counted(compressed, Some(&self.client));
                return Poll::Ready(Some(compressed.map_err(axum::Error::new)));
            }
        }
    }

    fn compress_large(
        &self,
        encoder: Encoder,
        part: ReplyBytes,
    ) -> BoxFuture<'static, Option<(Encoder, Vec<u8>)>> {
        let client = self.client.clone();
        async move { client.run(Lane::Long, move || compress_part(encoder, &part)).await.ok()? }
            .boxed()
    }

    fn failed(&mut self) -> Poll<Option<Result<ReplyBytes, axum::Error>>> {
        self.step = Step::Ended;
        Poll::Ready(Some(Err(axum::Error::new("the reply can't be compressed"))))
    }
}

fn compress_part(mut encoder: Encoder, part: &[u8]) -> Option<(Encoder, Vec<u8>)> {
    encoder.write_all(part).ok()?;
    let compressed = std::mem::take(encoder.get_mut());
    Some((encoder, compressed))
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::Read as _;

    use esker_rpc::work::{Work, WorkConfig};

    use super::*;

    #[test]
    fn who_takes_gzip() {
        for text in [
            "gzip",
            "GZip",
            "deflate, gzip",
            "gzip;q=0.1",
            "gzip ; q=1",
            "gzip;q=7",
            "br;q=1.0, gzip;q=0.8",
            "gzip;q=0;x",
            "gzip;q=0, gzip",
        ] {
            assert!(accepted(Some(&HeaderValue::from_static(text))), "{text}");
        }
        for text in [
            "",
            "*",
            "identity",
            "deflate",
            "gzip;q=0",
            "gzip;q=0.0",
            "gzip;q=-1",
            "x-gzip",
            "gzip, gzip;q=0",
            "gzip;q=x",
            "*;q=1",
        ] {
            assert!(!accepted(Some(&HeaderValue::from_static(text))), "{text}");
        }
        assert!(!accepted(None));
    }

    fn client() -> Client {
        Work::new(WorkConfig::default()).client(None)
    }

    fn unpack(compressed: &[u8]) -> Vec<u8> {
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(compressed).read_to_end(&mut unpacked).unwrap();
        unpacked
    }

    #[tokio::test]
    async fn small_and_large_bodies_survive() {
        for size in [1400, LARGE_BODY, 3 * LARGE_BODY] {
            let body: Vec<u8> = (0..size).map(|n| (n % 251) as u8).collect();
            let compressed = compress(&client(), &Arc::new(body.clone())).await.unwrap();
            assert!(compressed.len() < body.len() && unpack(&compressed) == body, "{size}");
        }
    }

    #[tokio::test]
    async fn parts_are_compressed_as_they_come() {
        let long = "x".repeat(3 * LARGE_BODY);
        let service = esker_rpc::MethodTable::new("toy")
            .on_list("long", esker_rpc::handler::quick(|text: &String, (): ()| Ok(text.clone())))
            .bind(Arc::new(long.clone()));
        let server =
            esker_rpc::positional::Server::new(service, esker_rpc::positional::Limits::default());
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"toy_long"}"#;
        let none = r#"{"jsonrpc":"2.0","id":2,"method":"toy_none"}"#;
        let client = client();
        let caller = esker_rpc::Caller { client: Some(client.clone()), ..Default::default() };
        let body = format!("[{none},{call},{none},{call}]");
        let mut answer = BatchAnswer::new(&server, &caller, body.clone(), LARGE_BODY);
        let mut packer = Compressor::new(&client).unwrap();
        let mut compressed = Vec::new();
        while let Some(part) = poll_fn(|cx| packer.poll_compressed(cx, &mut answer)).await {
            compressed.extend_from_slice(&part.unwrap());
        }
        let plain = server.answer(body.as_bytes(), None, &caller).await.into_bytes();
        assert!(plain.len() > 6 * LARGE_BODY && compressed.len() < LARGE_BODY);
        assert_eq!(unpack(&compressed), plain);
        drop((packer, answer));
        assert_eq!(client.work().stats().reply_bytes, 0);
    }
}
