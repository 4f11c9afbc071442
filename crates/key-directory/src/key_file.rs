//! One key file: web3 secret storage, version 3.

use aes::Aes128;
use aes::cipher::{KeyIvInit, StreamCipher};
use alloy_primitives::{Address, keccak256};
use ctr::Ctr128BE;
use esker_evm::accounts::AccountKey;
use esker_primitives::{Password, PrivateKey, Randomness};
use serde::Deserialize;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use crate::cost::{DERIVED_LEN, Kdf, ScryptCost};
use crate::error::KeyFileError;
use crate::limits::{MAX_FILE_BYTES, MAX_PBKDF2_ROUNDS};

/// The version that is read and written.
const VERSION: u64 = 3;
/// The only cipher of version 3.
const CIPHER: &str = "aes-128-ctr";
/// The only function of PBKDF2 that files have.
const PRF: &str = "hmac-sha256";
/// Bytes of the initial counter.
const IV_LEN: usize = 16;
/// Bytes of a salt that is written.
const SALT_LEN: usize = 32;
/// Longest name of a file that is kept: a UUID.
const MAX_ID: usize = 64;
/// Bytes of the proof.
const MAC_LEN: usize = 32;

/// A key file. Its key is encrypted; [`KeyFile::open`] takes the password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFile {
    address: Address,
    /// Names the file for wallets; means nothing here. A long one is dropped.
    id: String,
    kdf: Kdf,
    salt: Vec<u8>,
    iv: [u8; IV_LEN],
    ciphertext: [u8; PrivateKey::LEN],
    mac: [u8; MAC_LEN],
}

