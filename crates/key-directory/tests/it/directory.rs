//! Unlocking, signing and guessing.

use std::net::Ipv4Addr;
use std::time::Duration;

use alloy_primitives::{Address, B256};
use esker_evm::accounts::{AccountError, AccountManager as _, recover_signer};
use esker_primitives::ClientAddress;

use crate::support::{Opened, key, open, password, private_key};

const CLIENT: ClientAddress = ClientAddress::IN_PROCESS;
const HASH: B256 = B256::repeat_byte(7);

async fn with_account() -> (Opened, Address) {
    let opened = open();
    let account = opened.keys.add(Some(private_key(1)), password("p"), CLIENT).await.unwrap();
    (opened, account)
}

async fn unlock(opened: &Opened, account: Address, text: &str, seconds: u64) -> Result<(), String> {
    let time = Duration::from_secs(seconds);
    let unlocked = opened.keys.unlock(account, password(text), time, CLIENT).await;
    unlocked.map_err(|error| error.to_string())
}

#[tokio::test]
async fn an_account_signs_while_it_is_unlocked() {
    let (opened, account) = with_account().await;
    let sign = || opened.keys.sign_hash(&account, &HASH);
    assert_eq!(sign(), Err(AccountError::Locked));
    assert_eq!(opened.keys.sign_hash(&key(9).address(), &HASH), Err(AccountError::Unknown));
    assert_eq!(
        unlock(&opened, account, "x", 10).await.unwrap_err(),
        "could not decrypt key with given password"
    );
    assert_eq!(
        unlock(&opened, key(9).address(), "p", 10).await.unwrap_err(),
        "no key for given address or file"
    );
    assert_eq!(sign(), Err(AccountError::Locked));

    unlock(&opened, account, "p", 10).await.unwrap();
    let signature = sign().unwrap();
    let rs: [u8; 64] = signature.as_bytes()[..64].try_into().unwrap();
    assert_eq!(recover_signer(&HASH, &rs, signature.v()), Some(account));
    assert!(opened.keys.wallets()[0].is_unlocked);
    opened.clock.advance(9_999);
    sign().unwrap();
    opened.clock.advance(1);
    assert_eq!(sign(), Err(AccountError::Locked));
    assert!(!opened.keys.wallets()[0].is_unlocked);

    unlock(&opened, account, "p", 10).await.unwrap();
    assert!(opened.keys.lock(&account) && opened.keys.lock(&key(9).address()));
    assert_eq!(sign(), Err(AccountError::Locked));
}

#[tokio::test]
async fn the_last_time_counts_unless_one_had_no_end() {
    let (opened, account) = with_account().await;
    let sign = || opened.keys.sign_hash(&account, &HASH);
    unlock(&opened, account, "p", 100).await.unwrap();
    unlock(&opened, account, "p", 10).await.unwrap();
    opened.clock.advance(10_000);
    assert_eq!(sign(), Err(AccountError::Locked), "it was shortened");
    unlock(&opened, account, "p", 10).await.unwrap();
    opened.clock.advance(5_000);
    unlock(&opened, account, "p", 100).await.unwrap();
    opened.clock.advance(50_000);
    sign().unwrap();
    unlock(&opened, account, "p", 0).await.unwrap();
    unlock(&opened, account, "p", 1).await.unwrap();
    opened.clock.advance(1_000_000_000_000);
    sign().unwrap();
    opened.keys.lock(&account);
    unlock(&opened, account, "p", 9_223_372_036).await.unwrap();
    opened.clock.advance(1_000_000_000_000);
    sign().unwrap();
}

#[tokio::test]
async fn keys_are_wiped_at_their_time_without_being_asked_for() {
    let (opened, account) = with_account().await;
    unlock(&opened, account, "p", 10).await.unwrap();
    unlock(&opened, account, "p", 20).await.unwrap();
    // One timer: the earlier one is gone.
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(opened.clock.sleepers(), 1);
    opened.keys.lock(&account);
    drop(opened.keys);
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(opened.clock.sleepers(), 0, "none outlives the folder");
}

#[tokio::test]
async fn a_clock_that_is_set_back_far_locks() {
    let (opened, account) = with_account().await;
    unlock(&opened, account, "p", 10).await.unwrap();
    let now = 1_700_000_000_000;
    opened.clock.set(now - 60_000);
    opened.keys.sign_hash(&account, &HASH).unwrap();
    opened.clock.set(now - 60_001);
    assert_eq!(opened.keys.sign_hash(&account, &HASH), Err(AccountError::Locked));
}

#[tokio::test]
async fn the_zero_address_means_the_only_account() {
    let (opened, account) = with_account().await;
    unlock(&opened, Address::ZERO, "p", 10).await.unwrap();
    opened.keys.sign_hash(&account, &HASH).unwrap();
    assert!(!opened.keys.holds(&Address::ZERO));
    opened.keys.add(Some(private_key(2)), password("p"), CLIENT).await.unwrap();
    let error = unlock(&opened, Address::ZERO, "p", 10).await.unwrap_err();
    assert!(error.starts_with("multiple keys match address ("), "{error}");
}

#[tokio::test]
async fn guessing_is_slowed_by_account_and_address() {
    let (opened, account) = with_account().await;
    let [guesser, owner] =
        [1, 2].map(|n| ClientAddress::from_peer(Some(Ipv4Addr::new(127, 0, 0, n).into())));
    let try_as = async |client, text: &str| {
        let opened = opened.keys.open(account, password(text), client).await;
        opened.map(|_| ()).map_err(|error| error.to_string())
    };
    for _ in 0..16 {
        let wrong = try_as(guesser, "x").await.unwrap_err();
        assert_eq!(wrong, "could not decrypt key with given password");
    }
    // The right password, too: otherwise the answer would tell.
    let refused = format!(
        "too many wrong passwords for account {account} from this address: try again in 1 s"
    );
    assert_eq!(try_as(guesser, "p").await, Err(refused.clone()));
    let unlocked = opened.keys.unlock(account, password("p"), Duration::ZERO, guesser).await;
    assert_eq!(unlocked.unwrap_err().to_string(), refused);
    // Another client, and another account, do not wait.
    try_as(owner, "p").await.unwrap();
    opened.keys.add(Some(private_key(2)), password("q"), CLIENT).await.unwrap();
    opened.keys.open(key(2).address(), password("q"), guesser).await.unwrap();
    opened.clock.advance(1_000);
    try_as(guesser, "p").await.unwrap();
    try_as(guesser, "x").await.unwrap_err();
    try_as(guesser, "p").await.unwrap();
}
