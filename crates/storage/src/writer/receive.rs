//! Waiting on a plain thread for what asynchronous code sends.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Instant;

use tokio::sync::mpsc;

/// What came of waiting for a message.
pub(super) enum Received<T> {
    Message(T),
    /// Nothing came before the deadline.
    TimedOut,
    /// Nothing more will come.
    Closed,
}

/// Waits for the next message, until the deadline if there is one.
pub(super) fn receive<T>(
    messages: &mut mpsc::Receiver<T>,
    deadline: Option<Instant>,
) -> Received<T> {
    match drive(poll_fn(|context| messages.poll_recv(context)), deadline) {
        Some(Some(message)) => Received::Message(message),
        Some(None) => Received::Closed,
        None => Received::TimedOut,
    }
}

/// Drives a future on this thread. Unlike tokio's blocking calls it may be used on any thread.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    drive(future, None).expect("there is no deadline")
}

/// The future's result, if it comes before the deadline.
fn drive<T>(future: impl Future<Output = T>, deadline: Option<Instant>) -> Option<T> {
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return Some(value);
        }
        match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
            None => thread::park(),
            Some(left) if left.is_zero() => return None,
            Some(left) => thread::park_timeout(left),
        }
    }
}
