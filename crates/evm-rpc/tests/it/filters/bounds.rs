//! Requests beyond a limit, and their errors.

use alloy_primitives::B256;
use esker_evm_rpc::evm::FilterConfig;
use serde_json::json;

use super::world::World;
use crate::world::Setup;

const ALL: &str = r#"[{"fromBlock":"0x0"}]"#;
const COUNTS: [u64; 10] = [4, 5, 5, 6, 6, 6, 6, 6, 6, 7];

async fn filled(config: FilterConfig) -> World {
    let world = World::new(config);
    world.fill().await;
    world
}

/// Asks as the error's data say.
async fn advised(world: &World, error: &serde_json::Value) -> Vec<u64> {
    let (from, to) = (&error["data"]["from"], &error["data"]["to"]);
    world.heights("eth_getLogs", &format!("[{{\"fromBlock\":{from},\"toBlock\":{to}}}]")).await
}

#[tokio::test]
async fn too_many_logs_are_refused_with_a_range_that_passes() {
    let world = filled(FilterConfig { max_logs: 4, ..FilterConfig::default() }).await;
    let error = world.error("eth_getLogs", ALL).await;
    let text = "query returned more than 4 results. Try with this block range [0x0, 0x5].";
    let data = json!({"from": "0x0", "to": "0x5", "limit": 4});
    assert_eq!(error, json!({"code": -32005, "message": text, "data": data}));
    assert_eq!(advised(&world, &error).await, [4, 5, 5]);
    // Logs of one block are never parted, however many.
    let one = r#"[{"fromBlock":"0x6","toBlock":"0x6"}]"#;
    assert_eq!(world.heights("eth_getLogs", one).await, [6; 6]);
    let error = world.error("eth_getLogs", r#"[{"fromBlock":"0x6"}]"#).await;
    assert_eq!(error["data"], json!({"from": "0x6", "to": "0x6", "limit": 4}));
    assert_eq!(advised(&world, &error).await, [6; 6]);

    let exact = filled(FilterConfig { max_logs: 10, ..FilterConfig::default() }).await;
    assert_eq!(exact.heights("eth_getLogs", ALL).await, COUNTS);
}

#[tokio::test]
async fn too_many_bytes_are_refused_with_a_range_that_passes() {
    let world = filled(FilterConfig { max_bytes: 2_500, ..FilterConfig::default() }).await;
    let error = world.error("eth_getLogs", ALL).await;
    let text = "query returned more than 2500 bytes. Try with this block range [0x0, 0x5].";
    assert_eq!((&error["code"], &error["message"]), (&json!(-32005), &json!(text)));
    assert_eq!(advised(&world, &error).await, [4, 5, 5]);
}

#[tokio::test]
async fn a_search_that_takes_too_long_ends_between_two_blocks() {
    let world = filled(FilterConfig { max_search_ms: 0, ..FilterConfig::default() }).await;
    let error = world.error("eth_getLogs", ALL).await;
    let text = "query took longer than 0 ms. Try with this block range [0x0, 0x3].";
    let data = json!({"from": "0x0", "to": "0x3", "limit": 0});
    assert_eq!(error, json!({"code": -32005, "message": text, "data": data}));
    assert!(advised(&world, &error).await.is_empty());
    // Whoever asks for one block gets it.
    let one = r#"[{"fromBlock":"0x6","toBlock":"0x6"}]"#;
    assert_eq!(world.heights("eth_getLogs", one).await, [6; 6]);
}

#[tokio::test]
async fn blocks_of_a_query_are_counted() {
    let world = filled(FilterConfig { max_blocks: 3, ..FilterConfig::default() }).await;
    let range =
        |from: u64, to: u64| format!("[{{\"fromBlock\":\"{from:#x}\",\"toBlock\":\"{to:#x}\"}}]");
    assert_eq!(world.heights("eth_getLogs", &range(3, 5)).await, [4, 5, 5]);
    // The reference's error, which has no data.
    let text = "requested too many blocks from 3 to 6, maximum is set to 3";
    let error = json!({"code": -32000, "message": text});
    assert_eq!(world.error("eth_getLogs", &range(3, 6)).await, error);
}

#[tokio::test]
async fn thousands_of_topics_are_one_question() {
    let world = filled(FilterConfig::default()).await;
    let topic = "\"0x0364df562746170da7802b126b4cd83eac241e475c171413a4ff18c93673c0d7\"";
    let strangers: Vec<_> = (0..10_000_u64)
        .map(|n| format!("\"{}\"", B256::left_padding_from(&n.to_be_bytes())))
        .collect();
    let strangers = strangers.join(",");
    let params = |topics: &str| format!("[{{\"fromBlock\":\"0x0\",\"topics\":[{topics}]}}]");
    let found = world.heights("eth_getLogs", &params(&format!("[{strangers},{topic}]"))).await;
    // The recording has one more log whose first topic is a small number.
    assert_eq!(found, [4, 6, 6, 6, 6, 6, 7]);
    let second = world.heights("eth_getLogs", &params(&format!("{topic},[{strangers}]"))).await;
    assert!(second.is_empty());
    let third = params(&format!("{topic},null,[{strangers}]"));
    assert_eq!(world.heights("eth_getLogs", &third).await, [4, 6, 6, 6, 6, 7]);
    let filter = world.install("eth_newFilter", &third).await;
    assert_eq!(world.heights("eth_getFilterLogs", &filter).await, [4, 6, 6, 6, 6, 7]);
}

#[tokio::test]
async fn ranges_beyond_the_head() {
    let range =
        |from: &str, to: &str| format!("[{{\"fromBlock\":\"{from}\",\"toBlock\":\"{to}\"}}]");
    let world = filled(FilterConfig::default()).await;
    for (from, to, text) in [
        ("0x0", "0x9", "requested to block 9 after last accepted block 8"),
        ("0x9", "latest", "requested from block 9 after last accepted block 8"),
        ("0x9", "0x8", "invalid block range params"),
        ("0x8", "0x0", "begin block 8 is greater than end block 0"),
        ("pending", "0x9", "requested to block 9 after last accepted block 8"),
        ("pending", "safe", "invalid block range params"),
    ] {
        let error = world.error("eth_getLogs", &range(from, to)).await;
        assert_eq!(error, json!({"code": -32000, "message": text}), "{from} to {to}");
    }
    let setup = Setup { allow_unfinalized_queries: true, ..Setup::ARCHIVE };
    let world = World::with(setup, FilterConfig::default(), None);
    world.fill().await;
    assert_eq!(world.heights("eth_getLogs", &range("0x7", "0x64")).await, [7]);
    assert!(world.heights("eth_getLogs", &range("0x9", "0x64")).await.is_empty());
    let error = world.error("eth_getLogs", r#"[{"fromBlock":"0x9"}]"#).await;
    assert_eq!(error["message"], "begin block 9 is greater than end block 8");
}
