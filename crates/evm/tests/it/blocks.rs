//! Builds and verifies blocks over every change of rules, and checks refusals besides the recorded alterations.

use alloy_consensus::{SignableTransaction, TxEip4844, TxLegacy};
use alloy_primitives::{Address, Bytes, Signature, TxKind, U256, address, b256};
use esker_evm::accounts::{AccountManager as _, KeyRing};
use esker_evm::extension::NoExtension;
use esker_evm::verify::{VerifyError, assemble, child_executor};
use esker_evm_execution::executor::{BlockExecutionOutput, ExtOutcome};
use esker_evm_execution::genesis::Genesis;
use esker_evm_execution::rules::{ForkSchedule, Phase, UNSCHEDULED};
use esker_evm_state::types::{Block, Transaction};
use esker_storage::WriteSet;
use esker_testkit::first_block::params;

use crate::ledger::Ledger;

const SENDER: Address = address!("0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC");

/// A transfer signed with the well-known key of the local network.
fn transfer(nonce: u64, price: u128) -> Transaction {
    let tx = TxLegacy {
        chain_id: Some(43112),
        nonce,
        gas_price: price,
        gas_limit: 21_000,
        to: TxKind::Call(Address::repeat_byte(0x22)),
        value: U256::from(1),
        ..Default::default()
    };
    let key = b256!("0x56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027");
    let ring = KeyRing::new([key.as_slice()]).unwrap();
    let signature = ring.sign_hash(&SENDER, &tx.signature_hash()).unwrap();
    tx.into_signed(signature).into()
}

fn ledger(schedule: ForkSchedule) -> Ledger {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/genesis/local-c.json");
    let genesis = Genesis::parse(&std::fs::read(path).unwrap()).unwrap();
    Ledger::new(params(43112, schedule), &genesis)
}

/// A block at a time (Unix s), of these transactions.
fn make(
    chain: &Ledger,
    time: u64,
    txs: Vec<Transaction>,
) -> Result<(Block, BlockExecutionOutput, WriteSet), VerifyError> {
    let mut out = WriteSet::default();
    chain.with_site(&NoExtension, |site| {
        let terms = site.chain.rules.child_terms(site.parent, time)?;
        let mut executor = child_executor(site, &terms, time)?;
        for tx in &txs {
            executor.execute(tx, None).unwrap();
        }
        let processed = executor.finish(ExtOutcome::default()).unwrap();
        let block = assemble(site, &terms, time, txs, Bytes::new(), &processed, &mut out)?;
        Ok((block, processed, out.clone()))
    })
}

const PRICE: u128 = 20_000_000_000_000;

#[test]
fn blocks_over_every_change_of_rules_are_valid() {
    let start = 1_607_144_400;
    let mut schedule = ForkSchedule::LOCAL;
    // Each phase holds for twenty seconds.
    for (at, phase) in Phase::ALL.into_iter().enumerate() {
        schedule.phases[phase as usize] = start + 20 * at as u64;
    }
    let mut chain = ledger(schedule);
    for nonce in 0..Phase::ALL.len() as u64 * 4 {
        let time = start + nonce * 5;
        let (block, processed, out) = make(&chain, time, vec![transfer(nonce, PRICE)])
            .unwrap_or_else(|error| panic!("block {nonce} at {time}: {error}"));
        let (again, verified) = chain.verify(&block, &NoExtension).unwrap();
        assert_eq!((&again, &verified), (&processed, &out));
        let phase = schedule.phase_at(time).unwrap();
        assert_eq!(phase, Phase::ALL[nonce as usize / 4]);
        assert_eq!(block.header.blob_gas_used.is_some(), phase >= Phase::Etna);
        let length = match phase {
            Phase::Fortuna => 30,
            Phase::Durango | Phase::Etna => 86,
            _ => 80,
        };
        assert_eq!(block.header.extra.len(), length, "{phase:?}");
        chain.accept(&block, &out);
    }
    assert_eq!(chain.with_view(|view| view.account(&SENDER).unwrap().unwrap().nonce), 36);
    // Under Fortuna the gas state in the header follows from the parent or from the vote of the block.
    let (mut block, ..) = make(&chain, start + 200, vec![transfer(36, PRICE)]).unwrap();
    let mut extra = block.header.extra.to_vec();
    extra[7] ^= 1;
    block.header.extra = extra.into();
    let error = chain.verify(&block, &NoExtension).unwrap_err().to_string();
    assert!(error.starts_with("incorrect fee state: expected {{"), "{error}");
}

