//! Converts the path of a request line to a key of the table of paths, like the reference's router: percent escapes
//! are decoded, and a path that is not clean is redirected.

use std::borrow::Cow;

use http::Uri;

/// The result of resolving a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ResolvedPath<'a> {
    /// Clean and decoded.
    Path(Cow<'a, str>),
    /// Clean, but not UTF-8, so it is not in the table.
    NotFound,
    /// The clean location, to which the client is redirected.
    Redirect(String),
    /// A percent sign without two hex digits.
    Malformed,
}

/// Resolves the path of a request.
pub(super) fn resolve(uri: &Uri) -> ResolvedPath<'_> {
    let raw = uri.path();
    if is_plain(raw) {
        return ResolvedPath::Path(Cow::Borrowed(raw));
    }
    let Some(decoded) = decode(raw) else { return ResolvedPath::Malformed };
    let cleaned = clean(&decoded);
    if cleaned != decoded {
        return ResolvedPath::Redirect(location(uri, &cleaned));
    }
    match String::from_utf8(decoded) {
        Ok(path) => ResolvedPath::Path(Cow::Owned(path)),
        Err(_) => ResolvedPath::NotFound,
    }
}

/// Whether the path needs no decoding and no cleaning.
fn is_plain(path: &str) -> bool {
    let mut before = b' ';
    path.starts_with('/')
        && path.bytes().all(|byte| {
            let fine = byte != b'%' && !(before == b'/' && matches!(byte, b'/' | b'.'));
            before = byte;
            fine
        })
}

fn decode(path: &str) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(path.len());
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => (hex_digit(bytes.next()?)? << 4) | hex_digit(bytes.next()?)?,
            other => other,
        });
    }
    Some(decoded)
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Removes empty, `.` and `..` segments; keeps a slash at the end.
fn clean(path: &[u8]) -> Vec<u8> {
    let mut segments: Vec<&[u8]> = Vec::new();
    for segment in path.split(|&byte| byte == b'/') {
        match segment {
            b"" | b"." => {}
            b".." => {
                segments.pop();
            }
            name => segments.push(name),
        }
    }
    let mut cleaned = Vec::with_capacity(path.len() + 1);
    for segment in segments {
        cleaned.push(b'/');
        cleaned.extend_from_slice(segment);
    }
    if cleaned.is_empty() || path.ends_with(b"/") {
        cleaned.push(b'/');
    }
    cleaned
}

/// The clean path as a URL: keeps the query, and scheme and host if the request has them.
fn location(uri: &Uri, path: &[u8]) -> String {
    let mut url = String::new();
    if let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) {
        url = format!("{scheme}://{authority}");
    }
    for &byte in path {
        // Go's escaping of paths.
        if byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte) {
            url.push(char::from(byte));
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
    if let Some(query) = uri.query() {
        url.push('?');
        url.push_str(query);
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(target: &str, want: ResolvedPath<'_>) {
        assert_eq!(resolve(&target.parse().unwrap()), want, "{target}");
    }

    #[test]
    fn clean_paths_are_decoded() {
        for (target, path) in [
            ("/", "/"),
            ("/ext/bc/X", "/ext/bc/X"),
            ("/ext/bc/X?a=//b", "/ext/bc/X"),
            ("/ext/bc/%58", "/ext/bc/X"),
            ("/ext%2Fbc%2fX", "/ext/bc/X"),
            ("/ext/bc/X/", "/ext/bc/X/"),
            ("/ext/.well-known", "/ext/.well-known"),
            ("/ext/...", "/ext/..."),
            ("/a%20b", "/a b"),
            ("/%C3%A9", "/é"),
            ("http://localhost/ext/info", "/ext/info"),
        ] {
            check(target, ResolvedPath::Path(Cow::Borrowed(path)));
        }
        check("/%ff", ResolvedPath::NotFound);
    }

    #[test]
    fn unclean_paths_are_redirected() {
        for (target, location) in [
            ("/ext//bc/X", "/ext/bc/X"),
            ("//ext/bc/X", "/ext/bc/X"),
            ("/ext/bc/X//", "/ext/bc/X/"),
            ("/ext/./bc/X", "/ext/bc/X"),
            ("/ext/../ext/bc/X", "/ext/bc/X"),
            ("/../../x", "/x"),
            ("/ext/bc/X/.", "/ext/bc/X"),
            ("/ext/bc/..", "/ext"),
            ("/..", "/"),
            ("/ext//bc/X?a=b", "/ext/bc/X?a=b"),
            ("/ext//bc?", "/ext/bc?"),
            ("/ext/%2e%2e/x", "/x"),
            ("/%2F/%58%20%C3%A9!*", "/X%20%C3%A9%21%2A"),
            ("*", "/%2A"),
            ("http://localhost/ext//info", "http://localhost/ext/info"),
        ] {
            check(target, ResolvedPath::Redirect(location.to_owned()));
        }
    }

    #[test]
    fn broken_escapes() {
        for target in ["/%", "/%5", "/%zz", "/%+1", "/ext//%g0"] {
            check(target, ResolvedPath::Malformed);
        }
    }
}
