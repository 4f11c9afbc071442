//! The configuration of a chain by the forks that its node publishes (EIP-7910).

use std::mem;

use alloy_primitives::{Address, hex};
use esker_evm_state::types::Header;
use esker_primitives::excerpt;
use serde_json::{Map, Value};

use super::blob_schedule::{BlobParams, BlobSchedule};
use super::config::ChainConfig;
use super::fork::Fork;

/// The precompiles of the known forks.
const PRECOMPILES: [&str; 18] = [
    "BLAKE2F",
    "BLS12_G1ADD",
    "BLS12_G1MSM",
    "BLS12_G2ADD",
    "BLS12_G2MSM",
    "BLS12_MAP_FP2_TO_G2",
    "BLS12_MAP_FP_TO_G1",
    "BLS12_PAIRING_CHECK",
    "BN254_ADD",
    "BN254_MUL",
    "BN254_PAIRING",
    "ECREC",
    "ID",
    "KZG_POINT_EVALUATION",
    "MODEXP",
    "P256VERIFY",
    "RIPEMD160",
    "SHA256",
];
/// The system contracts of the known forks.
const SYSTEM_CONTRACTS: [&str; 5] = [
    "BEACON_ROOTS_ADDRESS",
    "CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS",
    "DEPOSIT_CONTRACT_ADDRESS",
    "HISTORY_STORAGE_ADDRESS",
    "WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS",
];

/// The forks that a node publishes: the current, the next and the last one it knows, by their times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedForks(Vec<PublishedFork>);

/// A fork that a node publishes. It has no name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PublishedFork {
    activation_time: u64,
    blobs: Option<BlobParams>,
    features: Features,
    /// A precompile or a system contract that no known fork has.
    unknown: Option<String>,
    deposit_contract: Option<Address>,
}

/// What tells forks from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Features {
    has_p256: bool,
    has_bls: bool,
    has_kzg: bool,
    has_blake2: bool,
    has_bn254: bool,
}

impl PublishedForks {
    /// Reads the result of `eth_config`; `None` if it has another form.
    pub fn read(result: &Value) -> Option<Self> {
        let entries = ["current", "next", "last"].map(|name| &result[name]);
        let entries = entries.into_iter().filter(|entry| !entry.is_null());
        let mut forks = entries.map(PublishedFork::read).collect::<Option<Vec<_>>>()?;
        forks.sort_by_key(|fork| fork.activation_time);
        forks.dedup_by_key(|fork| fork.activation_time);
        (!result["current"].is_null()).then_some(Self(forks))
    }

    /// Whether the current fork had begun at the block.
    pub fn reaches(&self, header: &Header) -> bool {
        self.0.first().is_some_and(|fork| fork.activation_time <= header.time)
    }

    /// A precompile or a system contract that the fork of a block has, and no known fork. `None` for a block that is older
    /// than the current fork.
    pub fn unknown_contract(&self, header: &Header) -> Option<&str> {
        let begun = self.0.iter().rfind(|fork| fork.activation_time <= header.time);
        begun.and_then(|fork| fork.unknown.as_deref())
    }

    /// The configuration of a development chain that goes on from a block of the chain: the fork of the block, and the
    /// later ones at their times. If the block is older than the current fork, its own follows from the fields of its
    /// header. `None` if the forks are no known ones, or the header is not one of theirs.
    pub fn config(&self, chain_id: u64, header: &Header) -> Option<ChainConfig> {
        let begun = self.0.partition_point(|fork| fork.activation_time <= header.time);
        let (begun, later) = self.0.split_at(begun);
        let mut config = match begun.last() {
            Some(fork) => fork.config(chain_id, header)?,
            None => ChainConfig::development(chain_id, fork_of_fields(header)),
        };
        for fork in later {
            fork.schedule(&mut config);
        }
        let fits = config.check().is_ok() && config.fits(header);
        fits.then_some(config)
    }
}

