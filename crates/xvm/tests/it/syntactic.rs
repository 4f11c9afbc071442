//! Rules that need no state: each refusal has its text, and earlier rules win over later ones.

use esker_primitives::ids::{Id, ShortId};
use esker_transactions::xvm::{
    BaseTx, CreateAssetTx, ExportTx, ImportTx, InitialState, Operation, OperationTx, Tx, UnsignedTx,
};
use esker_utxo::{
    CredentialSlot, FxKind, FxOperation, NftMintOperation, NftMintOutput, NftTransferOutput,
    NonCredential, Output, OutputOwners, SecpMintOperation, TransferInput, TransferOutput,
    TransferableInput, TransferableOutput, UtxoId,
};
use esker_xvm::verify::syntactic::{self, Params};

const NATIVE: Id = Id::new([1; 32]);
const OTHER: Id = Id::new([2; 32]);
const CHAIN: Id = Id::new([3; 32]);
const FEE: u64 = 10;
const CREATE_FEE: u64 = 25;

const PARAMS: Params = Params {
    network_id: 7,
    chain_id: CHAIN,
    fee_asset_id: NATIVE,
    tx_fee: FEE,
    create_asset_tx_fee: CREATE_FEE,
    fx_count: 3,
};

fn owners() -> OutputOwners {
    OutputOwners::single(ShortId::new([5; 20]))
}

fn output(asset_id: Id, amount: u64) -> TransferableOutput {
    TransferableOutput { asset_id, output: TransferOutput { amount, owners: owners() } }
}

fn utxo_id(index: u32) -> UtxoId {
    UtxoId { tx_id: Id::new([4; 32]), output_index: index }
}

fn input(index: u32, asset_id: Id, amount: u64) -> TransferableInput {
    let input = TransferInput { amount, sig_indices: vec![0] };
    TransferableInput { utxo_id: utxo_id(index), asset_id, input }
}

/// Consumes 100 of the native asset, keeps 75.
fn base() -> BaseTx {
    BaseTx {
        network_id: 7,
        blockchain_id: CHAIN,
        outputs: vec![output(NATIVE, 75)],
        inputs: vec![input(0, NATIVE, 100)],
        memo: vec![0; 256],
    }
}

fn text(unsigned: UnsignedTx) -> String {
    let slots = unsigned.credentials_needed();
    let credentials = vec![CredentialSlot::new(FxKind::Secp256k1, vec![]); slots];
    text_of(&Tx::new(unsigned, credentials))
}

fn text_of(tx: &Tx) -> String {
    syntactic::verify(tx, &PARAMS).map_or_else(|error| error.to_string(), |()| "ok".to_owned())
}

#[track_caller]
fn check_base(change: impl FnOnce(&mut BaseTx), expected: &str) {
    let mut tx = base();
    change(&mut tx);
    assert_eq!(text(UnsignedTx::Base(tx)), expected);
}

#[test]
fn base_fields() {
    check_base(|_| {}, "ok");
    check_base(|tx| tx.network_id = 8, "tx has wrong network ID");
    check_base(|tx| tx.blockchain_id = OTHER, "tx has wrong chain ID");
    check_base(|tx| tx.memo.push(0), "memo exceeds maximum length: 257 > 256");
    let everything = |tx: &mut BaseTx| {
        (tx.network_id, tx.blockchain_id) = (8, OTHER);
        tx.outputs[0].asset_id = Id::ZERO;
    };
    check_base(everything, "tx has wrong network ID");
}

