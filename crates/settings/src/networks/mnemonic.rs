//! Accounts from a mnemonic: BIP-39 words, BIP-32 keys.

use std::str::FromStr;

use bip32::{ChildNumber, DerivationPath, XPrv};
use bip39::{Language, Mnemonic};
use esker_primitives::{PrivateKey, excerpt};
use thiserror::Error;

use super::accounts::Account;

/// Most bytes of a mnemonic: 24 words of at most 8 letters, and spaces to spare.
const MAX_MNEMONIC_BYTES: usize = 1000;

/// Most numbers of a path. BIP-32 allows 255, each of which costs every start a multiplication.
const MAX_PATH_NUMBERS: usize = 16;

/// The reason why a mnemonic can't be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MnemonicError {
    /// It is longer than any mnemonic.
    #[error("expected 12, 15, 18, 21 or 24 words, at most {MAX_MNEMONIC_BYTES} bytes")]
    TooLong,
    /// It has another number of words.
    #[error("expected 12, 15, 18, 21 or 24 words, found {0}")]
    Count(usize),
    /// A word is not in the list.
    #[error("word {number}, \"{word}\", is not in the English word list of BIP-39")]
    Word {
        /// Its number, from 1.
        number: usize,
        /// At most 100 characters of it.
        word: String,
    },
    /// The checksum of the words is wrong.
    #[error("wrong checksum: a word is wrong or in the wrong place")]
    Checksum,
}

/// The reason why a derivation path can't be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PathError {
    /// The text is not a path.
    #[error("expected a path such as m/44'/60'/0'/0, to which the account's number is added")]
    Form,
    /// It is too long.
    #[error("expected at most {MAX_PATH_NUMBERS} numbers, found {0}")]
    Length(usize),
}

/// The English words, separated by single spaces.
///
/// # Errors
/// They are no mnemonic.
pub(super) fn words(text: &str) -> Result<Mnemonic, MnemonicError> {
    if text.len() > MAX_MNEMONIC_BYTES {
        return Err(MnemonicError::TooLong);
    }
    Mnemonic::parse_in_normalized(Language::English, text).map_err(|error| match error {
        bip39::Error::UnknownWord(index) => {
            let word = text.split_whitespace().nth(index).unwrap_or_default();
            MnemonicError::Word { number: index + 1, word: excerpt(word).into_owned() }
        }
        bip39::Error::InvalidChecksum => MnemonicError::Checksum,
        _ => MnemonicError::Count(text.split_whitespace().count()),
    })
}

/// The words that stand for this randomness of 16, 20, 24, 28 or 32 bytes; `None` for another length.
pub fn mnemonic_of(entropy: &[u8]) -> Option<String> {
    Mnemonic::from_entropy(entropy).ok().map(|words| words.to_string())
}

/// A path, with or without a slash at its end.
///
/// # Errors
/// It is no path, or too long.
pub(super) fn path(text: &str) -> Result<DerivationPath, PathError> {
    let text = text.strip_suffix('/').unwrap_or(text);
    let path = DerivationPath::from_str(text).map_err(|_| PathError::Form)?;
    match path.len() {
        0..=MAX_PATH_NUMBERS => Ok(path),
        more => Err(PathError::Length(more)),
    }
}

/// The first accounts below a path.
pub(super) fn accounts(mnemonic: &Mnemonic, path: &DerivationPath, count: u32) -> Vec<Account> {
    const POSSIBLE: &str = "a key fails with a probability below 2^-127";
    let seed = mnemonic.to_seed_normalized("");
    let parent = XPrv::derive_from_path(seed, path).expect(POSSIBLE);
    let account = |index| {
        let number = ChildNumber::new(index, false).expect("the number is below 2^31");
        let key = parent.derive_child(number).expect(POSSIBLE).to_bytes();
        Account::new(PrivateKey::from_slice(&key).expect("a derived key is a key"))
    };
    (0..count).map(account).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(phrase: &str, below: &str, count: u32) -> Vec<String> {
        let accounts = accounts(&words(phrase).unwrap(), &path(below).unwrap(), count);
        accounts.iter().map(Account::key_hex).collect()
    }

    fn first_address(phrase: &str, below: &str) -> String {
        let accounts = accounts(&words(phrase).unwrap(), &path(below).unwrap(), 1);
        accounts[0].c_address().to_string()
    }

    const ABANDON: &str = "abandon abandon abandon abandon abandon abandon abandon abandon abandon \
                           abandon abandon about";

    #[test]
    fn other_mnemonics_and_paths_have_their_known_accounts() {
        // The first account that wallets show for these phrases.
        for (phrase, address) in [
            (ABANDON, "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"),
            (
                "legal winner thank year wave sausage worth useful legal winner thank yellow",
                "0x58A57ed9d8d624cBD12e2C467D34787555bB1b25",
            ),
        ] {
            assert_eq!(first_address(phrase, "m/44'/60'/0'/0"), address, "{phrase}");
        }
    }

    #[test]
    fn a_path_may_end_with_a_slash_and_mark_numbers_with_h() {
        let usual = keys(ABANDON, "m/44'/60'/0'/0", 2);
        assert_eq!(keys(ABANDON, "m/44'/60'/0'/0/", 2), usual);
        assert_eq!(keys(ABANDON, "m/44h/60h/0h/0", 2), usual);
        assert_ne!(keys(ABANDON, "m/44'/60'/0'/1", 2), usual);
        // A larger number of accounts begins with the same ones.
        assert_eq!(keys(ABANDON, "m/44'/60'/0'/0", 5)[..2], usual);
    }

    #[test]
    fn words_may_have_further_spaces_between_them() {
        let spaced = format!("  {}\n", ABANDON.replace(' ', "   "));
        assert_eq!(first_address(&spaced, "m"), first_address(ABANDON, "m"));
    }

    #[test]
    fn faulty_mnemonics() {
        let fault = |text: &str| words(text).unwrap_err().to_string();
        assert_eq!(fault(""), "expected 12, 15, 18, 21 or 24 words, found 0");
        assert_eq!(fault("test test junk"), "expected 12, 15, 18, 21 or 24 words, found 3");
        assert_eq!(
            fault(&ABANDON.replace("about", "abuot")),
            "word 12, \"abuot\", is not in the English word list of BIP-39"
        );
        assert_eq!(
            fault(&ABANDON.replace("about", "abandon")),
            "wrong checksum: a word is wrong or in the wrong place"
        );
        assert_eq!(words(&"abandon ".repeat(1000)), Err(MnemonicError::TooLong));
        let long = fault(&ABANDON.replace("about", &"x".repeat(500)));
        assert!(long.contains("...") && long.len() < 200, "{long}");
    }

    #[test]
    fn faulty_paths() {
        for bad in ["", "/", "44'/60'", "m/", "m/x", "m//0", "m/-1", "m/2147483648", "m/0''"] {
            // `m/` is the root with a slash.
            let expected = if bad == "m/" { Ok(0) } else { Err(PathError::Form) };
            assert_eq!(path(bad).map(|path| path.len()), expected, "{bad}");
        }
        assert_eq!(path(&format!("m{}", "/0".repeat(16))).unwrap().len(), 16);
        assert_eq!(path(&format!("m{}", "/0".repeat(17))), Err(PathError::Length(17)));
    }
}
