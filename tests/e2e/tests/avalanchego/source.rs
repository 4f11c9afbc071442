//! The source over the stand-in, with the chains behind it.

use std::collections::BTreeMap;
use std::time::Duration;

use esker_avalanchego::{
    Block, Chain, ClientError, FeedFault, IndexClient, MAX_ANSWER_LEN, Source, SourceError, Step,
    Waiting,
};
use esker_e2e::avalanchego::{Recording, StandIn};
use esker_node::chains::followed::{self, AcceptedMemory, FollowedBlocks};
use esker_outbound::Dialer;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use crate::ledger::{Ledger, config, config_of};

/// A node that follows the stand-in.
struct Follower {
    ledger: Ledger,
    source: Source<FollowedBlocks>,
    /// Blocks that are handed out before they are accepted, at most.
    batch: usize,
}

impl Follower {
    async fn open(ledger: Ledger, stand_in: &StandIn, batch: usize) -> Result<Self, SourceError> {
        let source = connect(&ledger, stand_in).await?;
        Ok(Self { ledger, source, batch })
    }

    /// Takes and accepts blocks until there are no more.
    async fn follow(&mut self) -> Result<Waiting, SourceError> {
        let memory = AcceptedMemory(self.ledger.store.clone());
        let mut handed_out: Vec<Block> = Vec::new();
        loop {
            let step = self.source.next(&memory).await;
            let is_last = !matches!(step, Ok(Step::Block(_)));
            if let Ok(Step::Block(block)) = &step {
                handed_out.push(block.clone());
            }
            if is_last || handed_out.len() >= self.batch {
                for block in handed_out.drain(..) {
                    let id = self.ledger.chain_id(block.chain.alias());
                    self.ledger.accept(id, block.bytes).await.unwrap();
                    self.source.accepted(block.chain, block.height);
                }
            }
            match step? {
                Step::Block(_) => {}
                Step::Wait(waiting) => return Ok(waiting),
            }
        }
    }
}

async fn connect(
    ledger: &Ledger,
    stand_in: &StandIn,
) -> Result<Source<FollowedBlocks>, SourceError> {
    let (network, chains) = (&ledger.network, &ledger.open.chains);
    let blocks = FollowedBlocks::new(chains, network).unwrap();
    let p = ledger.open.observed_p.as_ref().unwrap();
    let ids = followed::ids(network).unwrap();
    let start = followed::start((network.id, ids), chains, p, &blocks, &ledger.store).unwrap();
    let client = IndexClient::new(stand_in.url().parse().unwrap(), Dialer::plain());
    Source::open(client, blocks, start).await
}

/// A folder, a stand-in of the first run, and a node that follows it.
async fn first_run() -> (tempfile::TempDir, StandIn, Follower) {
    let folder = tempfile::tempdir().unwrap();
    let stand_in = StandIn::start(&Recording::load("follow-1"));
    let ledger = Ledger::open(&config(&folder.path().join("node")));
    let follower = Follower::open(ledger, &stand_in, 1).await.unwrap();
    (folder, stand_in, follower)
}

#[tokio::test(flavor = "multi_thread")]
async fn chains_that_come_one_after_the_other_give_the_recorded_state() {
    let orders = [
        [Chain::P, Chain::X, Chain::C],
        [Chain::C, Chain::X, Chain::P],
        [Chain::X, Chain::C, Chain::P],
        [Chain::X, Chain::P, Chain::C],
    ];
    for (recording, order) in Recording::all().iter().cycle().zip(orders) {
        let folder = tempfile::tempdir().unwrap();
        let stand_in = StandIn::start(recording);
        let ledger = Ledger::open(&config_of(&recording.network, folder.path()));
        let mut follower = Follower::open(ledger, &stand_in, 7).await.unwrap();
        for (shown, chain) in order.into_iter().enumerate() {
            let waiting = follower.follow().await.unwrap();
            // Without the last chain, blocks of the others miss what they import.
            assert_eq!(waiting.blocked.is_empty(), shown == 0, "{waiting:?}");
            stand_in.show(chain, usize::MAX);
        }
        assert_eq!(follower.follow().await.unwrap(), Waiting::default());
        follower.ledger.assert_is_end_of(recording);
    }
}

