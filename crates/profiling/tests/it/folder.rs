//! Where profiles are written.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use esker_profiling::Folder;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn made_when_needed_and_for_nobody_else() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("a/profiles");
    let folder = Folder::new(path.clone());
    assert!(!path.exists());
    folder.write("cpu.profile", b"one").unwrap();
    assert_eq!((mode(&path), mode(&path.join("cpu.profile"))), (0o750, 0o600));
    folder.write("cpu.profile", b"two").unwrap();
    assert_eq!(fs::read(path.join("cpu.profile")).unwrap(), b"two");
    assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
}

#[test]
fn no_link_is_followed() {
    let parent = tempfile::tempdir().unwrap();
    let other = parent.path().join("other");
    fs::write(&other, "precious").unwrap();
    let path = parent.path().join("profiles");
    fs::create_dir(&path).unwrap();
    symlink(&other, path.join("mem.profile")).unwrap();
    let folder = Folder::new(path.clone());
    folder.write("mem.profile", b"new").unwrap();
    assert_eq!(fs::read(&other).unwrap(), b"precious");
    assert!(fs::symlink_metadata(path.join("mem.profile")).unwrap().is_file());

    let link = parent.path().join("link");
    symlink(&path, &link).unwrap();
    let error = Folder::new(link.clone()).write("mem.profile", b"new").unwrap_err();
    let want = format!("open {}/mem.profile: ", link.display());
    assert!(error.to_string().starts_with(&want), "{error}");

    fs::create_dir(path.join("lock.profile")).unwrap();
    let error = folder.write("lock.profile", b"new").unwrap_err();
    assert!(error.to_string().ends_with(": not a regular file"), "{error}");
}

#[test]
fn what_a_caller_may_name() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("profiles");
    let folder = Folder::new(path.clone());
    folder.place("mine").unwrap().write(b"1").unwrap();
    let inside = path.join("also").display().to_string();
    folder.place(&inside).unwrap().write(b"2").unwrap();
    assert_eq!(fs::read(path.join("mine")).unwrap(), b"1");
    assert_eq!(fs::read(path.join("also")).unwrap(), b"2");

    let outside = parent.path().join("outside").display().to_string();
    let escape = path.join("../outside").display().to_string();
    for asked in [
        outside.as_str(),
        escape.as_str(),
        "../outside",
        "/nope/dir/file",
        "a/b",
        "..",
        "",
        "/",
        ".",
        "a\0b",
        "/dev/null",
        ".hidden",
    ] {
        let error = folder.place(asked).and_then(|place| place.write(b"x")).unwrap_err();
        assert!(error.to_string().starts_with(&format!("open {asked}: ")), "{error}");
    }
    assert!(!parent.path().join("outside").exists());
    let error = folder.place("/nope/dir/file").unwrap_err();
    assert_eq!(error.to_string(), "open /nope/dir/file: no such file or directory");

    let anywhere = folder.with_files_anywhere(true);
    anywhere.place(&outside).unwrap().write(b"3").unwrap();
    assert_eq!(mode(Path::new(&outside)), 0o600);
    let error = anywhere.place("/dev/null").unwrap_err();
    assert_eq!(error.to_string(), "open /dev/null: not a regular file");
    let error = anywhere.place("/nope/dir/file").unwrap_err();
    assert_eq!(error.to_string(), "open /nope/dir/file: no such file or directory");
}
