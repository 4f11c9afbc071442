//! The private key that a command signs with.

use std::env;
use std::path::{Path, PathBuf};

use alloy_primitives::Address;
use esker_primitives::{PrivateKey, check_secret};
use esker_settings::networks::accounts::Account;
use esker_settings::networks::{DEV_COUNTS, DevOptions, dev_network};
use serde_json::json;
use zeroize::Zeroizing;

use super::OnlineError;
use super::connection::Connection;

/// The variable with a private key.
pub(super) const KEY_VARIABLE: &str = "ESKER_PRIVATE_KEY";

/// The variable with another mnemonic of the development accounts.
const MNEMONIC_VARIABLE: &str = "ESKER_MNEMONIC";

/// Most bytes of a file with a key.
const MAX_FILE_BYTES: u64 = 1024;

/// Whose key signs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signer {
    /// The number of a development account.
    pub from: Option<u32>,
    /// A file with a private key.
    pub private_key_file: Option<PathBuf>,
}

/// A key that signs.
#[derive(Clone, Debug)]
pub(super) struct SigningKey {
    pub(super) key: PrivateKey,
    /// Everybody has it: that of a development account of the usual mnemonic, or the well-known one.
    pub(super) is_public: bool,
}

impl Signer {
    /// The key: of the file, else of the account, else of the variable, else of the first account.
    pub(super) fn key(&self, node: &mut Connection) -> Result<SigningKey, OnlineError> {
        let private = |key| SigningKey { key, is_public: false };
        if let Some(path) = &self.private_key_file {
            return read_key_file(path).map(private);
        }
        if self.from.is_none()
            && let Some(key) = key_of_environment()?
        {
            return Ok(private(key));
        }
        let number = self.from.unwrap_or(0);
        let (_, accounts) = development_accounts(node).map_err(|error| match error {
            OnlineError::NotDevelopment(url) => OnlineError::Key(format!(
                "{url} is not a development node and has no accounts that pay: use --private-key-file or {KEY_VARIABLE}"
            )),
            other => other,
        })?;
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        let account = accounts
            .get(index)
            .ok_or_else(|| no_account("--from", &number.to_string(), &accounts))?;
        let is_public = variable(MNEMONIC_VARIABLE).is_none();
        Ok(SigningKey { key: account.key().clone(), is_public })
    }
}

/// The error of a number that no account has.
pub(super) fn no_account(name: &'static str, text: &str, accounts: &[Account]) -> OnlineError {
    OnlineError::Argument {
        name,
        text: esker_primitives::excerpt(text).into_owned(),
        reason: format!(
            "the node has the accounts 0 to {}: see `esker accounts`",
            accounts.len().saturating_sub(1)
        ),
    }
}

/// The EVM chain of the node's development accounts, and the accounts in the order of their numbers, without the
/// well-known one. They follow from the mnemonic, which `ESKER_MNEMONIC` and `ESKER_DERIVATION_PATH` replace as they do
/// for the node.
pub(super) fn development_accounts(
    node: &mut Connection,
) -> Result<(String, Vec<Account>), OnlineError> {
    let chain = node.development_chain()?;
    let held: Vec<Address> = node.evm(&chain, "evm_accounts", json!([]))?;
    if held.is_empty() {
        return Err(OnlineError::Key(format!(
            "{} has no development accounts, as with --genesis: use --private-key-file or {KEY_VARIABLE}",
            node.url()
        )));
    }
    let (mnemonic, path) = (variable(MNEMONIC_VARIABLE), variable("ESKER_DERIVATION_PATH"));
    let count = u64::try_from(held.len()).unwrap_or(u64::MAX);
    let options = DevOptions {
        count: Some(count.clamp(*DEV_COUNTS.start(), *DEV_COUNTS.end())),
        balance: Some(1),
        mnemonic: mnemonic.as_deref(),
        path: path.as_deref(),
        ..DevOptions::default()
    };
    let network = dev_network(&options).map_err(|error| {
        OnlineError::Key(format!("ESKER_MNEMONIC, ESKER_DERIVATION_PATH: {error}"))
    })?;
    let derived = network.dev_accounts.map(|derived| derived.accounts).unwrap_or_default();
    let found: Vec<_> =
        derived.into_iter().take_while(|account| held.contains(&account.c_address())).collect();
    if found.is_empty() {
        return Err(OnlineError::Key(format!(
            "the accounts of {} are of another mnemonic: set ESKER_MNEMONIC and ESKER_DERIVATION_PATH to the node's, \
             or use --private-key-file",
            node.url()
        )));
    }
    Ok((chain, found))
}

