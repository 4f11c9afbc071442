//! Reads a state as JSON, which may be compressed with gzip, in one pass. The size, the accounts and the slots are limited
//! meanwhile, and the reading ends when the client disconnects.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::{self, BufReader, Read};
use std::marker::PhantomData;
use std::sync::Arc;

use alloy_primitives::B256;
use esker_rpc::CallContext;
use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use thiserror::Error;

use super::accounts::{EntryBudget, accounts};
use super::form::{BlockEnv, Quantity, RawBlock, RawMined, Text};
use super::loaded::eth_header;
use super::states::{Accounts, States, StatesSeed};
use crate::loaded_blocks::LoadedBlock;

/// The first bytes of gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A decoded state.
#[derive(Debug, Default)]
pub(super) struct ReadState {
    /// Number of the last block.
    pub(super) number: Option<u64>,
    /// Time of the last block, Unix s.
    pub(super) time_s: Option<u64>,
    pub(super) accounts: Accounts,
    /// The states after earlier blocks, as far as the file has them.
    pub(super) states: States,
    /// In no order.
    pub(super) blocks: Vec<LoadedBlock>,
}

/// The reason why a state can't be read.
#[derive(Debug, Error)]
pub(super) enum ReadStateError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the client has gone")]
    Cancelled,
    #[error("the state has more than {0} bytes")]
    TooLong(u64),
    #[error("no state of anvil's form: {0}")]
    Form(#[from] serde_json::Error),
}

impl ReadState {
    /// Reads a state of at most so many bytes as JSON.
    pub(super) fn from_reader(
        from: impl Read,
        most: u64,
        context: &CallContext,
    ) -> Result<Self, ReadStateError> {
        let mut from = BufReader::new(from);
        let begin = io::BufRead::fill_buf(&mut from)?;
        let json: Box<dyn Read + '_> = match begin.starts_with(&GZIP) {
            true => Box::new(MultiGzDecoder::new(from)),
            false => Box::new(from),
        };
        let fault = Cell::new(None);
        let bounded = BoundedReader { json, left: most, most, fault: &fault, context };
        let mut json = serde_json::Deserializer::from_reader(BufReader::new(bounded));
        let room = EntryBudget::default();
        let read = json.deserialize_map(StateVisitor(&room)).and_then(|state| {
            json.end()?;
            Ok(state)
        });
        read.map_err(|error| fault.take().unwrap_or(ReadStateError::Form(error)))
    }
}

/// Bytes of JSON, up to a limit, until the client disconnects.
struct BoundedReader<'a> {
    json: Box<dyn Read + 'a>,
    left: u64,
    most: u64,
    /// The reason why the reading stopped.
    fault: &'a Cell<Option<ReadStateError>>,
    context: &'a CallContext,
}

impl Read for BoundedReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let ended = |fault: ReadStateError| {
            self.fault.set(Some(fault));
            Err(io::Error::other("the reading ends"))
        };
        if self.context.is_cancelled() {
            return ended(ReadStateError::Cancelled);
        }
        let read = self.json.read(out)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => return ended(ReadStateError::TooLong(self.most)),
        }
        Ok(read)
    }
}

struct StateVisitor<'a>(&'a EntryBudget);

impl<'de> Visitor<'de> for StateVisitor<'_> {
    type Value = ReadState;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ReadState, A::Error> {
        let (mut state, mut blocks) = (ReadState::default(), Vec::new());
        let mut mined = BTreeMap::<B256, Vec<RawMined>>::new();
        let (mut best, mut found) = (None, None);
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "block" => {
                    if let Some(BlockEnv { number, timestamp }) = map.next_value()? {
                        state.number = number.and_then(Quantity::to_u64);
                        state.time_s = timestamp.and_then(Quantity::to_u64);
                    }
                }
                "best_block_number" => {
                    best = map.next_value::<Option<Quantity>>()?.and_then(Quantity::to_u64);
                }
                "accounts" => found = Some(map.next_value_seed(accounts(self.0))?),
                "blocks" => blocks = map.next_value_seed(List::<RawBlock>::new(self.0))?,
                "transactions" => {
                    for one in map.next_value_seed(List::<RawMined>::new(self.0))? {
                        mined.entry(one.block_hash.0).or_default().push(one);
                    }
                }
                // After the blocks, as anvil writes it: the hashes of other blocks say nothing.
                "historical_states" => {
                    state.states = map.next_value_seed(StatesSeed(&heights_of(&blocks)))?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        state.number = best.or(state.number);
        let found = found.ok_or_else(|| A::Error::missing_field("accounts"))?;
        let found = found.into_iter();
        state.accounts =
            found.map(|(Text(address), account)| (address, Arc::new(account))).collect();
        for raw in blocks {
            let block = LoadedBlock::of_raw(raw, |hash| mined.remove(hash).unwrap_or_default());
            state.blocks.push(block.map_err(A::Error::custom)?);
        }
        Ok(state)
    }
}

