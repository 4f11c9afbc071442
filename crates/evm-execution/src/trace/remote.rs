//! The port for tracers that run elsewhere: scripts, which no memory of this process may hold.

use std::fmt;
use std::rc::Rc;

use esker_primitives::ClientAddress;

use super::{TraceError, TraceOutput, TraceResult, Tracer, TxPlace};
use crate::executor::{BlockContext, Bounds, ChainParams, Message, StateOverlay, StopCheck};

/// A transaction to be watched elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct RemoteTx<'t> {
    /// The chain.
    pub chain: &'t ChainParams,
    /// The block that code sees.
    pub block: &'t BlockContext,
    /// The transaction.
    pub message: &'t Message,
    /// Where it is.
    pub place: TxPlace,
    /// Memory, and when to stop.
    pub bounds: Bounds<'t>,
}

/// Runs a transaction while something watches, and writes what that makes of it.
pub trait RemoteTracer {
    /// `state` is that before the transaction. The transaction is one that can run: it has run before.
    fn trace(
        &mut self,
        tx: &RemoteTx<'_>,
        state: &mut StateOverlay<'_>,
        out: &mut dyn TraceOutput,
    ) -> TraceResult;
}

/// Whose scripts run.
#[derive(Clone)]
pub struct ScriptClient {
    /// Where the request comes from: addresses share what there is for scripts.
    pub address: ClientAddress,
    /// Ends the request's work, which begins again later; false: that is not possible.
    pub restart: Rc<dyn Fn() -> bool>,
}

impl fmt::Debug for ScriptClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptClient").field("address", &self.address).finish_non_exhaustive()
    }
}

/// What runs scripts.
pub trait Scripts: Send + Sync + fmt::Debug {
    /// Scripts of one request. They share what is costly to begin.
    fn session(&self, client: ScriptClient) -> Rc<dyn ScriptSession>;
}

/// The scripts of one request.
pub trait ScriptSession {
    /// Waits until a script may run, as long as `stop` lets it. To be called before the state is taken, which should not
    /// be held meanwhile.
    fn reserve(&self, stop: StopCheck<'_>) -> TraceResult;

    /// The tracer of a name that no other has, or of a source text; `config` as in [`super::tracers::create`].
    fn tracer(&self, source: &str, config: &str) -> Result<Box<dyn Tracer>, TraceError>;
}

/// Runs no script.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoScripts;

impl Scripts for NoScripts {
    fn session(&self, _: ScriptClient) -> Rc<dyn ScriptSession> {
        Rc::new(Self)
    }
}

impl ScriptSession for NoScripts {
    fn reserve(&self, _: StopCheck<'_>) -> TraceResult {
        Ok(())
    }

    fn tracer(&self, source: &str, config: &str) -> Result<Box<dyn Tracer>, TraceError> {
        super::tracers::create(source, config)
    }
}
