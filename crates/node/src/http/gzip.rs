//! Compression of replies for clients that ask for it by name.

use std::io::Write as _;

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::HeaderValue;

/// Bodies from this size on, in bytes, are compressed beside the threads that serve connections.
const LARGE: usize = 64 * 1024;

/// Replies are compressed while a client waits: little effort gets most of the gain, hex being half air.
const EFFORT: Compression = Compression::new(3);

/// Does the client take gzip? It must be named, in any letter case, with a weight above zero; `*` does not count.
pub(super) fn accepted(header: Option<&HeaderValue>) -> bool {
    let Some(text) = header.and_then(|value| value.to_str().ok()) else { return false };
    // Of duplicates the last counts, of those that can be read.
    text.split(',').rev().find_map(weight_of_gzip).is_some_and(|weight| weight > 0.0)
}

/// The weight of a coding, if it is gzip and its weight can be read.
fn weight_of_gzip(coding: &str) -> Option<f64> {
    let mut parts = coding.split(';').map(str::trim);
    parts.next().filter(|name| name.eq_ignore_ascii_case("gzip"))?;
    let mut weight = Some(1.0);
    for part in parts {
        weight = match part.strip_prefix("q=") {
            Some(number) => number.parse().ok(),
            // Quirk: any other parameter sets the weight back, unless it could not be read.
            None => weight.map(|_| 1.0),
        };
    }
    weight
}

/// The body compressed; `None` if that failed.
pub(super) async fn compress(body: Bytes) -> Option<Bytes> {
    if body.len() < LARGE {
        return deflate(&body);
    }
    tokio::task::spawn_blocking(move || deflate(&body)).await.ok().flatten()
}

fn deflate(body: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 2), EFFORT);
    encoder.write_all(body).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

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

    #[tokio::test]
    async fn small_and_large_bodies_survive() {
        for size in [1400, LARGE, 3 * LARGE] {
            let body: Bytes = (0..size).map(|n| (n % 251) as u8).collect();
            let packed = compress(body.clone()).await.unwrap();
            let mut unpacked = Vec::new();
            flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut unpacked).unwrap();
            assert!(packed.len() < body.len() && unpacked == body, "{size}");
        }
    }
}
