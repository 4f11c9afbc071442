//! Receives messages of asynchronous code on a plain thread.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Instant;

use tokio::sync::mpsc;

/// The result of a receive.
pub(super) enum Received<T> {
    Message(T),
    /// No message arrived before the deadline.
    TimedOut,
    /// The channel is closed.
    Closed,
}

/// Waits for the next message, until the deadline if there is one; `pollster` has no deadlines. Unlike tokio's
/// blocking calls it works on any thread.
pub(super) fn receive<T>(
    messages: &mut mpsc::Receiver<T>,
    deadline: Option<Instant>,
) -> Received<T> {
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match messages.poll_recv(&mut context) {
            Poll::Ready(Some(message)) => return Received::Message(message),
            Poll::Ready(None) => return Received::Closed,
            Poll::Pending => {}
        }
        match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
            None => thread::park(),
            Some(left) if left.is_zero() => return Received::TimedOut,
            Some(left) => thread::park_timeout(left),
        }
    }
}
