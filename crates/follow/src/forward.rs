//! Passes transactions of clients to a source, by a JSON-RPC call of the source's own method.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use esker_chain::forward::{ForwardError, ForwardedTx, TxForwarder, TxKind};
use esker_outbound::{Dialer, ExchangeError, HttpConnection, SourceKind, SourceUrl};
use esker_primitives::sync::Mutex;
use esker_primitives::{excerpt, hexfmt};
use http_body_util::Full;
use serde_json::{Value, json};

/// Most bytes of a source's answer.
const MAX_ANSWER: usize = 64 << 10;
/// Most idle connections to a source.
const MAX_IDLE: usize = 16;
/// Time for a connection before the next source is tried.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// The source that gets transactions first, by its place in the list of sources: the one that took the last call. On
/// a network with certificates a [`crate::Follower`] sets it to the source that it connects to, so that no
/// transactions go to a source that it has refused.
#[derive(Clone, Debug, Default)]
pub struct PreferredSource(Arc<AtomicUsize>);

impl PreferredSource {
    /// The place of the source.
    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, place: usize) {
        self.0.store(place, Ordering::Relaxed);
    }
}

/// Passes transactions on to the first source that takes calls.
#[derive(Debug)]
pub struct SourceForwarder {
    sources: Vec<Arc<Target>>,
    preferred: PreferredSource,
}

/// One source.
struct Target {
    url: SourceUrl,
    dialer: Dialer,
    idle: Mutex<Vec<HttpConnection<Full<Bytes>>>>,
}

/// A call without an answer. If the caller drops it, the next call goes to another source first.
struct PendingCall<'a> {
    preferred: &'a PreferredSource,
    /// The source to ask first in that case; `None` once the call has ended.
    next: Option<usize>,
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        if let Some(next) = self.next {
            self.preferred.set(next);
        }
    }
}

/// The reason why a source gave no answer to a call.
enum CallError {
    /// The source did not get the call.
    NotSent(String),
    /// The source may have got the call.
    Lost(String),
}

impl From<ExchangeError> for CallError {
    fn from(error: ExchangeError) -> Self {
        match error {
            ExchangeError::NotSent(reason) => Self::NotSent(reason),
            ExchangeError::Lost(_) | ExchangeError::TooLong => Self::Lost(error.to_string()),
        }
    }
}

impl SourceForwarder {
    /// A forwarder to these sources, the preferred one first.
    pub fn new(urls: Vec<SourceUrl>, dialer: &Dialer) -> Self {
        let idle = || Mutex::new_named("follow.idle", Vec::new());
        let target = |url| Arc::new(Target { url, dialer: dialer.clone(), idle: idle() });
        let sources = urls.into_iter().map(target).collect();
        Self { sources, preferred: PreferredSource::default() }
    }

    /// Shares the preferred source with a follower.
    #[must_use]
    pub fn with_preferred(self, preferred: PreferredSource) -> Self {
        Self { preferred, ..self }
    }
}

#[async_trait]
impl TxForwarder for SourceForwarder {
    async fn forward(&self, tx: ForwardedTx) -> Result<(), ForwardError> {
        let first = self.preferred.get();
        let (mut last, mut lost) = ("no source is configured".to_owned(), None);
        for index in 0..self.sources.len() {
            let index = first.wrapping_add(index) % self.sources.len();
            let Some(source) = self.sources.get(index) else { continue };
            let mut unanswered =
                PendingCall { preferred: &self.preferred, next: Some(index.wrapping_add(1)) };
            let sent = source.send(&tx).await;
            unanswered.next = None;
            match sent {
                Ok(outcome) => {
                    self.preferred.set(index);
                    return outcome;
                }
                // The next source can be asked, since sending a transaction twice changes nothing.
                Err(CallError::NotSent(error)) => last = format!("{}: {error}", source.url),
                Err(CallError::Lost(error)) => lost = Some(format!("{}: {error}", source.url)),
            }
        }
        Err(match lost {
            // A source that may have the transaction matters more than one that does not.
            Some(error) => ForwardError::Lost(error),
            None => ForwardError::Unreachable(last),
        })
    }
}