// Members are matched in any letter case, as Go does: some wallets write `Crypto`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RawFile {
    address: String,
    crypto: RawCrypto,
    id: String,
    version: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawCrypto {
    cipher: String,
    ciphertext: String,
    cipherparams: RawCipherParams,
    kdf: String,
    kdfparams: RawKdfParams,
    mac: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawCipherParams {
    iv: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawKdfParams {
    dklen: u64,
    salt: String,
    n: u64,
    r: u64,
    p: u64,
    c: u64,
    prf: String,
}

impl KeyFile {
    /// Reads a file; total on any bytes, and quick.
    pub fn parse(json: &[u8]) -> Result<Self, KeyFileError> {
        if json.len() > MAX_FILE_BYTES {
            return Err(KeyFileError::TooLong);
        }
        let raw: RawFile =
            esker_go_json::decode(json).map_err(|error| KeyFileError::Json(error.to_string()))?;
        if raw.version != VERSION {
            return Err(KeyFileError::Version(raw.version));
        }
        let address = address(&raw.address)?;
        let RawCrypto { cipher, ciphertext, cipherparams, kdf, kdfparams, mac } = raw.crypto;
        if cipher != CIPHER {
            return Err(KeyFileError::Cipher(cipher));
        }
        let kdf = kdf_of(&kdf, &kdfparams)?;
        let salt = hex::decode(&kdfparams.salt).map_err(|_| KeyFileError::Member("salt"))?;
        Ok(Self {
            address,
            id: if raw.id.len() > MAX_ID { String::new() } else { raw.id },
            kdf,
            salt,
            iv: fixed(&cipherparams.iv, "iv")?,
            ciphertext: fixed(&ciphertext, "ciphertext")?,
            mac: fixed(&mac, "mac")?,
        })
    }

    /// The account, as the file says; [`Self::open`] makes sure of it.
    pub fn address(&self) -> Address {
        self.address
    }

    /// The key. Takes the time and the memory that the file asks for, within the bounds of this crate.
    pub fn open(&self, password: &Password) -> Result<AccountKey, KeyFileError> {
        let derived = self.kdf.derive(password.text().as_bytes(), &self.salt)?;
        if !bool::from(mac(&derived, &self.ciphertext).ct_eq(&self.mac)) {
            return Err(KeyFileError::WrongPassword);
        }
        let mut plain = Zeroizing::new(self.ciphertext);
        crypt(&derived, &self.iv, plain.as_mut_slice());
        let key = PrivateKey::from_slice(plain.as_slice()).map_err(|_| KeyFileError::InvalidKey)?;
        let key = AccountKey::new(key);
        let (have, want) = (key.address(), self.address);
        if have == want { Ok(key) } else { Err(KeyFileError::OtherAccount { have, want }) }
    }

    /// A file of the key. Takes the time and the memory of the cost.
    pub fn encrypt(
        key: &AccountKey,
        password: &Password,
        cost: ScryptCost,
        randomness: &Randomness,
    ) -> Result<Self, KeyFileError> {
        let (mut salt, mut iv, mut id) = ([0; SALT_LEN], [0; IV_LEN], [0; 16]);
        randomness(&mut salt);
        randomness(&mut iv);
        randomness(&mut id);
        let kdf = Kdf::Scrypt(cost);
        let derived = kdf.derive(password.text().as_bytes(), &salt)?;
        let mut ciphertext = *key.private_key().as_bytes();
        crypt(&derived, &iv, &mut ciphertext);
        let mac = mac(&derived, &ciphertext);
        let (address, salt) = (key.address(), salt.to_vec());
        Ok(Self { address, id: random_uuid(id), kdf, salt, iv, ciphertext, mac })
    }

    /// The file's text, with geth's members in geth's order.
    pub fn to_json(&self) -> String {
        let salt = hex::encode(&self.salt);
        let (kdf, params) = match self.kdf {
            Kdf::Scrypt(cost) => {
                let (n, p, r) = (cost.n(), cost.p(), cost.r());
                (
                    "scrypt",
                    format!(r#""dklen":{DERIVED_LEN},"n":{n},"p":{p},"r":{r},"salt":"{salt}""#),
                )
            }
            Kdf::Pbkdf2(c) => (
                "pbkdf2",
                format!(r#""c":{c},"dklen":{DERIVED_LEN},"prf":"{PRF}","salt":"{salt}""#),
            ),
        };
        let id = serde_json::Value::from(self.id.as_str());
        let [address, ciphertext, iv, mac] =
            [self.address.as_slice(), &self.ciphertext, &self.iv, &self.mac].map(hex::encode);
        format!(
            r#"{{"address":"{address}","crypto":{{"cipher":"{CIPHER}","ciphertext":"{ciphertext}","cipherparams":{{"iv":"{iv}"}},"kdf":"{kdf}","kdfparams":{{{params}}},"mac":"{mac}"}},"id":{id},"version":{VERSION}}}"#
        )
    }
}

fn kdf_of(name: &str, params: &RawKdfParams) -> Result<Kdf, KeyFileError> {
    if params.dklen < DERIVED_LEN as u64 {
        return Err(KeyFileError::Member("dklen"));
    }
    match name {
        "scrypt" => ScryptCost::new(params.n, params.r, params.p).map(Kdf::Scrypt),
        "pbkdf2" if params.prf != PRF => Err(KeyFileError::Prf(params.prf.clone())),
        "pbkdf2" if params.c > MAX_PBKDF2_ROUNDS => Err(KeyFileError::TooCostly),
        "pbkdf2" => match u32::try_from(params.c) {
            Ok(rounds @ 1..) => Ok(Kdf::Pbkdf2(rounds)),
            Ok(0) | Err(_) => Err(KeyFileError::Member("c")),
        },
        other => Err(KeyFileError::Kdf(other.to_owned())),
    }
}

fn address(text: &str) -> Result<Address, KeyFileError> {
    let bare = text.strip_prefix("0x").or(text.strip_prefix("0X")).unwrap_or(text);
    if bare.is_empty() {
        return Err(KeyFileError::NoAddress);
    }
    let address = Address::from(fixed(bare, "address")?);
    if address.is_zero() { Err(KeyFileError::NoAddress) } else { Ok(address) }
}

fn fixed<const N: usize>(text: &str, name: &'static str) -> Result<[u8; N], KeyFileError> {
    let mut bytes = [0; N];
    hex::decode_to_slice(text, &mut bytes).map_err(|_| KeyFileError::Member(name))?;
    Ok(bytes)
}

/// The proof that a derived key is that of the ciphertext.
fn mac(derived: &[u8; DERIVED_LEN], ciphertext: &[u8; PrivateKey::LEN]) -> [u8; MAC_LEN] {
    let mut bytes = Zeroizing::new([0; DERIVED_LEN / 2 + PrivateKey::LEN]);
    bytes[..DERIVED_LEN / 2].copy_from_slice(&derived[DERIVED_LEN / 2..]);
    bytes[DERIVED_LEN / 2..].copy_from_slice(ciphertext);
    keccak256(bytes.as_slice()).0
}

/// Encrypts or decrypts in place.
fn crypt(derived: &[u8; DERIVED_LEN], iv: &[u8; IV_LEN], bytes: &mut [u8]) {
    let mut key = [0; DERIVED_LEN / 2];
    key.copy_from_slice(&derived[..DERIVED_LEN / 2]);
    Ctr128BE::<Aes128>::new(&key.into(), iv.into()).apply_keystream(bytes);
    key.zeroize();
}

/// A UUID of version 4.
fn random_uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let text = hex::encode(bytes);
    format!("{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..])
}
