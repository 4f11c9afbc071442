//! Which pages may read replies: the reference's CORS rules, preflights included.

use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD,
    ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Method};

/// Headers that a page may send, in the form in which a preflight's reply shows them.
const ALLOWED_HEADERS: [&str; 4] = ["Origin", "Accept", "Content-Type", "X-Requested-With"];

/// The allowed origins.
#[derive(Debug)]
pub(super) struct Cors {
    any: bool,
    /// Lower case.
    exact: Vec<String>,
    /// What stands before and after the `*`, lower case.
    patterns: Vec<(String, String)>,
}

impl Cors {
    pub(super) fn new(allowed: &[String]) -> Self {
        let mut cors = Self { any: allowed.is_empty(), exact: Vec::new(), patterns: Vec::new() };
        for origin in allowed.iter().map(|origin| origin.to_lowercase()) {
            match origin.split_once('*') {
                Some(("", "")) => cors.any = true,
                Some((before, after)) => {
                    cors.patterns.push((before.to_owned(), after.to_owned()));
                }
                None => cors.exact.push(origin),
            }
        }
        cors
    }

    /// Is this request answered here, without a look at what it asks for?
    pub(super) fn is_preflight(method: &Method, request: &HeaderMap) -> bool {
        *method == Method::OPTIONS
            && request.get(ACCESS_CONTROL_REQUEST_METHOD).is_some_and(|value| !value.is_empty())
    }

    /// Adds the headers of a preflight's reply.
    pub(super) fn preflight(&self, request: &HeaderMap, reply: &mut HeaderMap) {
        reply.append(VARY, HeaderValue::from_static("Origin"));
        reply.append(VARY, HeaderValue::from_static("Access-Control-Request-Method"));
        reply.append(VARY, HeaderValue::from_static("Access-Control-Request-Headers"));
        let Some(origin) = self.origin(request) else { return };
        let method = request.get(ACCESS_CONTROL_REQUEST_METHOD);
        let Some(method) = method.and_then(|method| allowed_method(method.as_bytes())) else {
            return;
        };
        let asked = request.get(ACCESS_CONTROL_REQUEST_HEADERS).map_or(&b""[..], |v| v.as_bytes());
        let asked = header_list(asked);
        if !asked.iter().all(|name| ALLOWED_HEADERS.contains(&name.as_str())) {
            return;
        }
        reply.insert(ACCESS_CONTROL_ALLOW_ORIGIN, self.allow(origin));
        reply.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(method));
        if let Ok(names) = HeaderValue::try_from(asked.join(", "))
            && !names.is_empty()
        {
            reply.insert(ACCESS_CONTROL_ALLOW_HEADERS, names);
        }
        reply.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    }

    /// Adds the headers of any other reply.
    pub(super) fn actual(&self, method: &Method, request: &HeaderMap, reply: &mut HeaderMap) {
        reply.append(VARY, HeaderValue::from_static("Origin"));
        let Some(origin) = self.origin(request) else { return };
        if allowed_method(method.as_str().as_bytes()).is_none() {
            return;
        }
        reply.insert(ACCESS_CONTROL_ALLOW_ORIGIN, self.allow(origin));
        reply.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    }

    /// The request's origin, if it is allowed.
    fn origin<'a>(&self, request: &'a HeaderMap) -> Option<&'a HeaderValue> {
        let origin = request.get(ORIGIN).filter(|origin| !origin.is_empty())?;
        if self.any {
            return Some(origin);
        }
        let text = String::from_utf8_lossy(origin.as_bytes()).to_lowercase();
        let fits = |(before, after): &(String, String)| {
            // The wildcard may stand for nothing, but its two sides do not overlap.
            text.len() >= before.len() + after.len()
                && text.starts_with(before.as_str())
                && text.ends_with(after.as_str())
        };
        (self.exact.contains(&text) || self.patterns.iter().any(fits)).then_some(origin)
    }

    fn allow(&self, origin: &HeaderValue) -> HeaderValue {
        if self.any { HeaderValue::from_static("*") } else { origin.clone() }
    }
}

