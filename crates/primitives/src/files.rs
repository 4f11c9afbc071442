//! Opens and reads files: only regular files of bounded size, and secrets that other users can't read.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Bits of a file's mode with which every user of the machine can read or write it.
const EVERYONE: u32 = 0o006;

/// Opens a regular file for reading. Other files are refused: opening a pipe waits for its writer, and opening a
/// device may have effects.
///
/// # Errors
/// It can't be opened, or is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let regular = |metadata: std::fs::Metadata| match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("it is not a regular file")),
    };
    regular(path.metadata()?)?;
    // Another file may have replaced it: the open does not block, and the opened file is checked again.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    regular(file.metadata()?)?;
    Ok(file)
}

/// The content of a regular file of at most `max` bytes.
///
/// # Errors
/// It can't be read, is not a regular file, or is larger.
pub fn read_bounded(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    read_at_most(&open_regular(path)?, max)
}

/// The content of an input file, at most `max` bytes. It may be a regular file, or a pipe that a shell makes of a
/// command.
///
/// # Errors
/// It can't be read, or is larger.
pub fn read_input(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    read_at_most(&File::open(path)?, max)
}

/// The content of a file from its position on, at most `max` bytes.
///
/// # Errors
/// It can't be read, or is larger.
pub fn read_at_most(file: &File, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::other(format!("it is larger than {max} bytes")));
    }
    Ok(bytes)
}

/// Opens a regular file with a secret.
///
/// # Errors
/// The errors of [`open_regular`] and [`check_secret`].
pub fn open_secret(path: &Path) -> io::Result<File> {
    let file = open_regular(path)?;
    check_secret(&file)?;
    Ok(file)
}

/// Refuses a file with a secret that every user of the machine can read or write. Its group may read it: containers
/// mount secrets for a group.
///
/// # Errors
/// The text has the mode and the mode that the file should have. Only regular files are checked.
pub fn check_secret(file: &File) -> io::Result<()> {
    let metadata = file.metadata()?;
    let mode = metadata.mode() & 0o7777;
    if !metadata.is_file() || mode & EVERYONE == 0 {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "every user of this machine can read or change it (mode {mode:04o}): give it mode 0600 \
         (chmod 600), or 0640 if a group is to read it"
    )))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;

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

    #[test]
    fn pipes_and_devices_are_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        // An input may be a pipe.
        let of_pipe = std::thread::spawn({
            let pipe = pipe.clone();
            move || read_input(&pipe, 5)
        });
        std::fs::write(&pipe, "input").unwrap();
        assert_eq!(of_pipe.join().unwrap().unwrap(), b"input");
        let error = read_input(Path::new("/dev/zero"), 5).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 5 bytes");
        for path in [&pipe, Path::new("/dev/zero")] {
            for error in [open_regular(path).unwrap_err(), open_secret(path).unwrap_err()] {
                assert_eq!(error.to_string(), "it is not a regular file", "{}", path.display());
            }
        }
    }

    #[test]
    fn secrets_are_not_for_everyone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "secret").unwrap();
        let open = |mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            open_secret(&path).map_err(|error| error.to_string())
        };
        for mode in [0o600, 0o400, 0o640, 0o440, 0o700, 0o601] {
            let file = open(mode).unwrap();
            assert_eq!(read_at_most(&file, 6).unwrap(), b"secret", "{mode:o}");
        }
        for mode in [0o644, 0o444, 0o604, 0o602, 0o666, 0o777] {
            assert_eq!(
                open(mode).unwrap_err(),
                format!(
                    "every user of this machine can read or change it (mode {mode:04o}): give it mode 0600 \
                     (chmod 600), or 0640 if a group is to read it"
                )
            );
        }
        check_secret(&File::open("/dev/null").unwrap()).unwrap();
    }
}
