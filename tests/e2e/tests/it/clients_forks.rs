//! Public client libraries on a fork of another node: scripts of `clients_ethereum.rs` that any chain without transactions passes.

use esker_e2e::{Node, NodeBuilder};

use crate::clients::TestedChain::Evm;
use crate::clients::run_and_keep;
use crate::support::local;

/// A fork of this node, with its accounts for development.
fn fork_of(source: &Node) -> NodeBuilder {
    local().evm().args(&["--fork-url", &source.url(), "--fork-cache", "off"])
}

/// Runs a script on a fork of a chain without transactions.
fn run_on_fork(script: &str) {
    let source = local().evm().start().unwrap();
    run_and_keep(script, fork_of(&source), Evm, &[]);
}

#[test]
fn ethers_6() {
    run_on_fork("ethers6.mjs");
}

#[test]
fn ethers_6_over_a_websocket() {
    run_on_fork("ethers6-ws.mjs");
}

#[test]
fn hardhat_network_helpers() {
    run_on_fork("network-helpers.mjs");
}

#[test]
fn set_code_transactions() {
    run_on_fork("set-code.mjs");
}

#[test]
fn blob_transactions() {
    run_on_fork("blobs.mjs");
}

#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no cast, no forge")]
fn cast_and_forge() {
    run_on_fork("foundry.mjs");
}

/// forge forks the fork.
#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no cast, no forge")]
fn replays_of_cast_and_forks_of_forge() {
    run_on_fork("foundry-traces.mjs");
}

/// The source has run the same steps before: the fork goes on with its nonces, and its contracts have neighbours.
#[test]
fn contracts_of_openzeppelin_on_a_chain_that_has_some() {
    let Some(source) = run_and_keep("openzeppelin.mjs", local().evm(), Evm, &[]) else { return };
    run_and_keep("openzeppelin.mjs", fork_of(&source), Evm, &[]);
}
