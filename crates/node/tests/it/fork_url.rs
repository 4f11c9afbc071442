//! The source of a running fork is replaced (`anvil_setRpcUrl`).

use std::time::Duration;

use esker_node::RunningNode;
use esker_settings::config::Mode;
use esker_testkit::http_client::Client;
use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::fork::{
    Chain, ELEVEN_ACCOUNTS, FROM, OTHER, UNREAD, c_chain_url, source, source_as,
    source_with_unread, start, start_as, start_when_free, unread, url,
};
use crate::fork_reset::Reset;
use crate::proxy::Proxy;

const METHOD: &str = "anvil_setRpcUrl";
/// Nothing listens there.
const NOBODY: &str = "http://127.0.0.1:1";
/// The longest wait of a test.
const PATIENCE: Duration = Duration::from_secs(60);

fn balance_of(n: usize) -> Value {
    json!([unread(n), "latest"])
}

async fn error(chain: &mut Chain, method: &str, params: Value) -> String {
    let reply = timeout(PATIENCE, chain.reply(method, params)).await;
    let reply = reply.unwrap_or_else(|_| panic!("no answer to {method}"));
    reply["error"]["message"].as_str().unwrap_or_else(|| panic!("{method}: {reply}")).to_owned()
}

async fn set(chain: &mut Chain, url: &str) {
    assert_eq!(chain.ask(METHOD, json!([url])).await, Value::Null);
}

/// The URL that a node shows.
async fn shown(node: &RunningNode) -> Value {
    let mut info = Chain::of(node).await.ask("anvil_nodeInfo", json!([])).await;
    let url = info["forkConfig"]["forkUrl"].take();
    let mut client = Client::connect(node.http_addr()).await;
    let status = client.send("GET /ext/status HTTP/1.1\r\nHost: localhost\r\n\r\n").await.json();
    assert_eq!(status["fork"].get("url").cloned().unwrap_or_default(), url, "{status}");
    assert_eq!(node.forked_block().unwrap().url.map_or(Value::Null, Value::from), url);
    url
}

