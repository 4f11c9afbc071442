//! The P-Chain's reads (docs/decisions.md, "P-Chain as a peer").

use std::collections::{BTreeMap, BTreeSet};

use esker_primitives::codec::Encode as _;
use esker_primitives::{ChainId, ShortId, TxId, address};
use esker_shared_memory::{Element, Requests, apply};
use esker_storage::PendingWrites;
use esker_utxo::{Output, OutputOwners, TransferOutput, Utxo, UtxoId};
use serde_json::{Value, json};

use super::{INVALID_ARGUMENT, NOBODY, Node, START_MS};

const P: &str = "/ext/bc/P";
const ZERO: &str = "11111111111111111111111111111111LpoYY";
const X: &str = "2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed";
const C: &str = "2owdGqyG6FFzTHy5qhenDXQcEghvr571KZE3gSfRJERSJinuwC";
const NATIVE: &str = "2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe";

fn owner(n: u8) -> ShortId {
    ShortId::new([n; 20])
}

fn shown(n: u8) -> String {
    address::format("P", "local", &owner(n))
}

fn utxo(n: u8, amount: u64, locktime: u64, owners: &[u8]) -> Utxo {
    let addresses = owners.iter().copied().map(owner).collect();
    Utxo {
        utxo_id: UtxoId { tx_id: TxId::new([n; 32]), output_index: u32::from(n) },
        asset_id: NATIVE.parse().unwrap(),
        output: Output::SecpTransfer(TransferOutput {
            amount,
            owners: OutputOwners { locktime, threshold: 1, addresses },
        }),
    }
}

#[tokio::test]
async fn reads() {
    let node = Node::start().await;
    let config = json!({"weights": [1, 1000, 1000, 4], "maxCapacity": 1_000_000, "maxPerSecond": 100_000,
        "targetPerSecond": 50_000, "minPrice": 1, "excessConversionConstant": 2_164_043});
    let chains = json!({"blockchains": [
        {"id": C, "name": "C-Chain", "subnetID": ZERO, "vmID": "mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6"},
        {"id": X, "name": "X-Chain", "subnetID": ZERO, "vmID": "jvYyfQTxGMJLuGWa55kdP2p2zSUYsQ5Raupu4TW34ZAUBAbtq"},
    ]});
    let primary = json!({"subnets": [{"id": ZERO, "controlKeys": [], "threshold": "0"}]});
    let time = "2020-12-05T05:00:00Z";
    let status = |status: &str| json!({"status": status});
    for (method, params, want) in [
        ("getFeeConfig", json!({}), config),
        ("getHeight", json!({}), json!({"height": "0"})),
        ("getTimestamp", json!({}), json!({"timestamp": time})),
        (
            "getFeeState",
            json!({}),
            json!({"capacity": 0, "excess": 0, "price": 1, "timestamp": time}),
        ),
        (
            "getMinStake",
            json!({}),
            json!({"minValidatorStake": "2000000000000", "minDelegatorStake": "25000000000"}),
        ),
        ("getStakingAssetID", json!({}), json!({"assetID": NATIVE})),
        ("getStakingAssetID", json!({"subnetID": ZERO}), json!({"assetID": NATIVE})),
        ("getBlockchains", json!({}), chains),
        ("getBlockchainStatus", json!({"blockchainID": "X"}), status("Validating")),
        ("getBlockchainStatus", json!({"blockchainID": X}), status("Validating")),
        ("getBlockchainStatus", json!({"blockchainID": C}), status("Created")),
        ("getBlockchainStatus", json!({"blockchainID": "P"}), status("Syncing")),
        ("getBlockchainStatus", json!({"blockchainID": NOBODY}), status("Unknown")),
        ("validatedBy", json!({"blockchainID": X}), json!({"subnetID": ZERO})),
        ("validates", json!({"subnetID": ZERO}), json!({"blockchainIDs": [C, X]})),
        ("getSubnets", json!({"ids": [ZERO, ZERO]}), primary.clone()),
        ("getSubnets", json!({}), primary),
        ("getSubnets", json!({"ids": [NOBODY]}), json!({"subnets": null})),
        ("getTxStatus", json!({"txID": NOBODY}), status("Unknown")),
        ("getTxStatus", json!({"txID": X}), status("Committed")),
    ] {
        let got = node.result(P, &format!("platform.{method}"), params.clone()).await;
        assert_eq!(got, want, "{method} {params}");
    }
    for path in ["/ext/P", "/ext/bc/platform", "/ext/platform", &format!("/ext/bc/{ZERO}")] {
        let got = node.result(path, "platform.getHeight", json!({})).await;
        assert_eq!(got, json!({"height": "0"}), "{path}");
    }
}

