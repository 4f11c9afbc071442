//! The folder of files of blocks and traces, and incomplete files.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use esker_primitives::{excerpt, open_regular};
use esker_rpc::RpcError;

/// Numbers incomplete files.
static UNFINISHED: AtomicU64 = AtomicU64::new(0);

/// The folder that files must be in, or below.
#[derive(Clone, Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// The path of a new file. Relative names begin at the folder.
    ///
    /// Errors come in the reference's order, then that of the folder; what an error says of files outside is whether
    /// they are there.
    pub(crate) fn new_file(&self, name: &str) -> Result<PathBuf, RpcError> {
        let path = self.0.join(checked(name)?);
        if path.metadata().is_ok() {
            return Err(exists());
        }
        let is_relative = Path::new(name).is_relative();
        if is_relative {
            std::fs::create_dir_all(&self.0).map_err(|error| open_error(name, &error))?;
        }
        let (Some(parent), Some(file)) = (path.parent(), path.file_name()) else {
            return Err(open_error(name, &io::ErrorKind::IsADirectory.into()));
        };
        let parent = parent.canonicalize().map_err(|error| open_error(name, &error))?;
        self.must_hold(&parent)?;
        Ok(parent.join(file))
    }

    /// The path of a file to be read, with links followed.
    pub(crate) fn existing_file(&self, name: &str) -> Result<PathBuf, RpcError> {
        let path = self.0.join(checked(name)?);
        let path = path.canonicalize().map_err(|error| open_error(name, &error))?;
        self.must_hold(&path)?;
        Ok(path)
    }

    fn must_hold(&self, path: &Path) -> Result<(), RpcError> {
        let allowed = self.0.canonicalize().is_ok_and(|folder| path.starts_with(folder));
        if allowed {
            return Ok(());
        }
        Err(RpcError::new(
            "files of blocks must be in the folder of the setting chain-files-dir of this chain",
        ))
    }
}

/// Opens a file for reading. Pipes and devices are refused: they may block for ever, and with them the only turn. A folder
/// is opened, as in the reference; reading it is what fails.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    if path.is_dir() { File::open(path) } else { open_regular(path) }
}

/// A name that is not empty: joined to the folder, an empty one would be the folder.
fn checked(name: &str) -> Result<&str, RpcError> {
    if name.is_empty() {
        return Err(open_error(name, &io::ErrorKind::NotFound.into()));
    }
    Ok(name)
}

pub(crate) fn exists() -> RpcError {
    RpcError::new("location would overwrite an existing file")
}

/// The error of a file that can't be opened, in Go's words.
pub(crate) fn open_error(name: &str, error: &io::Error) -> RpcError {
    RpcError::new(format!("open {}: {}", excerpt(name), system_text(error)))
}

/// The system's error as Go writes it: without the number, in lower case.
pub(crate) fn system_text(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::IsADirectory => "is a directory".to_owned(),
        _ => {
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or_default();
            let mut letters = text.chars();
            letters
                .next()
                .map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
        }
    }
}

/// An incomplete file, which is removed when this is dropped.
pub(crate) struct PartialFile(PathBuf);

impl PartialFile {
    /// A new file beside `path`, under a name of its own. `create` makes it, and must not take one that is there.
    pub(crate) fn create<T>(
        path: &Path,
        create: impl Fn(&Path) -> io::Result<T>,
    ) -> io::Result<(T, Self)> {
        loop {
            let number = UNFINISHED.fetch_add(1, Ordering::Relaxed);
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".{number}.partial"));
            let name = PathBuf::from(name);
            match create(&name) {
                Ok(output) => return Ok((output, Self(name))),
                // An earlier run left it.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Renames the file. No file may have the new name.
    pub(crate) fn rename(self, path: &Path) -> io::Result<()> {
        match std::fs::hard_link(&self.0, path) {
            Err(error) if is_without_links(&error) => match path.symlink_metadata() {
                Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
                Err(_) => std::fs::rename(&self.0, path),
            },
            linked => linked,
        }
    }
}

/// Some file systems have no second names.
fn is_without_links(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied)
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        let _renamed = std::fs::remove_file(&self.0);
    }
}
