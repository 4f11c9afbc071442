//! Links between pages: the page must exist, and so must the heading.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::pages;
use crate::workspace;

pub(super) fn breaches() -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for file in workspace::files()? {
        if file.extension() != Some(OsStr::new("md")) {
            continue;
        }
        let text = workspace::text(&file).unwrap_or_default();
        for target in targets(&text) {
            if let Some(fault) = fault(&file, target, &|page| pages::headings(page)) {
                wrong.push(format!("{}: {fault}", file.display()));
            }
        }
    }
    Ok(wrong)
}

/// The targets of `[text](target)` outside of code.
fn targets(text: &str) -> Vec<&str> {
    let mut in_block = false;
    let mut targets = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            in_block = !in_block;
        }
        if in_block {
            continue;
        }
        for outside in line.split('`').step_by(2) {
            let links = outside.split("](").skip(1);
            targets.extend(links.filter_map(|rest| rest.split_once(')').map(|(target, _)| target)));
        }
    }
    targets
}

/// The fault of a link from `file`. Links to sites are not followed.
fn fault(
    file: &Path,
    target: &str,
    headings: &dyn Fn(&Path) -> Option<Vec<String>>,
) -> Option<String> {
    if target.contains("://") {
        return None;
    }
    let (page, anchor) = target.split_once('#').unwrap_or((target, ""));
    let page = match page {
        "" => file.to_owned(),
        page => resolve(file.parent().unwrap_or(Path::new("")), page),
    };
    if page.extension() != Some(OsStr::new("md")) {
        return None;
    }
    let Some(found) = headings(&page) else { return Some(format!("link to no page: {target}")) };
    let is_there = anchor.is_empty() || found.iter().any(|h| pages::anchor(h) == anchor);
    (!is_there).then(|| format!("link to no heading: {target}"))
}

/// A relative path without its `..`.
fn resolve(folder: &Path, page: &str) -> PathBuf {
    let mut path = folder.to_owned();
    for part in page.split('/') {
        match part {
            "." => {}
            ".." => {
                path.pop();
            }
            name => path.push(name),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_of_code() {
        let text = "a [b](c.md) `[d](e.md)` [f](g.md#h)\n```\n[i](j.md)\n```\n[k](#l)\n";
        assert_eq!(targets(text), ["c.md", "g.md#h", "#l"]);
    }

    #[test]
    fn links_lead_to_headings() {
        let headings = |page: &Path| match page.to_str() {
            Some("docs/a.md") => Some(vec!["One two".to_owned()]),
            Some("docs/api/b.md") => Some(Vec::new()),
            _ => None,
        };
        let check = |file: &str, target| fault(Path::new(file), target, &headings);
        for (file, target) in [
            ("docs/a.md", "api/b.md"),
            ("docs/a.md", "#one-two"),
            ("docs/api/b.md", "../a.md#one-two"),
            ("README.md", "docs/a.md"),
            ("README.md", "https://example.com/x.md#y"),
            ("README.md", "LICENSE-MIT"),
        ] {
            assert_eq!(check(file, target), None, "{file} {target}");
        }
        for (file, target) in
            [("docs/a.md", "c.md"), ("docs/a.md", "#three"), ("docs/api/b.md", "../a.md#x")]
        {
            assert!(check(file, target).is_some(), "{file} {target}");
        }
    }
}
