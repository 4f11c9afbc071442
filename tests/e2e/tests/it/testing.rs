//! `esker-testing`: nodes for tests of users.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use esker_client::{CallError, EvmTx, Wallet};
use esker_e2e::{Node, funds, until};
use esker_primitives::address;
use esker_testing::primitives::{Address, B256, U256};
use esker_testing::{DevNode, DevNodeBuilder, Error};

use crate::support::{PROGRAM, local};

const UNIT: u64 = 1_000_000_000;
const OTHER: Address = Address::repeat_byte(0xa1);

fn dev() -> DevNodeBuilder {
    DevNode::builder().binary(PROGRAM)
}

fn wei(units: u64) -> U256 {
    U256::from(units) * U256::from(UNIT)
}

/// 5 wei from the first account to [`OTHER`].
fn payment(node: &DevNode) -> EvmTx {
    let from = node.accounts()[0].c_address();
    EvmTx { from, to: Some(OTHER), value: U256::from(5), ..EvmTx::default() }
}

fn x_balance(node: &DevNode, address: &str) -> u64 {
    node.x().get_balance(address, "NAT").unwrap().balance
}

fn is_running(pid: u32) -> bool {
    let mut kill = Command::new("kill");
    kill.args(["-0", &pid.to_string()]).stderr(Stdio::null()).status().unwrap().success()
}

#[test]
fn accounts_and_funds_on_both_chains() {
    let node = dev().accounts(3).balance(7).timestamp(2_000_000_000).start().unwrap();
    assert_eq!(node.accounts().len(), 3);
    for account in node.accounts() {
        assert_eq!(node.c().balance(account.c_address()).unwrap(), wei(7 * UNIT));
        assert_eq!(x_balance(&node, account.x_address()), 7 * UNIT);
        assert_eq!(account.key().to_text(), account.x_private_key());
    }
    let first = &node.accounts()[0];
    let key = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
    assert_eq!(first.private_key(), key);
    assert!((2_000_000_000..2_000_001_000).contains(&node.dev().time().unwrap()));

    node.fund(&OTHER.to_string(), 3).unwrap();
    node.fund(&OTHER.to_string(), 4).unwrap();
    assert_eq!(node.c().balance(OTHER).unwrap(), wei(7));
    let new = node.wallet(funds::key(9)).unwrap();
    node.fund(&new.address(), 5 * UNIT).unwrap();
    node.fund(&new.address(), UNIT).unwrap();
    assert_eq!(x_balance(&node, &new.address()), 6 * UNIT);
    // Its holder can spend it.
    let own = node.wallet(funds::key(9)).unwrap();
    let to = first.key().address();
    let output = Wallet::output(own.params().fee_asset_id, UNIT, to);
    let id = node.x().issue_tx(&own.base_tx(vec![output], b"").unwrap()).unwrap();
    let accepted = || Ok(node.x().get_tx_status(&id).unwrap().is_accepted().then_some(()));
    node.wait_for("it is accepted", accepted).unwrap();
    assert_eq!(x_balance(&node, first.x_address()), 8 * UNIT);

    let elsewhere = ["avax", "custom"].map(|hrp| address::format("X", hrp, &to));
    for address in ["", "0x12", "X-local1", "C-local15428vq2uzwhm3taey9sr9x5vm6tk78ew499s5v"]
        .into_iter()
        .chain(elsewhere.iter().map(String::as_str))
    {
        let error = node.fund(address, 1).unwrap_err();
        assert!(matches!(error, Error::Address(_)), "{address}: {error}");
    }
    let error = node.fund(&new.address(), u64::MAX - UNIT).unwrap_err();
    assert!(error.to_string().contains("want to spend"), "{error}");
    node.stop().unwrap();
}

