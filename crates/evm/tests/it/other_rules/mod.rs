//! A chain with rules that this crate does not know: all code above the rules runs it as it runs the C-Chain.

mod blobs;
mod rules;

use std::sync::Arc;

use alloy_consensus::{SignableTransaction, TxEip1559};
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B64, B256, Bytes, TxKind, U256, address, b256};
use esker_evm::accounts::{AccountManager as _, KeyRing};
use esker_evm::extension::NoExtension;
use esker_evm::verify::{ParentContext, VerifyError, assemble, child_executor};
use esker_evm_execution::executor::{ChainParams, ExtOutcome};
use esker_evm_execution::genesis::{Genesis, GenesisAccount};
use esker_evm_execution::rules::{BlockAttributes, Rules};
use esker_evm_state::types::{Block, Transaction};
use esker_storage::WriteSet;

use self::rules::{CHAIN_ID, OtherRules, REWARD, VALIDATOR, WITHDRAWN_GWEI};
use crate::ledger::Ledger;

const SENDER: Address = address!("0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC");
/// The sender's key.
const KEY: B256 = b256!("0x56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027");
const GENESIS_TIME: u64 = 1_700_000_000;

fn transfer(nonce: u64) -> Transaction {
    let tx = TxEip1559 {
        chain_id: CHAIN_ID,
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: 10_000_000_000,
        max_priority_fee_per_gas: 1,
        to: TxKind::Call(Address::repeat_byte(0x22)),
        value: U256::from(1),
        ..Default::default()
    };
    let ring = KeyRing::new([KEY.as_slice()]).unwrap();
    let signature = ring.sign_hash(&SENDER, &tx.signature_hash()).unwrap();
    tx.into_signed(signature).into()
}

fn genesis() -> Genesis {
    let rich = GenesisAccount { balance: U256::from(10).pow(U256::from(21)), ..Default::default() };
    Genesis {
        timestamp: GENESIS_TIME,
        gas_limit: 30_000_000,
        alloc: [(SENDER, rich)].into(),
        ..Genesis::default()
    }
}

fn ledger() -> Ledger {
    let rules: Arc<dyn Rules> = Arc::new(OtherRules);
    Ledger::new(ChainParams::new(rules, 1, [3; 32].into()), &genesis())
}

fn make(chain: &Ledger, time: u64, txs: Vec<Transaction>) -> (Block, WriteSet) {
    make_with(chain, time, txs, &BlockAttributes::default())
}

fn make_with(
    chain: &Ledger,
    time: u64,
    txs: Vec<Transaction>,
    attributes: &BlockAttributes,
) -> (Block, WriteSet) {
    let mut out = WriteSet::default();
    let block = chain.with_site(&NoExtension, |site| {
        let site = &ParentContext { attributes, ..*site };
        let terms = site.chain.rules.child_terms(site.parent, time)?;
        let mut executor = child_executor(site, &terms, time)?;
        for tx in &txs {
            executor.execute(tx, None).unwrap();
        }
        let processed = executor.finish(ExtOutcome::default())?;
        assemble(site, &terms, time, txs, Bytes::new(), &processed, &mut out)
    });
    (block.unwrap_or_else(|error: VerifyError| panic!("{error}")), out)
}

#[test]
fn blocks_are_built_and_verified() {
    let mut chain = ledger();
    assert_eq!(chain.tip.base_fee, Some(U256::from(1_000_000_000)));
    for nonce in 0..3 {
        let (block, out) = make(&chain, GENESIS_TIME + 12 * (nonce + 1), vec![transfer(nonce)]);
        let rules = &chain.params.rules;
        assert_eq!(rules.decode_block(&rules.encode_block(&block)).as_ref(), Ok(&block));
        let (_, verified) = chain.verify(&block, &NoExtension).unwrap();
        assert_eq!(verified, out);
        chain.accept(&block, &out);
    }
    let balance =
        |address| chain.with_view(|view| view.account(&address).unwrap().unwrap().balance);
    assert_eq!(balance(VALIDATOR), U256::from(3 * WITHDRAWN_GWEI) * U256::from(1_000_000_000));
    assert!(balance(rules::PROPOSER) >= U256::from(3 * REWARD));
    // An empty block is one here.
    let (empty, out) = make(&chain, GENESIS_TIME + 60, Vec::new());
    chain.verify(&empty, &NoExtension).unwrap();
    chain.accept(&empty, &out);
}

#[test]
fn a_block_has_the_withdrawals_that_it_was_asked_for() {
    let mut chain = ledger();
    let to = Address::repeat_byte(0x77);
    let asked = vec![Withdrawal { address: to, amount: 9, ..Withdrawal::default() }];
    let withdrawals = Some(asked.clone());
    let attributes = BlockAttributes { withdrawals, ..BlockAttributes::default() };
    let (block, out) = make_with(&chain, GENESIS_TIME + 12, Vec::new(), &attributes);
    assert_eq!(block.withdrawals, Some(asked));
    chain.verify(&block, &NoExtension).unwrap();
    chain.accept(&block, &out);
    let account = chain.with_view(|view| view.account(&to).unwrap().unwrap());
    assert_eq!(account.balance, U256::from(9_000_000_000u64));
}

type Change<'a> = &'a dyn Fn(&mut Block);

#[test]
fn a_changed_header_is_refused() {
    let chain = ledger();
    let (block, _) = make(&chain, GENESIS_TIME + 12, vec![transfer(0)]);
    let hash = B256::repeat_byte(7);
    let changes: [(&str, Change<'_>); 13] = [
        ("unknown ancestor", &|block| block.header.parent_hash = hash),
        ("invalid merkle root", &|block| block.header.state_root = hash),
        ("other body", &|block| block.header.transactions_root = hash),
        ("invalid receipt root hash", &|block| block.header.receipts_root = hash),
        ("invalid bloom", &|block| block.header.bloom.0[3] = 1),
        ("other header", &|block| block.header.difficulty = U256::from(1)),
        ("unknown ancestor", &|block| block.header.number = 7),
        ("other header", &|block| block.header.gas_limit += 1),
        ("invalid gas used", &|block| block.header.gas_used += 1),
        ("other header", &|block| block.header.time = GENESIS_TIME),
        ("other header", &|block| block.header.nonce = B64::repeat_byte(1)),
        ("other header", &|block| block.header.base_fee = Some(U256::from(3))),
        ("other body", &|block| block.withdrawals = Some(vec![Withdrawal::default()])),
    ];
    for (at, (text, change)) in changes.into_iter().enumerate() {
        let mut block = block.clone();
        change(&mut block);
        let error = chain.verify(&block, &NoExtension).unwrap_err().to_string();
        assert!(error.contains(text), "{at}: {error}");
    }
    let mut ahead = block;
    ahead.header.time = chain.now_s + 16;
    let error = chain.verify(&ahead, &NoExtension).unwrap_err();
    assert_eq!(error.too_early(), Some((chain.now_s + 16, chain.now_s + 15)));
}
