//! Key files: vectors, round trips, and files that must be refused.

use esker_key_directory::{KeyFile, KeyFileError, MAX_FILE_BYTES, ScryptCost};
use esker_primitives::Password;
use proptest::prelude::*;

use crate::support::{cheap, key, password, randomness};

/// The test vectors of the web3 secret storage definition; the addresses are those of the key that both hold.
const WIKI_KEY: &str = "7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d";
const WIKI_PASSWORD: &str = "testpassword";
const PBKDF2: &str = r#"{"address":"008aeeda4d805471df9b2a5b0f38a0c3bcba786b","crypto":{"cipher":"aes-128-ctr","cipherparams":{"iv":"6087dab2f9fdbbfaddc31a909735c1e6"},"ciphertext":"5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46","kdf":"pbkdf2","kdfparams":{"c":262144,"dklen":32,"prf":"hmac-sha256","salt":"ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd"},"mac":"517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2"},"id":"3198bc9c-6672-5ab3-d995-4942343ae5b6","version":3}"#;
const SCRYPT: &str = r#"{"address":"008aeeda4d805471df9b2a5b0f38a0c3bcba786b","crypto":{"cipher":"aes-128-ctr","cipherparams":{"iv":"83dbcc02d8ccb40e466191a123791e0e"},"ciphertext":"d172bf743a674da9cdad04534d56926ef8358534d458fffccd4e6ad2fbde479c","kdf":"scrypt","kdfparams":{"dklen":32,"n":262144,"p":8,"r":1,"salt":"ab0c7876052600dd703518d6fc3fe8984592145b591fc8fb5c6d43190334ba19"},"mac":"2103ac29920d71da29f15d75b4a16dbe95cfd7ff8faea1056c33131d846e3097"},"id":"3198bc9c-6672-5ab3-d995-4942343ae5b6","version":3}"#;

fn hex_key(file: &KeyFile, text: &str) -> Result<String, KeyFileError> {
    file.open(&password(text)).map(|key| hex::encode(key.private_key().as_bytes()))
}

#[test]
fn the_vectors_of_the_definition_open() {
    for vector in [PBKDF2, SCRYPT] {
        let file = KeyFile::parse(vector.as_bytes()).unwrap();
        assert_eq!(hex_key(&file, WIKI_PASSWORD).as_deref(), Ok(WIKI_KEY));
        assert_eq!(hex_key(&file, "Testpassword"), Err(KeyFileError::WrongPassword));
        // The written form is read back as the same file.
        assert_eq!(KeyFile::parse(file.to_json().as_bytes()).as_ref(), Ok(&file));
    }
}