#[test]
fn outputs() {
    check_base(|tx| tx.outputs[0].asset_id = Id::ZERO, "empty asset ID is not valid");
    check_base(|tx| tx.outputs[0].output.amount = 0, "output has no value");
    check_base(|tx| tx.outputs[0].output.owners.threshold = 2, "output is unspendable");
    let unoptimized = "output representation should be optimized";
    check_base(|tx| tx.outputs[0].output.owners.threshold = 0, unoptimized);
    let twice = |tx: &mut BaseTx| tx.outputs[0].output.owners.addresses = vec![ShortId::ZERO; 2];
    check_base(twice, "addresses not sorted and unique");
    check_base(|tx| tx.outputs = vec![output(NATIVE, 2), output(NATIVE, 1)], "outputs not sorted");
    let assets = |tx: &mut BaseTx| tx.outputs = vec![output(OTHER, 1), output(NATIVE, 1)];
    check_base(assets, "outputs not sorted");
    check_base(|tx| tx.outputs = vec![output(NATIVE, 2), output(NATIVE, 2)], "ok");
    // Outputs come before inputs.
    let both = |tx: &mut BaseTx| {
        tx.inputs[0].input.amount = 0;
        tx.outputs[0].output.amount = 0;
    };
    check_base(both, "output has no value");
}

#[test]
fn inputs() {
    check_base(|tx| tx.inputs[0].asset_id = Id::ZERO, "empty asset ID is not valid");
    check_base(|tx| tx.inputs[0].input.amount = 0, "input has no value");
    let unsorted = "address indices not sorted and unique";
    check_base(|tx| tx.inputs[0].input.sig_indices = vec![1, 0], unsorted);
    check_base(|tx| tx.inputs[0].input.sig_indices = vec![1, 1], unsorted);
    let twice = |tx: &mut BaseTx| tx.inputs.push(input(0, NATIVE, 100));
    check_base(twice, "inputs not sorted and unique");
    let descending = |tx: &mut BaseTx| tx.inputs.insert(0, input(1, NATIVE, 1));
    check_base(descending, "inputs not sorted and unique");
    check_base(|tx| tx.inputs.push(input(1, OTHER, 1)), "ok");
}

#[test]
fn flow() {
    check_base(|tx| tx.outputs = vec![output(NATIVE, 90)], "ok");
    check_base(|tx| tx.outputs = vec![output(NATIVE, 91)], "insufficient funds");
    check_base(|tx| tx.outputs.push(output(OTHER, 1)), "insufficient funds");
    check_base(|tx| tx.inputs.clear(), "insufficient funds");
    check_base(|tx| tx.outputs = vec![output(NATIVE, u64::MAX)], "overflow");
    let consumed = |tx: &mut BaseTx| tx.inputs.push(input(1, NATIVE, u64::MAX));
    check_base(consumed, "overflow");
    // An overflow is reported after the order, and before a shortage.
    let unsorted = |tx: &mut BaseTx| {
        tx.outputs = vec![output(NATIVE, u64::MAX)];
        tx.inputs = vec![input(1, NATIVE, 1), input(0, NATIVE, 1)];
    };
    check_base(unsorted, "inputs not sorted and unique");
}

#[test]
fn credentials() {
    let tx = |slots| Tx::new(UnsignedTx::Base(base()), slots);
    let slot = CredentialSlot::new(FxKind::Nft, vec![]);
    assert_eq!(text_of(&tx(vec![])), "wrong number of credentials: 0 != 1");
    assert_eq!(text_of(&tx(vec![slot.clone(), slot])), "wrong number of credentials: 2 != 1");
    // A value in the place of a credential is checked by itself, and first.
    let empty =
        CredentialSlot::NonCredential(Box::new(NonCredential::Input(TransferInput::default())));
    assert_eq!(text_of(&tx(vec![empty.clone(), empty])), "input has no value");
    let input = TransferInput { amount: 1, sig_indices: vec![] };
    let fine = CredentialSlot::NonCredential(Box::new(NonCredential::Input(input)));
    assert_eq!(text_of(&tx(vec![fine])), "ok");
}

fn create_asset() -> CreateAssetTx {
    let secp = vec![
        Output::SecpMint(owners()),
        Output::SecpTransfer(TransferOutput { amount: 1, owners: owners() }),
    ];
    let nft = vec![Output::NftMint(NftMintOutput { group_id: 0, owners: owners() })];
    CreateAssetTx {
        base: base(),
        name: b"Team Rocket 2".to_vec(),
        symbol: b"TR".to_vec(),
        denomination: 32,
        states: vec![
            InitialState { fx_index: 0, outputs: secp },
            InitialState { fx_index: 1, outputs: nft },
        ],
    }
}

