//! Genesis: the reference's hashes, every form of the JSON, its errors, the chain configuration.

use alloy_primitives::{Address, B256, U256, hex};
use esker_evm_execution::genesis::{Genesis, GenesisConfig, GenesisError};
use esker_evm_execution::rules::{
    CChainRules, ChainConfig, FeeOverrides, ForkSchedule, Phase, UNSCHEDULED, check_schedule,
};
use esker_evm_state::state::{StateVersion, StateView};
use esker_evm_state::types::Block;
use esker_storage::{KvStore, MemoryStore, WriteSet};
use esker_testkit::first_block::SCOPE;
use esker_testkit::vectors::of_kind;
use proptest::prelude::*;
use serde_json::{Value, json};

fn file(name: &str) -> Vec<u8> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/genesis/");
    std::fs::read(format!("{dir}{name}")).unwrap()
}

fn build(json: &[u8], schedule: ForkSchedule) -> Block {
    let genesis = Genesis::parse(json).unwrap();
    let chain_id = GenesisConfig::parse(json).unwrap().chain_id;
    let rules = CChainRules::new(chain_id, schedule, FeeOverrides::default());
    genesis.build(&rules, SCOPE, Default::default(), &mut WriteSet::default()).unwrap()
}

const NEVER: ForkSchedule =
    ForkSchedule { history: [UNSCHEDULED; 4], phases: [UNSCHEDULED; Phase::COUNT] };

/// A schedule in which all phases up to this one are active from the beginning.
fn all_until(phase: Phase) -> ForkSchedule {
    let mut schedule = ForkSchedule { history: [0; 4], ..NEVER };
    for begun in Phase::ALL.into_iter().filter(|begun| *begun <= phase) {
        schedule.phases[begun as usize] = 0;
    }
    schedule
}

#[test]
fn the_networks_have_their_hashes() {
    for (name, schedule, want) in [
        (
            "main",
            ForkSchedule::MAIN,
            "31ced5b9beb7f8782b014660da0cb18cc409f121f408186886e1ca3e8eeca96b",
        ),
        (
            "test",
            ForkSchedule::TEST,
            "31ced5b9beb7f8782b014660da0cb18cc409f121f408186886e1ca3e8eeca96b",
        ),
        (
            "local",
            ForkSchedule::LOCAL,
            "17a7011ebbed7c97c7858cec856bd462a1fe9c216ef5f110b40c3b573dc84c6f",
        ),
    ] {
        let block = build(&file(&format!("{name}-c.json")), schedule);
        assert_eq!(hex::encode(block.hash()), want, "{name}");
    }
}

#[test]
fn every_recorded_genesis_has_its_root_and_hash() {
    let mut checked = 0;
    for (name, input, expected) in of_kind("genesis") {
        let schedule = match name.as_str() {
            "genesis_mainnet" | "genesis_storage_key_partition" => NEVER,
            "genesis_fuji" => continue, // Only described; the network's own file is tested above.
            "genesis_local_v1.10" => all_until(Phase::Durango),
            "genesis_local_v1.11.0_to_12" | "genesis_local_v1.11.13" => {
                let mut schedule = ForkSchedule::LOCAL;
                schedule.phases[Phase::Etna as usize] = UNSCHEDULED;
                schedule
            }
            "genesis_local_v1.12_etna" => ForkSchedule::LOCAL,
            "genesis_block_for_testing" => {
                ForkSchedule { history: [0, 0, 0, UNSCHEDULED], ..NEVER }
            }
            other => panic!("a vector that no test knows: {other}"),
        };
        let mut genesis = input["genesis"].clone();
        if genesis["config"].is_null() {
            genesis["config"] = json!({});
        }
        let block = build(genesis.to_string().as_bytes(), schedule);
        let root = block.header.state_root.to_string();
        assert_eq!(root, expected["stateRoot"].as_str().unwrap(), "{name}");
        assert_eq!(block.hash().to_string(), expected["hash"].as_str().unwrap(), "{name}");
        if let Some(rlp) = expected["headerRlp"].as_str() {
            assert_eq!(hex::encode_prefixed(alloy_rlp::encode(&block.header)), rlp, "{name}");
        }
        checked += 1;
    }
    assert_eq!(checked, 7);
}

