//! Walks by pages against one dump, and both against a model; storage between the transactions of a block.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, TxKind, U256, keccak256};
use serde_json::{Map, Value, json};

use super::world::World;

/// The storage of the contracts, as the chain keeps slots: without the lowest bit of the first byte.
type Storage = BTreeMap<B256, U256>;

/// Numbers that follow from a seed.
struct Seeded(B256);

impl Seeded {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = keccak256(self.0);
        u64::from_be_bytes(self.0[..8].try_into().unwrap()) % limit
    }
}

/// A chain with two contracts, and what they held before each transaction of each block.
struct Recorded {
    world: World,
    contracts: [Address; 2],
    /// By block, then by index; the last one is what the block left.
    before: BTreeMap<u64, Vec<[Storage; 2]>>,
}

async fn record(seed: u64, blocks: u64) -> Recorded {
    let world = World::new(std::path::Path::new("/nowhere"));
    let mut random = Seeded(keccak256(seed.to_be_bytes()));
    let contracts = [world.deploy_setter(0), world.deploy_setter(1)];
    world.block().await;
    let (mut nonce, mut now) = (2, [Storage::new(), Storage::new()]);
    let mut before = BTreeMap::new();
    for _ in 0..blocks {
        let mut states = vec![now.clone()];
        for _ in 0..=random.below(4) {
            let which = usize::try_from(random.below(2)).unwrap();
            let slots: Vec<_> = (0..=random.below(5))
                .map(|_| {
                    // Some with the bit that slots of contracts do not have.
                    let slot = U256::from(random.below(12)) | (U256::from(random.below(2)) << 248);
                    (slot, U256::from(random.below(3)) << random.below(200))
                })
                .collect();
            world.set_slots(nonce, contracts[which], &slots);
            nonce += 1;
            for (slot, value) in slots {
                let bit: U256 = U256::ONE << 248;
                let slot = B256::from(slot & !bit);
                now[which].insert(slot, value);
            }
            now[which].retain(|_, value| !value.is_zero());
            states.push(now.clone());
        }
        let to = Address::with_last_byte(u8::try_from(random.below(200)).unwrap());
        world.send(nonce, TxKind::Call(to), random.below(9), Bytes::new());
        nonce += 1;
        states.push(now.clone());
        world.block().await;
        before.insert(world.height(), states);
    }
    Recorded { world, contracts, before }
}

/// All slots of a contract before a transaction, by pages.
async fn storage_by_pages(
    world: &World,
    block: u64,
    index: usize,
    contract: Address,
    page: usize,
) -> Value {
    let (mut all, mut start) = (Map::new(), json!("0x"));
    loop {
        let at = format!("{block:#x}");
        let params = json!([at, index, contract, start, page]);
        let reply = world.call("debug_storageRangeAt", params).await;
        let Some(part) = reply["storage"].as_object() else {
            assert!(all.is_empty(), "{reply}");
            return Value::Null;
        };
        assert!(part.len() <= page);
        for (hash, entry) in part {
            assert!(all.insert(hash.clone(), entry.clone()).is_none(), "{hash} twice");
        }
        if reply["nextKey"].is_null() {
            return Value::Object(all);
        }
        assert_eq!(part.len(), page, "a page is full unless it is the last");
        start = reply["nextKey"].clone();
    }
}

fn shown(storage: &Storage) -> Value {
    if storage.is_empty() {
        return Value::Null;
    }
    let entry = |(slot, value): (&B256, &U256)| {
        let entry = json!({"key": slot, "value": B256::from(*value)});
        (keccak256(slot).to_string(), entry)
    };
    Value::Object(storage.iter().map(entry).collect())
}

#[tokio::test]
async fn storage_before_every_transaction_is_the_models() {
    for seed in 0..3 {
        let Recorded { world, contracts, before } = record(seed, 6).await;
        for (block, states) in &before {
            for (index, state) in states[..states.len() - 1].iter().enumerate() {
                for (contract, storage) in contracts.iter().zip(state) {
                    for page in [1, 2, 1000] {
                        let found = storage_by_pages(&world, *block, index, *contract, page).await;
                        let place = format!("seed {seed} block {block} index {index} page {page}");
                        assert_eq!(found, shown(storage), "{place}");
                    }
                }
            }
        }
    }
}

