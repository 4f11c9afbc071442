//! A chain with proof of work until its terminal total difficulty.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Esker, run};

/// Difficulty of the first block, and the least one.
const LEAST: u64 = 131_072;

/// Reached by block 2, whatever the times of the blocks are.
const TERMINAL: u64 = 3 * LEAST - 1000;

/// Writes a genesis, whose hash does not depend on the terminal total difficulty.
fn genesis(folder: &Path, terminal: u64, is_passed: bool) -> String {
    let mut config = json!({"chainId": 9, "terminalTotalDifficulty": terminal});
    for fork in ["homestead", "eip150", "eip155", "eip158", "byzantium", "constantinople"] {
        config[format!("{fork}Block")] = json!(0);
    }
    for fork in ["petersburg", "istanbul", "berlin", "london"] {
        config[format!("{fork}Block")] = json!(0);
    }
    if is_passed {
        config["terminalTotalDifficultyPassed"] = json!(true);
    }
    let genesis = json!({
        "config": config, "timestamp": "0x65000000", "gasLimit": "0x1c9c380",
        "difficulty": format!("{LEAST:#x}"), "alloc": {},
    });
    let file = folder.join(format!("{terminal}-{is_passed}.json"));
    fs::write(&file, genesis.to_string()).unwrap();
    file.to_str().unwrap().to_owned()
}

fn mine(node: &Esker, blocks: u64) {
    for _ in 0..blocks {
        node.evm("evm_mine", json!([]));
    }
}

/// Whether each block up to the last one has proof of work.
fn work(node: &Esker) -> Vec<bool> {
    let last = node.evm("eth_blockNumber", json!([]));
    let last = u64::from_str_radix(&last.as_str().unwrap()[2..], 16).unwrap();
    let difficulty = |number: u64| -> Value {
        let block = node.evm("eth_getBlockByNumber", json!([format!("{number:#x}"), false]));
        block["difficulty"].clone()
    };
    (0..=last).map(|number| difficulty(number) != "0x0").collect()
}

/// The bytes of a block, without what only development networks have in them.
fn raw(node: &Esker, number: u64) -> Vec<u8> {
    let block = node.evm("debug_getRawBlock", json!([format!("{number:#x}")]));
    let digits = &block.as_str().unwrap().as_bytes()[2..];
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

#[test]
fn blocks_lose_their_difficulty_at_the_terminal_one() {
    let dir = tempfile::tempdir().unwrap();
    let file = genesis(dir.path(), TERMINAL, false);
    let data = dir.path().join("data");
    let data = data.to_str().unwrap();
    let node = Esker::start_alone(&["--genesis", &file, "--data-dir", data]);
    mine(&node, 1);
    let early = node.evm("evm_snapshot", json!([]));
    mine(&node, 3);
    let expected = [true, true, true, false, false];
    assert_eq!(work(&node), expected);
    // Back over the merge, and forth again.
    assert_eq!(node.evm("evm_revert", json!([early])), true);
    assert_eq!(work(&node), expected[..2]);
    mine(&node, 2);
    assert_eq!(work(&node), expected[..4]);
    assert!(node.stop("TERM").0.success());
    let node = Esker::start_alone(&["--genesis", &file, "--data-dir", data]);
    mine(&node, 1);
    assert_eq!(work(&node), expected);
    assert!(node.stop("TERM").0.success());
    let ended = run(&["db", "verify", "--evm", "--data-dir", data, "--genesis", &file]);
    assert_eq!(ended.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.ends_with("nothing is wrong\n"), "{}", ended.stdout);
}

#[test]
fn a_block_on_the_wrong_side_of_the_merge_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = genesis(dir.path(), TERMINAL, false);
    let node = Esker::start_alone(&["--genesis", &file]);
    mine(&node, 4);
    let chain = dir.path().join("chain.rlp");
    fs::write(&chain, (1..=4).flat_map(|number| raw(&node, number)).collect::<Vec<_>>()).unwrap();
    drop(node);
    let chain = chain.to_str().unwrap();
    let import = ["--no-build", "--import", chain, "--genesis"];
    for (terminal, is_passed) in [(TERMINAL, false), (500_000, true)] {
        let file = genesis(dir.path(), terminal, is_passed);
        let node = Esker::start_alone(&[&import[..], &[file.as_str()]].concat());
        assert_eq!(work(&node), [true, true, true, false, false], "{terminal}");
    }
    let file = genesis(dir.path(), TERMINAL, false);
    let sync = ["--api-sync-enabled"];
    let source = Esker::start_alone(&[&import[..], &[file.as_str()], &sync].concat());
    let url = format!("http://{}", source.ready["http"].as_str().unwrap());
    let follow = ["--no-build", "--genesis", file.as_str(), "--follow", url.as_str()];
    let follower = Esker::start_alone(&follow);
    let begun = Instant::now();
    while work(&follower).len() < 5 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the blocks are not followed");
    }
    assert_eq!(work(&follower), [true, true, true, false, false]);
    for (terminal, block, text) in [
        (500_000, 3, "no proof of work after total difficulty 393"),
        (200_000, 2, "proof of work after total difficulty 262144, which reached the terminal 2"),
    ] {
        let file = genesis(dir.path(), terminal, false);
        let ended = run(&[&["evm", "--port", "0"][..], &import, &[file.as_str()]].concat());
        assert_eq!(ended.code(), Some(3), "{}", ended.stderr);
        let text = format!("invalid terminal block: {text}");
        assert!(ended.stderr.contains(&text), "{text}: {}", ended.stderr);
        assert!(ended.stderr.contains(&format!("block {block} at byte ")), "{}", ended.stderr);
    }
}
