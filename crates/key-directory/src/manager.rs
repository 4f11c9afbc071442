//! The folder as a holder of keys.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use alloy_primitives::{Address, B256, Signature};
use async_trait::async_trait;
use esker_evm::accounts::{AccountError, AccountKey, AccountManager, Wallet};
use esker_keystore::{Attempts, HashLimits, Hasher, KeystoreError};
use esker_primitives::ClientAddress;
use esker_primitives::{Clock, Password, PrivateKey, Randomness};
use esker_rpc::off_thread;

use crate::cost::ScryptCost;
use crate::error::KeyFileError;
use crate::files::{KeyFileEntry, KeyFiles, MAX_FILES_FOR_NEW, WriteError};
use crate::key_file::KeyFile;
use crate::unlocked::{Period, Timers, UnlockedKeys};

/// Settings of a folder of keys.
#[derive(Clone, Debug)]
pub struct KeyDirectoryConfig {
    /// The folder. It is made when its first key comes.
    pub folder: PathBuf,
    /// The cost of new files.
    pub cost: ScryptCost,
    /// Number of passwords that are checked at once, and of calls that wait for that.
    pub limits: HashLimits,
}

/// A folder of encrypted keys, some of them unlocked. Cheap to clone.
#[derive(Clone)]
pub struct KeyDirectory(Arc<Inner>);

struct Inner {
    files: KeyFiles,
    cost: ScryptCost,
    unlocked: UnlockedKeys,
    timers: Timers,
    hasher: Arc<Hasher>,
    attempts: Arc<Attempts>,
    clock: Arc<dyn Clock>,
    randomness: Randomness,
}

impl fmt::Debug for KeyDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyDirectory").field("files", &self.0.files).finish_non_exhaustive()
    }
}

impl KeyDirectory {
    /// Opens a folder. Blocks the calling thread on the disk.
    pub fn open(config: KeyDirectoryConfig, clock: Arc<dyn Clock>, randomness: Randomness) -> Self {
        let KeyDirectoryConfig { folder, cost, limits } = config;
        Self(Arc::new(Inner {
            files: KeyFiles::open(folder),
            cost,
            unlocked: UnlockedKeys::default(),
            timers: Timers::default(),
            hasher: Arc::new(Hasher::new(limits)),
            attempts: Attempts::new(Arc::clone(&clock), limits.max_wait),
            clock,
            randomness,
        }))
    }

    /// The hasher that checks the passwords, for metrics.
    pub fn hasher(&self) -> &Arc<Hasher> {
        &self.0.hasher
    }

    /// The account's key, by its password. `none` is the error where there is no file.
    async fn open_key(
        &self,
        account: Address,
        password: Password,
        client: ClientAddress,
        none: AccountError,
    ) -> Result<AccountKey, AccountError> {
        let inner = Arc::clone(&self.0);
        let found = off_thread(move || inner.files.find(&account)).await.map_err(unavailable)?;
        let key = match found.as_slice() {
            [] => return Err(none),
            [KeyFileEntry { key, .. }] => Arc::clone(key),
            several => return Err(ambiguous(several)),
        };
        let name = key.address().to_string();
        let attempt = self.0.attempts.begin(client, &name).await.map_err(refused)?;
        let open = move || key.open(&password);
        let opened = self.0.hasher.run(client, open).await.map_err(refused)?;
        match opened {
            Ok(key) => {
                attempt.succeed();
                Ok(key)
            }
            Err(KeyFileError::WrongPassword) => {
                drop(attempt);
                tracing::warn!(account = name, "wrong password for an account");
                Err(AccountError::WrongPassword)
            }
            Err(error) => Err(unavailable(error)),
        }
    }
}

#[async_trait]
impl AccountManager for KeyDirectory {
    fn wallets(&self) -> Vec<Wallet> {
        let files = self.0.files.list();
        let now_ms = self.0.clock.now_ms();
        let wallet = |KeyFileEntry { path, key }: KeyFileEntry| Wallet {
            url: format!("keystore://{}", path.display()),
            account: key.address(),
            is_unlocked: self.0.unlocked.contains(&key.address(), now_ms),
        };
        files.into_iter().map(wallet).collect()
    }

