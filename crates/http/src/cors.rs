//! The pages that may read replies, open websockets and call methods for trusted callers: the reference's CORS rules,
//! preflights included, and docs/decisions.md, "Pages of other origins".

use esker_rpc::Caller;
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD,
    ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Method};

use super::origin::is_local;

/// Headers that a page may send, as a preflight's reply spells them.
const ALLOWED_HEADERS: [&str; 4] = ["Origin", "Accept", "Content-Type", "X-Requested-With"];

/// The pages that an endpoint answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// All pages; the settings determine which may read the reply.
    Open,
    /// Pages of this machine, and of origins in the settings.
    Trusted,
}

/// The allowed origins.
#[derive(Debug)]
pub(super) struct Cors {
    any: bool,
    /// Lower case.
    exact: Vec<String>,
    /// The texts before and after the `*`, lower case.
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

    /// Whether the server answers this request itself, without a handler.
    pub(super) fn is_preflight(method: &Method, request: &HeaderMap) -> bool {
        *method == Method::OPTIONS
            && request.get(ACCESS_CONTROL_REQUEST_METHOD).is_some_and(|value| !value.is_empty())
    }

    /// Whether a request with these headers may open a websocket. Browsers allow it to all pages.
    pub(super) fn may_upgrade(&self, request: &HeaderMap) -> bool {
        request.get_all(ORIGIN).iter().all(|origin| self.any || self.names(origin))
    }

    /// The caller of a request. Browsers send the page's `Origin`, other programs do not.
    pub(super) fn caller(&self, request: &HeaderMap) -> Caller {
        let is_trusted = request.get_all(ORIGIN).iter().all(|origin| self.trusts(origin));
        Caller { is_untrusted_page: !is_trusted, ..Caller::default() }
    }

    /// Adds the headers of a preflight's reply.
    pub(super) fn preflight(&self, request: &HeaderMap, access: Access, reply: &mut HeaderMap) {
        reply.append(VARY, HeaderValue::from_static("Origin"));
        reply.append(VARY, HeaderValue::from_static("Access-Control-Request-Method"));
        reply.append(VARY, HeaderValue::from_static("Access-Control-Request-Headers"));
        let Some(origin) = self.origin(request, access) else { return };
        let method = request.get(ACCESS_CONTROL_REQUEST_METHOD);
        let Some(method) = method.and_then(|method| allowed_method(method.as_bytes())) else {
            return;
        };
        let asked = request.get(ACCESS_CONTROL_REQUEST_HEADERS).map_or(&b""[..], |v| v.as_bytes());
        let asked = header_list(asked);
        if !asked.iter().all(|name| ALLOWED_HEADERS.contains(&name.as_str())) {
            return;
        }
        reply.insert(ACCESS_CONTROL_ALLOW_ORIGIN, self.allow(origin, access));
        reply.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(method));
        if let Ok(names) = HeaderValue::try_from(asked.join(", "))
            && !names.is_empty()
        {
            reply.insert(ACCESS_CONTROL_ALLOW_HEADERS, names);
        }
        reply.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    }

    /// Adds the headers of any other reply.
    pub(super) fn actual(
        &self,
        method: &Method,
        request: &HeaderMap,
        access: Access,
        reply: &mut HeaderMap,
    ) {
        reply.append(VARY, HeaderValue::from_static("Origin"));
        let Some(origin) = self.origin(request, access) else { return };
        if allowed_method(method.as_str().as_bytes()).is_none() {
            return;
        }
        reply.insert(ACCESS_CONTROL_ALLOW_ORIGIN, self.allow(origin, access));
        reply.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    }

    /// The request's origin, if its page may read the reply.
    fn origin<'a>(&self, request: &'a HeaderMap, access: Access) -> Option<&'a HeaderValue> {
        let origin = request.get(ORIGIN).filter(|origin| !origin.is_empty())?;
        let may_read = match access {
            Access::Open => self.any || self.names(origin),
            Access::Trusted => !self.caller(request).is_untrusted_page,
        };
        may_read.then_some(origin)
    }

    /// Whether it is a page of this machine, or of an origin in the settings.
    fn trusts(&self, origin: &HeaderValue) -> bool {
        is_local(origin.as_bytes()) || self.names(origin)
    }

    /// Whether an origin is in the list. The `*` for all origins does not match here.
    fn names(&self, origin: &HeaderValue) -> bool {
        if self.exact.is_empty() && self.patterns.is_empty() {
            return false;
        }
        let text = String::from_utf8_lossy(origin.as_bytes()).to_lowercase();
        let fits = |(before, after): &(String, String)| {
            // The wildcard may be empty, but the texts around it do not overlap.
            text.len() >= before.len() + after.len()
                && text.starts_with(before.as_str())
                && text.ends_with(after.as_str())
        };
        self.exact.contains(&text) || self.patterns.iter().any(fits)
    }

    fn allow(&self, origin: &HeaderValue, access: Access) -> HeaderValue {
        match access {
            Access::Open if self.any => HeaderValue::from_static("*"),
            Access::Open | Access::Trusted => origin.clone(),
        }
    }
}

