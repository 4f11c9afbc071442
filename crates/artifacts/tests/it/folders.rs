//! Folders that change, and hostile ones.

use std::fs;
use std::path::Path;

use esker_artifacts::{Folders, MAX_FILE, Registry};

use crate::support::{find, fixtures, vault_code};

fn label(folders: &Folders) -> Option<String> {
    let registry = Registry::default();
    registry.replace(folders.contracts());
    find(&registry, &vault_code(1)).map(|found| found.label().to_string())
}

#[test]
fn changes_are_read_and_half_written_files_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let mut folders = Folders::new(vec![folder.path().join("out")]);
    let scan = folders.scan();
    assert!(!scan.is_changed && scan.problems.len() == 1, "{scan:?}");
    assert!(scan.problems[0].ends_with("out: No such file or directory (os error 2)"), "{scan:?}");
    // Each problem is reported once.
    assert_eq!(folders.scan().problems, [""; 0]);
    let vault = fs::read_to_string(fixtures("hardhat").join("Vault.sol/Vault.json")).unwrap();
    let file = folder.path().join("out/Vault.json");
    fs::create_dir(folder.path().join("out")).unwrap();
    fs::write(&file, &vault).unwrap();
    assert!(folders.scan().is_changed);
    assert_eq!(label(&folders).as_deref(), Some("Vault"));
    assert!(!folders.scan().is_changed);
    // Half of it.
    fs::write(&file, &vault[..vault.len() / 2]).unwrap();
    let scan = folders.scan();
    assert!(!scan.is_changed && scan.problems.is_empty(), "{scan:?}");
    assert_eq!(label(&folders).as_deref(), Some("Vault"));
    // It stays half.
    let scan = folders.scan();
    assert!(
        scan.problems.len() == 1 && scan.problems[0].ends_with(": the version before is used"),
        "{scan:?}"
    );
    let renamed = vault.replace("\"contractName\": \"Vault\"", "\"contractName\": \"Other\"");
    fs::write(&file, renamed).unwrap();
    assert!(folders.scan().is_changed);
    assert_eq!(label(&folders).as_deref(), Some("Other"));
    fs::remove_file(&file).unwrap();
    assert!(folders.scan().is_changed);
    assert_eq!(label(&folders), None);
}

#[test]
fn a_folder_within_another_is_read_once() {
    let mut folders =
        Folders::new(vec![fixtures("foundry"), fixtures("foundry/Vault.sol"), fixtures("foundry")]);
    assert!(folders.scan().is_changed && !folders.scan().is_changed);
    assert_eq!(folders.contracts().len(), 2);
    assert_eq!(label(&folders).as_deref(), Some("Vault"));
}

/// The texts of the problems without the folder.
fn problems(folders: &mut Folders, folder: &Path) -> Vec<String> {
    let mut problems = folders.scan().problems;
    // Those of files come when a file is the same at the second look.
    problems.extend(folders.scan().problems);
    let prefix = format!("{}/", folder.display());
    let mut texts: Vec<_> = problems.iter().map(|text| text.replace(&prefix, "")).collect();
    texts.sort();
    texts
}

#[test]
fn hostile_files_are_reported_and_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| fs::write(folder.path().join(name), content).unwrap();
    let vault = fs::read(fixtures("foundry").join("Vault.sol/Vault.json")).unwrap();
    write("Vault.json", &vault);
    write("cut.json", &vault[..5000]);
    write("deep.json", "[".repeat(100_000).as_bytes());
    write("types.json", format!("{{\"abi\":[{{\"type\":\"function\",\"name\":\"f\",\"inputs\":[{{\"type\":\"uint{}\"}}]}}]}}", "[]".repeat(100_000)).as_bytes());
    write("hex.json", b"{\"abi\":[],\"deployedBytecode\":\"0xzz\"}");
    write("other.json", b"{\"a\": 1}");
    write("notes.txt", b"not read");
    let evil =
        "{\"contractName\":\"\\u001b[2J\\nName\",\"abi\":[],\"deployedBytecode\":\"0x6001\"}";
    write("evil\u{1b}[31m.json", evil.as_bytes());
    write("bad\u{1b}[31m.json", b"x");
    let large = fs::File::create(folder.path().join("large.json")).unwrap();
    large.set_len(100 << 20).unwrap();
    // Links go nowhere, also those to the folder itself.
    std::os::unix::fs::symlink(folder.path(), folder.path().join("loop")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link.json")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(folder.path().join("pipe.json")).status();
    assert!(pipe.unwrap().success());
    let mut folders = Folders::new(vec![folder.path().to_owned()]);
    let problems = problems(&mut folders, folder.path());
    let begins = [
        "bad\\u{1b}[31m.json: it is not an artifact: ",
        "cut.json: it is not an artifact: ",
        "deep.json: it is not an artifact: ",
        "hex.json: its bytecode is not hex",
    ];
    assert_eq!(problems.len(), begins.len() + 1, "{problems:?}");
    for (problem, begin) in problems.iter().zip(begins) {
        assert!(problem.starts_with(begin), "{problem}");
    }
    assert_eq!(problems[4], format!("large.json: it is larger than {MAX_FILE} bytes: not read"));
    assert_eq!(label(&folders).as_deref(), Some("Vault"));
    let registry = Registry::default();
    registry.replace(folders.contracts());
    assert_eq!(&*find(&registry, &[0x60, 1]).unwrap().label(), "\\u{1b}[2J\\nName");
}