    fn holds(&self, account: &Address) -> bool {
        self.0.files.holds(account)
    }

    fn needs_password(&self, _: &Address) -> bool {
        true
    }

    fn sign_hash(&self, account: &Address, hash: &B256) -> Result<Signature, AccountError> {
        match self.0.unlocked.get(account, self.0.clock.now_ms()) {
            Some(key) => Ok(key.sign_hash(hash)),
            None if self.holds(account) => Err(AccountError::Locked),
            None => Err(AccountError::Unknown),
        }
    }

    async fn open(
        &self,
        account: Address,
        password: Password,
        client: ClientAddress,
    ) -> Result<AccountKey, AccountError> {
        self.open_key(account, password, client, AccountError::Unknown).await
    }

    async fn unlock(
        &self,
        account: Address,
        password: Password,
        time: Duration,
        client: ClientAddress,
    ) -> Result<(), AccountError> {
        let key = self.open_key(account, password, client, AccountError::NoKey).await?;
        let account = key.address();
        let period = Period::new(self.0.clock.now_ms(), time);
        if let (true, Some(period)) = (self.0.unlocked.insert(key, period), period) {
            let wipe = wipe_later(Arc::downgrade(&self.0), Arc::clone(&self.0.clock), period);
            self.0.timers.replace(account, tokio::spawn(wipe).abort_handle());
        }
        Ok(())
    }

    fn lock(&self, account: &Address) -> bool {
        self.0.unlocked.remove(account);
        true
    }

    async fn add(
        &self,
        key: Option<PrivateKey>,
        password: Password,
        client: ClientAddress,
    ) -> Result<Address, AccountError> {
        let inner = Arc::clone(&self.0);
        let key =
            key.unwrap_or_else(|| PrivateKey::generate(&mut |bytes| (inner.randomness)(bytes)));
        let key = AccountKey::new(key);
        let account = key.address();
        // Before the costly part.
        let known = Arc::clone(&self.0);
        let has_place = off_thread(move || known.files.check_place(&account)).await;
        has_place.map_err(unavailable)?.map_err(not_written)?;
        // The write goes with the hash: it is done whether or not the caller waits for it.
        let add = move || {
            let file = KeyFile::encrypt(&key, &password, inner.cost, &inner.randomness);
            inner.files.add(file.map_err(unavailable)?, inner.clock.now_ms()).map_err(not_written)
        };
        self.0.hasher.run(client, add).await.map_err(refused)??;
        tracing::info!(%account, "created an account: back up its key file");
        Ok(account)
    }
}

/// Wipes keys when a period ends; whoever asks for one later does so, too.
async fn wipe_later(inner: Weak<Inner>, clock: Arc<dyn Clock>, period: Period) {
    clock.sleep_until(period.until_ms).await;
    if let Some(inner) = inner.upgrade() {
        inner.unlocked.remove_over(clock.now_ms());
    }
}

fn unavailable(error: impl fmt::Display) -> AccountError {
    AccountError::Unavailable(error.to_string())
}

fn ambiguous(several: &[KeyFileEntry]) -> AccountError {
    let paths: Vec<_> = several.iter().map(|found| found.path.display().to_string()).collect();
    unavailable(format!("multiple keys match address ({})", paths.join(", ")))
}

fn refused(error: KeystoreError) -> AccountError {
    unavailable(match error {
        KeystoreError::TooManyWrong { name, wait_s } => format!(
            "too many wrong passwords for account {name} from this address: try again in {wait_s} s"
        ),
        KeystoreError::TooManyUsers { wait_s } => format!(
            "too many wrong passwords for different accounts from this address: try again in {wait_s} s"
        ),
        other => other.to_string(),
    })
}

fn not_written(error: WriteError) -> AccountError {
    match error {
        WriteError::Exists => AccountError::Exists,
        WriteError::Full => unavailable(format!(
            "the folder of keys is full: no new account beyond {MAX_FILES_FOR_NEW} files"
        )),
        WriteError::Io(error) => unavailable(format!("the key can't be written: {error}")),
    }
}
