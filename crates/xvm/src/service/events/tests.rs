//! The sessions of connections over a chain in memory.

use std::sync::Arc;
use std::task::{Context, Poll};

use esker_rpc::Caller;
use esker_rpc::socket::{Overrun, SocketDialect as _, SocketSession};
use futures_util::task::noop_waker;

use super::{EventSocket, MAX_LAG};
use crate::service::tests::chain;

async fn subscribe(session: &dyn SocketSession, params: &str) {
    let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"xvm.subscribe","params":{params}}}"#);
    let answer = session.answer(call.as_bytes(), &Caller::default()).await;
    assert!(!answer.failed, "{params}");
    let [made] = answer.made.as_slice() else { panic!("{:?}", answer.made) };
    session.release(made);
}

fn poll(session: &dyn SocketSession, room: usize) -> (Poll<Result<(), Overrun>>, usize) {
    let waker = noop_waker();
    let mut sent = Vec::new();
    let polled =
        session.poll_events(&mut Context::from_waker(&waker), room, &mut |_| sent.push(()));
    (polled, sent.len())
}

#[tokio::test]
async fn a_client_that_had_caught_up_and_stops_reading_is_closed() {
    let vm = chain();
    let socket = EventSocket::new(Arc::clone(&vm));
    let (live, late) = (socket.connect(), socket.connect());
    subscribe(&*live, r#"{"kind":"blocks"}"#).await;
    subscribe(&*late, r#"{"kind":"blocks","fromHeight":0}"#).await;
    assert_eq!(poll(&*live, 1000), (Poll::Pending, 0));
    vm.events.open(1 + MAX_LAG);
    assert_eq!(poll(&*live, 0), (Poll::Pending, 0));
    vm.events.open(2 + MAX_LAG);
    assert_eq!(poll(&*live, 0), (Poll::Ready(Err(Overrun)), 0));
    // One that reads the past may take its time.
    assert_eq!(poll(&*late, 0), (Poll::Pending, 0));
}

#[tokio::test]
async fn the_genesis_is_block_0_with_the_assets_that_it_creates() {
    let vm = chain();
    let session = EventSocket::new(vm).connect();
    for kind in ["blocks", "transactions", "utxos"] {
        subscribe(&*session, &format!(r#"{{"kind":"{kind}","fromHeight":0}}"#)).await;
    }
    let mut sent = Vec::new();
    std::future::poll_fn(|cx| {
        let polled = session.poll_events(cx, 1_000_000, &mut |parts| sent.push(parts.concat()));
        assert_ne!(polled, Poll::Ready(Err(Overrun)));
        if sent.len() >= 3 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let texts: Vec<_> = sent.into_iter().map(|text| String::from_utf8(text).unwrap()).collect();
    let has = |member: &str| texts.iter().filter(|text| text.contains(member)).count();
    assert_eq!(texts.len(), 3);
    assert_eq!((has(r#""txIDs":[]"#), has(r#""type":"create asset""#)), (1, 1), "{texts:?}");
    assert_eq!(has(r#""change":"created""#), 1);
    assert!(texts.iter().all(|text| text.contains(r#""height":"0""#) && text.ends_with("}}\n")));
}

#[tokio::test]
async fn what_ended_or_left_holds_no_slot() {
    let vm = chain();
    let session = EventSocket::new(Arc::clone(&vm)).connect();
    subscribe(&*session, r#"{"kind":"utxos","assetIDs":["NAT"]}"#).await;
    assert!(vm.events.has_subscribers());
    assert_eq!(vm.subscription_counts(), [("blocks", 0), ("transactions", 0), ("utxos", 1)]);
    drop(session);
    assert!(!vm.events.has_subscribers());
    assert_eq!(vm.subscription_counts(), [("blocks", 0), ("transactions", 0), ("utxos", 0)]);
}
