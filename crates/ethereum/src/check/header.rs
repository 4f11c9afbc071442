//! A header against its parent.

use alloy_consensus::Header;
use alloy_primitives::{B64, U256};

use super::blobs::check_blobs;
use super::error::HeaderError;
use super::fees::check_fees;
use crate::difficulty::child_difficulty;
use crate::forks::{ChainConfig, DAO_EXTRA, Fork};

/// Most bytes of extra data.
const MAX_EXTRA: usize = 32;

/// The greatest gas limit.
const MAX_GAS_LIMIT: u64 = i64::MAX as u64;

/// Checks that a header follows from its parent. A header without difficulty is one after the merge. The seal of a
/// proof of work is not checked.
///
/// # Errors
/// The first rule that it breaks.
pub fn check_header(
    config: &ChainConfig,
    header: &Header,
    parent: &Header,
) -> Result<(), HeaderError> {
    check_child(config, header, parent, None)
}

/// As [`check_header`], for a block of a development chain, whose base fee (wei) and gas limit were set.
///
/// # Errors
/// The first rule that it breaks.
pub fn check_set_header(
    config: &ChainConfig,
    header: &Header,
    parent: &Header,
    base_fee: u64,
) -> Result<(), HeaderError> {
    check_child(config, header, parent, Some(base_fee))
}

fn check_child(
    config: &ChainConfig,
    header: &Header,
    parent: &Header,
    set_base_fee: Option<u64>,
) -> Result<(), HeaderError> {
    if header.parent_hash != parent.hash_slow() {
        return Err(HeaderError::UnknownParent);
    }
    let has_work = |header: &Header| !header.difficulty.is_zero();
    match (has_work(parent), has_work(header)) {
        (false, true) => Err(HeaderError::Terminal),
        (true, true) => check_work(config, header, parent, set_base_fee),
        (_, false) => check_merged(config, header, parent, set_base_fee),
    }
}

/// Checks that headers have a difficulty up to the terminal total difficulty, and none after it. `total` is the sum of
/// the difficulties up to the parent. A height or a time of the merge allows headers without difficulty before.
///
/// # Errors
/// [`HeaderError::EarlyMerge`], [`HeaderError::LateWork`].
pub fn check_transition(
    config: &ChainConfig,
    header: &Header,
    total: U256,
) -> Result<(), HeaderError> {
    let Some(terminal) = config.terminal_total_difficulty else { return Ok(()) };
    if !header.difficulty.is_zero() {
        return match total >= terminal {
            true => Err(HeaderError::LateWork { total, terminal }),
            false => Ok(()),
        };
    }
    match config.is_merged(header.number, header.timestamp, total) {
        true => Ok(()),
        false => Err(HeaderError::EarlyMerge { total, terminal }),
    }
}

/// Checks a header with proof of work, of a block or of an ommer, whose parent is known to be this one.
///
/// # Errors
/// The first rule that it breaks.
pub fn check_work_header(
    config: &ChainConfig,
    header: &Header,
    parent: &Header,
) -> Result<(), HeaderError> {
    check_work(config, header, parent, None)
}

fn check_work(
    config: &ChainConfig,
    header: &Header,
    parent: &Header,
    set_base_fee: Option<u64>,
) -> Result<(), HeaderError> {
    if header.extra_data.len() > MAX_EXTRA {
        return Err(HeaderError::LongWorkExtra(header.extra_data.len()));
    }
    if header.timestamp <= parent.timestamp {
        return Err(HeaderError::WorkTime);
    }
    let want = child_difficulty(config, header.timestamp, parent);
    if header.difficulty != want {
        return Err(HeaderError::Difficulty { have: header.difficulty, want });
    }
    check_gas(header)?;
    check_fees(config, header, parent, set_base_fee)?;
    check_number(header, parent)?;
    let timed = config.fork_at(header.number, header.timestamp, true);
    for (fork, name) in [(Fork::Shanghai, "shanghai"), (Fork::Cancun, "cancun")] {
        if timed >= fork {
            return Err(HeaderError::WorkAfterMerge(name));
        }
    }
    check_no_later_fields(Fork::Frontier, header)?;
    check_dao_extra(config, header)
}

/// Checks a header after the merge.
fn check_merged(
    config: &ChainConfig,
    header: &Header,
    parent: &Header,
    set_base_fee: Option<u64>,
) -> Result<(), HeaderError> {
    if header.extra_data.len() > MAX_EXTRA {
        return Err(HeaderError::LongExtra(header.extra_data.len()));
    }
    if header.nonce != B64::ZERO {
        return Err(HeaderError::Nonce);
    }
    if !header.ommers_hash_is_empty() {
        return Err(HeaderError::OmmersHash);
    }
    if header.timestamp <= parent.timestamp {
        return Err(HeaderError::Time);
    }
    check_gas(header)?;
    check_number(header, parent)?;
    check_fees(config, header, parent, set_base_fee)?;
    let fork = config.fork_at(header.number, header.timestamp, true);
    check_no_later_fields(fork, header)?;
    check_fields(config, fork, header, parent)
}

fn check_gas(header: &Header) -> Result<(), HeaderError> {
    if header.gas_limit > MAX_GAS_LIMIT {
        return Err(HeaderError::HugeGasLimit(header.gas_limit));
    }
    if header.gas_used > header.gas_limit {
        return Err(HeaderError::GasUsed { used: header.gas_used, limit: header.gas_limit });
    }
    Ok(())
}

