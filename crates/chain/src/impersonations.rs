//! Addresses of a development network for which its node signs without a key (docs/protocol/x-chain-rules.md,
//! "Impersonated addresses").

use std::collections::BTreeSet;

use esker_primitives::ShortId;
use esker_primitives::keys::Signature;
use esker_primitives::sync::Mutex;
use thiserror::Error;

/// Most addresses that are impersonated at a time.
pub const MAX_IMPERSONATED: usize = 10_000;

/// The impersonated addresses. All chains of a node share them.
#[derive(Debug)]
pub struct Impersonations(Mutex<BTreeSet<ShortId>>);

/// There are [`MAX_IMPERSONATED`] addresses already.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("too many addresses are impersonated: at most {MAX_IMPERSONATED}")]
pub struct TooManyImpersonated;

/// A transaction has an impersonated address in place of a signature, and nobody impersonates it.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "a signature is that of an impersonated address, and {address} is not impersonated: call dev.impersonateAddress first"
)]
pub struct NotImpersonated {
    /// The address, in the form of the chain.
    pub address: String,
}

impl Default for Impersonations {
    fn default() -> Self {
        Self(Mutex::new_named("chain.impersonations", BTreeSet::new()))
    }
}

impl Impersonations {
    /// Adds an address. One that is there already changes nothing.
    ///
    /// # Errors
    /// There are too many.
    pub fn add(&self, address: ShortId) -> Result<(), TooManyImpersonated> {
        let mut addresses = self.0.lock();
        if addresses.len() >= MAX_IMPERSONATED && !addresses.contains(&address) {
            return Err(TooManyImpersonated);
        }
        addresses.insert(address);
        Ok(())
    }

    /// Removes an address.
    pub fn remove(&self, address: &ShortId) {
        self.0.lock().remove(address);
    }

    /// All addresses.
    pub fn all(&self) -> BTreeSet<ShortId> {
        self.0.lock().clone()
    }

    /// Replaces all addresses.
    pub fn replace(&self, addresses: BTreeSet<ShortId>) {
        *self.0.lock() = addresses;
    }

    /// The first address that stands in place of a signature and is not impersonated.
    pub fn missing<'a>(
        &self,
        signatures: impl IntoIterator<Item = &'a Signature>,
    ) -> Option<ShortId> {
        let mut named = signatures.into_iter().filter_map(Signature::impersonated);
        named.find(|address| !self.0.lock().contains(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_bounded_and_those_of_signatures_are_found() {
        let address = |n: usize| {
            let mut bytes = [0; ShortId::LEN];
            bytes[..8].copy_from_slice(&n.to_be_bytes());
            ShortId::new(bytes)
        };
        let impersonations = Impersonations::default();
        for n in 0..MAX_IMPERSONATED {
            impersonations.add(address(n)).unwrap();
        }
        assert_eq!(impersonations.add(address(5)), Ok(()));
        assert_eq!(impersonations.add(address(MAX_IMPERSONATED)), Err(TooManyImpersonated));
        let signatures = [Signature::new([7; 65]), Signature::impersonating(&address(3))];
        assert_eq!(impersonations.missing(&signatures), None);
        impersonations.remove(&address(3));
        assert_eq!(impersonations.missing(&signatures), Some(address(3)));
        impersonations.replace(BTreeSet::new());
        assert!(impersonations.all().is_empty());
    }
}
