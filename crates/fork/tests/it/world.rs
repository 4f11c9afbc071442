//! A state with its tries in memory, which answers as a node does.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use alloy_consensus::Header as EthereumHeader;
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_trie::{EMPTY_ROOT_HASH, Nibbles, TrieAccount};
use esker_evm_state::trie::{NodeSource, Proof, TrieError, TrieUpdate, prove};
use esker_evm_state::types::{Account, EMPTY_EXT_DATA_HASH, Header};
use esker_fork::{Fork, Misses};
use serde_json::{Value, json};

use crate::server::{Act, calls};

/// The chain's ID.
pub(crate) const CHAIN: u64 = 1337;
/// Height of the block.
pub(crate) const HEIGHT: u64 = 100;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) nonce: u64,
    pub(crate) balance: U256,
    pub(crate) code: Bytes,
    pub(crate) slots: BTreeMap<U256, U256>,
}

pub(crate) type Entries = BTreeMap<Address, Entry>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Rows(BTreeMap<Nibbles, Vec<u8>>);

impl NodeSource for Rows {
    fn node(&self, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
        Ok(self.0.get(path).cloned())
    }
}

/// Methods that the source lacks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lacks {
    pub(crate) proof: bool,
    pub(crate) account_info: bool,
    pub(crate) storage_values: bool,
    pub(crate) by_hash: bool,
    pub(crate) batches: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) entries: Entries,
    pub(crate) root: B256,
    pub(crate) block: Value,
    pub(crate) lacks: Lacks,
    accounts: Rows,
    storage: BTreeMap<Address, (B256, Rows)>,
    is_c_chain: bool,
}

pub(crate) fn trie(leaves: impl IntoIterator<Item = (B256, Vec<u8>)>) -> (B256, Rows) {
    let mut update = TrieUpdate::new(Rows::default(), EMPTY_ROOT_HASH);
    for (key, value) in leaves {
        update.insert(key, value).unwrap();
    }
    let (root, rows) = update.finish();
    (root, Rows(rows.into_iter().map(|(path, rlp)| (path, rlp.unwrap())).collect()))
}

pub(crate) fn leaf(account: &Account, is_c_chain: bool) -> Vec<u8> {
    if is_c_chain {
        return alloy_rlp::encode(account);
    }
    let Account { nonce, balance, storage_root, code_hash, .. } = *account;
    alloy_rlp::encode(TrieAccount { nonce, balance, storage_root, code_hash })
}

impl World {
    /// Holds what a fork knows of these accounts, with a slot and the code of each, to be this state's.
    pub(crate) fn assert_known(&self, fork: &Fork, numbers: RangeInclusive<u64>) {
        let misses = Misses::default();
        let view = fork.view(&misses);
        for n in numbers {
            let address = address(n);
            let account = view.account(&address).known().unwrap();
            assert_eq!(account.map(|a| a.parts.balance), self.account(&address).map(|a| a.balance));
            let slot = view.slot(&address, U256::from(2)).known().unwrap();
            assert_eq!(slot, self.slot(&address, U256::from(2)));
            if let Some(account) = account {
                let code = view.code(account.parts.code_hash).known().unwrap();
                assert_eq!(code, self.entries[&address].code);
            }
        }
    }

    pub(crate) fn new(entries: Entries) -> Self {
        Self::of_kind(entries, false)
    }

    pub(crate) fn c_chain(entries: Entries) -> Self {
        Self::of_kind(entries, true)
    }

    fn of_kind(entries: Entries, is_c_chain: bool) -> Self {
        let mut storage = BTreeMap::new();
        for (address, entry) in &entries {
            let slots = entry.slots.iter().filter(|(_, value)| !value.is_zero());
            let slots =
                slots.map(|(slot, value)| (keccak256(B256::from(*slot)), alloy_rlp::encode(value)));
            storage.insert(*address, trie(slots));
        }
        let mut world = Self {
            entries,
            root: B256::ZERO,
            block: Value::Null,
            lacks: Lacks::default(),
            accounts: Rows::default(),
            storage,
            is_c_chain,
        };
        let leaves = world.entries.keys().map(|address| {
            (keccak256(address), leaf(&world.account(address).unwrap(), is_c_chain))
        });
        (world.root, world.accounts) = trie(leaves.collect::<Vec<_>>());
        world.block = world.header();
        world
    }

    pub(crate) fn account(&self, address: &Address) -> Option<Account> {
        let entry = self.entries.get(address)?;
        Some(Account {
            nonce: entry.nonce,
            balance: entry.balance,
            storage_root: self.storage[address].0,
            code_hash: keccak256(&entry.code),
            is_multi_coin: self.is_c_chain && entry.slots.keys().any(|slot| slot.bit(248)),
        })
    }

