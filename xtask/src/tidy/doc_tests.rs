//! Examples in documentation run as tests. A manifest may disable that only if there are none.

use std::path::Path;

use anyhow::{Context, Result};

use crate::workspace;

pub(super) fn breaches() -> Result<Vec<String>> {
    let files = workspace::files()?;
    let mut wrong = Vec::new();
    for root in workspace::crate_roots()?.iter().filter(|root| root.ends_with("lib.rs")) {
        let source = root.parent().context("a root file lies in a folder")?;
        let folder = source.parent().context("a crate has a manifest")?;
        let manifest = workspace::text(&folder.join("Cargo.toml")).context("a manifest is text")?;
        let inside = files.iter().filter(|file| file.starts_with(source));
        let has_some = inside.filter_map(|file| workspace::text(file)).any(|text| has_tests(&text));
        wrong.extend(difference(folder, runs_them(&manifest)?, has_some));
    }
    Ok(wrong)
}

fn difference(folder: &Path, run: bool, has_some: bool) -> Option<String> {
    match (run, has_some) {
        (false, true) => {
            Some(format!("{}: `doctest = false`, but there are some", folder.display()))
        }
        (true, false) => {
            Some(format!("{}: has none, so `doctest = false` in [lib]", folder.display()))
        }
        (true, true) | (false, false) => None,
    }
}

/// Whether a manifest lets examples of the library be tested.
fn runs_them(manifest: &str) -> Result<bool> {
    let table: toml::Table = manifest.parse()?;
    let setting = table.get("lib").and_then(|lib| lib.get("doctest")?.as_bool());
    Ok(setting.unwrap_or(true))
}

/// Whether comments have a tested block of code, or include a page that may have one.
fn has_tests(text: &str) -> bool {
    let mut open = false;
    for line in text.lines().map(str::trim_start) {
        let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        if line.starts_with("#[doc = include_str!") || line.starts_with("#![doc = include_str!") {
            return true;
        }
        let Some(language) = comment.and_then(|comment| comment.trim_start().strip_prefix("```"))
        else {
            continue;
        };
        if !open && is_tested(language) {
            return true;
        }
        open = !open;
    }
    false
}

/// Whether rustdoc tests a block with these words.
fn is_tested(words: &str) -> bool {
    let known = ["", "rust", "no_run", "should_panic", "compile_fail"];
    words.split(',').map(str::trim).all(|word| known.contains(&word) || word.starts_with("edition"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_code_are_tests() {
        for (text, expected) in [
            ("/// ```\n/// let a = 1;\n/// ```", true),
            ("    //! ```rust,no_run\n    //! ```", true),
            ("#[doc = include_str!(\"page.md\")]", true),
            ("/// ```text\n/// a\n/// ```", false),
            ("/// ```ignore\n/// ```\n/// ```json\n/// ```", false),
            ("// ```\nlet a = \"```\";", false),
        ] {
            assert_eq!(has_tests(text), expected, "{text}");
        }
    }

    #[test]
    fn manifests_say_whether_they_run() {
        assert!(runs_them("[package]").unwrap());
        assert!(!runs_them("[lib]\ndoctest = false").unwrap());
        let of = |run, some| difference(Path::new("a"), run, some).is_some();
        assert!(of(false, true) && of(true, false) && !of(true, true) && !of(false, false));
    }
}
