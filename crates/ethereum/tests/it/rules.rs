//! The recorded chain behind the interface of rules: what needs no execution.

use std::sync::Arc;

use alloy_primitives::{B256, Bloom, U256};
use esker_ethereum::genesis::Genesis;
use esker_ethereum::rules::EthereumRules;
use esker_evm_execution::rules::{
    AncestorBlocks, BlockAttributes, BlockCheck, BlockCodec, BlockEnd, BlockPoint, BlockResults,
    ExtSummary, HeaderRules, HeaderTerms, NewBlock, NextHeader, Revision, Rules, StateRules,
};
use esker_evm_state::state::StateError;
use esker_evm_state::types::{Account, AccountCodec, Block, Header, SealedHeader};
use esker_storage::{Scope, WriteSet};

use crate::{block_bytes, file};

fn rules() -> EthereumRules {
    EthereumRules::new(Genesis::parse(&file("genesis.json")).unwrap().config)
}

/// All blocks; the first one has its state root by the executor's own code.
fn blocks(rules: &dyn Rules) -> Vec<Block> {
    let genesis = Genesis::parse(&file("genesis.json")).unwrap();
    let mut out = WriteSet::default();
    let first = genesis.fields.build(rules, Scope(7), Default::default(), &mut out).unwrap();
    let rest = block_bytes().into_iter().map(|bytes| rules.decode_block(&bytes).unwrap());
    std::iter::once(first).chain(rest).collect()
}

struct Chain(Vec<Block>);

impl AncestorBlocks for Chain {
    fn ancestor(&self, number: u64) -> Result<Option<Block>, StateError> {
        Ok(self.0.get(number as usize).cloned())
    }
}

#[test]
fn every_block_passes_its_checks() {
    let rules = rules();
    let chain = Chain(blocks(&rules));
    let ext = ExtSummary::default();
    for pair in chain.0.windows(2) {
        let (parent, block) = (&pair[0].header, &pair[1]);
        let number = block.header.number;
        assert_eq!(block.header.parent_hash, rules.block_hash(parent), "{number}");
        let transactions_root = block.transactions_root();
        let set = &HeaderTerms::default();
        let check = BlockCheck { block, transactions_root, ext, set, now_s: Some(1000) };
        rules.check_block(&check).unwrap();
        rules.check_transactions(block).unwrap();
        let terms = rules.block_terms(parent, &block.header).unwrap();
        rules.check_header(parent, &terms, block, &ext).unwrap();
        rules.check_uncles(block, &chain).unwrap();
        assert_eq!(Some(terms.base_fee).filter(|fee| !fee.is_zero()), block.header.base_fee);
        assert_eq!(terms.difficulty, block.header.difficulty, "{number}");
        assert_eq!(terms.excess_blob_gas, block.header.excess_blob_gas, "{number}");
        assert_eq!(rules.decode_header_of(&rules.encode_block(block)).unwrap(), block.header);
    }
}

/// A header that is made from a block's own results is the block's, apart from extra data and mix digest.
#[test]
fn a_sealed_block_is_the_recorded_one() {
    let rules = rules();
    let blocks = blocks(&rules);
    for pair in blocks.windows(2).filter(|pair| pair[1].uncles.is_empty()) {
        let (parent, block) = (&pair[0].header, &pair[1]);
        let header = &block.header;
        let new = NewBlock {
            time: header.time,
            state_root: header.state_root,
            transactions: block.transactions.clone(),
            attributes: BlockAttributes {
                beacon_root: header.parent_beacon_root,
                withdrawals: block.withdrawals.clone(),
                extra: None,
            },
            ..NewBlock::default()
        };
        let end = BlockEnd { requests_hash: header.requests_hash, ..BlockEnd::default() };
        let results = BlockResults {
            receipts_root: header.receipts_root,
            bloom: header.bloom,
            gas_used: header.gas_used,
            end,
            ..BlockResults::default()
        };
        let terms = rules.block_terms(parent, header).unwrap();
        let sealed = rules.seal_block((parent, header.parent_hash), &terms, new, &results).unwrap();
        assert_eq!(sealed, *block, "{}", header.number);
        rules.check_results(header, &terms, &results).unwrap();
        let other = BlockResults { gas_used: 1, ..results };
        assert!(rules.check_results(header, &terms, &other).is_err());
    }
}

