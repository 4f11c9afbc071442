//! Sends the requests of a scenario and compares the replies.

use std::io::Read;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Context;
use esker_client::{HttpClient, HttpReply};
use flate2::read::GzDecoder;
use serde_json::Value;

use super::matching::{self, Bound, difference, excerpt, fill};
use super::scenario::{Expected, Receive, Request, Scenario, Step};
use crate::socket::Socket;

/// Time for which a `>?` request is repeated.
const POLL: Duration = Duration::from_secs(20);
/// Pause between two attempts of a `>?` request.
const PAUSE: Duration = Duration::from_millis(10);

/// The result of a replay.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Exchanges that matched.
    pub matched: usize,
    /// Exchanges that did not match.
    pub failures: Vec<Failure>,
}

/// An exchange that did not match.
#[derive(Debug)]
pub struct Failure {
    /// Line number in the file, from 1.
    pub line: usize,
    /// The place, and the difference.
    pub text: String,
}

/// Replays a scenario on the node at `address`.
pub fn replay(scenario: &Scenario, address: SocketAddr) -> Outcome {
    let path = "/".to_owned();
    let mut session = Session { address, path, bound: Bound::new(), socket: None };
    let mut outcome = Outcome::default();
    for step in &scenario.steps {
        let (line, what, wrong) = match step {
            Step::Path(path) => {
                session.path = fill(path, &session.bound);
                continue;
            }
            Step::Sleep(time) => {
                std::thread::sleep(*time);
                continue;
            }
            Step::Open(open) => {
                let path = fill(&open.text, &session.bound);
                let opened = Socket::open(session.address, &path);
                let wrong = opened.map(|socket| session.socket = Some(socket)).err();
                (open.number, path, wrong.map(|error| error.to_string()))
            }
            Step::Send(send) => {
                let text = fill(&send.text, &session.bound);
                (
                    send.number,
                    excerpt(&text),
                    session.send(&text).err().map(|error| error.to_string()),
                )
            }
            Step::Receive(receive) => {
                (receive.line, excerpt(&receive.want), session.receive(receive))
            }
            Step::Request(request) => {
                let what =
                    format!("{} {} {}", request.method, session.path, excerpt(&request.body));
                (request.line, what, session.exchange(request))
            }
        };
        match wrong {
            None if matches!(step, Step::Receive(_) | Step::Request(_)) => outcome.matched += 1,
            None => {}
            Some(wrong) => {
                let text = format!("{}:{line}: {what}\n    {wrong}", scenario.file.display());
                outcome.failures.push(Failure { line, text });
            }
        }
    }
    outcome
}

struct Session {
    address: SocketAddr,
    path: String,
    bound: Bound,
    socket: Option<Socket>,
}

impl Session {
    /// Sends one request, repeated if it polls. Returns the last difference.
    fn exchange(&mut self, request: &Request) -> Option<String> {
        let deadline = Instant::now() + POLL;
        loop {
            let wrong = self.attempt(request);
            if wrong.is_none() || !request.poll || Instant::now() >= deadline {
                return wrong;
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn send(&mut self, text: &str) -> anyhow::Result<()> {
        self.socket.as_mut().context("no websocket is open")?.send(text)
    }

    /// Receives the next message of the websocket. Returns the difference.
    fn receive(&mut self, receive: &Receive) -> Option<String> {
        let Some(socket) = &mut self.socket else { return Some("no websocket is open".to_owned()) };
        let text = match socket.read() {
            Ok(text) => text,
            Err(error) => return Some(error.to_string()),
        };
        let unbound = self.bind(&receive.lets, &text);
        self.compare_json(&receive.want, 200, &text).or(unbound)
    }

    /// Binds members of a reply. Returns the first one that is missing.
    fn bind(&mut self, lets: &[(String, String)], text: &str) -> Option<String> {
        let json: Option<Value> = serde_json::from_str(text).ok();
        let mut unbound = None;
        for (name, at) in lets {
            match json.as_ref().and_then(|json| matching::member(json, at)) {
                Some(value) => drop(self.bound.insert(name.clone(), value.clone())),
                None => unbound = Some(format!("the reply has no {at} for {name}")),
            }
        }
        unbound
    }

    fn attempt(&mut self, request: &Request) -> Option<String> {
        let mut headers = vec![("Content-Type", "application/json")];
        for (name, value) in &request.headers {
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            if !value.is_empty() {
                headers.push((name, value));
            }
        }
        let body = fill(&request.body, &self.bound);
        // A separate connection for each request, so that a reply does not depend on the one before.
        let reply = HttpClient::new(self.address).without_keep_alive().request(
            &request.method,
            &self.path,
            &headers,
            body.as_bytes(),
        );
        match reply.map_err(|e| e.to_string()).and_then(plain_body) {
            Ok(reply) => self.compare(request, &reply),
            Err(e) => Some(e),
        }
    }

    fn compare(&mut self, request: &Request, reply: &HttpReply) -> Option<String> {
        let text = reply.text();
        let unbound = self.bind(&request.lets, &text);
        let wrong = match &request.expected {
            None => Some("no reply recorded".to_owned()),
            Some(Expected::Json(want)) => self.compare_json(want, reply.status, &text),
            Some(Expected::Text(status, want)) => {
                self.compare_text(status, want, reply.status, &text)
            }
        };
        wrong.or_else(|| self.compare_headers(request, reply)).or(unbound)
    }

    fn compare_json(&mut self, want: &str, status: u16, text: &str) -> Option<String> {
        if status != 200 {
            return Some(format!("want status 200, got {status} {:?}", excerpt(text)));
        }
        if want.is_empty() {
            let empty = text.trim().is_empty();
            return (!empty).then(|| format!("want an empty body, got {:?}", excerpt(text)));
        }
        let want: Value = match serde_json::from_str(want) {
            Ok(want) => want,
            Err(e) => return Some(format!("the recorded reply is no JSON: {e}")),
        };
        match serde_json::from_str(text) {
            Ok(got) => difference(&want, &got, &mut self.bound),
            Err(_) => Some(format!("not JSON: {:?}", excerpt(text))),
        }
    }

    fn compare_text(&self, status: &str, want: &str, got: u16, text: &str) -> Option<String> {
        let want = fill(want, &self.bound);
        let text = text.trim_end_matches('\n');
        let fits = match want.strip_prefix("$:/").and_then(|w| w.strip_suffix('/')) {
            Some(pattern) => matching::matches_whole(pattern, text).unwrap_or(false),
            None => want == text,
        };
        (!fits || got.to_string() != status)
            .then(|| format!("want {status} {:?}, got {got} {:?}", excerpt(&want), excerpt(text)))
    }

    fn compare_headers(&mut self, request: &Request, reply: &HttpReply) -> Option<String> {
        request.expected_headers.iter().find_map(|(name, want)| {
            let got = reply.header(name).map_or(Value::Null, Value::String);
            let want = if want.is_empty() { Value::Null } else { Value::String(want.clone()) };
            difference(&want, &got, &mut self.bound).map(|d| format!("header {name}: {d}"))
        })
    }
}

/// Undoes a gzip content coding.
fn plain_body(mut reply: HttpReply) -> Result<HttpReply, String> {
    if reply.header("content-encoding").is_some_and(|v| v == "gzip") {
        let mut plain = Vec::new();
        GzDecoder::new(reply.body.as_slice())
            .read_to_end(&mut plain)
            .map_err(|e| format!("gzip: {e}"))?;
        reply.body = plain;
    }
    Ok(reply)
}
