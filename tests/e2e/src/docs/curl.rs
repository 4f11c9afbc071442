//! The `curl` commands of documents.

use anyhow::{Context, Result, bail};

/// The address of the node in documents.
const NODE: &str = "http://127.0.0.1:9650";

/// A request that a command sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// HTTP method.
    pub http_method: &'static str,
    /// Path with query.
    pub path: String,
    /// Headers as given.
    pub headers: Vec<(String, String)>,
    /// Body, empty for none.
    pub body: String,
}

impl Request {
    /// Reads one command: `curl [-s] [-H HEADER].. URL [-d BODY]`, words quoted with `'`, lines joined with `\`.
    pub fn parse(command: &str) -> Result<Self> {
        let words = words(command)?;
        let mut words = words.iter().map(String::as_str);
        if words.next() != Some("curl") {
            bail!("no curl command: {command}");
        }
        let mut request = Self {
            http_method: "GET",
            path: String::new(),
            headers: Vec::new(),
            body: String::new(),
        };
        while let Some(word) = words.next() {
            match word {
                "-s" => {}
                "-H" => {
                    let header = words.next().context("-H what?")?;
                    let (name, value) = header.split_once(": ").context("`Name: value`")?;
                    request.headers.push((name.to_owned(), value.to_owned()));
                }
                "-d" => {
                    request.http_method = "POST";
                    request.body = words.next().context("-d what?")?.to_owned();
                }
                url => {
                    let path = url
                        .strip_prefix(NODE)
                        .with_context(|| format!("{url} is not at {NODE}"))?;
                    path.clone_into(&mut request.path);
                }
            }
        }
        if request.path.is_empty() {
            bail!("no URL: {command}");
        }
        Ok(request)
    }

    /// The JSON-RPC method that the body names.
    pub fn method(&self) -> Option<String> {
        let body: serde_json::Value = serde_json::from_str(&self.body).ok()?;
        body["method"].as_str().map(str::to_owned)
    }
}

/// The words of a shell command.
fn words(command: &str) -> Result<Vec<String>> {
    let (mut words, mut word, mut begun) = (Vec::new(), String::new(), false);
    let mut rest = command.chars();
    while let Some(c) = rest.next() {
        match c {
            '\'' => {
                begun = true;
                let (quoted, after) = rest.as_str().split_once('\'').context("an open quote")?;
                word.push_str(quoted);
                rest = after.chars();
            }
            '\\' if rest.as_str().starts_with('\n') => {}
            '"' | '\\' | '|' | '$' | ';' | '&' | '>' | '<' => {
                bail!("{c} outside quotes: {command}")
            }
            c if c.is_whitespace() => {
                if std::mem::take(&mut begun) {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => {
                begun = true;
                word.push(c);
            }
        }
    }
    if begun {
        words.push(word);
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call() {
        let command = "curl -s -H 'Content-Type: application/json' http://127.0.0.1:9650/ext/bc/X \\\n  \
                       -d '{\"method\":\"xvm.getHeight\",\n \"x\":\"\"}'";
        let request = Request::parse(command).unwrap();
        assert_eq!((request.http_method, request.path.as_str()), ("POST", "/ext/bc/X"));
        assert_eq!(request.headers, [("Content-Type".to_owned(), "application/json".to_owned())]);
        assert_eq!(request.method().as_deref(), Some("xvm.getHeight"));
    }

    #[test]
    fn a_read() {
        let request =
            Request::parse("curl 'http://127.0.0.1:9650/ext/health?tag=a&tag=b'").unwrap();
        assert_eq!(
            (request.http_method, request.path.as_str()),
            ("GET", "/ext/health?tag=a&tag=b")
        );
        assert_eq!(request.method(), None);
    }

    #[test]
    fn malformed_requests_are_refused() {
        for command in [
            "wget x",
            "curl",
            "curl http://127.0.0.1:1/",
            "curl http://127.0.0.1:9650/x | jq",
            "curl 'x",
            "curl -H",
        ] {
            assert!(Request::parse(command).is_err(), "{command}");
        }
    }
}