#[test]
fn calls_and_urls_of_the_c_chain() {
    let node = dev().start().unwrap();
    let hash = node.c().send(&payment(&node)).unwrap();
    let receipt = node.wait_receipt(hash).unwrap();
    assert!(receipt.is_success && receipt.logs.is_empty() && receipt.contract.is_none());
    assert_eq!((receipt.tx_hash, receipt.gas_used), (hash, 21_000));
    assert_eq!(node.c().balance(OTHER).unwrap(), U256::from(5));
    assert_eq!(node.c().next_nonce(payment(&node).from).unwrap(), 1);
    assert_eq!((node.c().chain_id().unwrap(), node.c().block_number().unwrap()), (43112, 1));
    assert_eq!(node.c().receipt(B256::ZERO).unwrap(), None);
    assert!(node.evm_url().starts_with("http://127.0.0.1:") && node.evm_url() != node.url());
    // Writes an empty log of no topic and returns nothing.
    let creation =
        EvmTx { to: None, value: U256::ZERO, data: vec![0x5f, 0x5f, 0xa0], ..payment(&node) };
    let hash = node.c().send(&creation).unwrap();
    let receipt = node.wait_receipt(hash).unwrap();
    let contract = receipt.contract.unwrap();
    assert_eq!((receipt.logs.len(), receipt.logs[0].address), (1, contract));
    assert_eq!(node.c().code(contract).unwrap(), [0_u8; 0]);
    // REVERT of nothing.
    let reverting = EvmTx { to: None, data: vec![0x5f, 0x5f, 0xfd], ..creation };
    let refused = node.c().simulate(&reverting).unwrap_err();
    assert_eq!(refused.rpc_message(), Some("execution reverted"));
    let mut socket = esker_e2e::Socket::open(node.address(), "/ext/bc/C/ws").unwrap();
    socket.send(r#"{"jsonrpc":"2.0","id":1,"method":"evm_chainId"}"#).unwrap();
    assert!(socket.read().unwrap().contains("0xa868"));
}

#[test]
fn typed_controls() {
    let node = dev().start().unwrap();
    let (mut dev, mut c) = (node.dev(), node.c());
    // So that the node keeps what a reset restores.
    dev.snapshot().unwrap();
    dev.mine(3, 60).unwrap();
    assert_eq!(c.block_number().unwrap(), 3);
    let now = dev.time().unwrap();
    let later = dev.increase_time(1_000).unwrap();
    assert!((now + 1_000..now + 1_060).contains(&later), "{now} {later}");
    assert_eq!(dev.set_time(4_000_000_000).unwrap(), 4_000_000_000);
    assert!(dev.set_time(5).unwrap_err().rpc_message().unwrap().contains("is lower than"));
    dev.set_next_block_time(4_000_001_000).unwrap();
    dev.set_balance(OTHER, U256::from(7)).unwrap();
    dev.add_balance(OTHER, U256::MAX - U256::from(7)).unwrap();
    assert_eq!(c.balance(OTHER).unwrap(), U256::MAX);
    assert!(dev.add_balance(OTHER, U256::from(1)).is_err());
    dev.set_balance(OTHER, wei(UNIT)).unwrap();
    dev.set_nonce(OTHER, 9).unwrap();
    assert_eq!(c.next_nonce(OTHER).unwrap(), 9);
    let (contract, slot, value) = (Address::repeat_byte(0xc0), U256::from(2), B256::repeat_byte(3));
    // Returns the slot 2.
    let code = [0x60, 2, 0x54, 0x5f, 0x52, 0x60, 32, 0x5f, 0xf3];
    dev.set_code(contract, &code).unwrap();
    dev.set_storage(contract, slot, value).unwrap();
    assert_eq!(c.code(contract).unwrap(), code);
    assert_eq!(c.storage(contract, slot).unwrap(), value);
    let call = EvmTx { to: Some(contract), ..EvmTx::default() };
    assert_eq!(c.simulate(&call).unwrap(), value.as_slice());

    let stolen = EvmTx { from: OTHER, to: Some(contract), ..EvmTx::default() };
    assert_eq!(c.send(&stolen).unwrap_err().rpc_message(), Some("unknown account"));
    dev.impersonate(OTHER).unwrap();
    dev.set_automine(false).unwrap();
    let hash = c.send(&stolen).unwrap();
    assert_eq!(c.receipt(hash).unwrap(), None);
    dev.set_automine(true).unwrap();
    assert!(node.wait_receipt(hash).unwrap().is_success);
    dev.stop_impersonating(OTHER).unwrap();
    assert!(c.send(&stolen).is_err());

    let signature = [27; 65];
    dev.impersonate_signature(&signature, OTHER).unwrap();
    let input = [[0; 63].as_slice(), &[27], &signature[..64]].concat();
    let to = Some(Address::with_last_byte(1));
    let recovered = c.simulate(&EvmTx { to, data: input, ..EvmTx::default() }).unwrap();
    assert_eq!(recovered, OTHER.into_word().as_slice());
    let chain_id = c.chain_id().unwrap();
    dev.set_chain_id(chain_id + 1).unwrap();
    assert_eq!(c.chain_id().unwrap(), chain_id + 1);
    dev.reset().unwrap();
    assert_eq!(c.block_number().unwrap(), 0);

    // Another node has no controls.
    let node = local().start().unwrap();
    let refused = esker_client::DevClient::new(node.address()).snapshot().unwrap_err();
    assert!(matches!(refused, CallError::Rpc { .. }), "{refused}");
}

#[test]
fn each_test_leaves_the_node_as_it_was() {
    let node = dev().start().unwrap();
    let new = node.wallet(funds::key(9)).unwrap().address();
    let is_clean = || {
        let c = node.c().balance(OTHER).unwrap();
        c.is_zero() && x_balance(&node, &new) == 0 && node.c().block_number().unwrap() == 0
    };
    let change = |node: &DevNode| {
        node.fund(&OTHER.to_string(), 1).unwrap();
        node.fund(&new, 1).unwrap();
        assert!(!is_clean());
    };
    assert_eq!(
        node.isolated(|node| {
            change(node);
            7
        })
        .unwrap(),
        7
    );
    assert!(is_clean());
    {
        let _back = node.snapshot().unwrap();
        change(&node);
        node.isolated(change).unwrap();
        assert!(!is_clean());
    }
    assert!(is_clean());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _back = node.snapshot().unwrap();
        change(&node);
        panic!("of the test");
    }));
    assert!(panicked.is_err() && is_clean());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        node.isolated(|node| {
            change(node);
            panic!("of the test");
        })
    }));
    assert!(panicked.is_err() && is_clean());

    node.snapshot().unwrap().keep();
    let gone = node.snapshot().unwrap();
    node.dev().reset().unwrap();
    let error = gone.revert().unwrap_err();
    assert!(matches!(error, Error::SnapshotGone(_)), "{error}");
    assert!(error.to_string().ends_with("or the node was reset"), "{error}");
    let unnoticed = catch_unwind(AssertUnwindSafe(|| {
        let _gone = node.snapshot().unwrap();
        node.dev().reset().unwrap();
    }));
    assert!(unnoticed.is_err(), "the next test would begin elsewhere");
    assert!(is_clean());
}

