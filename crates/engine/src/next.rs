//! The steps that both engines share.

use esker_chain::{
    Bundle, BundleId, ChainMachine, EngineError, FinalizeError, ProposeCtx, ProposeError, Shutdown,
};

/// Proposes on the last final bundle and waits for work without a limit. `None` after a stop request. `on_last`
/// receives the height of the last final bundle, also after a rewind.
pub(crate) async fn next_bundle(
    machine: &dyn ChainMachine,
    stop: &mut Shutdown,
    on_last: impl Fn(u64),
) -> Result<Option<Bundle>, EngineError> {
    loop {
        let (height, parent) = machine.last_final();
        on_last(height);
        let at = ProposeCtx { height: height + 1, parent, ancestry: &[], wait_until_ms: u64::MAX };
        let proposal = tokio::select! {
            proposal = machine.propose(at) => proposal,
            () = stop.wait() => return Ok(None),
        };
        match proposal {
            Err(ProposeError::Parent { .. } | ProposeError::Height { .. })
                if is_overtaken(machine, &parent) => {}
            Ok(None) => {
                let text = "there was no work at the end of time".into();
                return Err(EngineError::Protocol(text));
            }
            proposal => return Ok(proposal?),
        }
    }
}

/// Makes a proposal final, unless the bundle before it is no longer the last one.
pub(crate) async fn finalize(
    machine: &dyn ChainMachine,
    bundle: &Bundle,
) -> Result<(), EngineError> {
    match machine.finalize(bundle, None).await {
        Err(
            FinalizeError::OutOfOrder { .. }
            | FinalizeError::NotLast { .. }
            | FinalizeError::Conflict { .. }
            | FinalizeError::Invalid(_),
        ) if is_overtaken(machine, &bundle.parent) => Ok(()),
        made_final => Ok(made_final?),
    }
}

/// Whether the last final bundle has changed: bundles were rewound, or blocks were imported
/// (docs/protocol/bundles.md, "Importing blocks"). The proposal is then dropped, and its transactions wait again.
fn is_overtaken(machine: &dyn ChainMachine, last: &BundleId) -> bool {
    machine.last_final().1 != *last
}
