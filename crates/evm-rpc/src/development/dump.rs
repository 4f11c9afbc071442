//! A state as a file, in anvil's form: JSON, compressed with gzip.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256, hex};
use esker_evm::control::WantedChange;
use esker_evm_state::types::Account;
use esker_rpc::{CallContext, RpcError};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use super::numbers::Number;
use super::{DevelopmentNode, refused};
use crate::debug::walk::Walk;
use crate::error::read_error;
use crate::evm::running::LATEST;
use crate::wire::Data;

/// Most bytes of a state as JSON.
const MAX_BYTES: usize = 64 << 20;

/// What gzip begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A state. What else anvil writes is ignored.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Dump {
    #[serde(default)]
    best_block_number: Option<u64>,
    accounts: BTreeMap<String, DumpedAccount>,
}

#[derive(Debug, Serialize, Deserialize)]
struct DumpedAccount {
    nonce: u64,
    balance: String,
    code: String,
    #[serde(default)]
    storage: BTreeMap<String, String>,
}

/// The last state, with all accounts whose addresses are known.
pub(super) fn dump(
    node: &DevelopmentNode,
    (_history,): (Option<bool>,),
    context: &CallContext,
) -> Result<Data, RpcError> {
    let reads = &node.transact.reads;
    let header = reads.header_of_state(LATEST)?;
    let mut dump =
        Dump { best_block_number: Some(header.header.number), accounts: BTreeMap::new() };
    let walk = Walk { reads, header, context };
    let mut room = MAX_BYTES;
    let mut from = Some(B256::ZERO);
    while let Some(at) = from {
        let (found, next) = walk.accounts(at)?;
        for (hash, account, address) in found {
            if let Some(address) = address {
                let dumped = dumped(node, &walk, (hash, &account), &mut room)?;
                dump.accounts.insert(format!("{address:#x}"), dumped);
            }
        }
        from = next;
    }
    let json = serde_json::to_vec(&dump).map_err(refused)?;
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    out.write_all(&json).map_err(refused)?;
    Ok(Data(out.finish().map_err(refused)?.into()))
}

fn dumped(
    node: &DevelopmentNode,
    walk: &Walk<'_>,
    (hash, account): (B256, &Account),
    room: &mut usize,
) -> Result<DumpedAccount, RpcError> {
    let code = walk.part(|view| view.code(account.code_hash))?;
    let mut take = |bytes: usize| {
        let left = room.checked_sub(bytes);
        *room =
            left.ok_or_else(|| refused(format!("the state has more than {MAX_BYTES} bytes")))?;
        Ok::<_, RpcError>(())
    };
    take(300 + 2 * code.len())?;
    let rules = &node.chain.params().rules;
    // Balances of other assets are slots too, which no contract can name.
    let is_named = |slot: U256| rules.storage_slot(slot) == slot;
    let mut storage = BTreeMap::new();
    let mut from = Some(B256::ZERO);
    while let Some(at) = from {
        let (found, next) = walk.slots(hash, at)?;
        for (slot, value) in found.into_iter().filter(|(slot, _)| is_named((*slot).into())) {
            take(140)?;
            storage.insert(format!("{slot:#x}"), format!("{:#x}", B256::from(value)));
        }
        from = next;
    }
    Ok(DumpedAccount {
        nonce: account.nonce,
        balance: format!("{:#x}", account.balance),
        code: hex::encode_prefixed(code),
        storage,
    })
}

/// Sets what the accounts of a dump have, in one block. Other accounts and slots stay, nonces never become lower.
pub(super) async fn load(
    node: Arc<DevelopmentNode>,
    (Data(bytes),): (Data,),
) -> Result<bool, RpcError> {
    node.controls_to_write()?;
    let read = tokio::task::spawn_blocking({
        let node = Arc::clone(&node);
        move || changes(&node, &parse(&bytes)?)
    });
    let changes = read.await.map_err(refused)??;
    if !changes.is_empty() {
        node.controls_to_write()?.change(changes).await.map_err(refused)?;
    }
    Ok(true)
}

fn parse(bytes: &Bytes) -> Result<Dump, RpcError> {
    let fault =
        |error: &dyn std::fmt::Display| refused(format!("no state of anvil's form: {error}"));
    if !bytes.starts_with(&GZIP) {
        return serde_json::from_slice(bytes).map_err(|error| fault(&error));
    }
    let mut json = Vec::new();
    let limit = MAX_BYTES as u64 + 1;
    GzDecoder::new(&bytes[..]).take(limit).read_to_end(&mut json).map_err(|error| fault(&error))?;
    if json.len() > MAX_BYTES {
        return Err(refused(format!("the state has more than {MAX_BYTES} bytes")));
    }
    serde_json::from_slice(&json).map_err(|error| fault(&error))
}

/// What is different in the last state.
fn changes(node: &DevelopmentNode, dump: &Dump) -> Result<Vec<WantedChange>, RpcError> {
    let (state, _) = node.transact.reads.state(LATEST)?;
    let view = state.view();
    let rules = &node.chain.params().rules;
    let fault = |what: &str| refused(format!("no state of anvil's form: {what}"));
    let number = |text: &str| {
        Number::parse(text.as_bytes()).ok_or_else(|| fault(&format!("{text:?} is no number")))
    };
    let mut changes = Vec::new();
    for (address, account) in &dump.accounts {
        let parsed = address.parse::<Address>();
        let address = parsed.map_err(|_| fault(&format!("{address:?} is no address")))?;
        let now = view.account(&address).map_err(read_error)?.unwrap_or_default();
        let balance = number(&account.balance)?;
        if balance != now.balance {
            changes.push(WantedChange::Balance(address, balance));
        }
        if account.nonce > now.nonce {
            changes.push(WantedChange::Nonce(address, account.nonce));
        }
        let code = hex::decode(&account.code).map_err(|_| fault("code is no hex data"))?;
        if view.code(now.code_hash).map_err(read_error)? != code {
            changes.push(WantedChange::Code(address, code.into()));
        }
        for (slot, value) in &account.storage {
            let (slot, value) = (number(slot)?, number(value)?);
            let before = view.storage(&address, rules.storage_slot(slot)).map_err(read_error)?;
            if before != value {
                changes.push(WantedChange::Storage(address, slot, value));
            }
        }
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dumps_are_read_with_and_without_compression() {
        let json = br#"{"block":null,"accounts":{"0x01":{"nonce":1,"balance":"0x2","code":"0x","storage":{}}},"blocks":[]}"#;
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(json).unwrap();
        for bytes in [json.to_vec(), gzip.finish().unwrap()] {
            let dump = parse(&bytes.into()).unwrap();
            assert_eq!(dump.accounts["0x01"].balance, "0x2");
        }
        for bad in [&b""[..], b"{}", b"[]", &GZIP, &[0x1f, 0x8b, 8, 0, 0]] {
            assert!(parse(&Bytes::copy_from_slice(bad)).is_err(), "{bad:?}");
        }
        let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
        bomb.write_all(&vec![b' '; MAX_BYTES + 1]).unwrap();
        let error = parse(&bomb.finish().unwrap().into()).unwrap_err();
        assert_eq!(error.message, "the state has more than 67108864 bytes");
    }
}
