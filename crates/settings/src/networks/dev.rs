//! The network of `esker dev` (docs/decisions.md, "Development network").

use alloy_primitives::hex;
use esker_ethereum::genesis::Genesis as EthereumGenesis;
use esker_evm_execution::rules::{CChainRules, Rules as _};

use super::dev_accounts::{DEV_START_TIMES, DEV_TIME_S, DevAccounts, DevError, DevOptions};
use super::parameters::{EvmParameters, EvmRules};
use super::presets::Preset;
use super::spec::Network;

/// Gas limit of the genesis file, and of block 0 of networks that earlier versions began.
const DEV_GENESIS_GAS: u64 = 100_000_000;

/// Extra data of the genesis file.
const DEV_EXTRA_DATA: &[u8] = &[0];

/// Length of a fee window in a header (docs/protocol/c-chain-fees.md, "Fee window"). Ape looks at the extra data of
/// block 0. If block 0 has none, Ape refuses headers with more than 32 bytes of it.
const FEE_WINDOW_BYTES: usize = 80;

/// Block 0 of a development network's C-Chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevStart {
    /// Its time, Unix seconds.
    pub time_s: u64,
    /// Whether its extra data is a fee window, as in the next blocks. In earlier versions it was a single byte.
    pub has_fee_window: bool,
}

impl DevStart {
    /// The start of a network that begins at this time, Unix seconds.
    pub const fn at(time_s: u64) -> Self {
        Self { time_s, has_fee_window: true }
    }
}

/// The development network with these options. Without options it is [`Preset::Dev`].
///
/// # Errors
/// An option can't be had.
pub fn dev_network(options: &DevOptions<'_>) -> Result<Network, DevError> {
    let accounts = DevAccounts::from_options(options)?;
    let start_time_s = options.start_time_s.unwrap_or(DEV_TIME_S);
    if !DEV_START_TIMES.contains(&start_time_s) {
        return Err(DevError::StartTime { least: *DEV_START_TIMES.start() });
    }
    // The text of the file with some values replaced: the same options always give the same bytes.
    let genesis = Preset::DEV_C_GENESIS
        .replacen(&DevAccounts::usual().allocations(), &accounts.allocations(), 1)
        .replacen(&time_member(DEV_TIME_S), &time_member(start_time_s), 1);
    let network = Preset::Dev.with_c_genesis(genesis.into());
    Ok(Network { start_time_s, dev_accounts: Some(accounts), ..network })
}

