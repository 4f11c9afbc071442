//! Carries out the exchanges of a page.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use esker_client::HttpClient;
use serde_json::Value;

use super::answer::Bindings;
use super::page::{Exchange, Page};

const PAUSE: Duration = Duration::from_millis(5);

/// One reader of a page, who tries every request on it.
#[derive(Debug)]
pub struct Session {
    address: SocketAddr,
    patience: Duration,
    bindings: Bindings,
}

/// The outcome of an exchange.
#[derive(Debug)]
pub struct Attempt {
    /// The answer, with the page's names in place of this node's.
    pub answer: String,
    /// The difference from the documented answer.
    pub wrong: Option<String>,
}

impl Session {
    /// A session with a fresh node.
    ///
    /// `patience` is how long a read may take to answer what is documented: acceptance follows issueTx by some
    /// milliseconds, on a machine under load by more.
    pub fn new(address: SocketAddr, patience: Duration) -> Self {
        Self { address, patience, bindings: Bindings::default() }
    }

    /// Sends a request and compares the answer. A read is repeated for a moment if the answer differs.
    pub fn attempt(&mut self, page: &Page, exchange: &Exchange) -> Result<Attempt> {
        let request = exchange.request()?;
        let documented = page.answer(exchange).is_none_or(|answer| !answer.trim().is_empty());
        let reads = documented && request.method().is_none_or(|method| is_read(&method));
        let deadline = Instant::now() + self.patience;
        loop {
            let attempt = self.once(page, exchange)?;
            if attempt.wrong.is_none() || !reads || Instant::now() >= deadline {
                return Ok(attempt);
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn once(&mut self, page: &Page, exchange: &Exchange) -> Result<Attempt> {
        let request = exchange.request()?;
        let headers: Vec<_> =
            request.headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let (path, body) =
            (self.bindings.to_real(&request.path), self.bindings.to_real(&request.body));
        let reply = HttpClient::new(self.address)
            .without_keep_alive()
            .request(request.http_method, &path, &headers, body.as_bytes())
            .with_context(|| format!("line {}", exchange.line))?;
        let text = reply.text();
        let wrong = match page.answer(exchange) {
            None => (reply.status != 200).then(|| format!("status {}: {text}", reply.status)),
            Some(documented) => self.compare(exchange, &documented, &text),
        };
        Ok(Attempt { answer: self.bindings.to_documented(&text), wrong })
    }

    fn compare(&mut self, exchange: &Exchange, documented: &str, real: &str) -> Option<String> {
        // Names that earlier answers bound. Names that this answer binds are compared as they are.
        let documented = match serde_json::from_str::<Value>(&self.bindings.to_real(documented)) {
            Ok(documented) => documented,
            Err(error) => return Some(format!("the documented answer is no JSON: {error}")),
        };
        match serde_json::from_str::<Value>(real) {
            Ok(real) => exchange.varying.difference(&documented, &real, &mut self.bindings),
            Err(error) => Some(format!("the answer is no JSON: {error}")),
        }
    }
}

/// Whether calling a method twice has the same effect as calling it once.
fn is_read(method: &str) -> bool {
    let name = method.rsplit(['.', '_']).next().unwrap_or(method);
    // The verb is a separate word: `issueTx` does not begin with `is`.
    let begins = |verb: &str| {
        name.strip_prefix(verb).is_some_and(|rest| !rest.starts_with(char::is_lowercase))
    };
    ["get", "is", "list", "pending"].into_iter().any(begins)
}