fn parse(genesis: &Value) -> Result<Genesis, GenesisError> {
    Genesis::parse(genesis.to_string().as_bytes())
}

fn with(field: &str, value: Value) -> Value {
    let mut genesis =
        json!({"config": {"chainId": 7}, "gasLimit": 1, "difficulty": "0x2", "alloc": {}});
    genesis[field] = value;
    genesis
}

#[test]
fn numbers_come_in_every_form() {
    for form in
        [json!(1_607_144_400), json!("1607144400"), json!("0x5FCB13D0"), json!("0X5fcb13d0")]
    {
        assert_eq!(parse(&with("timestamp", form)).unwrap().timestamp, 1_607_144_400);
    }
    assert_eq!(parse(&with("nonce", json!(""))).unwrap().nonce, 0);
    assert_eq!(parse(&with("nonce", json!(null))).unwrap().nonce, 0);
    let most = format!("{:#x}", U256::MAX);
    assert_eq!(parse(&with("difficulty", json!(most))).unwrap().difficulty, U256::MAX);
    let text = br#"{"CONFIG":{"chainID":3},"gaslimit":"1","gasLimit":2,"difficulty":
        115792089237316195423570985008687907853269984665640564039457584007913129639935,"alloc":{}}"#;
    let genesis = Genesis::parse(text).unwrap();
    assert_eq!((GenesisConfig::parse(text).unwrap().chain_id, genesis.gas_limit), (3, 2));
    assert_eq!(genesis.difficulty, U256::MAX);
}

#[test]
fn what_is_missing_has_defaults() {
    let genesis = parse(&with("gasLimit", json!("0x0"))).unwrap();
    assert!(genesis.extra_data.is_empty() && genesis.base_fee.is_none());
    let block = build(with("gasLimit", json!(0)).to_string().as_bytes(), ForkSchedule::LOCAL);
    let header = block.header;
    assert_eq!(header.gas_limit, 4_712_388);
    // At time 0 nothing has begun on the local network.
    assert_eq!(
        (header.base_fee, header.blob_gas_used, header.parent_beacon_root),
        (None, None, None)
    );
    let early = build(with("gasLimit", json!(0)).to_string().as_bytes(), all_until(Phase::Etna));
    assert_eq!(early.header.base_fee, Some(U256::from(225_000_000_000_u64)));
    assert_eq!((early.header.blob_gas_used, early.header.excess_blob_gas), (Some(0), Some(0)));
    assert_eq!(early.header.parent_beacon_root, Some(B256::ZERO));
    assert_eq!((early.header.ext_data_gas_used, early.header.block_gas_cost), (None, None));
    let given = build(
        with("baseFeePerGas", json!("0x3b9aca00")).to_string().as_bytes(),
        all_until(Phase::Apricot5),
    );
    assert_eq!(given.header.base_fee, Some(U256::from(1_000_000_000)));
    let extra = build(with("extraData", json!("0x00")).to_string().as_bytes(), NEVER);
    assert_eq!(extra.header.extra[..], [0]);
}

