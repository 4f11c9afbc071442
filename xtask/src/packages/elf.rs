//! The system that a binary needs: its processor, and the oldest C library that has all that it uses.

use std::fmt;

use object::elf::{DT_NEEDED, EM_AARCH64, EM_X86_64, FileHeader64};
use object::read::elf::{Dyn as _, FileHeader as _, SectionTable};
use object::{Endianness, StringTable};

/// The C library's parts, and the library of the compiler that each system with glibc has.
const LIBRARIES: [&str; 9] = [
    "ld-linux-aarch64.so.1",
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "libutil.so.1",
];
/// Features of glibc that have a name in the place of a version, and the version that they came with.
const FEATURES: [(&str, Glibc); 1] = [("ABI_DT_RELR", Glibc(2, 36))];
/// The versions of the compiler's library that all systems of the last ten years have.
const COMPILER_VERSIONS: [&str; 2] = ["3.", "4."];

/// A version of glibc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Glibc(pub(super) u32, pub(super) u32);

impl fmt::Display for Glibc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// A processor for which there are packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Processor {
    X86_64,
    Aarch64,
}

impl Processor {
    /// As Linux, Rust and Python name it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// As Node.js names it.
    pub(super) fn node_name(self) -> &'static str {
        match self {
            Self::X86_64 => "x64",
            Self::Aarch64 => "arm64",
        }
    }
}

/// What a binary needs of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needs {
    pub(super) processor: Processor,
    pub(super) glibc: Glibc,
}

/// Why no package can be made of a binary.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum ElfError {
    /// It is not an ELF file for 64 bits, or a damaged one.
    #[error("not a Linux binary of 64 bits: {0}")]
    Format(String),
    /// No package is made for its processor.
    #[error("the processor {0} of the ELF header has no packages: x86-64 and AArch64 have")]
    Processor(u16),
    /// It needs a library that not each system has.
    #[error("it needs the library {0}: link it statically, or without what needs it")]
    Library(String),
    /// It needs something of a library whose version a package can't state.
    #[error("it needs {0}, whose version a package can't state: build it on an older system")]
    Version(String),
    /// It is linked with no glibc.
    #[error("it is not linked with glibc: packages are made for the targets *-linux-gnu")]
    NoGlibc,
}

impl From<object::Error> for ElfError {
    fn from(error: object::Error) -> Self {
        Self::Format(error.to_string())
    }
}

type Header = FileHeader64<Endianness>;
type Sections<'data> = SectionTable<'data, Header>;

/// Reads what a binary needs.
pub(super) fn needs(data: &[u8]) -> Result<Needs, ElfError> {
    let header = Header::parse(data)?;
    let endian = header.endian()?;
    let processor = match header.e_machine(endian) {
        EM_X86_64 => Processor::X86_64,
        EM_AARCH64 => Processor::Aarch64,
        other => return Err(ElfError::Processor(other.0)),
    };
    let sections = header.sections(endian, data)?;
    check_libraries(&sections, endian, data)?;
    let mut glibc = None;
    for version in versions(&sections, endian, data)? {
        glibc = glibc.max(glibc_of(&version)?);
    }
    Ok(Needs { processor, glibc: glibc.ok_or(ElfError::NoGlibc)? })
}

/// Refuses a binary that needs other libraries than each system with glibc has.
fn check_libraries(
    sections: &Sections<'_>,
    endian: Endianness,
    data: &[u8],
) -> Result<(), ElfError> {
    let Some((entries, link)) = sections.dynamic(endian, data)? else { return Ok(()) };
    let strings: StringTable<'_> = sections.strings(endian, data, link)?;
    for entry in entries.iter().filter(|entry| entry.tag(endian) == DT_NEEDED) {
        let name = String::from_utf8_lossy(entry.string(endian, strings)?).into_owned();
        if !LIBRARIES.contains(&name.as_str()) {
            return Err(ElfError::Library(name));
        }
    }
    Ok(())
}

/// The versions of libraries' symbols that the binary needs: `GLIBC_2.34`, `GCC_3.0`.
fn versions(
    sections: &Sections<'_>,
    endian: Endianness,
    data: &[u8],
) -> Result<Vec<String>, ElfError> {
    let mut found = Vec::new();
    let Some((mut libraries, link)) = sections.gnu_verneed(endian, data)? else {
        return Ok(found);
    };
    let strings = sections.strings(endian, data, link)?;
    while let Some((_, mut needed)) = libraries.next()? {
        while let Some(version) = needed.next()? {
            let name = version.name(endian, strings)?;
            found.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    Ok(found)
}

/// The glibc that has a version of symbols; `None` for versions of the compiler's library that all have.
fn glibc_of(version: &str) -> Result<Option<Glibc>, ElfError> {
    let unknown = || ElfError::Version(version.to_owned());
    match version.split_once('_') {
        Some(("GLIBC", of)) => {
            let feature = FEATURES.iter().find(|(name, _)| *name == of).map(|(_, glibc)| *glibc);
            feature.or_else(|| parse(of)).map(Some).ok_or_else(unknown)
        }
        Some(("GCC", of)) if COMPILER_VERSIONS.iter().any(|start| of.starts_with(start)) => {
            Ok(None)
        }
        _ => Err(unknown()),
    }
}

/// `2.34`, or `2.2.5`, whose last number tags of packages do not have.
fn parse(version: &str) -> Option<Glibc> {
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    Some(Glibc(numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_needs_the_glibc_that_it_was_built_with_or_an_older_one() {
        let data = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let needs = needs(&data).unwrap();
        assert_eq!(needs.processor.name(), std::env::consts::ARCH);
        // Rust's standard library needs 2.17, and glibc 2 is all there is.
        assert!(needs.glibc >= Glibc(2, 17) && needs.glibc < Glibc(3, 0), "{}", needs.glibc);
    }

    #[test]
    fn versions_are_compared_by_number() {
        for (version, glibc) in [
            ("GLIBC_2.2.5", Some(Glibc(2, 2))),
            ("GLIBC_2.34", Some(Glibc(2, 34))),
            ("GLIBC_ABI_DT_RELR", Some(Glibc(2, 36))),
            ("GCC_4.2.0", None),
        ] {
            assert_eq!(glibc_of(version), Ok(glibc), "{version}");
        }
        assert!(Glibc(2, 4) < Glibc(2, 34) && Glibc(2, 9) < Glibc(2, 10));
    }

    #[test]
    fn versions_that_no_tag_states_are_refused() {
        for version in ["GLIBC_PRIVATE", "GLIBC_ABI_OTHER", "GCC_14.0.0", "CXXABI_1.3", "X"] {
            assert_eq!(glibc_of(version), Err(ElfError::Version(version.to_owned())), "{version}");
        }
    }

    #[test]
    fn other_files_are_refused() {
        for data in [&b""[..], b"#!/bin/sh\n", b"\x7fELF", &[0; 64]] {
            assert!(matches!(needs(data), Err(ElfError::Format(_))), "{data:?}");
        }
        let mut data = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        // The field of the processor, little-endian: RISC-V.
        data[18..20].copy_from_slice(&[243, 0]);
        assert_eq!(needs(&data), Err(ElfError::Processor(243)));
        data.truncate(1000);
        assert!(needs(&data).is_err());
    }
}
