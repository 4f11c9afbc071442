//! Leaves comments and indentation out of the files of the page, puts its modules together, compresses all, and writes the table of
//! them.

#[path = "build/bundle.rs"]
mod bundle;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::GzEncoder;

/// The module with which the page begins, and the name of the script that has all of them.
const ENTRY: &str = "app.js";

fn main() -> io::Result<()> {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo");
    let assets = Path::new(&manifest).join("assets");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    println!("cargo:rerun-if-changed={}", assets.display());
    println!("cargo:rerun-if-changed=build");
    println!("cargo:rerun-if-changed=build.rs");
    let mut table = String::from("&[\n");
    for (number, (path, content)) in served(&assets)?.iter().enumerate() {
        let compressed = out.join(format!("{number}.gz"));
        fs::write(&compressed, gzip(content.as_bytes())?)?;
        let kind = content_type(path).unwrap_or_else(|| panic!("{path}: unknown kind of file"));
        let (etag, length) = (tag(content.as_bytes()), content.len());
        writeln!(
            table,
            "File {{ path: {path:?}, content_type: {kind:?}, etag: {etag:?}, length: {length}, gzip: include_bytes!({compressed:?}) }},"
        )
        .expect("a String takes all");
    }
    table.push(']');
    fs::write(out.join("files.rs"), table)
}

/// The contents of the files that are served, by their paths.
fn served(assets: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut files = Vec::new();
    collect(assets, &mut files)?;
    let (mut served, mut modules) = (BTreeMap::new(), bundle::Modules::new());
    for file in files {
        let path = file.strip_prefix(assets).expect("it is below that folder");
        let path = path.to_str().expect("names of files are ASCII").to_owned();
        let content = without_comments(&fs::read_to_string(&file)?);
        let kind = if path.ends_with(".js") { &mut modules } else { &mut served };
        kind.insert(path, content);
    }
    let script = bundle::bundle(&modules, ENTRY).unwrap_or_else(|fault| panic!("{fault}"));
    served.insert(ENTRY.to_owned(), script);
    Ok(served)
}

/// The files below a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => collect(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}

/// The lines without indentation, and without those that are part of a comment: no line of the page's files that begins as one is
/// anything else, and no text goes over several lines.
fn without_comments(content: &str) -> String {
    let is_comment =
        |line: &&str| ["//", "/*", "* ", "*/"].iter().any(|mark| line.starts_with(mark));
    let lines = content.lines().map(str::trim).filter(|line| !line.is_empty() && !is_comment(line));
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn gzip(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    encoder.finish()
}

/// A quoted text that changes with the content.
fn tag(content: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    format!("\"{:016x}\"", hasher.finish())
}

fn content_type(path: &str) -> Option<&'static str> {
    let (_, ending) = path.rsplit_once('.')?;
    Some(match ending {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => return None,
    })
}
