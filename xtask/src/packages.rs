//! `cargo xtask packages`: the packages of a release, made from its binaries: for npm, for Python, and for Debian.

mod archive;
mod debian;
mod elf;
mod npm;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use self::archive::File;
pub use self::archive::Settings;
pub use self::debian::{DebianTool, SHELL_FILES};
use self::elf::Needs;
use crate::{shell_files, workspace};

const USAGE: &str = "cargo xtask packages --binary FILE --components FILE [--binary .. --components ..] --out FOLDER \
                     [--debian]";
/// The version of all packages.
const VERSION: &str = env!("CARGO_PKG_VERSION");
const LICENCE: &str = "Apache-2.0 OR MIT";
const LICENCE_FILES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];
/// The name of the list of components in a package.
const COMPONENTS: &str = "esker.cdx.json";
/// The time of files if `SOURCE_DATE_EPOCH` is not set: the first one that a zip file can have, 1980.
const DEFAULT_TIME: u64 = 315_532_800;
const BEST_COMPRESSION: u32 = 9;

/// A binary for one platform, with the list of its components.
#[derive(Debug)]
struct Binary {
    path: PathBuf,
    components: PathBuf,
    needs: Needs,
}

impl Binary {
    fn read(path: &Path, components: &Path) -> Result<Self> {
        let data = fs::read(path).with_context(|| path.display().to_string())?;
        let needs = elf::needs(&data).with_context(|| path.display().to_string())?;
        let list = fs::read(components).with_context(|| components.display().to_string())?;
        let list: Value =
            serde_json::from_slice(&list).with_context(|| components.display().to_string())?;
        ensure!(
            list["bomFormat"] == "CycloneDX",
            "{}: not a list of components in the form of CycloneDX (docs/releasing.md, \"List of components\")",
            components.display()
        );
        Ok(Self { path: path.to_owned(), components: components.to_owned(), needs })
    }

    /// Fails if the binary can run here and has another version.
    fn check_version(&self) -> Result<()> {
        if self.needs.processor.name() != std::env::consts::ARCH {
            return Ok(());
        }
        let output = Command::new(&self.path).arg("--version").output();
        let output = output.with_context(|| self.path.display().to_string())?;
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        let is_ours = shown.split_whitespace().nth(1) == Some(VERSION);
        ensure!(
            output.status.success() && is_ours,
            "{} --version: {shown:?}, and the packages have the version {VERSION}",
            self.path.display()
        );
        Ok(())
    }
}

/// The binaries of a release, one for each processor.
#[derive(Debug)]
pub struct Release {
    binaries: Vec<Binary>,
    settings: Settings,
}

impl Release {
    /// Reads binaries, each with the list of its components.
    pub fn read(binaries: &[(PathBuf, PathBuf)], settings: Settings) -> Result<Self> {
        let mut read = Vec::new();
        for (path, components) in binaries {
            read.push(Binary::read(path, components)?);
        }
        read.sort_by_key(|binary| binary.needs.processor);
        for pair in read.windows(2) {
            let [first, second] = pair else { continue };
            ensure!(
                first.needs.processor != second.needs.processor,
                "{} and {} are for the same processor",
                first.path.display(),
                second.path.display()
            );
        }
        ensure!(!read.is_empty(), "no binary: {USAGE}");
        Ok(Self { binaries: read, settings })
    }

    /// Writes the packages for npm: one for each platform, then the one with the command.
    pub fn write_npm(&self, out: &Path) -> Result<Vec<PathBuf>> {
        npm::write(&self.binaries, out, self.settings)
    }

    /// Writes a wheel for each platform.
    pub fn write_wheels(&self, out: &Path) -> Result<Vec<PathBuf>> {
        let wheels = self.binaries.iter();
        wheels.map(|binary| wheel::write(binary, out, self.settings)).collect()
    }

    /// Writes a Debian package for each platform, which has to be that of this machine.
    pub fn write_debian(&self, out: &Path, tool: DebianTool<'_>) -> Result<()> {
        self.binaries.iter().try_for_each(|binary| debian::write(binary, out, tool))
    }
}

/// The arguments of the command.
#[derive(Debug, Default)]
struct Arguments {
    binaries: Vec<PathBuf>,
    components: Vec<PathBuf>,
    out: PathBuf,
    has_debian: bool,
}

impl Arguments {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut parsed = Self::default();
        let mut rest = arguments.iter();
        while let Some(name) = rest.next() {
            let mut value = || {
                let value =
                    rest.next().with_context(|| format!("{name} needs a value: {USAGE}"))?;
                Ok::<_, anyhow::Error>(std::path::absolute(value)?)
            };
            match name.as_str() {
                "--binary" => parsed.binaries.push(value()?),
                "--components" => parsed.components.push(value()?),
                "--out" => parsed.out = value()?,
                "--debian" => parsed.has_debian = true,
                other => bail!("unknown argument {other}: {USAGE}"),
            }
        }
        ensure!(
            parsed.binaries.len() == parsed.components.len(),
            "each binary needs its list of components: {USAGE}"
        );
        ensure!(parsed.out != Path::new(""), "no --out: {USAGE}");
        Ok(parsed)
    }
}

/// Writes all packages into a folder.
#[expect(clippy::print_stdout, reason = "its result")]
pub fn run(arguments: &[String]) -> Result<()> {
    let Arguments { binaries, components, out, has_debian } = Arguments::parse(arguments)?;
    let binaries: Vec<_> = binaries.into_iter().zip(components).collect();
    let settings = Settings { time: time()?, level: BEST_COMPRESSION };
    let release = Release::read(&binaries, settings)?;
    for binary in &release.binaries {
        binary.check_version()?;
    }
    fs::create_dir_all(&out).with_context(|| out.display().to_string())?;
    let mut written = release.write_npm(&out)?;
    written.extend(release.write_wheels(&out)?);
    for file in written {
        println!("{}", file.display());
    }
    if has_debian {
        let pages = workspace::root().join(SHELL_FILES);
        shell_files::run(&[pages.display().to_string()])?;
        let tool = DebianTool { program: Path::new("cargo-deb"), is_fast: false };
        release.write_debian(&out, tool)?;
    }
    Ok(())
}

/// The time of the packages' files.
fn time() -> Result<u64> {
    let Some(time) = std::env::var_os("SOURCE_DATE_EPOCH") else { return Ok(DEFAULT_TIME) };
    let time = time.to_str().and_then(|time| time.parse().ok());
    let time: u64 = time.context("SOURCE_DATE_EPOCH: not a number of seconds")?;
    // A zip file can't have an earlier one.
    Ok(time.max(DEFAULT_TIME))
}

/// The licences, in a folder of the package, which ends with `/`.
fn licences(folder: &str) -> impl Iterator<Item = File> {
    LICENCE_FILES
        .map(|name| File::copy(format!("{folder}{name}"), workspace::root().join(name)))
        .into_iter()
}

#[cfg(test)]
mod tests;