#[tokio::test]
async fn refused() {
    let node = Node::start().await;
    let of_subnet = format!("failed fetching subnet transformation for {NOBODY}: not found");
    let x_address = address::format("X", "local", &owner(1));
    for (method, params, want) in [
        ("getStakingAssetID", json!({"subnetID": NOBODY}), of_subnet.clone()),
        ("getMinStake", json!({"subnetID": NOBODY}), of_subnet),
        ("getBlockchainStatus", json!({}), "argument 'blockchainID' not given".to_owned()),
        (
            "getBlockchainStatus",
            json!({"blockchainID": "nothing"}),
            "problem parsing blockchainID \"nothing\": invalid input checksum".to_owned(),
        ),
        (
            "validatedBy",
            json!({"blockchainID": NOBODY}),
            format!("problem retrieving blockchain \"{NOBODY}\": not found"),
        ),
        (
            "validates",
            json!({"subnetID": NOBODY}),
            format!("problem retrieving subnet \"{NOBODY}\": not found"),
        ),
        ("getTxStatus", json!({"txID": "x"}), INVALID_ARGUMENT.to_owned()),
        ("getUTXOs", json!({}), "no addresses provided".to_owned()),
        (
            "getUTXOs",
            json!({"addresses": vec!["x"; 1025]}),
            "number of addresses given, 1025, exceeds maximum, 1024".to_owned(),
        ),
        (
            "getUTXOs",
            json!({"addresses": [x_address]}),
            format!("couldn't parse address \"{x_address}\": mismatched chainIDs: expected \"{ZERO}\" but got \"{X}\""),
        ),
        (
            "getUTXOs",
            json!({"addresses": [shown(1)], "sourceChain": "Y"}),
            "problem parsing source chainID \"Y\": there is no ID with alias: Y".to_owned(),
        ),
        (
            "getUTXOs",
            json!({"addresses": [shown(1)], "startIndex": {"address": "x", "utxo": ZERO}}),
            "couldn't parse start index address \"x\": couldn't parse address \"x\": no separator found in address"
                .to_owned(),
        ),
        (
            "getUTXOs",
            json!({"addresses": [shown(1)], "startIndex": {"address": shown(1)}}),
            "couldn't parse start index utxo: base58 decoding error: zero length string".to_owned(),
        ),
        ("nothing", json!({}), "rpc: can't find method \"platform.Nothing\"".to_owned()),
    ] {
        let got = node.error(P, &format!("platform.{method}"), params.clone()).await;
        assert_eq!(got, want, "{method} {params}");
    }
}

/// Walks over all pages and returns the UTXOs of each.
async fn pages(node: &Node, owners: &[u8], source: &str, limit: u32) -> Vec<Vec<String>> {
    let addresses: Vec<_> = owners.iter().copied().map(shown).collect();
    let (mut pages, mut start) = (Vec::new(), Value::Null);
    loop {
        let params = json!({"addresses": addresses, "sourceChain": source, "limit": limit, "startIndex": start});
        let mut page = node.result(P, "platform.getUTXOs", params).await;
        let utxos: Vec<String> = serde_json::from_value(page["utxos"].take()).unwrap();
        assert_eq!(page["numFetched"], json!(utxos.len().to_string()));
        assert!(page.get("sourceChain").is_none());
        start = page["endIndex"].take();
        if utxos.is_empty() {
            return pages;
        }
        assert!(pages.len() < 100, "the walk does not end");
        pages.push(utxos);
    }
}

fn hex(utxo: &Utxo) -> String {
    esker_primitives::hexfmt::encode_checked(&utxo.to_versioned_bytes())
}