impl Target {
    /// The source's answer to a transaction.
    async fn send(&self, tx: &ForwardedTx) -> Result<Result<(), ForwardError>, CallError> {
        let (path, body) = call(self.url.kind, tx);
        let mut lost = None;
        if let Some(kept) = self.kept() {
            match self.exchange(kept, &path, body.clone()).await {
                Ok(answer) => return outcome(&answer),
                // The source closed the connection before it was used.
                Err(CallError::NotSent(_)) => {}
                // The source closed it before it read the call, or after.
                Err(CallError::Lost(error)) => lost = Some(error),
            }
        }
        let sent = match self.connect().await {
            Ok(open) => self.exchange(open, &path, body).await,
            Err(error) => Err(error),
        };
        match (sent.and_then(|answer| outcome(&answer)), lost) {
            // The source may still have got the first call.
            (Err(CallError::NotSent(error)), Some(lost)) => {
                Err(CallError::Lost(format!("{lost}; then {error}")))
            }
            (answered, _) => answered,
        }
    }

    /// An idle connection that is open, as far as is known.
    fn kept(&self) -> Option<HttpConnection<Full<Bytes>>> {
        let mut idle = self.idle.lock();
        idle.retain(|open| !open.sender.is_closed());
        idle.pop()
    }

    async fn connect(&self) -> Result<HttpConnection<Full<Bytes>>, CallError> {
        let connected = tokio::time::timeout(CONNECT_TIMEOUT, self.dialer.connect(&self.url));
        match connected.await {
            Ok(connected) => connected.map_err(|error| CallError::NotSent(error.to_string())),
            Err(_) => {
                let text = format!("no connection within {} s", CONNECT_TIMEOUT.as_secs());
                Err(CallError::NotSent(text))
            }
        }
    }

    /// Sends a call and keeps the connection.
    async fn exchange(
        &self,
        mut open: HttpConnection<Full<Bytes>>,
        path: &str,
        body: Bytes,
    ) -> Result<(u16, Bytes), CallError> {
        let (status, answer) = open.post_json(&self.url, path, body, MAX_ANSWER).await?;
        let mut idle = self.idle.lock();
        if idle.len() < MAX_IDLE && !open.sender.is_closed() {
            idle.push(open);
        }
        Ok((status.as_u16(), answer))
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.url)
    }
}

/// Path and body of the call that passes a transaction on.
fn call(kind: SourceKind, tx: &ForwardedTx) -> (String, Bytes) {
    // Each kind of source has its own names. Those of AvalancheGo belong to its exact protocol.
    let (suffix, method) = match (kind, tx.kind) {
        (SourceKind::Esker, TxKind::Asset) => ("", "xvm.issueTx"),
        (SourceKind::Esker, TxKind::Atomic) => ("/nat", "nat.issueTx"),
        (SourceKind::Esker, TxKind::Evm) => ("/rpc", "evm_sendRawTransaction"),
        (SourceKind::AvalancheGo, TxKind::Asset) => ("", "avm.issueTx"),
        (SourceKind::AvalancheGo, TxKind::Atomic) => ("/avax", "avax.issueTx"),
        (SourceKind::AvalancheGo, TxKind::Evm) => ("/rpc", "eth_sendRawTransaction"),
        (_, TxKind::AssetWallet) => ("/wallet", "wallet.issueTx"),
    };
    let params = match tx.kind {
        TxKind::Evm => json!([hexfmt::encode_plain(&tx.bytes)]),
        TxKind::Asset | TxKind::AssetWallet | TxKind::Atomic => {
            json!({ "tx": hexfmt::encode_checked(&tx.bytes), "encoding": "hex" })
        }
    };
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    (format!("/ext/bc/{}{suffix}", tx.chain), body.to_string().into())
}

/// Interprets a source's answer.
fn outcome((status, body): &(u16, Bytes)) -> Result<Result<(), ForwardError>, CallError> {
    let text = || {
        let text = String::from_utf8_lossy(body);
        format!("status {status}: {}", excerpt(text.trim()))
    };
    let Ok(answer) = serde_json::from_slice::<Value>(body) else {
        return Err(CallError::NotSent(text()));
    };
    if let Some(error) = answer["error"].as_object() {
        let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
        let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
        return Ok(Err(ForwardError::Refused { code, message: message.to_owned() }));
    }
    match answer.get("result") {
        Some(result) if !result.is_null() => Ok(Ok(())),
        _ => Err(CallError::NotSent(text())),
    }
}