#[test]
fn each_different_result_is_named() {
    let rules = rules();
    let blocks = blocks(&rules);
    let (parent, header) = (&blocks[53].header, &blocks[54].header);
    let terms = rules.block_terms(parent, header).unwrap();
    let same = BlockResults {
        receipts_root: header.receipts_root,
        bloom: header.bloom,
        gas_used: header.gas_used,
        end: BlockEnd { requests_hash: header.requests_hash, ..BlockEnd::default() },
        ..BlockResults::default()
    };
    rules.check_results(header, &terms, &same).unwrap();
    let other = B256::repeat_byte(1);
    let end = BlockEnd { requests_hash: Some(other), ..BlockEnd::default() };
    let gas = "invalid gas used (remote: 339825 local: 339826)";
    for (results, text) in [
        (BlockResults { gas_used: header.gas_used + 1, ..same.clone() }, gas),
        (BlockResults { bloom: Bloom::repeat_byte(1), ..same.clone() }, "invalid bloom (remote: "),
        (BlockResults { receipts_root: other, ..same.clone() }, "invalid receipt root hash (remo"),
        (BlockResults { end, ..same.clone() }, "invalid requests hash (remote: "),
    ] {
        let error = rules.check_results(header, &terms, &results).unwrap_err().to_string();
        assert!(error.starts_with(text), "{error}");
    }
    let early = Header { requests_hash: None, ..header.clone() };
    let error = rules.check_results(&early, &terms, &same).unwrap_err().to_string();
    assert_eq!(error, "block has requests before prague fork");
}

#[test]
fn a_block_ahead_of_the_clock_is_only_too_early() {
    let rules = rules();
    let block = &blocks(&rules)[54];
    let set = &HeaderTerms::default();
    let (transactions_root, ext) = (block.transactions_root(), ExtSummary::default());
    let check = BlockCheck { block, transactions_root, ext, set, now_s: Some(500) };
    assert_eq!(rules.check_block(&check).unwrap_err().too_early(), Some((540, 515)));
}

#[test]
fn a_development_chain_sets_its_fees() {
    let next = Arc::new(NextHeader::default());
    let rules = rules().for_development().with_next_header(Arc::clone(&next));
    next.change(|set| set.base_fee = Some(U256::from(5)));
    let blocks = blocks(&rules);
    let (parent, block) = (&blocks[53].header, &blocks[54]);
    assert_eq!(rules.next_terms(parent, 540).unwrap().base_fee, U256::from(5));
    let mut set = block.clone();
    set.header.base_fee = Some(U256::from(5));
    set.header.gas_limit = 30_000_000;
    let terms = rules.block_terms(parent, &set.header).unwrap().with(&next.get());
    rules.check_header(parent, &terms, &set, &ExtSummary::default()).unwrap();
    let usual = rules.block_terms(parent, &set.header).unwrap();
    assert!(rules.check_header(parent, &usual, &set, &ExtSummary::default()).is_err());
}

#[test]
fn published_forks_are_those_around_the_head() {
    let rules = rules();
    let blocks = blocks(&rules);
    let seal = |block: &Block| SealedHeader {
        header: block.header.clone(),
        hash: rules.block_hash(&block.header),
    };
    let forks = rules.forks(&seal(&blocks[0]), &blocks[54].header);
    assert_eq!(forks.current.activation_time, 540);
    assert_eq!(forks.current.fork_hash, [0xe2, 0x72, 0xec, 0xbe]);
    assert_eq!(forks.current.system_contracts.len(), 5);
    assert_eq!((forks.next, forks.last), (None, None));
    let forks = rules.forks(&seal(&blocks[0]), &blocks[45].header);
    assert_eq!(forks.current.activation_time, 450);
    assert_eq!(forks.next.unwrap().activation_time, 480);
    assert_eq!(forks.last.unwrap().activation_time, 540);
}

#[test]
fn base_fees_and_blob_fees_are_burnt() {
    let rules = rules();
    let burnt = |some: &[Block]| some.iter().map(|one| rules.supply(one).burnt).sum::<U256>();
    let blocks = blocks(&rules);
    assert_eq!(burnt(&blocks[..27]), U256::ZERO);
    // Six blocks have a blob, at 1 wei a gas.
    assert_eq!(burnt(&blocks), U256::from(1_604_644_630_139_520_u64 + 6 * 131_072));
}

#[test]
fn accounts_have_four_fields() {
    let mut out = Vec::new();
    let account = Account { is_multi_coin: true, ..Account::default() };
    rules().encode_account(&account, &mut out);
    // A list of 68 bytes: two numbers of one byte and two hashes.
    assert_eq!((out.len(), out[..2].to_vec()), (70, vec![0xf8, 68]));
}

#[test]
fn rules_follow_the_block() {
    let rules = rules();
    let at = |number, time, is_merged| {
        rules.execution_rules(&BlockPoint { number, time, is_merged }).unwrap().revision
    };
    assert_eq!(at(0, 0, false), Revision::Homestead);
    assert_eq!(at(35, 350, false), Revision::London);
    assert_eq!(at(36, 360, true), Revision::Paris);
    assert_eq!(at(54, 540, true), Revision::Osaka);
    let text = rules.chain_config();
    assert!(text.get().starts_with(r#"{"chainId":3503995874084926,"homesteadBlock":0,"#));
    assert_ne!(rules.block_hash(&Default::default()), B256::ZERO);
}
