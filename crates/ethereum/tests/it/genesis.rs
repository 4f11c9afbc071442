//! The first block of the recorded chain, and files that are none.

use alloy_primitives::{B256, U256};
use esker_ethereum::block::Header;
use esker_ethereum::forks::{BlockRule, ChainConfig, Fork};
use esker_ethereum::genesis::Genesis;
use esker_ethereum::system::system_contracts;
use proptest::prelude::*;

use crate::file;

fn text() -> String {
    String::from_utf8(file("genesis.json")).unwrap()
}

fn refused(from: &str, to: &str) -> String {
    let changed = text().replace(from, to);
    assert_ne!(changed, text(), "{from}");
    Genesis::parse(changed.as_bytes()).unwrap_err().to_string()
}

#[test]
fn the_recorded_genesis_is_read() {
    let genesis = Genesis::parse(&file("genesis.json")).unwrap();
    let config = &genesis.config;
    assert_eq!(config.chain_id, 3_503_995_874_084_926);
    assert_eq!(config.block(BlockRule::GrayGlacier), Some(33));
    assert_eq!(config.block(BlockRule::Dao), None);
    assert_eq!(config.time(Fork::Bpo2), Some(540));
    assert_eq!(config.time(Fork::Bpo3), None);
    assert_eq!(config.terminal_total_difficulty, Some(U256::from(4_732_352)));
    assert_eq!(config.blobs.get(Fork::Bpo2).unwrap().max, 21);
    assert_eq!(genesis.fork(), Fork::Homestead);
    let header = genesis.header(B256::ZERO);
    assert_eq!(header.extra_data.as_ref(), b"hivechain");
    assert_eq!(header.gas_limit, 100_000_000);
    assert_eq!(header.difficulty, U256::from(131_072));
    assert_eq!(header.base_fee_per_gas, None);
    assert_eq!(header.withdrawals_root, None);
    for contract in system_contracts(Fork::Osaka) {
        assert_eq!(genesis.fields.alloc[&contract.address].code, contract.code);
    }
}

/// The fields of the header follow from the forks of the first block.
#[test]
fn a_first_block_of_osaka_has_all_fields() {
    let mut genesis = Genesis::parse(&file("genesis.json")).unwrap();
    genesis.config = ChainConfig::development(1, Fork::Osaka);
    let header = genesis.header(B256::ZERO);
    let Header { base_fee_per_gas, blob_gas_used, excess_blob_gas, requests_hash, .. } = header;
    assert_eq!(base_fee_per_gas, Some(1_000_000_000));
    assert_eq!((blob_gas_used, excess_blob_gas), (Some(0), Some(0)));
    assert_eq!(header.parent_beacon_block_root, Some(B256::ZERO));
    assert!(requests_hash.is_some() && header.withdrawals_root.is_some());
    assert_eq!(genesis.fork(), Fork::Osaka);
}

#[test]
fn the_configuration_is_written_as_it_was_read() {
    let genesis = Genesis::parse(&file("genesis.json")).unwrap();
    let json = genesis.config.to_json();
    let without_space: String = text().split_whitespace().collect();
    let member = |name: &str| without_space.contains(name) && json.contains(name);
    for name in ["\"eip150Block\":3", "\"bpo2Time\":540", "\"terminalTotalDifficulty\":4732352"] {
        assert!(member(name), "{name}");
    }
    let begin = without_space.find("\"blobSchedule\"").unwrap();
    let end = without_space.find("},\"nonce\"").unwrap();
    assert!(json.ends_with(&without_space[begin..=end]), "{json}");
}

#[test]
fn impossible_chains_are_named() {
    assert_eq!(
        refused("\"byzantiumBlock\": 9", "\"byzantiumBlock\": 5"),
        "unsupported fork ordering: eip158Block enabled at block 6, but byzantiumBlock enabled at block 5"
    );
    assert_eq!(
        refused("\"pragueTime\": 450", "\"pragueTime\": 481"),
        "unsupported fork ordering: pragueTime enabled at timestamp 481, but osakaTime enabled at timestamp 480"
    );
    assert_eq!(
        refused("\"prague\": {", "\"pragues\": {"),
        "invalid chain configuration: missing entry for fork \"prague\" in blobSchedule"
    );
    assert_eq!(
        refused("\"number\": \"0x0\"", "\"number\": \"0x1\""),
        "can't commit genesis block with number > 0: have 1"
    );
    assert_eq!(
        refused("\"baseFeePerGas\": null", "\"baseFeePerGas\": \"0x10000000000000000\""),
        "invalid baseFeePerGas: have 18446744073709551616, max 18446744073709551615"
    );
    assert_eq!(refused("\"config\"", "\"configs\""), "genesis has no chain configuration");
    assert_eq!(
        refused("\"gasLimit\": \"0x5f5e100\"", "\"gasLimit\": \"lots\""),
        "invalid hex or decimal integer \"lots\""
    );
}

proptest! {
    #[test]
    fn any_bytes_are_a_genesis_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _outcome = Genesis::parse(&bytes);
    }

    #[test]
    fn an_altered_genesis_is_read_or_refused(at in 0..7370_usize, byte in any::<u8>()) {
        let mut bytes = file("genesis.json");
        bytes[at] = byte;
        let _outcome = Genesis::parse(&bytes);
    }
}