/// Indexes that grow in lumps, a slow node, chains that bootstrap, restarts of either side.
#[tokio::test(flavor = "multi_thread")]
async fn indexes_that_grow_anyhow_give_the_recorded_state() {
    for (recording, seed) in Recording::all().iter().cycle().zip(1..=5) {
        let mut random = StdRng::seed_from_u64(seed);
        let folder = tempfile::tempdir().unwrap();
        let mut stand_in = StandIn::start(recording);
        let ledger = Ledger::open(&config_of(&recording.network, folder.path()));
        let mut follower = Follower::open(ledger, &stand_in, 3).await.unwrap();
        let mut shown: BTreeMap<Chain, usize> = BTreeMap::new();
        let total = |chain| recording.of(chain).len();
        for round in 1.. {
            let chain = Chain::ALL[random.random_range(0..3)];
            let count = shown.entry(chain).or_default();
            *count = total(chain).min(*count + random.random_range(1..25));
            stand_in.show(chain, *count);
            stand_in.set_delay(Duration::from_millis(random.random_range(0..3)));
            if round % 3 == 0 {
                let status = if random.random() { 404 } else { 503 };
                stand_in.set_status(chain, Some(status));
                let error = follower.follow().await.unwrap_err();
                assert!(error.is_temporary(), "{error}");
                stand_in.set_status(chain, None);
            }
            if round % 4 == 0 {
                stand_in.stop();
                let error = follower.follow().await.unwrap_err();
                assert!(error.is_temporary(), "{error}");
                stand_in.restart();
            }
            if round % 5 == 0 {
                let Follower { ledger, source, .. } = follower;
                drop(source);
                ledger.close();
                let ledger = Ledger::open(&config_of(&recording.network, folder.path()));
                follower = Follower::open(ledger, &stand_in, 3).await.unwrap();
            }
            let waiting = follower.follow().await.unwrap();
            if Chain::ALL.into_iter().all(|chain| shown.get(&chain) == Some(&total(chain))) {
                assert_eq!(waiting, Waiting::default());
                break;
            }
        }
        follower.ledger.assert_is_end_of(recording);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_without_its_source_is_named() {
    let (_folder, stand_in, mut follower) = first_run().await;
    stand_in.show(Chain::X, usize::MAX);
    let waiting = follower.follow().await.unwrap();
    assert_eq!(follower.ledger.height("X"), 1);
    let [blocked] = waiting.blocked[..] else { panic!("{waiting:?}") };
    assert_eq!(
        blocked.to_string(),
        "block 2 of the X-Chain imports output 1 of transaction \
         2t9EJFtRiq9S9nzD1yHxV6t1gh4iJofJtM3cKZVRpGxo7KSSyQ, which the blocks of the P-Chain so far do not export"
    );
    // P's API knows it, only the index is behind.
    assert!(follower.source.has_source(&blocked).await.unwrap());
    stand_in.forget_p_tx(&blocked.tx_id.to_string());
    assert!(!follower.source.has_source(&blocked).await.unwrap());
    stand_in.show(Chain::P, usize::MAX);
    follower.follow().await.unwrap();
    assert!(follower.ledger.height("X") > 2);
}

/// Follows until the node refuses what the stand-in serves of a chain.
async fn refusal(change: impl FnOnce(&StandIn)) -> String {
    let (_folder, stand_in, mut follower) = first_run().await;
    stand_in.show_all();
    change(&stand_in);
    let error = follower.follow().await.unwrap_err();
    assert!(!error.is_temporary(), "{error}");
    error.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn contradictions_are_refused_by_chain_and_index() {
    let gap = refusal(|s| s.change(Chain::X, |all| drop(all.remove(4)))).await;
    assert!(gap.starts_with("X-Chain, container 4: its block has height 6, expected 5"), "{gap}");
    let twice = refusal(|s| s.change(Chain::X, |all| all.insert(4, all[3].clone()))).await;
    assert!(
        twice.starts_with("X-Chain, container 4: its block has height 4, after one"),
        "{twice}"
    );
    let late = refusal(|s| s.change(Chain::C, |all| drop(all.drain(..3)))).await;
    assert!(late.starts_with("C-Chain, container 0: its block has height 4, expected 1"), "{late}");
    let parent = refusal(|s| s.alter(Chain::P, 3, |container| container.bytes[7] ^= 1)).await;
    assert!(parent.starts_with("P-Chain, container 3: its parent "), "{parent}");
    // Behind the head of the outer block and of the inner one, in the ID of the inner parent.
    let inner = refusal(|s| s.alter(Chain::X, 3, |container| container.bytes[75] ^= 1)).await;
    assert!(inner.starts_with("X-Chain, container 3: the parent of its block, "), "{inner}");
    let id = refusal(|s| s.change(Chain::X, |all| all[2].id = all[1].id.clone())).await;
    assert!(id.starts_with("X-Chain, container 2: its ID is "), "{id}");
    let bytes = refusal(|s| s.alter(Chain::C, 2, |c| c.bytes.truncate(99))).await;
    assert!(bytes.starts_with("C-Chain, container 2: not a block of the proposer VM"), "{bytes}");
    let bare = refusal(|s| s.alter(Chain::X, 0, |c| c.bytes = c.outer().inner.to_vec())).await;
    assert!(
        bare.starts_with("X-Chain, container 0: a block of the X-Chain that is not wrapped"),
        "{bare}"
    );
    // An outer block from Granite on, in each index.
    for chain in Chain::ALL {
        let later = refusal(|s| s.alter(chain, 0, |container| container.bytes[5] = 2)).await;
        let text =
            format!("{chain}, container 0: a block of the proposer VM from Granite on (type 2)");
        assert!(later.starts_with(&text), "{later}");
    }
    // An X block in the index of C.
    let other = refusal(|s| {
        let x = Recording::load("follow-1").of(Chain::X).remove(0);
        s.change(Chain::C, |all| all[0] = x);
    });
    let other = other.await;
    assert!(other.starts_with("C-Chain, container 0: its block can't be read"), "{other}");
}

/// Blocks that were fetched before a bad container are executed, and so are those of the other chains.
#[tokio::test(flavor = "multi_thread")]
async fn blocks_before_a_refused_container_are_accepted() {
    let (_folder, stand_in, mut follower) = first_run().await;
    stand_in.show_all();
    stand_in.alter(Chain::X, 4, |container| container.bytes[75] ^= 1);
    let error = follower.follow().await.unwrap_err().to_string();
    assert!(error.starts_with("X-Chain, container 4: "), "{error}");
    assert_eq!(follower.ledger.height("X"), 4);
    let of_others = ["P", "C"].map(|alias| follower.ledger.height(alias));
    assert!(of_others.iter().all(|height| *height > 0), "{of_others:?}");
    // It stays refused.
    let again = follower.follow().await.unwrap_err().to_string();
    assert_eq!(again, error);
}

/// A request that fails takes nothing from what came before it.
#[tokio::test(flavor = "multi_thread")]
async fn blocks_before_a_chain_without_an_answer_are_accepted() {
    let (_folder, stand_in, mut follower) = first_run().await;
    stand_in.show(Chain::P, 1);
    stand_in.set_status(Chain::X, Some(503));
    let error = follower.follow().await.unwrap_err();
    assert!(error.is_temporary(), "{error}");
    assert_eq!(follower.ledger.height("P"), 1);
    stand_in.set_status(Chain::X, None);
    stand_in.show_all();
    assert_eq!(follower.follow().await.unwrap(), Waiting::default());
    follower.ledger.assert_is_end_of(&Recording::load("follow-1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_without_sense_are_refused() {
    for (text, reason) in [
        ("", "unexpected answer to index.getContainerRange: EOF"),
        ("<html>", "unexpected answer to index.getContainerRange: expected value"),
        (r#"{"jsonrpc":"2.0","result":{},"id":1}"#, "missing field `containers`"),
        (r#"{"jsonrpc":"2.0","id":1}"#, "neither result nor error"),
        (r#"{"jsonrpc":"2.0","result":{"containers":[]},"id":1}"#, "0 containers of "),
        (
            r#"{"jsonrpc":"2.0","result":{"containers":[{"id":"11111111111111111111111111111111LpoYY","bytes":"0x00","index":"0"}]},"id":1}"#,
            "container 0: input string is smaller than the checksum size",
        ),
        (
            r#"{"jsonrpc":"2.0","result":{"containers":[{"id":"11111111111111111111111111111111LpoYY","bytes":"","index":"7"}]},"id":1}"#,
            "index 7 instead of 0",
        ),
        (
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"start index (5) > last accepted index (3)"},"id":1}"#,
            "start index (5)",
        ),
        (r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"odd"},"id":1}"#, "answers to"),
    ] {
        let refused = refusal(|stand_in| stand_in.set_text(Chain::X, Some(text))).await;
        assert!(refused.contains(reason), "{text}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_refuses_the_name_says_which_setting_allows_it() {
    let refused = refusal(|stand_in| stand_in.set_status(Chain::X, Some(403))).await;
    assert!(refused.contains("--http-allowed-hosts"), "{refused}");
    let refused = refusal(|stand_in| stand_in.set_status(Chain::X, Some(500))).await;
    assert!(refused.contains("answers to index.getContainerRange: 500"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_network_or_chain_is_refused_at_the_start() {
    let (_folder, stand_in, follower) = first_run().await;
    stand_in.set_network_id("1");
    let error = connect(&follower.ledger, &stand_in).await.unwrap_err();
    assert_eq!(error, SourceError::Network { found: 1, expected: 12345 });
    stand_in.set_network_id("12345");
    stand_in.set_blockchain_id(Chain::C, "11111111111111111111111111111111LpoYY");
    let error = connect(&follower.ledger, &stand_in).await.unwrap_err();
    assert!(matches!(error, SourceError::ChainId { chain: Chain::C, .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_finds_its_place_or_says_why_not() {
    let (_folder, stand_in, mut follower) = first_run().await;
    stand_in.show(Chain::C, 3);
    follower.follow().await.unwrap();
    assert_eq!(follower.ledger.height("C"), 3);
    // The node has fewer blocks: it was set up again, and bootstraps.
    stand_in.show(Chain::C, 2);
    let error = connect(&follower.ledger, &stand_in).await.unwrap_err();
    assert_eq!(error, SourceError::Behind { chain: Chain::C, total: 2, height: 3 });
    assert!(error.is_temporary());
    let waiting = follower.follow().await.unwrap();
    assert_eq!(waiting.behind, Some((Chain::C, 2)));
    // Another block at this node's height.
    stand_in.show_all();
    stand_in.change(Chain::C, |all| all.swap(1, 2));
    let error = connect(&follower.ledger, &stand_in).await.unwrap_err();
    let SourceError::Feed(error) = error else { panic!("{error}") };
    assert_eq!((error.chain, error.index), (Chain::C, 2));
    assert_eq!(error.fault, FeedFault::Differs { height: 3 });
    stand_in.change(Chain::C, |all| all.swap(1, 2));
    follower.source = connect(&follower.ledger, &stand_in).await.unwrap();
    follower.follow().await.unwrap();
    follower.ledger.assert_is_end_of(&Recording::load("follow-1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_ask_for_less_where_answers_are_too_long() {
    let (_folder, stand_in, mut follower) = first_run().await;
    stand_in.show(Chain::C, 5);
    stand_in.set_padding(MAX_ANSWER_LEN / 5);
    follower.follow().await.unwrap();
    let requests = stand_in.requests();
    let asked: Vec<&str> = requests
        .iter()
        .filter(|(path, _)| path == "/ext/index/C/block")
        .map(|(_, request)| request["params"]["numToFetch"].as_str().unwrap())
        .collect();
    assert_eq!(&asked[..4], ["32", "16", "8", "4"], "{asked:?}");
    assert_eq!(follower.ledger.height("C"), 5);
    stand_in.set_padding(MAX_ANSWER_LEN);
    let mut client = IndexClient::new(stand_in.url().parse().unwrap(), Dialer::plain());
    let error = client.containers(Chain::C, 0, 1).await.unwrap_err();
    assert_eq!(error, ClientError::TooLong { max: MAX_ANSWER_LEN });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_an_answer_ends() {
    let (_folder, stand_in, _follower) = first_run().await;
    stand_in.set_delay(Duration::from_secs(3600));
    let url = stand_in.url().parse().unwrap();
    let mut client =
        IndexClient::new(url, Dialer::plain()).with_timeout(Duration::from_millis(100));
    let error = client.network_id().await.unwrap_err();
    assert_eq!(error, ClientError::Timeout { ms: 100 });
    assert!(error.is_temporary());
    stand_in.set_delay(Duration::ZERO);
    let mut client = client.with_timeout(Duration::from_secs(60));
    assert_eq!(client.network_id().await, Ok(12345));
}
