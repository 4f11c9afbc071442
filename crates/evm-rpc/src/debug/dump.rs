//! Accounts with their code and storage: `dumpBlock` and `accountRange`.

use std::collections::BTreeMap;

use alloy_primitives::{B256, Bytes, U256, hex};
use base64::Engine as _;
use esker_rpc::RpcError;
use schemars::JsonSchema;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::walk::{FoundAccount, ReplyRoom, Walk};
use crate::wire::{Addr, Data, Hash};

/// Most accounts of a dump.
pub(super) const MAX_ACCOUNTS: usize = 256;

/// Bytes of an account as JSON, without code and storage.
const ACCOUNT_BYTES: usize = 460;
/// Bytes of a slot as JSON.
const SLOT_BYTES: usize = 140;

const ADVICE: &str = "ask debug_accountRange for fewer accounts, or without storage and code";

/// The accounts that are shown, and their members.
#[derive(Clone, Copy, Debug)]
pub(super) struct DumpOptions {
    /// The hash to begin with.
    pub(super) start: B256,
    /// Most accounts.
    pub(super) max: usize,
    pub(super) with_code: bool,
    pub(super) with_storage: bool,
    /// Also accounts whose addresses are not known.
    pub(super) with_incomplete: bool,
}

/// Accounts by their addresses. The members stand in the reference's order.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DumpReply {
    /// Without prefix.
    root: String,
    accounts: BTreeMap<String, DumpedAccount>,
    /// The hash of the next account, in base64 as Go writes bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DumpedAccount {
    /// In decimal digits.
    balance: String,
    nonce: u64,
    root: Hash,
    code_hash: Hash,
    #[serde(skip_serializing_if = "is_empty")]
    code: Data,
    is_multi_coin: bool,
    #[serde(skip_serializing_if = "DumpedStorage::is_empty")]
    storage: DumpedStorage,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<Addr>,
    /// Hash of the address.
    key: Hash,
}

fn is_empty(code: &Data) -> bool {
    code.0.is_empty()
}

/// Values by slot.
#[derive(Debug, Default)]
struct DumpedStorage(BTreeMap<B256, U256>);

impl DumpedStorage {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

esker_rpc::schema_as!(DumpedStorage, "DumpedStorage", BTreeMap<Hash, String>);

/// Values without prefix and leading zeros, as they lie in the trie.
impl Serialize for DumpedStorage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (slot, value) in &self.0 {
            map.serialize_entry(&Hash(*slot), &hex::encode(value.to_be_bytes_trimmed_vec()))?;
        }
        map.end()
    }
}

/// The accounts of a state from a hash on. Those without a known address count only if they are shown.
pub(super) fn dump(walk: &Walk<'_>, options: DumpOptions) -> Result<DumpReply, RpcError> {
    let root = hex::encode(walk.header.header.state_root);
    let mut reply = DumpReply { root, accounts: BTreeMap::new(), next: None };
    let mut room = ReplyRoom::new();
    let mut from = Some(options.start);
    while let Some(at) = from {
        let (found, next) = walk.accounts(at)?;
        for (hash, account, address) in found {
            if reply.accounts.len() >= options.max {
                reply.next = Some(base64::engine::general_purpose::STANDARD.encode(hash));
                return Ok(reply);
            }
            if address.is_none() && !options.with_incomplete {
                continue;
            }
            let name = match address {
                Some(address) => address.to_checksum(None),
                None => format!("pre({hash})"),
            };
            let shown = show(walk, options, (hash, account, address), &mut room)?;
            reply.accounts.insert(name, shown);
        }
        from = next;
    }
    Ok(reply)
}

fn show(
    walk: &Walk<'_>,
    options: DumpOptions,
    (hash, account, address): FoundAccount,
    room: &mut ReplyRoom,
) -> Result<DumpedAccount, RpcError> {
    room.take(ACCOUNT_BYTES, ADVICE)?;
    let code = match options.with_code {
        true => walk.part(|view| view.code(account.code_hash))?,
        false => Bytes::new(),
    };
    room.take(2 * code.len(), ADVICE)?;
    let storage = match options.with_storage && account.storage_root != alloy_trie::EMPTY_ROOT_HASH
    {
        true => storage(walk, hash, room)?,
        false => DumpedStorage::default(),
    };
    Ok(DumpedAccount {
        balance: account.balance.to_string(),
        nonce: account.nonce,
        root: Hash(account.storage_root),
        code_hash: Hash(account.code_hash),
        code: Data(code),
        is_multi_coin: account.is_multi_coin,
        storage,
        address: address.map(Addr),
        key: Hash(hash),
    })
}

/// All slots of an account whose keys are known.
fn storage(
    walk: &Walk<'_>,
    account: B256,
    room: &mut ReplyRoom,
) -> Result<DumpedStorage, RpcError> {
    let mut storage = DumpedStorage::default();
    let mut from = Some(B256::ZERO);
    while let Some(at) = from {
        let (found, next) = walk.slots(account, at)?;
        room.take(found.len() * SLOT_BYTES, ADVICE)?;
        storage.0.extend(found);
        from = next;
    }
    Ok(storage)
}