fn check_number(header: &Header, parent: &Header) -> Result<(), HeaderError> {
    if Some(header.number) == parent.number.checked_add(1) {
        Ok(())
    } else {
        Err(HeaderError::Number)
    }
}

/// Checks that fields of later forks are absent.
fn check_no_later_fields(fork: Fork, header: &Header) -> Result<(), HeaderError> {
    if let (true, Some(root)) = (fork < Fork::Shanghai, header.withdrawals_root) {
        return Err(HeaderError::EarlyWithdrawalsRoot(root));
    }
    if fork < Fork::Cancun {
        if let Some(excess) = header.excess_blob_gas {
            return Err(HeaderError::EarlyExcessBlobGas(excess));
        }
        if let Some(used) = header.blob_gas_used {
            return Err(HeaderError::EarlyBlobGas(used));
        }
        if let Some(root) = header.parent_beacon_block_root {
            return Err(HeaderError::EarlyBeaconRoot(root));
        }
    }
    if let (true, Some(hash)) = (fork < Fork::Prague, header.requests_hash) {
        return Err(HeaderError::EarlyRequestsHash(hash));
    }
    if fork < Fork::Amsterdam {
        if header.block_access_list_hash.is_some() {
            return Err(HeaderError::EarlyAccessList);
        }
        if let Some(slot) = header.slot_number {
            return Err(HeaderError::EarlySlotNumber(slot));
        }
    }
    Ok(())
}

/// Checks that fields of the fork are present, and blob gas.
fn check_fields(
    config: &ChainConfig,
    fork: Fork,
    header: &Header,
    parent: &Header,
) -> Result<(), HeaderError> {
    if fork >= Fork::Shanghai && header.withdrawals_root.is_none() {
        return Err(HeaderError::NoWithdrawalsRoot);
    }
    if let Some(params) = config.blobs.at(fork) {
        if header.parent_beacon_block_root.is_none() {
            return Err(HeaderError::NoBeaconRoot);
        }
        check_blobs(fork, &params, header, parent)?;
    }
    if fork >= Fork::Prague && header.requests_hash.is_none() {
        return Err(HeaderError::NoRequestsHash);
    }
    if fork >= Fork::Amsterdam {
        return Err(HeaderError::Unsupported("Amsterdam"));
    }
    Ok(())
}

fn check_dao_extra(config: &ChainConfig, header: &Header) -> Result<(), HeaderError> {
    if !config.marks_dao_fork(header.number) {
        return Ok(());
    }
    match (config.dao_fork_support, *header.extra_data == *DAO_EXTRA) {
        (true, false) => Err(HeaderError::NoDaoExtra),
        (false, true) => Err(HeaderError::DaoExtra),
        (true, true) | (false, false) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::Bytes;

    use super::*;
    use crate::forks::BlockRule;

    #[test]
    fn ten_blocks_of_the_dao_fork_are_marked() {
        let mainnet = ChainConfig::mainnet();
        let opposed = ChainConfig { dao_fork_support: false, ..mainnet.clone() };
        let check = |config: &ChainConfig, number, extra: &'static [u8]| {
            let extra_data = Bytes::from_static(extra);
            check_dao_extra(config, &Header { number, extra_data, ..Header::default() })
        };
        for number in [1_920_000, 1_920_009] {
            assert_eq!(check(&mainnet, number, DAO_EXTRA), Ok(()));
            assert_eq!(check(&mainnet, number, b""), Err(HeaderError::NoDaoExtra));
            assert_eq!(check(&opposed, number, DAO_EXTRA), Err(HeaderError::DaoExtra));
            assert_eq!(check(&opposed, number, b""), Ok(()));
        }
        for number in [1_919_999, 1_920_010] {
            assert_eq!(check(&mainnet, number, b""), Ok(()));
            assert_eq!(check(&opposed, number, DAO_EXTRA), Ok(()));
        }
        assert_eq!(check(&ChainConfig::default(), 1_920_000, DAO_EXTRA), Ok(()));
    }

    #[test]
    fn work_ends_at_the_terminal_total_difficulty() {
        let config = ChainConfig {
            terminal_total_difficulty: Some(U256::from(100)),
            ..ChainConfig::default()
        };
        let header =
            |difficulty: u64| Header { difficulty: U256::from(difficulty), ..Header::default() };
        let check = |config: &ChainConfig, difficulty, total| {
            let checked = check_transition(config, &header(difficulty), U256::from(total));
            checked.map_err(|error| error.to_string())
        };
        let early = "no proof of work after total difficulty 99, below the terminal 100";
        let late = "proof of work after total difficulty 100, which reached the terminal 100";
        let invalid = |why: &str| Err(format!("invalid terminal block: {why}"));
        assert_eq!(check(&config, 5, 99), Ok(()));
        assert_eq!(check(&config, 0, 99), invalid(early));
        assert_eq!(check(&config, 0, 100), Ok(()));
        assert_eq!(check(&config, 1, 100), invalid(late));
        // A height of the merge comes before the sum.
        let by_height = config.with_block(BlockRule::MergeNetsplit, 0);
        assert_eq!(check(&by_height, 0, 99), Ok(()));
    }
}
