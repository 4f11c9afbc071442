//! Recorded blocks, made ones of every type, and bytes that are none.

use std::sync::LazyLock;

use esker_primitives::codec::Encode as _;
use esker_utxo::Utxo;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::txs::{Exchange, TxKind};

const RUNS: [(&str, &str); 2] = [
    (
        include_str!("../../../../tests/vectors/follow/follow-1.jsonl"),
        include_str!("../../../../tests/vectors/follow/follow-1.ptx.jsonl"),
    ),
    (
        include_str!("../../../../tests/vectors/follow/follow-signed.jsonl"),
        include_str!("../../../../tests/vectors/follow/follow-signed.ptx.jsonl"),
    ),
];

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

/// The inner block of a container: behind the certificate, or at once in an option.
fn inner(line: &Value) -> Vec<u8> {
    let bytes = hex::decode(&line["bytes"].as_str().unwrap()[2..]).unwrap();
    let mut r = Reader::versioned(&bytes, bytes.len()).unwrap();
    if r.type_id().unwrap() == 0 {
        r.fixed::<48>().unwrap();
        r.bytes().unwrap();
    } else {
        r.id().unwrap();
    }
    r.bytes().unwrap().to_vec()
}

static RECORDED: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let of_p = |line: &Value| line["chain"] == "P";
    RUNS.iter().flat_map(|(run, _)| lines(run).filter(of_p)).map(|line| inner(&line)).collect()
});

#[test]
fn every_recorded_block() {
    let mut kinds = Vec::new();
    for (run, _) in RUNS {
        let mut last: Option<Block> = None;
        for line in lines(run).filter(|line| line["chain"] == "P") {
            let block = Block::parse(&inner(&line)).unwrap();
            assert_eq!(block.height, line["index"].as_u64().unwrap().saturating_add(1));
            if let Some(last) = last {
                assert_eq!(block.parent_id, last.id);
                assert_eq!(last.kind == BlockKind::Proposal, block.kind == BlockKind::Commit);
            }
            kinds.extend(block.txs.iter().map(|tx| tx.kind));
            last = Some(block);
        }
    }
    for kind in [
        TxKind::Import,
        TxKind::Export,
        TxKind::AddPermissionlessDelegator,
        TxKind::RewardValidator,
    ] {
        assert!(kinds.contains(&kind), "{kind:?}");
    }
}

#[test]
fn exported_utxos_are_those_that_were_imported() {
    for (run, txs) in RUNS {
        let blocks = lines(run).filter(|line| line["chain"] == "P");
        let blocks: Vec<Block> = blocks.map(|line| Block::parse(&inner(&line)).unwrap()).collect();
        let in_blocks: Vec<&Tx> = blocks.iter().flat_map(|block| &block.txs).collect();
        for expected in lines(txs) {
            let id = expected["txID"].as_str().unwrap();
            let tx = *in_blocks.iter().find(|tx| tx.id.to_string() == id).unwrap();
            let signed = expected["getTx"]["tx"].as_str().unwrap();
            let signed = esker_primitives::hexfmt::decode_checked(signed).unwrap();
            assert_eq!(Tx::parse(&signed).as_ref(), Ok(tx));
            let Some(Exchange::Export { utxos, .. }) = &tx.exchange else { panic!("{id}") };
            assert_eq!(utxos.len(), expected["exportedOutputs"]);
            for imported in expected["imported"].as_array().unwrap() {
                let index = imported["outputIndex"].as_u64().unwrap();
                let is_it = |utxo: &&Utxo| u64::from(utxo.utxo_id.output_index) == index;
                let utxo = utxos.iter().find(is_it).unwrap();
                assert_eq!(utxo.utxo_id.input_id().to_string(), imported["utxoID"]);
                assert_eq!(utxo.asset_id.to_string(), imported["assetID"]);
                let output = hex::decode(&imported["output"].as_str().unwrap()[2..]).unwrap();
                assert!(utxo.to_versioned_bytes().ends_with(&output));
            }
        }
    }
}

/// A block of one transaction, of which the common part is empty.
fn standard(type_id: u32, rest: &str) -> Vec<u8> {
    let base = match type_id {
        19 | 20 => String::new(),
        _ => format!("00003039{}{}", "00".repeat(32), "00000000".repeat(3)),
    };
    let head = format!("0000{:08x}{:016x}{}{:016x}{:08x}", 32, 7, "11".repeat(32), 5, 1);
    hex::decode(format!("{head}{type_id:08x}{base}{rest}00000000")).unwrap()
}

