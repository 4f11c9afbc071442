//! Executes one transaction with a tracer.

use super::{Observer, RemoteTracer, RemoteTx, TraceError, Tracer, TxPlace, TxStart};
use crate::executor::{BlockContext, ExecutionEnd, Message, Runner, TxError, intrinsic_gas};

impl Runner<'_, Observer<'_>> {
    /// Executes a message with a tracer, which writes its result. Call [`Self::commit`] or [`Self::discard`]
    /// afterwards.
    pub fn trace(
        &mut self,
        block: &BlockContext,
        message: &Message,
        place: TxPlace,
        mut tracer: Box<dyn Tracer>,
    ) -> Result<ExecutionEnd, TraceError> {
        if let Some(remote) = tracer.remote() {
            return self.trace_remote(block, message, place, remote);
        }
        let mut end = None;
        if tracer.needs_end_first() {
            end = Some(self.run(block, message)?);
            self.discard();
        }
        // The address of a created contract follows from the sender's nonce in the state, not from that of a call.
        let nonce = self.state().nonce(message.from).map_err(TxError::State)?;
        let precompiles = self.precompiles().clone();
        let tx = TxStart {
            message,
            to: message.to.unwrap_or_else(|| message.from.create(nonce)),
            intrinsic_gas: intrinsic_gas(
                &block.rules,
                &message.input,
                message.to.is_none(),
                &message.access_list,
                message.authorization_list.as_ref().map_or(0, Vec::len),
            ),
            gas_price: message.effective_price(block.base_fee),
            block,
            place,
            precompiles: &precompiles,
            end: end.as_ref(),
        };
        let (evm, observer) = self.context_and_inspector();
        observer.start(tracer, &tx, evm)?;
        let ended = self.inspect(block, message);
        let (evm, observer) = self.context_and_inspector();
        if let Some(error) = observer.take_failure() {
            return Err(error);
        }
        let ended = ended?;
        observer.end(&ended, evm)?;
        Ok(ended)
    }

    /// Executes the message without a tracer, and lets another process trace it on the state before it.
    fn trace_remote(
        &mut self,
        block: &BlockContext,
        message: &Message,
        place: TxPlace,
        tracer: &mut dyn RemoteTracer,
    ) -> Result<ExecutionEnd, TraceError> {
        let ended = self.run(block, message)?;
        let (evm, observer) = self.context_and_inspector();
        let (chain, bounds) = (evm.chain.chain().clone(), evm.chain.bounds());
        let tx = RemoteTx { chain: &chain, block, message, place, bounds };
        // The changes of the message are still in the journal: the state below is that before the message.
        tracer.trace(&tx, &mut evm.journaled_state.database, observer.out())?;
        observer.out().checkpoint()?;
        Ok(ended)
    }
}
