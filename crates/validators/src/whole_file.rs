//! Small files of the engine's folder. Each is written as a whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use esker_primitives::read_bounded;

/// The treatment of a file that exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// The new file replaces it.
    Replaced,
    /// The old file stays, and writing fails.
    Kept,
}

/// Writes a file, and its folder if there is none, and makes both durable. After a crash or an error the file is as it was,
/// or has all of the bytes.
///
/// # Errors
/// The folder or the file can't be written, or the file is there and is to be kept.
pub fn write(folder: &Path, name: &str, bytes: &[u8], existing: Existing) -> io::Result<()> {
    if !folder.is_dir() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            File::open(parent)?.sync_all()?;
        }
    }
    let (path, new) = (folder.join(name), folder.join(format!("{name}.new")));
    // The file that a crash left may be another name of the file itself.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    match existing {
        Existing::Replaced => fs::rename(&new, &path)?,
        Existing::Kept => {
            // Unlike a rename, a link fails if the file exists.
            let linked = fs::hard_link(&new, &path);
            match linked {
                Err(error) if error.kind() != ErrorKind::AlreadyExists && !path.try_exists()? => {
                    // The file system has no links.
                    fs::rename(&new, &path)?;
                }
                linked => {
                    fs::remove_file(&new)?;
                    linked?;
                }
            }
        }
    }
    File::open(folder)?.sync_all()
}

/// Reads a file of at most `max` bytes; `None` if there is none.
///
/// # Errors
/// It can't be read, or is larger.
pub fn read(folder: &Path, name: &str, max: u64) -> io::Result<Option<Vec<u8>>> {
    match read_bounded(&folder.join(name), max) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_whole_or_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("engine");
        let content = || read(&folder, "file", 5).unwrap();
        assert_eq!(content(), None);
        // A crash has left this of an earlier attempt.
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("file.new"), "longer than the next").unwrap();
        write(&folder, "file", b"first", Existing::Kept).unwrap();
        assert_eq!(content().unwrap(), b"first");
        let error = write(&folder, "file", b"other", Existing::Kept).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert_eq!(content().unwrap(), b"first");
        // There was a crash between the link and the removal of the other name.
        fs::hard_link(folder.join("file"), folder.join("file.new")).unwrap();
        write(&folder, "file", b"other", Existing::Kept).unwrap_err();
        assert_eq!(content().unwrap(), b"first");
        write(&folder, "file", b"next", Existing::Replaced).unwrap();
        assert_eq!(content().unwrap(), b"next");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        // The disk accepts no new file.
        fs::create_dir(folder.join("file.new")).unwrap();
        for existing in [Existing::Replaced, Existing::Kept] {
            write(&folder, "file", b"none", existing).unwrap_err();
        }
        assert_eq!(content().unwrap(), b"next");
        let error = read(&folder, "file", 3).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 3 bytes");
    }
}