#[tokio::test(flavor = "multi_thread")]
async fn the_source_of_a_fork_is_replaced() {
    let (node, mut at_source, _) = source_with_unread().await;
    let first = Proxy::start(node.http_addr()).await;
    let second = Proxy::start(node.http_addr()).await;
    let forked = start(&[("fork-url", &first.url), ("fork-retries", "0")]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    assert_eq!(fork.ask("eth_getBalance", balance_of(1)).await, "0x1");
    assert_eq!(shown(&forked).await, first.url);
    set(&mut fork, &second.url).await;
    assert_eq!(shown(&forked).await, second.url);
    drop(first);
    second.take_heads();
    // State, a block of before the fork, and a transaction.
    assert_eq!(fork.ask("eth_getBalance", balance_of(2)).await, "0x1");
    let block = json!(["0x2", true]);
    let hash = at_source.ask("eth_getBlockByNumber", block.clone()).await["hash"].take();
    assert_eq!(fork.ask("eth_getBlockByNumber", block).await["hash"], hash);
    fork.send(json!({"from": FROM, "to": unread(3), "value": "0x7"})).await;
    assert_eq!(fork.ask("eth_getBalance", balance_of(3)).await, "0x8");
    assert!(second.take_heads().len() >= 3);
    // A user name and a password are sent, and not shown.
    let secret = second.url.replace("http://", "http://user:hunter22@") + "/?key=hunter33";
    set(&mut fork, &secret).await;
    assert_eq!(shown(&forked).await, format!("{}?***", second.url));
    assert_eq!(fork.ask("eth_getBalance", balance_of(4)).await, "0x1");
    let heads = second.take_heads();
    let is_whole = |head: &String| {
        head.starts_with("POST /?key=hunter33 ") && head.contains("Basic dXNlcjpodW50ZXIyMg==")
    };
    assert!(!heads.is_empty() && heads.iter().all(is_whole), "{heads:?}");
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_source_of_a_c_chain_is_replaced() {
    let (node, _, _) = source_as(Mode::Dev, &ELEVEN_ACCOUNTS).await;
    let by_path = c_chain_url(&node, Mode::Dev);
    let by_port = format!("http://{}", node.evm_addr().unwrap());
    let forked = start_as(Mode::Dev, &[("fork-url", &by_path)]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    set(&mut fork, &by_port).await;
    assert_eq!(shown(&forked).await, by_port);
    assert_ne!(fork.ask("eth_getBalance", json!([UNREAD, "latest"])).await, "0x0");
    fork.send(json!({"from": FROM, "to": OTHER, "value": "0x1"})).await;
    let own_port = format!("http://{}", forked.evm_addr().unwrap());
    for own in [own_port, c_chain_url(&forked, Mode::Dev)] {
        let text = error(&mut fork, METHOD, json!([own])).await;
        assert_eq!(text, "a node can't fork itself");
    }
    // A block of another kind of chain.
    let ethereum = start(&[]).await.unwrap();
    let text = error(&mut fork, METHOD, json!([url(&ethereum)])).await;
    assert!(text.contains("is of chain 31337, and the chain is on block 4"), "{text}");
    assert_eq!(shown(&forked).await, by_port);
    for node in [forked, ethereum, node] {
        node.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_that_can_not_be_used_changes_nothing() {
    let (node, _, _) = source_with_unread().await;
    let other_chain = start(&[("chain-id", "5")]).await.unwrap();
    let other_block = start(&[("timestamp", "4000")]).await.unwrap();
    Chain::of(&other_block).await.ask("anvil_mine", json!(["0x4"])).await;
    let short = start(&[]).await.unwrap();
    let url_of = url(&node);
    let forked = start(&[("fork-url", &url_of), ("fork-retries", "0")]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    let own = url(&forked);
    let of_chain = format!("{} is of chain 5, and the chain is on block 4 (0x", url(&other_chain));
    let of_block = format!("{} has block 4 with hash 0x", url(&other_block));
    let of_short = format!("{} has no block 4", url(&short));
    let both = format!("{url_of},{own}");
    let too_long = format!("{url_of}/{}", "x".repeat(1 << 20));
    for (n, (params, text)) in [
        (json!([NOBODY]), "http://127.0.0.1:1: eth_"),
        (json!([url(&other_chain)]), &*of_chain),
        (json!([url(&other_block)]), &of_block),
        (json!([url(&short)]), &of_short),
        (json!([own]), "a node can't fork itself"),
        (json!([own.replace("127.0.0.1", "localhost")]), "a node can't fork itself"),
        (json!([both]), "a node can't fork itself"),
        (
            json!(["file:///etc/passwd"]),
            "the fork URL is not valid (not a URL): expected http://HOST",
        ),
        (json!(["ws://127.0.0.1:1"]), "the fork URL is not valid (no http:// or https://)"),
        (json!(["127.0.0.1"]), "the fork URL is not valid"),
        (json!(["http://user:hunter22@127.0.0.1:0"]), "the fork URL is not valid (not a port)"),
        (json!(["http://user:hunter22@127.0.0.1:1"]), "http://127.0.0.1:1: eth_"),
        (json!([""]), "expected a URL of at most 4096 bytes"),
        (json!([" , "]), "expected a URL of at most 4096 bytes"),
        (json!([too_long]), "expected a URL of at most 4096 bytes"),
        (json!([7]), "cannot unmarshal number"),
        (json!([null]), "expected a URL of at most 4096 bytes"),
        (json!([]), "missing value for required argument 0"),
        (json!([url_of, 1]), "too many arguments"),
    ]
    .into_iter()
    .enumerate()
    {
        let got = error(&mut fork, METHOD, params).await;
        assert!(got.contains(text) && !got.contains("hunter22"), "{text}: {got}");
        assert!(got.len() < 1000, "{text}: {got}");
        assert_eq!(shown(&forked).await, url_of);
        assert_eq!(fork.ask("eth_getBalance", balance_of(n)).await, "0x1");
    }
    let mut unforked = Chain::of(&short).await;
    assert_eq!(
        error(&mut unforked, METHOD, json!([url_of])).await,
        "this node forks no other network"
    );
    for node in [forked, node, other_chain, other_block, short] {
        node.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_that_hang_are_answered_by_the_other_source() {
    let (node, _, _) = source_with_unread().await;
    let first = Proxy::start(node.http_addr()).await;
    let forked = start(&[("fork-url", &first.url)]).await.unwrap();
    let (mut waiting, mut fork) = (Chain::of(&forked).await, Chain::of(&forked).await);
    first.hold(true);
    first.take_heads();
    let hanging = waiting.ask("eth_getBalance", balance_of(1));
    let replaced = async {
        while first.take_heads().is_empty() {
            tokio::task::yield_now().await;
        }
        set(&mut fork, &url(&node)).await;
    };
    let both = timeout(Duration::from_secs(15), join(hanging, replaced)).await;
    assert_eq!(both.expect("the read does not hang on").0, "0x1");
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_go_to_their_own_node_alone() {
    let (node, _, _) = source_with_unread().await;
    let first = Proxy::start(node.http_addr()).await;
    let second = Proxy::start(node.http_addr()).await;
    let header = ("fork-header", "X-Names: one, two\nX-Key: hunter22");
    let reset = Reset::new(&[("fork-url", &first.url), header]).await;
    let has_headers = |head: &String| {
        let lower = head.to_lowercase();
        lower.contains("\r\nx-names: one, two\r\n") && lower.contains("x-key: hunter22")
    };
    let heads = first.take_heads();
    assert!(!heads.is_empty() && heads.iter().all(has_headers), "{heads:?}");
    reset.ask(METHOD, json!([second.url])).await;
    reset.ask("eth_getBalance", balance_of(1)).await;
    let heads = second.take_heads();
    assert!(!heads.is_empty() && !heads.iter().any(has_headers), "{heads:?}");
    // A reset to a block goes to the present source, still without them.
    reset.ask("anvil_reset", json!([{"forking": {"blockNumber": 2}}])).await;
    assert_eq!(reset.place().await, (json!(second.url), json!(2), json!("0x2")));
    let heads = second.take_heads();
    assert!(!heads.is_empty() && !heads.iter().any(has_headers), "{heads:?}");
    assert_eq!(first.take_heads(), Vec::<String>::new());
    reset.stop().await;
    // Of two URLs, the one of the settings gets them.
    let reset = Reset::new(&[("fork-url", &first.url), header]).await;
    reset.ask(METHOD, json!([format!("{}, {}", second.url, first.url)])).await;
    reset.ask(METHOD, json!([first.url])).await;
    first.take_heads();
    reset.ask("eth_getBalance", balance_of(2)).await;
    let heads = first.take_heads();
    assert!(!heads.is_empty() && heads.iter().all(has_headers), "{heads:?}");
    assert!(!second.take_heads().iter().any(has_headers));
    reset.stop().await;
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_folder_gets_its_source_back_until_the_next_start() {
    let (node, _, _) = source_with_unread().await;
    let (url_of, folder) = (url(&node), tempfile::tempdir().unwrap());
    let data = ("data-dir", folder.path().to_str().unwrap());
    start(&[data, ("fork-url", &url_of)]).await.unwrap().stop().await.unwrap();
    for _ in 0..2 {
        let flags = [data, ("fork-url", NOBODY), ("fork-retries", "0")];
        let forked = start_when_free(Mode::Evm, &flags).await.unwrap();
        let mut fork = Chain::of(&forked).await;
        assert_eq!(shown(&forked).await, Value::Null);
        let lacking = error(&mut fork, "eth_getBalance", balance_of(1)).await;
        assert!(lacking.contains("anvil_setRpcUrl"), "{lacking}");
        let text = error(&mut fork, METHOD, json!([NOBODY])).await;
        assert!(text.contains("unreachable"), "{text}");
        set(&mut fork, &url_of).await;
        assert_eq!(shown(&forked).await, url_of);
        // The block before is read from the source, and so is new state.
        assert_eq!(fork.ask("eth_getBlockByNumber", json!(["0x1", false])).await["number"], "0x1");
        let receipt = fork.send(json!({"from": FROM, "to": OTHER, "value": "0x1"})).await;
        assert_eq!(receipt["status"], "0x1");
        forked.stop().await.unwrap();
    }
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_gets_a_source_of_its_block() {
    use esker_fork::cache::{cache_files, pack_cache};
    let (node, _, _) = source_with_unread().await;
    let other = start(&[("timestamp", "4000")]).await.unwrap();
    let (url_of, folder) = (url(&node), tempfile::tempdir().unwrap());
    let data = ("data-dir", folder.path().to_str().unwrap());
    start(&[data, ("fork-url", &url_of)]).await.unwrap().stop().await.unwrap();
    let cache = cache_files(&folder.path().join("fork")).unwrap().remove(0).path;
    let pack = folder.path().join("run.pack");
    pack_cache(&cache, 1 << 30, &pack).unwrap();
    let forked = start(&[("fork-from", pack.to_str().unwrap())]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    assert!(error(&mut fork, "eth_getBalance", balance_of(1)).await.contains("run.pack"));
    assert!(error(&mut fork, METHOD, json!([url(&other)])).await.contains("has no block 4"));
    assert_eq!(shown(&forked).await, Value::Null);
    set(&mut fork, &url_of).await;
    assert_eq!(fork.ask("eth_getBalance", balance_of(1)).await, "0x1");
    for node in [forked, other, node] {
        node.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_reads_and_blocks_at_the_same_time() {
    let (node, _, _) = source_with_unread().await;
    let first = Proxy::start(node.http_addr()).await;
    let second = Proxy::start(node.http_addr()).await;
    let forked = start(&[("fork-url", &first.url)]).await.unwrap();
    let urls = [first.url.clone(), second.url.clone()];
    let changes = (0..4).map(|client| {
        let (forked, urls) = (&forked, &urls);
        async move {
            let mut chain = Chain::of(forked).await;
            for n in 0..25 {
                let reply = chain.reply(METHOD, json!([urls[(client + n) % 2]])).await;
                let error = reply["error"]["message"].as_str();
                assert!(
                    error.is_none_or(|text| text.starts_with("another URL was set")),
                    "{reply}"
                );
            }
        }
    });
    let reads = (0..4).map(|client| {
        let forked = &forked;
        async move {
            let mut chain = Chain::of(forked).await;
            for n in 0..40 {
                let balance = chain.ask("eth_getBalance", balance_of(client * 100 + n)).await;
                assert_eq!(balance, "0x1");
            }
        }
    });
    let blocks = async {
        let mut chain = Chain::of(&forked).await;
        for n in 0..25 {
            chain.send(json!({"from": FROM, "to": unread(1000 + n), "value": "0x1"})).await;
        }
        assert_eq!(chain.ask("eth_blockNumber", json!([])).await, json!(format!("{:#x}", 4 + 25)));
    };
    let all = join(join(join_all(changes), join_all(reads)), blocks);
    timeout(PATIENCE, all).await.expect("all clients are answered");
    assert!(urls.iter().any(|url| *url == *shown_url(&forked)), "one of the two stays");
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}

fn shown_url(node: &RunningNode) -> String {
    node.forked_block().unwrap().url.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_that_is_slow_holds_up_no_other() {
    let (node, _, _) = source().await;
    let held = Proxy::start(node.http_addr()).await;
    let url_of = url(&node);
    let forked = start(&[("fork-url", &url_of)]).await.unwrap();
    held.hold(true);
    let mut chains = Vec::new();
    for _ in 0..8 {
        chains.push(Chain::of(&forked).await);
    }
    let mut fork = Chain::of(&forked).await;
    let asked = chains.iter_mut().map(|chain| chain.reply(METHOD, json!([held.url])));
    let others = async {
        // All eight are being checked.
        let mut heads = 0;
        while heads < 16 {
            heads += held.take_heads().len();
            tokio::task::yield_now().await;
        }
        let text = error(&mut fork, METHOD, json!([url_of])).await;
        assert_eq!(text, "too many changes of the URL at once: try again");
        // Bad arguments take no place.
        assert!(error(&mut fork, METHOD, json!(["x"])).await.contains("fork URL is not valid"));
        held.hold(false);
    };
    let (replies, ()) = timeout(PATIENCE, join(join_all(asked), others)).await.unwrap();
    let refused = replies.iter().filter_map(|reply| reply["error"]["message"].as_str());
    assert!(refused.clone().all(|text| text.starts_with("another URL was set")), "{replies:?}");
    assert_eq!(shown_url(&forked), held.url);
    // One that is asked for later, and is faster, stays.
    held.hold(true);
    held.take_heads();
    let mut slow = Chain::of(&forked).await;
    let overtaken = error(&mut slow, METHOD, json!([held.url]));
    let faster = async {
        let mut heads = 0;
        while heads < 2 {
            heads += held.take_heads().len();
            tokio::task::yield_now().await;
        }
        set(&mut fork, &url_of).await;
        held.hold(false);
    };
    let (text, ()) = timeout(PATIENCE, join(overtaken, faster)).await.unwrap();
    assert_eq!(text, "another URL was set while this one was checked, and stays");
    assert_eq!(shown_url(&forked), url_of);
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_other_sites_change_no_source() {
    let (node, _, _) = source().await;
    let url_of = url(&node);
    let forked = start(&[("fork-url", &url_of)]).await.unwrap();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": METHOD, "params": [NOBODY]});
    let request = Client::post("/", &body.to_string());
    let request = request.replacen("\r\n", "\r\nOrigin: https://site.example\r\n", 1);
    let reply = Client::connect(forked.http_addr()).await.send(&request).await.json();
    let text = reply["error"]["message"].as_str().unwrap();
    assert!(text.starts_with("origin not allowed"), "{reply}");
    assert_eq!(shown(&forked).await, url_of);
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}
