//! Citations in comments, which have one form (docs/recipes.md, "A citation").
//!
//! A comment that names a page names one that exists. A comment that cites the protocol or a decision names the
//! heading too. Nothing is cited by a number of a document that readers do not have.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::pages;
use crate::workspace;

/// Kinds of files with comments, and the beginning of a comment in them.
const KINDS: &[(&str, &str)] = &[
    ("rs", "//"),
    ("mjs", "//"),
    ("cjs", "//"),
    ("toml", "#"),
    ("io", "#"),
    ("py", "#"),
    ("sh", "#"),
];
/// Pages of which a citation names the heading.
const WITH_HEADING: [&str; 2] = ["docs/protocol/", "docs/decisions.md"];

pub(super) fn breaches() -> Result<Vec<String>> {
    let mut pages = Pages::default();
    let mut wrong = Vec::new();
    for file in workspace::files()? {
        let Some(text) = workspace::text(&file) else { continue };
        let comments = match marker(&file) {
            Some(marker) => comments(&text, marker),
            None if file.extension() == Some(OsStr::new("md")) => vec![joined(&text)],
            None => continue,
        };
        let is_page = file.extension() == Some(OsStr::new("md"));
        for comment in comments {
            let faults = faults(&comment.text, is_page, &mut |page| pages.find(&file, page));
            wrong.extend(
                faults
                    .into_iter()
                    .map(|fault| format!("{}:{}: {fault}", file.display(), comment.line)),
            );
        }
    }
    Ok(wrong)
}

/// The beginning of a comment in a file; `None` for a kind without comments.
fn marker(file: &Path) -> Option<&'static str> {
    let kind = file.extension()?;
    KINDS.iter().find(|(known, _)| kind == *known).map(|(_, marker)| *marker)
}

/// Consecutive lines of comments, as one line of text.
struct Comment {
    /// Number of the first line.
    line: usize,
    text: String,
}

/// A whole page as one line of text.
fn joined(text: &str) -> Comment {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    Comment { line: 1, text: lines.join(" ") }
}

fn comments(text: &str, marker: &str) -> Vec<Comment> {
    let mut comments: Vec<Comment> = Vec::new();
    let mut goes_on = false;
    for (index, line) in text.lines().enumerate() {
        let line_number = index.saturating_add(1);
        let trimmed = line.trim_start();
        if let Some(inside) = trimmed.strip_prefix(marker) {
            // Comments for documentation and of modules have one more sign.
            let inside = inside.trim_start_matches(['/', '!']).trim();
            match comments.last_mut().filter(|_| goes_on) {
                Some(comment) => {
                    comment.text.push(' ');
                    comment.text.push_str(inside);
                }
                None => comments.push(Comment { line: line_number, text: inside.to_owned() }),
            }
            goes_on = true;
        } else {
            goes_on = false;
            if let Some((_, inside)) = line.split_once(&format!(" {marker} ")) {
                comments.push(Comment { line: line_number, text: inside.trim().to_owned() });
            }
        }
    }
    comments
}

/// The faults of the citations in a comment. `find` gives the headings of a page that exists.
fn faults(
    text: &str,
    is_page: bool,
    find: &mut dyn FnMut(&str) -> Option<Vec<String>>,
) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(number) = numbered(text) {
        faults.push(format!("\"{number}\" cites by number what readers do not have"));
    }
    for (page, rest) in named_pages(text) {
        let heading = rest.strip_prefix(", \"").and_then(|rest| rest.split_once('"'));
        let heading = heading.map(|(heading, _)| heading);
        // Another rule checks links and paths of a page.
        if is_page && heading.is_none() {
            continue;
        }
        match (find(page), heading) {
            (None, _) => faults.push(format!("there is no page {page}")),
            (Some(headings), Some(heading)) if !headings.iter().any(|h| h == heading) => {
                faults.push(format!("{page} has no heading \"{heading}\""));
            }
            (Some(_), None) if WITH_HEADING.iter().any(|start| page.starts_with(start)) => {
                faults.push(format!("{page} is cited without a heading"));
            }
            (Some(_), _) => {}
        }
    }
    faults
}

/// Every name of a page in a text, with the text after it.
fn named_pages(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    text.match_indices(".md").filter_map(move |(at, end)| {
        let end = at.saturating_add(end.len());
        let (before, rest) = (&text[..end], &text[end..]);
        let is_whole = !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "_-/".contains(c));
        let start = before.rfind(|c| !is_part(c)).map_or(0, |at| {
            at.saturating_add(before[at..].chars().next().map_or(1, char::len_utf8))
        });
        is_whole.then(|| (&before[start..], rest))
    })
}

