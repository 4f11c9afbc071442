//! Temporary folders of processes that were killed.

use std::fs::{self, File, Metadata};
use std::path::{Path, PathBuf};

use crate::folder::{LOCK_FILE, TEMP_PREFIX, TempFolder};

/// Most folders that are removed at a time: a start stays quick.
const MAX_REMOVED: usize = 100;

impl TempFolder {
    /// Removes the folders beside this one that processes of the same user left when they were killed, and returns
    /// them. A folder that is in use is locked; what is not known for certain to be an abandoned folder stays.
    pub fn remove_abandoned(&self) -> Vec<PathBuf> {
        let parent = self.path().parent().and_then(|parent| fs::read_dir(parent).ok());
        let Ok(own) = fs::symlink_metadata(self.path()) else { return Vec::new() };
        let entries = parent.into_iter().flatten().flatten();
        let beside = entries.map(|entry| entry.path()).filter(|path| path != self.path());
        beside.filter(|path| remove_if_abandoned(path, &own)).take(MAX_REMOVED).collect()
    }
}

/// Removes the folder unless somebody uses it, or it may not be a temporary folder of this user's nodes.
fn remove_if_abandoned(path: &Path, own: &Metadata) -> bool {
    let Some(_locked) = lock_of_the_dead(path, own) else { return false };
    match fs::remove_dir_all(path) {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(folder = %path.display(), %error, "cannot remove an abandoned folder");
            false
        }
    }
}

/// The lock of a folder whose process has ended. The lock's file is empty until its owner has the lock; with the process
/// ID in it, a free lock means that the owner is gone.
fn lock_of_the_dead(path: &Path, own: &Metadata) -> Option<File> {
    let pid = pid_in_name(path)?;
    let folder = fs::symlink_metadata(path).ok()?;
    let file = path.join(LOCK_FILE);
    if !folder.is_dir()
        || !is_same_user(&folder, own)
        || !fs::symlink_metadata(&file).ok()?.is_file()
    {
        return None;
    }
    let lock = File::options().read(true).write(true).open(&file).ok()?;
    lock.try_lock().ok()?;
    (fs::read_to_string(&file).ok()?.trim() == pid).then_some(lock)
}

/// The process ID in the name of a temporary folder, `esker-PID-NUMBER`.
fn pid_in_name(path: &Path) -> Option<&str> {
    let (pid, number) = path.file_name()?.to_str()?.strip_prefix(TEMP_PREFIX)?.split_once('-')?;
    let is_number = |text: &str| text.parse::<u32>().is_ok_and(|n| n.to_string() == text);
    (is_number(pid) && is_number(number)).then_some(pid)
}

#[cfg(unix)]
fn is_same_user(folder: &Metadata, own: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    folder.uid() == own.uid() && folder.mode() & 0o777 == own.mode() & 0o777
}

#[cfg(not(unix))]
fn is_same_user(_: &Metadata, _: &Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::{Folder, create_private_dir};

    /// A folder as a node leaves it that is killed.
    fn leave(parent: &Path, name: &str, pid: &str) -> PathBuf {
        let path = parent.join(name);
        create_private_dir(&path).unwrap();
        fs::write(path.join(LOCK_FILE), format!("{pid}\n")).unwrap();
        fs::write(path.join("esker.mdb"), "data").unwrap();
        path
    }

    #[test]
    fn a_folder_whose_process_is_gone_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let folder = TempFolder::create_in(place.path()).unwrap();
        let left = leave(place.path(), "esker-7-0", "7");
        let other = leave(place.path(), "esker-8-12", "8");
        let mut removed = folder.remove_abandoned();
        removed.sort();
        assert_eq!(removed, [left.clone(), other.clone()]);
        assert!(!left.exists() && !other.exists());
        assert!(folder.path().is_dir(), "its own stays");
        assert!(folder.remove_abandoned().is_empty());
    }

    #[test]
    fn a_folder_in_use_stays() {
        let place = tempfile::tempdir().unwrap();
        let path = leave(place.path(), &format!("esker-{}-77", std::process::id()), "0");
        let used = Folder::take(&path).unwrap();
        let folder = TempFolder::create_in(place.path()).unwrap();
        assert!(folder.remove_abandoned().is_empty());
        assert!(path.join("esker.mdb").is_file());
        // Only the lock keeps it.
        drop(used);
        assert_eq!(folder.remove_abandoned(), [path]);
    }

    #[test]
    fn what_may_not_be_ours_stays() {
        let place = tempfile::tempdir().unwrap();
        let folder = TempFolder::create_in(place.path()).unwrap();
        for (name, pid) in [
            ("esker-7", "7"),
            ("esker-7-x", "7"),
            ("esker-07-1", "07"),
            ("esker-+7-1", "+7"),
            ("esker-7-1.old", "7"),
            ("esker-data", "7"),
            ("other-7-1", "7"),
            // The lock is of another process, or not taken yet.
            ("esker-7-2", "8"),
            ("esker-7-3", ""),
        ] {
            leave(place.path(), name, pid);
        }
        create_private_dir(&place.path().join("esker-7-4")).unwrap();
        fs::write(place.path().join("esker-7-5"), "a file").unwrap();
        let before = fs::read_dir(place.path()).unwrap().count();
        assert_eq!(folder.remove_abandoned(), Vec::<PathBuf>::new());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), before);
    }

    #[cfg(unix)]
    #[test]
    fn no_link_is_followed_and_no_shared_folder_removed() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let (place, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = TempFolder::create_in(place.path()).unwrap();
        let target = leave(elsewhere.path(), "esker-7-0", "7");
        symlink(&target, place.path().join("esker-7-0")).unwrap();
        let linked_lock = place.path().join("esker-7-1");
        create_private_dir(&linked_lock).unwrap();
        symlink(target.join(LOCK_FILE), linked_lock.join(LOCK_FILE)).unwrap();
        let shared = leave(place.path(), "esker-7-2", "7");
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(folder.remove_abandoned().is_empty());
        assert!(target.join("esker.mdb").is_file() && linked_lock.is_dir() && shared.is_dir());
    }
}
