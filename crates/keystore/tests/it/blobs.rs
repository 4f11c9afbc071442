//! Users that travel: the reference's forms, altered and truncated ones.

use argon2::{Algorithm, Argon2, Params, Version};
use chacha20poly1305::aead::{Aead, KeyInit};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use esker_keystore::blob::{ExportedUser, MAX_ENTRY_KEY};
use esker_keystore::{Keyring, KeystoreError};
use esker_primitives::Id;
use esker_primitives::codec::Writer;
use esker_primitives::hash::sha256;
use esker_primitives::hexfmt;
use esker_primitives::keys::PrivateKey;
use proptest::prelude::*;

use crate::{IN_PROCESS, STRONG, in_memory, password};

/// The blob of the recorded exchange in which a user of the reference is imported.
fn foreign() -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/node/keystore-foreign.io");
    let text = std::fs::read_to_string(path).unwrap();
    let line = text.lines().find(|line| line.contains("importUser")).unwrap();
    let hex = line.split("\"user\":\"").nth(1).unwrap().split('"').next().unwrap();
    hexfmt::decode_checked(hex).unwrap()
}

/// A blob as the reference writes it, made here independently: a list of addresses on the zero chain.
pub(crate) fn with_addresses(n: usize) -> Vec<u8> {
    let mut list = Writer::default();
    list.u16(0);
    list.len(n);
    for i in 0..n {
        list.fixed(&sha256(&i.to_be_bytes())[..20]);
    }
    with_entry(&[sha256(&[0; 32]), [0; 32]].concat(), list.as_slice())
}

/// A blob as the reference writes it, of one entry.
fn with_entry(entry: &[u8], plain: &[u8]) -> Vec<u8> {
    let key = sha256(STRONG.as_bytes());
    let cipher = XChaCha20Poly1305::new(Key::from_slice(&key));
    let nonce = [9; 24];
    let sealed = cipher.encrypt(XNonce::from_slice(&nonce), plain).unwrap();
    let mut value = Writer::default();
    value.u16(0);
    value.bytes(&sealed);
    value.bytes(&nonce);
    let salt = [3; 16];
    let mut hash = [0; 32];
    let params = Params::new(65_536, 1, 4, Some(32)).unwrap();
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(STRONG.as_bytes(), &salt, &mut hash)
        .unwrap();
    let mut blob = Writer::default();
    blob.u16(0);
    blob.fixed(&hash);
    blob.fixed(&salt);
    blob.len(1);
    blob.bytes(entry);
    blob.bytes(value.as_slice());
    blob.into_vec()
}

/// Chains of other kinds may have put anything there; only what no store takes is refused.
#[tokio::test]
async fn entries_of_any_kind_are_exported() {
    let folder = tempfile::tempdir().unwrap();
    let keystore = crate::on(crate::disk_store(folder.path()));
    for len in [MAX_ENTRY_KEY + 1, 10_000] {
        let blob = with_entry(&vec![7; len], b"x");
        let refused =
            keystore.import_user("x", &password(STRONG), &blob, IN_PROCESS).await.unwrap_err();
        assert!(matches!(refused, KeystoreError::DamagedBlob), "{len}: {refused}");
    }
    assert!(keystore.list_users().unwrap().is_empty());
    for len in [0, 1, 53, MAX_ENTRY_KEY] {
        let blob = with_entry(&vec![7; len], b"x");
        let name = len.to_string();
        keystore.import_user(&name, &password(STRONG), &blob, IN_PROCESS).await.unwrap();
        let exported = keystore.export_user(&name, &password(STRONG), IN_PROCESS).await.unwrap();
        let lengths = |blob: &[u8]| ExportedUser::parse(blob).unwrap().to_bytes().len();
        assert_eq!(lengths(&exported), lengths(&blob));
        keystore.delete_user(&name, &password(STRONG), IN_PROCESS).await.unwrap();
    }
}