/// The method in capitals, if pages may use it.
fn allowed_method(method: &[u8]) -> Option<&'static str> {
    ["GET", "POST", "HEAD", "OPTIONS"]
        .into_iter()
        .find(|allowed| allowed.as_bytes().eq_ignore_ascii_case(method))
}

/// The names of a header list in their usual form (`content-type` is `Content-Type`). As the reference's parser
/// does, other characters than those of names are dropped, and a space ends a name as a comma does.
fn header_list(list: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    let mut name = String::new();
    let mut upper = true;
    for &byte in list {
        if byte.is_ascii_alphabetic() {
            let letter = if upper { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() };
            name.push(char::from(letter));
        } else if byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.') {
            name.push(char::from(byte));
        }
        if matches!(byte, b' ' | b',') {
            if !name.is_empty() {
                names.push(std::mem::take(&mut name));
                upper = true;
            }
        } else {
            upper = matches!(byte, b'-' | b'_');
        }
    }
    if !name.is_empty() {
        names.push(name);
    }
    names
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (http::HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    fn check(
        allowed: &[&str],
        method: &str,
        request: &[(&'static str, &'static str)],
        want: Expect,
    ) {
        let allowed: Vec<_> = allowed.iter().map(ToString::to_string).collect();
        let (cors, request) = (Cors::new(&allowed), headers(request));
        let method = method.parse().unwrap();
        let mut reply = HeaderMap::new();
        if Cors::is_preflight(&method, &request) {
            cors.preflight(&request, &mut reply);
        } else {
            cors.actual(&method, &request, &mut reply);
        }
        let lines: Vec<_> = reply
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        want.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn preflights() {
        let preflight = |method, asked: &'static str, want: Expect| {
            let mut request =
                vec![("origin", "https://App.example"), ("access-control-request-method", method)];
            if !asked.is_empty() {
                request.push(("access-control-request-headers", asked));
            }
            check(&["*"], "OPTIONS", &request, want);
        };
        preflight(
            "post",
            "Content-Type, Accept,x-requested-with, origin",
            expect![[r#"
                vary: Origin
                vary: Access-Control-Request-Method
                vary: Access-Control-Request-Headers
                access-control-allow-origin: *
                access-control-allow-methods: POST
                access-control-allow-headers: Content-Type, Accept, X-Requested-With, Origin
                access-control-allow-credentials: true"#]],
        );
        let refused = || {
            expect![[r#"
                vary: Origin
                vary: Access-Control-Request-Method
                vary: Access-Control-Request-Headers"#]]
        };
        preflight("PUT", "", refused());
        preflight("POST", "authorization", refused());
        preflight("POST", "content-type, x-api-key", refused());
        check(&["*"], "OPTIONS", &[("access-control-request-method", "POST")], refused());
    }

    #[test]
    fn calls() {
        let origin = [("origin", "https://app.example")];
        check(
            &["*"],
            "POST",
            &origin,
            expect![[r#"
                vary: Origin
                access-control-allow-origin: *
                access-control-allow-credentials: true"#]],
        );
        check(&["*"], "PUT", &origin, expect!["vary: Origin"]);
        check(&["*"], "POST", &[], expect!["vary: Origin"]);
        check(&["*"], "POST", &[("origin", "")], expect!["vary: Origin"]);
    }

    #[test]
    fn origins() {
        let list = ["http://a.example", "https://*.b.example"];
        for (origin, allowed) in [
            ("http://a.example", true),
            ("HTTP://A.example", true),
            ("https://x.y.b.example", true),
            ("https://.b.example", true),
            ("https://b.example", false),
            ("https://a.example", false),
            ("null", false),
            ("*", false),
        ] {
            let cors = Cors::new(&list.map(str::to_owned));
            let mut reply = HeaderMap::new();
            cors.actual(&Method::POST, &headers(&[("origin", origin)]), &mut reply);
            let echoed = reply.get("access-control-allow-origin").map(|v| v.to_str().unwrap());
            assert_eq!(echoed, allowed.then_some(origin), "{origin}");
        }
    }
}
