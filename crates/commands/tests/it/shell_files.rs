//! Completions and manual pages, as the example writes them.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// Runs the example, which is beside the folder of this program.
fn write(folder: &Path) -> ExitStatus {
    let program = std::env::current_exe().unwrap();
    let built = program.parent().and_then(Path::parent).unwrap();
    let mut example = Command::new(built.join("examples/shell_files"));
    example.arg(folder).stderr(Stdio::null()).status().unwrap()
}

/// The text of each file, by its path in the folder.
fn written() -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    assert!(write(folder.path()).success());
    let mut files = Vec::new();
    for kind in ["completions", "man"] {
        for entry in fs::read_dir(folder.path().join(kind)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder.path()).unwrap().display().to_string();
            files.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    files.sort();
    files
}

#[test]
fn every_shell_completes_every_command() {
    let files = written();
    let completions: Vec<_> =
        files.iter().filter(|(name, _)| name.starts_with("completions/")).collect();
    let names: Vec<_> = completions.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["completions/_esker", "completions/esker.bash", "completions/esker.fish"]);
    for (name, text) in completions {
        for word in ["verify", "rewind", "http-port", "data-dir"] {
            assert!(text.contains(word), "{name} lacks {word}");
        }
    }
}

#[test]
fn every_command_has_a_page() {
    let files = written();
    let pages: Vec<_> = files
        .iter()
        .filter_map(|(name, _)| name.strip_prefix("man/")?.strip_suffix(".1"))
        .collect();
    for page in ["esker", "esker-config-show", "esker-db-rewind", "esker-dev", "esker-user-list"] {
        assert!(pages.contains(&page), "{page} of {pages:?}");
    }
    let (_, node) = files.iter().find(|(name, _)| name == "man/esker-node.1").unwrap();
    assert!(node.contains("\\-\\-http\\-port"), "{node}");
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error() {
    let file = tempfile::NamedTempFile::new().unwrap();
    assert!(!write(&file.path().join("below")).success());
}
