//! Users in the store.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use esker_primitives::ClientAddress;
use esker_primitives::clock::ManualClock;
use esker_primitives::hash::sha256;
use esker_primitives::keys::PrivateKey;
use esker_primitives::{Clock, Password, Randomness};
use esker_storage::{KvRead, Scope, Store, WriteSet};
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

use crate::attempts::Attempts;
use crate::blob::{ExportedUser, PlainEntries};
use crate::cache::PasswordCache;
use crate::cipher::{self, KEY_LEN, NONCE_LEN, SALT_LEN, SecretKey};
use crate::error::{KeystoreError, MAX_USERS};
use crate::hasher::{HashLimits, Hasher};
use crate::password::{check_name, check_strength};
use crate::tables::{EncryptedValue, USERS, UserKey, UserRecord, VALUES};

/// The users of this node. Made with [`Keystore::new`], or [`Keystore::disabled`], which knows no user.
pub struct Keystore {
    store: Option<Store>,
    randomness: Randomness,
    hasher: Arc<Hasher>,
    attempts: Arc<Attempts>,
    cache: PasswordCache,
    /// Allows one change at a time, so that what a change depends on still holds when it is written.
    changes: Semaphore,
}

/// An unlocked user. It holds the user's data key but no lock: writes to a user that was deleted meanwhile fail.
pub struct User {
    keystore: Arc<Keystore>,
    name: String,
    key: UserKey,
    salt: [u8; SALT_LEN],
    data_key: SecretKey,
}

