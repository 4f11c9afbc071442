//! Creating, unlocking, deleting; keys of users.

use esker_keystore::{Keyring, Keystore, MAX_ADDRESSES};
use esker_primitives::Id;
use esker_primitives::keys::PrivateKey;
use std::sync::Arc;

use crate::{IN_PROCESS, STRONG, in_memory, password};

async fn create(keystore: &Keystore, name: &str, secret: &str) -> String {
    let outcome = keystore.create_user(name, &password(secret), IN_PROCESS).await;
    outcome.map_or_else(|error| error.to_string(), |()| "ok".into())
}

async fn unlock(keystore: &Arc<Keystore>, name: &str, secret: &str) -> String {
    let outcome = keystore.unlock(name, &password(secret), IN_PROCESS).await;
    outcome.map_or_else(|error| error.to_string(), |user| user.name().to_owned())
}

#[tokio::test]
async fn creating_is_checked_in_the_reference_order() {
    let keystore = in_memory();
    assert_eq!(create(&keystore, "bob", STRONG).await, "ok");
    assert_eq!(create(&keystore, "", "").await, "empty username");
    let long = "u".repeat(1025);
    let too_long = "username exceeds maximum length of 1024 chars";
    assert_eq!(create(&keystore, &long, "").await, too_long);
    assert_eq!(create(&keystore, "bob", "").await, "user already exists: bob");
    assert_eq!(create(&keystore, "carol", "").await, "empty password");
    assert_eq!(create(&keystore, "carol", "weak").await, "password is too weak");
    let longest = "😀".repeat(1024);
    assert_eq!(create(&keystore, &format!("{longest}x"), STRONG).await, too_long);
    assert_eq!(create(&keystore, &longest, STRONG).await, "ok");
    assert_eq!(create(&keystore, "Alice", STRONG).await, "ok");
    let names = keystore.list_users().unwrap();
    assert_eq!(names, ["Alice".to_owned(), "bob".into(), longest]);
}

#[tokio::test]
async fn an_unknown_user_and_a_wrong_password_get_the_same_error() {
    let keystore = in_memory();
    create(&keystore, "bob", STRONG).await;
    assert_eq!(unlock(&keystore, "bob", STRONG).await, "bob");
    assert_eq!(unlock(&keystore, "bob", STRONG).await, "bob", "from memory now");
    assert_eq!(unlock(&keystore, "bob", "x").await, "incorrect password: user \"bob\"");
    assert_eq!(unlock(&keystore, "eve", STRONG).await, "incorrect password: user \"eve\"");
    assert_eq!(unlock(&keystore, "", STRONG).await, "empty username");
    let off = Keystore::disabled();
    assert_eq!(unlock(&off, "bob", STRONG).await, "incorrect password: user \"bob\"");
}

#[tokio::test]
async fn keys_live_and_go_with_their_user() {
    let keystore = in_memory();
    create(&keystore, "bob", STRONG).await;
    let user = keystore.unlock("bob", &password(STRONG), IN_PROCESS).await.unwrap();
    let (x, c) = (Id::sha256(b"X"), Id::sha256(b"C"));
    let key = PrivateKey::from_slice(&[7; 32]).unwrap();
    let address = Keyring::new(&user, &x).add(&key).await.unwrap();
    let made = Keyring::new(&user, &x).create().await.unwrap();
    assert_eq!(Keyring::new(&user, &x).add(&key).await.unwrap(), address, "again is no error");
    assert_eq!(Keyring::new(&user, &x).addresses().unwrap(), [address, made]);
    assert_eq!(Keyring::new(&user, &x).key(&address).unwrap().as_bytes(), key.as_bytes());
    assert_eq!(Keyring::new(&user, &x).keys().unwrap().len(), 2);
    assert!(Keyring::new(&user, &c).addresses().unwrap().is_empty(), "each chain has its own");
    let missing = Keyring::new(&user, &c).key(&address).unwrap_err();
    assert_eq!(missing.to_string(), "not found");

    let refused = keystore.delete_user("bob", &password("wrong"), IN_PROCESS).await.unwrap_err();
    assert_eq!(refused.to_string(), "incorrect password: user \"bob\"");
    keystore.delete_user("bob", &password(STRONG), IN_PROCESS).await.unwrap();
    let gone = keystore.delete_user("bob", &password(STRONG), IN_PROCESS).await.unwrap_err();
    assert_eq!(gone.to_string(), "user doesn't exist: bob");
    let late = Keyring::new(&user, &x).create().await.unwrap_err();
    assert_eq!(late.to_string(), "user doesn't exist: bob", "deleted while in use");

    create(&keystore, "bob", STRONG).await;
    let late = Keyring::new(&user, &x).create().await.unwrap_err();
    assert_eq!(late.to_string(), "user doesn't exist: bob", "a new user of the same name");
    let again = keystore.unlock("bob", &password(STRONG), IN_PROCESS).await.unwrap();
    assert!(Keyring::new(&again, &x).addresses().unwrap().is_empty());
}

#[tokio::test]
async fn one_of_many_concurrent_creations_wins_and_no_key_is_lost() {
    let keystore = in_memory();
    let racing = (0..6).map(|_| {
        let keystore = Arc::clone(&keystore);
        tokio::spawn(async move { create(&keystore, "bob", STRONG).await })
    });
    let mut won = 0;
    for outcome in racing.collect::<Vec<_>>() {
        match outcome.await.unwrap().as_str() {
            "ok" => won += 1,
            lost => assert_eq!(lost, "user already exists: bob"),
        }
    }
    assert_eq!(won, 1);

    let user = Arc::new(keystore.unlock("bob", &password(STRONG), IN_PROCESS).await.unwrap());
    let adding = (0..20).map(|_| {
        let user = Arc::clone(&user);
        tokio::spawn(async move { Keyring::new(&user, &Id::ZERO).create().await.unwrap() })
    });
    for added in adding.collect::<Vec<_>>() {
        added.await.unwrap();
    }
    assert_eq!(Keyring::new(&user, &Id::ZERO).keys().unwrap().len(), 20);
}

#[tokio::test]
async fn a_user_has_at_most_5000_addresses() {
    assert_eq!(MAX_ADDRESSES, 5_000);
    let keystore = in_memory();
    create(&keystore, "bob", STRONG).await;
    let exported = crate::blobs::with_addresses(MAX_ADDRESSES - 1);
    keystore.import_user("full", &password(STRONG), &exported, IN_PROCESS).await.unwrap();
    let user = keystore.unlock("full", &password(STRONG), IN_PROCESS).await.unwrap();
    Keyring::new(&user, &Id::ZERO).create().await.unwrap();
    let refused = Keyring::new(&user, &Id::ZERO).create().await.unwrap_err();
    assert_eq!(refused.to_string(), "keystore user has reached its limit of 5000 addresses");
}
