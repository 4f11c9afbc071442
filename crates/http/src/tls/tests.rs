//! The files of a certificate: each fault has its text, and a changed pair is used.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use rcgen::{CertifiedKey as Generated, KeyPair};
use tempfile::TempDir;

use super::*;

/// A folder with a certificate and its key.
struct Folder {
    dir: TempDir,
    files: CertificateFiles,
}

fn generate(name: &str) -> (String, String) {
    let Generated { cert, signing_key } =
        rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    (cert.pem(), signing_key.serialize_pem())
}

impl Folder {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let files = CertificateFiles {
            certificate: dir.path().join("cert.pem"),
            key: dir.path().join("key.pem"),
        };
        let folder = Self { dir, files };
        let (certificate, key) = generate("localhost");
        folder.write(&certificate, &key);
        folder
    }

    fn write(&self, certificate: &str, key: &str) {
        fs::write(&self.files.certificate, certificate).unwrap();
        fs::write(&self.files.key, key).unwrap();
        self.set_mode(0o600);
    }

    /// Of the key's file.
    fn set_mode(&self, mode: u32) {
        fs::set_permissions(&self.files.key, Permissions::from_mode(mode)).unwrap();
    }

    /// The error, with the folder's path as `DIR`.
    fn error(&self) -> String {
        let error = Tls::open(self.files.clone()).unwrap_err().to_string();
        error.replace(&self.dir.path().display().to_string(), "DIR")
    }
}

fn check(write: impl FnOnce(&Folder), expected: &str) {
    let folder = Folder::new();
    write(&folder);
    assert_eq!(folder.error(), expected);
}

#[test]
fn each_fault_of_the_files_names_the_file_and_what_it_should_hold() {
    let missing = "No such file or directory (os error 2)";
    check(
        |folder| fs::remove_file(&folder.files.certificate).unwrap(),
        &format!("can't read the certificate DIR/cert.pem: {missing}"),
    );
    check(
        |folder| fs::remove_file(&folder.files.key).unwrap(),
        &format!("can't read the private key DIR/key.pem: {missing}"),
    );
    check(
        |folder| {
            fs::remove_file(&folder.files.key).unwrap();
            fs::create_dir(&folder.files.key).unwrap();
        },
        "can't read the private key DIR/key.pem: it is not a regular file",
    );
    check(
        |folder| fs::write(&folder.files.certificate, vec![b'x'; 1024 * 1024 + 1]).unwrap(),
        "can't read the certificate DIR/cert.pem: it is larger than 1048576 bytes",
    );
    let no_certificate = "DIR/cert.pem holds no certificate: expected PEM text with -----BEGIN CERTIFICATE-----, \
                          the server's own first, then those of its issuers";
    let no_key = "DIR/key.pem holds no private key: expected PEM text with -----BEGIN PRIVATE KEY-----, \
                  EC PRIVATE KEY or RSA PRIVATE KEY";
    let (certificate, key) = generate("localhost");
    check(|folder| folder.write("", &key), no_certificate);
    check(|folder| folder.write(&key, &key), no_certificate);
    check(|folder| folder.write(&certificate, ""), no_key);
    check(|folder| folder.write(&certificate, &certificate), no_key);
    let encrypted =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    check(
        |folder| folder.write(&certificate, encrypted),
        "the private key in DIR/key.pem is encrypted: decrypt it first, for example with openssl pkey -in FILE -out KEY",
    );
    let unknown = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    check(
        |folder| folder.write(&certificate, unknown),
        "the private key in DIR/key.pem can't be used: expected ECDSA (P-256, P-384), Ed25519 or RSA of 2048 to 8192 bits",
    );
    let (_, other_key) = generate("localhost");
    check(
        |folder| folder.write(&certificate, &other_key),
        "the private key in DIR/key.pem is not the key of the certificate in DIR/cert.pem",
    );
}

