//! Control records: a development network builds them, and any other network refuses them.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use alloy_primitives::{Address, U256};
use esker_chain::{
    AdjustableClock, BuildContext, Built, ChainMachine, ChainVm, Machine, MachineConfig,
    ProposeCtx, Verdict,
};
use esker_evm::chain::{Evm, EvmConfig};
use esker_evm::control::{
    ChangeRequest, ControlError, ControlExtension, ControlRecord, Controls, MAX_TIME_S, StateChange,
};
use esker_evm::extension::{BlockExtension, NoExtension};
use esker_evm_execution::executor::ChainParams;
use esker_evm_execution::genesis::Genesis;
use esker_evm_execution::rules::{CChainRules, FeeOverrides, ForkSchedule, Rules};
use esker_evm_state::types::ext_data_hash;
use esker_primitives::Id;
use esker_primitives::clock::ManualClock;
use esker_storage::{Scope, Store};
use esker_testkit::context::chain_context;

use crate::live::START_MS;

const ACCOUNT: Address = Address::repeat_byte(0xa1);

struct Node {
    evm: Arc<Evm>,
    machine: Arc<Machine>,
    controls: Arc<Controls>,
    clock: ManualClock,
}

/// A node with the exact fee rules, under which tips must pay the block gas cost.
fn node(is_development: bool) -> Node {
    let manual = ManualClock::new(START_MS);
    let clock = AdjustableClock::new(Arc::new(manual.clone()));
    let store = Store::memory().unwrap();
    let context = chain_context(Id::sha256(b"C"), Scope(2), Arc::new(clock.clone()), store.clone());
    let work = Arc::clone(&context.work);
    let rules: Arc<dyn Rules> =
        Arc::new(CChainRules::new(43112, ForkSchedule::LOCAL, FeeOverrides::default()));
    let params = ChainParams::new(Arc::clone(&rules), 12345, context.chain_id);
    let controls = Arc::new(Controls::new(clock.clone(), Arc::clone(&work)));
    let mut extension: Arc<dyn BlockExtension> = Arc::new(NoExtension);
    if is_development {
        let controls = Some(Arc::clone(&controls));
        extension = Arc::new(ControlExtension::new(extension, rules, controls));
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/genesis/local-c.json");
    let genesis = Genesis::parse(&std::fs::read(path).unwrap()).unwrap();
    let of_chain = is_development.then(|| Arc::clone(&controls));
    let config = EvmConfig::default();
    let evm = Evm::new(context, params, config, genesis, extension, of_chain).unwrap();
    let config = MachineConfig { check_proposals: true, decides_alone: true, ..Default::default() };
    let chains = vec![Arc::clone(&evm) as Arc<dyn ChainVm>];
    let machine = Machine::open(chains, store, Arc::new(clock), work, config).unwrap();
    Node { evm, machine, controls, clock: manual }
}

/// Builds the blocks of a request until it is fulfilled.
async fn fulfil(
    node: &Node,
    request: impl Future<Output = Result<(), ControlError>>,
) -> Result<(), ControlError> {
    fulfil_slowly(node, 0, request).await
}

/// As [`fulfil`]; each block takes this long, ms.
async fn fulfil_slowly(
    node: &Node,
    block_ms: u64,
    request: impl Future<Output = Result<(), ControlError>>,
) -> Result<(), ControlError> {
    let engine = async {
        loop {
            let (height, parent) = node.machine.last_final();
            let at =
                ProposeCtx { height: height + 1, parent, ancestry: &[], wait_until_ms: u64::MAX };
            let bundle = node.machine.propose(at).await.unwrap().unwrap();
            node.machine.finalize(&bundle, None).await.unwrap();
            node.clock.advance(block_ms);
        }
    };
    tokio::select! {
        done = request => done,
        () = engine => unreachable!("the engine does not end"),
    }
}

/// The bytes of the last block of a node that set a balance.
async fn changed() -> Vec<u8> {
    let node = node(true);
    let wanted = vec![ChangeRequest::Balance(ACCOUNT, U256::from(7))];
    fulfil(&node, node.controls.change(wanted)).await.unwrap();
    let reader = node.evm.context().store.snapshot().unwrap();
    node.evm.block_at(reader.as_ref(), 1).unwrap().unwrap().to_vec()
}

async fn verdict(node: &Node, block: Vec<u8>) -> Result<(), Verdict> {
    let (_, parent) = node.machine.last_final();
    let blocks = vec![(node.evm.context().chain_id, block.into())];
    node.machine.compose(&parent, blocks).await.unwrap().map(|_| ())
}

#[tokio::test]
async fn blocks_follow_each_other_without_fees() {
    let node = node(true);
    fulfil(&node, node.controls.mine(5, 0)).await.unwrap();
    let wanted = vec![
        ChangeRequest::AddBalance(ACCOUNT, U256::from(5)),
        ChangeRequest::AddBalance(ACCOUNT, U256::from(2)),
        ChangeRequest::Nonce(ACCOUNT, 3),
    ];
    fulfil(&node, node.controls.change(wanted)).await.unwrap();
    assert_eq!(node.evm.head().header.number, 6);
    let reader = node.evm.context().store.snapshot().unwrap();
    let account = node.evm.view(reader.as_ref()).latest_state().account(&ACCOUNT).unwrap().unwrap();
    assert_eq!((account.balance, account.nonce), (U256::from(7), 3));
}

#[tokio::test]
async fn a_time_that_is_set_meanwhile_comes_after_the_blocks() {
    let node = node(true);
    let begun_s = node.evm.head().header.time.max(START_MS / 1000);
    let both = async {
        let set = async {
            let _turn = node.controls.turn().await?;
            assert_eq!(node.evm.head().header.number, 40);
            node.controls.set_next_time(begun_s + 5_000, begun_s)
        };
        let (mined, set) = tokio::join!(node.controls.mine(40, 0), set);
        mined.and(set)?;
        assert!(node.evm.head().header.time < begun_s + 5_000);
        node.controls.mine(1, 0).await
    };
    fulfil(&node, both).await.unwrap();
    let head = node.evm.head();
    assert_eq!((head.header.number, head.header.time), (41, begun_s + 5_000));
}

#[tokio::test]
async fn a_build_that_began_before_its_request_has_the_time_that_is_set() {
    let node = node(true);
    let begun = BuildContext { now_ms: START_MS, ..BuildContext::default() };
    let wanted_s = START_MS / 1000 + 5_000;
    node.controls.set_next_time(wanted_s, 0).unwrap();
    let mut mining = pin!(node.controls.mine(1, 0));
    assert!(poll_fn(|cx| Poll::Ready(mining.as_mut().poll(cx).is_pending())).await);
    let reader = node.evm.context().store.snapshot().unwrap();
    let Built::Block(built) = node.evm.build(reader.as_ref(), &begun).unwrap() else {
        panic!("no block is built")
    };
    let block = node.evm.params().rules.decode_block(&built.bytes).unwrap();
    assert_eq!((block.header.number, block.header.time), (1, wanted_s));
}

#[tokio::test]
async fn blocks_have_their_distance_however_long_they_take() {
    let node = node(true);
    let time = |height: u64| {
        let reader = node.evm.context().store.snapshot().unwrap();
        node.evm.view(reader.as_ref()).header(height).unwrap().unwrap().time
    };
    fulfil_slowly(&node, 1_700, node.controls.mine(4, 60)).await.unwrap();
    assert_eq!([time(2) - time(1), time(3) - time(2), time(4) - time(3)], [60; 3]);
    // The clock continues from the last block.
    node.clock.advance(5_000);
    fulfil_slowly(&node, 1_700, node.controls.mine(2, 0)).await.unwrap();
    assert!((5..=8).contains(&(time(5) - time(4))), "{} {}", time(5), time(4));
    assert!((1..=2).contains(&(time(6) - time(5))), "{} {}", time(6), time(5));
}

#[tokio::test]
async fn blocks_end_with_their_time_and_with_their_client() {
    let node = node(true);
    let some = async {
        let mut turn = node.controls.turn().await?;
        turn.mine(100_000, 0, Some(Duration::ZERO)).await
    };
    let error = fulfil(&node, some).await.unwrap_err();
    let ControlError::OutOfTime { made, wanted: 100_000 } = error else { panic!("{error}") };
    assert_eq!(made, node.evm.head().header.number);
    // A request whose future is dropped.
    tokio::select! {
        biased;
        _ = node.controls.mine(100_000, 0) => unreachable!("nothing makes blocks"),
        () = std::future::ready(()) => {}
    }
    fulfil(&node, node.controls.mine(3, 0)).await.unwrap();
    assert_eq!(node.evm.head().header.number, made + 3);
}

#[tokio::test]
async fn blocks_are_made_at_the_end_of_time() {
    let node = node(true);
    node.controls.set_time(MAX_TIME_S, 0).unwrap();
    fulfil(&node, node.controls.mine(2, 0)).await.unwrap();
    node.clock.advance(5_000);
    fulfil(&node, node.controls.mine(1, 0)).await.unwrap();
    assert_eq!(node.evm.head().header.time, MAX_TIME_S + 5);
    let error = node.controls.mine(1, 1).await.unwrap_err().to_string();
    assert_eq!(error, format!("timestamp {} is too late: at most {MAX_TIME_S}", MAX_TIME_S + 6));
    fulfil(&node, node.controls.mine(1, 0)).await.unwrap();
}

#[tokio::test]
async fn an_impossible_change_is_refused_whole() {
    let node = node(true);
    let wanted = vec![
        ChangeRequest::Balance(ACCOUNT, U256::from(5)),
        ChangeRequest::AddBalance(ACCOUNT, U256::MAX),
    ];
    // The next request makes a block. The refused request made none.
    let both = async {
        let (refused, mined) = tokio::join!(node.controls.change(wanted), node.controls.mine(1, 0));
        let error = refused.unwrap_err().to_string();
        assert!(error.ends_with("wei, the most that an account can have"), "{error}");
        mined
    };
    fulfil(&node, both).await.unwrap();
    let reader = node.evm.context().store.snapshot().unwrap();
    assert_eq!(node.evm.view(reader.as_ref()).latest_state().account(&ACCOUNT).unwrap(), None);
    assert_eq!(node.evm.head().header.number, 1);
}

#[tokio::test]
async fn other_networks_refuse_control_records() {
    let block = changed().await;
    assert_eq!(verdict(&node(true), block.clone()).await, Ok(()));
    let refused = Verdict::Invalid("this chain has no atomic transactions".to_owned());
    assert_eq!(verdict(&node(false), block).await, Err(refused));
}

#[tokio::test]
async fn altered_records_are_refused() {
    let node = node(true);
    let rules = Arc::clone(&node.evm.params().rules);
    let original = rules.decode_block(&changed().await).unwrap();
    let (address, before, after) = (ACCOUNT, U256::ZERO, U256::from(8));
    let other = vec![StateChange::Balance { address, before, after }];
    let wrong = vec![StateChange::Balance { address, before: after, after }];
    let storage = vec![StateChange::Storage { address, key: U256::ZERO, value: U256::from(1) }];
    let encoded = |changes| ControlRecord::from_changes(changes).prefix_to(b"").unwrap();
    for (ext_data, text) in [
        (encoded(other), "invalid merkle root"),
        (encoded(Vec::new()), "invalid merkle root"),
        (encoded(wrong), "has 0 wei, not 8"),
        (encoded(storage), "does not exist"),
        (vec![0xff, 0xff, 0, 0, 0, 9, 1].into(), "the ext data ends too early"),
        (vec![0xff, 0xff, 0, 0, 0, 1, 1].into(), "control record: "),
        (vec![0xff, 0xff, 0, 0, 0, 2, 0xc1, 0xc0, 1].into(), "no atomic transactions"),
    ] {
        let mut block = original.clone();
        block.header.ext_data_hash = ext_data_hash(&ext_data);
        block.ext_data = ext_data;
        let refused = verdict(&node, rules.encode_block(&block)).await.unwrap_err();
        assert!(refused.to_string().contains(text), "{text}: {refused}");
    }
}
