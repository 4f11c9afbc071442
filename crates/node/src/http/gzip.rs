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
    // Of duplicates the last counts.
    text.split(',').fold(false, |accepted, coding| {
        let mut parts = coding.split(';').map(str::trim);
        if !parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip")) {
            return accepted;
        }
        // A parameter that is no weight resets it: the reference's parser works so.
        parts.fold(Some(1.0), |_, part| match part.strip_prefix("q=") {
            Some(weight) => weight.parse::<f64>().ok(),
            None => Some(1.0),
        })
        .map_or(accepted, |weight| weight > 0.0)
    })
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
            "gzip", "GZip", "deflate, gzip", "gzip;q=0.1", "gzip ; q=1", "gzip;q=7", "br;q=1.0, gzip;q=0.8",
            "gzip;q=0;x", "gzip;q=0, gzip",
        ] {
            assert!(accepted(Some(&HeaderValue::from_static(text))), "{text}");
        }
        for text in [
            "", "*", "identity", "deflate", "gzip;q=0", "gzip;q=0.0", "gzip;q=-1", "x-gzip",
            "gzip, gzip;q=0", "gzip;q=x", "*;q=1",
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
