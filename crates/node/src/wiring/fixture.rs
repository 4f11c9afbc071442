//! Applies the fixture of a development network at the first start of a folder (docs/fixtures.md).

use std::sync::Arc;
use std::time::Duration;

use esker_chain::tables::CHAINS;
use esker_chain::{AdjustableClock, BuildPause, ChainMachine as _, Machine, Undo, UndoLimits};
use esker_evm::view::{ChainReader as _, ViewError};
use esker_evm_execution::rules::TARGET_BLOCK_RATE_S;
use esker_nat::{AtomicStatus, Nat};
use esker_primitives::clock::Clock as _;
use esker_settings::config::Config;
use esker_settings::fixture::{Fixture, Step, StepTx};
use esker_settings::networks::Network;
use esker_storage::meta::{self, Parameters};
use esker_storage::{Scope, StorageError, Store, WriteRefusal, WriteSet};
use esker_xvm::{TxStatus, Xvm};
use thiserror::Error;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until};

use super::StartError;
use super::parameter_error::ParameterError;
use crate::chains::EvmChain;

/// Owner of the fixture's record in the store.
const OWNER: &[u8] = b"fixture";
/// Hash of the fixture.
const DIGEST: &str = "hash";
/// The progress of applying it.
const STATE: &str = "state";
const BEGUN: &str = "begun";
const DONE: &str = "done";
/// It was taken back, so another one may be applied.
const FAILED: &str = "failed";
/// Time between two blocks of a fixture, ms.
const STEP_MS: u64 = 1000;
/// The same time if C-Chain blocks in quick succession cost a fee: the time after which they cost nothing.
const COSTLY_STEP_MS: u64 = TARGET_BLOCK_RATE_S * 1000;
/// Time that a transaction may wait for its block. Without this limit a transaction that never gets into one would
/// hold up the start for ever.
const PATIENCE: Duration = Duration::from_secs(30);
/// The bundles that can be rewound if the fixture fails.
const UNDO: UndoLimits = UndoLimits::bundles(1_000_000);

/// The fixture that this start has to apply, or to complete. A folder that has it already needs none. A follower
/// needs none either, since it takes the blocks of its source. On a new folder the fixture is recorded before
/// anything else.
///
/// # Errors
/// The folder has another fixture, a part of one, or was made without one, or the node can't apply it because others
/// take its blocks.
pub(super) fn wanted(config: &Config, store: &Store) -> Result<Option<Arc<Fixture>>, StartError> {
    let network = &config.network;
    if !config.sources().is_empty() {
        return Ok(None);
    }
    let reader = store.snapshot()?;
    let has_begun = CHAINS.first(reader.as_ref(), Scope::NODE, &[], None)?.is_some();
    let recorded = meta::parameters(reader.as_ref(), OWNER)?;
    drop(reader);
    let value = |name: &str| {
        let found = recorded.iter().flatten().find(|(found, _)| found == name);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let (found, state) = (value(DIGEST), value(STATE));
    // Nothing is left of a start that ended before the first block, or of a fixture that was taken back.
    let is_free = !has_begun || state == FAILED;
    let Some(fixture) = &network.fixture else {
        if is_free && recorded.as_ref().is_some_and(|recorded| !recorded.is_empty()) {
            let mut out = WriteSet::new();
            meta::put_parameters(&mut out, OWNER, &Vec::new());
            store.writer.commit_blocking(out)?;
            return Ok(None);
        }
        return match state.as_str() {
            BEGUN => Err(ParameterError::PartOfFixture { found }.into()),
            _ => Ok(None),
        };
    };
    let applied = || match config.decides_alone() {
        true => Ok(Arc::clone(fixture)),
        false => {
            let text =
                "start once without api-sync-enabled: a node that others follow can't apply it";
            Err(StartError::Fixture(text.to_owned()))
        }
    };
    if is_free {
        let fixture = applied()?;
        store.writer.commit_blocking(record(&fixture, BEGUN))?;
        return Ok(Some(fixture));
    }
    let wanted = fixture.digest.to_string();
    if wanted != found {
        let found =
            if found.is_empty() { "no fixture".to_owned() } else { format!("fixture {found}") };
        return Err(ParameterError::Fixture { found, wanted }.into());
    }
    if state == DONE { Ok(None) } else { applied().map(Some) }
}

/// The record of a fixture's progress.
fn record(fixture: &Fixture, state: &str) -> WriteSet {
    let values: Parameters =
        vec![(DIGEST.to_owned(), fixture.digest.to_string()), (STATE.to_owned(), state.to_owned())];
    let mut out = WriteSet::new();
    meta::put_parameters(&mut out, OWNER, &values);
    out
}

/// Time from the start of a network to the last block of its fixture, ms; 0 without one.
pub(super) fn duration_ms(network: &Network) -> u64 {
    let steps = network.fixture.as_ref().map_or(0, |fixture| fixture.steps.len() as u64);
    if steps == 0 { 0 } else { steps.saturating_mul(step_ms(network)).saturating_add(STEP_MS) }
}

/// Time between two blocks of a fixture, ms.
fn step_ms(network: &Network) -> u64 {
    let costs_more = network.evm_parameters().charges_quick_blocks();
    if costs_more { COSTLY_STEP_MS } else { STEP_MS }
}

/// The chains that a fixture has transactions of.
#[derive(Clone, Copy, Debug)]
pub(super) struct FixtureChains<'a> {
    /// The X-Chain, if the network has it.
    pub(super) xvm: Option<&'a Xvm>,
    /// The EVM chain.
    pub(super) evm: &'a EvmChain,
}