impl PublishedFork {
    fn read(entry: &Value) -> Option<Self> {
        let precompiles = entry["precompiles"].as_object()?;
        let contracts = &entry["systemContracts"];
        let blobs = match &entry["blobSchedule"] {
            Value::Null => None,
            blobs => Some(read_blobs(blobs)?),
        };
        let has = |name: &str| precompiles.contains_key(name);
        let features = Features {
            has_p256: has("P256VERIFY"),
            has_bls: has("BLS12_G1ADD"),
            has_kzg: has("KZG_POINT_EVALUATION"),
            has_blake2: has("BLAKE2F"),
            has_bn254: has("BN254_ADD"),
        };
        let known = |name: &&String| {
            PRECOMPILES.contains(&name.as_str()) || SYSTEM_CONTRACTS.contains(&name.as_str())
        };
        let names = precompiles.keys().chain(contracts.as_object().into_iter().flat_map(Map::keys));
        let unknown = names.into_iter().find(|name| !known(name));
        let deposit_contract = contracts["DEPOSIT_CONTRACT_ADDRESS"].as_str();
        Some(Self {
            activation_time: entry["activationTime"].as_u64()?,
            blobs,
            features,
            unknown: unknown.map(|name| excerpt(name).into_owned()),
            deposit_contract: deposit_contract.and_then(read_address),
        })
    }

    /// The rules of this fork from the first block on.
    fn config(&self, chain_id: u64, header: &Header) -> Option<ChainConfig> {
        let fork = self.named(header)?;
        let mut config = ChainConfig::development(chain_id, fork);
        self.set_values(fork, &mut config);
        Some(config)
    }

    /// The fork with these features. Forks without blobs differ in the fields of headers, too.
    fn named(&self, header: &Header) -> Option<Fork> {
        let Features { has_p256, has_bls, has_kzg, has_blake2, has_bn254 } = self.features;
        Some(match (has_p256, has_bls, has_kzg) {
            (_, _, true) if self.blobs.is_none() => return None,
            (true, true, true) => self.with_blobs_of(Fork::Osaka),
            (false, true, true) => Fork::Prague,
            (false, false, true) => Fork::Cancun,
            (false, false, false) => match (fork_of_fields(header), has_blake2, has_bn254) {
                (fork, true, true) => fork,
                (Fork::Berlin, false, true) => Fork::Petersburg,
                (Fork::Berlin, false, false) => Fork::SpuriousDragon,
                _ => return None,
            },
            _ => return None,
        })
    }

    /// The fork, or the change of blob parameters after it that has these.
    fn with_blobs_of(&self, fork: Fork) -> Fork {
        let known = BlobSchedule::mainnet();
        let later = Fork::TIMED.into_iter().filter(|later| *later >= fork);
        let mut with_params = later.filter(|later| known.get(*later) == self.blobs.as_ref());
        with_params.next().unwrap_or(fork)
    }

    /// Adds this fork after those of the configuration. One that is unknown or differs in nothing known is left out.
    fn schedule(&self, config: &mut ChainConfig) {
        if self.unknown.is_some() {
            return;
        }
        let last = config.last_fork();
        let Features { has_p256, has_bls, has_kzg, .. } = self.features;
        let by_features = match (has_p256, has_bls, has_kzg) {
            (true, true, true) => Fork::Osaka,
            (false, true, true) => Fork::Prague,
            (false, false, true) => Fork::Cancun,
            (false, false, false) if last < Fork::Shanghai => Fork::Shanghai,
            _ => return,
        };
        let differs = self.blobs != config.blobs.at(last);
        let fork = match by_features > last {
            true => by_features,
            false if differs && (Fork::Osaka..Fork::Bpo5).contains(&last) => after(last),
            false => return,
        };
        for step in Fork::TIMED.into_iter().filter(|step| last < *step && *step <= fork) {
            *config = mem::take(config).with_time(step, self.activation_time);
            if let Some(params) = BlobSchedule::mainnet().at(step) {
                config.blobs.set(step, params);
            }
        }
        self.set_values(fork, config);
    }

