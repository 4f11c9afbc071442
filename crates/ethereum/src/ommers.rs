//! Ommers of a block with proof of work, and the rewards.

use std::collections::HashSet;

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, U256};
use thiserror::Error;

use crate::block::Block;
use crate::check::{HeaderError, check_work_header};
use crate::forks::{ChainConfig, Fork};
use crate::system::Credit;

/// Most ommers of a block.
const MOST: usize = 2;

/// Ancestors that are looked at: an ommer is at most six blocks older than the block.
pub const GENERATIONS: usize = 7;

/// Wei of an ether.
const ETHER: u64 = 1_000_000_000_000_000_000;

/// Why the ommers of a block are refused. The texts are go-ethereum's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OmmerError {
    /// More than two; after the merge, any.
    #[error("too many uncles")]
    TooMany,
    /// The block or one of its ancestors has the same ommer.
    #[error("duplicate uncle")]
    Duplicate,
    /// The ommer is an ancestor.
    #[error("uncle is ancestor")]
    Ancestor,
    /// The ommer's parent is no ancestor, or it is the block's parent.
    #[error("uncle's parent is not ancestor")]
    Dangling,
    /// The ommer does not follow from its parent.
    #[error(transparent)]
    Header(#[from] HeaderError),
}

/// An ancestor of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestor {
    /// Its hash.
    pub hash: B256,
    /// Its header.
    pub header: Header,
    /// Hashes of its ommers.
    pub ommers: Vec<B256>,
}

/// Checks the ommers of a block whose [`GENERATIONS`] last ancestors are these, in any order.
///
/// # Errors
/// The first rule that they break.
pub fn check_ommers(
    config: &ChainConfig,
    block: &Block,
    ancestors: &[Ancestor],
) -> Result<(), OmmerError> {
    let ommers = &block.body.ommers;
    let most = if block.header.difficulty.is_zero() { 0 } else { MOST };
    if ommers.len() > most {
        return Err(OmmerError::TooMany);
    }
    let own = block.header.hash_slow();
    let mut seen: HashSet<B256> = ancestors.iter().flat_map(|a| a.ommers.iter().copied()).collect();
    seen.insert(own);
    for ommer in ommers {
        let hash = ommer.hash_slow();
        if !seen.insert(hash) {
            return Err(OmmerError::Duplicate);
        }
        if ancestors.iter().any(|ancestor| ancestor.hash == hash) {
            return Err(OmmerError::Ancestor);
        }
        let parent = ancestors.iter().find(|ancestor| ancestor.hash == ommer.parent_hash);
        match parent {
            Some(parent) if parent.hash != block.header.parent_hash => {
                check_work_header(config, ommer, &parent.header)?;
            }
            _ => return Err(OmmerError::Dangling),
        }
    }
    Ok(())
}

/// A block or an ommer, as far as its reward depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mined {
    /// Height.
    pub number: u64,
    /// Recipient of the reward.
    pub coinbase: Address,
}

/// The rewards of a block with proof of work, in the order of their payment: those of the ommers, then the block's
/// own.
pub fn rewards(fork: Fork, block: Mined, ommers: impl IntoIterator<Item = Mined>) -> Vec<Credit> {
    let whole = block_reward(fork);
    let mut own = whole;
    let mut credits = Vec::new();
    for ommer in ommers {
        let eighths = ommer.number.saturating_add(8).saturating_sub(block.number);
        let amount = whole.saturating_mul(U256::from(eighths)) / U256::from(8);
        credits.push(Credit { address: ommer.coinbase, amount });
        own = own.saturating_add(whole / U256::from(32));
    }
    credits.push(Credit { address: block.coinbase, amount: own });
    credits
}

/// Wei of a block without ommers.
fn block_reward(fork: Fork) -> U256 {
    let ether: u64 = if fork >= Fork::Constantinople {
        2
    } else if fork >= Fork::Byzantium {
        3
    } else {
        5
    };
    U256::from(ether) * U256::from(ETHER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ether(thousandths: u64) -> U256 {
        U256::from(thousandths) * U256::from(ETHER / 1000)
    }

    fn paid(fork: Fork, ommers: &[u64]) -> Vec<U256> {
        let mined = |number| Mined { number, coinbase: Address::repeat_byte(1) };
        let credits = rewards(fork, mined(100), ommers.iter().copied().map(mined));
        credits.iter().map(|credit| credit.amount).collect()
    }

    #[test]
    fn rewards_fall_with_the_forks_and_with_the_age_of_ommers() {
        assert_eq!(paid(Fork::SpuriousDragon, &[]), [ether(5000)]);
        assert_eq!(paid(Fork::Byzantium, &[]), [ether(3000)]);
        assert_eq!(paid(Fork::Constantinople, &[]), [ether(2000)]);
        assert_eq!(paid(Fork::GrayGlacier, &[]), [ether(2000)]);
        assert_eq!(
            paid(Fork::Frontier, &[99]),
            [ether(4375), ether(5000) + ether(5000) / U256::from(32)]
        );
        assert_eq!(paid(Fork::London, &[99, 94]), [ether(1750), ether(500), ether(2125)]);
    }
}