impl FixtureChains<'_> {
    fn xvm(&self) -> Result<&Xvm, StepError> {
        self.xvm.ok_or(StepError::NoXChain)
    }

    fn nat(&self) -> Result<&Nat, StepError> {
        self.evm.nat().ok_or(StepError::NoAtomicTxs)
    }
}

/// A fixture that is being applied, with a clock that stands still.
pub(super) struct Applying {
    fixture: Arc<Fixture>,
    clock: AdjustableClock,
    /// Unix ms.
    start_ms: u64,
    /// Time between two blocks.
    step_ms: u64,
}

impl Applying {
    /// Stops the clock at the start of the network, before its first block.
    pub(super) fn begin(fixture: Arc<Fixture>, network: &Network, clock: AdjustableClock) -> Self {
        let start_ms = network.start_time_s.saturating_mul(1000).saturating_add(STEP_MS);
        clock.stop_at(start_ms);
        Self { fixture, clock, start_ms, step_ms: step_ms(network) }
    }

    /// Applies the fixture, and starts the clock again. A fixture that fails leaves nothing, unless an earlier start
    /// has applied a part of it.
    pub(super) async fn finish(
        self,
        chains: FixtureChains<'_>,
        (machine, undo): (&Arc<Machine>, Undo),
        network: &Network,
    ) -> Result<(), StartError> {
        let Self { fixture, clock, start_ms, step_ms } = self;
        let fault = |error: &dyn std::fmt::Display| StartError::Fixture(error.to_string());
        let store = machine.store();
        let before = machine.last_final().0;
        let is_resumed = match fixture.steps.first() {
            Some(first) => is_done(first, chains).map_err(|error| fault(&error))?,
            None => false,
        };
        // Exports from P exist from the beginning, so they stay with their fixture.
        let is_free = network.exported.is_empty() && !is_resumed;
        machine.set_undo(Undo::Keep(UNDO)).await.map_err(|error| fault(&error))?;
        for (number, step) in (1..).zip(&fixture.steps) {
            // A build that has read the clock already must not take the transaction: its block would have the earlier
            // time.
            let pause = machine.pause_building();
            let _none_runs = machine.lowest_rewind().await.map_err(|error| fault(&error))?;
            clock.stop_at(start_ms.saturating_add(step_ms.saturating_mul(number)));
            if let Err(reason) = apply(step, chains, (machine, pause)).await {
                if store.writer.refusal().borrow().is_some() {
                    // A rewind would wait for disk space. The applied part stays, and the next start continues.
                    store.writer.stop_waiting().await;
                    let text = "make room, and start again with the same fixture";
                    return Err(fault(&format!("{}: {reason}: {text}", step.member)));
                }
                let also = if is_free { record(&fixture, FAILED) } else { WriteSet::new() };
                let reason = match machine.rewind_with(before, also).await {
                    Ok(_) => reason.to_string(),
                    Err(error) => {
                        format!("{reason}; what was applied can't be taken back: {error}")
                    }
                };
                return Err(fault(&format!("{}: {reason}", step.member)));
            }
        }
        machine.set_undo(undo).await.map_err(|error| fault(&error))?;
        store.commit(record(&fixture, DONE)).await?;
        let end_ms = clock.now_ms();
        clock.run();
        // A clock with its own start is behind the last block by now.
        if clock.now_ms() < end_ms {
            clock.set(end_ms);
        }
        tracing::info!(transactions = fixture.steps.len(), "applied the fixture");
        Ok(())
    }
}

