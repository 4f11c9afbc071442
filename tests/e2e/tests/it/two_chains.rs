//! Two asset-VM chains in one node, each with traffic, reached by ID and by alias; an asset moved between them, and
//! one imported from P. The second chain's genesis repeats the definition of the native asset, so that its ID is the
//! same on both: a chain takes only assets that it knows.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;

use esker_client::{Wallet, XvmClient};
use esker_e2e::files::tests_path;
use esker_e2e::funds::{funded, key};
use esker_e2e::{Node, until};
use esker_primitives::{AssetId, ChainId};
use esker_transactions::xvm::UnsignedTx;
use esker_utxo::Utxo;

use crate::support::{accept, assert_state_is_replay, esker, local, wallet};

/// Transactions on each chain at the same time.
const TRAFFIC: u64 = 25;

fn two_chains() -> Node {
    local().network(tests_path("networks/two-chains.json")).start().unwrap()
}

#[test]
fn both_chains_take_traffic_under_all_their_names() {
    let node = two_chains();
    let ids = ["X", "Y"].map(|alias| wallet(&node, alias, funded()).params().chain_id);
    assert_ne!(ids[0], ids[1]);
    // X by alias and Y by ID, at once.
    thread::scope(|scope| {
        for (alias, name) in [("X", "X".to_owned()), ("Y", ids[1].to_string())] {
            let node = &node;
            scope.spawn(move || traffic(&mut node.chain(&name), wallet(node, alias, funded())));
        }
    });
    for names in [
        ["X".to_owned(), "avm".to_owned(), ids[0].to_string()],
        ["Y".to_owned(), "second".to_owned(), ids[1].to_string()],
    ] {
        let heights = names.map(|name| node.chain(&name).get_height().unwrap());
        assert!(
            heights[0] > 0 && heights.iter().all(|height| *height == heights[0]),
            "{heights:?}"
        );
    }
    let native = node.x().get_asset_description("AVAX").unwrap().asset_id;
    let coin = node.chain("Y").get_asset_description("coin").unwrap();
    assert_eq!((coin.name.as_str(), coin.symbol.as_str(), coin.denomination), ("Coin", "COIN", 2));
    assert!(node.x().get_asset_description("coin").is_err(), "an alias of the other chain");
    // Each chain's blocks and UTXOs are its own.
    for alias in ["X", "Y"] {
        let genesis: &[AssetId] = if alias == "X" { &[native] } else { &[native, coin.asset_id] };
        assert_state_is_replay(&mut node.chain(alias), genesis);
        let mut chain = node.chain(alias);
        let tx = chain.get_block_by_height(1).unwrap().txs()[0].clone();
        let elsewhere = if alias == "X" { "Y" } else { "X" };
        assert_eq!(node.chain(elsewhere).get_tx_status(&tx.id()).unwrap().status, "Unknown");
        assert!(node.chain(elsewhere).issue_tx(&tx).is_err(), "a transaction of the other chain");
    }
}

/// Transactions that spend each other, issued without waiting.
fn traffic(chain: &mut XvmClient, mut wallet: Wallet) {
    let native = wallet.params().fee_asset_id;
    let txs: Vec<_> = (1..=TRAFFIC)
        .map(|n| {
            let output = Wallet::output(native, n, key(7).address());
            let tx = wallet.base_tx(vec![output], b"traffic").unwrap();
            wallet.apply(&tx);
            tx
        })
        .collect();
    for tx in &txs {
        chain.wallet_issue_tx(tx).unwrap();
    }
    for tx in &txs {
        crate::support::wait_accepted(chain, &tx.id());
    }
    let address = key(7).address().to_string();
    let balance = chain.get_balance(&address, "AVAX").unwrap().balance;
    assert_eq!(balance, TRAFFIC * (TRAFFIC + 1) / 2);
}

#[test]
fn an_asset_moves_between_the_chains_and_back() {
    let node = two_chains();
    let receiver = key(3);
    // There: X -> Y.
    let on_x = wallet(&node, "X", funded());
    let on_y = wallet(&node, "Y", receiver.clone());
    let native = on_x.params().fee_asset_id;
    assert_eq!(on_y.params().fee_asset_id, native);
    let output = Wallet::output(native, 5_000_000, receiver.address());
    let export = on_x.export(on_y.params().chain_id, vec![output.clone(), output]).unwrap();
    accept(&mut node.x(), &export);
    let exported: Vec<Utxo> = export.exported_utxos().collect();
    let atomic = move_over(&node, "X", "Y", &on_y, &exported);
    assert_eq!(atomic, 10_000_000 - on_y.params().tx_fee);
    // And back: Y -> X.
    let on_y = wallet(&node, "Y", receiver.clone());
    let amount = on_y.balance(&native) - on_y.params().tx_fee;
    let output = Wallet::output(native, amount, receiver.address());
    let export = on_y.export(on_x.params().chain_id, vec![output]).unwrap();
    accept(&mut node.chain("Y"), &export);
    let on_x = wallet(&node, "X", receiver);
    let exported: Vec<Utxo> = export.exported_utxos().collect();
    assert_eq!(move_over(&node, "Y", "X", &on_x, &exported), amount - on_x.params().tx_fee);
    assert_eq!(wallet(&node, "Y", key(3)).balance(&native), 0);
}

