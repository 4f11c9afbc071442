//! Fixtures of `esker dev`.

use std::path::{Path, PathBuf};

use esker_e2e::disk::SmallDisk;
use esker_e2e::funds::key;
use esker_e2e::{Node, NodeBuilder, until};
use serde_json::{Value, json};

use crate::controls::{height, result as evm};
use crate::followers::support::wait_for;
use crate::support::{accept, esker, local, wallet};

const X: &str = "/ext/bc/X";

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/fixture.json")
}

pub(crate) fn start(fixture: &Path, folder: &Path) -> Node {
    dev(Some(fixture), folder).start().unwrap()
}

/// A node of the development network on a folder, perhaps with a fixture.
pub(crate) fn dev(fixture: Option<&Path>, folder: &Path) -> NodeBuilder {
    let node = local().dev().data_dir(folder);
    match fixture {
        Some(fixture) => node.arg("--fixture").arg(fixture),
        None => node,
    }
}

/// The error of a start that is refused with this exit code.
fn refused(fixture: &Path, folder: &Path, code: i32) -> String {
    let Err(error) = dev(Some(fixture), folder).start() else {
        panic!("the start was not refused")
    };
    let error = error.to_string();
    assert!(error.contains(&format!("exit status: {code}")), "{error}");
    error
}