#[test]
fn transactions_of_every_type() {
    let id = "22".repeat(32);
    let node = "33".repeat(20);
    let validator = format!("{node}{}", "0000000000000001".repeat(3));
    let owners = format!("0000000b{:016x}{:08x}{:08x}{node}", 0, 1, 1);
    let auth = "0000000a0000000100000000".to_owned();
    let proof = format!("{}{}", "44".repeat(48), "55".repeat(96));
    let none = "00000000";
    let plain_owner = format!("{:08x}{:08x}{node}", 1, 1);
    let l1 = format!("{:08x}{node}{:032x}{proof}{plain_owner}{plain_owner}", 20, 1);
    for (type_id, kind, rest) in [
        (12, TxKind::AddValidator, format!("{validator}{none}{owners}{:08x}", 1)),
        (13, TxKind::AddSubnetValidator, format!("{validator}{id}{auth}")),
        (14, TxKind::AddDelegator, format!("{validator}{none}{owners}")),
        (15, TxKind::CreateChain, format!("{id}000141{id}00000001{id}{:08x}ff{auth}", 1)),
        (16, TxKind::CreateSubnet, owners.clone()),
        (17, TxKind::Import, format!("{id}{none}")),
        (18, TxKind::Export, format!("{id}{none}")),
        (19, TxKind::AdvanceTime, format!("{:016x}", 1)),
        (20, TxKind::RewardValidator, id.clone()),
        (23, TxKind::RemoveSubnetValidator, format!("{node}{id}{auth}")),
        (
            24,
            TxKind::TransformSubnet,
            format!("{id}{id}{}{}{:016x}01{:08x}{auth}", "00".repeat(48), "00".repeat(12), 1, 1),
        ),
        (
            25,
            TxKind::AddPermissionlessValidator,
            format!("{validator}{id}0000001c{proof}{none}{owners}{owners}{:08x}", 1),
        ),
        (
            25,
            TxKind::AddPermissionlessValidator,
            format!("{validator}{id}0000001b{none}{owners}{owners}{:08x}", 1),
        ),
        (26, TxKind::AddPermissionlessDelegator, format!("{validator}{id}{none}{owners}")),
        (33, TxKind::TransferSubnetOwnership, format!("{id}{auth}{owners}")),
        (34, TxKind::Base, String::new()),
        (35, TxKind::ConvertSubnetToL1, format!("{id}{id}{:08x}ab{:08x}{l1}{auth}", 1, 1)),
        (36, TxKind::RegisterL1Validator, format!("{:016x}{}{:08x}ab", 1, "55".repeat(96), 1)),
        (37, TxKind::SetL1ValidatorWeight, format!("{:08x}abcd", 2)),
        (38, TxKind::IncreaseL1ValidatorBalance, format!("{id}{:016x}", 1)),
        (39, TxKind::DisableL1Validator, format!("{id}{auth}")),
    ] {
        let bytes = standard(type_id, &rest);
        let block = Block::parse(&bytes).unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        assert_eq!((block.height, block.time_s, block.txs.len()), (5, Some(7), 1));
        assert_eq!(block.txs[0].kind, kind);
        for end in 0..bytes.len() {
            assert!(Block::parse(&bytes[..end]).is_err(), "{kind:?} cut at {end}");
        }
    }
}

#[test]
fn blocks_before_banff() {
    let common = format!("{}{:016x}", "11".repeat(32), 9);
    let reward = format!("{:08x}{}{:08x}", 20, "22".repeat(32), 0);
    for (type_id, kind, rest, txs) in [
        (0, BlockKind::Proposal, reward.clone(), 1),
        (1, BlockKind::Abort, String::new(), 0),
        (2, BlockKind::Commit, String::new(), 0),
        (3, BlockKind::Standard, format!("{:08x}{reward}{reward}", 2), 2),
        (4, BlockKind::Atomic, reward.clone(), 1),
    ] {
        let bytes = hex::decode(format!("0000{type_id:08x}{common}{rest}")).unwrap();
        let block = Block::parse(&bytes).unwrap();
        assert_eq!((block.kind, block.txs.len()), (kind, txs));
        assert_eq!((block.height, block.time_s), (9, None));
    }
}

#[test]
fn refused_blocks() {
    let asset = "22".repeat(32);
    let owners = format!("{:016x}{:08x}{:08x}", 0, 0, 0);
    let locked = format!("{asset}{:08x}{:016x}{:08x}{:016x}{owners}", 22, 1, 7, 5);
    let other = format!("{asset}{:08x}", 6);
    for (bytes, text) in [
        (hex::decode("000000000021").unwrap(), "block of the P-Chain: unknown type 33"),
        (standard(40, ""), "transaction of the P-Chain: unknown type 40"),
        (standard(16, "00000007"), "owner of the P-Chain: unknown type 7"),
        (standard(18, &format!("{asset}{:08x}{locked}", 1)), "exports a locked output"),
        (
            standard(18, &format!("{asset}{:08x}{other}", 1)),
            "output of the P-Chain: unknown type 6",
        ),
        ([standard(34, ""), vec![0]].concat(), "trailing buffer space"),
        (vec![0; codec::MAX_SIZE + 1], "exceeds maximum length"),
    ] {
        let error = Block::parse(&bytes).unwrap_err().to_string();
        assert!(error.contains(text), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn any_bytes_parse_or_fail(
        type_id in prop::sample::select(vec![0u8, 1, 2, 3, 4, 29, 30, 31, 32]),
        rest in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let bytes = [&[0, 0, 0, 0, 0, type_id][..], &rest].concat();
        if let Ok(block) = Block::parse(&bytes) {
            prop_assert_eq!(block.bytes, bytes);
        }
    }

    #[test]
    fn altered_blocks_parse_or_fail(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        to: u8,
    ) {
        let mut bytes = RECORDED[which.index(RECORDED.len())].clone();
        let at = at.index(bytes.len());
        bytes[at] = to;
        if let Ok(block) = Block::parse(&bytes) {
            prop_assert_eq!(block.id, Id::sha256(&bytes));
        }
    }
}
