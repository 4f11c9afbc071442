//! The methods of a chain whose transactions go to another node: replies, errors, and what the keys of users build.

use std::sync::Arc;

use esker_chain::forward::{ForwardError, ReadOnlyForwarder, ScriptedForwarder, TxKind};
use esker_primitives::hexfmt;
use esker_xvm::TxStatus;
use serde_json::{Value, json};

use super::follow::{LIMITS, refusal, setup, within};
use super::keys::{Api, api, as_alice, id_of, text, with, world_over};
use super::world::{Setup, World, native_id, rejected, status, transfer};

async fn follower() -> (World, Api, Arc<ScriptedForwarder>) {
    let forwarder = ScriptedForwarder::new();
    let (world, api, _) = world_over(setup(&forwarder, LIMITS)).await;
    (world, api, forwarder)
}

fn send(world: &World, amount: u64) -> Value {
    as_alice(json!({ "amount": amount, "assetID": "AVAX", "to": text(&world.x, 9) }))
}

#[tokio::test]
async fn issue_methods_reply_with_what_the_source_says() {
    let (world, api, forwarder) = follower().await;
    let tx = transfer(&world.x, 1, native_id(&world.x), 7, 9);
    let args = json!({ "tx": hexfmt::encode_checked(tx.bytes()), "encoding": "hex" });
    for refused in [true, false] {
        forwarder.answer_all(refused.then(|| refusal("mempool is full")));
        let expected = match refused {
            true => Err("mempool is full".to_owned()),
            false => Ok(json!({ "txID": tx.id().to_string() })),
        };
        assert_eq!(within("issueTx", api.call("issueTx", &args)).await, expected);
        assert_eq!(within("issueTx", api.wallet("issueTx", &args)).await, expected);
    }
    assert_eq!(status(&world.x, tx.id()), TxStatus::Processing);
}

#[tokio::test]
async fn a_user_builds_on_what_it_has_forwarded() {
    let (world, api, forwarder) = follower().await;
    let from_one = with(send(&world, 7), json!({ "from": [text(&world.x, 1)] }));
    let first = id_of(&within("send", api.call("send", &from_one)).await.unwrap());
    let second = id_of(&within("send", api.call("send", &from_one)).await.unwrap());
    let calls: Vec<_> = forwarder.calls().iter().map(|tx| (tx.id, tx.kind)).collect();
    assert_eq!(calls, [(first, TxKind::Asset), (second, TxKind::AssetWallet)]);
    for id in [first, second] {
        assert_eq!(status(&world.x, id), TxStatus::Processing);
    }
    forwarder.answer_all(Some(ForwardError::Unreachable("gone".into())));
    let error = within("send", api.wallet("send", &from_one)).await.unwrap_err();
    assert!(error.starts_with("no source is reachable (gone)"), "{error}");
    assert_eq!(forwarder.calls().len(), 3);
    let lost = forwarder.calls()[2].id;
    assert_eq!(status(&world.x, lost), rejected(&error));
    // Its coins are free again.
    forwarder.answer_all(None);
    within("send", api.call("send", &from_one)).await.unwrap();
}

#[tokio::test]
async fn read_only_refuses_before_it_looks_at_arguments() {
    let world = World::with(Setup {
        forwarder: Some((Arc::new(ReadOnlyForwarder), LIMITS)),
        ..Setup::default()
    });
    let api = api(&world.x);
    let error = "this node is read-only: send transactions to another node".to_owned();
    let methods = [
        "issueTx",
        "send",
        "sendMultiple",
        "sendNFT",
        "mint",
        "mintNFT",
        "createAsset",
        "createFixedCapAsset",
        "createVariableCapAsset",
        "createNFTAsset",
        "export",
        "import",
    ];
    for method in methods {
        // Of the wrong type: nobody looks.
        let reply = api.call(method, &json!({ "username": 1, "tx": 2 })).await;
        assert_eq!(reply, Err(error.clone()), "{method}");
    }
    for method in ["issueTx", "send", "sendMultiple"] {
        assert_eq!(api.wallet(method, &json!({ "tx": 1 })).await, Err(error.clone()), "{method}");
    }
    assert!(api.call("getHeight", &json!({})).await.is_ok());
}