/// The genesis' member for its time, Unix seconds.
pub(super) fn time_member(seconds: u64) -> String {
    format!(r#""timestamp":"0x{seconds:X}""#)
}

/// The genesis' member for its gas limit.
fn gas_limit_member(gas_limit: u64) -> String {
    format!(r#""gasLimit":"{gas_limit:#x}""#)
}

/// The genesis' member for its extra data.
fn extra_data_member(extra: &[u8]) -> String {
    format!(r#""extraData":"{}""#, hex::encode_prefixed(extra))
}

impl Network {
    /// Gas limit of the EVM chain's blocks at a time, Unix seconds.
    pub fn gas_limit_at(&self, time_s: u64) -> u64 {
        let EvmParameters { chain_id, rules, .. } = self.evm_parameters();
        match rules {
            EvmRules::CChain { schedule, fees } => {
                let rules = CChainRules::new(*chain_id, *schedule, *fees);
                rules.phase_at(time_s).map_or(DEV_GENESIS_GAS, |phase| phase.gas_limit)
            }
            EvmRules::Ethereum(_) => self.ethereum_genesis().fields.gas_limit,
        }
    }

    /// Base fee of the EVM chain's first block, wei.
    pub fn initial_base_fee(&self) -> u64 {
        let EvmParameters { chain_id, rules, .. } = self.evm_parameters();
        match rules {
            EvmRules::CChain { schedule, fees } => {
                CChainRules::new(*chain_id, *schedule, *fees).initial_base_fee().saturating_to()
            }
            EvmRules::Ethereum(_) => {
                let base_fee = self.ethereum_genesis().fields.base_fee;
                base_fee.unwrap_or_default().saturating_to()
            }
        }
    }

    /// The fork of the EVM chain's first block, if it has Ethereum's rules.
    pub fn hardfork(&self) -> Option<&'static str> {
        match &self.evm_parameters().rules {
            EvmRules::CChain { .. } => None,
            EvmRules::Ethereum(_) => Some(self.ethereum_genesis().fork().name()),
        }
    }

    fn ethereum_genesis(&self) -> EthereumGenesis {
        EthereumGenesis::parse(&self.evm_chain().genesis).expect("the network was made of it")
    }

    /// A development network whose EVM chain's block 0 has this start and the gas limit of the blocks after it. The IDs
    /// of its chains do not depend on the start.
    #[must_use]
    pub fn beginning_at(mut self, start: DevStart) -> Self {
        let gas_limit = self.gas_limit_at(start.time_s);
        let start_time_s = self.start_time_s;
        let chain = self.evm_chain_mut();
        let mut genesis = String::from_utf8_lossy(&chain.genesis)
            .replacen(&time_member(start_time_s), &time_member(start.time_s), 1)
            .replacen(&gas_limit_member(DEV_GENESIS_GAS), &gas_limit_member(gas_limit), 1);
        if start.has_fee_window {
            // The extra data from which the first block's fees follow, whatever the genesis has there.
            let window = extra_data_member(&[0; FEE_WINDOW_BYTES]);
            genesis = genesis.replacen(&extra_data_member(DEV_EXTRA_DATA), &window, 1);
        }
        chain.genesis = genesis.into();
        self.start_time_s = start.time_s;
        self
    }
}

#[cfg(test)]
mod tests {
    use esker_evm_execution::rules::FeeOverrides;
    use serde_json::{Value, json};

    use super::super::dev_accounts::DEV_MNEMONIC;
    use super::*;
    use crate::networks::accounts::well_known;

    fn alloc(network: &Network) -> serde_json::Map<String, Value> {
        let genesis: Value = serde_json::from_slice(&network.evm_chain().genesis).unwrap();
        genesis["alloc"].as_object().unwrap().clone()
    }

    /// Key, address on C, address on X: the values of every development tool.
    const KNOWN: [(&str, &str, &str); 10] = [
        (
            "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
            "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
            "local15428vq2uzwhm3taey9sr9x5vm6tk78ew499s5v",
        ),
        (
            "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
            "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
            "local1cjzphr67dug28rw9ueewrqllmxlqe5f0unaxss",
        ),
        (
            "5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
            "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
            "local1sj3m3zudqkw4plsvm7p08h9q89lsy4wput6fxp",
        ),
        (
            "7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
            "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
            "local1y3fgntsaf2cmylsnu3880g7wp6aj73zu2kkjd4",
        ),
        (
            "47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a",
            "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65",
            "local1jft4f7x5cajyw6w8vfj9708mx9jfswq0a739vp",
        ),
        (
            "8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba",
            "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc",
            "local1syp9y2mlfrrjwdaj5ytezh9wuerwuhncjwye9m",
        ),
        (
            "92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e",
            "0x976EA74026E726554dB657fA54763abd0C3a0aa9",
            "local1zyf8ga3p89xmjaxje2ckvtvhjzv7g24s30j6rq",
        ),
        (
            "4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356",
            "0x14dC79964da2C08b23698B3D3cc7Ca32193d9955",
            "local1mer4xr0wqlq7v8m678vvx4zeyep20v8rhw76tp",
        ),
        (
            "dbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97",
            "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f",
            "local1l5rrv44ufqq97psu2jqx909mdnjapwv0sapt8w",
        ),
        (
            "2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6",
            "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720",
            "local14flvw0x8fstzly79tacgsulxvkpv858q9nskex",
        ),
    ];

    #[test]
    fn the_usual_accounts_are_those_of_every_development_tool() {
        let usual = DevAccounts::usual();
        assert_eq!((usual.accounts.len(), usual.balance), (10, 10_000));
        for (account, (key, c_address, local_address)) in usual.accounts.iter().zip(KNOWN) {
            assert_eq!(account.key_hex(), key);
            assert_eq!(account.c_address().to_string(), c_address);
            assert_eq!(account.local_address(), local_address);
        }
    }

    #[test]
    fn without_options_it_is_the_preset() {
        let (usual, preset) = (dev_network(&DevOptions::default()).unwrap(), Preset::Dev.network());
        assert_eq!(usual.chains, preset.chains);
        assert_eq!(usual.start_time_s, preset.start_time_s);
        assert_eq!(usual.dev_accounts.as_ref(), Some(DevAccounts::usual()));
        assert_eq!(preset.dev_accounts, usual.dev_accounts);
        // The same values as options give the same network.
        let options = DevOptions {
            count: Some(10),
            balance: Some(10_000),
            mnemonic: Some(DEV_MNEMONIC),
            path: Some("m/44'/60'/0'/0/"),
            start_time_s: Some(DEV_TIME_S),
        };
        assert_eq!(dev_network(&options).unwrap().chains, preset.chains);
    }

    #[test]
    fn options_change_the_genesis() {
        let options = DevOptions {
            count: Some(12),
            balance: Some(7),
            start_time_s: Some(1_900_000_000),
            ..DevOptions::default()
        };
        let (network, preset) = (dev_network(&options).unwrap(), Preset::Dev.network());
        assert_eq!(network.x_chain(), preset.x_chain());
        assert_ne!(network.evm_chain().id, preset.evm_chain().id);
        assert_eq!(network.start_time_s, 1_900_000_000);
        let genesis: Value = serde_json::from_slice(&network.evm_chain().genesis).unwrap();
        assert_eq!(genesis["timestamp"], "0x713FB300");
        let accounts = network.dev_accounts.as_ref().unwrap();
        assert_eq!(accounts.accounts.len(), 12);
        assert_eq!(accounts.accounts[..10], DevAccounts::usual().accounts);
        let (mut given, mut rest) = (alloc(&network), alloc(&preset));
        for account in &accounts.accounts {
            let member = given.remove(&account.c_address().to_string()[2..]);
            assert_eq!(member, Some(json!({"balance": "0x6124fee993bc0000"})));
        }
        for account in &DevAccounts::usual().accounts {
            rest.remove(&account.c_address().to_string()[2..]).unwrap();
        }
        assert!(given.contains_key(&well_known().c_address().to_string()[2..]));
        assert_eq!(given, rest);
    }

    #[test]
    fn a_beginning_changes_time_gas_limit_and_extra_data_of_block_0_and_no_id() {
        let genesis = |network: &Network| {
            esker_evm_execution::genesis::Genesis::parse(&network.evm_chain().genesis).unwrap()
        };
        for start_time_s in [None, Some(1_900_000_000)] {
            let options = DevOptions { start_time_s, ..DevOptions::default() };
            let network = dev_network(&options).unwrap();
            for has_fee_window in [true, false] {
                let start = DevStart { time_s: 2_000_000_000, has_fee_window };
                let begun = network.clone().beginning_at(start);
                assert_eq!(begun.start_time_s, 2_000_000_000);
                let (before, after) = (genesis(&network), genesis(&begun));
                assert_eq!((after.timestamp, after.gas_limit), (2_000_000_000, 30_000_000));
                let extra = if has_fee_window { &[0; 80][..] } else { &[0] };
                assert_eq!(&after.extra_data[..], extra);
                let changed = esker_evm_execution::genesis::Genesis {
                    timestamp: after.timestamp,
                    gas_limit: after.gas_limit,
                    extra_data: after.extra_data.clone(),
                    ..before
                };
                assert_eq!(changed, after);
                let ids =
                    |network: &Network| network.chains.iter().map(|c| c.id).collect::<Vec<_>>();
                assert_eq!(ids(&network), ids(&begun));
                assert_eq!(network.fingerprint(), begun.fingerprint());
            }
        }
        // With `--gas-limit`, and with the rules of exact fees.
        for (gas_limit, expected) in [(Some(7_000_000), 7_000_000), (None, 15_000_000)] {
            let mut network = dev_network(&DevOptions::default()).unwrap();
            let fees = FeeOverrides { gas_limit, ..network.evm_parameters().fees() };
            network.evm_parameters_mut().set_fees(fees);
            let begun = network.beginning_at(DevStart::at(DEV_TIME_S));
            assert_eq!(genesis(&begun).gas_limit, expected);
        }
    }

    #[test]
    fn each_option_has_bounds() {
        let fault = |options: DevOptions<'_>| dev_network(&options).unwrap_err().to_string();
        let usual = DevOptions::default();
        for count in [0, 1001, u64::MAX] {
            let text = fault(DevOptions { count: Some(count), ..usual });
            assert_eq!(text, "expected a whole number from 1 to 1000");
        }
        let largest = dev_network(&DevOptions { count: Some(1000), ..usual }).unwrap();
        assert_eq!(largest.dev_accounts.unwrap().accounts.len(), 1000);
        assert!(dev_network(&DevOptions { balance: Some(29_999_999), ..usual }).is_ok());
        for balance in [30_000_000, u64::MAX] {
            assert_eq!(
                fault(DevOptions { balance: Some(balance), ..usual }),
                "10 accounts can get at most 29999999 units each: the X-Chain's genesis has 299999999 for all of them"
            );
        }
        for start_time_s in [0, 1_607_144_399, 253_370_764_801] {
            let text = fault(DevOptions { start_time_s: Some(start_time_s), ..usual });
            assert_eq!(text, "expected Unix seconds from 1607144400 to 253370764800");
        }
        let text = fault(DevOptions { mnemonic: Some("test junk"), ..usual });
        assert_eq!(text, "expected 12, 15, 18, 21 or 24 words, found 2");
        assert!(fault(DevOptions { path: Some("44"), ..usual }).contains("m/44'/60'/0'/0"));
    }
}
