//! Every header of the recorded chain follows from its parent, and no altered one does.

use alloy_consensus::TrieAccount;
use alloy_consensus::proofs::{state_root_unhashed, storage_root_unhashed};
use alloy_primitives::{Address, B64, B256, Bytes, U256, keccak256};
use esker_ethereum::block::{Block, Header, parse_block};
use esker_ethereum::check::{BodyError, check_body, check_header, check_transition};
use esker_ethereum::difficulty::child_difficulty;
use esker_ethereum::forks::{ChainConfig, Fork, fork_hash};
use esker_ethereum::genesis::Genesis;
use esker_ethereum::ommers::{Ancestor, Mined, OmmerError, check_ommers, rewards};
use esker_ethereum::system::{begin_calls, request_calls, withdrawals};

use crate::{block_bytes, file};

/// The configuration and the blocks, the first one included.
fn chain() -> (ChainConfig, Vec<Block>) {
    let genesis = Genesis::parse(&file("genesis.json")).unwrap();
    let mut blocks: Vec<Block> =
        block_bytes().iter().map(|bytes| parse_block(bytes).unwrap()).collect();
    blocks.insert(0, Block::uncle(genesis.header(state_root(&genesis))));
    (genesis.config, blocks)
}

/// The root of the first block's state.
fn state_root(genesis: &Genesis) -> B256 {
    let accounts = genesis.fields.alloc.iter().map(|(address, account)| {
        let slots = account.storage.iter().map(|(key, value)| (*key, U256::from_be_bytes(value.0)));
        let storage_root = storage_root_unhashed(slots);
        let (nonce, balance) = (account.nonce, account.balance);
        let code_hash = keccak256(&account.code);
        (*address, TrieAccount { nonce, balance, storage_root, code_hash })
    });
    state_root_unhashed(accounts)
}

fn ancestors(blocks: &[Block], number: usize) -> Vec<Ancestor> {
    blocks[number.saturating_sub(7)..number]
        .iter()
        .map(|block| Ancestor {
            hash: block.header.hash_slow(),
            header: block.header.clone(),
            ommers: block.body.ommers.iter().map(Header::hash_slow).collect(),
        })
        .collect()
}

#[test]
fn every_block_follows_from_its_parent() {
    let (config, blocks) = chain();
    let mut total = blocks[0].header.difficulty;
    for (number, pair) in blocks.windows(2).enumerate() {
        let (parent, block) = (&pair[0], &pair[1]);
        assert_eq!(check_header(&config, &block.header, &parent.header), Ok(()), "{number}");
        assert_eq!(check_transition(&config, &block.header, total), Ok(()), "{number}");
        assert_eq!(check_body(&config, block), Ok(()), "{number}");
        let before = ancestors(&blocks, number + 1);
        assert_eq!(check_ommers(&config, block, &before), Ok(()), "{number}");
        total += block.header.difficulty;
    }
    assert_eq!(total, U256::from(4_732_352));
}

#[test]
fn forks_begin_at_their_blocks() {
    let (config, blocks) = chain();
    let fork = |number: usize| {
        let header = &blocks[number].header;
        config.fork_at(header.number, header.timestamp, header.difficulty.is_zero())
    };
    let begun = [
        Fork::Homestead,
        Fork::TangerineWhistle,
        Fork::SpuriousDragon,
        Fork::Byzantium,
        Fork::Constantinople,
        Fork::Petersburg,
        Fork::Istanbul,
        Fork::MuirGlacier,
        Fork::Berlin,
        Fork::London,
        Fork::ArrowGlacier,
        Fork::GrayGlacier,
        Fork::Paris,
        Fork::Shanghai,
        Fork::Cancun,
        Fork::Prague,
        Fork::Osaka,
        Fork::Bpo1,
        Fork::Bpo2,
    ];
    for (index, expected) in begun.into_iter().enumerate() {
        assert_eq!(fork(index * 3), expected, "{index}");
        assert!(index == 0 || fork(index * 3 - 1) < expected, "{index}");
    }
}

