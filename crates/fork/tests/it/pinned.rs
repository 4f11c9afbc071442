//! Pinning a block: forms of headers, and sources that answer with something else.

use alloy_primitives::{B256, U256};
use esker_fork::ForkError;
use esker_fork::pin::{BlockChoice, HeaderForm, resolve};
use serde_json::{Value, json};

use crate::server::{Server, quick, within};
use crate::world::{CHAIN, HEIGHT, World, sample};

async fn pin(
    world: &World,
    choice: BlockChoice,
    accepts: bool,
) -> Result<esker_fork::pin::Pin, ForkError> {
    let world = world.clone();
    let server = Server::start(move |request, _| world.act(request)).await;
    let source = server.source(quick());
    within("pinning", resolve(&source, choice, accepts)).await
}

#[tokio::test]
async fn hashes_are_recomputed() {
    for (world, form) in [
        (World::new(sample()), HeaderForm::Ethereum),
        (World::c_chain(sample()), HeaderForm::CChain),
    ] {
        for choice in
            [BlockChoice::Latest, BlockChoice::Number(HEIGHT), BlockChoice::Hash(world.hash())]
        {
            let pin = pin(&world, choice, false).await.unwrap();
            assert_eq!((pin.hash, pin.form, pin.chain_id), (world.hash(), form, CHAIN));
            assert_eq!((pin.header.state_root, pin.header.number), (world.root, HEIGHT));
            assert_eq!(pin.header.base_fee, Some(U256::from(25)));
        }
    }
}

#[tokio::test]
async fn each_changed_field_is_noticed() {
    let world = World::new(sample());
    for field in world.block.as_object().unwrap().keys() {
        let mut lie = world.clone();
        let text = world.block[field].as_str().map(str::to_owned);
        let Some(text) = text.filter(|_| field != "size") else { continue };
        // The last digit, or an added byte.
        let changed = match text.strip_suffix('0') {
            Some(head) => format!("{head}1"),
            None if text == "0x" => "0x01".to_owned(),
            None => format!("{}0", &text[..text.len() - 1]),
        };
        lie.block[field] = json!(changed);
        let refused = pin(&lie, BlockChoice::Latest, false).await;
        assert!(matches!(refused, Err(ForkError::HeaderHash(_))), "{field}: {refused:?}");
        let accepted = pin(&lie, BlockChoice::Latest, true).await.unwrap();
        assert!(!accepted.is_verified(), "{field}");
    }
}

#[tokio::test]
async fn other_blocks_and_other_forms() {
    let world = World::new(sample());
    let other = pin(&world, BlockChoice::Number(HEIGHT + 1), false).await.unwrap_err();
    assert!(other.to_string().contains("the source says number 100, and it is 101"), "{other}");
    let other = pin(&world, BlockChoice::Hash(B256::ZERO), false).await.unwrap_err();
    assert!(matches!(&other, ForkError::Contradiction(found) if found.field == "hash"), "{other}");
    let change = |change: &dyn Fn(&mut Value)| {
        let mut world = world.clone();
        change(&mut world.block);
        world
    };
    let null = change(&|block| *block = Value::Null);
    let error = pin(&null, BlockChoice::Safe, false).await.unwrap_err();
    assert!(error.to_string().ends_with("there is no block safe"), "{error}");
    for (world, text) in [
        (change(&|block| *block = json!([1])), "expected an object, got [1]"),
        (
            change(&|block| block["stateRoot"] = Value::Null),
            "field \"stateRoot\": expected 32 bytes",
        ),
        (change(&|block| block["number"] = json!("100")), "field \"number\": expected a number"),
        (change(&|block| block["hash"] = json!("0x12")), "field \"hash\": expected 32 bytes"),
    ] {
        let error = pin(&world, BlockChoice::Latest, true).await.unwrap_err().to_string();
        assert!(error.contains(text) && error.contains("eth_getBlockByNumber"), "{error}");
    }
}