#[test]
fn a_key_that_everyone_may_read_is_refused() {
    let advice = "give it mode 0600 (chmod 600), or 0640 if a group is to read it";
    check(
        |folder| folder.set_mode(0o644),
        &format!(
            "can't read the private key DIR/key.pem: every user of this machine can read or change it (mode 0644): {advice}"
        ),
    );
    // As secrets are mounted for a group.
    let folder = Folder::new();
    folder.set_mode(0o440);
    let tls = Tls::open(folder.files.clone()).unwrap();
    // A new pair does not count until its key is protected.
    let first = tls.current();
    let (certificate, key) = generate("other");
    folder.set_mode(0o600);
    folder.write(&certificate, &key);
    folder.set_mode(0o604);
    tls.reload();
    assert!(Arc::ptr_eq(&first, &tls.current()));
    folder.set_mode(0o600);
    tls.reload();
    assert!(!Arc::ptr_eq(&first, &tls.current()));
}

#[test]
fn a_damaged_certificate_is_named() {
    let (_, key) = generate("localhost");
    for damaged in [
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nAAAA\n",
    ] {
        let folder = Folder::new();
        folder.write(damaged, &key);
        let error = folder.error();
        assert!(error.starts_with("the certificate in DIR/cert.pem is damaged: "), "{error}");
    }
}

/// Keys in the three forms, made with openssl.
const KEYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/keys");

#[test]
fn keys_of_every_form_are_taken() {
    for name in ["pkcs8-p256", "pkcs8-p384", "pkcs8-ed25519", "pkcs8-rsa", "sec1-p256", "pkcs1-rsa"]
    {
        let [certificate, key] =
            ["crt", "key"].map(|kind| fs::read_to_string(format!("{KEYS}/{name}.{kind}")).unwrap());
        let folder = Folder::new();
        folder.write(&certificate, &key);
        Tls::open(folder.files.clone()).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn a_chain_is_presented_whole() {
    let folder = Folder::new();
    let (own, key) = generate("localhost");
    let (issuer, _) = generate("issuer");
    folder.write(&format!("a comment\n{own}\n{issuer}"), &key);
    let files = &folder.files;
    let pair = files.parse(&files.read().unwrap()).unwrap();
    assert_eq!(pair.cert.len(), 2);
}

#[test]
fn changed_files_are_used_when_two_checks_find_the_same() {
    let folder = Folder::new();
    let tls = Tls::open(folder.files.clone()).unwrap();
    let first = tls.current();
    let is_first = || Arc::ptr_eq(&first, &tls.current());
    tls.check_files(ReloadPolicy::WhenStable);
    tls.check_files(ReloadPolicy::WhenStable);
    assert!(is_first(), "nothing has changed");
    let (certificate, key) = generate("other");
    folder.write(&certificate, &key);
    tls.check_files(ReloadPolicy::WhenStable);
    assert!(is_first(), "the files may not be complete yet");
    tls.check_files(ReloadPolicy::WhenStable);
    assert!(!is_first());
}

#[test]
fn a_changed_pair_that_can_t_be_used_changes_nothing() {
    let folder = Folder::new();
    let tls = Tls::open(folder.files.clone()).unwrap();
    let first = tls.current();
    let (certificate, key) = generate("other");
    let wrong_key = KeyPair::generate().unwrap().serialize_pem();
    folder.write(&certificate, &wrong_key);
    tls.reload();
    fs::remove_file(&folder.files.key).unwrap();
    tls.reload();
    assert!(Arc::ptr_eq(&first, &tls.current()));
    folder.write(&certificate, &key);
    tls.reload();
    assert!(!Arc::ptr_eq(&first, &tls.current()));
}

#[tokio::test]
async fn the_files_are_followed() {
    let folder = Folder::new();
    let tls = Tls::open(folder.files.clone()).unwrap();
    let first = tls.current();
    let (certificate, key) = generate("other");
    folder.write(&certificate, &key);
    let replaced = async {
        while Arc::ptr_eq(&first, &tls.current()) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = tls.follow_files(Duration::from_millis(5)) => {}
        replaced = tokio::time::timeout(Duration::from_secs(20), replaced) => {
            replaced.expect("the certificate was replaced");
        }
    }
}