/// The fork ID of the suite's recorded reply.
#[test]
fn the_fork_id_is_the_recorded_one() {
    let (config, blocks) = chain();
    let hash = fork_hash(&config, blocks[0].header.hash_slow(), 0, 54, 540);
    assert_eq!(hash, [0xe2, 0x72, 0xec, 0xbe]);
}

#[test]
fn work_and_withdrawals_are_paid() {
    let (config, blocks) = chain();
    let mined = |h: &Header| Mined { number: h.number, coinbase: h.beneficiary };
    let paid = |number: usize| {
        let Block { header, body } = &blocks[number];
        rewards(Fork::Homestead, mined(header), body.ommers.iter().map(mined)).len()
    };
    assert_eq!((paid(1), paid(3)), (1, 2));
    let lists = blocks.iter().filter_map(|block| block.body.withdrawals.as_ref());
    let credits: Vec<_> = lists.flat_map(|list| withdrawals(list)).collect();
    assert_eq!(credits.len(), 6);
    let calls = |number: usize| {
        let header = &blocks[number].header;
        let fork = config.fork_at(header.number, header.timestamp, header.difficulty.is_zero());
        begin_calls(fork, B256::ZERO, header.parent_hash).len()
    };
    assert_eq!((calls(41), calls(42), calls(45), calls(54)), (0, 1, 2, 2));
    assert_eq!(request_calls(Fork::Bpo2).len(), 2);
}

type Change = fn(&mut Header);

/// One change of each field that the parent or the body determines.
const CHANGES: &[(&str, Change)] = &[
    ("parent hash", |h| h.parent_hash = B256::repeat_byte(1)),
    ("ommers hash", |h| h.ommers_hash = B256::repeat_byte(1)),
    ("transactions root", |h| h.transactions_root = B256::repeat_byte(1)),
    ("difficulty", |h| h.difficulty += U256::ONE),
    ("number", |h| h.number += 1),
    ("gas limit", |h| h.gas_limit *= 2),
    ("gas used", |h| h.gas_used = h.gas_limit + 1),
    ("time", |h| h.timestamp -= 10),
    ("extra data", |h| h.extra_data = Bytes::from_static(&[1; 33])),
    ("base fee", |h| h.base_fee_per_gas = Some(h.base_fee_per_gas.map_or(7, |fee| fee + 1))),
    ("no base fee", |h| {
        h.base_fee_per_gas = if h.base_fee_per_gas.is_some() { None } else { Some(1) }
    }),
    ("withdrawals root", |h| h.withdrawals_root = Some(B256::repeat_byte(1))),
    ("no withdrawals root", |h| h.withdrawals_root = toggled(h.withdrawals_root)),
    ("blob gas", |h| h.blob_gas_used = Some(h.blob_gas_used.map_or(0, |gas| gas + 131_072))),
    ("part of a blob", |h| h.blob_gas_used = Some(1)),
    ("many blobs", |h| h.blob_gas_used = Some(22 * 131_072)),
    ("excess blob gas", |h| h.excess_blob_gas = Some(h.excess_blob_gas.map_or(0, |gas| gas + 1))),
    ("beacon root", |h| h.parent_beacon_block_root = toggled(h.parent_beacon_block_root)),
    ("requests hash", |h| h.requests_hash = toggled(h.requests_hash)),
    ("access list", |h| h.block_access_list_hash = Some(B256::ZERO)),
    ("slot number", |h| h.slot_number = Some(0)),
];

fn toggled(hash: Option<B256>) -> Option<B256> {
    if hash.is_some() { None } else { Some(B256::ZERO) }
}

#[test]
fn an_altered_header_is_refused_at_every_height() {
    let (config, blocks) = chain();
    for pair in blocks.windows(2) {
        let parent = &pair[0].header;
        for (name, change) in CHANGES {
            let mut block = pair[1].clone();
            change(&mut block.header);
            let header = check_header(&config, &block.header, parent).err();
            let refused = header.is_some() || check_body(&config, &block).is_err();
            assert!(refused, "{name} of {}", pair[1].header.number);
        }
    }
}

