//! Transactions and blocks: round trips, total decoders, mutations, derived data.

use std::sync::atomic::{AtomicUsize, Ordering};

use esker_primitives::codec::MAX_SIZE;
use esker_primitives::ids::Id;
use esker_primitives::keys::PrivateKey;
use esker_testkit::arbitrary;
use esker_transactions::xvm::{
    BaseTx, Block, CreateAssetTx, ExportTx, ImportTx, InitialState, Operation, OperationTx, Tx,
    UnsignedTx,
};
use esker_utxo::{FxKind, Output, Signers, TransferableOutput};
use esker_xvm::genesis::{Genesis, GenesisAsset};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

fn base() -> BoxedStrategy<BaseTx> {
    let outputs = vec(arbitrary::transferable_output(), 0..3);
    let inputs = vec(arbitrary::transferable_input(), 0..3);
    (any::<u32>(), arbitrary::id(), outputs, inputs, vec(any::<u8>(), 0..5))
        .prop_map(|(network_id, blockchain_id, outputs, inputs, memo)| BaseTx {
            network_id,
            blockchain_id,
            outputs,
            inputs,
            memo,
        })
        .boxed()
}

fn create_asset() -> BoxedStrategy<CreateAssetTx> {
    let state = (any::<u32>(), vec(arbitrary::output(), 0..3))
        .prop_map(|(fx_index, outputs)| InitialState { fx_index, outputs })
        .boxed();
    let text = || vec(any::<u8>(), 0..4);
    (base(), text(), text(), any::<u8>(), vec(state, 0..3))
        .prop_map(|(base, name, symbol, denomination, states)| CreateAssetTx {
            base,
            name,
            symbol,
            denomination,
            states,
        })
        .boxed()
}

fn operation() -> BoxedStrategy<Operation> {
    (arbitrary::id(), vec(arbitrary::utxo_id(), 0..3), arbitrary::operation())
        .prop_map(|(asset_id, utxo_ids, op)| Operation { asset_id, utxo_ids, op })
        .boxed()
}

fn unsigned() -> BoxedStrategy<UnsignedTx> {
    let operations = (base(), vec(operation(), 0..3))
        .prop_map(|(base, operations)| UnsignedTx::Operation(OperationTx { base, operations }));
    let import = (base(), arbitrary::id(), vec(arbitrary::transferable_input(), 0..3)).prop_map(
        |(base, source_chain, imported_inputs)| {
            UnsignedTx::Import(ImportTx { base, source_chain, imported_inputs })
        },
    );
    let export = (base(), arbitrary::id(), vec(arbitrary::transferable_output(), 0..3)).prop_map(
        |(base, destination_chain, exported_outputs)| {
            UnsignedTx::Export(ExportTx { base, destination_chain, exported_outputs })
        },
    );
    prop_oneof![
        base().prop_map(UnsignedTx::Base),
        create_asset().prop_map(UnsignedTx::CreateAsset),
        operations,
        import,
        export,
    ]
    .boxed()
}

fn tx() -> BoxedStrategy<Tx> {
    (unsigned(), vec(arbitrary::credential(), 0..3))
        .prop_map(|(unsigned, credentials)| Tx::new(unsigned, credentials))
        .boxed()
}

fn key(n: u8) -> PrivateKey {
    PrivateKey::from_slice(&[n; 32]).unwrap()
}

/// Parsing bytes gives a value of exactly those bytes, or an error.
fn parse_all(bytes: &[u8]) {
    if let Ok(tx) = Tx::parse(bytes) {
        assert_eq!(tx.bytes(), bytes);
        assert_eq!(Tx::new(tx.unsigned().clone(), tx.credentials().to_vec()), tx);
    }
    if let Ok(block) = Block::parse(bytes) {
        assert_eq!(block.bytes(), bytes);
    }
    if let Ok(genesis) = Genesis::parse(bytes) {
        assert_eq!(genesis.to_bytes(), bytes);
    }
}

