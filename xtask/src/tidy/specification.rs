//! The tests that docs/specification.md names for every rule must exist, and must show the outcome of their column.
//!
//! A table there has the columns of [`HEADER`]. A cell cites tests, each as `path::name`: a test function of a source
//! file, or a method that a recorded exchange calls. Where a rule can't be broken, the failure is `-` with the reason.

use std::path::Path;

use anyhow::{Context, Result};

use super::goldens;
use crate::workspace;

const PAGE: &str = "docs/specification.md";
/// The columns of every table on the page.
const HEADER: [&str; 3] = ["Rule", "Success", "Failure"];
/// The folder of recorded exchanges, all of which tests/e2e/tests/it/golden.rs replays.
const RECORDED: &str = "tests/golden/";

pub(super) fn breaches() -> Result<Vec<String>> {
    let page = workspace::text(Path::new(PAGE)).context(PAGE)?;
    Ok(faults(&page, &mut |path| workspace::text(Path::new(path))))
}

/// The faults of the tables of a page. `read` gives the text of a file that exists.
fn faults(page: &str, read: &mut dyn FnMut(&str) -> Option<String>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut is_header = true;
    for (index, line) in page.lines().enumerate() {
        let Some(cells) = cells(line) else {
            is_header = true;
            continue;
        };
        let found = match (is_header, cells.as_slice()) {
            (true, header) if header == HEADER => Vec::new(),
            (true, _) => vec![format!("the columns are not {}", HEADER.join(", "))],
            (false, cells) if is_separator(cells) => Vec::new(),
            (false, cells) => row_faults(cells, read),
        };
        let number = index.saturating_add(1);
        faults.extend(found.into_iter().map(|fault| format!("{PAGE}:{number}: {fault}")));
        is_header = false;
    }
    faults
}

/// The cells of a table's line; `None` for a line of text.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inside = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inside.split('|').map(str::trim).collect())
}

fn is_separator(cells: &[&str]) -> bool {
    cells.iter().all(|cell| !cell.is_empty() && cell.chars().all(|c| c == '-'))
}

fn row_faults(cells: &[&str], read: &mut dyn FnMut(&str) -> Option<String>) -> Vec<String> {
    let [rule, success, failure] = cells else {
        return vec![format!("{} columns instead of {}", cells.len(), HEADER.len())];
    };
    if rule.is_empty() {
        return vec!["a row without a rule".to_owned()];
    }
    let mut faults = cell_faults(success, Shown::Success, read);
    match failure.strip_prefix('-') {
        Some(reason) if reason.trim().is_empty() => {
            faults.push("no failure, and no reason for it".to_owned());
        }
        Some(_) => {}
        None => faults.extend(cell_faults(failure, Shown::Failure, read)),
    }
    faults
}

/// The outcome that a cited test shows.
#[derive(Debug, Clone, Copy)]
enum Shown {
    Success,
    Failure,
}

/// The faults of a cell of citations, which are code spans with commas between them.
fn cell_faults(
    cell: &str,
    shown: Shown,
    read: &mut dyn FnMut(&str) -> Option<String>,
) -> Vec<String> {
    if cell.is_empty() {
        return vec![format!("no test of {shown:?}").to_lowercase()];
    }
    cell.split(',')
        .filter_map(|citation| {
            let citation = citation.trim();
            let inside = citation.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
            match inside.and_then(|inside| inside.split_once("::")) {
                Some((path, name)) => citation_fault(path, name, shown, read),
                None => Some(format!("{citation} is not `path::name`")),
            }
        })
        .collect()
}

fn citation_fault(
    path: &str,
    name: &str,
    shown: Shown,
    read: &mut dyn FnMut(&str) -> Option<String>,
) -> Option<String> {
    let Some(text) = read(path) else { return Some(format!("there is no file {path}")) };
    if path.ends_with(".rs") {
        return (!has_test(&text, name)).then(|| format!("{path} has no test {name} that runs"));
    }
    if !path.starts_with(RECORDED) {
        return Some(format!("{path} is neither a source file nor a recorded exchange"));
    }
    let is_shown = match shown {
        Shown::Success => goldens::shows_result(&text, name),
        Shown::Failure => goldens::shows_refusal(&text, name),
    };
    (!is_shown).then(|| format!("{path} has no {shown:?} of {name}").to_lowercase())
}

