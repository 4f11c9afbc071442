//! Code, nonces and creators.

use std::path::Path;

use alloy_primitives::{Address, Bytes, TxKind};
use serde_json::{Value, json};

use super::super::world::World;
use super::code::{End, Op, deploying, program};

const CREATOR: &str = "ots_getContractCreator";
/// An account without code.
const PLAIN: Address = Address::repeat_byte(0xa1);

#[tokio::test(flavor = "multi_thread")]
async fn code_at_a_block() {
    let world = World::indexed();
    let contract = world.deploy_setter(0);
    world.block().await;
    let block = world.call("eth_getBlockByNumber", json!([world.height_hex(), false])).await;
    for (at, has_code) in [
        (json!("latest"), true),
        (json!("pending"), true),
        (json!(1), true),
        (json!("0x1"), true),
        (block["hash"].clone(), true),
        (json!({"blockNumber": "0x1"}), true),
        (json!(0), false),
        (json!("earliest"), false),
    ] {
        assert_eq!(world.call("ots_hasCode", json!([contract, at])).await, has_code, "{at}");
    }
    assert_eq!(world.call("ots_hasCode", json!([contract])).await, true);
    assert_eq!(world.call("ots_hasCode", json!([world.sender(), "latest"])).await, false);
    assert_eq!(world.call("ots_hasCode", json!([PLAIN, "latest"])).await, false);
    let (code, text) = world.error("ots_hasCode", json!([contract, 2])).await;
    assert_eq!((code, text.as_str()), (-32000, "cannot query unfinalized data"));
    for bad in [json!(-1), json!("two"), json!(1.5), json!(u64::MAX)] {
        assert_eq!(world.error("ots_hasCode", json!([contract, bad])).await.0, -32602, "{bad}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_by_sender_and_nonce() {
    let world = World::indexed();
    let mut hashes = Vec::new();
    for nonce in 0..5 {
        hashes.push(world.send(nonce, TxKind::Call(PLAIN), 0, Bytes::new()));
        if nonce % 2 == 0 {
            world.block().await;
        }
    }
    let find = |sender: Address, nonce: Value| {
        world.call("ots_getTransactionBySenderAndNonce", json!([sender, nonce]))
    };
    for (nonce, hash) in hashes.iter().enumerate() {
        assert_eq!(find(world.sender(), json!(nonce)).await, hash.to_string());
    }
    assert_eq!(find(world.sender(), json!("0x1")).await, hashes[1].to_string());
    assert_eq!(find(world.sender(), json!(5)).await, Value::Null);
    assert_eq!(find(PLAIN, json!(0)).await, Value::Null);
}

/// Deploys a contract that creates another one whenever it is called: the code of the contract that does, its address.
async fn factory(world: &World, nonce: u64) -> Address {
    let code = deploying(&program(&[Op::Create(End::Stop, 0)]));
    world.send(nonce, TxKind::Create, 0, code);
    world.block().await;
    world.sender().create(nonce)
}

/// Init code of a contract with the code STOP: PUSH1 1, PUSH1 31, RETURN of a zero.
const STOPS: &[u8] = &[0x60, 1, 0x60, 31, 0xf3];

/// A program that creates a contract with the code STOP: PUSH5, PUSH1 0, MSTORE, PUSH1 5, PUSH1 27, PUSH1 0, CREATE.
fn creates_stop() -> Vec<u8> {
    let head = [&[0x64][..], STOPS].concat();
    [&head[..], &[0x60, 0, 0x52, 0x60, 5, 0x60, 27, 0x60, 0, 0xf0]].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn creators_of_contracts() {
    for world in [World::indexed(), World::new(Path::new("/nowhere"))] {
        let sender = world.sender();
        // Two contracts in one block, among others.
        world.send(0, TxKind::Call(PLAIN), 0, Bytes::new());
        let first = world.send(1, TxKind::Create, 0, deploying(&[0]));
        let second = world.send(2, TxKind::Create, 0, deploying(&[0]));
        let maker = world.send(3, TxKind::Create, 0, deploying(&creates_stop()));
        world.block().await;
        let maker_address = sender.create(3);
        // One that a contract creates: the creator is that contract. Then one whose creation is reverted.
        let inner = world.send(4, TxKind::Call(maker_address), 0, Bytes::new());
        world.block().await;
        world.send(5, TxKind::Call(PLAIN), 0, Bytes::new());
        world.block().await;
        let of = |hash: alloy_primitives::B256, creator: Address| json!({"hash": hash, "creator": format!("{creator:#x}")});
        for (contract, expected) in [
            (sender.create(1), of(first, sender)),
            (sender.create(2), of(second, sender)),
            (maker_address, of(maker, sender)),
            (maker_address.create(1), of(inner, maker_address)),
            (maker_address.create(2), Value::Null),
            (sender, Value::Null),
            (PLAIN, Value::Null),
        ] {
            assert_eq!(world.call(CREATOR, json!([contract])).await, expected, "{contract}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reverted_creation_is_not_the_one() {
    let world = World::indexed();
    let sender = world.sender();
    // It creates, and fails if the call has no value: CALLVALUE, PUSH1 end, JUMPI, INVALID, JUMPDEST.
    let body = creates_stop();
    let end = u8::try_from(body.len() + 5).unwrap();
    let code = [&body[..], &[0x34, 0x60, end, 0x57, 0xfe, 0x5b]].concat();
    world.send(0, TxKind::Create, 0, deploying(&code));
    world.block().await;
    let maker = sender.create(0);
    world.send(1, TxKind::Call(maker), 0, Bytes::new());
    let kept = world.send(2, TxKind::Call(maker), 1, Bytes::new());
    world.block().await;
    let found = world.call(CREATOR, json!([maker.create(1)])).await;
    assert_eq!(found, json!({"hash": kept, "creator": format!("{maker:#x}")}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contract_without_code_was_not_created() {
    let world = World::indexed();
    let factory = factory(&world, 0).await;
    world.send(1, TxKind::Call(factory), 0, Bytes::new());
    world.block().await;
    // Its init code returns no code.
    assert_eq!(world.call(CREATOR, json!([factory.create(1)])).await, Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_pruning_node_has_forgotten_is_an_error() {
    let world = World::pruning();
    let contract = world.deploy_setter(0);
    world.block().await;
    for nonce in 1..6 {
        world.send(nonce, TxKind::Call(PLAIN), 0, Bytes::new());
        world.block().await;
    }
    let ends = "before the states that this node keeps, which begin with block 3: an archive node knows more";
    let (code, text) = world.error(CREATOR, json!([contract])).await;
    assert_eq!((code, text), (4444, format!("{contract} got its code {ends}")));
    let sender = world.sender();
    let params = json!([sender, 0]);
    let (code, text) = world.error("ots_getTransactionBySenderAndNonce", params).await;
    assert_eq!((code, text), (4444, format!("nonce 0 of {sender} was used {ends}")));
    let hash = world.call("ots_getTransactionBySenderAndNonce", json!([sender, 5])).await;
    let (_, text) =
        world.error("ots_traceTransaction", json!([world.hash_of_first(1).await])).await;
    assert_eq!(text, "required historical state unavailable (reexec=128)");
    assert_eq!(
        world.call("ots_traceTransaction", json!([hash])).await.as_array().unwrap().len(),
        1
    );
}