/// The heights of the blocks that are found by their heights, by their hashes. Of several at one height the last one is.
fn heights_of(blocks: &[RawBlock]) -> HashMap<B256, u64> {
    let headers = blocks.iter().filter_map(|block| eth_header(&block.header));
    let hashes: BTreeMap<_, _> =
        headers.map(|header| (header.number, header.hash_slow())).collect();
    hashes.into_iter().map(|(number, hash)| (hash, number)).collect()
}

/// A list whose items are counted; `null` is an empty one.
struct List<'a, T>(&'a EntryBudget, PhantomData<T>);

impl<'a, T> List<'a, T> {
    fn new(room: &'a EntryBudget) -> Self {
        Self(room, PhantomData)
    }
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for List<'_, T> {
    type Value = Vec<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<T>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for List<'_, T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<Vec<T>, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            self.0.take()?;
            items.push(item);
        }
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::super::accounts::MAX_ENTRIES;
    use super::*;

    fn read(bytes: &[u8], most: u64) -> Result<ReadState, String> {
        ReadState::from_reader(bytes, most, &CallContext::new()).map_err(|error| error.to_string())
    }

    fn gzip(json: &[u8]) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(json).unwrap();
        gzip.finish().unwrap()
    }

    #[test]
    fn states_are_read_with_and_without_compression() {
        let json = br#"{"block":null,"accounts":{"0x00000000000000000000000000000000000000a1":
            {"nonce":1,"balance":"0x2","code":"0x","storage":{"0x1":"0x2","3":"4"}}},
            "best_block_number":"0x7","blocks":[],"transactions":[],"historical_states":[["0x00000000000000000000000000000000000000000000000000000000000000b1",[1]]]}"#;
        for bytes in [json.to_vec(), gzip(json)] {
            let state = read(&bytes, 1000).unwrap();
            assert_eq!((state.number, state.accounts.len()), (Some(7), 1));
            let account = state.accounts.values().next().unwrap();
            assert_eq!(account.storage.len(), 2);
        }
        for bad in [&b""[..], b"{}", b"[]", &GZIP, &[0x1f, 0x8b, 8, 0, 0], b"{\"accounts\":{}} 1"] {
            let error = read(bad, 1000).unwrap_err();
            assert!(error.starts_with("no state of anvil's form"), "{error}");
        }
    }

    #[test]
    fn a_state_is_bounded_while_it_is_read() {
        let spaces = gzip(&vec![b' '; 10_000]);
        assert_eq!(read(&spaces, 9_999).unwrap_err(), "the state has more than 9999 bytes");
        let mut slots = String::from(
            r#"{"accounts":{"0x00000000000000000000000000000000000000a1":{"storage":{"0":"1""#,
        );
        for slot in 1..=MAX_ENTRIES {
            slots.push_str(&format!(",\"{slot}\":\"1\""));
        }
        let error = read(slots.as_bytes(), 1 << 30).unwrap_err();
        assert!(error.contains("more than 500000 accounts, slots"), "{error}");
        let context = CallContext::new();
        context.cancel();
        let error = ReadState::from_reader(&b"{\"accounts\":{}}"[..], 100, &context)
            .unwrap_err()
            .to_string();
        assert_eq!(error, "the client has gone");
    }
}
