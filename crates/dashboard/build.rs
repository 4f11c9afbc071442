//! Leaves comments and indentation out of the files of the page, compresses them, and writes the table of them.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    let assets =
        Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo")).join("assets");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    println!("cargo:rerun-if-changed={}", assets.display());
    let mut files = Vec::new();
    collect(&assets, &mut files)?;
    files.sort();
    let mut table = String::from("&[\n");
    for (number, file) in files.iter().enumerate() {
        let content = without_comments(&fs::read_to_string(file)?);
        let compressed = out.join(format!("{number}.gz"));
        fs::write(&compressed, gzip(content.as_bytes())?)?;
        let path = file.strip_prefix(&assets).expect("it is below that folder");
        let path = path.to_str().expect("names of files are ASCII");
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
