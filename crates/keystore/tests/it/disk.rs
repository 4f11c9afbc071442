//! The content of the data folder that a thief could read.

use std::path::Path;
use std::sync::Arc;

use esker_keystore::Keyring;
use esker_primitives::Id;
use esker_primitives::keys::PrivateKey;
use esker_storage::{FailPoint, FailingStore, KvStore, MemoryStore, Store};

use crate::{IN_PROCESS, STRONG, on, password};

fn holds(folder: &Path, needle: &[u8]) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        bytes.windows(needle.len()).any(|window| window == needle)
    })
}

#[tokio::test]
async fn neither_key_nor_password_lies_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let store = crate::disk_store(folder.path());
    let keystore = on(store);
    keystore.create_user("visible-name", &password(STRONG), IN_PROCESS).await.unwrap();
    let user = keystore.unlock("visible-name", &password(STRONG), IN_PROCESS).await.unwrap();
    let key = PrivateKey::from_slice(&[0x5a; 32]).unwrap();
    Keyring::new(&user, &Id::ZERO).add(&key).await.unwrap();
    assert!(holds(folder.path(), b"visible-name"), "the scan reads what is there");
    assert!(!holds(folder.path(), key.as_bytes()));
    assert!(!holds(folder.path(), STRONG.as_bytes()));
    assert!(!holds(folder.path(), hex::encode(key.as_bytes()).as_bytes()));
    assert!(!holds(folder.path(), key.to_text().as_bytes()));
}

#[tokio::test]
async fn a_failed_import_leaves_no_user_or_the_whole_user() {
    for (after, found) in [(false, 0), (true, 1)] {
        let disk: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
        let failing = Arc::new(FailingStore::new(Arc::clone(&disk)));
        let keystore = on(Store::new(failing.clone()).unwrap());
        let point = if after { FailPoint::After } else { FailPoint::Before };
        failing.fail_nth_write(1, point);
        let blob = crate::blobs::with_addresses(3);
        keystore.import_user("bob", &password(STRONG), &blob, IN_PROCESS).await.unwrap_err();

        let keystore = on(Store::new(disk).unwrap());
        assert_eq!(keystore.list_users().unwrap().len(), found);
        if after {
            let user = keystore.unlock("bob", &password(STRONG), IN_PROCESS).await.unwrap();
            assert_eq!(Keyring::new(&user, &Id::ZERO).addresses().unwrap().len(), 3);
        }
    }
}
