//! Addresses of sources, and what of them may be shown.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use esker_outbound::{SourceKind, SourceUrl};
use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue, Uri};
use thiserror::Error;

/// Longest part of a path that is shown. Longer ones may be keys.
const MAX_SHOWN_SEGMENT: usize = 8;
/// Stands for what is not shown.
const HIDDEN: &str = "***";

/// The reason why a text is not the address of a source. It repeats nothing of the text, which may hold a key.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AddressError {
    /// Not a URL with a host.
    #[error(
        "the fork URL is not valid ({0}): expected http://HOST[:PORT][/PATH] or https://HOST[:PORT][/PATH]"
    )]
    Url(&'static str),
    /// Not a header.
    #[error("the fork header is not valid ({0}): expected 'Name: value'")]
    Header(&'static str),
}

/// The URL of a source, and the headers of its requests.
#[derive(Clone)]
pub struct SourceAddress {
    pub(super) url: SourceUrl,
    /// Path and query of the requests.
    pub(super) path: String,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    /// Texts that no message may hold.
    secrets: Vec<String>,
    shown: String,
}

impl std::fmt::Debug for SourceAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SourceAddress").field(&self.shown).finish()
    }
}

impl std::fmt::Display for SourceAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

impl SourceAddress {
    /// Reads a URL. A user name and password in it become the header `Authorization`.
    ///
    /// # Errors
    /// The text is not a URL with `http` or `https`.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let uri: Uri = text.parse().map_err(|_| AddressError::Url("not a URL"))?;
        let is_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(AddressError::Url("no http:// or https://")),
        };
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let (user, plain) = match authority.rsplit_once('@') {
            Some((user, plain)) => (Some(user), plain),
            None => (None, authority),
        };
        let host = uri.host().unwrap_or_default();
        let port = match (plain.len() == host.len(), is_tls) {
            (true, false) => 80,
            (true, true) => 443,
            (false, _) => {
                uri.port_u16().filter(|port| *port > 0).ok_or(AddressError::Url("not a port"))?
            }
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err(AddressError::Url("no host"));
        }
        let url = SourceUrl { kind: SourceKind::Esker, is_tls, host, port };
        let (shown_path, mut secrets) = hide(uri.path(), uri.query());
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let mut headers = Vec::new();
        if let Some(user) = user {
            secrets.extend(user.split(':').filter(|part| part.len() > 3).map(str::to_owned));
            headers.push((AUTHORIZATION, basic(user)?));
        }
        // The default port of `SourceUrl` is that of a node, so it is always shown.
        let shown = format!("{url}{shown_path}");
        Ok(Self { url, path, headers, secrets, shown })
    }

    /// Adds a header of the form `Name: value` to each request. Its value is never shown.
    ///
    /// # Errors
    /// The text has another form.
    pub fn with_header(mut self, text: &str) -> Result<Self, AddressError> {
        let (name, value) = text.split_once(':').ok_or(AddressError::Header("no colon"))?;
        let name: HeaderName =
            name.trim().parse().map_err(|_| AddressError::Header("not a name"))?;
        let value = value.trim();
        if value.len() > 3 {
            self.secrets.push(value.to_owned());
        }
        let mut value =
            HeaderValue::from_str(value).map_err(|_| AddressError::Header("not a value"))?;
        value.set_sensitive(true);
        self.headers.push((name, value));
        Ok(self)
    }

    /// A text of the source without the secrets of this address.
    pub(super) fn redact(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, HIDDEN))
    }
}

/// The path as it is shown, and the parts that are not.
fn hide(path: &str, query: Option<&str>) -> (String, Vec<String>) {
    let mut secrets = Vec::new();
    let mut shown = String::new();
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        shown.push('/');
        if segment.len() > MAX_SHOWN_SEGMENT {
            shown.push_str(HIDDEN);
            secrets.push(segment.to_owned());
        } else {
            shown.push_str(segment);
        }
    }
    if let Some(query) = query {
        shown.push_str("?***");
        let values = query.split('&').map(|pair| pair.split_once('=').map_or(pair, |(_, v)| v));
        secrets.extend(values.filter(|value| value.len() > 3).map(str::to_owned));
    }
    (shown, secrets)
}

fn basic(user: &str) -> Result<HeaderValue, AddressError> {
    let value = format!("Basic {}", STANDARD.encode(percent_decoded(user)));
    let mut value =
        HeaderValue::try_from(value).map_err(|_| AddressError::Url("not a user name"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// The bytes of a text with `%41` for `A`.
fn percent_decoded(text: &str) -> Vec<u8> {
    let (bytes, mut out, mut at) = (text.as_bytes(), Vec::new(), 0);
    while at < bytes.len() {
        let code = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_not_shown() {
        for (text, shown) in [
            ("http://127.0.0.1:8545", "http://127.0.0.1:8545"),
            ("https://node.example/ext/bc/C/rpc", "https://node.example:443/ext/bc/C/rpc"),
            ("https://eth.example/v2/0123456789abcdef", "https://eth.example:443/v2/***"),
            ("https://eth.example/rpc?apikey=abcd", "https://eth.example:443/rpc?***"),
            ("http://user:secret@[::1]:1/", "http://[::1]:1"),
        ] {
            let address = SourceAddress::parse(text).unwrap();
            assert_eq!(address.to_string(), shown);
            assert!(!format!("{address:?}").contains("secret"));
        }
        let address = SourceAddress::parse("http://h/v2/0123456789abcdef?k=wxyz").unwrap();
        let address = address.with_header("x-key: hunter22").unwrap();
        let text = address.redact("key 0123456789abcdef or wxyz or hunter22 is wrong");
        assert_eq!(text, "key *** or *** or *** is wrong");
        assert_eq!((address.path.as_str(), address.url.port), ("/v2/0123456789abcdef?k=wxyz", 80));
    }

    #[test]
    fn other_texts() {
        for text in ["", "node:8545", "ftp://node", "http://", "http://node:0", "http://node:x"] {
            assert!(matches!(SourceAddress::parse(text), Err(AddressError::Url(_))), "{text}");
        }
        let address = SourceAddress::parse("http://u%41:p@h").unwrap();
        assert_eq!(address.headers[0].1, "Basic dUE6cA==");
        for text in ["no colon", "a b: c", "a: \u{7}"] {
            let refused = address.clone().with_header(text);
            assert!(matches!(refused, Err(AddressError::Header(_))), "{text}");
        }
    }
}