pub(crate) fn x(node: &Node, method: &str, params: Value) -> Value {
    node.rpc().call(X, method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
}

/// IDs of the blocks of both chains.
pub(crate) fn blocks(node: &Node) -> (Vec<Value>, Vec<Value>) {
    let mut chain = node.x();
    let of_x = (0..=chain.get_height().unwrap())
        .map(|height| json!(chain.get_block_by_height(height).unwrap().id()))
        .collect();
    let of_c = (0..=height(node))
        .map(|number| {
            let number = json!([format!("{number:#x}"), false]);
            evm(node, "eth_getBlockByNumber", number)["hash"].clone()
        })
        .collect();
    (of_x, of_c)
}

#[test]
fn the_example_has_what_it_says_and_the_same_blocks_at_every_start() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let node = start(&example(), folders[0].path());
    let accounts = evm(&node, "eth_accounts", json!([]));
    assert_eq!(accounts.as_array().unwrap().len(), 4);
    let second = "X-local1cjzphr67dug28rw9ueewrqllmxlqe5f0unaxss";
    let held = x(&node, "xvm.getUTXOs", json!({"addresses": [second]}));
    // Its balance, the locked coins, its part of the asset's second holder, and two rights to mint.
    assert_eq!(held["numFetched"], "5", "{held}");
    let balance = x(&node, "xvm.getBalance", json!({"address": second, "assetID": "NAT"}));
    assert_eq!(balance["balance"], "5000000000000", "without what is locked");
    let exported = x(&node, "xvm.getUTXOs", json!({"addresses": [second], "sourceChain": "P"}));
    assert_eq!(exported["numFetched"], "1", "{exported}");
    let to_c = "C-local15428vq2uzwhm3taey9sr9x5vm6tk78ew499s5v";
    let waiting: Value = node
        .rpc()
        .call("/ext/bc/C/nat", "nat.getUTXOs", json!({"addresses": [to_c], "sourceChain": "X"}))
        .unwrap();
    assert_eq!(waiting["numFetched"], "2", "{waiting}");
    let third = "X-local1sj3m3zudqkw4plsvm7p08h9q89lsy4wput6fxp";
    let from_c = x(&node, "xvm.getUTXOs", json!({"addresses": [third], "sourceChain": "C"}));
    assert_eq!(from_c["numFetched"], "1", "{from_c}");
    // The first contract of account 0 of every development tool.
    let contract = "0x5fbdb2315678afecb367f032d93f642f64180aa3";
    assert_eq!(evm(&node, "eth_getCode", json!([contract, "latest"])), "0x00");
    let slot = evm(&node, "eth_getStorageAt", json!([contract, "0x0", "latest"]));
    assert_eq!(slot, format!("0x{:064x}", 42));

    let first = blocks(&node);
    assert!(first.0.len() > 8 && first.1.len() == 3, "{first:?}");
    let other = start(&example(), folders[1].path());
    assert_eq!(blocks(&other), first);
    // The clock goes on from the fixture's time.
    let own = wallet(&other, "X", esker_e2e::funds::funded());
    let output = esker_client::Wallet::output(own.params().fee_asset_id, 1, key(5).address());
    accept(&mut other.x(), &own.base_tx(vec![output], b"").unwrap());
    let height = other.x().get_height().unwrap();
    let time = other.x().get_block_by_height(height).unwrap().time_s();
    assert!((1_760_000_000..1_760_001_000).contains(&time), "{time}");

    // It is applied once, and holds as other blocks do.
    node.kill().unwrap();
    let node = start(&example(), folders[0].path());
    assert_eq!(blocks(&node), first);
    assert!(node.stop().unwrap().success());
    let paths = [&example(), Path::new("--data-dir"), folders[0].path()];
    let (code, output) = esker(&["db", "verify", "--dev", "--fixture"], &paths);
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn a_folder_keeps_its_fixture() {
    let (folder, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (one, two) = (files.path().join("one.json"), files.path().join("two.json"));
    std::fs::write(&one, r#"{"utxos": [{"amount": 5, "addresses": [0]}]}"#).unwrap();
    std::fs::write(&two, r#"{"utxos": [{"amount": 6, "addresses": [0]}]}"#).unwrap();
    assert!(start(&one, folder.path()).stop().unwrap().success());
    let output = refused(&two, folder.path(), 2);
    assert!(output.contains("the data folder was made with fixture "), "{output}");
    // Without one it goes on.
    assert!(dev(None, folder.path()).start().unwrap().stop().unwrap().success());
    assert!(start(&one, folder.path()).stop().unwrap().success());
    let plain = tempfile::tempdir().unwrap();
    assert!(dev(None, plain.path()).start().unwrap().stop().unwrap().success());
    let output = refused(&one, plain.path(), 2);
    assert!(
        output.contains("the data folder was made with no fixture, this start has"),
        "{output}"
    );
}

#[test]
fn a_fixture_that_cannot_be_names_the_member_and_changes_nothing() {
    let (folder, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (file, wrong) = (files.path().join("fixture.json"), files.path().join("wrong.json"));
    let data = folder.path().join("data");
    for (fixture, expected) in [
        (
            json!({"assets": [{"name": "A", "symbol": "A", "holders": [{"amont": 1, "addresses": [0]}]}]}),
            "assets[0].holders[0].amont: unknown field",
        ),
        (json!({"asset": []}), "asset: unknown field"),
        (
            json!({"utxos": [{"amount": 5, "addresses": [10]}]}),
            "utxos[0].addresses[0]: there is no account 10: the network has 10",
        ),
        (
            json!({"utxos": [{"amount": 400_000_000_000_000_000_u64, "addresses": [0]}]}),
            "utxos[0]: the fixture spends 400000000001000000 native units",
        ),
        (
            json!({"exports": [{"from": "X", "to": "Q", "amount": 5, "addresses": [0]}]}),
            "exports[0].to: there is no chain \"Q\"",
        ),
        (json!({"contracts": [{"artifact": "missing.json"}]}), "missing.json"),
        (
            json!({"contracts": [{"bytecode": "0x00", "arguments": [1]}]}),
            "contracts[0].arguments: the constructor takes 0, found 1",
        ),
        (
            json!({"exports": [{"from": "C", "to": "X", "asset": "A", "amount": 5, "addresses": [0]}]}),
            "exports[0].asset: C exports the native asset only: no other one can leave it since Banff",
        ),
        (
            json!({"exports": [{"from": "C", "to": "X", "amount": 10_000_000_000_000_u64, "addresses": [0]}]}),
            "exports[0].amount: account 0 spends 10000000011230 native units on C up to here, fees of exports included; \
             it has 10000000000000 (in billionths)",
        ),
        (
            json!({"exports": [["C", "X", null, 5, null, [0]]]}),
            "exports[0]: invalid type: sequence, expected an object",
        ),
        (json!({"accounts": {"count": 0}}), "expected a whole number from 1 to 1000"),
        (json!([]), "the fixture: expected an object"),
    ] {
        std::fs::write(&file, fixture.to_string()).unwrap();
        let output = refused(&file, &data, 2);
        assert!(output.contains(expected), "{fixture}: {output}");
        assert!(!data.join("db").exists(), "{fixture}: {output}");
    }
    // These errors show only in a block. Nothing of the fixture stays.
    let fixture = json!({
        "utxos": [{"amount": 5, "addresses": [0]}],
        "contracts": [{"bytecode": "0x60006000fd"}],
    });
    std::fs::write(&file, fixture.to_string()).unwrap();
    let output = refused(&file, &data, 1);
    assert!(output.contains("contracts[0]: the constructor failed"), "{output}");
    // An export from C takes all that its account has, of which the gas of a contract is gone.
    let fixture = json!({
        "exports": [
            {"from": "C", "to": "X", "amount": 9_999_999_988_770_u64, "addresses": [0], "account": 1},
            {"from": "C", "to": "X", "amount": 9_999_999_988_770_u64, "addresses": [0]},
        ],
        "contracts": [{"bytecode": "0x00"}],
    });
    std::fs::write(&file, fixture.to_string()).unwrap();
    let output = refused(&file, &data, 1);
    let expected = "the fixture can't be applied: exports[1]: insufficient funds";
    assert!(output.contains(expected), "{output}");
    // Corrected, it can be applied to the same folder.
    std::fs::write(&file, json!({"utxos": [{"amount": 7, "addresses": [0]}]}).to_string()).unwrap();
    let free = folder.path().join("free");
    std::fs::write(&wrong, fixture.to_string()).unwrap();
    refused(&wrong, &free, 1);
    let node = start(&file, &data);
    let first = "X-local15428vq2uzwhm3taey9sr9x5vm6tk78ew499s5v";
    let balance = x(&node, "xvm.getBalance", json!({"address": first, "assetID": "NAT"}));
    assert_eq!(balance["balance"], "10000000000007");
    // Or the folder is used without a fixture, and then has none.
    assert!(dev(None, &free).start().unwrap().stop().unwrap().success());
    let output = refused(&file, &free, 2);
    assert!(output.contains("the data folder was made with no fixture"), "{output}");
}

/// The disk is full while a fixture is applied: the start says so and ends, and the next one goes on.
#[test]
fn a_full_disk_ends_a_start_that_applies_a_fixture() {
    let Some(disk) = SmallDisk::mount(48 << 20).unwrap() else { return };
    let files = tempfile::tempdir().unwrap();
    let file = files.path().join("fixture.json");
    let exports: Vec<_> = (0..1500)
        .map(|n| json!({"from": "X", "to": "C", "amount": n + 1, "addresses": [n % 10]}))
        .collect();
    std::fs::write(&file, json!({"timestamp": 1_760_000_000, "exports": exports}).to_string())
        .unwrap();
    let (data, logs) = (disk.path().join("data"), files.path().join("logs"));
    let on_disk = || dev(Some(&file), &data).arg("--log-dir").arg(&logs);
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            until("some transactions of the fixture are accepted", || {
                (accepted(&logs, "X") >= 50).then_some(())
            });
            disk.fill().unwrap();
        });
        on_disk().start().unwrap_err().to_string()
    });
    assert!(error.contains("the fixture can't be applied: exports["), "{error}");
    assert!(error.contains("insufficient disk space"), "{error}");
    disk.free().unwrap();
    let whole = blocks(&start(&file, &files.path().join("other")));
    let node = on_disk().start().unwrap();
    assert_eq!(blocks(&node), whole);
    assert!(node.stop().unwrap().success());
}

#[test]
fn followers_take_the_blocks_of_a_fixture() {
    let folder = tempfile::tempdir().unwrap();
    let data = |name: &str| folder.path().join(name);
    let source = dev(Some(&example()), &data("source"));
    let error = source.arg("--api-sync-enabled").start().unwrap_err().to_string();
    assert!(error.contains("start once without api-sync-enabled"), "{error}");
    assert!(start(&example(), &data("source")).stop().unwrap().success());
    let source = dev(Some(&example()), &data("source")).arg("--api-sync-enabled").start().unwrap();
    let known = blocks(&source);
    let error = dev(Some(&example()), &data("own")).arg("--follow").arg(source.url()).start();
    assert!(error.unwrap_err().to_string().contains("esker dev makes its own blocks"));
    let follower = || {
        let node = local().network("dev").data_dir(data("follower"));
        let node = node.arg("--fixture").arg(example()).arg("--follow").arg(source.url());
        let node = node.start().unwrap();
        wait_for(&node, &source);
        assert_eq!(blocks(&node), known);
        node
    };
    follower().kill().unwrap();
    assert!(follower().stop().unwrap().success());
}

/// How many exports the log of a chain tells of.
pub(crate) fn accepted(logs: &Path, chain: &str) -> usize {
    let text = std::fs::read_to_string(logs.join(format!("{chain}.log"))).unwrap_or_default();
    text.matches("atomic transaction accepted").count()
}

/// A start is killed again and again while it applies a fixture; the next one goes on where it was.
#[test]
fn an_interrupted_start_is_completed_with_the_same_blocks() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let file = folders[0].path().join("fixture.json");
    let data = folders[0].path().join("data");
    let exports: Vec<_> = (0..150)
        .map(|n| json!({"from": "X", "to": "C", "amount": n + 1, "addresses": [n % 10]}))
        .collect();
    let fixture = json!({
        "timestamp": 1_760_000_000,
        "exports": exports,
        "contracts": [{"bytecode": "0x6001600055"}, {"bytecode": "0x6001600055"}],
    });
    std::fs::write(&file, fixture.to_string()).unwrap();
    let whole = blocks(&start(&file, folders[1].path()));
    assert_eq!((whole.0.len(), whole.1.len()), (152, 3));
    let accepted = || accepted(&data.join("logs"), "X");
    let mut killed_at = Vec::new();
    for at in [1, 30, 70, 110] {
        let starting = dev(Some(&file), &data).spawn().unwrap();
        until("so many transactions of the fixture are accepted", || {
            (accepted() >= at).then_some(())
        });
        starting.kill().unwrap();
        killed_at.push(accepted());
        // Such a folder is not used without its fixture. The last lines of the log may be lost: it tells enough of the first
        // start only, which had most of the fixture before it.
        if matches!(killed_at[..], [first] if first < 100) {
            let error = dev(None, &data).arg("--timestamp").arg("1760000000").start().unwrap_err();
            assert!(error.to_string().contains("the data folder has a part of fixture"), "{error}");
        }
    }
    let node = start(&file, &data);
    assert_eq!(blocks(&node), whole, "killed at {killed_at:?}");
    // The clock is not behind the last block, 152 s after the fixture's time.
    let time = x(&node, "dev.getTime", json!({}))["timestamp"].as_str().unwrap().to_owned();
    let last = evm(&node, "eth_getBlockByNumber", json!(["latest", false]))["timestamp"].clone();
    let last = u64::from_str_radix(last.as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
    assert!(last > 1_760_000_150 && time.parse::<u64>().unwrap() >= last, "{time}, {last}");
}