#[cfg(test)]
mod tests {
    use esker_primitives::Id;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio::time::timeout;

    use super::*;

    #[test]
    fn calls_of_each_kind() {
        let chain = Id::sha256(b"chain");
        for (source, kind, path, method) in [
            (SourceKind::Esker, TxKind::Asset, "", "xvm.issueTx"),
            (SourceKind::Esker, TxKind::AssetWallet, "/wallet", "wallet.issueTx"),
            (SourceKind::Esker, TxKind::Atomic, "/nat", "nat.issueTx"),
            (SourceKind::Esker, TxKind::Evm, "/rpc", "evm_sendRawTransaction"),
            (SourceKind::AvalancheGo, TxKind::Asset, "", "avm.issueTx"),
            (SourceKind::AvalancheGo, TxKind::AssetWallet, "/wallet", "wallet.issueTx"),
            (SourceKind::AvalancheGo, TxKind::Atomic, "/avax", "avax.issueTx"),
            (SourceKind::AvalancheGo, TxKind::Evm, "/rpc", "eth_sendRawTransaction"),
        ] {
            let tx = ForwardedTx { chain, kind, id: Id::ZERO, bytes: Bytes::from_static(&[1]) };
            let (called, body) = call(source, &tx);
            assert_eq!(called, format!("/ext/bc/{chain}{path}"));
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body["method"], method);
            let sent = if kind == TxKind::Evm { &body["params"][0] } else { &body["params"]["tx"] };
            assert!(sent.as_str().unwrap().starts_with("0x01"), "{body}");
        }
    }

    /// A source that accepts connections. It answers each call with success, or never.
    async fn source(answers: bool) -> SourceUrl {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                if answers {
                    let mut request = [0; 4096];
                    let _read = stream.read(&mut request).await.unwrap();
                    let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n{\"result\":{}}";
                    stream.write_all(reply).await.unwrap();
                }
                open.push(stream);
            }
        });
        url.parse().unwrap()
    }

    #[tokio::test]
    async fn a_source_that_does_not_answer_is_not_asked_first_again() {
        let urls = vec![source(false).await, source(true).await];
        let forwarder = SourceForwarder::new(urls, &Dialer::plain());
        let (chain, id, bytes) = (Id::ZERO, Id::ZERO, Bytes::new());
        let tx = ForwardedTx { chain, kind: TxKind::Asset, id, bytes };
        let given_up = timeout(Duration::from_millis(200), forwarder.forward(tx.clone())).await;
        assert!(given_up.is_err(), "{given_up:?}");
        let answered = timeout(Duration::from_secs(20), forwarder.forward(tx)).await;
        assert_eq!(answered.expect("the other source answers"), Ok(()));
    }

    #[tokio::test]
    async fn the_source_that_is_followed_is_asked_first() {
        let urls = vec![source(false).await, source(true).await];
        let followed = PreferredSource::default();
        let forwarder = SourceForwarder::new(urls, &Dialer::plain());
        let forwarder = forwarder.with_preferred(followed.clone());
        followed.set(1);
        let (chain, id, bytes) = (Id::ZERO, Id::ZERO, Bytes::new());
        let tx = ForwardedTx { chain, kind: TxKind::Asset, id, bytes };
        let answered = timeout(Duration::from_secs(20), forwarder.forward(tx)).await;
        assert_eq!(answered.expect("the second source answers"), Ok(()));
        assert_eq!(followed.get(), 1);
    }

    #[tokio::test]
    async fn a_source_that_may_have_a_transaction_is_named() {
        let reader = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let first = format!("http://{}", reader.local_addr().unwrap());
        let read = tokio::spawn(async move {
            let mut stream = reader.accept().await.unwrap().0;
            stream.read(&mut [0; 4096]).await.unwrap()
        });
        let gone = TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap();
        let urls = vec![first.parse().unwrap(), format!("http://{gone}").parse().unwrap()];
        let forwarder = SourceForwarder::new(urls, &Dialer::plain());
        let (chain, id, bytes) = (Id::ZERO, Id::ZERO, Bytes::new());
        let tx = ForwardedTx { chain, kind: TxKind::Asset, id, bytes };
        let sent = timeout(Duration::from_secs(20), forwarder.forward(tx));
        let error = sent.await.expect("both sources are gone").unwrap_err();
        assert!(read.await.unwrap() > 0);
        let ForwardError::Lost(text) = error else { panic!("{error:?}") };
        assert!(text.starts_with(&first), "{text}");
    }

    /// A source that has stopped since its last answer gets no part of the next transaction.
    #[tokio::test]
    async fn a_source_that_has_stopped_does_not_have_the_transaction() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let stops = tokio::spawn(async move {
            let mut stream = listener.accept().await.unwrap().0;
            let _read = stream.read(&mut [0; 4096]).await.unwrap();
            let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n{\"result\":{}}";
            stream.write_all(reply).await.unwrap();
        });
        let forwarder = SourceForwarder::new(vec![url.parse().unwrap()], &Dialer::plain());
        let (chain, id, bytes) = (Id::ZERO, Id::ZERO, Bytes::new());
        let tx = ForwardedTx { chain, kind: TxKind::Asset, id, bytes };
        assert_eq!(forwarder.forward(tx.clone()).await, Ok(()));
        stops.await.unwrap();
        let is_closed =
            || forwarder.sources[0].idle.lock().iter().all(|open| open.sender.is_closed());
        let closed = timeout(Duration::from_secs(20), async {
            while !is_closed() {
                tokio::task::yield_now().await;
            }
        });
        closed.await.expect("the kept connection is closed");
        let error = forwarder.forward(tx).await.unwrap_err();
        let ForwardError::Unreachable(text) = error else { panic!("{error:?}") };
        assert!(text.starts_with(&url) && text.contains("refused"), "{text}");
    }

    /// A source that may have taken a transaction at first may still have it after it refuses the connection of the
    /// second call.
    #[tokio::test]
    async fn a_source_that_may_have_the_first_call_is_named_after_a_second_one() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answers = tokio::spawn(async move {
            let mut request = [0; 4096];
            let mut kept = listener.accept().await.unwrap().0;
            let _read = kept.read(&mut request).await.unwrap();
            let taken = b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n{\"result\":{}}";
            kept.write_all(taken).await.unwrap();
            // It reads the second call, and ends the connection without an answer.
            let _read = kept.read(&mut request).await.unwrap();
            drop(kept);
            let mut next = listener.accept().await.unwrap().0;
            let _read = next.read(&mut request).await.unwrap();
            let busy = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 4\r\n\r\nbusy";
            next.write_all(busy).await.unwrap();
        });
        let forwarder = SourceForwarder::new(vec![url.parse().unwrap()], &Dialer::plain());
        let (chain, id, bytes) = (Id::ZERO, Id::ZERO, Bytes::new());
        let tx = ForwardedTx { chain, kind: TxKind::Asset, id, bytes };
        assert_eq!(forwarder.forward(tx.clone()).await, Ok(()));
        let sent = timeout(Duration::from_secs(20), forwarder.forward(tx));
        let error = sent.await.expect("the source has answered").unwrap_err();
        answers.await.unwrap();
        let ForwardError::Lost(text) = error else { panic!("{error:?}") };
        assert!(text.contains("; then status 503: busy"), "{text}");
    }

    #[test]
    fn answers() {
        let check = |status, body: &'static str| match outcome(&(status, Bytes::from(body))) {
            Ok(Ok(())) => "taken".to_owned(),
            Ok(Err(error)) => format!("refused: {error:?}"),
            Err(CallError::NotSent(text) | CallError::Lost(text)) => text,
        };
        assert_eq!(check(200, r#"{"result":{"txID":"x"}}"#), "taken");
        assert_eq!(
            check(200, r#"{"error":{"code":-32000,"message":"nonce too low"}}"#),
            "refused: Refused { code: -32000, message: \"nonce too low\" }"
        );
        assert_eq!(check(403, "invalid host specified\n"), "status 403: invalid host specified");
        assert_eq!(check(200, "{}"), "status 200: {}");
        assert_eq!(check(200, r#"{"result":null}"#), r#"status 200: {"result":null}"#);
    }
}