#[test]
fn a_block_in_the_same_second_must_pay_for_it() {
    let mut chain = ledger(ForkSchedule::LOCAL);
    let time = 1_700_000_000;
    let (first, _, out) = make(&chain, time, vec![transfer(0, PRICE)]).unwrap();
    chain.accept(&first, &out);
    let next = chain.params.rules.child_terms(&chain.tip, time).unwrap();
    assert_eq!(next.block_gas_cost, 400_000);
    let price = next.base_fee.saturating_to::<u128>();
    let error = make(&chain, time, vec![transfer(1, price)]).unwrap_err();
    let text = format!(
        "insufficient gas (0) to cover the block cost (400000) at base fee ({}) \
         (total block fee: 0)",
        next.base_fee
    );
    assert_eq!(error.to_string(), text);
    // Another node builds the block anyway.
    let free = esker_evm_execution::rules::FeeOverrides {
        block_gas_cost_step: Some(0),
        ..Default::default()
    };
    let rules = esker_evm_execution::rules::CChainRules::new(43112, ForkSchedule::LOCAL, free);
    let honest = std::mem::replace(&mut chain.params.rules, std::sync::Arc::new(rules));
    let (mut block, ..) = make(&chain, time, vec![transfer(1, price)]).unwrap();
    chain.params.rules = honest;
    let error = chain.verify(&block, &NoExtension).unwrap_err().to_string();
    assert_eq!(error, "invalid block gas cost: have 0, want 400000");
    block.header.block_gas_cost = Some(U256::from(400_000));
    let error = chain.verify(&block, &NoExtension).unwrap_err().to_string();
    assert_eq!(error, format!("engine finalization check failed: {text}"));
    // A block that pays is accepted: 400,000 gas at the base fee, as tips of 21,000 gas.
    let (block, ..) = make(&chain, time, vec![transfer(1, price * 21)]).unwrap();
    chain.verify(&block, &NoExtension).unwrap();
}

#[test]
fn where_the_base_fee_is_0_a_block_in_the_same_second_has_nothing_to_pay() {
    let mut chain = ledger(ForkSchedule::LOCAL);
    let none =
        esker_evm_execution::rules::FeeOverrides { min_base_fee: Some(0), ..Default::default() };
    let rules = esker_evm_execution::rules::CChainRules::new(43112, ForkSchedule::LOCAL, none);
    chain.params.rules = std::sync::Arc::new(rules);
    let time = 1_700_000_000;
    let (first, _, out) = make(&chain, time, vec![transfer(0, PRICE)]).unwrap();
    chain.accept(&first, &out);
    let next = chain.params.rules.child_terms(&chain.tip, time).unwrap();
    assert_eq!((next.block_gas_cost, next.base_fee), (400_000, U256::ZERO));
    let (block, _, out) = make(&chain, time, vec![transfer(1, 0)]).unwrap();
    chain.verify(&block, &NoExtension).unwrap();
    chain.accept(&block, &out);
    assert_eq!(chain.tip.base_fee, Some(U256::ZERO));
}

/// From Fortuna on atomic gas is a part of the block's gas, and only the capacity bounds it.
#[test]
fn atomic_gas_has_no_limit_of_its_own_under_fortuna() {
    let mut schedule = ForkSchedule::LOCAL;
    schedule.phases[Phase::Fortuna as usize] = schedule.phases[Phase::Etna as usize];
    for (schedule, text) in [
        (ForkSchedule::LOCAL, "too large extDataGasUsed: 100001"),
        (schedule, "invalid extDataGasUsed: have 100001, want 0"),
    ] {
        let chain = ledger(schedule);
        let (mut block, ..) = make(&chain, 1_700_000_000, vec![transfer(0, PRICE)]).unwrap();
        block.header.ext_data_gas_used = Some(U256::from(100_001));
        let error = chain.verify(&block, &NoExtension).unwrap_err().to_string();
        assert_eq!(error, format!("syntactic block verification failed: {text}"));
    }
}