    pub(crate) fn slot(&self, address: &Address, slot: U256) -> U256 {
        let entry = self.entries.get(address);
        entry.and_then(|entry| entry.slots.get(&slot)).copied().unwrap_or_default()
    }

    pub(crate) fn hash(&self) -> B256 {
        self.block["hash"].as_str().unwrap().parse().unwrap()
    }

    fn header(&self) -> Value {
        let mut header = Header {
            ommers_hash: esker_evm_state::types::EMPTY_OMMERS_HASH,
            state_root: self.root,
            transactions_root: EMPTY_ROOT_HASH,
            receipts_root: EMPTY_ROOT_HASH,
            difficulty: U256::from(1),
            number: HEIGHT,
            gas_limit: 15_000_000,
            time: 1_700_000_000,
            base_fee: Some(U256::from(25)),
            ..Header::default()
        };
        let hash = if self.is_c_chain {
            header.ext_data_hash = EMPTY_EXT_DATA_HASH;
            header.ext_data_gas_used = Some(U256::ZERO);
            header.block_gas_cost = Some(U256::ZERO);
            header.hash()
        } else {
            ethereum(&header).hash_slow()
        };
        block_json(&header, hash, self.is_c_chain)
    }

    /// The reply to a request.
    pub(crate) fn reply(&self, request: &Value) -> Value {
        if request.is_array() && self.lacks.batches {
            return json!({"id": null, "error": {"code": -32600, "message": "batching is not supported"}});
        }
        let answer = |call: &Value| {
            let method = call["method"].as_str().unwrap();
            match self.answer(method, &call["params"]) {
                Ok(result) => json!({"jsonrpc": "2.0", "id": call["id"], "result": result}),
                Err((code, message)) => {
                    let error = json!({"code": code, "message": message});
                    json!({"jsonrpc": "2.0", "id": call["id"], "error": error})
                }
            }
        };
        match request.as_array() {
            Some(calls) => Value::Array(calls.iter().map(answer).collect()),
            None => answer(request),
        }
    }

    pub(crate) fn act(&self, request: &Value) -> Act {
        Act::Json(self.reply(request))
    }

    /// The reply, with the result of each call of a method changed.
    pub(crate) fn lie(&self, request: &Value, method: &str, lie: impl Fn(&mut Value)) -> Act {
        let mut reply = self.reply(request);
        for (at, call) in calls(request).iter().enumerate() {
            if call["method"] == method {
                let entry = if reply.is_array() { &mut reply[at] } else { &mut reply };
                lie(&mut entry["result"]);
            }
        }
        Act::Json(reply)
    }

    fn answer(&self, method: &str, params: &Value) -> Result<Value, (i64, &'static str)> {
        let is_lacking = match method {
            "eth_getProof" => self.lacks.proof,
            "eth_getAccountInfo" => self.lacks.account_info,
            "eth_getStorageValues" => self.lacks.storage_values,
            _ => false,
        };
        if is_lacking {
            return Err((-32601, "the method does not exist/is not available"));
        }
        let address = || params[0].as_str().unwrap().parse::<Address>().unwrap();
        let is_state =
            !matches!(method, "eth_chainId" | "eth_getBlockByNumber" | "eth_getBlockByHash");
        if is_state {
            self.check_block(params.as_array().unwrap().last().unwrap())?;
        }
        let entry = || self.entries.get(&address()).cloned().unwrap_or_default();
        Ok(match method {
            "eth_chainId" => json!(format!("{CHAIN:#x}")),
            "eth_getBlockByNumber" | "eth_getBlockByHash" => self.block.clone(),
            "eth_getProof" => self.proof(address(), params[1].as_array().unwrap()),
            "eth_getCode" => json!(entry().code.to_string()),
            "eth_getBalance" => json!(format!("{:#x}", entry().balance)),
            "eth_getTransactionCount" => json!(format!("{:#x}", entry().nonce)),
            "eth_getStorageAt" => {
                json!(B256::from(self.slot(&address(), number(&params[1]))).to_string())
            }
            "eth_getAccountInfo" => {
                let Entry { nonce, balance, code, .. } = entry();
                json!({"nonce": format!("{nonce:#x}"), "balance": format!("{balance:#x}"), "code": code.to_string()})
            }
            "eth_getStorageValues" => {
                let by_address = params[0].as_object().unwrap().iter();
                let values = by_address.map(|(address, slots)| {
                    let owner = address.parse().unwrap();
                    let slots = slots.as_array().unwrap().iter();
                    let values = slots
                        .map(|slot| json!(B256::from(self.slot(&owner, number(slot))).to_string()));
                    (address.to_lowercase(), Value::Array(values.collect()))
                });
                Value::Object(values.collect())
            }
            other => panic!("unexpected method {other}"),
        })
    }

