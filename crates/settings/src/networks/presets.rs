//! The known networks. Their genesis bytes are data (`crates/settings/genesis`) from the reference's genesis builder;
//! `dev-c.json` is ours.

use bytes::Bytes;
use esker_evm_execution::rules::{FeeOverrides, ForkSchedule};
use esker_primitives::network::{self, LOCAL_ID, MAIN_ID, TEST_ID};
use esker_xvm::genesis::{Genesis, GenesisError, primary};
use thiserror::Error;

use super::coin::Coin;
use super::dev_accounts::{DEV_TIME_S, DevAccounts};
use super::parameters::{ChainParameters, EvmParameters, EvmRules, Fees};
use super::spec::{ChainSpec, Network};
use super::validators::Validators;

/// Aliases of the X-Chain. The first is the prefix of its addresses. The reference's `avm` stays in the list, because
/// clients expect it.
pub(super) const X_ALIASES: [&str; 2] = ["X", "avm"];

/// Aliases of the C-Chain.
pub(super) const C_ALIASES: [&str; 2] = ["C", "evm"];

/// Base fee of the development network, wei (docs/decisions.md, "Development network").
const DEV_BASE_FEE: u64 = 1_000_000_000;

/// Gas limit of its blocks, as in anvil and Hardhat.
const DEV_GAS_LIMIT: u64 = 30_000_000;

/// What the member of the CREATE2 deployer begins with, the first of the development network's contracts.
const DEPLOYER: &str = "\"4e59b44847b379578588920cA78FbF26c0B4956C\"";

/// A known network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// The main network, 1.
    Main,
    /// The test network, 5.
    Test,
    /// The local network, 12345, in the form of the reference's v1.12.0.
    Local,
    /// The development network (docs/decisions.md, "Development network"): ID and X-Chain of the local network, more
    /// accounts on the C-Chain.
    Dev,
}

impl Preset {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Main, Self::Test, Self::Local, Self::Dev];

    /// Its name in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Test => "test",
            Self::Local => "local",
            Self::Dev => "dev",
        }
    }

    /// The preset of a name, ours or the reference's.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "main" | "mainnet" => Some(Self::Main),
            "test" | "testnet" | "fuji" => Some(Self::Test),
            "local" => Some(Self::Local),
            "dev" => Some(Self::Dev),
            _ => None,
        }
    }

    /// Its ID.
    pub const fn id(self) -> u32 {
        match self {
            Self::Main => MAIN_ID,
            Self::Test => TEST_ID,
            Self::Local | Self::Dev => LOCAL_ID,
        }
    }

    /// Its start, Unix seconds.
    const fn start_time_s(self) -> u64 {
        match self {
            // 2020-09-10T00:00:00Z.
            Self::Main | Self::Test => 1_599_696_000,
            // The time of the C-Chain's genesis.
            Self::Local | Self::Dev => DEV_TIME_S,
        }
    }

    /// C-Chain genesis of [`Preset::Dev`].
    pub(super) const DEV_C_GENESIS: &str = include_str!("../../genesis/dev-c.json");

    /// X-Chain and C-Chain genesis.
    const fn genesis(self) -> (&'static [u8], &'static [u8]) {
        match self {
            Self::Main => (
                include_bytes!("../../genesis/main-x.bin"),
                include_bytes!("../../genesis/main-c.json"),
            ),
            Self::Test => (
                include_bytes!("../../genesis/test-x.bin"),
                include_bytes!("../../genesis/test-c.json"),
            ),
            Self::Local => (
                include_bytes!("../../genesis/local-x.bin"),
                include_bytes!("../../genesis/local-c.json"),
            ),
            Self::Dev => {
                (include_bytes!("../../genesis/local-x.bin"), Self::DEV_C_GENESIS.as_bytes())
            }
        }
    }

    /// The network.
    pub fn network(self) -> Network {
        self.with_c_genesis(Bytes::from_static(self.genesis().1))
    }

    /// The network with another C-Chain genesis.
    pub(super) fn with_c_genesis(self, c: Bytes) -> Network {
        let x = (Bytes::from_static(self.genesis().0), Fees::of_network(self.id()));
        let network = primary_network(self.name(), self.id(), x, (c, self.c_parameters()))
            .expect("the embedded genesis bytes are valid");
        let dev_accounts = (self == Self::Dev).then(|| DevAccounts::usual().clone());
        let has_controls = dev_accounts.is_some();
        Network { start_time_s: self.start_time_s(), has_controls, dev_accounts, ..network }
    }

    /// The preset with this ID and this C-Chain genesis.
    pub(super) fn with_c_chain(id: u32, genesis: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.id() == id && preset.genesis().1 == genesis)
    }

    /// Chain ID and fork times are the reference's constants. The genesis does not override them.
    pub(super) fn c_parameters(self) -> EvmParameters {
        let (chain_id, schedule) = match self {
            Self::Main => (43114, ForkSchedule::MAIN),
            Self::Test => (43113, ForkSchedule::TEST),
            Self::Local | Self::Dev => (43112, ForkSchedule::LOCAL),
        };
        let rules = EvmRules::CChain { schedule, fees: self.fee_overrides() };
        EvmParameters { chain_id, rules, coin: Coin::Native, genesis_number: 0 }
    }

    /// On the development network blocks are larger, the base fee is constant, and blocks in quick succession cost nothing
    /// extra.
    fn fee_overrides(self) -> FeeOverrides {
        match self {
            Self::Main | Self::Test | Self::Local => FeeOverrides::default(),
            Self::Dev => FeeOverrides {
                gas_limit: Some(DEV_GAS_LIMIT),
                target_gas: Some(u64::MAX),
                min_base_fee: Some(DEV_BASE_FEE),
                block_gas_cost_step: Some(0),
            },
        }
    }
}

