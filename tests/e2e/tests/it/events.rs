//! Websockets of the X-Chain: what was accepted, from any height on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use esker_client::Wallet;
use esker_e2e::funds::{FUNDED, funded, key};
use esker_e2e::hostile::figures::metric;
use esker_e2e::{Node, Socket, until};
use esker_transactions::xvm::InitialState;
use esker_utxo::{FxKind, NftMintOutput, Output, OutputOwners, TransferOutput};
use serde_json::{Value, json};

use crate::controls::result as evm;
use crate::support::{accept, assert_state_is_replay, local, wallet};

const WS: &str = "/ext/bc/X/ws";
const X: &str = "/ext/bc/X";

/// A websocket of a node's X-Chain.
struct Events {
    socket: Socket,
    calls: u64,
    /// Notifications that came while a reply was waited for.
    early: VecDeque<Value>,
}

impl Events {
    fn open(node: &Node) -> Self {
        let socket = Socket::open(node.address(), WS).unwrap();
        Self { socket, calls: 0, early: VecDeque::new() }
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.calls += 1;
        let call = json!({"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params});
        self.socket.send(&call.to_string()).unwrap();
        loop {
            let message: Value = serde_json::from_str(&self.socket.read().unwrap()).unwrap();
            if message["id"] == self.calls {
                return message;
            }
            self.early.push_back(message);
        }
    }

    /// Subscribes; the ID.
    fn subscribe(&mut self, params: &Value) -> String {
        let reply = self.call("xvm.subscribe", params);
        let id = reply["result"]["subscription"].as_str();
        id.unwrap_or_else(|| panic!("{params}: {reply}")).to_owned()
    }

    fn refused(&mut self, params: &Value) -> String {
        let reply = self.call("xvm.subscribe", params);
        let text = reply["error"]["message"].as_str();
        text.unwrap_or_else(|| panic!("{params}: {reply}")).to_owned()
    }

    /// The next notification: its subscription and what it says.
    fn next(&mut self) -> (String, Value) {
        let early = self.early.pop_front();
        let mut message =
            early.unwrap_or_else(|| serde_json::from_str(&self.socket.read().unwrap()).unwrap());
        assert_eq!(message["method"], "xvm.subscription", "{message}");
        let id = message["params"]["subscription"].as_str().unwrap().to_owned();
        (id, message["params"]["result"].take())
    }

    fn take(&mut self, number: usize) -> Vec<Value> {
        (0..number).map(|_| self.next().1).collect()
    }
}

/// Pays somebody; the ID.
fn pay(node: &Node, amount: u64, to: u8) -> String {
    let own = wallet(node, "X", funded());
    let output = Wallet::output(own.params().fee_asset_id, amount, key(to).address());
    let tx = own.base_tx(vec![output], b"").unwrap();
    accept(&mut node.x(), &tx).to_string()
}

fn address(node: &Node, to: u8) -> String {
    wallet(node, "X", key(to)).address()
}

#[test]
fn accepted_blocks_transactions_and_utxos() {
    let node = local().start().unwrap();
    let (mut events, to) = (Events::open(&node), address(&node, 5));
    let blocks = events.subscribe(&json!({"kind": "blocks"}));
    let txs = events.subscribe(&json!({"kind": "transactions"}));
    let full = events.subscribe(&json!({"kind": "transactions", "encoding": "json"}));
    let hex = events.subscribe(&json!({"kind": "blocks", "encoding": "hex"}));
    let utxos = events.subscribe(&json!({"kind": "utxos", "addresses": [to]}));
    let id = pay(&node, 7, 5);

    let got: BTreeMap<String, Value> = (0..5).map(|_| events.next()).collect();
    let block = node.x().get_block_by_height(1).unwrap();
    let shared = json!({
        "id": block.id(), "parentID": block.parent_id(), "height": "1",
        "time": block.time_s().to_string(), "txIDs": [id], "removed": false,
    });
    assert_eq!(got[&blocks], shared);
    let rpc = &mut node.rpc();
    let by_height = |rpc: &mut esker_client::RpcClient, encoding| -> Value {
        let params = json!({"height": "1", "encoding": encoding});
        rpc.call(X, "xvm.getBlockByHeight", params).unwrap()
    };
    let shown = by_height(rpc, "hex");
    assert_eq!((&got[&hex]["block"], &got[&hex]["encoding"]), (&shown["block"], &json!("hex")));
    let at = json!({"height": "1", "blockID": block.id(), "time": block.time_s().to_string()});
    let mut expected = json!({"txID": id, "type": "transfer", "removed": false});
    expected.as_object_mut().unwrap().extend(at.as_object().unwrap().clone());
    assert_eq!(got[&txs], expected);
    let decoded: Value = rpc.call(X, "xvm.getTx", json!({"txID": id, "encoding": "json"})).unwrap();
    assert_eq!(got[&full]["tx"], decoded["tx"]);
    assert_eq!(got[&full]["utxos"].as_array().unwrap().len(), 3, "{}", got[&full]);
    assert_eq!(by_height(rpc, "json")["block"]["txs"][0], decoded["tx"]);

    let utxo = &got[&utxos];
    assert_eq!(
        (&utxo["change"], &utxo["txID"], &utxo["producedBy"]),
        (&json!("created"), &json!(id), &json!(id))
    );
    let output = json!({"type": "transfer", "addresses": [to], "amount": "7", "locktime": "0", "threshold": 1});
    assert_eq!(utxo["output"], output, "{utxo}");
    assert_eq!(
        (&utxo["height"], &utxo["blockID"], &utxo["removed"]),
        (&json!("1"), &at["blockID"], &json!(false))
    );
    let listed = node.x().walk_utxos(std::slice::from_ref(&to), 10, None).unwrap();
    assert_eq!(utxo["utxoID"], json!(listed[0].utxo_id.input_id()));

    // One that ended is silent, and the others go on.
    let ended = events.call("xvm.unsubscribe", &json!({"subscription": full}));
    assert_eq!(ended["result"], json!({"success": true}));
    let ended = events.call("avm.unsubscribe", &json!({"subscription": full}));
    assert_eq!(ended["error"]["message"], "subscription not found");
    pay(&node, 8, 6);
    let mut ids: Vec<_> = (0..3).map(|_| events.next().0).collect();
    ids.sort();
    assert_eq!(ids, [blocks, txs, hex]);
}

/// Makes assets of every kind, moves and burns some.
fn assets(node: &Node) {
    let own = wallet(node, "X", funded());
    let me = OutputOwners::single(own.owner());
    let states = vec![
        InitialState {
            fx_index: FxKind::Secp256k1.index(),
            outputs: vec![
                Output::SecpTransfer(TransferOutput { amount: 100, owners: me.clone() }),
                Output::SecpMint(me.clone()),
            ],
        },
        InitialState {
            fx_index: FxKind::Nft.index(),
            outputs: vec![Output::NftMint(NftMintOutput { group_id: 3, owners: me.clone() })],
        },
        InitialState {
            fx_index: FxKind::Property.index(),
            outputs: vec![Output::PropertyMint(me.clone())],
        },
    ];
    let making = own.create_asset("Kinds", "KND", 2, states).unwrap();
    let asset = accept(&mut node.x(), &making);
    let issue = |build: &dyn Fn(&Wallet) -> esker_transactions::xvm::Tx| {
        accept(&mut node.x(), &build(&wallet(node, "X", funded())))
    };
    issue(&|own| own.mint(asset, 7, key(5).address()).unwrap());
    issue(&|own| own.mint_nft(asset, b"payload", vec![OutputOwners::single(own.owner())]).unwrap());
    issue(&|own| own.send_nft(asset, 3, key(5).address()).unwrap());
    issue(&|own| own.mint_property(asset, own.owner()).unwrap());
    issue(&|own| own.burn_property(asset).unwrap());
}

/// The UTXO set and the shared memory that notifications make, by UTXO ID.
fn follow(notices: &[Value]) -> (BTreeMap<String, Value>, BTreeMap<String, Value>) {
    let (mut here, mut shared) = (BTreeMap::new(), BTreeMap::new());
    for notice in notices {
        let id = notice["utxoID"].as_str().unwrap().to_owned();
        let is_new = |old: Option<Value>| assert!(old.is_none(), "twice: {notice}");
        let removed = notice["removed"] == true;
        match (notice["change"].as_str().unwrap(), removed) {
            ("created", false) | ("consumed", true) => {
                is_new(here.insert(id, notice["output"].clone()));
            }
            ("consumed", false) | ("created", true) => {
                assert_eq!(here.remove(&id).as_ref(), Some(&notice["output"]), "{notice}");
            }
            ("exported", false) => is_new(shared.insert(id, notice.clone())),
            ("exported", true) => assert!(shared.remove(&id).is_some(), "{notice}"),
            ("imported", _) => assert!(!notice["signers"].as_array().unwrap().is_empty()),
            other => panic!("{other:?}: {notice}"),
        }
    }
    (here, shared)
}

/// All that happened so far: up to a block that is made for it.
fn history(node: &Node, params: &Value) -> Vec<Value> {
    let mut events = Events::open(node);
    let mut params = params.clone();
    params["fromHeight"] = json!(0);
    events.subscribe(&params);
    let last = node.x().get_height().unwrap();
    let mark = pay(node, 1, 99);
    let mut notices = Vec::new();
    loop {
        let (_, notice) = events.next();
        if notice["txID"] == json!(mark) || notice["txIDs"] == json!([mark]) {
            assert_eq!(notice["height"], json!((last + 1).to_string()));
            return notices;
        }
        notices.push(notice);
    }
}

#[test]
fn utxos_from_the_genesis_on_are_the_set_and_a_restart_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let node = local().data_dir(folder.path()).start().unwrap();
    let mut live = Events::open(&node);
    live.subscribe(&json!({"kind": "utxos"}));
    assets(&node);
    pay(&node, 7, 5);
    let native = node.x().get_asset_description("NAT").unwrap().asset_id;
    assert_state_is_replay(&mut node.x(), &[native]);
    let all = history(&node, &json!({"kind": "utxos"}));
    let (here, _) = follow(&all);
    let owners: BTreeSet<&str> = here
        .values()
        .flat_map(|output| output["addresses"].as_array().unwrap())
        .map(|address| address.as_str().unwrap())
        .collect();
    let owners: Vec<String> = owners.into_iter().map(str::to_owned).collect();
    let listed = node.x().walk_utxos(&owners, 1024, None).unwrap();
    let listed: BTreeSet<String> =
        listed.iter().map(|utxo| utxo.utxo_id.input_id().to_string()).collect();
    // With what the first call made, the last block of which it does not return.
    let (here, _) = follow(&history(&node, &json!({"kind": "utxos"})));
    let here: BTreeSet<String> = here
        .into_iter()
        .filter(|(_, output)| output["addresses"] != json!([address(&node, 99)]))
        .map(|(id, _)| id)
        .collect();
    assert_eq!(here, listed);
    // The notifications that were sent at the time of the blocks are the same, without the genesis.
    let past: Vec<_> = all.iter().filter(|notice| notice["height"] != "0").cloned().collect();
    assert_eq!(live.take(past.len()), past);
    let txs = history(&node, &json!({"kind": "transactions", "encoding": "json"}));
    let kinds: BTreeSet<_> =
        txs.iter().map(|notice| notice["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["create asset", "operation", "transfer"]);

    node.kill().unwrap();
    let node = local().data_dir(folder.path()).start().unwrap();
    let again = history(&node, &json!({"kind": "utxos"}));
    assert_eq!(again[..all.len()], all);
    let last = node.x().get_height().unwrap();
    let blocks = history(&node, &json!({"kind": "blocks", "encoding": "json"}));
    assert!(blocks.len() as u64 > last, "{} of {last}", blocks.len());
    for (height, notice) in blocks.iter().enumerate() {
        assert_eq!(notice["height"], json!(height.to_string()));
        assert_eq!(notice["block"]["id"], notice["id"]);
    }
}

#[test]
fn past_blocks_and_new_ones_have_no_gap_and_no_double() {
    let node = local().start().unwrap();
    (0..40).for_each(|n| drop(pay(&node, n + 1, 5)));
    std::thread::scope(|scope| {
        let paying = scope.spawn(|| (0..40).for_each(|n| drop(pay(&node, n + 41, 5))));
        let clients: Vec<_> = (0..4)
            .map(|n: u64| {
                let node = &node;
                scope.spawn(move || {
                    let mut events = Events::open(node);
                    let from = n * 13;
                    events.subscribe(&json!({"kind": "blocks", "fromHeight": from.to_string()}));
                    let owner = address(node, 5);
                    let utxos = json!({"kind": "utxos", "addresses": [owner], "fromHeight": 1});
                    let utxos = events.subscribe(&utxos);
                    let (mut heights, mut amounts) = (Vec::new(), Vec::<u64>::new());
                    while heights.last() != Some(&80) || amounts.len() < 80 {
                        let (id, notice) = events.next();
                        if id == utxos {
                            amounts.push(
                                notice["output"]["amount"].as_str().unwrap().parse().unwrap(),
                            );
                        } else {
                            heights.push(notice["height"].as_str().unwrap().parse().unwrap());
                        }
                    }
                    assert_eq!(heights, (from..=80).collect::<Vec<u64>>());
                    assert_eq!(amounts, (1..=80).collect::<Vec<u64>>());
                })
            })
            .collect();
        paying.join().unwrap();
        clients.into_iter().for_each(|client| client.join().unwrap());
    });
}

#[test]
fn addresses_and_assets_decide_what_is_notified() {
    let node = local().start().unwrap();
    let mut events = Events::open(&node);
    let (five, six) = (address(&node, 5), address(&node, 6));
    let of_six = events.subscribe(&json!({"kind": "transactions", "addresses": [six]}));
    let native =
        events.subscribe(&json!({"kind": "utxos", "assetIDs": ["NAT"], "addresses": [five]}));
    pay(&node, 3_000_000, 5);
    pay(&node, 3_000_000, 6);
    // Who pays is concerned as well.
    let own = wallet(&node, "X", key(6));
    let output = Wallet::output(own.params().fee_asset_id, 9, key(5).address());
    let spent = accept(&mut node.x(), &own.base_tx(vec![output], b"").unwrap()).to_string();
    assets(&node);
    let mark = pay(&node, 11, 5);
    let mut got: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    while got.get(&native).and_then(|got| got.last()).is_none_or(|last| last["txID"] != json!(mark))
    {
        let (id, notice) = events.next();
        got.entry(id).or_default().push(notice);
    }
    assert_eq!(got[&of_six].len(), 2, "{got:?}");
    assert_eq!(got[&of_six][1]["txID"], json!(spent));
    let amounts: Vec<_> =
        got[&native].iter().map(|n| n["output"]["amount"].as_str().unwrap()).collect();
    assert_eq!(amounts, ["3000000", "9", "11"]);
}

#[test]
fn exports_and_imports_are_notified_with_the_other_chain() {
    let node = local().start().unwrap();
    let rpc = &mut node.rpc();
    let with_user = |mut params: Value| {
        params["username"] = "mover".into();
        params["password"] = "Str0ng-Pass-W0rd!".into();
        params
    };
    let mut call = |path: &str, method: &str, params: Value| -> Value {
        rpc.call(path, method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    };
    call("/ext/keystore", "keystore.createUser", with_user(json!({})));
    let key = with_user(json!({ "privateKey": FUNDED }));
    let on_x = call(X, "xvm.importKey", key.clone())["address"].as_str().unwrap().to_owned();
    call("/ext/bc/C/nat", "nat.importKey", key);
    let on_c = on_x.replacen("X-", "C-", 1);
    let mut events = Events::open(&node);
    events.subscribe(&json!({"kind": "utxos", "addresses": [on_x]}));
    let export = json!({"to": on_c, "amount": 5_000_000_000_u64, "assetID": "NAT"});
    let exported = call(X, "xvm.export", with_user(export))["txID"].clone();
    let notices = events.take(3);
    let changes: Vec<_> = notices.iter().map(|n| n["change"].as_str().unwrap()).collect();
    assert_eq!(changes, ["consumed", "created", "exported"]);
    let chain =
        call("/ext/info", "info.getBlockchainID", json!({"alias": "C"}))["blockchainID"].clone();
    let notice = &notices[2];
    assert_eq!((&notice["chainID"], &notice["txID"]), (&chain, &exported), "{notice}");
    assert_eq!(notice["output"]["amount"], "5000000000");
    assert_eq!(notice["output"]["addresses"], json!([on_x]), "in this chain's form");

    let import = json!({"sourceChain": "X", "to": "0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc"});
    let imported = call("/ext/bc/C/nat", "nat.import", with_user(import))["txID"].clone();
    until("C has imported", || {
        let status = call("/ext/bc/C/nat", "nat.getAtomicTxStatus", json!({"txID": imported}));
        (status["status"] == "Accepted").then_some(())
    });
    let back = json!({"to": on_x, "amount": 1_000_000_000_u64, "assetID": "NAT"});
    let back = call("/ext/bc/C/nat", "nat.export", with_user(back))["txID"].clone();
    until("C has exported", || {
        let status = call("/ext/bc/C/nat", "nat.getAtomicTxStatus", json!({"txID": back}));
        (status["status"] == "Accepted").then_some(())
    });
    let import = json!({"sourceChain": "C", "to": on_x});
    let imported = call(X, "xvm.import", with_user(import))["txID"].clone();
    let notices = events.take(2);
    let notice = &notices[0];
    assert_eq!((&notice["change"], &notice["txID"]), (&json!("imported"), &imported), "{notice}");
    assert_eq!((&notice["producedBy"], &notice["chainID"]), (&back, &chain), "{notice}");
    assert_eq!((&notice["amount"], &notice["signers"]), (&json!("1000000000"), &json!([on_x])));
    assert_eq!(notices[1]["change"], "created");
}

#[test]
fn a_revert_takes_back_what_was_notified() {
    let node = local().dev().start().unwrap();
    let mut events = Events::open(&node);
    let blocks = events.subscribe(&json!({"kind": "blocks"}));
    pay(&node, 5, 5);
    let (of, block) = events.next();
    assert_eq!(of, blocks);
    let height: u64 = block["height"].as_str().unwrap().parse().unwrap();
    let utxos = events.subscribe(&json!({"kind": "utxos", "fromHeight": 0}));
    let txs = events.subscribe(&json!({"kind": "transactions", "addresses": [address(&node, 5)]}));
    let mut notices = Vec::new();
    let mut until_tx = |events: &mut Events, id: &str, removed: bool| {
        let mut got: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let is_last = |got: &BTreeMap<String, Vec<Value>>, of: &str| {
            let is = |n: &Value| {
                (n["txID"] == json!(id) || n["txIDs"] == json!([id]))
                    && n["removed"] == json!(removed)
            };
            got.get(of).and_then(|got| got.last()).is_some_and(is)
        };
        while !(is_last(&got, &blocks) && is_last(&got, &txs)) {
            let (of, notice) = events.next();
            if of == utxos {
                notices.push(notice.clone());
            }
            got.entry(of).or_default().push(notice);
        }
        got
    };
    let snapshot = evm(&node, "evm_snapshot", json!([]));
    let before = node.x().walk_utxos(&[address(&node, 5)], 1024, None).unwrap();
    let first = pay(&node, 6, 5);
    let last = pay(&node, 7, 5);
    let got = until_tx(&mut events, &last, false);
    assert_eq!(got[&blocks].len(), 2);
    assert_eq!(evm(&node, "evm_revert", json!([snapshot])), json!(true));
    let got = until_tx(&mut events, &first, true);
    let heights: Vec<_> =
        got[&blocks].iter().map(|n| n["height"].as_str().unwrap().to_owned()).collect();
    assert_eq!(heights, [(height + 2).to_string(), (height + 1).to_string()], "newest first");
    let ids: Vec<_> = got[&txs].iter().map(|n| n["txID"].as_str().unwrap()).collect();
    assert_eq!(ids, [&last, &first]);
    assert_eq!(node.x().walk_utxos(&[address(&node, 5)], 1024, None).unwrap(), before);
    // The chain goes on at the same heights.
    let other = pay(&node, 8, 5);
    let got = until_tx(&mut events, &other, false);
    assert_eq!(got[&blocks][0]["height"], json!((height + 1).to_string()));
    // Whoever takes back what was removed has the set. All of it has come when a later transaction has.
    let mark = pay(&node, 1, 98);
    loop {
        let (of, notice) = events.next();
        if of == utxos && notice["txID"] == json!(mark) {
            break;
        }
        if of == utxos {
            notices.push(notice);
        }
    }
    let all = history(&node, &json!({"kind": "utxos"}));
    let before: Vec<_> =
        all.into_iter().take_while(|notice| notice["txID"] != json!(mark)).collect();
    assert_eq!(follow(&notices).0, follow(&before).0);
}

#[test]
fn wrong_requests_are_refused_with_the_reason() {
    let node = local().start().unwrap();
    let mut events = Events::open(&node);
    let kinds = "expected one of blocks, transactions, utxos";
    for (params, expected) in [
        (json!({}), format!("no \"\" subscription: {kinds}")),
        (json!({"kind": "newHeads"}), format!("no \"newHeads\" subscription: {kinds}")),
        (
            json!({"kind": "blocks", "addresses": ["X-local1"]}),
            "`addresses` doesn't go with the kind blocks".to_owned(),
        ),
        (
            json!({"kind": "blocks", "assetIDs": ["NAT"]}),
            "`assetIDs` doesn't go with the kind blocks".to_owned(),
        ),
        (
            json!({"kind": "utxos", "encoding": "json"}),
            "`encoding` doesn't go with the kind utxos".to_owned(),
        ),
        (json!({"kind": "utxos", "assetIDs": ["nothing"]}), "asset 'nothing' not found".to_owned()),
        (
            json!({"kind": "blocks", "fromHeight": 2}),
            "fromHeight 2 is above 1, the height of the next block".to_owned(),
        ),
        (
            json!({"kind": "utxos", "addresses": vec!["X"; 1025]}),
            "number of addresses and assets given, 1025, exceeds maximum, 1024".to_owned(),
        ),
    ] {
        assert_eq!(events.refused(&params), expected, "{params}");
    }
    let unmarshal = "couldn't unmarshal an argument";
    for params in [
        json!({"kind": 5}),
        json!({"kind": "blocks", "fromHeight": -1}),
        json!({"kind": "blocks", "fromHeight": "x"}),
        json!({"kind": "transactions", "encoding": "base58"}),
        json!({"kind": "utxos", "addresses": "X-local1"}),
        json!(["blocks"]),
    ] {
        let text = events.refused(&params);
        assert!(text.starts_with(unmarshal), "{params}: {text}");
    }
    let bad = events.refused(&json!({"kind": "utxos", "addresses": ["C-local1"]}));
    assert!(bad.contains("address"), "{bad}");
    for message in ["", "[", "[]", "7", "\"xvm.subscribe\""] {
        events.socket.send(message).unwrap();
        assert!(events.socket.read().unwrap().contains("\"error\""), "{message}");
    }
    // Over HTTP there is nobody to notify.
    for method in ["xvm.subscribe", "xvm.unsubscribe", "avm.subscribe"] {
        let refused = node.rpc().call::<Value>(X, method, json!({"kind": "blocks"})).unwrap_err();
        assert!(
            refused.rpc_message().unwrap().starts_with("notifications not supported"),
            "{refused}"
        );
    }
    // Other methods are not served here.
    let other = events.call("xvm.getHeight", &json!({}));
    assert!(other["error"]["message"].as_str().unwrap().contains("can't find method"), "{other}");
    // The connection serves all the same.
    events.subscribe(&json!({"kind": "blocks"}));
    pay(&node, 1, 5);
    assert_eq!(events.next().1["height"], "1");
}

#[test]
fn subscriptions_of_a_connection_are_bounded_and_end_with_it() {
    let node = local().start().unwrap();
    let series = r#"esker_rpc_subscriptions{chain="X",kind="utxos"}"#;
    let open = || metric(&node, series).unwrap() as u64;
    let mut events = Events::open(&node);
    for _ in 0..1024 {
        events.subscribe(&json!({"kind": "utxos", "fromHeight": 1}));
    }
    assert_eq!(open(), 1024);
    let text = "too many subscriptions on this connection";
    assert_eq!(events.refused(&json!({"kind": "utxos"})), text);
    events.call("xvm.unsubscribe", &json!({"subscription": "1"}));
    events.subscribe(&json!({"kind": "utxos"}));
    drop(events);
    until("the subscriptions have ended", || (open() == 0).then_some(()));
}
