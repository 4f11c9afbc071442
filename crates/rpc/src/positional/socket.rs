//! The positional dialect over websockets: messages, batches, and notifications of subscriptions.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::{Answer, MethodName, Notification, Server, Session};
use crate::context::Caller;
use crate::service::Service;
use crate::socket::{Overrun, SocketAnswer, SocketDialect, SocketSession};

impl SocketDialect for Server {
    fn service(&self) -> &Service {
        Self::service(self)
    }

    fn subscription_methods(&self) -> Vec<MethodName> {
        Self::subscription_methods(self).collect()
    }

    fn separator(&self) -> char {
        '_'
    }

    fn connect(&self) -> Arc<dyn SocketSession> {
        Arc::new(PositionalSession { server: self.clone(), session: Self::connect(self) })
    }
}

struct PositionalSession {
    server: Server,
    session: Arc<dyn Session>,
}

impl SocketSession for PositionalSession {
    fn answer<'a>(&'a self, message: &'a [u8], caller: &'a Caller) -> BoxFuture<'a, SocketAnswer> {
        async move {
            let (answer, made) =
                self.server.answer_with_session(&*self.session, message, caller).await;
            let Answer { body, rest, method, failed, retry_after_s: _ } = answer;
            let parts = std::iter::once(body).chain(rest).filter(|part| !part.is_empty());
            SocketAnswer { parts: parts.collect(), method, failed, made }
        }
        .boxed()
    }

    fn release(&self, id: &str) {
        self.session.release(id);
    }

    fn poll_events(
        &self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut dyn FnMut(&[Bytes]),
    ) -> Poll<Result<(), Overrun>> {
        self.session.poll_notifications(cx, room, &mut |notification| {
            let Notification { prefix, result } = notification;
            out(&[prefix, result, Bytes::from_static(Notification::SUFFIX)]);
        })
    }
}
