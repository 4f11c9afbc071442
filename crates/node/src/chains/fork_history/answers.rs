//! Answers of the source about blocks up to the fork's, which never change. The newest are kept, and callers that ask the same at the
//! same time share one answer.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::Arc;

use esker_primitives::sync::Mutex;
use esker_rpc::{ElsewhereReply, RpcError};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, WeakShared};

/// Most bytes of kept answers, their requests included.
const MAX_BYTES: usize = 32 << 20;
/// Longest answer that is kept.
const MAX_ANSWER: usize = 4 << 20;
/// Longest request whose answer is kept.
const MAX_REQUEST: usize = 16 << 10;

/// JSON of an answer, shared by those who asked.
type Answering = BoxFuture<'static, Result<Arc<str>, RpcError>>;

/// Answers by their requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    answers: HashMap<Arc<str>, Arc<str>>,
    /// The oldest first.
    order: VecDeque<Arc<str>>,
    bytes: usize,
    running: HashMap<Arc<str>, WeakShared<Answering>>,
}

impl Kept {
    fn keep(&mut self, request: &Arc<str>, answer: &Arc<str>) {
        // What does not exist yet may exist later.
        if &**answer == "null" || answer.len() > MAX_ANSWER || self.answers.contains_key(request) {
            return;
        }
        self.bytes += request.len() + answer.len();
        self.answers.insert(Arc::clone(request), Arc::clone(answer));
        self.order.push_back(Arc::clone(request));
        while self.bytes > MAX_BYTES
            && let Some(oldest) = self.order.pop_front()
        {
            let answer = self.answers.remove(&oldest);
            self.bytes -= oldest.len() + answer.map_or(0, |answer| answer.len());
        }
    }
}

impl Answers {
    /// The answer to a request: the kept one, that of another caller who asks now, or a new one.
    pub(super) fn answer(
        &self,
        request: String,
        ask: impl Future<Output = Result<String, RpcError>> + Send + 'static,
    ) -> ElsewhereReply {
        if request.len() > MAX_REQUEST {
            return ask.boxed();
        }
        let shared = self.shared(request.into(), ask);
        async move { shared.await.map(|answer| (*answer).to_owned()) }.boxed()
    }

    fn shared(
        &self,
        request: Arc<str>,
        ask: impl Future<Output = Result<String, RpcError>> + Send + 'static,
    ) -> Shared<Answering> {
        let mut kept = self.0.lock();
        if let Some(answer) = kept.answers.get(&request) {
            return std::future::ready(Ok(Arc::clone(answer))).boxed().shared();
        }
        if let Some(running) = kept.running.get(&request).and_then(WeakShared::upgrade) {
            return running;
        }
        let (answers, key) = (self.clone(), Arc::clone(&request));
        let asking = async move {
            let answer = ask.await.map(Arc::<str>::from);
            let mut kept = answers.0.lock();
            kept.running.remove(&key);
            if let Ok(answer) = &answer {
                kept.keep(&key, answer);
            }
            answer
        };
        let shared = asking.boxed().shared();
        // Requests that everybody has left are forgotten.
        kept.running.retain(|_, running| running.upgrade().is_some());
        if let Some(running) = shared.downgrade() {
            kept.running.insert(request, running);
        }
        shared
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Answers with a text, and counts how often it was asked.
    fn asked(
        count: &Arc<AtomicUsize>,
        text: String,
    ) -> impl Future<Output = Result<String, RpcError>> + use<> {
        let count = Arc::clone(count);
        async move {
            count.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
            Ok(text)
        }
    }

    #[tokio::test]
    async fn the_same_is_not_asked_twice() {
        let (answers, count) = (Answers::default(), Arc::new(AtomicUsize::new(0)));
        let ask = |request: &str| answers.answer(request.to_owned(), asked(&count, "7".to_owned()));
        let (one, other) = tokio::join!(ask("a"), ask("a"));
        assert_eq!((one.unwrap(), other.unwrap()), ("7".to_owned(), "7".to_owned()));
        assert_eq!(ask("a").await.unwrap(), "7");
        assert_eq!(count.load(Ordering::Relaxed), 1);
        // One that is left is asked again.
        drop(ask("b"));
        assert_eq!(ask("b").await.unwrap(), "7");
        assert_eq!(count.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn what_may_change_is_not_kept() {
        let (answers, count) = (Answers::default(), Arc::new(AtomicUsize::new(0)));
        for (request, answer) in [
            ("null".to_owned(), "null".to_owned()),
            ("long".to_owned(), "1".repeat(MAX_ANSWER + 1)),
            ("r".repeat(MAX_REQUEST + 1), "1".to_owned()),
        ] {
            count.store(0, Ordering::Relaxed);
            for _ in 0..2 {
                let reply = answers.answer(request.clone(), asked(&count, answer.clone()));
                assert_eq!(reply.await.unwrap(), answer);
            }
            assert_eq!(count.load(Ordering::Relaxed), 2);
        }
        let failed = || answers.answer("e".to_owned(), async { Err(RpcError::new("gone")) });
        assert!(failed().await.is_err());
        let reply = answers.answer("e".to_owned(), asked(&count, "7".to_owned()));
        assert_eq!(reply.await.unwrap(), "7");
    }

    #[tokio::test]
    async fn the_oldest_make_room() {
        let (answers, count) = (Answers::default(), Arc::new(AtomicUsize::new(0)));
        let long = "1".repeat(MAX_ANSWER - 100);
        for n in 0..12 {
            answers.answer(n.to_string(), asked(&count, long.clone())).await.unwrap();
        }
        let (bytes, kept, order) = {
            let kept = answers.0.lock();
            (kept.bytes, kept.answers.len(), kept.order.len())
        };
        assert!(bytes <= MAX_BYTES && kept == order, "{bytes}, {kept}, {order}");
        count.store(0, Ordering::Relaxed);
        for (n, expected) in [(11, 0), (0, 1)] {
            answers.answer(n.to_string(), asked(&count, long.clone())).await.unwrap();
            assert_eq!(count.load(Ordering::Relaxed), expected, "{n}");
        }
    }
}