/// Nonce and mix digest are the seal before the merge.
#[test]
fn a_nonce_is_refused_after_the_merge() {
    let (config, blocks) = chain();
    for (number, refused) in [(35, false), (36, true), (54, true)] {
        let mut header = blocks[number].header.clone();
        header.nonce = B64::repeat_byte(1);
        header.beneficiary = Address::repeat_byte(1);
        assert_eq!(check_header(&config, &header, &blocks[number - 1].header).is_err(), refused);
    }
}

#[test]
fn work_does_not_come_back() {
    let (config, blocks) = chain();
    let mut header = blocks[37].header.clone();
    header.difficulty = child_difficulty(&config, header.timestamp, &blocks[36].header);
    let error = check_header(&config, &header, &blocks[36].header).unwrap_err();
    assert_eq!(error.to_string(), "invalid terminal block");
    let mut early = blocks[35].header.clone();
    early.difficulty = U256::ZERO;
    assert!(check_transition(&config, &early, U256::from(4_600_000)).is_err());
}

#[test]
fn another_body_is_refused() {
    let (config, blocks) = chain();
    let altered = |number: usize, change: fn(&mut Block)| {
        let mut block = blocks[number].clone();
        change(&mut block);
        check_body(&config, &block).unwrap_err()
    };
    let error = altered(54, |block| drop(block.body.transactions.pop()));
    assert!(matches!(error, BodyError::Transactions { .. }));
    let error = altered(3, |block| block.body.ommers.clear());
    assert!(matches!(error, BodyError::Ommers { .. }));
    assert_eq!(altered(54, |block| block.body.withdrawals = None), BodyError::NoWithdrawals);
    let error = altered(39, |block| block.body.withdrawals.as_mut().unwrap().0.clear());
    assert!(matches!(error, BodyError::Withdrawals { .. }));
    let error = altered(5, |block| block.body.withdrawals = Some(Default::default()));
    assert_eq!(error, BodyError::EarlyWithdrawals);
    let error = altered(42, |block| block.header.blob_gas_used = Some(0));
    assert_eq!(error.to_string(), "blob gas used mismatch (header 0, calculated 131072)");
    let error = altered(42, |block| block.header.blob_gas_used = None);
    assert_eq!(error, BodyError::EarlyBlobs);
}

#[test]
fn wrong_ommers_are_refused() {
    let (config, blocks) = chain();
    let check = |number: usize, ommers: Vec<Header>| {
        let mut block = blocks[number].clone();
        block.body.ommers = ommers;
        check_ommers(&config, &block, &ancestors(&blocks, number))
    };
    let ommer = blocks[16].body.ommers[0].clone();
    let other = Header { beneficiary: Address::repeat_byte(9), ..ommer.clone() };
    let third = Header { beneficiary: Address::repeat_byte(8), ..ommer.clone() };
    assert_eq!(check(16, vec![ommer.clone(), other.clone()]), Ok(()));
    let many = vec![ommer.clone(), other.clone(), third];
    assert_eq!(check(16, many), Err(OmmerError::TooMany));
    assert_eq!(check(16, vec![ommer.clone(), ommer.clone()]), Err(OmmerError::Duplicate));
    assert_eq!(check(17, vec![ommer.clone()]), Err(OmmerError::Duplicate));
    assert_eq!(check(17, vec![blocks[15].header.clone()]), Err(OmmerError::Ancestor));
    assert_eq!(check(16, vec![blocks[16].header.clone()]), Err(OmmerError::Duplicate));
    let sibling = Header { beneficiary: Address::repeat_byte(9), ..blocks[16].header.clone() };
    assert_eq!(check(16, vec![sibling]), Err(OmmerError::Dangling));
    // Six blocks later it is the last time.
    let late = |number| check(number, vec![other.clone()]);
    assert_eq!(late(ommer.number as usize + 6), Ok(()));
    assert_eq!(late(ommer.number as usize + 7), Err(OmmerError::Dangling));
    let easy = Header { difficulty: U256::from(1), ..other };
    assert!(matches!(check(16, vec![easy]), Err(OmmerError::Header(_))));
    assert_eq!(check(40, vec![ommer]), Err(OmmerError::TooMany));
}