    fn set_values(&self, fork: Fork, config: &mut ChainConfig) {
        if let Some(params) = self.blobs.filter(|_| fork >= Fork::Cancun) {
            config.blobs.set(fork, params);
        }
        config.deposit_contract = self.deposit_contract.unwrap_or(config.deposit_contract);
    }
}

/// The fork after one that begins at a time.
fn after(fork: Fork) -> Fork {
    Fork::TIMED.into_iter().find(|next| *next > fork).unwrap_or(fork)
}

/// The oldest fork whose headers have these fields; of those without a base fee the newest.
fn fork_of_fields(header: &Header) -> Fork {
    if header.requests_hash.is_some() {
        Fork::Prague
    } else if header.blob_gas_used.is_some() {
        Fork::Cancun
    } else if header.withdrawals_root.is_some() {
        Fork::Shanghai
    } else if header.base_fee.is_none() {
        Fork::Berlin
    } else if header.difficulty.is_zero() {
        Fork::Paris
    } else {
        Fork::London
    }
}

fn read_blobs(value: &Value) -> Option<BlobParams> {
    Some(BlobParams {
        target: value["target"].as_u64()?,
        max: value["max"].as_u64()?,
        update_fraction: value["baseFeeUpdateFraction"].as_u64()?,
    })
}

