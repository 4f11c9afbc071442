//! Rings a bell for every subscription.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use esker_primitives::sync::Mutex;
use esker_rpc::discover::{SubscriptionKind, SubscriptionMethods};
use esker_rpc::positional::{Notification, Notifier, Overrun, Session, Subscriber};
use esker_rpc::{Caller, Params, RpcError};

/// Rings that a connection may have waiting.
pub(super) const MOST: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Bell {
    listeners: Mutex<Vec<Weak<BellSession>>>,
}

#[derive(Debug, Default)]
struct BellSession(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    ids: Vec<(String, bool)>,
    waiting: VecDeque<Bytes>,
    is_overrun: bool,
    waker: Option<Waker>,
}

impl Bell {
    /// Rings once, with this sound; every connection gets it, if it has a subscription that may speak.
    pub(super) fn ring(&self, sound: &Bytes) {
        for listener in self.listeners.lock().iter().filter_map(Weak::upgrade) {
            let mut state = listener.0.lock();
            if state.ids.is_empty() {
                continue;
            }
            state.is_overrun |= state.waiting.len() == MOST;
            if !state.is_overrun {
                state.waiting.push_back(sound.clone());
            }
            if let Some(waker) = state.waker.take() {
                waker.wake();
            }
        }
    }

    /// Connections that are there.
    pub(super) fn listeners(&self) -> usize {
        self.listeners.lock().iter().filter(|listener| listener.strong_count() > 0).count()
    }
}

impl Notifier for Bell {
    fn subscriptions(&self) -> SubscriptionMethods {
        let kinds = vec![SubscriptionKind::new::<(String,), String>("rings")];
        SubscriptionMethods { namespace: "evm", namespace_aliases: &[], arguments: &[], kinds }
    }

    fn connect(&self) -> Arc<dyn Session> {
        let listener = Arc::new(BellSession::default());
        self.listeners.lock().push(Arc::downgrade(&listener));
        listener
    }
}

impl Subscriber for BellSession {
    fn subscribe(
        &self,
        namespace: &str,
        kind: &str,
        _: Params<'_>,
        _: &Caller,
    ) -> Option<Result<String, RpcError>> {
        let mut state = self.0.lock();
        (namespace == "eth" && kind == "bell").then(|| {
            let id = format!("0x{}", state.ids.len() + 1);
            state.ids.push((id.clone(), false));
            Ok(id)
        })
    }

    fn unsubscribe(&self, id: &str) -> bool {
        let mut state = self.0.lock();
        let before = state.ids.len();
        state.ids.retain(|(known, _)| known != id);
        state.ids.len() < before
    }
}

impl Session for BellSession {
    fn release(&self, id: &str) {
        let mut state = self.0.lock();
        state
            .ids
            .iter_mut()
            .filter(|(known, _)| known == id)
            .for_each(|(_, speaks)| *speaks = true);
    }

    fn poll_notifications(
        &self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut dyn FnMut(Notification),
    ) -> Poll<Result<(), Overrun>> {
        let mut state = self.0.lock();
        if state.is_overrun {
            return Poll::Ready(Err(Overrun));
        }
        let speaks = state.ids.first().filter(|(_, speaks)| *speaks).map(|(id, _)| id.clone());
        if let Some(id) = speaks.filter(|_| room > 0)
            && let Some(result) = state.waiting.pop_front()
        {
            out(Notification { prefix: Notification::prefix("eth", &id), result });
            return Poll::Ready(Ok(()));
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}