#[test]
fn accounts_have_code_storage_and_assets() {
    let asset = format!("0x{}", "22".repeat(32));
    let alloc = json!({
        "0x00000000000000000000000000000000000000aa": {
            "balance": "10", "nonce": "0x3", "code": "0x6001",
            "storage": {"0x01": "0x2", "03": "04", format!("0x{}", "00".repeat(31) + "05"): "0x00"},
            "mcbalance": {asset.clone(): 77},
        },
        "00000000000000000000000000000000000000bb": {"balance": 0},
    });
    // An odd number of digits is refused.
    assert!(parse(&with("alloc", alloc.clone())).is_err());
    let mut alloc = alloc;
    alloc["0x00000000000000000000000000000000000000aa"]["storage"]["0x01"] = json!("0x02");
    let genesis = parse(&with("alloc", alloc)).unwrap();
    let rules = CChainRules::new(1, ForkSchedule::LOCAL, FeeOverrides::default());
    let (store, mut out) = (MemoryStore::new(), WriteSet::default());
    genesis.build(&rules, SCOPE, Default::default(), &mut out).unwrap();
    store.write(&out).unwrap();
    let reader = store.snapshot().unwrap();
    let view = StateView::new(&*reader, SCOPE, StateVersion::Latest);
    let address = Address::with_last_byte(0xaa);
    let account = view.account(&address).unwrap().unwrap();
    assert_eq!((account.nonce, account.balance), (3, U256::from(10)));
    assert!(account.is_multi_coin);
    assert_eq!(view.code(account.code_hash).unwrap()[..], [0x60, 1]);
    let slot = |key: U256| view.storage(&address, key).unwrap();
    assert_eq!(slot(U256::from(1)), U256::from(2));
    assert_eq!(slot(U256::from(3)), U256::from(4));
    let mut held: B256 = asset.parse().unwrap();
    held[0] |= 1;
    assert_eq!(slot(held.into()), U256::from(77));
    // An empty account is kept.
    assert!(view.account(&Address::with_last_byte(0xbb)).unwrap().is_some());
}

#[test]
fn errors_have_the_references_texts() {
    let account = |account: Value| {
        with("alloc", json!({"00000000000000000000000000000000000000bb": account}))
    };
    let word = |text: &str| account(json!({"balance": "0", "storage": {text: "00"}}));
    let long = "0".repeat(66);
    for (genesis, want) in [
        (with("gasLimit", json!(null)), "missing required field 'gasLimit' for Genesis"),
        (with("difficulty", json!(null)), "missing required field 'difficulty' for Genesis"),
        (with("alloc", json!(null)), "missing required field 'alloc' for Genesis"),
        (with("config", json!(null)), "genesis has no chain configuration"),
        (with("nonce", json!("x")), "invalid hex or decimal integer \"x\""),
        (with("nonce", json!("+1")), "invalid hex or decimal integer \"+1\""),
        (with("nonce", json!(1.5)), "invalid hex or decimal integer \"1.5\""),
        (with("nonce", json!("0x")), "invalid hex or decimal integer \"0x\""),
        (
            with("gasUsed", json!("18446744073709551616")),
            "invalid hex or decimal integer \"18446744073709551616\"",
        ),
        (with("difficulty", json!("-1")), "invalid hex or decimal integer \"-1\""),
        (
            with("extraData", json!("00")),
            "json: cannot unmarshal hex string without 0x prefix into Go struct field \
             Genesis.extraData of type hexutil.Bytes",
        ),
        (
            with("extraData", json!(1)),
            "json: cannot unmarshal non-string into Go struct field Genesis.extraData of type \
             hexutil.Bytes",
        ),
        (with("mixHash", json!("0x00")), "hex string has length 2, want 64 for common.Hash"),
        (
            with("coinbase", json!("0x0")),
            "json: cannot unmarshal hex string of odd length into Go struct field \
             Genesis.coinbase of type common.Address",
        ),
        (
            with("config", json!([])),
            "json: cannot unmarshal array into Go struct field Genesis.config of type \
             params.ChainConfig",
        ),
        (
            with("config", json!({"chainId": "7"})),
            "json: cannot unmarshal string into Go struct field ChainConfig.chainId of type \
             *big.Int",
        ),
        (
            with("config", json!({"etnaTimestamp": -1})),
            "json: cannot unmarshal number -1 into Go struct field ChainConfig.etnaTimestamp of \
             type uint64",
        ),
        (
            with("alloc", json!({"bb": {}})),
            "hex string has length 2, want 40 for UnprefixedAddress",
        ),
        (account(json!({})), "missing required field 'balance' for GenesisAccount"),
        (word("zz"), "invalid hex storage key/value \"zz\""),
        (word(&long), &format!("too many hex characters in storage key/value \"{long}\"")),
        (account(json!({"balance": 0, "mcbalance": {"22": 1}})), "hex string without 0x prefix"),
    ] {
        assert_eq!(parse(&genesis).unwrap_err().to_string(), want, "{genesis}");
    }
    for (text, want) in [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ("[]", "json: cannot unmarshal array into Go value of type core.Genesis"),
        ("{}x", "invalid character 'x' after top-level value"),
    ] {
        assert_eq!(Genesis::parse(text.as_bytes()).unwrap_err().to_string(), want, "{text}");
    }
}

