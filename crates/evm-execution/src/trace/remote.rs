//! The port for tracers in another process: scripts, which must not use the memory of this process.

use std::fmt;
use std::rc::Rc;

use esker_primitives::ClientAddress;

use super::{TraceError, TraceOutput, TraceResult, Tracer, TxPlace};
use crate::executor::{BlockContext, Bounds, MachineParams, Message, StateOverlay, StopCheck};

/// A transaction to be traced in another process.
#[derive(Clone, Copy, Debug)]
pub struct RemoteTx<'t> {
    /// The chain.
    pub chain: &'t MachineParams,
    /// The block that code sees.
    pub block: &'t BlockContext,
    /// The transaction.
    pub message: &'t Message,
    /// Location of the transaction.
    pub place: TxPlace,
    /// Memory limit and stop check.
    pub bounds: Bounds<'t>,
}

/// Executes and traces a transaction, and writes the result.
pub trait RemoteTracer {
    /// `state` is the state before the transaction. The transaction can be executed: it has run before.
    fn trace(
        &mut self,
        tx: &RemoteTx<'_>,
        state: &mut StateOverlay<'_>,
        out: &mut dyn TraceOutput,
    ) -> TraceResult;
}

/// The client of scripts.
#[derive(Clone)]
pub struct ScriptClient {
    /// Address of the client: addresses share the resources for scripts.
    pub address: ClientAddress,
    /// Ends the work of the request and restarts it later. Returns false if that is not possible.
    pub restart: Rc<dyn Fn() -> bool>,
}

impl fmt::Debug for ScriptClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptClient").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Runs scripts.
pub trait Scripts: Send + Sync + fmt::Debug {
    /// A session for the scripts of one request, which share expensive resources.
    fn session(&self, client: ScriptClient) -> Rc<dyn ScriptSession>;
}

/// The scripts of one request.
pub trait ScriptSession {
    /// Waits until a script may run or `stop` ends the wait. It must be called before the state is opened, because
    /// the state should not be held meanwhile.
    fn reserve(&self, stop: StopCheck<'_>) -> TraceResult;

    /// The tracer of an unknown name or a source text; `config` as in [`super::tracers::create`].
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
