//! Accounts with public private keys: funded on networks for development, worthless elsewhere.

use alloy_primitives::Address;
use esker_evm::accounts::address_of_key;
use esker_primitives::network::{self, LOCAL_ID};
use esker_primitives::{PrivateKey, ShortId, bech32};

/// An account whose key is public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account(PrivateKey);

impl Account {
    /// The account of this key.
    pub const fn new(key: PrivateKey) -> Self {
        Self(key)
    }

    /// The key.
    pub const fn key(&self) -> &PrivateKey {
        &self.0
    }

    /// The key, 32 bytes in hex.
    pub fn key_hex(&self) -> String {
        hex::encode(self.0.as_bytes())
    }

    /// The address of the key on UTXO chains.
    pub fn address(&self) -> ShortId {
        self.0.address()
    }

    /// The address of the key on networks with the prefix `local`, without a chain's alias.
    pub fn local_address(&self) -> String {
        bech32::encode(network::hrp(LOCAL_ID), self.address().as_bytes())
    }

    /// The address of the key on EVM chains. Its text has the checksum in the letter case (EIP-55).
    pub fn c_address(&self) -> Address {
        address_of_key(&self.0.public_key())
    }
}

/// The well-known key of the local network: it owns the second genesis UTXO of the X-Chain and the only genesis balance
/// of the C-Chain.
pub const WELL_KNOWN_KEY: &str = "PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN";

/// The account of [`WELL_KNOWN_KEY`].
pub fn well_known() -> Account {
    Account(WELL_KNOWN_KEY.parse().expect("the constant is a key"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_the_well_known_key() {
        let account = well_known();
        assert_eq!(
            account.key_hex(),
            "56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027"
        );
        assert_eq!(account.c_address().to_string(), "0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC");
        assert_eq!(account.local_address(), "local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u");
    }
}
