//! The record of the forked block in the store.

use alloy_primitives::B256;
use esker_fork::pin::BlockChoice;
use esker_storage::{StorageError, Store, WriteSet, meta};

use super::choice::fault;
use super::rules::ForkRules;
use crate::wiring::error::StartError;

/// Owner of the record in the store.
const OWNER: &[u8] = b"fork";
/// ID of the chain.
const CHAIN: &str = "chain";
/// Height of the block.
const NUMBER: &str = "number";
/// Hash of the block.
const HASH: &str = "hash";

/// Refuses commands that need the whole state of a folder.
pub(in crate::wiring) fn refuse(store: &Store) -> Result<(), StartError> {
    let Some(block) = Recorded::read(store)? else { return Ok(()) };
    Err(StartError::OfFork { number: block.number, chain_id: block.chain_id })
}

/// The block on which the chain of a folder began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recorded {
    pub(super) chain_id: u64,
    pub(super) number: u64,
    pub(super) hash: B256,
}

impl Recorded {
    /// The record of a folder, if it has one.
    pub(super) fn read(store: &Store) -> Result<Option<Self>, StartError> {
        let Some(values) = meta::parameters(store.snapshot()?.as_ref(), OWNER)? else {
            return Ok(None);
        };
        let value = |wanted: &str| {
            values.iter().find(|(name, _)| name == wanted).map_or("", |(_, value)| value)
        };
        let damaged = || StorageError::Corrupted("the record of the forked block".to_owned());
        let number = |text: &str| text.parse().map_err(|_| damaged());
        Ok(Some(Self {
            chain_id: number(value(CHAIN))?,
            number: number(value(NUMBER))?,
            hash: value(HASH).parse().map_err(|_| damaged())?,
        }))
    }

    /// Writes the record of a new folder.
    pub(super) fn write(&self, rules: &ForkRules, store: &Store) -> Result<(), StartError> {
        let values = [
            (CHAIN, self.chain_id.to_string()),
            (NUMBER, self.number.to_string()),
            (HASH, self.hash.to_string()),
        ];
        let values = values.map(|(name, value)| (name.to_owned(), value)).into();
        let mut out = WriteSet::new();
        meta::put_parameters(&mut out, OWNER, &values);
        rules.put(&mut out);
        Ok(store.writer.commit_blocking(out)?)
    }

    /// This block, unless another one is asked for.
    pub(super) fn checked(&self, wanted: BlockChoice) -> Result<BlockChoice, StartError> {
        let is_other = match wanted {
            BlockChoice::Number(number) => number != self.number,
            BlockChoice::Hash(hash) => hash != self.hash,
            BlockChoice::Latest | BlockChoice::Safe | BlockChoice::Finalized => false,
        };
        match is_other {
            true => {
                let reason = format!(
                    "the data folder was made on top of block {} ({}): leave it out, or start with another folder",
                    self.number, self.hash
                );
                Err(fault("fork-block", reason))
            }
            false => Ok(BlockChoice::Hash(self.hash)),
        }
    }
}
