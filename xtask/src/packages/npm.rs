//! Packages for npm: the one with the command, and one with the binary for each platform, which it names as an optional
//! dependency.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};

use super::archive::{File, Settings, write_tarball};
use super::{Binary, COMPONENTS, LICENCE, VERSION, licences};
use crate::workspace;

/// The package with the command, relative to the root of the repository.
const SOURCE: &str = "packages/npm";
/// The folder in a tarball that npm takes as the package.
const FOLDER: &str = "package/";
const LAUNCHER: &str = "bin/esker.cjs";

/// Writes the packages.
pub(super) fn write(binaries: &[Binary], out: &Path, settings: Settings) -> Result<Vec<PathBuf>> {
    let source = workspace::root().join(SOURCE);
    let text = fs::read(source.join("package.json")).context(SOURCE)?;
    let mut manifest: Map<String, Value> = serde_json::from_slice(&text).context(SOURCE)?;
    ensure!(
        manifest.get("version").is_some_and(|version| version == VERSION),
        "{SOURCE}/package.json has another version than {VERSION}"
    );
    let command = manifest.get("name").and_then(Value::as_str).context("no name")?.to_owned();
    let mut written = Vec::new();
    let mut dependencies = Map::new();
    for binary in binaries {
        let name = format!("{command}-{}", platform(binary));
        let file = out.join(tarball(&name));
        write_tarball(&file, &binary_files(binary, &name, &command), settings)?;
        written.push(file);
        dependencies.insert(name, VERSION.into());
    }
    manifest.insert("optionalDependencies".to_owned(), dependencies.into());
    let file = out.join(tarball(&command));
    write_tarball(&file, &command_files(&source, manifest), settings)?;
    written.push(file);
    Ok(written)
}

/// The name of a tarball, as `npm pack` writes it.
fn tarball(name: &str) -> String {
    format!("{}-{VERSION}.tgz", name.trim_start_matches('@').replace('/', "-"))
}

/// `linux-x64`, from `process.platform` and `process.arch` of Node.js.
fn platform(binary: &Binary) -> String {
    format!("linux-{}", binary.needs.processor.node_name())
}

fn command_files(source: &Path, manifest: Map<String, Value>) -> Vec<File> {
    let copy = |name: &str| File::copy(format!("{FOLDER}{name}"), source.join(name));
    let mut files = vec![
        File::text(format!("{FOLDER}package.json"), text(&manifest.into())),
        copy("README.md"),
        copy("binary.cjs"),
        copy(LAUNCHER).executable(),
    ];
    files.extend(licences(FOLDER));
    files
}

fn binary_files(binary: &Binary, name: &str, command: &str) -> Vec<File> {
    let platform = platform(binary);
    let manifest = json!({
        "name": name,
        "version": VERSION,
        "description": format!("The binary of {command} for {platform}"),
        "license": LICENCE,
        "os": ["linux"],
        "cpu": [binary.needs.processor.node_name()],
        "libc": ["glibc"],
        // The launcher compares it with the system's.
        "glibc": binary.needs.glibc.to_string(),
        "preferUnplugged": true,
    });
    let readme = format!(
        "# {name}\n\nThe binary of the package `{command}` for {platform} with glibc {} or newer.\nInstall `{command}`.\n",
        binary.needs.glibc
    );
    let mut files = vec![
        File::text(format!("{FOLDER}package.json"), text(&manifest)),
        File::text(format!("{FOLDER}README.md"), readme),
        File::copy(format!("{FOLDER}bin/esker"), &binary.path).executable(),
        File::copy(format!("{FOLDER}{COMPONENTS}"), &binary.components),
    ];
    files.extend(licences(FOLDER));
    files
}

fn text(manifest: &Value) -> String {
    format!("{manifest:#}\n")
}