proptest! {
    #[test]
    fn transactions_survive_the_codec(tx in tx()) {
        let parsed = Tx::parse(tx.bytes()).unwrap();
        prop_assert_eq!(&parsed, &tx);
        prop_assert_eq!(parsed.unsigned(), tx.unsigned());
        prop_assert_eq!(parsed.credentials(), tx.credentials());
        prop_assert_eq!(parsed.id(), Id::sha256(tx.bytes()));
        prop_assert_eq!(parsed.unsigned_bytes(), tx.unsigned_bytes());
        prop_assert_eq!(Id::new(*parsed.signing_hash()), Id::sha256(tx.unsigned_bytes()));
    }

    #[test]
    fn blocks_survive_the_codec(txs in vec(tx(), 0..4), parent in arbitrary::id(), height: u64, time: u64) {
        let block = Block::new(parent, height, time, txs);
        let parsed = Block::parse(block.bytes()).unwrap();
        prop_assert_eq!(&parsed, &block);
        for (got, expected) in parsed.txs().iter().zip(block.txs()) {
            prop_assert_eq!(got.id(), expected.id());
            prop_assert_eq!(got.unsigned_bytes(), expected.unsigned_bytes());
        }
    }

    #[test]
    fn genesis_survives_the_codec(assets in vec(create_asset(), 1..3), alias in vec(any::<u8>(), 0..4)) {
        let asset = |mut tx: CreateAssetTx| {
            tx.base.outputs.clear();
            GenesisAsset { alias: alias.clone(), tx }
        };
        let genesis = Genesis { assets: assets.into_iter().map(asset).collect() };
        prop_assert_eq!(Genesis::parse(&genesis.to_bytes()).unwrap(), genesis);
    }

    #[test]
    fn any_bytes_parse_or_fail(bytes in vec(any::<u8>(), 0..300), type_id in 0..24_u8) {
        parse_all(&bytes);
        let mut typed = vec![0, 0, 0, 0, 0, type_id];
        typed.extend_from_slice(&bytes);
        parse_all(&typed);
    }

    #[test]
    fn mutations_parse_or_fail(tx in tx(), at: Index, byte: u8, cut: Index) {
        let mut bytes = tx.bytes().to_vec();
        let position = at.index(bytes.len());
        bytes[position] = byte;
        parse_all(&bytes);
        parse_all(&bytes[..cut.index(bytes.len())]);
        let block = Block::new(Id::ZERO, 1, 1, vec![tx]);
        let mut bytes = block.bytes().to_vec();
        let position = at.index(bytes.len());
        bytes[position] = byte;
        parse_all(&bytes);
    }

    /// A signed transaction's bytes can't be changed without changing its ID or being refused; what is
    /// signed can't be changed without changing who signed.
    #[test]
    fn mutations_are_other_transactions(unsigned in unsigned(), at: Index, flip in 1..=255_u8) {
        let key = key(1);
        let tx = Tx::sign(unsigned, &[(FxKind::Secp256k1, vec![&key])]);
        let mut bytes = tx.bytes().to_vec();
        let position = at.index(bytes.len());
        bytes[position] ^= flip;
        if let Ok(other) = Tx::parse(&bytes) {
            prop_assert_ne!(other.id(), tx.id());
            if other.unsigned_bytes() != tx.unsigned_bytes() {
                prop_assert_ne!(other.signer(0, 0), Ok(key.address()));
            }
        }
    }

    #[test]
    fn outputs_are_numbered_through(tx in tx()) {
        let produced: Vec<_> = tx.produced_utxos().collect();
        let exported: Vec<_> = tx.exported_utxos().collect();
        for (index, utxo) in (0..).zip(produced.iter().chain(&exported)) {
            prop_assert_eq!(utxo.utxo_id.tx_id, tx.id());
            prop_assert_eq!(utxo.utxo_id.output_index, index);
        }
        prop_assert!(produced.len() >= tx.unsigned().base().outputs.len());
        prop_assert_eq!(exported.len(), tx.unsigned().exported_outputs().len());
    }
}

