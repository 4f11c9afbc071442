//! Units and images must set existing settings of the node, and the units of all kinds of nodes must be alike.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};

use crate::workspace;

/// Page with the table of settings, generated from the code.
const SETTINGS: &str = "docs/configuration.md";
/// Folders of the files that start nodes.
const FOLDERS: [&str; 2] = ["contrib/docker", "contrib/systemd"];
/// The beginnings of lines with a command line of the node.
const COMMANDS: [&str; 3] = ["ExecStart=", "CMD [\"node\"", "command: [\"node\""];
/// Variables of the build, which are not settings.
const BUILD_VARIABLES: [&str; 2] = ["ESKER_GIT_COMMIT", "ESKER_COMMIT_DATE"];

const NODE: &str = "contrib/systemd/esker.service";
const OTHERS: [&str; 2] =
    ["contrib/systemd/esker-follower@.service", "contrib/systemd/esker-validator@.service"];
/// The beginnings of the lines in which the units may differ, since they name the instance.
const OF_INSTANCE: [&str; 4] = ["#", "Description=", "ExecStart=", "StateDirectory="];

pub(super) fn breaches() -> Result<Vec<String>> {
    let read = |file: &str| workspace::text(Path::new(file)).with_context(|| format!("no {file}"));
    let page = read(SETTINGS)?;
    let settings = settings(&page);
    let mut wrong = Vec::new();
    for file in workspace::files()? {
        if !FOLDERS.iter().any(|folder| file.starts_with(folder)) {
            continue;
        }
        for (index, line) in workspace::text(&file).unwrap_or_default().lines().enumerate() {
            for name in unknown(line, &settings) {
                let line = index.saturating_add(1);
                wrong.push(format!("{}:{line}: {SETTINGS} has no {name}", file.display()));
            }
        }
    }
    for other in OTHERS {
        wrong.extend(differences(&read(NODE)?, &read(other)?, other));
    }
    Ok(wrong)
}

/// The names of the settings in the page's tables.
fn settings(page: &str) -> BTreeSet<&str> {
    page.lines().filter_map(|line| Some(line.strip_prefix("| `--")?.split_once('`')?.0)).collect()
}

/// Flags and variables of the node in a line that are not settings.
fn unknown(line: &str, settings: &BTreeSet<&str>) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let words = || line.split(|c| !is_part(c));
    let is_command = COMMANDS.iter().any(|begin| line.trim_start().starts_with(begin));
    let flags = words().filter_map(|word| word.strip_prefix("--")).filter(|_| is_command);
    let flags = flags.filter(|name| !settings.contains(name)).map(|name| format!("--{name}"));
    let is_setting = |word: &str| {
        let name = word.strip_prefix("ESKER_").unwrap_or_default();
        settings.contains(name.to_lowercase().replace('_', "-").as_str())
    };
    let variables = words().filter(|word| word.starts_with("ESKER_"));
    let variables = variables.filter(|word| !BUILD_VARIABLES.contains(word) && !is_setting(word));
    flags.chain(variables.map(str::to_owned)).collect()
}

/// The first line that only one of the units has.
fn differences(node: &str, other: &str, other_file: &str) -> Option<String> {
    let common = |unit: &str| -> Vec<String> {
        let is_common = |line: &&str| !OF_INSTANCE.iter().any(|begin| line.starts_with(begin));
        unit.lines().filter(is_common).map(str::to_owned).collect()
    };
    let (node, other) = (common(node), common(other));
    let length = node.len().max(other.len());
    let at = (0..length).find(|at| node.get(*at) != other.get(*at))?;
    let text = |unit: &[String]| unit.get(at).cloned().unwrap_or_default();
    Some(format!("{NODE} has `{}` where {other_file} has `{}`", text(&node), text(&other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_settings_are_reported() {
        let page = "| `--network` | text |\n| `--data-dir` | path |\n| other | `--no` |\n";
        let settings = settings(page);
        for (line, expected) in [
            ("command: [\"node\", \"--network\", \"local\"]", &[][..]),
            ("  command: [\"node\", \"--netwerk\"]", &["--netwerk"]),
            ("ExecStart=esker node --data-dir /var/lib/esker --no", &["--no"]),
            ("CMD [\"node\", \"--no\"]", &["--no"]),
            ("HEALTHCHECK --interval=10s", &[]),
            ("# docker build --build-arg ESKER_GIT_COMMIT=1", &[]),
            ("ENV ESKER_DATA_DIR=/data ESKER_DATADIR=/data", &["ESKER_DATADIR"]),
            ("  ESKER_NETWORK: local", &[]),
        ] {
            assert_eq!(unknown(line, &settings), expected, "{line}");
        }
    }

    #[test]
    fn units_differ_only_in_what_names_the_instance() {
        let node = "# A\n[Unit]\nDescription=a\n[Service]\nExecStart=a\nUMask=0077\n";
        let same = "# B\n# C\n[Unit]\nDescription=b\n[Service]\nExecStart=b\nUMask=0077\n";
        assert_eq!(differences(node, same, "b"), None);
        let other = same.replace("0077", "0022");
        assert!(differences(node, &other, "b").is_some_and(|text| text.contains("UMask=0022")));
        let longer = format!("{same}PrivateTmp=yes\n");
        assert!(
            differences(node, &longer, "b").is_some_and(|text| text.contains("PrivateTmp=yes"))
        );
    }
}