/// Written by eth-account (Python) and ethers (JavaScript).
#[test]
fn files_of_other_wallets_open() {
    for name in ["eth-account-scrypt", "eth-account-pbkdf2", "ethers6"] {
        let path = format!("{}/../../tests/corpus/key_file/{name}", env!("CARGO_MANIFEST_DIR"));
        let file = KeyFile::parse(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(hex_key(&file, "päss"), Ok("11".repeat(32)), "{name}");
    }
}

#[test]
fn members_are_read_as_geth_reads_them() {
    // Any letter case, unknown members, the address with 0x and in capitals.
    let other = SCRYPT
        .replace("\"crypto\"", "\"Crypto\"")
        .replace(
            "008aeeda4d805471df9b2a5b0f38a0c3bcba786b",
            "0x008AEEDA4D805471DF9B2A5B0F38A0C3BCBA786B",
        )
        .replace("\"version\":3", "\"version\":3,\"x-ethers\":{\"client\":\"ethers/6\"}");
    let expected = KeyFile::parse(SCRYPT.as_bytes()).unwrap();
    assert_eq!(KeyFile::parse(other.as_bytes()), Ok(expected));
    // Of a longer derived key only the first 32 bytes count.
    let longer = PBKDF2.replace("\"dklen\":32", "\"dklen\":64");
    assert_eq!(
        hex_key(&KeyFile::parse(longer.as_bytes()).unwrap(), WIKI_PASSWORD).as_deref(),
        Ok(WIKI_KEY)
    );
}

#[test]
fn a_written_file_has_the_form_of_geth() {
    let file = KeyFile::encrypt(&key(1), &password("p"), ScryptCost::LIGHT, &randomness()).unwrap();
    let json = file.to_json();
    let start = format!(
        r#"{{"address":"{:x}","crypto":{{"cipher":"aes-128-ctr","ciphertext":""#,
        key(1).address()
    );
    assert!(json.starts_with(&start), "{json}");
    assert!(
        json.contains(r#""kdf":"scrypt","kdfparams":{"dklen":32,"n":4096,"p":6,"r":8,"salt":""#),
        "{json}"
    );
    assert!(json.ends_with(r#"","version":3}"#), "{json}");
    let id = json.split("\"id\":\"").nth(1).unwrap();
    assert_eq!((&id[8..9], &id[14..15], id.find('"')), ("-", "4", Some(36)), "{id}");
    assert_eq!(hex_key(&file, "p"), Ok("01".repeat(32)));
}

#[test]
fn the_standard_cost_is_that_of_geth() {
    assert_eq!(ScryptCost::new(262_144, 8, 1), Ok(ScryptCost::STANDARD));
}

#[test]
fn files_that_are_refused() {
    let check = |from: &str, to: &str, expected: &str| {
        assert!(SCRYPT.contains(from), "{from}");
        let found = KeyFile::parse(SCRYPT.replace(from, to).as_bytes());
        assert_eq!(found.map(|_| ()).unwrap_err().to_string(), expected, "{from} {to}");
    };
    check("\"version\":3", "\"version\":1", "version not supported: 1");
    check("\"version\":3", "\"x\":3", "version not supported: 0");
    check("008aeeda4d805471df9b2a5b0f38a0c3bcba786b", "", "missing or zero address");
    check("008aeeda4d805471df9b2a5b0f38a0c3bcba786b", &"0".repeat(40), "missing or zero address");
    check("008aeeda4d805471df9b2a5b0f38a0c3bcba786b", "00", "invalid address");
    check("aes-128-ctr", "aes-128-cbc", "cipher not supported: aes-128-cbc");
    check("\"scrypt\"", "\"argon2\"", "unsupported KDF: argon2");
    check("\"dklen\":32", "\"dklen\":16", "invalid dklen");
    check("\"salt\":\"ab", "\"salt\":\"zz", "invalid salt");
    check("\"iv\":\"83", "\"iv\":\"", "invalid iv");
    check("\"ciphertext\":\"d1", "\"ciphertext\":\"d1d1", "invalid ciphertext");
    check("\"mac\":\"21", "\"mac\":\"", "invalid mac");
    for (from, to) in [
        ("\"n\":262144", "\"n\":0"),
        ("\"n\":262144", "\"n\":1"),
        ("\"n\":262144", "\"n\":262143"),
        ("\"r\":1", "\"r\":0"),
        ("\"p\":8", "\"p\":0"),
        ("\"p\":8", "\"x\":8"),
    ] {
        check(from, to, "invalid scrypt parameters");
    }
    let pbkdf2 =
        |from: &str, to: &str| KeyFile::parse(PBKDF2.replace(from, to).as_bytes()).unwrap_err();
    assert_eq!(
        pbkdf2("hmac-sha256", "hmac-sha512").to_string(),
        "unsupported PBKDF2 PRF: hmac-sha512"
    );
    assert_eq!(pbkdf2("262144", "0"), KeyFileError::Member("c"));
    assert_eq!(pbkdf2("262144", "1000000000"), KeyFileError::TooCostly);
    // Long names are not quoted in full.
    let long = SCRYPT.replace("\"scrypt\"", &format!("\"{}\"", "k".repeat(4000)));
    assert!(KeyFile::parse(long.as_bytes()).unwrap_err().to_string().len() < 1000);
}

/// Refused when the file is read, so no memory is ever taken for them.
#[test]
fn hostile_costs_are_refused_before_anything_is_derived() {
    for (n, r, p) in [
        (1u64 << 19, 8u64, 1u64),
        (1 << 18, 8, 3),
        // The table is small, and what is mixed is not.
        (2, 1 << 20, 1),
        (2, 1, (1 << 21) + 1),
        (1 << 18, 9, 1),
        (1 << 63, 1, 1),
        (1 << 63, 1 << 63, 1 << 63),
        (2, 1 << 40, 1),
        (2, 1, 1 << 40),
        (1 << 30, 1 << 30, 1 << 30),
    ] {
        let file =
            SCRYPT.replace(r#""n":262144,"p":8,"r":1"#, &format!(r#""n":{n},"p":{p},"r":{r}"#));
        assert_eq!(KeyFile::parse(file.as_bytes()), Err(KeyFileError::TooCostly), "{n} {r} {p}");
    }
    let huge = SCRYPT.replace("262144", &"9".repeat(100));
    assert!(matches!(KeyFile::parse(huge.as_bytes()), Err(KeyFileError::Json(_))));
}

#[test]
fn hostile_texts_are_refused() {
    let spaces = format!("{SCRYPT}{}", " ".repeat(MAX_FILE_BYTES));
    assert_eq!(KeyFile::parse(spaces.as_bytes()), Err(KeyFileError::TooLong));
    for deep in [
        "[".repeat(MAX_FILE_BYTES),
        "{\"a\":".repeat(MAX_FILE_BYTES / 5),
        "{\"crypto\":".repeat(1000),
    ] {
        assert!(matches!(KeyFile::parse(deep.as_bytes()), Err(KeyFileError::Json(_))));
    }
    let members = SCRYPT.replacen('{', &format!("{{{}", "\"a\":1,".repeat(2000)), 1);
    assert_eq!(KeyFile::parse(members.as_bytes()), KeyFile::parse(SCRYPT.as_bytes()));
    for text in ["", "null", "[]", "5", "\"x\"", "{}", "\u{feff}{}"] {
        assert!(KeyFile::parse(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn a_file_must_hold_the_key_of_its_account() {
    let file = KeyFile::encrypt(&key(1), &password("p"), cheap(), &randomness()).unwrap();
    let (have, want) = (key(1).address(), key(2).address());
    let other = file.to_json().replace(&format!("{have:x}"), &format!("{want:x}"));
    let other = KeyFile::parse(other.as_bytes()).unwrap();
    let error = other.open(&password("p")).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("key content mismatch: have account {have:x}, want {want:x}")
    );
}

#[test]
fn nothing_shows_a_key_or_a_password() {
    let file = KeyFile::encrypt(&key(7), &password("hunter2"), cheap(), &randomness()).unwrap();
    let opened = file.open(&password("hunter2")).unwrap();
    for text in [format!("{opened:?}"), format!("{file:?}"), file.to_json()] {
        assert!(!text.contains("hunter2") && !text.contains(&"07".repeat(8)), "{text}");
    }
}

proptest! {
    #[test]
    fn round_trip(bytes in any::<[u8; 32]>(), text in ".{0,40}", wrong in ".{0,40}", log_n in 1u32..6, r in 1u64..4, p in 1u64..4) {
        let Ok(secret) = esker_primitives::PrivateKey::from_slice(&bytes) else { return Ok(()) };
        let key = esker_evm::accounts::AccountKey::new(secret);
        let cost = ScryptCost::new(1 << log_n, r, p).unwrap();
        let given = Password::from(text.clone());
        let file = KeyFile::encrypt(&key, &given, cost, &randomness()).unwrap();
        let read = KeyFile::parse(file.to_json().as_bytes()).unwrap();
        prop_assert_eq!(&read, &file);
        let opened = read.open(&given).unwrap();
        prop_assert_eq!(opened.private_key().as_bytes(), &bytes);
        if wrong != text {
            prop_assert_eq!(read.open(&wrong.into()).err(), Some(KeyFileError::WrongPassword));
        }
    }

    /// A changed byte is an error when the file is read or opened, or changes nothing that counts.
    #[test]
    fn changed_bytes_never_give_another_key(at in 0usize..600, to in any::<u8>()) {
        let file = KeyFile::encrypt(&key(3), &password("p"), cheap(), &randomness()).unwrap();
        let mut json = file.to_json().into_bytes();
        let at = at % json.len();
        json[at] = to;
        if let Ok(read) = KeyFile::parse(&json)
            && let Ok(opened) = read.open(&password("p"))
        {
            prop_assert_eq!(opened.address(), key(3).address());
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let _ = KeyFile::parse(&bytes);
    }
}
