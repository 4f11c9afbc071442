//! The files of the Debian package must exist.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use toml::Value;

use crate::workspace;

const MANIFEST: &str = "bin/esker/Cargo.toml";
/// Scripts that the package system calls, if they exist.
const SCRIPTS: [&str; 3] = ["postinst", "postrm", "prerm"];
/// Folders whose files the build makes.
const BUILT: [&str; 2] = ["target", "dist"];

pub(super) fn breaches() -> Result<Vec<String>> {
    let manifest = workspace::text(Path::new(MANIFEST)).context(MANIFEST)?;
    let manifest: Value = toml::from_str(&manifest)?;
    let package = &manifest["package"]["metadata"]["deb"];
    let folder = workspace::root().join("bin/esker");
    let missing = sources(package).into_iter().filter(|source| !is_there(&folder, source));
    Ok(missing.map(|source| format!("{MANIFEST}: no file {source}")).collect())
}

/// The files that the package takes from the repository, relative to its manifest.
fn sources(package: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let first = |value: &Value| value.get(0).map(text).unwrap_or_default();
    let list = |name: &str| package.get(name).and_then(Value::as_array).into_iter().flatten();
    let mut sources: Vec<String> = list("assets").map(first).collect();
    sources.push(package.get("license-file").map(first).unwrap_or_default());
    sources.push(package.get("changelog").map(text).unwrap_or_default());
    for unit in list("systemd-units") {
        let part = |name: &str| unit.get(name).map(text).unwrap_or_default();
        sources.push(format!("{}/{}.service", part("unit-scripts"), part("unit-name")));
    }
    let scripts = package.get("maintainer-scripts").map(text).unwrap_or_default();
    sources.extend(SCRIPTS.map(|script| format!("{scripts}/{script}")));
    let is_built = |source: &String| {
        let path = Path::new(source.trim_start_matches("../"));
        BUILT.iter().any(|folder| path.starts_with(folder))
    };
    sources.retain(|source| !is_built(source));
    sources
}

/// Whether the file exists; for a name with `*`, whether a matching file does.
fn is_there(folder: &Path, source: &str) -> bool {
    let path: PathBuf = folder.join(source);
    let Some((begin, end)) = source.rsplit('/').next().and_then(|name| name.split_once('*')) else {
        return path.is_file();
    };
    let entries = path.parent().and_then(|parent| std::fs::read_dir(parent).ok());
    entries.into_iter().flatten().flatten().any(|entry| {
        let name = entry.file_name().into_string().unwrap_or_default();
        name.starts_with(begin) && name.ends_with(end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_repository_are_found() {
        let package = toml::from_str(
            r#"
            license-file = ["../licence", "0"]
            changelog = "../changes"
            maintainer-scripts = "../scripts"
            systemd-units = [{ unit-scripts = "../units", unit-name = "node" }]
            assets = [["target/release/node", "bin/", "755"], ["../../dist/man/*.1", "man/", "644"],
                ["../docs/*.md", "doc/", "644"]]
            "#,
        )
        .unwrap();
        assert_eq!(
            sources(&package),
            [
                "../docs/*.md",
                "../licence",
                "../changes",
                "../units/node.service",
                "../scripts/postinst",
                "../scripts/postrm",
                "../scripts/prerm",
            ]
        );
    }

    #[test]
    fn a_missing_file_is_reported() {
        let folder = workspace::root().join("bin/esker");
        for (source, is_found) in [
            ("Cargo.toml", true),
            ("src/*.rs", true),
            ("no.toml", false),
            ("src/*.toml", false),
            ("no/*.rs", false),
        ] {
            assert_eq!(is_there(&folder, source), is_found, "{source}");
        }
    }
}
