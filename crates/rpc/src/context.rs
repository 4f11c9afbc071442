//! The context of one call: who makes it, and whether it is cancelled.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;
use esker_primitives::ClientAddress;

use crate::call_notes::CallNotes;
use crate::reply_after::SharedDelays;
use crate::work::{Client, RateExceeded, RunMemory, RunState};

/// Who sent a request, as far as the server knows. The default is a program, which may call every method.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// A web page of an origin that is not trusted. Methods for trusted callers refuse it
    /// ([`crate::MethodTable::trusted_callers_only`]).
    pub is_untrusted_page: bool,
    /// The connection that the request came over. The work of the request and its replies count towards this connection.
    pub client: Option<Client>,
    /// Whether a reply may come in a file ([`crate::work::ReplyBytes::take_file`]).
    pub takes_files: bool,
    /// The bytes of a large request: a call that runs again keeps its part of them, and no copy.
    pub request: Option<Bytes>,
    /// The program that sent the request, as its `User-Agent` names it; the server may cut it off. Any client can claim any
    /// name, so it decides how something is answered, never what is allowed.
    pub program: Option<Bytes>,
}

impl Caller {
    /// Whether the request says that it comes from a program of this name, of whichever version. Case does not count.
    pub fn is_program(&self, name: &str) -> bool {
        let given = self.program.as_deref().unwrap_or_default();
        let end = given.iter().position(|byte| matches!(byte, b' ' | b'/')).unwrap_or(given.len());
        given[..end].eq_ignore_ascii_case(name.as_bytes())
    }

    /// The address of the caller.
    #[must_use]
    pub fn address(&self) -> ClientAddress {
        self.client.as_ref().map(Client::address).unwrap_or_default()
    }

    /// Takes units of the caller's address. A program in the process is not limited.
    ///
    /// # Errors
    /// The address has used its units.
    pub fn charge(&self, cost: u32) -> Result<(), RateExceeded> {
        self.client.as_ref().map_or(Ok(()), |client| client.charge(cost))
    }
}

/// The properties of a call that a handler can query besides the arguments.
#[derive(Debug, Clone, Default)]
pub struct CallContext {
    abandoned: Arc<AtomicBool>,
    caller: Caller,
    run_state: Option<Arc<RunState>>,
    memory: Option<Arc<RunMemory>>,
    /// Set while the work runs in the short lane; true once it has asked to leave that lane.
    brief: Option<Arc<AtomicBool>>,
    /// In a batch: the delays of calls that are waited for together.
    shared_delays: Option<Arc<SharedDelays>>,
    notes: CallNotes,
}

impl CallContext {
    /// A call of a trusted caller without a connection.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A call of this caller.
    #[must_use]
    pub fn for_caller(caller: &Caller) -> Self {
        Self { caller: caller.clone(), ..Self::default() }
    }

    /// The same call as part of a batch, whose calls may wait together.
    pub(crate) fn in_batch(self) -> Self {
        Self { shared_delays: Some(Arc::default()), ..self }
    }

    /// The same call, which takes these notes.
    pub(crate) fn with_notes(&self, notes: CallNotes) -> Self {
        Self { notes, ..self.clone() }
    }

    /// Takes what the handler says of the call besides the reply.
    #[must_use]
    pub fn notes(&self) -> &CallNotes {
        &self.notes
    }

    /// The delays that the calls of a batch wait for together; `None`: the call is alone.
    pub(crate) fn shared_delays(&self) -> Option<&SharedDelays> {
        self.shared_delays.as_deref()
    }

    /// The address of the caller.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The connection that the call came over, if it is known.
    #[must_use]
    pub fn client(&self) -> Option<&Client> {
        self.caller.client.as_ref()
    }

    /// The caller.
    #[must_use]
    pub fn address(&self) -> ClientAddress {
        self.caller.address()
    }

    /// Whether the work must end now: the client has left, the work takes more memory than there is for it, or other jobs
    /// wait for the thread and this one is restarted later. Long work checks this between its steps; what it returns
    /// after that is discarded.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.is_abandoned()
            || self.memory.as_ref().is_some_and(|memory| memory.must_end())
            || self.run_state.as_ref().is_some_and(|run_state| run_state.must_end())
    }

    /// Signals the handler that the client has left. A reply that comes anyway is still accepted.
    pub fn cancel(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
        if let Some(client) = self.client() {
            client.work().drop_cancelled();
        }
    }

    /// Ends this run of the work, in favour of another client: it is cancelled, and the work begins again later. False: the
    /// work runs only once.
    #[must_use]
    pub fn restart_later(&self) -> bool {
        self.run_state.as_ref().is_some_and(|run_state| run_state.restart_later())
    }

    /// Whether the work runs in the short lane, for some milliseconds at most. Work that would take longer calls
    /// [`Self::leave_short_lane`] and returns; it is then restarted in the long lane, and what it returned is discarded.
    #[must_use]
    pub fn is_brief(&self) -> bool {
        self.brief.is_some()
    }

    /// Requests a restart in the long lane, because the work takes longer than the short lane allows.
    pub fn leave_short_lane(&self) {
        if let Some(brief) = &self.brief {
            brief.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the work has requested a restart in the long lane.
    pub(crate) fn has_left_short_lane(&self) -> bool {
        self.brief.as_ref().is_some_and(|ended| ended.load(Ordering::Relaxed))
    }

    /// Whether the work was interrupted and must be restarted.
    pub(crate) fn must_restart(&self) -> bool {
        !self.is_abandoned()
            && self.run_state.as_ref().is_some_and(|run_state| run_state.is_interrupted())
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    pub(crate) fn abandoned_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.abandoned)
    }

    pub(crate) fn with_run_state(&self, run_state: &Arc<RunState>) -> Self {
        Self { run_state: Some(Arc::clone(run_state)), ..self.clone() }
    }

    /// The same call, whose runs take this memory.
    pub(crate) fn with_memory(&self, memory: Option<Arc<RunMemory>>) -> Self {
        Self { memory, ..self.clone() }
    }

    /// The same call, in the short lane or not.
    pub(crate) fn with_brief(self, is_brief: bool) -> Self {
        Self { brief: is_brief.then(Arc::default), ..self }
    }
}

/// Cancels the call when dropped before [`CancelOnDrop::disarm`].
pub(crate) struct CancelOnDrop(Option<CallContext>);

impl CancelOnDrop {
    pub(crate) fn new(context: &CallContext) -> Self {
        Self(Some(context.clone()))
    }

    pub(crate) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(context) = &self.0 {
            context.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_its_name() {
        let is_hardhat = |program: Option<&'static str>| {
            let program = program.map(|text| Bytes::from_static(text.as_bytes()));
            Caller { program, ..Caller::default() }.is_program("hardhat")
        };
        for given in ["hardhat 2.29.1", "Hardhat 3.10.0", "HARDHAT/3", "hardhat"] {
            assert!(is_hardhat(Some(given)), "{given}");
        }
        for given in ["", "hardhat-deploy/1", "a hardhat 2", " hardhat", "node", "hardha"] {
            assert!(!is_hardhat(Some(given)), "{given}");
        }
        assert!(!is_hardhat(None));
    }
}
