//! Wrong passwords through the keystore: who has to wait, and who has not.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use esker_keystore::{HashLimits, Keystore};
use esker_primitives::ClientAddress;
use esker_primitives::clock::ManualClock;
use esker_storage::Store;
use futures_util::FutureExt as _;
use futures_util::future::join_all;

use crate::{IN_PROCESS, STRONG, password, seeded};

const RIGHT: &str = "bob";
const WRONG: &str = "incorrect password: user \"bob\"";

fn wait(s: u64) -> String {
    format!("too many wrong passwords for user \"bob\" from this address: try again in {s} s")
}

fn client(number: u8) -> ClientAddress {
    ClientAddress::from_peer(Some(IpAddr::V4(Ipv4Addr::new(127, 0, 0, number))))
}

/// A keystore with the users bob and eve, and the clock by which clients wait.
async fn keystore() -> (Arc<Keystore>, ManualClock) {
    let clock = ManualClock::new(1_700_000_000_000);
    let (store, time) = (Store::memory().unwrap(), Arc::new(clock.clone()));
    let keystore = Keystore::new(store, seeded(), time, HashLimits::default());
    for name in ["bob", "eve"] {
        keystore.create_user(name, &password(STRONG), IN_PROCESS).await.unwrap();
    }
    (keystore, clock)
}

async fn unlock(keystore: &Arc<Keystore>, name: &str, text: &str, from: ClientAddress) -> String {
    let outcome = keystore.unlock(name, &password(text), from).await;
    outcome.map_or_else(|error| error.to_string(), |user| user.name().to_owned())
}

/// The answer of a call without a hash: a call with a hash is not ready at once.
fn at_once(keystore: &Arc<Keystore>, name: &str, text: &str, from: ClientAddress) -> String {
    unlock(keystore, name, text, from).now_or_never().unwrap_or_else(|| "it waits".to_owned())
}

#[tokio::test]
async fn only_the_guessing_pair_waits() {
    let (keystore, clock) = keystore().await;
    assert_eq!(unlock(&keystore, "bob", STRONG, client(2)).await, RIGHT);
    // All methods that check a password count for one.
    let (wrong, bob) = (password("wrong"), client(1));
    for n in 0..16 {
        let refused = match n % 3 {
            0 => keystore.unlock("bob", &wrong, bob).await.unwrap_err(),
            1 => keystore.export_user("bob", &wrong, bob).await.unwrap_err(),
            _ => keystore.delete_user("bob", &wrong, bob).await.unwrap_err(),
        };
        assert_eq!(refused.to_string(), WRONG);
    }
    assert_eq!(at_once(&keystore, "bob", "wrong", bob), wait(1));
    assert_eq!(at_once(&keystore, "bob", STRONG, bob), wait(1), "else guessing would go on");
    let exported = keystore.export_user("bob", &password(STRONG), bob).now_or_never().unwrap();
    assert_eq!(exported.unwrap_err().to_string(), wait(1));
    let deleted = keystore.delete_user("bob", &password(STRONG), bob).now_or_never().unwrap();
    assert_eq!(deleted.unwrap_err().to_string(), wait(1));

    assert_eq!(at_once(&keystore, "bob", STRONG, client(2)), RIGHT, "from memory");
    assert_eq!(at_once(&keystore, "bob", STRONG, IN_PROCESS), RIGHT);
    assert_eq!(unlock(&keystore, "eve", STRONG, bob).await, "eve");

    clock.advance(1_000);
    assert_eq!(unlock(&keystore, "bob", "wrong", bob).await, WRONG);
    assert_eq!(at_once(&keystore, "bob", STRONG, bob), wait(2));
    clock.advance(2_000);
    assert_eq!(at_once(&keystore, "bob", STRONG, bob), RIGHT);
    assert_eq!(unlock(&keystore, "bob", "wrong", bob).await, WRONG, "counted from the beginning");
    assert_eq!(at_once(&keystore, "bob", STRONG, bob), RIGHT);
}

#[tokio::test]
async fn unknown_names_are_counted() {
    let (keystore, _) = keystore().await;
    let long = "n".repeat(2_000);
    for name in ["bob", "nobody", &long] {
        let expected = |text: &str| text.replace("\"bob\"", &esker_primitives::go::quote(name));
        for _ in 0..16 {
            assert_eq!(unlock(&keystore, name, "wrong", client(1)).await, expected(WRONG));
        }
        assert_eq!(at_once(&keystore, name, "wrong", client(1)), expected(&wait(1)));
    }
    // Of an import too, where the password is that of the exported user.
    let blob = keystore.export_user("eve", &password(STRONG), client(1)).await.unwrap();
    for n in 0..17 {
        let imported = keystore.import_user("copy", &password("wrong"), &blob, client(1)).await;
        let expected = if n < 16 { WRONG.to_owned() } else { wait(1) };
        assert_eq!(imported.unwrap_err().to_string(), expected.replace("bob", "copy"));
    }
    keystore.import_user("copy", &password(STRONG), &blob, client(2)).await.unwrap();
}

#[tokio::test]
async fn concurrent_attempts_are_limited() {
    let (keystore, _) = keystore().await;
    let guesses: Vec<_> = (0..48).map(|n| format!("wrong {n}")).collect();
    let tried = guesses.iter().map(|guess| unlock(&keystore, "bob", guess, client(1)));
    let answers = join_all(tried).await;
    let count = |text: &str| answers.iter().filter(|answer| *answer == text).count();
    assert_eq!((count(WRONG), count(&wait(1))), (16, 32), "{answers:?}");
    // Nor do those whose client does not wait for the answer.
    for n in 0..16 {
        assert_eq!(at_once(&keystore, "eve", &format!("wrong {n}"), client(1)), "it waits");
    }
    let eve = at_once(&keystore, "eve", "wrong", client(1));
    assert_eq!(eve, wait(1).replace("bob", "eve"));
}

#[tokio::test]
async fn right_passwords_are_checked_concurrently() {
    let (keystore, _) = keystore().await;
    // None is in memory yet, so that some wait until the first are known to be right.
    let calls = (0..200).map(|_| unlock(&keystore, "bob", STRONG, client(1)));
    assert!(join_all(calls).await.iter().all(|answer| answer == RIGHT));
}