/// The reason why a genesis is not that of a primary network's X-Chain.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum PrimaryGenesisError {
    #[error(transparent)]
    Genesis(#[from] GenesisError),
    #[error("the genesis has no asset")]
    NoAsset,
}

/// The contracts of a development network, as members of the `alloc` of a genesis.
pub(super) fn dev_contracts(has_deployer: bool) -> &'static str {
    let file = Preset::DEV_C_GENESIS;
    // The last members of the file's.
    let from = file.find(DEPLOYER).expect("the file has the deployer");
    let end = file[from..].find("}}").expect("an object ends");
    let members = &file[from..=from + end];
    match has_deployer {
        true => members,
        false => members.split_once("},").expect("another one follows").1,
    }
}

/// A network of X and C that starts in 1970.
///
/// # Errors
/// The X genesis is invalid.
pub(super) fn primary_network(
    name: &str,
    id: u32,
    (x, x_fees): (Bytes, Fees),
    (c, c_parameters): (Bytes, EvmParameters),
) -> Result<Network, PrimaryGenesisError> {
    let native = Genesis::parse(&x)?.fee_asset_id();
    let chain = |id, name: &str, aliases: [&str; 2], genesis, parameters| ChainSpec {
        id,
        name: name.to_owned(),
        aliases: aliases.map(str::to_owned).to_vec(),
        genesis,
        parameters,
    };
    let (x_id, c_id) = (primary::x_chain_id(id, &x), primary::c_chain_id(id, &c));
    Ok(Network {
        name: name.to_owned(),
        id,
        hrp: network::hrp(id),
        start_time_s: 0,
        native_asset_id: native.ok_or(PrimaryGenesisError::NoAsset)?,
        chains: vec![
            chain(x_id, "X-Chain", X_ALIASES, x, ChainParameters::Xvm(x_fees)),
            chain(c_id, "C-Chain", C_ALIASES, c, ChainParameters::Evm(Box::new(c_parameters))),
        ],
        has_controls: false,
        exported: Vec::new(),
        dev_accounts: None,
        fixture: None,
        validators: Validators::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::accounts::well_known;
    use super::*;

    /// docs/protocol/x-chain-genesis.md, "Known networks": X-Chain, native asset, C-Chain, genesis block; bytes and
    /// hash of the genesis.
    const TABLE: [(Preset, [&str; 4], usize, &str); 3] = [
        (
            Preset::Main,
            [
                "2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM",
                "FvwEAhmxKfeiG8SnEvq42hc6whRyY3EFYAvebMqDNDGCgxN5Z",
                "2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5",
                "V8kYdATLoVjUBazVjEHy1dWurk2PcnhERSWnwmcNwirdsBb1S",
            ],
            296_910,
            "2632795e2ae7c2b73b3c672e5bd69452f70e4f456718bcc29216f214ccd09b92",
        ),
        (
            Preset::Test,
            [
                "2JVSBoinj9C2J33VntvzYtVJNZdN2NKiwwKjcumHUWEb5DbBrm",
                "U8iRqJoiJm8xZHAacmvYyZVwqQx6uDNtQeP3CQ6fcgQk3JqnK",
                "yH8D7ThNJkxmtkuv2jgBa4P1Rn3Qpr4pPr7QYNfcdoS6k6HWp",
                "2tCdy3dRsf6rYG7jtBNSyANQ6StrAEYpCDMLBQyGRLF8wG5KPK",
            ],
            770,
            "b87f5236bbfe099dadcdc5d9d0c12115cff550460027c4fffd7f4a82a3813b03",
        ),
        (
            Preset::Local,
            [
                "2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed",
                "2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe",
                "2owdGqyG6FFzTHy5qhenDXQcEghvr571KZE3gSfRJERSJinuwC",
                "2R2UY2pZMQr8nR9ywCdqn97Lp5a6hceqtLXkag6vH7KQSVvmst",
            ],
            226,
            "cf485302d76193ce96e2ca42955a01a2c5a1e6c277ba3708e86a707c25c5e815",
        ),
    ];

    /// Contracts of the development network: address, nonce, and the hash of their code on the Ethereum main network.
    const DEV_CONTRACTS: [(&str, &str, &str); 2] = [
        // The CREATE2 deployer.
        (
            "0x4e59b44847b379578588920cA78FbF26c0B4956C",
            "0x1",
            "0x2fa86add0aed31f33a762c9d88e807c475bd51d0f52bd0955754b2608f7e4989",
        ),
        // Multicall3.
        (
            "0xcA11bde05977b3631167028862bE2a173976CA11",
            "0x1",
            "0xd5c15df687b16f2ff992fc8d767b4216323184a2bbc6ee2f9c398c318e770891",
        ),
    ];

    #[test]
    fn the_presets_have_the_references_ids() {
        for (preset, ids, bytes, hash) in TABLE {
            let network = preset.network();
            let (x, c) = (network.x_chain().unwrap(), network.evm_chain());
            let block = primary::x_genesis_block(network.id, x.id);
            let got = [x.id, network.native_asset_id, c.id, block.id()].map(|id| id.to_string());
            assert_eq!(got, ids, "{preset:?}");
            assert_eq!(x.genesis.len(), bytes);
            assert_eq!(hex::encode(esker_primitives::hash::sha256(&x.genesis)), hash);
        }
    }

    #[test]
    fn the_development_network_is_local_but_for_the_c_chain() {
        let (dev, local) = (Preset::Dev.network(), Preset::Local.network());
        assert_eq!(dev.id, local.id);
        assert_eq!(dev.x_chain(), local.x_chain());
        assert_eq!(dev.native_asset_id, local.native_asset_id);
        assert_ne!(dev.evm_chain().id, local.evm_chain().id);

        let json = |network: &Network| -> serde_json::Value {
            serde_json::from_slice(&network.evm_chain().genesis).unwrap()
        };
        let (mut dev, mut local) = (json(&dev), json(&local));
        let mut alloc = dev["alloc"].take();
        assert_eq!(dev["config"]["chainId"], 43_112);
        for account in &DevAccounts::usual().accounts {
            let address = account.c_address().to_string();
            let entry = alloc.as_object_mut().unwrap().remove(&address[2..]).unwrap();
            assert_eq!(entry, serde_json::json!({"balance": "0x21e19e0c9bab2400000"}));
        }
        for (address, nonce, code_hash) in DEV_CONTRACTS {
            let entry = alloc.as_object_mut().unwrap().remove(&address[2..]).unwrap();
            let code = hex::decode(&entry["code"].as_str().unwrap()[2..]).unwrap();
            assert_eq!(alloy_primitives::keccak256(code).to_string(), code_hash, "{address}");
            assert_eq!((&entry["balance"], &entry["nonce"]), (&"0x0".into(), &nonce.into()));
        }
        let well_known = well_known().c_address().to_string();
        assert!(alloc.get(&well_known[2..]).is_some());
        assert_eq!(local["alloc"].take(), alloc);
        assert_eq!(dev, local);
    }

    #[test]
    fn fees_of_networks() {
        assert_eq!(Preset::Main.network().x_fees().create_asset_tx_fee, 10_000_000);
        assert_eq!(Preset::Local.network().x_fees().create_asset_tx_fee, 1_000_000);
    }
}
