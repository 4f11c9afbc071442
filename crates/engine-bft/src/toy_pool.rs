//! The queue of a test's chain as a pool.

use std::ops::ControlFlow;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use esker_chain::forward::{
    ExchangePool, ExchangePools, ForwardError, ForwardPool, ForwardedTx, TxKind,
};
use esker_primitives::Id;

use crate::toy::Toy;

#[derive(Debug)]
struct ToyPool(Weak<Toy>);

/// The pools of a node with this chain.
pub(crate) fn pools_of(toy: &Arc<Toy>) -> Arc<ExchangePools> {
    let pools = Arc::new(ExchangePools::default());
    pools.register(toy.id(), TxKind::Evm, Arc::new(ToyPool(Arc::downgrade(toy))));
    pools
}

fn id_of(register: u64) -> Id {
    let mut bytes = [0; Id::LEN];
    bytes[..8].copy_from_slice(&register.to_be_bytes());
    Id::new(bytes)
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
            let bytes = [op.register.to_be_bytes(), op.value.to_be_bytes()].concat();
            let (chain, id) = (toy.id(), id_of(op.register));
            let tx = ForwardedTx { chain, kind: TxKind::Evm, id, bytes: Bytes::from(bytes) };
            if visit(tx).is_break() {
                return;
            }
        }
    }
}

impl ExchangePool for ToyPool {
    fn is_waiting(&self, id: &Id) -> bool {
        let is_it = |toy: Arc<Toy>| toy.queue.lock().iter().any(|op| id_of(op.register) == *id);
        self.0.upgrade().is_some_and(is_it)
    }

    fn admit(&self, tx: &ForwardedTx) -> Result<(), String> {
        let Some(toy) = self.0.upgrade() else { return Ok(()) };
        let read = |at: usize| number(tx.bytes.get(at..).unwrap_or_default());
        let (Some(register), Some(value)) = (read(0), read(8)) else {
            return Err("it is too short".to_owned());
        };
        if !self.is_in_block(&tx.id) && !self.is_waiting(&tx.id) {
            toy.set(register, value);
        }
        Ok(())
    }
}
