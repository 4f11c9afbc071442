//! The C-Chain's part of a rewind (docs/protocol/bundles.md, "Rewinding bundles").

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{Address, Bloom};
use esker_chain::{AfterRewind, ChainError, ChainVm as _, Rewinding};
use esker_evm_state::state::StateError;
use esker_evm_state::types::SealedHeader;

use super::ChainReadError;
use super::error::state_failed;
use super::submit::newest;
use super::vm::Evm;
use crate::pool::{AccountState, NewHead};
use crate::view::{BlocksRemoved, ChainEvent, PlacedLog};

impl Evm {
    /// Corrects rows that no bundle wrote, and returns the update of memory after the write.
    pub(super) fn prepare<'a>(
        &'a self,
        rewind: &mut Rewinding<'_>,
    ) -> Result<AfterRewind<'a>, ChainError> {
        let tip = self.view(&rewind.after).tip()?;
        let header = self.view(&rewind.after).header(tip.height)?.ok_or(ChainReadError::NoTip)?;
        let logs = self.logs.prepare_rewind(tip.height, &mut rewind.after, |reader, height| {
            if height < self.first_block() {
                return Ok(Bloom::ZERO);
            }
            let header = self.view(reader).header(height)?.ok_or(ChainReadError::NoTip)?;
            Ok::<_, ChainError>(header.bloom)
        })?;
        let removed = self.logs_above(rewind.before, tip.height)?;
        let scope = self.context().scope;
        for log in self.drop_logs() {
            log.prepare_rewind(scope, rewind)?;
        }
        let view = self.view(&rewind.after);
        let known = self.pool().known_accounts().into_iter();
        let states = known.map(|address| Ok((address, newest(&view, &address)?)));
        let states =
            states.collect::<Result<BTreeMap<_, _>, StateError>>().map_err(state_failed)?;
        let since_ms = rewind.since_ms;
        let under_way = self.rewinds.begin();
        Ok(Box::new(move || {
            self.logs.follow(logs);
            let removed = self.reset_head(SealedHeader { header, hash: tip.hash }, removed);
            drop(under_way);
            self.send(ChainEvent::Removed(removed));
            self.extension().rewound(tip.height);
            self.drop_logs().for_each(|log| log.rewound(since_ms));
            self.rewind_pool(tip.height, states);
        }))
    }

    /// Checks pooled transactions against the restored state.
    fn rewind_pool(&self, height: u64, mut states: BTreeMap<Address, AccountState>) {
        for address in self.pool().begin_rewind() {
            if states.contains_key(&address) {
                continue;
            }
            // The account was pooled after the others were read.
            match self.read_account(&address) {
                Ok(read) => drop(states.insert(address, read.state)),
                // The pool reads the account again with one of the next blocks.
                Err(error) => {
                    tracing::error!(%address, %error, "cannot read an account of the pool");
                }
            }
        }
        let accounts: Vec<_> = states.into_iter().collect();
        self.pool().settle(&NewHead {
            height,
            accounts: &accounts,
            is_mined: &|_| false,
            gas_limit: self.next_block().map_or(u64::MAX, |next| next.gas_limit),
            now_ms: self.context().clock.now_ms(),
        });
    }

    /// Sets the head to an older block. `logs` are those of the removed blocks.
    fn reset_head(&self, header: SealedHeader, logs: Option<Vec<PlacedLog>>) -> Arc<BlocksRemoved> {
        let height = header.header.number;
        let rewinds = self.rewinds.add(height);
        let removed = Arc::new(BlocksRemoved { rewinds, height, logs });
        // The logs must be known as soon as the position shows the rewind.
        self.removed.add(Arc::clone(&removed));
        self.set_head(Arc::new(header), Some(rewinds));
        self.blocks.clear();
        removed
    }
}
