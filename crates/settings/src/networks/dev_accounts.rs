//! The accounts of a development network (docs/decisions.md, "Development network").

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use esker_ethereum::genesis::GenesisError;
use thiserror::Error;

use super::accounts::Account;
use super::mnemonic::{self, MnemonicError, PathError};

/// The mnemonic that development tools share.
pub const DEV_MNEMONIC: &str = "test test test test test test test test test test test junk";

/// Derivation path of its accounts, without the account's number from 0.
pub const DEV_PATH: &str = "m/44'/60'/0'/0";

/// Default number of accounts of a development network.
const DEV_COUNT: u32 = 10;

/// Default balance of each account on each of X and C, in whole units of the native asset.
const DEV_BALANCE: u64 = 10_000;

/// Numbers of accounts that a development network can have.
pub const DEV_COUNTS: RangeInclusive<u64> = 1..=1000;

/// Times at which a development network can begin, Unix seconds: not before the X-Chain's genesis, and a year before
/// the last time of a bundle.
pub const DEV_START_TIMES: RangeInclusive<u64> = DEV_TIME_S..=253_370_764_800;

/// Start of the local network, 2020-12-05T05:00:00Z.
pub(super) const DEV_TIME_S: u64 = 1_607_144_400;

/// Genesis balance of the well-known key, in whole units.
pub(super) const WELL_KNOWN_UNITS: u64 = 300_000_000;

/// Most whole units that the accounts can get: one is left for fees.
pub(super) const MAX_FUNDS: u64 = WELL_KNOWN_UNITS - 1;

/// The reason why a development network can't have these options.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DevError {
    /// The mnemonic.
    #[error(transparent)]
    Mnemonic(#[from] MnemonicError),
    /// The derivation path.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The number of accounts.
    #[error("expected a whole number from {} to {}", DEV_COUNTS.start(), DEV_COUNTS.end())]
    Count,
    /// The balances exceed the funds of the X-Chain.
    #[error(
        "{count} accounts can get at most {most} units each: the X-Chain's genesis has {MAX_FUNDS} for all of them"
    )]
    Balance {
        /// Number of accounts.
        count: u64,
        /// Most units of each.
        most: u64,
    },
    /// The start.
    #[error("expected Unix seconds from {least} to {}", DEV_START_TIMES.end())]
    StartTime {
        /// The earliest start.
        least: u64,
    },
    /// Accounts of a file.
    #[error(transparent)]
    Alloc(#[from] GenesisError),
}

/// The accounts of a development network, all with the same balance on X and on C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DevAccounts {
    /// The mnemonic, with single spaces.
    pub mnemonic: String,
    /// The derivation path, without the account's number.
    pub path: String,
    /// Balance of each account on each of X and C, in whole units of the native asset.
    pub balance: u64,
    /// The accounts, in the order of their numbers.
    pub accounts: Vec<Account>,
}

/// The user's changes of a development network; `None`: the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DevOptions<'a> {
    /// Number of accounts.
    pub count: Option<u64>,
    /// Balance of each, in whole units of the native asset.
    pub balance: Option<u64>,
    /// Mnemonic of the accounts.
    pub mnemonic: Option<&'a str>,
    /// Derivation path, without the account's number.
    pub path: Option<&'a str>,
    /// Start of the C-Chain, Unix seconds.
    pub start_time_s: Option<u64>,
}

impl DevAccounts {
    /// The ten accounts of [`DEV_MNEMONIC`].
    pub fn usual() -> &'static Self {
        static USUAL: LazyLock<DevAccounts> = LazyLock::new(|| {
            let words = mnemonic::words(DEV_MNEMONIC).expect("the constant is a mnemonic");
            let path = mnemonic::path(DEV_PATH).expect("the constant is a path");
            DevAccounts {
                mnemonic: DEV_MNEMONIC.to_owned(),
                path: DEV_PATH.to_owned(),
                balance: DEV_BALANCE,
                accounts: mnemonic::accounts(&words, &path, DEV_COUNT),
            }
        });
        &USUAL
    }

    pub(super) fn from_options(options: &DevOptions<'_>) -> Result<Self, DevError> {
        let accounts = Self::without_limit(options)?;
        let count = accounts.accounts.len() as u64;
        let most = MAX_FUNDS / count;
        if accounts.balance > most {
            return Err(DevError::Balance { count, most });
        }
        Ok(accounts)
    }

    /// Accounts of a network that has no X-Chain, which would limit their balances.
    pub(super) fn without_limit(options: &DevOptions<'_>) -> Result<Self, DevError> {
        let count = options.count.unwrap_or(DEV_COUNT.into());
        let balance = options.balance.unwrap_or(DEV_BALANCE);
        if !DEV_COUNTS.contains(&count) {
            return Err(DevError::Count);
        }
        let words = mnemonic::words(options.mnemonic.unwrap_or(DEV_MNEMONIC))?;
        let path = mnemonic::path(options.path.unwrap_or(DEV_PATH))?;
        let usual = Self::usual();
        let (mnemonic, path_text) = (words.to_string(), path.to_string());
        if (&mnemonic, &path_text, count) == (&usual.mnemonic, &usual.path, DEV_COUNT.into()) {
            return Ok(Self { balance, ..usual.clone() });
        }
        let count = u32::try_from(count).map_err(|_| DevError::Count)?;
        let accounts = mnemonic::accounts(&words, &path, count);
        Ok(Self { mnemonic, path: path_text, balance, accounts })
    }

    /// The members of the accounts in the C-Chain's genesis, in the form of its file.
    pub(super) fn allocations(&self) -> String {
        let wei = u128::from(self.balance) * 10_u128.pow(18);
        let member = |account: &Account| {
            let address = account.c_address().to_string();
            format!(r#""{}":{{"balance":"{wei:#x}"}}"#, address.trim_start_matches("0x"))
        };
        self.accounts.iter().map(member).collect::<Vec<_>>().join(",")
    }
}
