//! The queue of a test's chain as a pool.

use std::ops::ControlFlow;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use esker_chain::forward::{
    AdmitError, ExchangePool, ExchangePools, ForwardError, ForwardPool, ForwardedTx, TxKind,
};
use esker_primitives::Id;
use esker_testkit::toy::{Op, Toy, tx_id};

#[derive(Debug)]
struct ToyPool(Weak<Toy>);

/// Registers a chain's pool with those of its node.
pub(crate) fn register(toy: &Arc<Toy>, pools: &ExchangePools) {
    pools.register(toy.id(), TxKind::Evm, Arc::new(ToyPool(Arc::downgrade(toy))));
}

fn forwarded(toy: &Toy, op: &Op) -> ForwardedTx {
    let bytes = [op.register.to_be_bytes(), op.value.to_be_bytes()].concat();
    let (chain, id) = (toy.id(), tx_id(op.register));
    ForwardedTx { chain, kind: TxKind::Evm, id, bytes: Bytes::from(bytes) }
}

fn number(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}

impl ForwardPool for ToyPool {
    fn is_in_block(&self, id: &Id) -> bool {
        let register = number(id.as_bytes()).unwrap();
        self.0.upgrade().is_some_and(|toy| toy.get(register).is_some())
    }

    fn withdraw(&self, _: &Id, _: &ForwardError) {}

    fn visit_waiting(&self, visit: &mut dyn FnMut(ForwardedTx) -> ControlFlow<()>) {
        let Some(toy) = self.0.upgrade() else { return };
        let queue = toy.queue.lock().clone();
        for op in queue {
            if visit(forwarded(&toy, &op)).is_break() {
                return;
            }
        }
    }
}

impl ExchangePool for ToyPool {
    fn is_waiting(&self, id: &Id) -> bool {
        self.waiting(id).is_some()
    }

    fn waiting(&self, id: &Id) -> Option<ForwardedTx> {
        let toy = self.0.upgrade()?;
        let queue = toy.queue.lock();
        queue.iter().find(|op| tx_id(op.register) == *id).map(|op| forwarded(&toy, op))
    }

    fn visit_waiting_ids(&self, visit: &mut dyn FnMut(Id) -> ControlFlow<()>) {
        self.visit_waiting(&mut |tx| visit(tx.id));
    }

    fn admit(&self, tx: &ForwardedTx) -> Result<(), AdmitError> {
        let Some(toy) = self.0.upgrade() else { return Ok(()) };
        let read = |at: usize| number(tx.bytes.get(at..).unwrap_or_default());
        let (Some(register), Some(value)) = (read(0), read(8)) else {
            return Err(AdmitError::malformed("it is too short"));
        };
        if !self.is_in_block(&tx.id) && !self.is_waiting(&tx.id) {
            toy.set(register, value);
        }
        Ok(())
    }
}
