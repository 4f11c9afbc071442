//! The step that both engines begin with.

use esker_chain::{Bundle, ChainMachine, EngineError, ProposeCtx, Shutdown};

/// Proposes on the last final bundle, waiting for work as long as it takes. `None` after a stop request.
pub(crate) async fn next_bundle(
    machine: &dyn ChainMachine,
    stop: &mut Shutdown,
) -> Result<Option<Bundle>, EngineError> {
    let (height, parent) = machine.last_final();
    let at = ProposeCtx { height: height + 1, parent, ancestry: &[], wait_until_ms: u64::MAX };
    let proposal = tokio::select! {
        proposal = machine.propose(at) => proposal?,
        () = stop.wait() => return Ok(None),
    };
    let none = || EngineError::Protocol("there was no work at the end of time".into());
    proposal.map(Some).ok_or_else(none)
}
