//! Paths that documents name.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::workspace;

/// First parts of a path that make a quoted text a path of this repository.
const TOPS: &[&str] = &[
    ".ci",
    ".github",
    "bin",
    "contrib",
    "crates",
    "docs",
    "examples",
    "fuzz",
    "packages",
    "tests",
    "xtask",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "deny.toml",
    "justfile",
    "typos.toml",
];

pub(super) fn breaches() -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for file in workspace::files()? {
        if file.extension().is_none_or(|e| e != "md") {
            continue;
        }
        let text = workspace::text(&file).unwrap_or_default();
        for name in code_spans(&text).chain(links(&text)) {
            if let Some(path) = as_path(name)
                && !exists(&file, &path)
            {
                wrong.push(format!("{}: {name}", file.display()));
            }
        }
    }
    Ok(wrong)
}

/// Whether a path exists, seen from the root or from the document's folder.
fn exists(document: &Path, path: &Path) -> bool {
    let root = workspace::root();
    let beside = document.parent().unwrap_or(Path::new("")).join(path);
    root.join(path).exists() || root.join(beside).exists()
}

/// The repository path that a quoted text is; `None` for patterns, commands and anything else.
fn as_path(text: &str) -> Option<PathBuf> {
    let text = text.split('#').next().unwrap_or_default().trim_end_matches('/');
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    if text.is_empty() || !text.chars().all(plain) {
        return None;
    }
    let first = text.trim_start_matches("./").split('/').next()?;
    (TOPS.contains(&first) && (text.contains('/') || text.contains('.')))
        .then(|| PathBuf::from(text))
}

/// The insides of `code spans` on one line.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// The targets of `[links](target)`.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_recognised() {
        for (text, is) in [
            ("crates/xvm/src/lib.rs", true),
            ("docs/", false),
            ("docs/network-file.md#utxos", true),
            ("tests/golden/x/", true),
            ("README.md", true),
            ("cargo xtask test", false),
            ("crates/*", false),
            ("tests/golden/<namespace>/x", false),
            ("/ext/bc/X", false),
            ("https://docs.rs/x", false),
        ] {
            assert_eq!(as_path(text).is_some(), is, "{text}");
        }
    }
}