    fn check_block(&self, block: &Value) -> Result<(), (i64, &'static str)> {
        if block.is_object() && self.lacks.by_hash {
            return Err((-32602, "invalid argument 2: json: cannot unmarshal object into string"));
        }
        let by_hash = block["blockHash"] == self.block["hash"];
        match by_hash || *block == json!(format!("{HEIGHT:#x}")) {
            true => Ok(()),
            false => Err((-32000, "header not found")),
        }
    }

    fn proof(&self, address: Address, slots: &[Value]) -> Value {
        let proof = prove(&self.accounts, self.root, keccak256(address)).unwrap();
        let account = self.account(&address).unwrap_or_default();
        let slots = slots.iter().map(|slot| {
            let slot = number(slot);
            let proof = match self.storage.get(&address) {
                Some((root, rows)) => prove(rows, *root, keccak256(B256::from(slot))).unwrap(),
                None => Proof::default(),
            };
            // What code reads there.
            let asset_bit = U256::from(u8::from(self.is_c_chain)).wrapping_shl(248);
            let read = slot & !asset_bit;
            let value = format!("{:#x}", self.slot(&address, read));
            json!({"key": B256::from(slot).to_string(), "value": value, "proof": texts(&proof)})
        });
        json!({
            "address": address.to_string(),
            "accountProof": texts(&proof),
            "balance": format!("{:#x}", account.balance),
            "nonce": format!("{:#x}", account.nonce),
            "codeHash": account.code_hash.to_string(),
            "storageHash": account.storage_root.to_string(),
            "storageProof": slots.collect::<Vec<_>>(),
        })
    }
}

fn texts(proof: &Proof) -> Vec<String> {
    proof.nodes.iter().map(ToString::to_string).collect()
}

fn number(value: &Value) -> U256 {
    value.as_str().unwrap().parse().unwrap()
}

fn ethereum(header: &Header) -> EthereumHeader {
    EthereumHeader {
        parent_hash: header.parent_hash,
        ommers_hash: header.ommers_hash,
        beneficiary: header.coinbase,
        state_root: header.state_root,
        transactions_root: header.transactions_root,
        receipts_root: header.receipts_root,
        logs_bloom: header.bloom,
        difficulty: header.difficulty,
        number: header.number,
        gas_limit: header.gas_limit,
        gas_used: header.gas_used,
        timestamp: header.time,
        extra_data: header.extra.clone(),
        mix_hash: header.mix_digest,
        nonce: header.nonce,
        base_fee_per_gas: Some(25),
        withdrawals_root: Some(EMPTY_ROOT_HASH),
        ..EthereumHeader::default()
    }
}

fn block_json(header: &Header, hash: B256, is_c_chain: bool) -> Value {
    let mut block = json!({
        "hash": hash.to_string(),
        "parentHash": header.parent_hash.to_string(),
        "sha3Uncles": header.ommers_hash.to_string(),
        "miner": header.coinbase.to_string(),
        "stateRoot": header.state_root.to_string(),
        "transactionsRoot": header.transactions_root.to_string(),
        "receiptsRoot": header.receipts_root.to_string(),
        "logsBloom": header.bloom.to_string(),
        "difficulty": format!("{:#x}", header.difficulty),
        "number": format!("{:#x}", header.number),
        "gasLimit": format!("{:#x}", header.gas_limit),
        "gasUsed": format!("{:#x}", header.gas_used),
        "timestamp": format!("{:#x}", header.time),
        "extraData": "0x",
        "mixHash": header.mix_digest.to_string(),
        "nonce": header.nonce.to_string(),
        "baseFeePerGas": "0x19",
        "size": "0x220",
        "transactions": [],
        "uncles": [],
    });
    if is_c_chain {
        block["extDataHash"] = json!(header.ext_data_hash.to_string());
        block["extDataGasUsed"] = json!("0x0");
        block["blockGasCost"] = json!("0x0");
    } else {
        block["withdrawalsRoot"] = json!(EMPTY_ROOT_HASH.to_string());
    }
    block
}

/// An address for a number.
pub(crate) fn address(n: u64) -> Address {
    Address::from_slice(&keccak256(n.to_be_bytes())[..20])
}

/// Thirty accounts. Those with even numbers have code, every third has slots; slots 0 and 1 have short values, which
/// are embedded in their parents.
pub(crate) fn sample() -> Entries {
    let entry = |n: u64| Entry {
        nonce: n,
        balance: U256::from(n) << 70,
        code: if n.is_multiple_of(2) { Bytes::from(vec![0x60, n as u8]) } else { Bytes::new() },
        slots: match n % 3 {
            0 => (0..n).map(|slot| (U256::from(slot), U256::from(slot + 1))).collect(),
            _ => BTreeMap::new(),
        },
    };
    (1..=30).map(|n| (address(n), entry(n))).collect()
}