/// Imports what `from` exported to the wallet's owner; answers what the owner has of the native asset then.
fn move_over(node: &Node, from: &str, to: &str, on_to: &Wallet, exported: &[Utxo]) -> u64 {
    let mut chain = node.chain(to);
    let address = [on_to.address()];
    let listed = chain.walk_utxos(&address, 1, Some(from)).unwrap();
    assert_eq!(by_id(&listed), by_id(exported));
    let source: ChainId = wallet(node, from, funded()).params().chain_id;
    let import = on_to.import(source, &listed, on_to.owner()).unwrap();
    accept(&mut chain, &import);
    assert!(chain.walk_utxos(&address, 1024, Some(from)).unwrap().is_empty());
    // Once only: what was imported is gone from shared memory.
    let again = on_to.import(source, &listed[..1], on_to.owner()).unwrap();
    assert_eq!(chain.issue_tx(&again).unwrap_err().rpc_message(), Some("not found"));
    let UnsignedTx::Import(import) = import.unsigned() else { panic!("an import") };
    wallet(node, to, key(3)).balance(&import.base.outputs[0].asset_id)
}

fn by_id(utxos: &[Utxo]) -> BTreeMap<String, &Utxo> {
    utxos.iter().map(|utxo| (utxo.utxo_id.input_id().to_string(), utxo)).collect()
}

#[test]
fn a_foreign_asset_is_not_imported() {
    let node = two_chains();
    let on_y = wallet(&node, "Y", funded());
    let coin = node.chain("Y").get_asset_description("coin").unwrap().asset_id;
    let on_x = wallet(&node, "X", funded());
    let output = Wallet::output(coin, 10, on_x.owner());
    let export = on_y.export(on_x.params().chain_id, vec![output]).unwrap();
    accept(&mut node.chain("Y"), &export);
    let exported: Vec<Utxo> = export.exported_utxos().collect();
    let import = on_x.import(on_y.params().chain_id, &exported, on_x.owner()).unwrap();
    let refused = node.x().issue_tx(&import).unwrap_err();
    assert_eq!(refused.rpc_message(), Some("not found"), "X does not know the asset");
    // And no chain exports to itself.
    let on_y = wallet(&node, "Y", funded());
    let own = on_y.export(on_y.params().chain_id, vec![Wallet::output(coin, 1, on_y.owner())]);
    let refused = node.chain("Y").issue_tx(&own.unwrap()).unwrap_err();
    assert_eq!(refused.rpc_message(), Some("same chainID"));
}

#[test]
fn what_p_exported_in_the_network_file_is_imported() {
    let folder = tempfile::tempdir().unwrap();
    let network = tests_path("networks/two-chains.json").display().to_string();
    let start = || local().network(&network).data_dir(folder.path()).start().unwrap();
    // The rows that were written before the first bundle are part of the state's commitment.
    assert!(start().stop().unwrap().success());
    assert_verified(&network, folder.path());
    let node = start();
    for (alias, amounts) in [("X", vec![5_000_000_000, 7_000_000_000]), ("Y", vec![9_000_000_000])]
    {
        let own = wallet(&node, alias, funded());
        let mut chain = node.chain(alias);
        let utxos = chain.walk_utxos(&[own.address()], 1024, Some("P")).unwrap();
        let mut listed: Vec<u64> =
            utxos.iter().map(|utxo| utxo.output.as_transfer().unwrap().amount).collect();
        listed.sort_unstable();
        assert_eq!(listed, amounts, "{alias}");
        let import = own.import(ChainId::ZERO, &utxos, key(4).address()).unwrap();
        accept(&mut chain, &import);
        let total: u64 = amounts.iter().sum();
        let got = wallet(&node, alias, key(4)).balance(&own.params().fee_asset_id);
        assert_eq!(got, total - own.params().tx_fee, "{alias}");
        until("nothing is left to import", || {
            chain.walk_utxos(&[own.address()], 1024, Some("P")).unwrap().is_empty().then_some(())
        });
    }
    assert!(node.stop().unwrap().success());
    assert_verified(&network, folder.path());
}

fn assert_verified(network: &str, folder: &Path) {
    let (code, printed) = esker(&["db", "verify", "--network", network, "--data-dir"], &[folder]);
    assert!(code == Some(0) && printed.ends_with("\nnothing is wrong\n"), "{printed}");
}