/// A claim of 2^31-1 elements costs no memory: the input ends first.
#[test]
fn claimed_lengths_are_only_claims() {
    let mut bytes = vec![0; 42];
    bytes.extend_from_slice(&(i32::MAX as u32).to_be_bytes());
    assert!(Tx::parse(&bytes).is_err());
    let oversized = vec![0; MAX_SIZE + 1];
    let text = format!("byte array exceeds maximum length: {} > {MAX_SIZE}", oversized.len());
    assert_eq!(Tx::parse(&oversized).unwrap_err().to_string(), text);
    assert_eq!(Block::parse(&oversized).unwrap_err().to_string(), text);
}

#[test]
fn invalid_blocks_do_not_decode() {
    let check = |hex: &str, expected: &str| {
        assert_eq!(Block::parse(&hex::decode(hex).unwrap()).unwrap_err().to_string(), expected);
    };
    check("", "couldn't unpack codec version");
    check("0001", "unknown codec version");
    let family =
        "couldn't unmarshal interface: *txs.BaseTx does not implement interface block.Block";
    check("000000000000", family);
    check("000000000015", "couldn't unmarshal interface: unknown type ID 21");
    check("000000000014", "packer has insufficient length for input");
}

fn owned(amount: u64) -> TransferableOutput {
    let output = esker_utxo::TransferOutput { amount, ..Default::default() };
    TransferableOutput { asset_id: Id::new([9; 32]), output }
}

#[test]
fn a_new_asset_names_its_outputs() {
    let base = BaseTx { outputs: vec![owned(1)], ..BaseTx::default() };
    let mint = Output::SecpMint(Default::default());
    let states = vec![
        InitialState { fx_index: 0, outputs: vec![mint.clone()] },
        InitialState { fx_index: 2, outputs: vec![mint.clone(), mint] },
    ];
    let asset = CreateAssetTx { base, states, ..CreateAssetTx::default() };
    assert!(asset.supports_fx(2) && !asset.supports_fx(1));
    let tx = Tx::new(UnsignedTx::CreateAsset(asset), vec![]);
    let assets: Vec<_> = tx.produced_utxos().map(|utxo| utxo.asset_id).collect();
    assert_eq!(assets, [Id::new([9; 32]), tx.id(), tx.id(), tx.id()]);
}

#[test]
fn exports_continue_the_numbers() {
    let base = BaseTx { outputs: vec![owned(1), owned(2)], ..BaseTx::default() };
    let exported_outputs = vec![owned(3)];
    let export = ExportTx { base, destination_chain: Id::ZERO, exported_outputs };
    let tx = Tx::new(UnsignedTx::Export(export), vec![]);
    let exported: Vec<_> = tx.exported_utxos().collect();
    assert_eq!(exported.len(), 1);
    assert_eq!(exported[0].utxo_id.output_index, 2);
    assert_eq!(tx.produced_utxos().count(), 2);
}

/// Threads that ask for the same signers all get them; clones share what was found out.
#[test]
fn signers_are_shared_between_threads() {
    let key = key(3);
    let credentials = [(FxKind::Secp256k1, vec![&key, &key]), (FxKind::Nft, vec![&key])];
    let tx = Tx::sign(UnsignedTx::Base(BaseTx::default()), &credentials);
    let right = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (tx, right, key) = (tx.clone(), &right, &key);
            scope.spawn(move || {
                for (slot, index) in [(0, 0), (0, 1), (1, 0)] {
                    if tx.signer(slot, index) == Ok(key.address()) {
                        right.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(right.into_inner(), 12);
    assert!(tx.witness(1).is_some() && tx.witness(2).is_none());
}
