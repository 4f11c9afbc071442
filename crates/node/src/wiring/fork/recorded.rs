//! The record of the forked block in the store.

use alloy_primitives::B256;
use esker_fork::pin::BlockChoice;
use esker_fork::{KeptBlock, ProofMode};
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
/// Whether its values are proved.
const PROOFS: &str = "proofs";
/// Whether the accounts for development have what they have at the source.
const BALANCES: &str = "balances kept";

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
    /// Whether its values are proved; `None`: not recorded.
    pub(super) is_proven: Option<bool>,
    /// Whether the accounts for development have what they have at the source; `None`: not recorded.
    pub(super) keeps_balances: Option<bool>,
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
            is_proven: value(PROOFS).parse().ok(),
            keeps_balances: value(BALANCES).parse().ok(),
        }))
    }

    /// Writes the record of a new folder.
    pub(super) fn write(&self, rules: &ForkRules, store: &Store) -> Result<(), StartError> {
        let flag = |flag: Option<bool>| flag.map(|flag| flag.to_string());
        let values = [
            (CHAIN, Some(self.chain_id.to_string())),
            (NUMBER, Some(self.number.to_string())),
            (HASH, Some(self.hash.to_string())),
            (PROOFS, flag(self.is_proven)),
            (BALANCES, flag(self.keeps_balances)),
        ];
        let values = values.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let values = values.collect();
        let mut out = WriteSet::new();
        meta::put_parameters(&mut out, OWNER, &values);
        rules.put(self.chain_id, &mut out);
        Ok(store.writer.commit_blocking(out)?)
    }

    /// The block and the trust of the folder's cache.
    pub(super) fn kept(&self) -> KeptBlock {
        KeptBlock { chain_id: self.chain_id, hash: self.hash, is_proven: self.is_proven }
    }

    /// Whether values are read with proofs: as before.
    pub(super) fn proof_mode(&self, wanted: ProofMode) -> Result<ProofMode, StartError> {
        let reason = |was: &str| {
            Err(fault("fork-proofs", format!("the data folder was made {was}: leave it out")))
        };
        match (self.is_proven, wanted) {
            (Some(true), ProofMode::Never) => reason("with proofs"),
            (Some(false), ProofMode::Required) => reason("without proofs"),
            (Some(true), _) => Ok(ProofMode::Required),
            (Some(false), _) => Ok(ProofMode::Never),
            (None, wanted) => Ok(wanted),
        }
    }

    /// Whether the accounts for development keep what they have: as before.
    pub(super) fn balances_kept(&self, wanted: bool) -> Result<bool, StartError> {
        match self.keeps_balances {
            Some(false) if wanted => {
                let reason = "the data folder was made without it: leave it out";
                Err(fault("fork-keep-balances", reason.to_owned()))
            }
            kept => Ok(kept.unwrap_or(wanted)),
        }
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
