//! The websocket handshake, refused in the same cases as by the reference's library.

use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use tungstenite::handshake::derive_accept_key;

/// Length of a key: 16 bytes in base64.
const KEY_LENGTH: usize = 24;

/// Whether a request to an endpoint that also serves HTTP asks for a websocket.
pub(crate) fn is_requested(parts: &Parts) -> bool {
    has_token(&parts.headers, &UPGRADE, "websocket")
        && has_token(&parts.headers, &CONNECTION, "upgrade")
}

/// Writes the headers that accept it, or returns the status that refuses it.
pub(super) fn accept(parts: &Parts, headers: &mut HeaderMap) -> Result<(), StatusCode> {
    if !is_requested(parts) {
        return Err(StatusCode::BAD_REQUEST);
    }
    if parts.method != Method::GET {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    if !has_token(&parts.headers, &SEC_WEBSOCKET_VERSION, "13") {
        return Err(StatusCode::BAD_REQUEST);
    }
    let key = parts.headers.get(SEC_WEBSOCKET_KEY).map(HeaderValue::as_bytes);
    let key = key.filter(|key| is_key(key)).ok_or(StatusCode::BAD_REQUEST)?;
    let accepted = HeaderValue::try_from(derive_accept_key(key))
        .expect("base64 is letters, digits and three signs");
    headers.insert(SEC_WEBSOCKET_ACCEPT, accepted);
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    Ok(())
}

fn is_key(key: &[u8]) -> bool {
    let (digits, padding) = key.split_at(key.len().saturating_sub(2));
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    key.len() == KEY_LENGTH && padding == b"==" && digits.iter().all(is_digit)
}

/// Whether the lists of a header have a token, in any letter case.
fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    headers.get_all(name).iter().any(|list| {
        list.as_bytes().split(|byte| *byte == b',').any(|listed| {
            std::str::from_utf8(listed).is_ok_and(|text| text.trim().eq_ignore_ascii_case(token))
        })
    })
}
