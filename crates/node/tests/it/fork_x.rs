//! Development networks that begin with outputs of another network's X-Chain.

use std::collections::BTreeSet;

use esker_node::RunningNode;
use esker_primitives::keys::PrivateKey;
use esker_primitives::{address, hexfmt};
use esker_settings::config::Mode;
use esker_testkit::http_client::Client;
use serde_json::{Value, json};

use crate::fork::{start_as, url};

/// The X-Chain's address of the second account for development, and the C-Chain's of the same key.
const SECOND: &str = "X-local1cjzphr67dug28rw9ueewrqllmxlqe5f0unaxss";

pub(crate) type Setting<'a> = (&'static str, &'a str);

/// An address of a network whose key nobody needs.
pub(crate) fn address_of(seed: u8, hrp: &str) -> String {
    address::format("X", hrp, &PrivateKey::from_slice(&[seed; 32]).unwrap().address())
}

fn owner() -> String {
    address_of(9, "local")
}

pub(crate) async fn dev(flags: &[Setting<'_>]) -> RunningNode {
    start_as(Mode::Dev, flags).await.unwrap_or_else(|error| panic!("{error}"))
}

/// A client of a path of a node.
pub(crate) struct Api(Client, &'static str);

impl Api {
    pub(crate) async fn x(node: &RunningNode) -> Self {
        Self(Client::connect(node.http_addr()).await, "/ext/bc/X")
    }

    async fn nat(node: &RunningNode) -> Self {
        Self(Client::connect(node.http_addr()).await, "/ext/bc/C/nat")
    }

    pub(crate) async fn reply(&mut self, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.0.send(&Client::post(self.1, &body.to_string())).await.json()
    }

    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let mut reply = self.reply(method, params.clone()).await;
        assert!(reply.get("error").is_none(), "{method} {params}: {reply}");
        reply["result"].take()
    }

    async fn error(&mut self, method: &str, params: Value) -> String {
        let reply = self.reply(method, params).await;
        reply["error"]["message"].as_str().unwrap_or_else(|| panic!("{method}: {reply}")).to_owned()
    }

    async fn balance(&mut self, address: &str, asset: &str) -> String {
        let params = json!({"address": address, "assetID": asset});
        self.ask("xvm.getBalance", params).await["balance"].as_str().unwrap().to_owned()
    }

    async fn utxos(&mut self, address: &str) -> BTreeSet<String> {
        let found = self.ask("xvm.getUTXOs", json!({"addresses": [address]})).await;
        let utxos = found["utxos"].as_array().unwrap().iter();
        utxos.map(|utxo| utxo.as_str().unwrap().to_owned()).collect()
    }
}

/// A source whose owner has coins, an asset with the right to mint more, and an NFT.
pub(crate) struct Origin {
    pub(crate) node: RunningNode,
    pub(crate) x: Api,
    /// IDs of the asset and of the family of NFTs.
    pub(crate) asset: String,
    pub(crate) nft: String,
}

impl Origin {
    pub(crate) async fn start() -> Self {
        let node = dev(&[]).await;
        let mut x = Api::x(&node).await;
        let owner = owner();
        let minters = json!([{"minters": [owner], "threshold": 1}]);
        for address in [SECOND, &owner] {
            x.ask("dev.impersonateAddress", json!({"address": address})).await;
        }
        let made = json!({"from": [SECOND], "name": "Taken", "symbol": "TKN", "denomination": 2, "minterSets": minters});
        let asset = text(&x.ask("xvm.createVariableCapAsset", made).await, "assetID");
        let made =
            json!({"from": [SECOND], "name": "Family", "symbol": "FAM", "minterSets": minters});
        let nft = text(&x.ask("xvm.createNFTAsset", made).await, "assetID");
        let sent =
            json!({"from": [SECOND], "to": owner, "assetID": "AVAX", "amount": 9_000_000_000_u64});
        x.ask("xvm.send", sent).await;
        let minted = json!({"from": [owner], "assetID": asset, "amount": 1000, "to": owner});
        x.ask("xvm.mint", minted).await;
        let payload = hexfmt::encode_checked(b"the first");
        let minted = json!({"from": [owner], "assetID": nft, "payload": payload, "encoding": "hex", "to": owner});
        x.ask("xvm.mintNFT", minted).await;
        Self { node, x, asset, nft }
    }

    pub(crate) fn url(&self) -> String {
        url(&self.node)
    }
}

pub(crate) fn text(reply: &Value, member: &str) -> String {
    reply[member].as_str().unwrap_or_else(|| panic!("{member} of {reply}")).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_are_taken_over_and_spent_by_their_impersonated_owner() {
    let mut origin = Origin::start().await;
    let (owner, other) = (owner(), address_of(8, "local"));
    let fork = dev(&[("fork-x", &origin.url()), ("fork-x-address", &owner)]).await;
    let taken = fork.taken_over().unwrap();
    assert_eq!((taken.addresses, taken.assets, taken.network_id), (1, 2, 12345));
    assert_eq!(taken.url, format!("{}/ext/bc/X", origin.url()));
    let mut x = Api::x(&fork).await;
    // The same outputs and assets, under the same IDs.
    let utxos = x.utxos(&owner).await;
    assert_eq!((utxos.len(), &utxos), (taken.outputs, &origin.x.utxos(&owner).await));
    let asset = origin.asset.clone();
    for id in [&asset, &origin.nft] {
        for (method, params) in [
            ("xvm.getAssetDescription", json!({"assetID": id})),
            ("xvm.getTx", json!({"txID": id, "encoding": "hex"})),
            ("xvm.getTx", json!({"txID": id, "encoding": "json"})),
        ] {
            let at_origin = origin.x.ask(method, params.clone()).await;
            assert_eq!(x.ask(method, params).await, at_origin, "{method}");
        }
    }
    for id in [asset.as_str(), "AVAX"] {
        assert_eq!(x.balance(&owner, id).await, origin.x.balance(&owner, id).await);
    }
    let all = json!({"address": owner});
    let expected = origin.x.ask("xvm.getAllBalances", all.clone()).await;
    assert_eq!(x.ask("xvm.getAllBalances", all).await, expected);

    let sent = json!({"from": [owner], "to": other, "assetID": asset, "amount": 10});
    let refused = x.error("xvm.send", sent.clone()).await;
    assert!(refused.contains("problem retrieving user"), "{refused}");
    x.ask("dev.impersonateAddress", json!({"address": other})).await;
    let refused = x.error("xvm.send", sent.clone()).await;
    assert!(refused.contains(&format!("{owner} is not impersonated")), "{refused}");
    let named = x.ask("dev.impersonateAddress", json!({"address": address_of(9, "avax")})).await;
    assert_eq!(named["address"], owner);
    x.ask("xvm.send", sent.clone()).await;
    assert_eq!(x.balance(&other, &asset).await, "10");
    let minted = json!({"from": [owner], "assetID": asset, "amount": 7, "to": other});
    x.ask("xvm.mint", minted).await;
    assert_eq!(x.balance(&other, &asset).await, "17");
    x.ask("dev.stopImpersonatingAddress", json!({"address": owner})).await;
    let refused = x.error("xvm.send", sent).await;
    assert!(refused.contains("is not impersonated"), "{refused}");
    fork.stop().await.unwrap();
    origin.node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_over_is_exported_and_imported() {
    let origin = Origin::start().await;
    let owner = owner();
    let fork = dev(&[("fork-x", &origin.url()), ("fork-x-address", &owner)]).await;
    let (mut x, mut nat) = (Api::x(&fork).await, Api::nat(&fork).await);
    x.ask("dev.impersonateAddress", json!({"address": owner})).await;
    let to = owner.replace("X-", "C-");
    let before = x.balance(&owner, "AVAX").await.parse::<u64>().unwrap();
    let exported =
        json!({"from": [owner], "to": to, "assetID": "AVAX", "amount": 2_000_000_000_u64});
    x.ask("xvm.export", exported).await;
    let waiting = json!({"addresses": [to], "sourceChain": "X"});
    assert_eq!(nat.ask("nat.getUTXOs", waiting.clone()).await["numFetched"], "1");
    let account = "0x00000000000000000000000000000000000000aa";
    nat.ask("nat.import", json!({"sourceChain": "X", "to": account})).await;
    assert_eq!(nat.ask("nat.getUTXOs", waiting).await["numFetched"], "0");
    let after = x.balance(&owner, "AVAX").await.parse::<u64>().unwrap();
    assert_eq!(before - after, 2_000_000_000 + 1_000_000);
    let mut client = Client::connect(fork.http_addr()).await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "eth_getBalance", "params": [account, "latest"]});
    let reply = client.send(&Client::post("/ext/bc/C/rpc", &body.to_string())).await.json();
    let wei = u128::from_str_radix(reply["result"].as_str().unwrap().trim_start_matches("0x"), 16);
    assert!(wei.unwrap() > 1_900_000_000_000_000_000, "{reply}");
    x.ask("dev.impersonateAddress", json!({"address": SECOND})).await;
    // A transaction of the source that made some of the outputs would make them once more.
    let asset = json!({"txID": origin.asset, "encoding": "hex"});
    let tx = x.ask("xvm.getTx", asset).await["tx"].take();
    let refused = x.error("xvm.issueTx", json!({"tx": tx, "encoding": "hex"})).await;
    assert!(refused.contains("its outputs are here already"), "{refused}");
    fork.stop().await.unwrap();
    origin.node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_folder_needs_no_source_and_takes_nothing_more() {
    let origin = Origin::start().await;
    let (owner, other) = (owner(), address_of(8, "avax"));
    let folder = tempfile::tempdir().unwrap();
    let data = ("data-dir", folder.path().to_str().unwrap());
    let origin_url = origin.url();
    let source = ("fork-x", origin_url.as_str());
    let fork = dev(&[data, source, ("fork-x-address", &owner)]).await;
    let mut x = Api::x(&fork).await;
    x.ask("dev.impersonateAddress", json!({"address": owner})).await;
    let sent = json!({"from": [owner], "to": SECOND, "assetID": origin.asset, "amount": 10});
    x.ask("xvm.send", sent).await;
    let (taken, utxos) = (fork.taken_over(), x.utxos(&owner).await);
    fork.stop().await.unwrap();
    origin.node.stop().await.unwrap();
    // Without the settings, and with them while nobody listens.
    for flags in [&[data][..], &[data, source, ("fork-x-address", &owner)]] {
        let fork = dev(flags).await;
        let mut x = Api::x(&fork).await;
        assert_eq!((fork.taken_over(), x.utxos(&owner).await), (taken.clone(), utxos.clone()));
        let impersonated = x.ask("dev.getImpersonatedAddresses", json!({})).await;
        assert_eq!(impersonated, json!({"addresses": []}), "a restart ends impersonations");
        fork.stop().await.unwrap();
    }
    let refused =
        crate::fork::refusal_as(Mode::Dev, &[data, source, ("fork-x-address", &other)]).await;
    assert!(refused.contains("the data folder has the outputs of 1 addresses"), "{refused}");
    let refused = crate::fork::refusal_as(Mode::Dev, &[data, ("api-sync-enabled", "true")]).await;
    assert!(refused.contains("which no follower can know"), "{refused}");
    let plain = tempfile::tempdir().unwrap();
    let data = ("data-dir", plain.path().to_str().unwrap());
    dev(&[data]).await.stop().await.unwrap();
    let refused =
        crate::fork::refusal_as(Mode::Dev, &[data, source, ("fork-x-address", &owner)]).await;
    assert!(refused.contains("the data folder was made without it"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshots_keep_who_is_impersonated() {
    let node = dev(&[]).await;
    let mut x = Api::x(&node).await;
    let (first, second) = (address_of(1, "local"), address_of(2, "local"));
    x.ask("dev.impersonateAddress", json!({"address": first})).await;
    let id = x.ask("dev.snapshot", json!({})).await["id"].take();
    x.ask("dev.impersonateAddress", json!({"address": second})).await;
    x.ask("dev.stopImpersonatingAddress", json!({"address": first})).await;
    x.ask("dev.revert", json!({"id": id})).await;
    let now = x.ask("dev.getImpersonatedAddresses", json!({})).await;
    assert_eq!(now, json!({"addresses": [first]}));
    x.ask("dev.reset", json!({})).await;
    let now = x.ask("dev.getImpersonatedAddresses", json!({})).await;
    assert_eq!(now, json!({"addresses": []}));
    for wrong in ["", "X-local1", "C-local1cjzphr67dug28rw9ueewrqllmxlqe5f0unaxss"] {
        let refused = x.error("dev.impersonateAddress", json!({"address": wrong})).await;
        assert!(refused.contains("couldn't parse address"), "{refused}");
    }
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_may_not_send_for_an_address_that_is_not_impersonated() {
    let mut origin = Origin::start().await;
    let held = json!({"from": [owner()], "to": SECOND, "assetID": origin.asset, "amount": 1});
    let id = text(&origin.x.ask("xvm.send", held).await, "txID");
    let tx = origin.x.ask("xvm.getTx", json!({"txID": id, "encoding": "hex"})).await["tx"].take();
    let node = dev(&[]).await;
    let mut x = Api::x(&node).await;
    let mut wallet = Api(Client::connect(node.http_addr()).await, "/ext/bc/X/wallet");
    let issued = json!({"tx": tx, "encoding": "hex"});
    for refused in [
        x.error("xvm.issueTx", issued.clone()).await,
        wallet.error("wallet.issueTx", issued.clone()).await,
    ] {
        let expected = format!("{} is not impersonated: call dev.impersonateAddress", owner());
        assert!(refused.contains(&expected), "{refused}");
    }
    x.ask("dev.impersonateAddress", json!({"address": owner()})).await;
    let refused = x.error("xvm.issueTx", issued).await;
    assert!(refused.contains("not found"), "{refused}");
    node.stop().await.unwrap();
    origin.node.stop().await.unwrap();
}