impl fmt::Debug for Keystore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keystore").field("enabled", &self.store.is_some()).finish_non_exhaustive()
    }
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Keystore {
    /// The keystore of a node. The clock measures how long a client has to wait after wrong passwords.
    pub fn new(
        store: Store,
        randomness: Randomness,
        clock: Arc<dyn Clock>,
        limits: HashLimits,
    ) -> Arc<Self> {
        Self::with(Some(store), randomness, clock, limits)
    }

    /// A keystore that is switched off: methods that take a user find none.
    pub fn disabled() -> Arc<Self> {
        let clock = Arc::new(ManualClock::default());
        Self::with(None, Arc::new(|_: &mut [u8]| {}), clock, HashLimits::default())
    }

    fn with(
        store: Option<Store>,
        randomness: Randomness,
        clock: Arc<dyn Clock>,
        limits: HashLimits,
    ) -> Arc<Self> {
        let mut process_key = SecretKey::default();
        randomness(process_key.as_mut_slice());
        Arc::new(Self {
            store,
            randomness,
            hasher: Arc::new(Hasher::new(limits)),
            attempts: Attempts::new(clock, limits.max_wait),
            cache: PasswordCache::new(process_key),
            changes: Semaphore::new(1),
        })
    }

    /// The hasher of passwords, for metrics.
    pub fn hasher(&self) -> &Arc<Hasher> {
        &self.hasher
    }

    fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        (self.randomness)(&mut bytes);
        bytes
    }

    fn store(&self) -> Result<&Store, KeystoreError> {
        self.store.as_ref().ok_or_else(|| KeystoreError::Unknown("the keystore is off".into()))
    }

    fn record(&self, name: &str) -> Result<Option<UserRecord>, KeystoreError> {
        let reader = self.store()?.snapshot()?;
        Ok(USERS.get(reader.as_ref(), Scope::NODE, &user_key(name))?)
    }

    async fn hash(
        &self,
        client: ClientAddress,
        password: &Password,
        salt: [u8; SALT_LEN],
    ) -> Result<SecretKey, KeystoreError> {
        let password = password.clone();
        let hash = move || cipher::password_key(password.text().as_bytes(), &salt);
        self.hasher.run(client, hash).await
    }

    /// A new user without keys. Checks in the reference's order: name, existence, password.
    pub async fn create_user(
        &self,
        name: &str,
        password: &Password,
        client: ClientAddress,
    ) -> Result<(), KeystoreError> {
        check_name(name)?;
        if self.record(name)?.is_some() {
            return Err(KeystoreError::Exists(name.into()));
        }
        check_strength(password)?;
        self.add(name, password, &Vec::new(), client).await
    }

    /// Writes a new user with its entries, atomically.
    async fn add(
        &self,
        name: &str,
        password: &Password,
        entries: &PlainEntries,
        client: ClientAddress,
    ) -> Result<(), KeystoreError> {
        // Checked before the costly hash.
        self.store()?.ensure_writable()?;
        self.check_room()?;
        let salt = self.random();
        let password_key = self.hash(client, password, salt).await?;
        let key = user_key(name);
        let mut data_key = SecretKey::default();
        (self.randomness)(data_key.as_mut_slice());
        let nonce = self.random();
        let wrapped = cipher::encrypt(&password_key, &nonce, data_key.as_slice(), &key);
        let record = UserRecord { name: name.into(), salt, nonce, wrapped };
        let mut out = WriteSet::default();
        USERS.put(&mut out, Scope::NODE, &key, &record);
        for (entry, plain) in entries {
            self.put_value(&mut out, &key, &data_key, entry, plain);
        }
        let _turn = self.changes.acquire().await.map_err(|_| KeystoreError::Busy)?;
        if self.record(name)?.is_some() {
            return Err(KeystoreError::Exists(name.into()));
        }
        self.check_room()?;
        Ok(self.store()?.commit(out).await?)
    }

    /// Refuses one more user than there may be.
    fn check_room(&self) -> Result<(), KeystoreError> {
        let reader = self.store()?.snapshot()?;
        let mut users = 0;
        USERS.scan(reader.as_ref(), Scope::NODE, &[], None, &mut |_: &[u8], _: &[u8]| {
            users += 1;
            ControlFlow::Continue(())
        })?;
        if users >= MAX_USERS { Err(KeystoreError::TooManyNodeUsers) } else { Ok(()) }
    }

    fn put_value(
        &self,
        out: &mut WriteSet,
        user: &UserKey,
        data_key: &[u8; KEY_LEN],
        entry: &[u8],
        plain: &[u8],
    ) {
        let nonce: [u8; NONCE_LEN] = self.random();
        let ciphertext = cipher::encrypt(data_key, &nonce, plain, &bound_to(user, entry));
        let value = EncryptedValue { nonce, ciphertext };
        VALUES.put(out, Scope::NODE, &(*user, entry.to_vec()), &value);
    }

    /// Unlocks a user. An unknown name and a wrong password cost the same and return the same error; both count
    /// against this name from this address (docs/protocol/keystore.md, "Wrong passwords").
    pub async fn unlock(
        self: &Arc<Self>,
        name: &str,
        password: &Password,
        client: ClientAddress,
    ) -> Result<User, KeystoreError> {
        // As in the reference, a name that is too long counts as unknown.
        if name.is_empty() {
            return Err(KeystoreError::EmptyName);
        }
        let wrong = || KeystoreError::WrongPassword(name.into());
        if self.store.is_none() {
            return Err(wrong());
        }
        let record = self.record(name)?;
        // From here on the password may be compared, so a call that is cancelled counts as a wrong password.
        let attempt = self.attempts.begin(client, name).await?;
        let Some(record) = record else {
            self.hash(client, password, [0; SALT_LEN]).await?;
            return Err(wrong());
        };
        let key = user_key(name);
        let data_key = match self.cache.get(&record.salt, password.text()) {
            Some(data_key) => data_key,
            None => {
                let password_key = self.hash(client, password, record.salt).await?;
                let plain = cipher::decrypt(&password_key, &record.nonce, &record.wrapped, &key)
                    .ok_or_else(wrong)?;
                let data_key: SecretKey = plain
                    .as_slice()
                    .try_into()
                    .map(Zeroizing::new)
                    .map_err(|_| KeystoreError::Damaged)?;
                self.cache.insert(&record.salt, password.text(), &data_key);
                data_key
            }
        };
        attempt.succeed();
        Ok(User { keystore: Arc::clone(self), name: name.into(), key, salt: record.salt, data_key })
    }

    /// Deletes a user and its keys.
    pub async fn delete_user(
        self: &Arc<Self>,
        name: &str,
        password: &Password,
        client: ClientAddress,
    ) -> Result<(), KeystoreError> {
        check_name(name)?;
        if self.record(name)?.is_none() {
            return Err(KeystoreError::Unknown(name.into()));
        }
        let user = self.unlock(name, password, client).await?;
        let _turn = self.changes.acquire().await.map_err(|_| KeystoreError::Busy)?;
        let reader = self.store()?.snapshot()?;
        user.check_alive(reader.as_ref())?;
        let mut out = WriteSet::default();
        USERS.delete(&mut out, Scope::NODE, &user.key);
        VALUES.scan(
            reader.as_ref(),
            Scope::NODE,
            &user.key,
            None,
            &mut |key: &[u8], _: &[u8]| {
                out.delete(&[VALUES.prefix(Scope::NODE).as_slice(), key].concat());
                ControlFlow::Continue(())
            },
        )?;
        drop(reader);
        self.store()?.commit(out).await?;
        self.cache.remove(&user.salt);
        Ok(())
    }

    /// All names, ascending by their bytes.
    pub fn list_users(&self) -> Result<Vec<String>, KeystoreError> {
        let reader = self.store()?.snapshot()?;
        let mut names = Vec::new();
        let mut damaged = None;
        USERS.scan(reader.as_ref(), Scope::NODE, &[], None, &mut |_: &[u8], value: &[u8]| {
            match USERS.value(value) {
                Ok(record) => names.push(record.name),
                Err(error) => damaged = Some(error),
            }
            ControlFlow::Continue(())
        })?;
        if let Some(error) = damaged {
            return Err(error.into());
        }
        names.sort();
        Ok(names)
    }

    /// A user in the form for export. Costs two hashes.
    pub async fn export_user(
        self: &Arc<Self>,
        name: &str,
        password: &Password,
        client: ClientAddress,
    ) -> Result<Vec<u8>, KeystoreError> {
        check_name(name)?;
        let user = self.unlock(name, password, client).await?;
        let entries = user.entries()?;
        let (keystore, password) = (Arc::clone(self), password.clone());
        let export = move || {
            let salt = keystore.random();
            ExportedUser::encrypt(password.text(), salt, &entries, || keystore.random()).to_bytes()
        };
        self.hasher.run(client, export).await
    }

    /// Imports a user that this or another node exported, under a name of the caller's choice. The password
    /// must be the exported user's; its strength is not checked again. A wrong one counts as in [`Keystore::unlock`].
    pub async fn import_user(
        &self,
        name: &str,
        password: &Password,
        exported: &[u8],
        client: ClientAddress,
    ) -> Result<(), KeystoreError> {
        check_name(name)?;
        if self.record(name)?.is_some() {
            return Err(KeystoreError::Exists(name.into()));
        }
        let exported = ExportedUser::parse(exported)?;
        let attempt = self.attempts.begin(client, name).await?;
        let tried = password.clone();
        let open = move || exported.decrypt(tried.text());
        let opened = self.hasher.run(client, open).await?;
        let entries = opened.ok_or_else(|| KeystoreError::WrongPassword(name.into()))?;
        attempt.succeed();
        self.add(name, password, &entries?, client).await
    }
}

