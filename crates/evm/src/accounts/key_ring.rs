//! Keys in memory.

use std::collections::BTreeMap;
use std::time::Duration;

use alloy_primitives::{Address, B256, Signature, b256};
use async_trait::async_trait;
use esker_primitives::Password;
use esker_primitives::keys::{PrivateKey, PrivateKeyError, PublicKey};
use esker_rpc::ClientAddress;

use super::{AccountError, AccountKey, AccountManager, Wallet};

/// Keys 0 to 9 of the mnemonic `test test test test test test test test test test test junk`, path
/// `m/44'/60'/0'/0/i`: the accounts that every development network of the ecosystem funds
/// (docs/decisions.md, "Development network").
pub const DEV_KEYS: [B256; 10] = [
    b256!("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"),
    b256!("0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"),
    b256!("0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a"),
    b256!("0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6"),
    b256!("0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a"),
    b256!("0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba"),
    b256!("0x92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e"),
    b256!("0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356"),
    b256!("0xdbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97"),
    b256!("0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6"),
];

/// The key of the account that the local network's genesis funds, on both chains.
pub const WELL_KNOWN_KEY: B256 =
    b256!("0x56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027");

/// Accounts whose keys lie in memory, always unlocked.
#[derive(Debug, Default)]
pub struct KeyRing {
    order: Vec<Address>,
    keys: BTreeMap<Address, AccountKey>,
}

impl KeyRing {
    /// The accounts of a development network: those of [`DEV_KEYS`], then that of [`WELL_KNOWN_KEY`].
    pub fn dev() -> Self {
        let keys = DEV_KEYS.iter().chain([&WELL_KNOWN_KEY]);
        Self::new(keys.map(B256::as_slice)).expect("the keys are good ones")
    }

    /// The accounts of these keys, 32 bytes each, in their order.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, PrivateKeyError> {
        let mut ring = Self::default();
        for key in keys {
            let key = PrivateKey::from_slice(key)?;
            let address = address_of_key(&key.public_key());
            if ring.keys.insert(address, AccountKey::new(key)).is_none() {
                ring.order.push(address);
            }
        }
        Ok(ring)
    }
}

#[async_trait]
impl AccountManager for KeyRing {
    /// Their places are no files: `memory://ADDRESS`.
    fn wallets(&self) -> Vec<Wallet> {
        let wallet = |account: &Address| Wallet {
            url: format!("memory://{account:#x}"),
            account: *account,
            is_unlocked: true,
        };
        self.order.iter().map(wallet).collect()
    }

    fn holds(&self, account: &Address) -> bool {
        self.keys.contains_key(account)
    }

    fn sign_hash(&self, account: &Address, hash: &B256) -> Result<Signature, AccountError> {
        Ok(self.keys.get(account).ok_or(AccountError::Unknown)?.sign_hash(hash))
    }

    /// Any password does.
    async fn open(
        &self,
        account: Address,
        _: Password,
        _: ClientAddress,
    ) -> Result<AccountKey, AccountError> {
        self.keys.get(&account).cloned().ok_or(AccountError::Unknown)
    }

    async fn unlock(
        &self,
        account: Address,
        _: Password,
        _: Duration,
        _: ClientAddress,
    ) -> Result<(), AccountError> {
        if self.holds(&account) { Ok(()) } else { Err(AccountError::NoKey) }
    }
}

/// The account of a key: the end of the keccak hash of the uncompressed public key.
pub fn address_of_key(key: &PublicKey) -> Address {
    let point = secp256k1::PublicKey::from_slice(key.as_bytes());
    let point = point.expect("a public key is a point").serialize_uncompressed();
    Address::from_raw_public_key(&point[1..])
}
