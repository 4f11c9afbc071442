//! The checks of `esker db verify` over a world's rows: blocks, state, indexes, shared memory, and the supply of the
//! native asset.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use esker_chain::ChainVm;
use esker_chain::audit::{
    Audit, AuditContext, Exchange, Ledger, Scratch, audit_bundles, audit_state,
};
use esker_primitives::codec::Decode as _;
use esker_shared_memory::{Element, Requests, apply, compare, visit};
use esker_storage::audit::{AuditError, AuditLog, Finding};
use esker_storage::{KvRead, MemoryStore};
use esker_utxo::Utxo;

use super::world::World;

/// Expects no findings.
struct NoFindings;

impl AuditLog for NoFindings {
    fn finding(&mut self, finding: Finding) {
        panic!("{finding}");
    }

    fn progress(&mut self, _: &str, _: u64, _: Option<u64>) -> Result<(), AuditError> {
        Ok(())
    }
}

fn scratch() -> Scratch {
    Scratch::new(Arc::new(MemoryStore::new()))
}

/// Checks all rows and adds up the amounts.
pub fn audit(world: &World) -> [Ledger; 2] {
    let stored = world.store.snapshot().unwrap();
    let vms: Vec<Arc<dyn ChainVm>> = vec![world.x.clone(), world.evm().clone()];
    audit_bundles(&vms, stored.as_ref(), &mut NoFindings).unwrap();
    audit_state(&vms, stored.as_ref(), &mut NoFindings).unwrap();
    let memory = scratch();
    let native = world.x.context().native_asset_id;
    let ledger = |chain: &dyn Audit, id| {
        let mut exchange = |exchange| {
            let mut requests = Requests::default();
            let peer = match exchange {
                Exchange::Put { peer, key, value, traits } => {
                    requests.puts.push(Element { key, value, traits });
                    peer
                }
                Exchange::Remove { peer, key } => {
                    requests.removes.push(key);
                    peer
                }
            };
            let requests = BTreeMap::from([(peer, requests)]);
            memory.fill(|pending| {
                apply(pending, &id, &requests).unwrap();
                Ok::<_, AuditError>(())
            })
        };
        let mut ctx = AuditContext {
            stored: stored.as_ref(),
            assets: &[native],
            scratch: scratch(),
            log: &mut NoFindings,
            exchanges: &mut exchange,
        };
        chain.audit(&mut ctx).unwrap().unwrap().remove(&native).unwrap()
    };
    let ledgers =
        [ledger(world.x.as_ref(), world.x_id()), ledger(world.evm().as_ref(), world.c_id())];
    compare(stored.as_ref(), memory.rows().unwrap().as_ref(), &mut NoFindings).unwrap();
    let in_memory = native_in_memory(world, stored.as_ref());
    let sum = |part: fn(&Ledger) -> u128| ledgers.iter().map(part).sum::<u128>();
    assert_eq!(sum(|l| l.genesis), sum(|l| l.held + l.burnt) + in_memory);
    assert_eq!(sum(|l| l.exported), sum(|l| l.imported) + in_memory);
    for Ledger { genesis, minted, imported, exported, burnt, held } in ledgers {
        assert_eq!(minted, 0);
        assert_eq!(genesis + imported, exported + burnt + held);
    }
    ledgers
}

fn native_in_memory(world: &World, stored: &dyn KvRead) -> u128 {
    let mut sum = 0;
    visit(stored, |value| {
        let utxo = Utxo::from_versioned_bytes(value, value.len()).unwrap();
        assert_eq!(utxo.asset_id, world.native());
        sum += u128::from(utxo.output.as_transfer().unwrap().amount) * Ledger::PER_NANO;
        ControlFlow::Continue(())
    })
    .unwrap();
    sum
}
