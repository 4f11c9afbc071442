//! Paths of one machine, and registries' hosts: the repository stands alone.

use anyhow::Result;

use crate::workspace;

/// Beginnings of absolute paths that only some machines have. (`/home/` stands in examples.)
const MACHINE: [&str; 4] = ["/root/", "/work/", "/Users/", "/tmp/"];
/// Files that may name such a path as data.
const EXEMPT: [&str; 2] = ["xtask/src/tidy/", "tests/golden/"];

pub(super) fn breaches() -> Result<Vec<String>> {
    let here = workspace::root().to_string_lossy().into_owned();
    let mut wrong = Vec::new();
    for file in workspace::files()? {
        let name = file.to_string_lossy().into_owned();
        if EXEMPT.iter().any(|folder| name.starts_with(folder)) {
            continue;
        }
        let Some(text) = workspace::text(&file) else { continue };
        for (index, line) in text.lines().enumerate() {
            let place = machine_path(line).or_else(|| line.contains(&here).then_some(&here));
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

/// A machine's path in the line: at its start, or after something that is no part of a longer path.
fn machine_path(line: &str) -> Option<&'static str> {
    MACHINE.into_iter().find(|place| {
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
        for (line, found) in [
            ("data = \"/root/data\"", true),
            ("see (/tmp/x)", true),
            ("crates/work/src", false),
            ("https://example.com/home/x", false),
            ("${HOME}/work/", false),
        ] {
            assert_eq!(machine_path(line).is_some(), found, "{line}");
        }
    }
}