/// The reason why a step of a fixture is not applied.
#[derive(Debug, Error)]
enum StepError {
    #[error("the network has no X-Chain")]
    NoXChain,
    #[error("the chain has no atomic transactions")]
    NoAtomicTxs,
    #[error("the node is stopping")]
    Stopping,
    #[error(transparent)]
    Writes(#[from] WriteRefusal),
    #[error("no block took it within {} s", PATIENCE.as_secs())]
    Timeout,
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    View(#[from] ViewError),
    #[error(transparent)]
    Xvm(#[from] esker_xvm::IssueError),
    #[error(transparent)]
    Atomic(#[from] esker_nat::SubmitError),
    #[error(transparent)]
    Evm(#[from] esker_evm::chain::SubmitError),
    /// The chain rejected or dropped the transaction, for this reason.
    #[error("{0}")]
    Rejected(String),
    #[error("its receipt is missing")]
    NoReceipt,
    #[error("the constructor failed after {gas} gas")]
    Constructor { gas: u64 },
}

/// Issues a transaction, unless an interrupted start did, ends the pause of building, and waits for its block.
async fn apply(
    step: &Step,
    chains: FixtureChains<'_>,
    (machine, pause): (&Arc<Machine>, BuildPause),
) -> Result<(), StepError> {
    let mut events = machine.subscribe();
    let mut pause = Some(pause);
    let mut refusal = machine.store().writer.refusal();
    let deadline = Instant::now() + PATIENCE;
    loop {
        if is_done(step, chains)? {
            return Ok(());
        }
        if let Some(pause) = pause.take() {
            issue(step, chains)?;
            drop(pause);
        }
        tokio::select! {
            event = events.recv() => match event {
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Err(StepError::Stopping),
            },
            Ok(refused) = refusal.wait_for(Option::is_some) => {
                return Err(refused.clone().map_or(StepError::Stopping, StepError::Writes));
            }
            () = sleep_until(deadline) => return Err(StepError::Timeout),
        }
    }
}

fn issue(step: &Step, chains: FixtureChains<'_>) -> Result<(), StepError> {
    match &step.tx {
        StepTx::Xvm(tx) => {
            chains.xvm()?.issue(tx.bytes())?;
        }
        StepTx::Atomic(tx) => {
            chains.nat()?.submit(tx.clone())?;
        }
        StepTx::Evm { tx, .. } => {
            chains.evm.evm().submit((**tx).clone())?;
        }
    }
    Ok(())
}

/// Whether the transaction is in a block. A transaction that failed there is an error.
fn is_done(step: &Step, chains: FixtureChains<'_>) -> Result<bool, StepError> {
    match &step.tx {
        StepTx::Xvm(tx) => match chains.xvm()?.view()?.tx_status(&tx.id())? {
            TxStatus::Accepted => Ok(true),
            TxStatus::Processing | TxStatus::Unknown => Ok(false),
            TxStatus::Rejected { reason } => Err(StepError::Rejected(reason)),
        },
        StepTx::Atomic(tx) => match chains.nat()?.status(&tx.id())? {
            Some(AtomicStatus::Accepted(_)) => Ok(true),
            Some(AtomicStatus::Processing) | None => Ok(false),
            Some(AtomicStatus::Dropped(reason)) => Err(StepError::Rejected(reason)),
        },
        StepTx::Evm { tx, contract } => {
            let evm = chains.evm.evm();
            let Some(place) = evm.location(*tx.tx_hash())? else { return Ok(false) };
            let receipts = evm.receipts_at(place.height)?;
            let receipt = receipts.get(place.index).ok_or(StepError::NoReceipt)?;
            if !receipt.success {
                return Err(StepError::Constructor { gas: receipt.gas_used });
            }
            tracing::info!(member = step.member, %contract, "contract of the fixture");
            Ok(true)
        }
    }
}