impl User {
    /// The user's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A new random private key.
    pub(crate) fn random_key(&self) -> PrivateKey {
        PrivateKey::generate(&mut |bytes: &mut [u8]| (self.keystore.randomness)(bytes))
    }

    fn check_alive(&self, reader: &dyn KvRead) -> Result<(), KeystoreError> {
        // A record of the same name with another salt is another user.
        match USERS.get(reader, Scope::NODE, &self.key)? {
            Some(record) if record.salt == self.salt => Ok(()),
            _ => Err(KeystoreError::Unknown(self.name.clone())),
        }
    }

    fn open_value(
        &self,
        entry: &[u8],
        value: &EncryptedValue,
    ) -> Result<Zeroizing<Vec<u8>>, KeystoreError> {
        let bound = bound_to(&self.key, entry);
        cipher::decrypt(&self.data_key, &value.nonce, &value.ciphertext, &bound)
            .ok_or(KeystoreError::Damaged)
    }

    /// Reads a value from one snapshot.
    pub(crate) fn read(
        &self,
        reader: &dyn KvRead,
        entry: &[u8],
    ) -> Result<Option<Zeroizing<Vec<u8>>>, KeystoreError> {
        VALUES
            .get(reader, Scope::NODE, &(self.key, entry.to_vec()))?
            .map(|value| self.open_value(entry, &value))
            .transpose()
    }

