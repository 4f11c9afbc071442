//! Running one message.

use esker_primitives::excerpt;
use tokio::time::{Instant, timeout_at};

use super::{
    MethodName, Server, Subscriber,
    errors::{not_a_list, not_found, not_on_sockets, timed_out, to_rpc_error},
    message::{Message, MessageKind},
    reply, subscriptions,
};
use crate::call_notes::CallNotes;
use crate::context::{CallContext, Caller};
use crate::cost;
use crate::error::RpcError;
use crate::method::Method;
use crate::method_info::DISCOVER;
use crate::service::Lookup;
use crate::work::{Client, EndedCall, EndedCalls, RateExceeded, ReplyBytes};

/// Most characters of an error that followers of ended calls get.
const MAX_SHOWN_ERROR: usize = 500;

/// The state that the calls of one message or batch share.
pub(super) struct Calls<'a> {
    pub(super) server: &'a Server,
    subscriber: Option<&'a dyn Subscriber>,
    context: CallContext,
    deadline: Option<Instant>,
}

/// Units of a message.
fn units_of(message: &Message<'_>, method: Option<&Method>) -> u32 {
    match message.kind() {
        MessageKind::Call | MessageKind::Notification => match method {
            _ if message.method.ends_with("_subscribe") => cost::CALL,
            Some(method) => method.info().cost,
            None => cost::READ,
        },
        MessageKind::Response | MessageKind::Invalid => cost::READ,
    }
}

/// How a call ended.
pub(super) enum Outcome {
    /// With a result.
    Result {
        /// The whole reply, without a newline.
        reply: ReplyBytes,
        /// How much of it is the result.
        result_bytes: usize,
    },
    /// With an error, not yet written.
    Error(RpcError),
    /// It did not end in time and has been cancelled.
    TimedOut,
    /// It did not run, because the client's address has used its units.
    RateExceeded(RateExceeded),
    /// The message is a response, to which there is nothing to say.
    Nothing,
}

impl Outcome {
    /// The first characters of the error with which the call ended, if it did.
    fn error_text(&self) -> Option<String> {
        let text = match self {
            Self::Error(error) => error.to_string(),
            Self::TimedOut => timed_out().to_string(),
            Self::Result { .. } | Self::RateExceeded(_) | Self::Nothing => return None,
        };
        Some(text.chars().take(MAX_SHOWN_ERROR).collect())
    }
}

impl<'a> Calls<'a> {
    pub(super) fn new(
        server: &'a Server,
        subscriber: Option<&'a dyn Subscriber>,
        caller: &Caller,
    ) -> Self {
        let deadline = Instant::now().checked_add(server.limits.call_timeout);
        Self { server, subscriber, context: CallContext::for_caller(caller), deadline }
    }

    /// The same for the messages of a batch.
    pub(super) fn in_batch(self) -> Self {
        Self { context: self.context.in_batch(), ..self }
    }

    /// Waits for what calls of the batch wait for together.
    pub(super) async fn delays_over(&self) {
        if let Some(delays) = self.context.shared_delays() {
            delays.over().await;
        }
    }

    /// The connection that the calls came over, if it is known.
    pub(super) fn client(&self) -> Option<&Client> {
        self.context.client()
    }

    /// Runs a message. Also returns the method, if the message names one.
    pub(super) async fn run(&self, message: &Message<'_>) -> (Outcome, Option<MethodName>) {
        let method = self.find(&message.method);
        if let Err(exceeded) = self.charge(units_of(message, method)) {
            return (Outcome::RateExceeded(exceeded), None);
        }
        match message.kind() {
            MessageKind::Invalid => {
                let error = RpcError::with_code(RpcError::INVALID_REQUEST, "invalid request");
                return (Outcome::Error(error), None);
            }
            MessageKind::Response => return (Outcome::Nothing, None),
            MessageKind::Call | MessageKind::Notification => {}
        }
        let name = method
            .map(|method| (method.info().namespace, method.info().name))
            .or_else(|| self.server.subscription_method(&message.method));
        let outcome = match self.followed_calls() {
            None => self.invoke_in_time(message, method, &self.context).await,
            Some(followed) => {
                let context = self.context.with_notes(CallNotes::wanted());
                let outcome = self.invoke_in_time(message, method, &context).await;
                followed.report(EndedCall {
                    called: excerpt(&message.method).into_owned(),
                    method: name,
                    error: outcome.error_text(),
                    note: context.notes().take(),
                });
                outcome
            }
        };
        (outcome, name)
    }

    /// The ended calls of the server, if somebody follows them.
    fn followed_calls(&self) -> Option<&EndedCalls> {
        let calls = self.client()?.work().ended_calls();
        calls.is_followed().then_some(calls)
    }

    async fn invoke_in_time(
        &self,
        message: &Message<'_>,
        method: Option<&Method>,
        context: &CallContext,
    ) -> Outcome {
        let invoke = self.invoke(message, method, context);
        let result = match self.deadline {
            None => Ok(invoke.await),
            Some(deadline) => timeout_at(deadline, invoke).await,
        };
        match result {
            Ok(Ok((reply, result_bytes))) => Outcome::Result { reply, result_bytes },
            Ok(Err(error)) => Outcome::Error(error),
            Err(_) => Outcome::TimedOut,
        }
    }

    /// Takes units of the client's address.
    pub(super) fn charge(&self, units: u32) -> Result<(), RateExceeded> {
        self.context.caller().charge(units)
    }

    fn find(&self, name: &str) -> Option<&'a Method> {
        // OpenRPC has one name for it in all dialects.
        let separator = if name == DISCOVER { '.' } else { '_' };
        let (namespace, name) = name.split_once(separator)?;
        match self.server.service.find(namespace, name) {
            Lookup::Found(method) => Some(method),
            Lookup::NoNamespace | Lookup::NoMethod => None,
        }
    }

    async fn invoke(
        &self,
        message: &Message<'_>,
        method: Option<&Method>,
        context: &CallContext,
    ) -> Result<(ReplyBytes, usize), RpcError> {
        let texts = self.server.limits.error_texts;
        let mut out = reply::start_result(message.answer_id());
        let before = out.len();
        let mut out = if let Some(namespace) = message.method.strip_suffix("_subscribe") {
            let caller = self.context.caller();
            subscriptions::subscribe(self.subscriber, namespace, message, caller, &mut out)?;
            ReplyBytes::from(out)
        } else if message.method.ends_with("_unsubscribe") {
            subscriptions::unsubscribe(self.subscriber, message, &mut out)?;
            ReplyBytes::from(out)
        } else {
            let is_socket = self.subscriber.is_some();
            let method = method.ok_or_else(|| not_found(&message.method, texts, is_socket))?;
            if self.subscriber.is_some() && !self.server.limits.methods_on_sockets {
                return Err(not_on_sockets(&message.method));
            }
            let params = message.params().map_err(not_a_list)?;
            method.call(params, context, out).await.map_err(|error| to_rpc_error(error, texts))?
        };
        // For the limit of a batch, which takes no files.
        let result_bytes = out.len().saturating_sub(before);
        out.tail().push(reply::END);
        Ok((out, result_bytes))
    }
}
