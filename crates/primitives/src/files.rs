//! Reading files of bounded size.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The content of a regular file of at most `max` bytes.
///
/// # Errors
/// It can't be read, is not a regular file, or is larger.
pub fn read_bounded(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    // A pipe would block.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::other(format!("it is larger than {max} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_and_kind_are_checked() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let error = read_bounded(&folder.join("missing"), 1).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let error = read_bounded(folder, 1).unwrap_err();
        assert_eq!(error.to_string(), "it is not a regular file");
        let source = folder.join("Cargo.toml");
        let size = source.metadata().unwrap().len();
        assert_eq!(read_bounded(&source, size).unwrap().len() as u64, size);
        let error = read_bounded(&source, size - 1).unwrap_err();
        assert_eq!(error.to_string(), format!("it is larger than {} bytes", size - 1));
    }
}