    /// A snapshot in which this user still exists.
    pub(crate) fn snapshot(&self) -> Result<Box<dyn KvRead>, KeystoreError> {
        let reader = self.keystore.store()?.snapshot()?;
        self.check_alive(reader.as_ref())?;
        Ok(reader)
    }

    /// Writes the values that `decide` returns for the user's present values, atomically. The user does not change in between.
    pub(crate) async fn update(
        &self,
        decide: impl FnOnce(&dyn KvRead) -> Result<PlainEntries, KeystoreError>,
    ) -> Result<(), KeystoreError> {
        let _turn = self.keystore.changes.acquire().await.map_err(|_| KeystoreError::Busy)?;
        let out = {
            let reader = self.snapshot()?;
            let mut out = WriteSet::default();
            for (entry, plain) in decide(reader.as_ref())? {
                self.keystore.put_value(&mut out, &self.key, &self.data_key, &entry, &plain);
            }
            out
        };
        if out.is_empty() { Ok(()) } else { Ok(self.keystore.store()?.commit(out).await?) }
    }

    /// All values in the clear, ascending by their keys.
    fn entries(&self) -> Result<PlainEntries, KeystoreError> {
        let reader = self.snapshot()?;
        let mut entries = PlainEntries::new();
        let mut failed = None;
        let mut visit = |key: &[u8], value: &[u8]| -> Result<(), KeystoreError> {
            let ((_, entry), value) = VALUES.entry(key, value)?;
            let plain = self.open_value(&entry, &value)?;
            entries.push((entry, plain));
            Ok(())
        };
        VALUES.scan(
            reader.as_ref(),
            Scope::NODE,
            &self.key,
            None,
            &mut |key: &[u8], value: &[u8]| match visit(key, value) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            },
        )?;
        failed.map_or(Ok(entries), Err)
    }
}

fn user_key(name: &str) -> UserKey {
    sha256(name.as_bytes())
}

/// The associated data of a value: it decrypts only under this user and key.
fn bound_to(user: &UserKey, entry: &[u8]) -> Vec<u8> {
    [user.as_slice(), entry].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_node_has_room_for_so_many_users() {
        let store = Store::memory().unwrap();
        let add = |from: usize, to: usize| {
            let mut out = WriteSet::default();
            for n in from..to {
                let record = UserRecord {
                    name: n.to_string(),
                    salt: [0; SALT_LEN],
                    nonce: [0; NONCE_LEN],
                    wrapped: Vec::new(),
                };
                USERS.put(&mut out, Scope::NODE, &user_key(&record.name), &record);
            }
            store.commit(out)
        };
        add(0, MAX_USERS - 1).await.unwrap();
        let (clock, limits) = (Arc::new(ManualClock::default()), HashLimits::default());
        let keystore = Keystore::new(store.clone(), Arc::new(|_: &mut [u8]| {}), clock, limits);
        let password: Password = "Str0ng-Pass-W0rd!".to_owned().into();
        let client = ClientAddress::IN_PROCESS;
        keystore.create_user("last", &password, client).await.unwrap();
        let exported = keystore.export_user("last", &password, client).await.unwrap();
        let refused = "the node has 10000 users, which is the most: delete one first";
        let error = keystore.create_user("late", &password, client).await.unwrap_err();
        assert_eq!(error.to_string(), refused);
        let error = keystore.import_user("late", &password, &exported, client).await.unwrap_err();
        assert_eq!(error.to_string(), refused);
        keystore.delete_user("last", &password, client).await.unwrap();
        keystore.import_user("late", &password, &exported, client).await.unwrap();
    }
}