/// Every UTXO of some owners once, by owner and then by ID, whatever the size of the pages.
async fn check_walks(node: &Node, source: &str, utxos: &[Utxo]) {
    for owners in [&[1_u8][..], &[2], &[1, 2, 3], &[9, 1]] {
        let mut want: Vec<_> = utxos
            .iter()
            .filter_map(|utxo| {
                let asked = |address: &&ShortId| owners.iter().any(|n| owner(*n) == **address);
                let lowest = utxo.output.owners().addresses.iter().filter(asked).min()?;
                Some((*lowest, utxo.utxo_id.input_id(), hex(utxo)))
            })
            .collect();
        want.sort();
        let want: Vec<_> = want.into_iter().map(|(_, _, text)| text).collect();
        for limit in [0, 1, 2, 3, 1024] {
            let got = pages(node, owners, source, limit).await;
            assert_eq!(got.concat(), want, "{owners:?} by {limit}");
            let distinct: BTreeSet<_> = got.concat().into_iter().collect();
            assert_eq!(distinct.len(), want.len());
        }
    }
}

fn some_utxos() -> Vec<Utxo> {
    vec![
        utxo(1, 10, 0, &[1]),
        utxo(2, 20, START_MS / 1000 + 1, &[1, 2]),
        utxo(3, 30, 0, &[2]),
        utxo(4, 40, 0, &[2, 3]),
        utxo(5, 50, START_MS / 1000, &[3]),
        utxo(6, 60, 0, &[8]),
    ]
}

#[tokio::test]
async fn outputs_on_the_chain() {
    let utxos = some_utxos();
    let node = Node::with_utxos(utxos.clone()).await;
    check_walks(&node, "", &utxos).await;
    check_walks(&node, "P", &utxos).await;
    let params = json!({"addresses": [shown(1)], "encoding": "json"});
    let got = node.error(P, "platform.getUTXOs", params).await;
    let ids = [1, 2].map(|n| some_utxos()[n - 1].utxo_id.input_id());
    let first = ids.iter().min().unwrap();
    assert_eq!(
        got,
        format!("couldn't encode UTXO {first} as string: unsupported encoding in method")
    );

    let params = json!({"addresses": [shown(1), shown(2)]});
    let mut got = node.result(P, "platform.getBalance", params).await;
    assert_eq!(got["utxoIDs"].take().as_array().unwrap().len(), 4);
    let sums = |amount: &str| json!({NATIVE: amount});
    let want = json!({"balance": "100", "unlocked": "80", "lockedStakeable": "0", "lockedNotStakeable": "20",
        "balances": sums("100"), "unlockeds": sums("80"), "lockedStakeables": {},
        "lockedNotStakeables": sums("20"), "utxoIDs": null});
    assert_eq!(got, want);
}

#[tokio::test]
async fn nothing_there() {
    let node = Node::start().await;
    for source in ["", "X"] {
        let params = json!({"addresses": [shown(2), shown(1)], "sourceChain": source});
        let got = node.result(P, "platform.getUTXOs", params).await;
        let want = json!({"numFetched": "0", "utxos": [], "endIndex": {"address": shown(2), "utxo": ZERO},
            "encoding": "hex"});
        assert_eq!(got, want);
    }
    let got = node.result(P, "platform.getBalance", json!({"addresses": [shown(1)]})).await;
    let want = json!({"balance": "0", "unlocked": "0", "lockedStakeable": "0", "lockedNotStakeable": "0",
        "balances": {}, "unlockeds": {}, "lockedStakeables": {}, "lockedNotStakeables": {}, "utxoIDs": null});
    assert_eq!(got, want);
}

#[tokio::test]
async fn what_another_chain_exported() {
    let node = Node::start().await;
    let utxos = some_utxos();
    let puts = utxos.iter().map(|utxo| Element {
        key: utxo.utxo_id.input_id().as_bytes().to_vec(),
        value: utxo.to_versioned_bytes(),
        traits: utxo.output.owners().addresses.iter().map(|a| a.as_bytes().to_vec()).collect(),
    });
    let requests = Requests { puts: puts.collect(), removes: Vec::new() };
    let x: ChainId = X.parse().unwrap();
    let snapshot = node.store.snapshot().unwrap();
    let mut pending = PendingWrites::new(snapshot.as_ref());
    apply(&mut pending, &x, &BTreeMap::from([(ChainId::ZERO, requests)])).unwrap();
    node.store.commit(pending.into_writes()).await.unwrap();
    drop(snapshot);
    check_walks(&node, "X", &utxos).await;
    check_walks(&node, "C", &[]).await;
    check_walks(&node, "", &[]).await;
}
