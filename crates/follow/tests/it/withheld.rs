//! Sources that send data, but not the requested data.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use esker_chain::{Bundle, ChainMachine as _};
use esker_follow::{
    EskerSource, Feed, FeedItem, Hello, Record, Source as _, SourceError, Timeouts,
};
use esker_outbound::Dialer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::toy::{bundles, clock, machine};

const NETWORK: u32 = 7;
/// Time that the follower waits for sources.
const IDLE: Duration = Duration::from_secs(2);
/// A part of that time.
const PART: Duration = Duration::from_millis(250);

/// The bytes that a source sends after its head.
type Script = Arc<dyn Fn(Piece) -> Option<Bytes> + Send + Sync>;
/// The number of a piece.
type Piece = usize;

/// A source that sends piece after piece, with a pause before each but the first.
async fn source(pause: Duration, script: Script) -> EskerSource {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            tokio::spawn(send(client, pause, Arc::clone(&script)));
        }
    });
    let url = format!("http://{address}").parse().unwrap();
    let timeouts = Timeouts { idle: IDLE, ..Timeouts::default() };
    let genesis = machine(&clock()).genesis().id();
    EskerSource::new(url, Dialer::plain(), (NETWORK, genesis), timeouts)
}

async fn send(mut client: TcpStream, pause: Duration, script: Script) -> Option<Infallible> {
    let mut request = [0; 1024];
    let _head = client.read(&mut request).await.ok()?;
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n\r\n";
    client.write_all(head).await.ok()?;
    for piece in 0.. {
        if piece > 0 {
            tokio::time::sleep(pause).await;
        }
        client.write_all(&script(piece)?).await.ok()?;
    }
    None
}

fn greeting(tip: u64) -> Record {
    let genesis = machine(&clock()).genesis().id();
    Record::Hello(Hello { version: 0, network_id: NETWORK, genesis, parent: genesis, tip })
}

fn record(bundle: &Bundle) -> Record {
    Record::Bundle { bundle: bundle.clone(), proof: None }
}

/// Follows a source until it fails; returns how many bundles it sent before.
async fn follow(source: &EskerSource) -> (usize, SourceError) {
    let genesis = machine(&clock()).genesis().id();
    let run = async {
        let mut feed: Box<dyn Feed> = source.open((0, genesis)).await.unwrap();
        let mut bundles = 0;
        loop {
            match feed.next().await {
                Ok(FeedItem::Bundle { .. }) => bundles += 1,
                Ok(_) => {}
                Err(error) => return (bundles, error),
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), run)
        .await
        .expect("the source is left within 30 s")
}

fn text(bundles: usize, tip: u64) -> String {
    format!(
        "the source withholds: no bundle came within 2 s after bundle {bundles}, and it says that it has bundle {tip}"
    )
}

#[tokio::test]
async fn a_source_that_says_what_it_has_and_sends_none_is_left() {
    let all = bundles(&machine(&clock()).genesis(), 3);
    // A tip now and then, many tips at once, and some bundles before them.
    for (pause, sent) in [(PART, 0), (Duration::ZERO, 0), (PART, 3)] {
        let mut first = vec![greeting(9)];
        first.extend(all[..sent].iter().map(record));
        let first: Bytes = first.iter().flat_map(Record::to_bytes).collect::<Vec<_>>().into();
        let script = move |piece| match piece {
            0 => Some(first.clone()),
            _ => Some(Record::Tip(9).to_bytes()),
        };
        let (bundles, error) = follow(&source(pause, Arc::new(script)).await).await;
        assert_eq!((bundles, error.to_string()), (sent, text(sent, 9)));
        assert!(!error.is_fault());
    }
}

#[tokio::test]
async fn a_source_that_sends_a_record_byte_by_byte_is_left() {
    let bundle = bundles(&machine(&clock()).genesis(), 1).remove(0);
    for tip in [0, 9] {
        let first = greeting(tip).to_bytes();
        let slow = record(&bundle).to_bytes();
        let script = move |piece: usize| match piece {
            0 => Some(first.clone()),
            _ => Some(slow.slice(piece - 1..piece)),
        };
        let (bundles, error) = follow(&source(PART, Arc::new(script)).await).await;
        let text = "the source withholds: a record was not complete within 2 s";
        assert_eq!((bundles, error.to_string().as_str()), (0, text));
    }
}

#[tokio::test]
async fn a_source_without_news_and_one_with_long_bundles_are_not_left() {
    // A tip that this node has, for longer than it waits for a bundle.
    let quiet = |piece| match piece {
        0 => Some(greeting(0).to_bytes()),
        1..=12 => Some(Record::Tip(0).to_bytes()),
        _ => None,
    };
    let (_, error) = follow(&source(PART, Arc::new(quiet)).await).await;
    assert_eq!(error.to_string(), "the stream ended");
    // A bundle that takes longer, with a part of it in each piece.
    let mut bundle = bundles(&machine(&clock()).genesis(), 1).remove(0);
    bundle.blocks = vec![(bundle.id(), vec![7; 1 << 20].into())];
    let (first, long) = (greeting(1).to_bytes(), record(&bundle).to_bytes());
    let script = move |piece: usize| match piece {
        0 => Some(first.clone()),
        1..=12 => Some(long.slice(long.len() * (piece - 1) / 12..long.len() * piece / 12)),
        _ => None,
    };
    let (bundles, error) = follow(&source(PART, Arc::new(script)).await).await;
    assert_eq!((bundles, error.to_string().as_str()), (1, "the stream ended"));
}