#[test]
fn tests_take_turns_on_a_shared_node() {
    let node = dev().start().unwrap();
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                let _back = node.snapshot().unwrap();
                node.dev().mine(1, 0).unwrap();
                assert_eq!(node.c().block_number().unwrap(), 1);
            });
        }
    });
    assert_eq!(node.c().block_number().unwrap(), 0);
}

#[test]
fn starts_that_fail_say_why() {
    let text = |builder: DevNodeBuilder| builder.start().err().unwrap().to_string();
    let missing = text(DevNode::builder().binary("no/such/esker"));
    assert!(missing.starts_with("starting no/such/esker: "), "{missing}");

    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for node in [dev().http_port(port), dev().evm_port(port)] {
        let error = text(node);
        assert!(error.starts_with("the node ended: exit status: 4\n"), "{error}");
        assert!(error.contains(&port.to_string()), "{error}");
    }

    let folder = tempfile::tempdir().unwrap();
    let fixture = folder.path().join("fixture.json");
    std::fs::write(&fixture, r#"{"assetz": []}"#).unwrap();
    let refused = text(dev().fixture(&fixture));
    assert!(refused.starts_with("the node ended: exit status: 2\n"), "{refused}");
    assert!(refused.contains("assetz: unknown field"), "{refused}");
    let unknown = text(dev().args(["--no-such-flag"]));
    assert!(
        unknown.contains("exit status: 2\n") && unknown.contains("--no-such-flag"),
        "{unknown}"
    );

    let late = dev().start_within(Duration::ZERO).start().err().unwrap();
    assert!(matches!(late, Error::Timeout { .. }), "{late}");
    assert!(
        late.to_string().starts_with("timed out after 0 s: waiting until the node is ready"),
        "{late}"
    );

    let file = folder.path().join("none/log");
    let closed = text(dev().log_file(&file));
    assert!(closed.starts_with(&file.display().to_string()), "{closed}");
}

#[test]
fn a_fixture_a_folder_and_a_log_outlive_the_node() {
    let folder = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/fixture.json");
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let with_fixture = || dev().fixture(&example).data_dir(&data).log_file(&log);
    let node = with_fixture().start().unwrap();
    let contract: Address = "0x5fbdb2315678afecb367f032d93f642f64180aa3".parse().unwrap();
    assert_eq!(node.c().storage(contract, U256::ZERO).unwrap(), B256::from(U256::from(42)));
    assert_eq!(node.c().block_number().unwrap(), 2);
    node.dev().mine(2, 0).unwrap();
    node.stop().unwrap();
    assert!(std::fs::read_to_string(&log).unwrap().contains("Accounts, "));
    let node = with_fixture().start().unwrap();
    assert_eq!(node.c().block_number().unwrap(), 4);
}

#[test]
fn errors_have_the_last_lines_of_a_node_that_is_gone() {
    let node = dev().start().unwrap();
    let pid = node.pid().to_string();
    until("the screen is complete", || node.output().contains("Listening on").then_some(()));
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    let gone = until("calls fail", || node.snapshot().err()).to_string();
    assert!(gone.starts_with("taking a snapshot: "), "{gone}");
    assert!(gone.contains("Try"), "{gone}");
    let ended = node.stop().unwrap_err().to_string();
    assert!(ended.starts_with("the node ended: signal: 9"), "{ended}");
}

#[test]
fn the_ready_file_has_the_accounts_of_development_networks() {
    let mode = |node: &Node| {
        let file = node.scratch().join("ready.json");
        std::fs::metadata(file).unwrap().permissions().mode() & 0o777
    };
    let public = local().dev().temporary().start().unwrap();
    assert_eq!(public.ready()["accounts"].as_array().unwrap().len(), 10);
    assert_ne!(mode(&public) & 0o400, 0);
    let phrase = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";
    let own = local().dev().temporary().args(&["--mnemonic", phrase]).start().unwrap();
    assert_eq!(own.ready()["mnemonic"], phrase);
    let first = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94";
    assert_eq!(own.ready()["accounts"][0]["cAddress"], first);
    assert_eq!(mode(&own), 0o600, "the keys are not public");
    let other = local().network("dev").start().unwrap();
    for member in ["accounts", "mnemonic"] {
        assert_eq!(other.ready().get(member), None, "not of `esker node`");
    }
}

#[test]
fn nodes_end_with_their_owner() {
    let node = dev().start().unwrap();
    let pid = node.pid();
    assert!(is_running(pid));
    drop(node);
    assert!(!is_running(pid));
    // One that does not react is killed.
    let node = dev().start().unwrap();
    let pid = node.pid();
    assert!(Command::new("kill").args(["-STOP", &pid.to_string()]).status().unwrap().success());
    drop(node);
    assert!(!is_running(pid));
}

/// Set for [`holds_a_node`] by the test that kills it.
const HOLD_VARIABLE: &str = "HOLD_A_NODE";
const HELD: &str = "held node: ";

/// The process that [`a_node_ends_with_a_process_that_is_killed`] kills; without the variable it does nothing.
#[test]
#[ignore = "a part of a_node_ends_with_a_process_that_is_killed"]
fn holds_a_node() {
    if std::env::var_os(HOLD_VARIABLE).is_none() {
        return;
    }
    let node = dev().start().unwrap();
    println!("{HELD}{}", node.pid());
    // Until the other test ends, if that does not kill this process.
    let _end = std::io::stdin().read_to_end(&mut Vec::new());
}

/// A process with a node of its own. Both are killed at the end of the test.
struct Holder {
    process: Child,
    node: Option<u32>,
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _killed = self.process.kill();
        let _reaped = self.process.wait();
        if let Some(pid) = self.node.filter(|pid| !has_ended(*pid)) {
            let _killed = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
    }
}

/// Whether a process has ended. Its parent may not have waited for it yet.
fn has_ended(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.map_or_else(|_| !is_running(pid), |stat| stat.contains(") Z "))
}

#[test]
fn a_node_ends_with_a_process_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "testing::holds_a_node", "--ignored", "--nocapture"]);
    command.env(HOLD_VARIABLE, "1").env("TMPDIR", folder.path());
    let process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut holder = Holder { process, node: None };
    let output = BufReader::new(holder.process.stdout.take().unwrap());
    let (sender, lines) = mpsc::channel();
    // It ends with the output.
    std::thread::spawn(move || {
        output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    let pid = until("the other process has a node", || {
        let line = lines.try_recv().ok()?;
        line.split_once(HELD).map(|(_, pid)| pid.parse().unwrap())
    });
    holder.node = Some(pid);
    assert!(!has_ended(pid));
    holder.process.kill().unwrap();
    until("the node has ended", || has_ended(pid).then_some(()));
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        0,
        "the node was stopped, not killed"
    );
}

#[test]
fn a_node_stops_when_its_input_ends() {
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready.json");
    let mut command = Command::new(PROGRAM);
    command.args(["dev", "--http-port", "0", "--evm-port", "0", "--stop-with-input"]);
    command.arg("--ready-file").arg(&ready).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut node = command.spawn().unwrap();
    until("the node is ready", || ready.exists().then_some(()));
    assert!(node.try_wait().unwrap().is_none());
    drop(node.stdin.take());
    let status = until("the node has ended", || node.try_wait().unwrap());
    assert!(status.success() && !ready.exists(), "{status}");
}
