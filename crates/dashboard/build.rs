//! Compresses the files of the page, and writes the table of them.

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
        let content = fs::read(file)?;
        let compressed = out.join(format!("{number}.gz"));
        fs::write(&compressed, gzip(&content)?)?;
        let path = file.strip_prefix(&assets).expect("it is below that folder");
        let path = path.to_str().expect("names of files are ASCII");
        let kind = content_type(path).unwrap_or_else(|| panic!("{path}: unknown kind of file"));
        let (etag, length) = (tag(&content), content.len());
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
