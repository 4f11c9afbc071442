//! The public client libraries of `clients.rs` against `esker evm`, a chain with Ethereum's rules, and what only that has.

use crate::clients::TestedChain::Evm;
use crate::clients::{has_hardhat_3, run_ape, run_on, run_sample, run_web3py};

#[test]
fn ethers_6() {
    run_on("ethers6.mjs", Evm);
}

#[test]
fn ethers_6_over_a_websocket() {
    run_on("ethers6-ws.mjs", Evm);
}

#[test]
fn viem_2() {
    run_on("viem2.mjs", Evm);
}

#[test]
fn viem_2_over_a_websocket() {
    run_on("viem2-ws.mjs", Evm);
}

#[test]
fn test_client_of_viem_2() {
    run_on("viem2-test.mjs", Evm);
}

#[test]
fn hardhat_network_helpers() {
    run_on("network-helpers.mjs", Evm);
}

#[test]
fn traces_with_viem_2_and_ethers_6() {
    run_on("tracing.mjs", Evm);
}

#[test]
fn hardhat_ignition_of_both_versions() {
    run_on("ignition.mjs", Evm);
}

/// Of the tools of Foundry, programs of one machine each, those of this one are pinned.
#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no cast, no forge")]
fn cast_and_forge() {
    run_on("foundry.mjs", Evm);
}

#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no cast, no forge")]
fn replays_of_cast_and_forks_of_forge() {
    run_on("foundry-traces.mjs", Evm);
}

#[test]
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    ignore = "no anvil, no cast, no forge"
)]
fn controls_here_and_on_anvil() {
    run_on("controls.mjs", Evm);
}

#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no anvil")]
fn traces_are_those_of_anvil() {
    run_on("parity-traces.mjs", Evm);
}

#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no anvil")]
fn state_files_of_anvil() {
    run_on("state-files.mjs", Evm);
}

#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no anvil, no forge")]
fn projects_of_hardhat_and_foundry() {
    run_on("market.mjs", Evm);
}

#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no anvil")]
fn openzeppelin_contracts() {
    run_on("openzeppelin.mjs", Evm);
}

#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no anvil")]
fn sample_of_hardhat_2() {
    run_sample("hardhat2", Evm);
}

#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no anvil")]
fn sample_of_hardhat_3_with_ethers() {
    run_sample("hardhat3-ethers", Evm);
}

#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no anvil")]
fn sample_of_hardhat_3_with_viem() {
    run_sample("hardhat3-viem", Evm);
}

#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no anvil, no forge")]
fn sample_of_forge() {
    run_sample("forge", Evm);
}

#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no anvil")]
fn first_tests_with_ape() {
    run_ape(Evm);
}

/// EIP-7702 with viem, ethers, cast and forge; on anvil, too.
#[test]
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    ignore = "no anvil, no cast, no forge"
)]
fn set_code_transactions() {
    run_on("set-code.mjs", Evm);
}

/// EIP-4844 and EIP-7594 with cast, viem and ethers; on anvil, too.
#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no anvil, no cast")]
fn blob_transactions() {
    run_on("blobs.mjs", Evm);
}

/// What the newest compiler makes by default, with the compiler of Hardhat 3's folder; on anvil, too.
#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no anvil")]
fn what_osaka_has() {
    if has_hardhat_3() {
        run_on("osaka.mjs", Evm);
    }
}

#[test]
fn web3py_own_tests_over_http() {
    run_web3py("test_http.py", Evm);
}

#[test]
fn web3py_own_tests_over_websocket() {
    run_web3py("test_ws.py", Evm);
}

#[test]
fn web3py_8_over_a_websocket() {
    run_web3py("test_events.py", Evm);
}