/// The accounts of a block by pages of a size.
async fn accounts_by_pages(world: &World, block: u64, page: usize) -> Map<String, Value> {
    let (mut all, mut start) = (Map::new(), "0x".to_owned());
    loop {
        let params = json!([format!("{block:#x}"), start, page, false, false, false]);
        let mut reply = world.call("debug_accountRange", params).await;
        let part = reply["accounts"].as_object_mut().unwrap();
        assert!(part.len() <= page);
        all.append(part);
        let Some(next) = reply["next"].as_str() else { return all };
        start = alloy_primitives::hex::encode_prefixed(from_base64(next));
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}

#[tokio::test]
async fn accounts_by_pages_are_one_dump_and_the_models() {
    let Recorded { world, contracts, before } = record(7, 6).await;
    for (block, states) in &before {
        let at = format!("{block:#x}");
        let dump = world.call("debug_dumpBlock", json!([at])).await;
        assert!(dump.get("next").is_none());
        let accounts = dump["accounts"].as_object().unwrap();
        for page in [1, 2, 3, 256] {
            assert_eq!(&accounts_by_pages(&world, *block, page).await, accounts, "block {block}");
        }
        for (contract, storage) in contracts.iter().zip(states.last().unwrap()) {
            let slot = |(slot, value): (&B256, &U256)| {
                let value = alloy_primitives::hex::encode(value.to_be_bytes_trimmed_vec());
                (slot.to_string(), Value::String(value))
            };
            let want: Map<_, _> = storage.iter().map(slot).collect();
            let found = accounts[&contract.to_checksum(None)].get("storage");
            assert_eq!(found.cloned().unwrap_or_else(|| json!({})), Value::Object(want));
        }
        for (name, account) in accounts {
            let balance = world.call("eth_getBalance", json!([name, at])).await;
            let nonce = world.call("eth_getTransactionCount", json!([name, at])).await;
            let code = world.call("eth_getCode", json!([name, at])).await;
            let shown: U256 = account["balance"].as_str().unwrap().parse().unwrap();
            assert_eq!(balance, format!("{shown:#x}"), "{name}");
            assert_eq!(nonce, format!("{:#x}", account["nonce"].as_u64().unwrap()), "{name}");
            assert_eq!(&code, account.get("code").unwrap_or(&json!("0x")), "{name}");
        }
    }
}

#[tokio::test]
async fn modified_accounts_are_those_that_differ() {
    let Recorded { world, before, .. } = record(11, 6).await;
    let accounts = async |block: u64| {
        let dump = world.call("debug_dumpBlock", json!([format!("{block:#x}")])).await;
        dump["accounts"].as_object().unwrap().clone()
    };
    let last = *before.keys().last().unwrap();
    for (start, end) in [(0, 1), (0, last), (1, last), (2, 4), (last - 1, last)] {
        let (old, new) = (accounts(start).await, accounts(end).await);
        let differ = new.iter().filter(|(name, account)| old.get(*name) != Some(account));
        let mut want: Vec<_> =
            differ.map(|(_, a)| (a["key"].clone().to_string(), a["address"].clone())).collect();
        want.sort_by(|a, b| a.0.cmp(&b.0));
        let want: Vec<_> = want.into_iter().map(|(_, address)| address).collect();
        let found = world.call("debug_getModifiedAccountsByNumber", json!([start, end])).await;
        assert_eq!(found, Value::Array(want.clone()), "{start} to {end}");
        let hash = async |height: u64| {
            let params = json!([format!("{height:#x}"), false]);
            world.call("eth_getBlockByNumber", params).await["hash"].clone()
        };
        let params = json!([hash(start).await, hash(end).await]);
        assert_eq!(world.call("debug_getModifiedAccountsByHash", params).await, Value::Array(want));
    }
}
