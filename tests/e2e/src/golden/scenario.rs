//! The lines of a scenario, grouped into requests with their expectations.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::names::Names;

/// A parsed file.
#[derive(Debug)]
pub struct Scenario {
    /// The path of the file.
    pub file: PathBuf,
    /// Configuration of the node (`default` if the file names none).
    pub profile: String,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Debug)]
pub enum Step {
    /// The path of the requests that follow.
    Path(String),
    /// Wait.
    Sleep(Duration),
    /// Opens a websocket, which replaces the one before.
    Open(Line),
    /// Send a message over it.
    Send(Line),
    /// Expect its next message.
    Receive(Receive),
    /// Send a request and compare the reply.
    Request(Box<Request>),
}

/// The content of a line.
#[derive(Debug)]
pub struct Line {
    /// Line number in the file, from 1.
    pub number: usize,
    /// A path or a message, before filling in.
    pub text: String,
}

/// An expected message of a websocket.
#[derive(Debug)]
pub struct Receive {
    /// Line number in the file, from 1.
    pub line: usize,
    /// `(name, path of a member of the message)`.
    pub lets: Vec<(String, String)>,
    /// The message, as JSON.
    pub want: String,
}

/// A request and its expectations.
#[derive(Debug)]
pub struct Request {
    /// Line number in the file, from 1.
    pub line: usize,
    /// HTTP method.
    pub method: String,
    /// Headers of this request; an empty value removes a default one.
    pub headers: Vec<(String, String)>,
    /// `(name, path of a member of the reply)`.
    pub lets: Vec<(String, String)>,
    /// Repeat until the reply matches.
    pub poll: bool,
    /// Body before filling in.
    pub body: String,
    /// Expected reply; `None` if none was recorded.
    pub expected: Option<Expected>,
    /// Expected headers: name and pattern; an empty pattern means absent.
    pub expected_headers: Vec<(String, String)>,
}

/// An expected reply.
#[derive(Debug)]
pub enum Expected {
    /// Status 200 and this JSON; empty for an empty body.
    Json(String),
    /// This status and text.
    Text(String, String),
}

impl Scenario {
    /// Reads a file, with the names of `names`.
    pub fn read(file: &Path, names: Names) -> Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        Self::parse(file, &text, names).with_context(|| file.display().to_string())
    }

    /// Parses the text of a file.
    pub fn parse(file: &Path, text: &str, names: Names) -> Result<Self> {
        let mut profile = "default".to_owned();
        let mut steps = Vec::new();
        let mut next = Pending::default();
        for (index, line) in text.split('\n').enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let number = index.saturating_add(1);
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let rest = names.apply(rest);
            match word {
                ":profile" => profile = rest.trim().to_owned(),
                ":path" => steps.push(Step::Path(rest)),
                ":sleep" => steps.push(Step::Sleep(Duration::from_secs_f64(rest.parse()?))),
                ":method" => next.method = Some(rest),
                ":header" => next.headers.push(name_and_value(&rest)?),
                ":let" => {
                    let (name, at) = rest.split_once(' ').context("`:let NAME MEMBER`")?;
                    next.lets.push((name.to_owned(), at.to_owned()));
                }
                ":raw" => {}
                ":ws" => steps.push(Step::Open(Line { number, text: rest })),
                ">w" => steps.push(Step::Send(Line { number, text: rest })),
                "<w" => {
                    let lets = std::mem::take(&mut next.lets);
                    steps.push(Step::Receive(Receive { line: number, lets, want: rest }));
                }
                ">>" | ">?" => {
                    steps.push(Step::Request(Box::new(next.request(number, word == ">?", rest))));
                    next = Pending::default();
                }
                "<<" | "<!" | "<h" => {
                    let Some(Step::Request(request)) = steps.last_mut() else {
                        bail!("line {number}: a reply without a request");
                    };
                    request.expect(word, &rest)?;
                }
                _ => bail!("line {number}: what is {word:?}?"),
            }
        }
        Ok(Self { file: file.to_owned(), profile, steps })
    }
}

/// Directives before the next request.
#[derive(Default)]
struct Pending {
    method: Option<String>,
    headers: Vec<(String, String)>,
    lets: Vec<(String, String)>,
}

impl Pending {
    fn request(self, line: usize, poll: bool, body: String) -> Request {
        Request {
            line,
            method: self.method.unwrap_or_else(|| "POST".to_owned()),
            headers: self.headers,
            lets: self.lets,
            poll,
            body,
            expected: None,
            expected_headers: Vec::new(),
        }
    }
}

impl Request {
    fn expect(&mut self, word: &str, rest: &str) -> Result<()> {
        match word {
            "<<" => self.expected = Some(Expected::Json(rest.trim().to_owned())),
            "<!" => {
                let (status, text) = rest.split_once(' ').unwrap_or((rest, ""));
                self.expected = Some(Expected::Text(status.to_owned(), text.to_owned()));
            }
            _ => self.expected_headers.push(name_and_value(rest)?),
        }
        Ok(())
    }
}

fn name_and_value(text: &str) -> Result<(String, String)> {
    let (name, value) = text.split_once(':').context("`Name: value`")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Scenario> {
        Scenario::parse(Path::new("t.io"), text, Names::Brand)
    }

    #[test]
    fn groups_lines_into_requests() {
        let scenario = parse(
            ":profile plain\n# c\n:path /a\n:method GET\n:header Host: x:1\n:let A b.0\n>> {}\n<< {\"a\":1}\n\
             <h Vary: $:str\n<h Gone:\n>?\n<! 404 no such\n<<\n:ws /w\n>w {}\n:let S result\n<w {}\n",
        )
        .unwrap();
        assert_eq!((scenario.profile.as_str(), scenario.steps.len()), ("plain", 6));
        let [Step::Open(open), Step::Send(say), Step::Receive(receive)] = &scenario.steps[3..]
        else {
            panic!("a websocket with two messages")
        };
        assert_eq!((open.number, open.text.as_str()), (14, "/w"));
        assert_eq!((say.number, say.text.as_str()), (15, "{}"));
        assert_eq!((receive.line, receive.want.as_str()), (17, "{}"));
        assert_eq!(receive.lets, [("S".to_owned(), "result".to_owned())]);
        let Step::Request(first) = &scenario.steps[1] else { panic!("a request") };
        assert_eq!((first.line, first.method.as_str(), first.body.as_str()), (7, "GET", "{}"));
        assert_eq!(first.headers, [("Host".to_owned(), "x:1".to_owned())]);
        assert_eq!(first.lets, [("A".to_owned(), "b.0".to_owned())]);
        assert_eq!(first.expected_headers[1], ("Gone".to_owned(), String::new()));
        let Step::Request(second) = &scenario.steps[2] else { panic!("a request") };
        assert!(second.poll && second.body.is_empty());
        assert_eq!(second.method, "POST");
        assert!(matches!(&second.expected, Some(Expected::Json(text)) if text.is_empty()));
    }

    #[test]
    fn malformed_scenarios_are_refused() {
        for text in ["<< {}", ":path /a\n<< {}", "what", ":let A", ":header x", ":sleep x"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
