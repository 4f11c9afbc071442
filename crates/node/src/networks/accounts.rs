//! Accounts with public private keys: funded on networks for development, worthless elsewhere.

use esker_primitives::{PrivateKey, ShortId};

/// An account with a public private key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// The key, 32 bytes in hex.
    pub key_hex: &'static str,
    /// The C-Chain address of the key, with its checksum in the letter case (EIP-55).
    pub c_address: &'static str,
    /// The X-Chain address of the key on networks with the prefix `local`, without the chain's alias.
    pub local_address: &'static str,
}

impl Account {
    /// The key.
    pub fn key(&self) -> PrivateKey {
        let bytes = hex::decode(self.key_hex).expect("the constants are hex");
        PrivateKey::from_slice(&bytes).expect("the constants are keys")
    }

    /// The address of the key on UTXO chains.
    pub fn address(&self) -> ShortId {
        self.key().address()
    }
}

/// The well-known key of the local network, `PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN`:
/// it owns the second genesis UTXO of the X-Chain and the only genesis balance of the C-Chain.
pub const WELL_KNOWN: Account = Account {
    key_hex: "56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027",
    c_address: "0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC",
    local_address: "local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u",
};

/// [`WELL_KNOWN`] in the text form of private keys.
pub const WELL_KNOWN_KEY: &str = "PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN";

/// The mnemonic that development tools share.
pub const DEV_MNEMONIC: &str = "test test test test test test test test test test test junk";

/// Derivation path of its accounts, without the account's number from 0.
pub const DEV_PATH: &str = "m/44'/60'/0'/0";

/// Balance of each of [`DEV_ACCOUNTS`] at the start of the development network, on each of X and C, in whole units of
/// the native asset.
pub const DEV_BALANCE: u64 = 10_000;

/// The first ten accounts of [`DEV_MNEMONIC`].
pub const DEV_ACCOUNTS: [Account; 10] = [
    Account {
        key_hex: "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
        c_address: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
        local_address: "local15428vq2uzwhm3taey9sr9x5vm6tk78ew499s5v",
    },
    Account {
        key_hex: "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
        c_address: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        local_address: "local1cjzphr67dug28rw9ueewrqllmxlqe5f0unaxss",
    },
    Account {
        key_hex: "5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
        c_address: "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
        local_address: "local1sj3m3zudqkw4plsvm7p08h9q89lsy4wput6fxp",
    },
    Account {
        key_hex: "7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
        c_address: "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
        local_address: "local1y3fgntsaf2cmylsnu3880g7wp6aj73zu2kkjd4",
    },
    Account {
        key_hex: "47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a",
        c_address: "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65",
        local_address: "local1jft4f7x5cajyw6w8vfj9708mx9jfswq0a739vp",
    },
    Account {
        key_hex: "8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba",
        c_address: "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc",
        local_address: "local1syp9y2mlfrrjwdaj5ytezh9wuerwuhncjwye9m",
    },
    Account {
        key_hex: "92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e",
        c_address: "0x976EA74026E726554dB657fA54763abd0C3a0aa9",
        local_address: "local1zyf8ga3p89xmjaxje2ckvtvhjzv7g24s30j6rq",
    },
    Account {
        key_hex: "4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356",
        c_address: "0x14dC79964da2C08b23698B3D3cc7Ca32193d9955",
        local_address: "local1mer4xr0wqlq7v8m678vvx4zeyep20v8rhw76tp",
    },
    Account {
        key_hex: "dbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97",
        c_address: "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f",
        local_address: "local1l5rrv44ufqq97psu2jqx909mdnjapwv0sapt8w",
    },
    Account {
        key_hex: "2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6",
        c_address: "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720",
        local_address: "local14flvw0x8fstzly79tacgsulxvkpv858q9nskex",
    },
];

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, keccak256};
    use esker_primitives::bech32;
    use secp256k1::{PublicKey, Scalar, Secp256k1, SecretKey};
    use sha2::{Digest, Sha512};

    use super::*;

    fn hmac(key: &[u8], message: &[&[u8]]) -> [u8; 64] {
        let mut block = [0; 128];
        match key.len() {
            0..=128 => block[..key.len()].copy_from_slice(key),
            _ => block[..64].copy_from_slice(&Sha512::digest(key)),
        }
        let mut inner = Sha512::new_with_prefix(block.map(|byte| byte ^ 0x36));
        message.iter().for_each(|part| inner.update(part));
        let outer = Sha512::new_with_prefix(block.map(|byte| byte ^ 0x5c));
        outer.chain_update(inner.finalize()).finalize().into()
    }

    /// BIP-39: the mnemonic's seed, without a passphrase.
    fn seed(mnemonic: &str) -> [u8; 64] {
        let mut last = hmac(mnemonic.as_bytes(), &[b"mnemonic", &[0, 0, 0, 1]]);
        let mut seed = last;
        for _ in 1..2048 {
            last = hmac(mnemonic.as_bytes(), &[&last]);
            seed.iter_mut().zip(last).for_each(|(sum, byte)| *sum ^= byte);
        }
        seed
    }

    /// BIP-32: the private key at a path.
    fn derive(seed: &[u8], path: &[u32]) -> SecretKey {
        let split = |hash: [u8; 64]| -> ([u8; 32], [u8; 32]) {
            (hash[..32].try_into().unwrap(), hash[32..].try_into().unwrap())
        };
        let (key, mut chain) = split(hmac(b"Bitcoin seed", &[seed]));
        let mut key = SecretKey::from_byte_array(key).unwrap();
        for index in path {
            let number = index.to_be_bytes();
            let hash = match index >> 31 {
                1 => hmac(&chain, &[&[0], &key.secret_bytes(), &number]),
                _ => hmac(&chain, &[&key.public_key(&Secp256k1::new()).serialize(), &number]),
            };
            let (tweak, next) = split(hash);
            key = key.add_tweak(&Scalar::from_be_bytes(tweak).unwrap()).unwrap();
            chain = next;
        }
        key
    }

    /// EIP-55.
    fn c_address(key: &PublicKey) -> String {
        let hash = keccak256(&key.serialize_uncompressed()[1..]);
        Address::from_slice(&hash[12..]).to_checksum(None)
    }

    #[test]
    fn the_dev_accounts_are_those_of_the_mnemonic() {
        const HARD: u32 = 1 << 31;
        let seed = seed(DEV_MNEMONIC);
        for (index, account) in (0..).zip(DEV_ACCOUNTS) {
            let key = derive(&seed, &[44 | HARD, 60 | HARD, HARD, 0, index]);
            assert_eq!(hex::encode(key.secret_bytes()), account.key_hex);
        }
    }

    #[test]
    fn addresses_are_those_of_the_keys() {
        for account in DEV_ACCOUNTS.iter().chain([&WELL_KNOWN]) {
            let secret = hex::decode(account.key_hex).unwrap();
            let secret = SecretKey::from_byte_array(secret.try_into().unwrap()).unwrap();
            let public = secret.public_key(&Secp256k1::new());
            assert_eq!(c_address(&public), account.c_address);
            let local = bech32::encode("local", account.address().as_bytes());
            assert_eq!(local, account.local_address);
        }
        assert_eq!(WELL_KNOWN.key(), WELL_KNOWN_KEY.parse().unwrap());
    }
}
