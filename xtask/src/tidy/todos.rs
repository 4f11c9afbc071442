//! Unfinished places.

use std::ffi::OsStr;

use anyhow::Result;

use crate::workspace;

/// A marker counts if it is written in capitals and no letter follows it. The markers are put together here, so that
/// this file can be checked like any other.
const MARKERS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

pub(super) fn breaches() -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for file in workspace::files()? {
        let is_read =
            |kind: &OsStr| ["rs", "md", "toml", "mjs", "cjs"].iter().any(|read| kind == *read);
        if !file.extension().is_some_and(is_read) {
            continue;
        }
        for (index, line) in workspace::text(&file).unwrap_or_default().lines().enumerate() {
            if is_unnamed(line) {
                wrong.push(format!(
                    "{}:{}: {}",
                    file.display(),
                    index.saturating_add(1),
                    line.trim()
                ));
            }
        }
    }
    Ok(wrong)
}

/// Whether the line has a marker that is not followed by `(#issue)`.
fn is_unnamed(line: &str) -> bool {
    MARKERS.iter().any(|marker| {
        line.match_indices(marker).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = &line[at.saturating_add(marker.len())..];
            let word =
                |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '`');
            let named = after
                .strip_prefix("(#")
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            !word(before) && !word(after.chars().next()) && !named
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers() {
        let [first, second, third] = MARKERS;
        for (line, unnamed) in [
            (format!("// {first}: later"), true),
            (format!("// {first}(#12): later"), false),
            (format!("// {second}"), true),
            (format!("// {third} what now?"), true),
            (format!("let {first}S = 1;"), false),
            (format!("a `{first}` names its issue"), false),
        ] {
            assert_eq!(is_unnamed(&line), unnamed, "{line}");
        }
    }
}
