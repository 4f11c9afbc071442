//! Folders of key files.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use esker_evm::accounts::{AccountError, AccountManager as _};
use esker_key_directory::{KeyFile, MAX_FILE_BYTES, MAX_FILES, MAX_FILES_FOR_NEW};
use esker_primitives::ClientAddress;

use crate::support::{Opened, cheap, key, open, password, private_key, randomness, reopen};

const CLIENT: ClientAddress = ClientAddress::IN_PROCESS;

fn folder(opened: &Opened) -> PathBuf {
    opened.folder.path().join("data/keys")
}

fn names(opened: &Opened) -> Vec<String> {
    let entries = fs::read_dir(folder(opened)).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn mode(path: PathBuf) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn accounts_are_files_that_only_the_owner_reads() {
    let opened = open();
    assert!(opened.keys.accounts().is_empty());
    assert!(!folder(&opened).exists(), "it is made with the first key");
    let first = opened.keys.add(None, password("a"), CLIENT).await.unwrap();
    let second = opened.keys.add(Some(private_key(2)), password(""), CLIENT).await.unwrap();
    assert_eq!(second, key(2).address());
    // The clock stands still, and the names are in order.
    assert_eq!(opened.keys.accounts(), [first, second]);
    let names = names(&opened);
    assert_eq!(names[0], format!("UTC--2023-11-14T22-13-20.000000000Z--{first:x}"));
    assert_eq!(names[1], format!("UTC--2023-11-14T22-13-20.000000001Z--{second:x}"));
    assert_eq!(mode(folder(&opened)), 0o700);
    for name in &names {
        assert_eq!(mode(folder(&opened).join(name)), 0o600);
    }
    let wallets = opened.keys.wallets();
    assert_eq!(wallets[1].url, format!("keystore://{}", folder(&opened).join(&names[1]).display()));
    // They are there after a restart.
    let again = reopen(&opened.folder, &opened.clock);
    assert_eq!(again.accounts(), [first, second]);
    assert_eq!(again.open(second, password(""), CLIENT).await.unwrap().address(), second);
}

#[tokio::test]
async fn a_key_is_there_once() {
    let opened = open();
    let import = || opened.keys.add(Some(private_key(1)), password("p"), CLIENT);
    let (first, second) = tokio::join!(import(), import());
    let outcomes = [first, second];
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Ok(key(1).address())).count(), 1);
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Err(AccountError::Exists)).count(), 1);
    assert_eq!(import().await, Err(AccountError::Exists));
    assert_eq!(names(&opened).len(), 1);
}

#[tokio::test]
async fn files_that_come_and_go_are_noticed() {
    let opened = open();
    opened.keys.add(Some(private_key(1)), password("p"), CLIENT).await.unwrap();
    let file = KeyFile::encrypt(&key(2), &password("q"), cheap(), &randomness()).unwrap();
    let path = folder(&opened).join("by hand.json");
    fs::write(&path, file.to_json()).unwrap();
    assert!(opened.keys.holds(&key(2).address()));
    assert_eq!(opened.keys.accounts().len(), 2);
    assert!(opened.keys.open(key(2).address(), password("q"), CLIENT).await.is_ok());
    // One in its place.
    let other = KeyFile::encrypt(&key(3), &password("q"), cheap(), &randomness()).unwrap();
    fs::write(&path, format!("{} ", other.to_json())).unwrap();
    assert_eq!(opened.keys.accounts().last(), Some(&key(3).address()));
    fs::remove_file(&path).unwrap();
    assert_eq!(opened.keys.accounts(), [key(1).address()]);
    let gone = opened.keys.open(key(3).address(), password("q"), CLIENT).await;
    assert_eq!(gone.unwrap_err(), AccountError::Unknown);
}

#[tokio::test]
async fn what_is_no_key_file_is_skipped() {
    let opened = open();
    opened.keys.add(Some(private_key(1)), password("p"), CLIENT).await.unwrap();
    let good = KeyFile::encrypt(&key(2), &password("q"), cheap(), &randomness()).unwrap().to_json();
    let put = |name: &str, text: &str| fs::write(folder(&opened).join(name), text).unwrap();
    put("broken", &good[..good.len() - 5]);
    put("empty", "");
    put(".hidden", &good);
    put("copy~", &good);
    put("long", &format!("{good}{}", " ".repeat(MAX_FILE_BYTES)));
    put("costly", &good.replace("\"n\":2", "\"n\":1073741824"));
    put("deep", &"[".repeat(MAX_FILE_BYTES));
    fs::create_dir(folder(&opened).join("folder")).unwrap();
    let outside = opened.folder.path().join("outside");
    fs::write(&outside, &good).unwrap();
    symlink(&outside, folder(&opened).join("link")).unwrap();
    assert_eq!(opened.keys.accounts(), [key(1).address()]);
    assert!(!opened.keys.holds(&key(2).address()));
}