#[track_caller]
fn check_create(change: impl FnOnce(&mut CreateAssetTx), expected: &str) {
    let mut tx = create_asset();
    change(&mut tx);
    assert_eq!(text(UnsignedTx::CreateAsset(tx)), expected);
}

#[test]
fn descriptions() {
    check_create(|_| {}, "ok");
    let name = |name: &[u8], expected: &str| check_create(|tx| tx.name = name.to_vec(), expected);
    let symbol = |symbol: &[u8], expected: &str| {
        check_create(|tx| tx.symbol = symbol.to_vec(), expected);
    };
    name(b"", "name is too short, minimum size is 1");
    name(&[b'a'; 128], "ok");
    name(&[b'a'; 129], "name is too long, maximum size is 128");
    for padded in ["a ", " a", "a\t", "a\u{a0}", "\u{2003}a", " "] {
        name(padded.as_bytes(), "unexpected whitespace provided");
    }
    let letters = "asset's name must be made up of only letters and numbers";
    for bad in ["a-b", "é", "a\tb", "a\0"] {
        name(bad.as_bytes(), letters);
    }
    name(b"\xff", letters);
    symbol(b"", "symbol is too short, minimum size is 1");
    symbol(b"ABCDE", "symbol is too long, maximum size is 4");
    symbol(b"ABCD", "ok");
    for bad in [b"abcd".as_slice(), b"A1", b"A ", "É".as_bytes()] {
        symbol(bad, "asset's symbol must be all upper case letters");
    }
    check_create(|tx| tx.states.clear(), "assets must support at least one Fx");
    check_create(|tx| tx.denomination = 33, "denomination is too large");
}

#[test]
fn the_order_of_description_rules() {
    let mut tx = create_asset();
    let step = |tx: &CreateAssetTx, expected: &str| {
        assert_eq!(text(UnsignedTx::CreateAsset(tx.clone())), expected);
    };
    tx.base.network_id = 0;
    step(&tx, "tx has wrong network ID");
    tx.symbol = b"x".to_vec();
    step(&tx, "asset's symbol must be all upper case letters");
    tx.name = b"a-".to_vec();
    step(&tx, "asset's name must be made up of only letters and numbers");
    tx.name = b"a- ".to_vec();
    step(&tx, "unexpected whitespace provided");
    tx.denomination = 40;
    step(&tx, "denomination is too large");
    tx.states.clear();
    step(&tx, "assets must support at least one Fx");
    tx.symbol = vec![];
    step(&tx, "symbol is too short, minimum size is 1");
    tx.name = vec![];
    step(&tx, "name is too short, minimum size is 1");
}

#[test]
fn initial_states() {
    // Creating an asset costs its own fee, not the usual one.
    check_create(|tx| tx.base.outputs[0].output.amount = 76, "insufficient funds");
    check_create(|tx| tx.states[1].fx_index = 3, "unknown feature extension");
    check_create(|tx| tx.states[1].fx_index = 0, "initial states not sorted and unique");
    check_create(|tx| tx.states.swap(0, 1), "initial states not sorted and unique");
    check_create(|tx| tx.states[0].outputs.swap(0, 1), "outputs not sorted");
    let equal = |tx: &mut CreateAssetTx| {
        let first = tx.states[0].outputs[0].clone();
        tx.states[0].outputs.insert(0, first);
    };
    check_create(equal, "ok");
    let big = |tx: &mut CreateAssetTx| {
        let nft = NftTransferOutput { group_id: 0, payload: vec![0; 1025], owners: owners() };
        tx.states[1].outputs.push(Output::NftTransfer(nft));
    };
    check_create(big, "payload too large");
    // The kind of an output is not compared with the state's extension.
    let misplaced = |tx: &mut CreateAssetTx| {
        let nft = tx.states[1].outputs.clone();
        tx.states[0].outputs.extend(nft);
    };
    check_create(misplaced, "ok");
    check_create(|tx| tx.states[0].outputs.clear(), "ok");
}