/// The key of the variable, if it is set.
pub(super) fn key_of_environment() -> Result<Option<PrivateKey>, OnlineError> {
    let Some(text) = variable(KEY_VARIABLE).map(Zeroizing::new) else { return Ok(None) };
    parse_key(&text).map(Some).map_err(|why| OnlineError::Key(format!("{KEY_VARIABLE}: {why}")))
}

/// The key that a file has, alone on its line.
pub(super) fn read_key_file(path: &Path) -> Result<PrivateKey, OnlineError> {
    let fault =
        |why: String| OnlineError::Key(format!("--private-key-file {}: {why}", path.display()));
    // Also a pipe, such as that of a command that decrypts the key.
    let file = std::fs::File::open(path).map_err(|error| fault(error.to_string()))?;
    check_secret(&file).map_err(|error| fault(error.to_string()))?;
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_FILE_BYTES as usize));
    let limited = &mut std::io::Read::take(file, MAX_FILE_BYTES);
    std::io::Read::read_to_end(limited, &mut bytes).map_err(|error| fault(error.to_string()))?;
    let text = str::from_utf8(&bytes).unwrap_or_default();
    parse_key(text).map_err(|why| fault(why.to_owned()))
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// A private key in either form. The error never has the text.
fn parse_key(text: &str) -> Result<PrivateKey, &'static str> {
    const FORMS: &str = "no private key: expected PrivateKey-.. or 32 bytes in hex";
    let text = text.trim();
    if text.starts_with(PrivateKey::PREFIX) {
        return text.parse().map_err(|_| FORMS);
    }
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let bytes = Zeroizing::new(hex::decode(digits).map_err(|_| FORMS)?);
    PrivateKey::from_slice(&bytes).map_err(|_| FORMS)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use esker_settings::networks::accounts::well_known;

    use super::*;

    const HEX: &str = "56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027";

    #[test]
    fn keys_in_both_forms() {
        let key = well_known().key().clone();
        let forms = [key.to_text(), HEX.to_owned(), format!("0x{HEX}"), format!(" 0x{HEX}\n")];
        for text in forms {
            assert!(parse_key(&text).is_ok_and(|parsed| parsed == key), "{text}");
        }
        for text in ["", "0x", "PrivateKey-", &HEX[2..], &"00".repeat(32), &"ff".repeat(32)] {
            let error = parse_key(text).unwrap_err();
            assert!(
                error.starts_with("no private key")
                    && (text.is_empty() || !error.contains(&format!("{text} ")))
            );
        }
    }

    #[test]
    fn files_with_keys() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, format!("0x{HEX}\n")).unwrap();
        let set_mode =
            |mode| std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        set_mode(0o644);
        let refused = read_key_file(&path).unwrap_err();
        assert_eq!(refused.exit_code(), 2);
        assert!(refused.to_string().contains("(mode 0644): give it mode 0600"), "{refused}");
        set_mode(0o600);
        assert!(read_key_file(&path).is_ok_and(|key| key == *well_known().key()));
        for content in [&b"\xff"[..], &[b'1'; 5000], b"secret words"] {
            std::fs::write(&path, content).unwrap();
            let error = read_key_file(&path).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        assert!(read_key_file(folder.path()).is_err());
    }
}