/// A citation by number, as it is in the text: of a decision, or of a section of the specification.
fn numbered(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let number = |word: &str| {
        lower.match_indices(word).find_map(|(at, word)| {
            let rest = lower[at.saturating_add(word.len())..].trim_start_matches('s');
            let digits = rest.strip_prefix(' ')?.split(' ').next()?;
            digits.starts_with(|c: char| c.is_ascii_digit()).then(|| format!("{word} {digits}"))
        })
    };
    let section = || {
        let (before, _) = lower.split_once(" of the specification")?;
        let at = before.rfind("section")?;
        let cited = &before[at..];
        let is_near = cited.len() < 40 && cited.contains(|c: char| c.is_ascii_digit());
        is_near.then(|| cited.to_owned())
    };
    number("decision").or_else(|| number("specification")).or_else(section)
}

/// Headings of the pages that have been read.
#[derive(Default)]
struct Pages(HashMap<PathBuf, Option<Vec<String>>>);

impl Pages {
    /// The page of a name, seen from the root or from the folder of `file`.
    fn find(&mut self, file: &Path, name: &str) -> Option<Vec<String>> {
        let beside = file.parent().unwrap_or(Path::new("")).join(name);
        [PathBuf::from(name), beside].into_iter().find_map(|path| {
            self.0.entry(path.clone()).or_insert_with(|| pages::headings(&path)).clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two pages: one of the protocol, one of another kind.
    fn find(page: &str) -> Option<Vec<String>> {
        match page {
            "docs/protocol/fees.md" => Some(vec!["Fees".to_owned(), "Block gas cost".to_owned()]),
            "docs/testing.md" => Some(vec!["Tests".to_owned()]),
            _ => None,
        }
    }

    #[test]
    fn citations_of_what_exists_pass() {
        for text in [
            "What it costs (docs/protocol/fees.md, \"Block gas cost\").",
            "docs/protocol/fees.md, \"Fees\": and docs/protocol/fees.md, \"Block gas cost\"",
            "See docs/testing.md.",
            "docs/testing.md, \"Tests\"",
            "EIP-1559 and ACP-176; a decision of 2 validators; the names are the specification's",
            "a file p.mdx or esker.mdb is no page",
        ] {
            assert_eq!(faults(text, false, &mut find), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn unknown_citations_are_reported() {
        for (text, fault) in [
            ("docs/protocol/none.md, \"Fees\"", "there is no page docs/protocol/none.md"),
            ("(c-chain.md 4.7)", "there is no page c-chain.md"),
            ("docs/protocol/fees.md, \"Fee\"", "docs/protocol/fees.md has no heading \"Fee\""),
            ("docs/testing.md, \"Fee\"", "docs/testing.md has no heading \"Fee\""),
            ("docs/protocol/fees.md says", "docs/protocol/fees.md is cited without a heading"),
            ("see decision 12", "\"decision 12\" cites by number what readers do not have"),
            ("Decisions 12 and 13", "\"decision 12\" cites by number what readers do not have"),
            ("specification 4.3", "\"specification 4.3\" cites by number what readers do not have"),
            (
                "Sections 4.1 and 4.3 of the specification",
                "\"sections 4.1 and 4.3\" cites by number what readers do not have",
            ),
        ] {
            assert_eq!(faults(text, false, &mut find), [fault], "{text}");
        }
    }

    #[test]
    fn pages_are_held_to_headings_and_numbers_alone() {
        let page = |text| faults(text, true, &mut find);
        assert_eq!(page("[here](other.md), `none.md`"), Vec::<String>::new());
        assert_eq!(page("decision 3").len(), 1);
        assert_eq!(page("docs/testing.md, \"Fee\"").len(), 1);
    }

    #[test]
    fn comments_are_joined_over_lines() {
        let code = "//! One\n//! two,\nfn a() {} // three\n    /// four\n    // five\nlet x = \"// no\";\n";
        let found: Vec<_> = comments(code, "//").into_iter().map(|c| (c.line, c.text)).collect();
        let expected = [(1, "One two,"), (3, "three"), (4, "four five")];
        assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
        let recorded = "# docs/x.md,\n# \"Y\": z\n:path /ext\n";
        assert_eq!(comments(recorded, "#")[0].text, "docs/x.md, \"Y\": z");
    }
}