#[test]
fn a_custom_network_schedules_forks_in_its_genesis() {
    let config = |config: Value| {
        GenesisConfig::parse(with("config", config).to_string().as_bytes()).unwrap()
    };
    assert_eq!(config(json!({"chainId": 1})).schedule().unwrap(), ForkSchedule::LOCAL);
    let fortuna = config(json!({"chainId": 1, "fortunaTimestamp": 1_800_000_000}));
    let mut want = ForkSchedule::LOCAL;
    want.phases[Phase::Fortuna as usize] = 1_800_000_000;
    assert_eq!(fortuna.schedule().unwrap(), want);
    let early = config(json!({"etnaTimestamp": 5}));
    assert_eq!(
        early.schedule().unwrap_err().to_string(),
        "chain configuration: Etna at 5 would come before Durango at 1607144400"
    );
}

#[test]
fn the_configuration_is_shown_as_recorded() {
    let text = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/golden/c/genesis.io"
    ))
    .unwrap();
    let mut lines = text.lines().skip_while(|line| !line.contains("eth_getChainConfig"));
    let reply = lines.nth(1).unwrap().strip_prefix("<< ").unwrap();
    let reply: Value = serde_json::from_str(reply).unwrap();
    let config = ChainConfig::new(43112, &ForkSchedule::LOCAL);
    assert_eq!(serde_json::to_value(&config).unwrap(), reply["result"]);
    let text = serde_json::to_string(&config).unwrap();
    assert!(text.starts_with(
        r#"{"chainId":43112,"homesteadBlock":0,"daoForkBlock":0,"daoForkSupport":true,"eip150Block":0,"eip150Hash":"0x2086"#
    ));
    let main = serde_json::to_value(ChainConfig::new(43114, &ForkSchedule::MAIN)).unwrap();
    assert_eq!(
        (&main["berlinBlock"], &main["londonBlock"]),
        (&json!(1_640_340), &json!(3_308_552))
    );
    assert_eq!(main["apricotPhase1BlockTimestamp"], 1_617_199_200);
    assert_eq!(main["fortunaTimestamp"], 1_744_124_400);
}

#[test]
fn forks_that_were_reached_do_not_move() {
    let stored = ForkSchedule::LOCAL;
    let mut moved = stored;
    moved.phases[Phase::Fortuna as usize] = 2_000_000_000;
    assert_eq!(check_schedule(&stored, &moved, 1_900_000_000), Ok(()));
    assert_eq!(
        check_schedule(&stored, &moved, 2_000_000_000).unwrap_err().to_string(),
        "mismatching Fortuna fork block timestamp in database (have timestamp 253399622400, \
         want timestamp 2000000000, rewindto timestamp 1999999999)"
    );
    let mut moved = stored;
    moved.history[0] = 0;
    assert_eq!(
        check_schedule(&stored, &moved, 5).unwrap_err().to_string(),
        "mismatching ApricotPhase1 fork block timestamp in database (have timestamp 1607144400, \
         want timestamp 0, rewindto timestamp 0)"
    );
}

/// A genesis with one byte or one range changed.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let whole = file("local-c.json");
    let length = whole.len();
    (0..length, 0..length, any::<u8>(), 0..3u8).prop_map(move |(at, other, byte, how)| {
        let mut bytes = whole.clone();
        match how {
            0 => bytes[at] = byte,
            1 => drop(bytes.drain(at.min(other)..at.max(other))),
            _ => bytes.insert(at, byte),
        }
        bytes
    })
}

proptest! {
    #[test]
    fn any_bytes_are_a_genesis_or_an_error(bytes in prop_oneof![
        damaged(),
        proptest::collection::vec(any::<u8>(), 0..200),
    ]) {
        if let Ok(genesis) = Genesis::parse(&bytes) {
            let rules = CChainRules::new(1, ForkSchedule::LOCAL, FeeOverrides::default());
            genesis.build(&rules, SCOPE, Default::default(), &mut WriteSet::default()).unwrap();
        }
    }
}