#[test]
fn what_no_recording_has_is_refused_too() {
    let mut chain = ledger(ForkSchedule::LOCAL);
    let time = 1_700_000_000;
    let (block, ..) = make(&chain, time, vec![transfer(0, PRICE)]).unwrap();
    let refused = |chain: &Ledger, change: &dyn Fn(&mut Block)| {
        let mut block = block.clone();
        change(&mut block);
        block.header.transactions_root = block.transactions_root();
        chain.verify(&block, &NoExtension).unwrap_err().to_string()
    };
    let syntactic = |text: &str| format!("syntactic block verification failed: {text}");
    assert_eq!(refused(&chain, &|block| block.transactions.clear()), syntactic("empty block"));
    assert_eq!(
        refused(&chain, &|block| block.uncles.push(block.header.clone())),
        syntactic(&format!(
            "invalid uncle hash 0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347 \
             does not match calculated uncle hash {}",
            alloy_primitives::keccak256(alloy_rlp::encode(vec![block.header.clone()]))
        ))
    );
    assert_eq!(
        refused(&chain, &|block| {
            block.uncles.push(block.header.clone());
            block.header.ommers_hash =
                alloy_primitives::keccak256(alloy_rlp::encode(&block.uncles));
        }),
        syntactic("uncles unsupported")
    );
    assert_eq!(
        refused(&chain, &|block| block.header.nonce[7] = 3),
        syntactic("expected nonce to be 0 but got 3: invalid nonce")
    );
    assert_eq!(
        refused(&chain, &|block| block.header.parent_beacon_root = None),
        syntactic("header is missing parentBeaconRoot")
    );
    assert_eq!(
        refused(&chain, &|block| block.header.ext_data_gas_used = Some(U256::from(100_001))),
        syntactic("too large extDataGasUsed: 100001")
    );
    assert_eq!(
        refused(&chain, &|block| block.header.ext_data_gas_used = Some(U256::from(5))),
        syntactic("invalid extDataGasUsed: have 5, want 0")
    );
    assert_eq!(
        refused(&chain, &|block| block.header.extra = vec![0; 79].into()),
        syntactic("expected header ExtraData to be len >= 80 but got 79")
    );
    assert_eq!(
        refused(&chain, &|block| block.header.excess_blob_gas = Some(1)),
        syntactic(
            "invalid excessBlobGas: have 1, want 0, parent excessBlobGas 0, parent blobDataUsed 0"
        )
    );
    let extra = |last: u8| [&vec![0; 85][..], &[last]].concat();
    assert!(refused(&chain, &|block| block.header.extra = extra(1).into()).starts_with(
        "failed to verify predicates: invalid header predicate results (remote: 000000000001 "
    ));
    assert_eq!(
        refused(&chain, &|block| block.header.gas_used = 15_000_001),
        "invalid gasUsed: have 15000001, gasLimit 15000000"
    );
    assert_eq!(
        refused(&chain, &|block| block.transactions[0] = transfer(1, PRICE)),
        format!(
            "could not apply tx 0 [{}]: nonce too high: address {SENDER}, tx: 1 state: 0",
            transfer(1, PRICE).hash()
        )
    );
    let blob: Transaction = TxEip4844 {
        chain_id: 43112,
        blob_versioned_hashes: vec![Default::default()],
        ..Default::default()
    }
    .into_signed(Signature::test_signature())
    .into();
    assert_eq!(
        refused(&chain, &|block| block.transactions[0] = blob.clone()),
        "blob gas used mismatch (header 0, calculated 131072)"
    );
    assert_eq!(
        refused(&chain, &|block| block.ext_data = vec![1].into()),
        "this chain has no atomic transactions"
    );
    // Before its parent, and before this software's time.
    assert_eq!(refused(&chain, &|block| block.header.time = 1_607_144_399), {
        "block time 1607144399 is before Apricot 5: blocks of that history are not executed by \
         this node"
    });
    let (first, _, out) = make(&chain, time, vec![transfer(0, PRICE)]).unwrap();
    chain.accept(&first, &out);
    let (mut late, ..) = make(&chain, time + 2, vec![transfer(1, PRICE)]).unwrap();
    late.header.time = time - 1;
    let error = chain.verify(&late, &NoExtension).unwrap_err();
    assert_eq!(error.to_string(), "timestamp less than parent's");
    // The clock is checked only if there is one. The block may be valid later.
    late.header.time = chain.now_s + 11;
    let error = chain.verify(&late, &NoExtension).unwrap_err();
    assert_eq!(error.too_early(), Some((chain.now_s + 11, chain.now_s + 10)));
}

#[test]
fn fields_of_etna_are_refused_before_it() {
    let mut schedule = ForkSchedule::LOCAL;
    schedule.phases[Phase::Etna as usize] = UNSCHEDULED;
    let chain = ledger(schedule);
    let (block, ..) = make(&chain, 1_700_000_000, vec![transfer(0, PRICE)]).unwrap();
    let refused = |change: &dyn Fn(&mut Block)| {
        let mut block = block.clone();
        change(&mut block);
        chain.verify(&block, &NoExtension).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&|block| block.header.blob_gas_used = Some(0)),
        "syntactic block verification failed: invalid blobGasUsed: have 0, expected nil"
    );
    assert_eq!(
        refused(&|block| block.header.excess_blob_gas = Some(0)),
        "syntactic block verification failed: invalid excessBlobGas: have 0, expected nil"
    );
}
