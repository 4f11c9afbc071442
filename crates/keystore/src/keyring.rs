//! The keys of a user on one chain.

use esker_primitives::codec::{Decode, Encode};
use esker_primitives::hash::sha256;
use esker_primitives::keys::PrivateKey;
use esker_primitives::{ChainId, ShortId};
use esker_storage::KvRead;
use zeroize::Zeroizing;

use crate::blob::PlainEntries;
use crate::error::KeystoreError;
use crate::store::User;
use crate::tables::AddressList;

/// Most addresses that a user may have on one chain.
pub const MAX_ADDRESSES: usize = 5_000;

/// Bytes of an address list's key within its chain; it can't be mistaken for an address.
const LIST_KEY: [u8; 32] = [0; 32];

/// Most bytes of a stored address list.
const MAX_LIST_SIZE: usize = 1 << 20;

/// The 20 bytes that stand for a key.
pub type AddressOf = fn(&PrivateKey) -> ShortId;

/// A user's keys on one chain. Keys of values are the reference's: `sha256(blockchain ID)`, then the
/// address, or 32 zero bytes for the list of addresses.
#[derive(Debug)]
pub struct Keyring<'a> {
    user: &'a User,
    prefix: [u8; 32],
    address_of: AddressOf,
}

impl<'a> Keyring<'a> {
    /// The user's keys on a chain of UTXOs.
    pub fn new(user: &'a User, chain: &ChainId) -> Self {
        Self::with_addresses(user, chain, PrivateKey::address)
    }

    /// The user's keys on a chain that has addresses of its own.
    pub fn with_addresses(user: &'a User, chain: &ChainId, address_of: AddressOf) -> Self {
        Self { user, prefix: sha256(chain.as_bytes()), address_of }
    }

    fn entry(&self, subkey: &[u8]) -> Vec<u8> {
        [self.prefix.as_slice(), subkey].concat()
    }

    fn list(&self, reader: &dyn KvRead) -> Result<AddressList, KeystoreError> {
        match self.user.read(reader, &self.entry(&LIST_KEY))? {
            Some(bytes) => AddressList::from_versioned_bytes(&bytes, MAX_LIST_SIZE)
                .map_err(|_| KeystoreError::Damaged),
            None => Ok(AddressList::default()),
        }
    }

    /// The addresses, in the order in which they came.
    pub fn addresses(&self) -> Result<Vec<ShortId>, KeystoreError> {
        Ok(self.list(self.user.snapshot()?.as_ref())?.0)
    }

    /// The key of an address.
    ///
    /// # Errors
    /// [`KeystoreError::NoKey`] if the user does not have it.
    pub fn key(&self, address: &ShortId) -> Result<PrivateKey, KeystoreError> {
        self.read_key(self.user.snapshot()?.as_ref(), address)
    }

    /// All keys with their addresses, from one snapshot.
    pub fn keys(&self) -> Result<Vec<(ShortId, PrivateKey)>, KeystoreError> {
        let reader = self.user.snapshot()?;
        let reader = reader.as_ref();
        let addresses = self.list(reader)?.0;
        addresses.into_iter().map(|a| Ok((a, self.read_key(reader, &a)?))).collect()
    }

    fn read_key(
        &self,
        reader: &dyn KvRead,
        address: &ShortId,
    ) -> Result<PrivateKey, KeystoreError> {
        let bytes = self.user.read(reader, &self.entry(address.as_bytes()))?;
        Ok(PrivateKey::from_slice(&bytes.ok_or(KeystoreError::NoKey)?)?)
    }

    /// Adds a key, durably; one that is there already changes nothing. Gives its address.
    ///
    /// # Errors
    /// [`KeystoreError::TooManyAddresses`] above [`MAX_ADDRESSES`].
    pub async fn add(&self, key: &PrivateKey) -> Result<ShortId, KeystoreError> {
        let address = (self.address_of)(key);
        let decide = |reader: &dyn KvRead| {
            let mut list = self.list(reader)?;
            if list.0.contains(&address) {
                return Ok(PlainEntries::new());
            }
            if list.0.len() >= MAX_ADDRESSES {
                return Err(KeystoreError::TooManyAddresses(MAX_ADDRESSES));
            }
            list.0.push(address);
            let secret = Zeroizing::new(key.as_bytes().to_vec());
            let list = Zeroizing::new(list.to_versioned_bytes());
            Ok(vec![(self.entry(address.as_bytes()), secret), (self.entry(&LIST_KEY), list)])
        };
        self.user.update(decide).await?;
        Ok(address)
    }

    /// Makes a new random key and adds it.
    pub async fn create(&self) -> Result<ShortId, KeystoreError> {
        let key = self.user.random_key();
        self.add(&key).await
    }
}