#[tokio::test]
async fn a_user_of_the_reference_is_read() {
    let keystore = in_memory();
    let blob = foreign();
    let wrong =
        keystore.import_user("lit", &password("wrong"), &blob, IN_PROCESS).await.unwrap_err();
    assert_eq!(wrong.to_string(), "incorrect password: user \"lit\"");
    assert!(keystore.list_users().unwrap().is_empty());
    keystore.import_user("lit", &password(STRONG), &blob, IN_PROCESS).await.unwrap();
    let user = keystore.unlock("lit", &password(STRONG), IN_PROCESS).await.unwrap();
    let x = "2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed".parse::<Id>().unwrap();
    let keys = Keyring::new(&user, &x).keys().unwrap();
    let texts: Vec<_> = keys.iter().map(|(_, key)| key.to_text()).collect();
    assert_eq!(
        texts,
        [
            "PrivateKey-6Rw2DxE38nSS6LNaudMgVTuzJHpCGQ6ZshU9MhewhhyYv67P4",
            "PrivateKey-BTQHgaDnUismFjHTvxARfKW7EKoy2YLaf6Vuf3QjpTs2VCzto"
        ]
    );
    for (address, key) in keys {
        assert_eq!(key.address(), address);
    }
}

#[tokio::test]
async fn an_exported_user_comes_back_whole_under_another_name() {
    let keystore = in_memory();
    keystore.create_user("bob", &password(STRONG), IN_PROCESS).await.unwrap();
    let user = keystore.unlock("bob", &password(STRONG), IN_PROCESS).await.unwrap();
    let key = PrivateKey::from_slice(&[7; 32]).unwrap();
    let address = Keyring::new(&user, &Id::ZERO).add(&key).await.unwrap();
    let blob = keystore.export_user("bob", &password(STRONG), IN_PROCESS).await.unwrap();

    let other = in_memory();
    let taken =
        keystore.import_user("bob", &password(STRONG), &blob, IN_PROCESS).await.unwrap_err();
    assert_eq!(taken.to_string(), "user already exists: bob");
    let empty = other.import_user("", &password(STRONG), &blob, IN_PROCESS).await.unwrap_err();
    assert_eq!(empty.to_string(), "empty username");
    other.import_user("rob", &password(STRONG), &blob, IN_PROCESS).await.unwrap();
    let user = other.unlock("rob", &password(STRONG), IN_PROCESS).await.unwrap();
    assert_eq!(Keyring::new(&user, &Id::ZERO).key(&address).unwrap().as_bytes(), key.as_bytes());
    let wrong = keystore.export_user("bob", &password("x"), IN_PROCESS).await.unwrap_err();
    assert_eq!(wrong.to_string(), "incorrect password: user \"bob\"");
    let unknown = keystore.export_user("eve", &password("x"), IN_PROCESS).await.unwrap_err();
    assert_eq!(unknown.to_string(), "incorrect password: user \"eve\"");
}

#[tokio::test]
async fn damaged_blobs_leave_nothing_behind() {
    let keystore = in_memory();
    let blob = foreign();
    let cut =
        keystore.import_user("x", &password(STRONG), &blob[..blob.len() - 1], IN_PROCESS).await;
    assert!(matches!(cut, Err(KeystoreError::Blob(_))), "{cut:?}");
    let empty = keystore.import_user("x", &password(STRONG), &[], IN_PROCESS).await.unwrap_err();
    assert_eq!(empty.to_string(), "couldn't unpack codec version");
    let long = [blob.as_slice(), b"!"].concat();
    let long = keystore.import_user("x", &password(STRONG), &long, IN_PROCESS).await.unwrap_err();
    assert!(long.to_string().starts_with("trailing buffer space"), "{long}");
    // The last byte belongs to the last value's nonce.
    let mut altered = blob.clone();
    *altered.last_mut().unwrap() ^= 1;
    let altered =
        keystore.import_user("x", &password(STRONG), &altered, IN_PROCESS).await.unwrap_err();
    assert!(matches!(altered, KeystoreError::DamagedBlob), "{altered}");
    assert!(keystore.list_users().unwrap().is_empty());
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
        if let Ok(user) = ExportedUser::parse(&bytes) {
            prop_assert_eq!(user.to_bytes(), bytes);
        }
    }

    #[test]
    fn a_cut_blob_is_refused(at in 0usize..700) {
        let blob = foreign();
        prop_assume!(at < blob.len());
        prop_assert!(ExportedUser::parse(&blob[..at]).is_err());
    }
}
