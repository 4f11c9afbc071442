//! Transactions that the node built for a user: they may spend what waits in the pool.

use std::collections::BTreeSet;

use esker_chain::forward::Submission;
use esker_primitives::TxId;
use esker_storage::{KvRead, PendingWrites, StorageResult};
use esker_transactions::xvm::{Tx, UnsignedTx};

use super::forward::Issued;
use super::issue::IssueError;
use super::parts::Xvm;
use crate::execute::{add_utxo, asset_record};
use crate::pool::{AddOutcome, JoinError, MempoolError, Pooled};
use crate::state::tables::ASSETS;
use crate::state::{ChainState, View};
use crate::verify::{VerifyError, syntactic};

/// The reason why a transaction that was built for a user is not taken in.
#[derive(Debug)]
pub(crate) enum BuiltError {
    /// A coin was taken or decided on after it was chosen. With other coins the transaction may be valid.
    CoinsTaken(IssueError),
    /// The transaction is invalid whatever its coins.
    Refused(IssueError),
}

impl<E: Into<IssueError>> From<E> for BuiltError {
    fn from(error: E) -> Self {
        Self::Refused(error.into())
    }
}

/// A state with the outputs of waiting transactions that another transaction spends.
pub(crate) struct StateAfterParents<'a> {
    pub(crate) state: PendingWrites<'a>,
    /// The transactions before it.
    pub(crate) parents: BTreeSet<TxId>,
}

impl Xvm {
    /// Issues a transaction that was built on the coins of `view` and of the pool.
    pub(crate) fn issue_built(&self, tx: Tx, view: &View<'_>) -> Result<Issued, BuiltError> {
        let permit = self.context().reserve_forward()?;
        let outgoing = permit.is_forwarding().then(|| tx.clone());
        let id = self.join_built(tx, view)?;
        let answer = match outgoing {
            Some(tx) => permit.send(Submission::New, || self.forwarded(&tx)),
            None => self.answer_with_block(id),
        };
        Ok(Issued { id, answer })
    }

    /// Like [`Self::issue_built`]. It is not passed on.
    pub(crate) fn join_built(&self, tx: Tx, view: &View<'_>) -> Result<TxId, BuiltError> {
        self.context().store.ensure_writable()?;
        let id = tx.id();
        syntactic::verify(&tx, self.params())?;
        let Some(StateAfterParents { state, parents }) =
            self.state_after_parents(&tx, view.state())?
        else {
            return Err(BuiltError::CoinsTaken(VerifyError::NotFound.into()));
        };
        self.check_tx(&tx, &state, self.context().clock.now_s())??;
        let consumes_nothing = tx.unsigned().consumed_utxo_ids().next().is_none();
        match self.join(Pooled::new(tx, true), view.height()?, &parents) {
            Ok(AddOutcome::New) => Ok(id),
            Ok(AddOutcome::Known) if consumes_nothing => Err(VerifyError::AcceptedBefore.into()),
            // Another user with the same keys issued the same transaction.
            Ok(AddOutcome::Known) => Err(BuiltError::CoinsTaken(MempoolError::Conflict(id).into())),
            Err(JoinError::Pool(error @ MempoolError::Conflict(_))) => {
                Err(BuiltError::CoinsTaken(error.into()))
            }
            Err(JoinError::Pool(
                error @ (MempoolError::TooLarge { .. } | MempoolError::Full { .. }),
            )) => Err(error.into()),
            Err(JoinError::Spent | JoinError::NoParent | JoinError::Outdated) => {
                Err(BuiltError::CoinsTaken(VerifyError::NotFound.into()))
            }
        }
    }

    /// `state` with the outputs of waiting transactions that `tx` spends. `None` if an output is neither in the state nor
    /// produced by a waiting transaction.
    pub(crate) fn state_after_parents<'a>(
        &self,
        tx: &Tx,
        state: ChainState<'a>,
    ) -> StorageResult<Option<StateAfterParents<'a>>> {
        let scope = self.scope();
        let mut after = StateAfterParents {
            state: PendingWrites::new(state.reader()),
            parents: BTreeSet::new(),
        };
        for id in tx.unsigned().local_utxo_ids() {
            if state.utxo_bytes(&id)?.is_some() {
                continue;
            }
            let Some(utxo) = self.mempool.output(&id) else { return Ok(None) };
            add_utxo(&mut after.state, scope, &self.params().fee_asset_id, &utxo);
            after.parents.insert(id.tx_id);
            if state.asset(&utxo.asset_id)?.is_some() {
                continue;
            }
            let Some(created) = self.mempool.get(&utxo.asset_id) else { return Ok(None) };
            if let UnsignedTx::CreateAsset(asset) = created.tx.unsigned() {
                ASSETS.put(&mut after.state, scope, &utxo.asset_id, &asset_record(asset));
                after.parents.insert(utxo.asset_id);
            }
        }
        Ok(Some(after))
    }

    /// The reason why a waiting transaction is not valid on the state that `reader` shows, with what other waiting
    /// ones produce.
    pub(crate) fn refusal_in_pool(
        &self,
        pooled: &Pooled,
        reader: &dyn KvRead,
        now_s: u64,
    ) -> StorageResult<Option<String>> {
        let tx = &pooled.tx;
        if !pooled.well_formed
            && let Err(error) = syntactic::verify(tx, self.params())
        {
            return Ok(Some(error.to_string()));
        }
        let state = ChainState::new(reader, self.scope());
        let checked = match self.state_after_parents(tx, state)? {
            Some(after) => self.check_tx(tx, &after.state, now_s)?,
            None => self.check_tx(tx, reader, now_s)?,
        };
        Ok(checked.err().map(|error| error.to_string()))
    }
}
