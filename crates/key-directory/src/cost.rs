//! The limits of the cost of deriving a key from a password.

use pbkdf2::pbkdf2_hmac;
use scrypt::Params;
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::error::KeyFileError;
use crate::limits::{MAX_SCRYPT_MEMORY, MAX_SCRYPT_WORK};

/// Bytes of the derived key: the first half decrypts, the second half proves the password. Of a longer one, only
/// these count.
pub(crate) const DERIVED_LEN: usize = 32;

/// A derived key.
pub(crate) type DerivedKey = Zeroizing<[u8; DERIVED_LEN]>;

/// The cost of scrypt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScryptCost {
    /// The binary logarithm of `n`.
    log_n: u8,
    r: u32,
    p: u32,
}

impl ScryptCost {
    /// geth's standard: 256 MiB, and about a second of a core.
    pub const STANDARD: Self = Self { log_n: 18, r: 8, p: 1 };

    /// geth's light one: 4 MiB and some 100 ms.
    pub const LIGHT: Self = Self { log_n: 12, r: 8, p: 6 };

    /// The cost of these parameters.
    ///
    /// # Errors
    /// They have no meaning, or demand more than [`MAX_SCRYPT_MEMORY`] or [`MAX_SCRYPT_WORK`].
    pub fn new(n: u64, r: u64, p: u64) -> Result<Self, KeyFileError> {
        if n < 2 || !n.is_power_of_two() || r == 0 || p == 0 {
            return Err(KeyFileError::ScryptParameters);
        }
        let product = |factors: [u64; 3]| {
            factors.into_iter().try_fold(1, u64::checked_mul).ok_or(KeyFileError::TooCostly)
        };
        // A table of n blocks, the p blocks that are mixed, and one more.
        let blocks = n.checked_add(p).and_then(|blocks| blocks.checked_add(1));
        let memory = product([128, r, blocks.ok_or(KeyFileError::TooCostly)?])?;
        if memory > MAX_SCRYPT_MEMORY || product([n, r, p])? > MAX_SCRYPT_WORK {
            return Err(KeyFileError::TooCostly);
        }
        // In 32 bits by the bounds.
        let number = |n: u64| u32::try_from(n).map_err(|_| KeyFileError::TooCostly);
        let cost = Self {
            log_n: u8::try_from(n.ilog2()).map_err(|_| KeyFileError::TooCostly)?,
            r: number(r)?,
            p: number(p)?,
        };
        cost.params().map(|_| cost)
    }

    pub(crate) const fn n(self) -> u64 {
        1 << self.log_n
    }

    pub(crate) const fn r(self) -> u32 {
        self.r
    }

    pub(crate) const fn p(self) -> u32 {
        self.p
    }

    fn params(self) -> Result<Params, KeyFileError> {
        Params::new(self.log_n, self.r, self.p).map_err(|_| KeyFileError::ScryptParameters)
    }
}

/// How a key is derived from a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kdf {
    Scrypt(ScryptCost),
    /// PBKDF2 with HMAC-SHA256 and so many rounds.
    Pbkdf2(u32),
}

impl Kdf {
    /// Takes as long as the parameters say.
    pub(crate) fn derive(self, password: &[u8], salt: &[u8]) -> Result<DerivedKey, KeyFileError> {
        let mut key = DerivedKey::default();
        match self {
            Self::Scrypt(cost) => {
                scrypt::scrypt(password, salt, &cost.params()?, key.as_mut_slice())
                    .map_err(|_| KeyFileError::ScryptParameters)?;
            }
            Self::Pbkdf2(rounds) => {
                pbkdf2_hmac::<Sha256>(password, salt, rounds, key.as_mut_slice());
            }
        }
        Ok(key)
    }
}
