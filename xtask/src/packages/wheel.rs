//! Wheels for Python: the binary as a command, and a module that finds it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::archive::{File, Settings, write_wheel};
use super::elf::{Glibc, Needs};
use super::{Binary, COMPONENTS, LICENCE, LICENCE_FILES, VERSION, licences};
use crate::workspace;

/// The name in the index, and of the module.
const NAME: &str = "esker";
const SUMMARY: &str = "The command esker: a blockchain node with a UTXO chain and an EVM chain, and a development network";
const PYTHON: &str = ">=3.10";
/// The files of the module, relative to the root of the repository.
const SOURCE: &str = "packages/wheel";
const MODULE: [&str; 3] = ["esker/__init__.py", "esker/__main__.py", "esker/py.typed"];
/// The oldest glibc that a tag names for each of our processors.
const OLDEST_TAG: Glibc = Glibc(2, 17);

/// Writes the wheel of a platform.
pub(super) fn write(binary: &Binary, out: &Path, settings: Settings) -> Result<PathBuf> {
    let source = workspace::root().join(SOURCE);
    let readme = fs::read_to_string(source.join("README.md")).context(SOURCE)?;
    let (tag, info) = (tag(binary.needs), format!("{NAME}-{VERSION}.dist-info/"));
    let mut files: Vec<File> =
        MODULE.iter().map(|name| File::copy(*name, source.join(name))).collect();
    let command = format!("{NAME}-{VERSION}.data/scripts/esker");
    files.push(File::copy(command, &binary.path).executable());
    files.extend(licences(&format!("{info}licenses/")));
    files.push(File::copy(format!("{info}sboms/{COMPONENTS}"), &binary.components));
    files.push(File::text(format!("{info}METADATA"), metadata(&readme)));
    files.push(File::text(format!("{info}WHEEL"), wheel(&tag)));
    let file = out.join(format!("{NAME}-{VERSION}-{tag}.whl"));
    write_wheel(&file, &files, settings, &format!("{info}RECORD"))?;
    Ok(file)
}

/// The platforms that can run the binary.
fn tag(needs: Needs) -> String {
    let Glibc(major, minor) = needs.glibc.max(OLDEST_TAG);
    format!("py3-none-manylinux_{major}_{minor}_{}", needs.processor.name())
}

fn metadata(readme: &str) -> String {
    let mut lines = vec![
        "Metadata-Version: 2.4".to_owned(),
        format!("Name: {NAME}"),
        format!("Version: {VERSION}"),
        format!("Summary: {SUMMARY}"),
        format!("License-Expression: {LICENCE}"),
    ];
    lines.extend(LICENCE_FILES.map(|name| format!("License-File: {name}")));
    lines.push(format!("Requires-Python: {PYTHON}"));
    lines.push("Description-Content-Type: text/markdown".to_owned());
    format!("{}\n\n{readme}", lines.join("\n"))
}

fn wheel(tag: &str) -> String {
    format!(
        "Wheel-Version: 1.0\nGenerator: esker-xtask ({VERSION})\nRoot-Is-Purelib: false\nTag: {tag}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::super::elf::Processor;
    use super::*;

    #[test]
    fn tags_name_the_oldest_system() {
        let tag_of = |processor, glibc| tag(Needs { processor, glibc });
        assert_eq!(tag_of(Processor::X86_64, Glibc(2, 34)), "py3-none-manylinux_2_34_x86_64");
        assert_eq!(tag_of(Processor::Aarch64, Glibc(2, 4)), "py3-none-manylinux_2_17_aarch64");
    }
}
