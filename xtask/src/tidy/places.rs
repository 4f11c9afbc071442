//! Paths of one machine, and hosts of registries: the repository must not depend on them.

use anyhow::Result;

use crate::workspace;

/// Folders at the root of a file system that only some machines have. (`home` occurs in examples.)
const MACHINE: [&str; 4] = ["root", "work", "Users", "tmp"];
/// Recordings, which may hold a path as data.
const EXEMPT: &str = "tests/golden/";

pub(super) fn breaches() -> Result<Vec<String>> {
    let here = workspace::root().to_string_lossy().into_owned();
    let mut wrong = Vec::new();
    for file in workspace::files()? {
        let name = file.to_string_lossy().into_owned();
        if name.starts_with(EXEMPT) {
            continue;
        }
        let Some(text) = workspace::text(&file) else { continue };
        for (index, line) in text.lines().enumerate() {
            let place = machine_path(line).or_else(|| line.contains(&here).then(|| here.clone()));
            if let Some(place) = place {
                wrong.push(format!("{name}:{}: {place}", index.saturating_add(1)));
            }
        }
        if name.ends_with("package-lock.json") && text.contains("\"resolved\"") {
            wrong.push(format!("{name}: names a registry (`resolved`)"));
        }
    }
    Ok(wrong)
}

/// A machine's path in the line: at its start, or after a sign that is not part of a longer path.
fn machine_path(line: &str) -> Option<String> {
    MACHINE.iter().map(|folder| format!("/{folder}/")).find(|place| {
        line.match_indices(place).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            before.is_none_or(|c| !(c.is_alphanumeric() || "._-~/}$>".contains(c)))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_paths() {
        for folder in MACHINE {
            for (before, after, found) in [
                ("data = \"", "data\"", true),
                ("see (", "x)", true),
                ("", "x", true),
                ("crates", "src", false),
                ("https://example.com/home", "x", false),
                ("${HOME}", "", false),
            ] {
                let line = format!("{before}/{folder}/{after}");
                assert_eq!(machine_path(&line).is_some(), found, "{line}");
            }
        }
    }
}
