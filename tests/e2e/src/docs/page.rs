//! Finds the exchanges of a Markdown page.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::answer::Varying;
use super::curl::Request;

/// A Markdown page.
#[derive(Debug)]
pub struct Page {
    /// Its path.
    pub file: PathBuf,
    /// Its lines.
    pub lines: Vec<String>,
    /// Its sections, in order. The text before the first heading is a section without a title.
    pub sections: Vec<Section>,
}

/// A heading and its content up to the next heading.
#[derive(Debug, Default)]
pub struct Section {
    /// The heading's text, without quotes of code.
    pub title: String,
    /// Line of the heading, from 1.
    pub line: usize,
    /// The text outside of blocks, joined by spaces.
    pub text: String,
    /// Requests and answers.
    pub exchanges: Vec<Exchange>,
}

/// A request, and the answer if the page shows it.
#[derive(Debug)]
pub struct Exchange {
    /// Line of the request, from 1.
    pub line: usize,
    /// The command as it is written.
    pub command: String,
    /// The lines of the answer (indexes into [`Page::lines`]).
    pub answer: Option<Range<usize>>,
    /// The members that differ from node to node.
    pub varying: Varying,
}

/// The beginning of the comment that lists the varying members.
const VARIES: &str = "<!-- varies:";

impl Page {
    /// Reads a file.
    pub fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        Self::parse(file, &text).with_context(|| file.display().to_string())
    }

    /// Reads a page's text.
    pub fn parse(file: &Path, text: &str) -> Result<Self> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut sections = vec![Section::default()];
        let mut index = 0;
        while let Some(line) = lines.get(index) {
            let section = sections.last_mut().context("there is always one")?;
            let number = index.saturating_add(1);
            if let Some(language) = line.strip_prefix("```") {
                let rest = lines.get(number..).unwrap_or_default();
                let length = rest.iter().position(|line| line == "```").context("an open block")?;
                let inside = number..number.saturating_add(length);
                section.take_block(number, language, inside.clone(), &lines[inside.clone()])?;
                index = inside.end.saturating_add(1);
                continue;
            }
            if line.starts_with('#') {
                let title = line.trim_start_matches('#').trim().replace('`', "");
                sections.push(Section { title, line: number, ..Section::default() });
            } else if let Some(rest) = line.strip_prefix(VARIES) {
                let rules = rest.strip_suffix("-->").and_then(Varying::parse);
                let last = section.exchanges.last_mut().context("no request before")?;
                last.varying = rules.with_context(|| format!("line {number}: MEMBER=KIND"))?;
            } else {
                section.text.push_str(line);
                section.text.push(' ');
            }
            index = number;
        }
        Ok(Self { file: file.to_owned(), lines, sections })
    }

    /// The documented answer of an exchange.
    pub fn answer(&self, exchange: &Exchange) -> Option<String> {
        Some(self.lines[exchange.answer.clone()?].join("\n"))
    }

    /// The lines of the page with other answers or other lines. Each replacement is given with the lines that it
    /// replaces, in order.
    pub fn with_answers(&self, answers: &[(Range<usize>, String)]) -> String {
        let mut lines = self.lines.clone();
        for (range, answer) in answers.iter().rev() {
            lines.splice(range.clone(), answer.lines().map(str::to_owned));
        }
        let mut text = lines.join("\n");
        text.push('\n');
        text
    }
}

impl Section {
    fn take_block(
        &mut self,
        line: usize,
        language: &str,
        at: Range<usize>,
        inside: &[String],
    ) -> Result<()> {
        match language {
            "sh" if inside.first().is_some_and(|first| first.starts_with("curl ")) => {
                let command = inside.join("\n");
                let varying = Varying::default();
                self.exchanges.push(Exchange { line, command, answer: None, varying });
            }
            "json" => {
                // Other JSON is an example of something else.
                if let Some(last) = self.exchanges.last_mut() {
                    ensure!(last.answer.is_none(), "line {line}: two answers to one request");
                    last.answer = Some(at);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Exchange {
    /// The request that the command sends.
    pub fn request(&self) -> Result<Request> {
        Request::parse(&self.command).with_context(|| format!("line {}", self.line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# T\n\nintro\n\n## `a.b`\n\ntext\n\n```sh\ncurl http://127.0.0.1:9650/x\n```\n\
                        <!-- varies: result.t=time -->\n```json\n{\"a\":\n1}\n```\n\n```toml\n[x]\n```\n";

    #[test]
    fn a_page() {
        let page = Page::parse(Path::new("p.md"), PAGE).unwrap();
        let titles: Vec<_> = page.sections.iter().map(|section| section.title.as_str()).collect();
        assert_eq!(titles, ["", "T", "a.b"]);
        let section = &page.sections[2];
        assert_eq!((section.line, section.text.trim()), (5, "text"));
        let [exchange] = section.exchanges.as_slice() else { panic!("one exchange") };
        assert_eq!(exchange.request().unwrap().path, "/x");
        assert_eq!(page.answer(exchange).unwrap(), "{\"a\":\n1}");
        assert_ne!(exchange.varying, Varying::default());
        let changed = page.with_answers(&[(exchange.answer.clone().unwrap(), "{}".to_owned())]);
        assert_eq!(changed, PAGE.replace("{\"a\":\n1}", "{}"));
    }

    #[test]
    fn malformed_pages_are_refused() {
        for text in ["```sh\nx", "<!-- varies: a=b -->", "```sh\ncurl x\n```\n<!-- varies: a -->"] {
            assert!(Page::parse(Path::new("p.md"), text).is_err(), "{text}");
        }
    }
}
