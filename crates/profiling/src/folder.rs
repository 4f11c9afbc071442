//! The folder of profiles.

use std::fs::DirBuilder;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, renameat, statat, unlinkat};

use crate::error::ProfileError;

/// Mode of the folder.
const FOLDER_MODE: u32 = 0o750;
/// Mode of the files.
const FILE_MODE: u32 = 0o600;
/// Longest name of a file.
const MAX_NAME: usize = 200;

/// A folder for profiles. Writing the first profile creates it. A file is written completely or not at all: under a
/// temporary name, then renamed. Symbolic links are not followed, neither to a file nor to the folder.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// Files of other folders may be named too.
    anywhere: bool,
}

/// The path of a file that may be written.
#[derive(Debug)]
pub struct Place {
    folder: OwnedFd,
    name: String,
    /// The path as the caller gave it.
    shown: String,
}

/// Distinguishes files that are written at the same time.
static UNFINISHED: AtomicU64 = AtomicU64::new(0);

impl Folder {
    /// The folder at this path.
    pub fn new(path: PathBuf) -> Self {
        Self { path, anywhere: false }
    }

    /// Lets callers of [`Folder::place`] name files of any folder.
    #[must_use]
    pub fn with_files_anywhere(mut self, anywhere: bool) -> Self {
        self.anywhere = anywhere;
        self
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file whose name the node chooses.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), ProfileError> {
        self.own(name)?.write(bytes)
    }

    /// The path of a file whose name the node chooses.
    pub fn own(&self, name: &str) -> Result<Place, ProfileError> {
        self.place_of(name, self.path.join(name).display().to_string())
    }

    fn place_of(&self, name: &str, shown: String) -> Result<Place, ProfileError> {
        let open = |error| ProfileError::Open { path: shown.clone(), source: error };
        self.make().map_err(open)?;
        let folder = open_folder(&self.path, OFlags::NOFOLLOW).map_err(open)?;
        Place { folder, name: name.to_owned(), shown }.checked()
    }

    /// The path of a file whose name the caller chooses: a name in this folder, or a path into it. Other paths do not exist
    /// for callers, unless they may name files anywhere.
    pub fn place(&self, asked: &str) -> Result<Place, ProfileError> {
        let fault = |kind: io::ErrorKind| ProfileError::Open {
            path: asked.to_owned(),
            source: io::Error::from(kind),
        };
        let path = Path::new(asked);
        let plain = |path: &Path| match path.components().collect::<Vec<_>>()[..] {
            [Component::Normal(name)] => name.to_str().map(str::to_owned),
            _ => None,
        };
        let name = path.strip_prefix(&self.path).ok().and_then(plain).or_else(|| plain(path));
        match name {
            Some(name) if name.len() > MAX_NAME => Err(fault(io::ErrorKind::InvalidFilename)),
            // Unfinished files have such names.
            Some(name) if name.starts_with('.') => Err(fault(io::ErrorKind::PermissionDenied)),
            Some(name) => self.place_of(&name, asked.to_owned()),
            None if self.anywhere => elsewhere(path, asked),
            None => Err(not_found(asked)),
        }
    }

    fn make(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(&self.path)
    }
}

fn not_found(asked: &str) -> ProfileError {
    let source = io::Error::from_raw_os_error(rustix::io::Errno::NOENT.raw_os_error());
    ProfileError::Open { path: asked.to_owned(), source }
}

fn elsewhere(path: &Path, asked: &str) -> Result<Place, ProfileError> {
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| not_found(asked))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = open_folder(folder.unwrap_or(Path::new(".")), OFlags::empty())
        .map_err(|source| ProfileError::Open { path: asked.to_owned(), source })?;
    Place { folder, name: name.to_owned(), shown: asked.to_owned() }.checked()
}

fn open_folder(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | flags;
    Ok(openat(CWD, path, flags, Mode::empty())?)
}

impl Place {
    /// Refuses a path at which there is something other than a file or a link.
    fn checked(self) -> Result<Self, ProfileError> {
        let found = statat(&self.folder, self.name.as_str(), AtFlags::SYMLINK_NOFOLLOW);
        match found.map(|found| FileType::from_raw_mode(found.st_mode)) {
            Ok(FileType::RegularFile | FileType::Symlink) | Err(rustix::io::Errno::NOENT) => {
                Ok(self)
            }
            Ok(_) => {
                let source = io::Error::other("not a regular file");
                Err(ProfileError::Open { path: self.shown, source })
            }
            Err(error) => Err(ProfileError::Open { path: self.shown, source: error.into() }),
        }
    }

    /// Writes the file, and replaces an existing one.
    pub fn write(&self, bytes: &[u8]) -> Result<(), ProfileError> {
        let number = UNFINISHED.fetch_add(1, Ordering::Relaxed);
        let unfinished = format!(".{}-{number}", std::process::id());
        let unfinished = unfinished.as_str();
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = || openat(&self.folder, unfinished, flags, Mode::from_raw_mode(FILE_MODE));
        let file = match open() {
            // A killed process with the same ID left it.
            Err(rustix::io::Errno::EXIST) => {
                unlinkat(&self.folder, unfinished, AtFlags::empty()).and_then(|()| open())
            }
            file => file,
        };
        let file = file.map_err(|error| self.open_error(error.into()))?;
        let written = self.fill(std::fs::File::from(file), bytes).and_then(|()| {
            Ok(renameat(&self.folder, unfinished, &self.folder, self.name.as_str())?)
        });
        written.map_err(|source| {
            // Only the first error is reported.
            let _left = unlinkat(&self.folder, unfinished, AtFlags::empty());
            ProfileError::Write { path: self.shown.clone(), source }
        })
    }

    fn fill(&self, mut file: std::fs::File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)?;
        // A full disk may report its error only now.
        file.sync_data()
    }

    fn open_error(&self, source: io::Error) -> ProfileError {
        ProfileError::Open { path: self.shown.clone(), source }
    }
}