/// Whether a source file has a test function with this name that is not ignored.
fn has_test(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let start = |line: &str| {
        let declared = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
        declared.and_then(|rest| rest.strip_prefix(name)).is_some_and(|rest| rest.starts_with('('))
    };
    lines.iter().enumerate().filter(|(_, line)| start(line)).any(|(at, _)| {
        let above = lines[..at].iter().rev().take_while(|line| !line.is_empty() && **line != "}");
        let attributes: Vec<&&str> = above.collect();
        let any = |prefix: &str| attributes.iter().any(|line| line.starts_with(prefix));
        (any("#[test]") || any("#[tokio::test")) && !any("#[ignore")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "#[test]\nfn one() {}\n\n/// Words.\n#[tokio::test(start_paused = true)]\n\
        async fn two() {}\n\nfn helper() {}\n\n#[test]\n#[ignore = \"long\"]\nfn three() {}\n\nproptest! {\n    \
        #[test]\n    fn four(n in 0..9) {}\n}\n";
    const RECORDING: &str = ">> {\"method\": \"avm.getTx\"}\n<< {\"result\": 1}\n\
        >> {\"method\":\"avm.issueTx\"}\n<< {\"error\": 1}\n\
        >> {\"method\":\"avm.getHeight\"}\n<! 415 not json\n";

    fn read(path: &str) -> Option<String> {
        match path {
            "tests/a.rs" => Some(SOURCE.to_owned()),
            "tests/golden/a.io" => Some(RECORDING.to_owned()),
            "docs/a.md" => Some(String::new()),
            _ => None,
        }
    }

    fn of_row(row: &str) -> Vec<String> {
        let page = format!("words\n\n| Rule | Success | Failure |\n|---|---|---|\n{row}\n");
        let start = format!("{PAGE}:5: ");
        let faults = faults(&page, &mut read);
        faults.iter().map(|fault| fault.strip_prefix(&start).unwrap().to_owned()).collect()
    }

    #[test]
    fn rows_with_tests_pass() {
        for row in [
            "| a | `tests/a.rs::one` | `tests/a.rs::two` |",
            "| a | `tests/a.rs::four` | `tests/a.rs::one` |",
            "| a | `tests/a.rs::one`, `tests/a.rs::two` | - it takes no arguments |",
            "| a | `tests/golden/a.io::avm.getTx` | `tests/golden/a.io::avm.issueTx` |",
            "| a | `tests/a.rs::one` | `tests/golden/a.io::avm.getHeight` |",
        ] {
            assert_eq!(of_row(row), Vec::<String>::new(), "{row}");
        }
    }

    #[test]
    fn rows_without_tests_are_reported() {
        for (row, fault) in [
            ("| a | `tests/a.rs::one` |", "2 columns instead of 3"),
            ("|  | `tests/a.rs::one` | - none |", "a row without a rule"),
            ("| a |  | - none |", "no test of success"),
            ("| a | `tests/a.rs::one` |  |", "no test of failure"),
            ("| a | `tests/a.rs::one` | - |", "no failure, and no reason for it"),
            ("| a | - none | `tests/a.rs::one` |", "- none is not `path::name`"),
            ("| a | `tests/a.rs` | - none |", "`tests/a.rs` is not `path::name`"),
            ("| a | `tests/b.rs::one` | - none |", "there is no file tests/b.rs"),
            ("| a | `tests/a.rs::on` | - none |", "tests/a.rs has no test on that runs"),
            ("| a | `tests/a.rs::helper` | - none |", "tests/a.rs has no test helper that runs"),
            ("| a | `tests/a.rs::three` | - none |", "tests/a.rs has no test three that runs"),
            (
                "| a | `docs/a.md::one` | - none |",
                "docs/a.md is neither a source file nor a recorded exchange",
            ),
            (
                "| a | `tests/golden/a.io::avm.issueTx` | - none |",
                "tests/golden/a.io has no success of avm.issuetx",
            ),
            (
                "| a | `tests/a.rs::one` | `tests/golden/a.io::avm.getTx` |",
                "tests/golden/a.io has no failure of avm.gettx",
            ),
        ] {
            assert_eq!(of_row(row), [fault], "{row}");
        }
    }

    #[test]
    fn tables_have_the_columns() {
        let page = "| Rule | Success |\n|---|---|\n";
        let expected = format!("{PAGE}:1: the columns are not Rule, Success, Failure");
        assert_eq!(faults(page, &mut read), [expected]);
    }
}
