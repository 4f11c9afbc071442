//! What surrounds one call: who makes it, and whether anybody waits for it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::ClientAddress;
use crate::work::{Client, RunState};

/// Who sent a request, as far as the server can tell. The default is a program, which may call every method.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// A web page of an origin that is not trusted. Methods for trusted callers refuse it
    /// ([`crate::MethodTable::trusted_callers_only`]).
    pub is_untrusted_page: bool,
    /// The connection that the request came over: its work and its replies count for it.
    pub client: Option<Client>,
}

/// What a handler may ask about its call besides the arguments.
#[derive(Debug, Clone, Default)]
pub struct CallContext {
    abandoned: Arc<AtomicBool>,
    caller: Caller,
    run_state: Option<Arc<RunState>>,
    /// The call is made briefly; true: that was not enough.
    brief: Option<Arc<AtomicBool>>,
}

impl CallContext {
    /// A call of a trusted caller whose client is there.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A call of this caller.
    #[must_use]
    pub fn of(caller: &Caller) -> Self {
        Self { caller: caller.clone(), ..Self::default() }
    }

    /// Who calls.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The connection that the call came over, if it is known.
    #[must_use]
    pub fn client(&self) -> Option<&Client> {
        self.caller.client.as_ref()
    }

    /// Where the call comes from.
    #[must_use]
    pub fn address(&self) -> ClientAddress {
        self.client().map(Client::address).unwrap_or_default()
    }

    /// Whether the work is to end now: nobody waits for the answer any more, or others wait for the thread, and the
    /// work is begun again later. Long work asks between its steps; what it returns then does not matter.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.is_abandoned() || self.run_state.as_ref().is_some_and(|run_state| run_state.must_end())
    }

    /// Tells the handler that nobody waits; a reply is still taken when it comes.
    pub fn cancel(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
        if let Some(client) = self.client() {
            client.work().drop_cancelled();
        }
    }

    /// Whether the work runs among short work, for some milliseconds at most. Where it would take longer it says so by
    /// [`Self::leave_short_lane`] and ends; it is then begun again among long work, and what it returned does not matter.
    #[must_use]
    pub fn is_brief(&self) -> bool {
        self.brief.is_some()
    }

    /// Says that the work takes longer than brief work may.
    pub fn leave_short_lane(&self) {
        if let Some(brief) = &self.brief {
            brief.store(true, Ordering::Relaxed);
        }
    }

    /// Has brief work said that it takes longer?
    pub(crate) fn has_left_short_lane(&self) -> bool {
        self.brief.as_ref().is_some_and(|ended| ended.load(Ordering::Relaxed))
    }

    /// Was the work told to end, to be begun again?
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

    /// The same for brief work, or for work that is not.
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