#[tokio::test]
async fn an_account_of_two_files_is_ambiguous() {
    let opened = open();
    opened.keys.add(Some(private_key(1)), password("p"), CLIENT).await.unwrap();
    let name = names(&opened).remove(0);
    fs::copy(folder(&opened).join(&name), folder(&opened).join("copy")).unwrap();
    let error = opened.keys.open(key(1).address(), password("p"), CLIENT).await.unwrap_err();
    let path = |name: &str| folder(&opened).join(name).display().to_string();
    let expected = format!("multiple keys match address ({}, {})", path(&name), path("copy"));
    assert_eq!(error.to_string(), expected);
    assert_eq!((opened.keys.wallets().len(), opened.keys.accounts().len()), (2, 1));
}

#[tokio::test]
async fn unfinished_files_of_a_crash_are_removed() {
    let opened = open();
    opened.keys.add(Some(private_key(1)), password("p"), CLIENT).await.unwrap();
    fs::write(folder(&opened).join(".esker-UTC--x.tmp"), "half a fi").unwrap();
    fs::write(folder(&opened).join(".other"), "stays").unwrap();
    let again = reopen(&opened.folder, &opened.clock);
    assert_eq!(again.accounts(), [key(1).address()]);
    assert_eq!(names(&opened)[0], ".other");
    assert_eq!(names(&opened).len(), 2);
}

#[tokio::test]
async fn a_folder_that_can_not_be_written_gives_an_error() {
    let opened = open();
    fs::create_dir_all(opened.folder.path().join("data")).unwrap();
    fs::write(folder(&opened), "a file in its place").unwrap();
    let error = opened.keys.add(None, password("p"), CLIENT).await.unwrap_err().to_string();
    assert!(error.starts_with("the key can't be written: "), "{error}");
    assert!(opened.keys.accounts().is_empty());
}

#[tokio::test]
async fn a_folder_has_a_limit() {
    let opened = open();
    fs::create_dir_all(folder(&opened)).unwrap();
    for n in 0..=MAX_FILES {
        fs::write(folder(&opened).join(format!("{n}")), "").unwrap();
    }
    assert!(opened.keys.accounts().is_empty());
    opened.is_full().await;
}

#[tokio::test]
async fn new_accounts_leave_room_for_other_files() {
    let opened = open();
    opened.keys.add(Some(private_key(1)), password("p"), CLIENT).await.unwrap();
    for n in 1..MAX_FILES_FOR_NEW - 1 {
        fs::write(folder(&opened).join(format!("{n}")), "").unwrap();
    }
    opened.keys.add(Some(private_key(2)), password("p"), CLIENT).await.unwrap();
    opened.is_full().await;
    let again = opened.keys.add(Some(private_key(1)), password("p"), CLIENT).await;
    assert_eq!(again, Err(AccountError::Exists));
    // The operator's are found, and one that goes makes room.
    let file = KeyFile::encrypt(&key(4), &password("q"), cheap(), &randomness()).unwrap();
    fs::write(folder(&opened).join("mine"), file.to_json()).unwrap();
    assert!(opened.keys.open(key(4).address(), password("q"), CLIENT).await.is_ok());
    opened.is_full().await;
    fs::remove_file(folder(&opened).join("1")).unwrap();
    fs::remove_file(folder(&opened).join("2")).unwrap();
    opened.keys.add(Some(private_key(3)), password("p"), CLIENT).await.unwrap();
}

impl Opened {
    /// Neither a random nor a given key is taken.
    async fn is_full(&self) {
        for key in [None, Some(private_key(9))] {
            let error = self.keys.add(key, password("p"), CLIENT).await.unwrap_err().to_string();
            assert_eq!(error, "the folder of keys is full: no new account beyond 1024 files");
        }
    }
}