/// The method in capitals, if pages may use it.
fn allowed_method(method: &[u8]) -> Option<&'static str> {
    ["GET", "POST", "HEAD", "OPTIONS"]
        .into_iter()
        .find(|allowed| allowed.as_bytes().eq_ignore_ascii_case(method))
}

/// The names of a header list in canonical form (`content-type` becomes `Content-Type`). Like the reference's parser,
/// it drops characters that names can't have, and a space ends a name like a comma.
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
            cors.preflight(&request, Access::Open, &mut reply);
        } else {
            cors.actual(&method, &request, Access::Open, &mut reply);
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
            let request = headers(&[("origin", origin)]);
            cors.actual(&Method::POST, &request, Access::Open, &mut reply);
            let echoed = reply.get("access-control-allow-origin").map(|v| v.to_str().unwrap());
            assert_eq!(echoed, allowed.then_some(origin), "{origin}");
        }
    }
    /// `origins` are header lines of one request.
    fn caller(allowed: &[&str], origins: &[&'static str]) -> (bool, bool) {
        let cors = Cors::new(&allowed.iter().map(ToString::to_string).collect::<Vec<_>>());
        let mut request = HeaderMap::new();
        for origin in origins {
            request.append(ORIGIN, HeaderValue::from_static(origin));
        }
        (cors.may_upgrade(&request), !cors.caller(&request).is_untrusted_page)
    }

    #[test]
    fn who_may_open_websockets_and_who_is_trusted() {
        let list = ["https://a.example", "https://*.b.example"];
        for (allowed, origins, upgrade, trusted) in [
            (&["*"][..], &[][..], true, true),
            (&["*"], &["https://a.example"], true, false),
            (&["*"], &["null"], true, false),
            (&["*"], &[""], true, false),
            (&["*"], &["http://localhost:3000"], true, true),
            (&["*", "https://a.example"], &["https://A.example"], true, true),
            (&list, &[], true, true),
            (&list, &["https://a.example"], true, true),
            (&list, &["https://x.b.example"], true, true),
            (&list, &["https://c.example"], false, false),
            (&list, &["null"], false, false),
            (&list, &[""], false, false),
            (&list, &["http://localhost:3000"], false, true),
            (&list, &["https://a.example", "https://c.example"], false, false),
            (&["null"], &["null"], true, true),
        ] {
            assert_eq!(caller(allowed, origins), (upgrade, trusted), "{allowed:?} {origins:?}");
        }
    }

    #[test]
    fn only_trusted_pages_read_what_is_for_them() {
        for (origin, echoed) in [
            ("http://localhost:3000", Some("http://localhost:3000")),
            ("http://c.example", None),
            ("null", None),
        ] {
            for list in [&["*"][..], &["https://a.example"]] {
                let cors = Cors::new(&list.iter().map(ToString::to_string).collect::<Vec<_>>());
                let request =
                    headers(&[("origin", origin), ("access-control-request-method", "POST")]);
                let (mut preflight, mut reply) = (HeaderMap::new(), HeaderMap::new());
                cors.preflight(&request, Access::Trusted, &mut preflight);
                cors.actual(&Method::POST, &request, Access::Trusted, &mut reply);
                for reply in [preflight, reply] {
                    let shown = reply.get(ACCESS_CONTROL_ALLOW_ORIGIN);
                    assert_eq!(shown.map(|value| value.to_str().unwrap()), echoed, "{list:?}");
                }
            }
        }
    }
}