fn mint(index: u32, amount: u64) -> Operation {
    let transfer_output = TransferOutput { amount, owners: owners() };
    let mint_output = owners();
    let op = SecpMintOperation { mint_input: vec![0], mint_output, transfer_output };
    let utxo_ids = vec![utxo_id(index)];
    Operation { asset_id: OTHER, utxo_ids, op: FxOperation::SecpMint(op) }
}

#[track_caller]
fn check_operations(operations: Vec<Operation>, expected: &str) {
    let tx = OperationTx { base: base(), operations };
    assert_eq!(text(UnsignedTx::Operation(tx)), expected);
}

#[test]
fn operations() {
    check_operations(vec![mint(1, 5)], "ok");
    check_operations(vec![mint(1, 5), mint(2, 5)], "ok");
    check_operations(vec![], "an operationTx must have at least one operation");
    check_operations(vec![mint(2, 5), mint(1, 5)], "operations not sorted and unique");
    let double_spend = "inputs attempt to double spend an input";
    check_operations(vec![mint(0, 5)], double_spend);
    check_operations(vec![mint(1, 5), mint(1, 6)], double_spend);
    let utxos = |indices: &[u32]| {
        let utxo_ids = indices.iter().copied().map(utxo_id).collect();
        vec![Operation { utxo_ids, ..mint(1, 5) }]
    };
    check_operations(utxos(&[1, 2]), "ok");
    check_operations(utxos(&[]), "ok");
    check_operations(utxos(&[2, 1]), "utxo IDs not sorted and unique");
    check_operations(utxos(&[1, 1]), "utxo IDs not sorted and unique");
    check_operations(
        vec![Operation { asset_id: Id::ZERO, ..mint(1, 0) }],
        "empty asset ID is not valid",
    );
    check_operations(vec![mint(0, 0)], "output has no value");
    let nft = NftMintOperation { payload: vec![0; 1025], ..NftMintOperation::default() };
    let op = FxOperation::NftMint(nft);
    check_operations(vec![Operation { op, ..mint(1, 5) }], "payload too large");
    let op = FxOperation::PropertyBurn(vec![3, 2]);
    check_operations(vec![Operation { op, ..mint(1, 5) }], "address indices not sorted and unique");
}

#[test]
fn operations_are_brought_into_order() {
    let mut operations = vec![mint(2, 5), mint(1, 5)];
    Operation::sort(&mut operations);
    check_operations(operations, "ok");
}

#[test]
fn imports() {
    let import = |imported_inputs| {
        text(UnsignedTx::Import(ImportTx { base: base(), source_chain: OTHER, imported_inputs }))
    };
    assert_eq!(import(vec![]), "no import inputs");
    assert_eq!(import(vec![input(0, OTHER, 1)]), "ok");
    let unsorted = vec![input(1, OTHER, 1), input(0, OTHER, 1)];
    assert_eq!(import(unsorted), "inputs not sorted and unique");
    assert_eq!(import(vec![input(0, NATIVE, u64::MAX)]), "overflow");
    // Imported and local inputs pay together.
    let base = BaseTx { inputs: vec![], outputs: vec![output(NATIVE, 5)], ..base() };
    let pay = |amount| {
        let imported_inputs = vec![input(0, NATIVE, amount)];
        let base = base.clone();
        text(UnsignedTx::Import(ImportTx { base, source_chain: OTHER, imported_inputs }))
    };
    assert_eq!(pay(15), "ok");
    assert_eq!(pay(14), "insufficient funds");
}

#[test]
fn exports() {
    let export = |exported_outputs| {
        let base = base();
        text(UnsignedTx::Export(ExportTx { base, destination_chain: OTHER, exported_outputs }))
    };
    assert_eq!(export(vec![]), "no export outputs");
    assert_eq!(export(vec![output(NATIVE, 15)]), "ok");
    assert_eq!(export(vec![output(NATIVE, 16)]), "insufficient funds");
    assert_eq!(export(vec![output(NATIVE, 2), output(NATIVE, 1)]), "outputs not sorted");
    assert_eq!(export(vec![output(NATIVE, 0)]), "output has no value");
}