fn read_address(text: &str) -> Option<Address> {
    hex::decode(text).ok().and_then(|bytes| Address::try_from(bytes.as_slice()).ok())
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{B256, U256};
    use serde_json::json;

    use super::*;

    const PRAGUE: [&str; 4] = ["BLAKE2F", "BN254_ADD", "KZG_POINT_EVALUATION", "BLS12_G1ADD"];
    const OSAKA: [&str; 5] =
        ["BLAKE2F", "BN254_ADD", "KZG_POINT_EVALUATION", "BLS12_G1ADD", "P256VERIFY"];

    fn entry(time: u64, precompiles: &[&str], blobs: Option<BlobParams>) -> Value {
        let named = precompiles.iter().map(|name| ((*name).to_owned(), json!("0x01"))).collect();
        json!({
            "activationTime": time,
            "blobSchedule": blobs.map(|params| json!({
                "target": params.target, "max": params.max,
                "baseFeeUpdateFraction": params.update_fraction,
            })),
            "precompiles": Value::Object(named),
            "systemContracts": {
                "DEPOSIT_CONTRACT_ADDRESS": "0x00000000219ab540356cbb839cbe05303d7705fa"
            },
        })
    }

    fn prague_header(time: u64) -> Header {
        Header {
            number: 9,
            time,
            base_fee: Some(U256::ONE),
            withdrawals_root: Some(B256::ZERO),
            blob_gas_used: Some(0),
            requests_hash: Some(B256::ZERO),
            ..Header::default()
        }
    }

    fn config(value: &Value, header: &Header) -> Option<ChainConfig> {
        PublishedForks::read(value).unwrap().config(7, header)
    }

    #[test]
    fn the_current_fork_holds_from_the_first_block_on() {
        let current = entry(100, &OSAKA, Some(BlobParams::BPO1));
        let found = config(&json!({"current": current}), &prague_header(100)).unwrap();
        assert_eq!(found, ChainConfig::development(7, Fork::Bpo1));
        let prague = entry(0, &PRAGUE, Some(BlobParams::PRAGUE));
        let found = config(&json!({"current": prague}), &prague_header(100)).unwrap();
        assert_eq!(found, ChainConfig::development(7, Fork::Prague));
    }

    #[test]
    fn later_forks_begin_at_their_times() {
        let own = BlobParams { target: 20, max: 30, update_fraction: 9 };
        let (current, next, last) = (
            entry(5, &PRAGUE, Some(BlobParams::PRAGUE)),
            entry(200, &OSAKA, Some(BlobParams::PRAGUE)),
            entry(300, &OSAKA, Some(own)),
        );
        let all = json!({"current": current, "next": next, "last": last});
        let found = config(&all, &prague_header(100)).unwrap();
        let at = |time| found.fork_at(10, time, true);
        assert_eq!((at(199), at(200), at(300)), (Fork::Prague, Fork::Osaka, Fork::Bpo1));
        assert_eq!(found.blobs.at(Fork::Bpo1), Some(own));
        // A block before the current fork has the one that its fields show.
        let old = Header { requests_hash: None, ..prague_header(4) };
        let found = config(&all, &old).unwrap();
        let at = |time| found.fork_at(10, time, true);
        assert_eq!((at(4), at(5), at(200)), (Fork::Cancun, Fork::Prague, Fork::Osaka));
    }

    #[test]
    fn what_does_not_fit_the_header_is_no_configuration() {
        let prague = json!({"current": entry(0, &PRAGUE, Some(BlobParams::PRAGUE))});
        let old = Header { requests_hash: None, ..prague_header(4) };
        assert_eq!(config(&prague, &old), None);
        let strange = json!({"current": entry(0, &["P256VERIFY"], None)});
        assert_eq!(config(&strange, &prague_header(1)), None);
        let unscheduled = BlobParams { update_fraction: 0, ..BlobParams::PRAGUE };
        let broken = json!({"current": entry(0, &PRAGUE, Some(unscheduled))});
        assert_eq!(config(&broken, &prague_header(1)), None);
        for other in [json!(null), json!([]), json!({"current": {"activationTime": 1}})] {
            assert_eq!(PublishedForks::read(&other), None, "{other}");
        }
    }

    #[test]
    fn a_fork_with_an_unknown_contract_is_named_and_not_scheduled() {
        let mut amsterdam = entry(200, &OSAKA, Some(BlobParams::PRAGUE));
        amsterdam["systemContracts"]["BUILDER_DEPOSIT_CONTRACT_ADDRESS"] = json!("0x02");
        let prague = entry(5, &PRAGUE, Some(BlobParams::PRAGUE));
        let all = json!({"current": prague, "next": amsterdam});
        let forks = PublishedForks::read(&all).unwrap();
        let unknown = |time| forks.unknown_contract(&prague_header(time));
        assert_eq!((unknown(4), unknown(199)), (None, None));
        assert_eq!(unknown(200), Some("BUILDER_DEPOSIT_CONTRACT_ADDRESS"));
        let found = config(&all, &prague_header(100)).unwrap();
        assert_eq!(found.fork_at(10, 200, true), Fork::Prague);
        let other = json!({"current": entry(0, &["BLAKE2F", "NEW_PRECOMPILE"], None)});
        let forks = PublishedForks::read(&other).unwrap();
        assert_eq!(forks.unknown_contract(&prague_header(1)), Some("NEW_PRECOMPILE"));
    }

    #[test]
    fn forks_without_blobs_follow_from_the_header() {
        let early = json!({"current": entry(0, &["BLAKE2F", "BN254_ADD"], None)});
        let header = Header { number: 3, ..Header::default() };
        let london = Header { base_fee: Some(U256::ONE), difficulty: U256::ONE, ..header.clone() };
        let paris = Header { difficulty: U256::ZERO, ..london.clone() };
        let found = |header: &Header| config(&early, header).unwrap().last_fork();
        assert_eq!((found(&london), found(&paris)), (Fork::London, Fork::Paris));
        let work = Header { difficulty: U256::ONE, ..header };
        assert_eq!(found(&work), Fork::Berlin);
        let older = json!({"current": entry(0, &["BN254_ADD"], None)});
        assert_eq!(config(&older, &work).unwrap().last_fork(), Fork::Petersburg);
    }
}
