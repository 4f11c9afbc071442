//! Log lines of accepted blocks. Each block has one; under load, a few blocks a second have one, and a summary covers
//! the others.
//!
//! The lines are written by a task that follows the machine's events, so no chain waits for them.

mod summary;

use std::collections::BTreeMap;
use std::sync::Arc;

use esker_chain::{
    AcceptedEvent, BlockFigures, ChainVm, ExecutedBlock, MachineEvent, Shutdown, ShutdownTrigger,
};
use esker_primitives::ChainId;
use esker_primitives::clock::Clock;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::task::JoinHandle;

use self::summary::{Block, MAX_LINES, Summary};
use crate::throttle::Throttle;

/// The task that writes the lines.
#[derive(Debug)]
pub(crate) struct BlockLogTask {
    stop: ShutdownTrigger,
    task: JoinHandle<()>,
}

impl BlockLogTask {
    /// Starts with the first of `events`.
    pub(crate) fn spawn(
        events: Receiver<MachineEvent>,
        chains: &[Arc<dyn ChainVm>],
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (stop, stopped) = Shutdown::new();
        let chains: BTreeMap<_, _> =
            chains.iter().map(|vm| (vm.context().chain_id, Arc::clone(vm))).collect();
        let figures = move |chain: &ChainId, block: &ExecutedBlock| {
            if !tracing::event_enabled!(tracing::Level::INFO) {
                return None;
            }
            chains.get(chain).map(|vm| (vm.name(), vm.block_figures(block)))
        };
        let log = BlockLog::new(figures, Arc::clone(&clock), write);
        Self { stop, task: tokio::spawn(log.run(events, stopped)) }
    }

    /// Writes the lines of the blocks that were accepted so far, and ends the task.
    pub(crate) async fn stop(self) {
        self.stop.trigger();
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the log of blocks failed");
        }
    }
}

/// A line, with the name of its chain.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    Block(String, Block),
    Summary(String, Summary),
    /// Bundles were accepted faster than their lines could be written.
    Missed(u64),
}

/// Writes a line.
fn write(line: Line) {
    match line {
        Line::Block(chain, block) => {
            let Block { height, figures, since_last_ms, execute_ms, commit_ms } = block;
            let BlockFigures { hash, txs, gas, base_fee, is_empty: _ } = figures;
            tracing::info!(
                chain,
                height,
                hash,
                txs,
                gas,
                base_fee,
                since_last_ms,
                execute_ms,
                commit_ms,
                "block accepted"
            );
        }
        Line::Summary(chain, summary) => {
            let Summary { blocks, first, last, txs, gas, max_execute_ms, max_commit_ms } = summary;
            tracing::info!(
                chain,
                blocks,
                first,
                last,
                txs,
                gas,
                max_execute_ms,
                max_commit_ms,
                "further blocks accepted"
            );
        }
        Line::Missed(bundles) => {
            tracing::warn!(bundles, "accepted blocks were not written to the log");
        }
    }
}

/// The lines of all chains.
struct BlockLog<F, W> {
    /// The name and the figures of a block's chain; `None` if the block is not logged.
    figures: F,
    clock: Arc<dyn Clock>,
    write: W,
    chains: BTreeMap<ChainId, ChainLog>,
}

#[derive(Debug, Default)]
struct ChainLog {
    name: String,
    throttle: Throttle<Summary, MAX_LINES>,
    /// Time of the last accepted block, Unix ms.
    last_ms: Option<u64>,
}

impl<F, W> BlockLog<F, W>
where
    F: Fn(&ChainId, &ExecutedBlock) -> Option<(String, BlockFigures)>,
    W: Fn(Line),
{
    fn new(figures: F, clock: Arc<dyn Clock>, write: W) -> Self {
        Self { figures, clock, write, chains: BTreeMap::new() }
    }

    /// Writes lines until the machine is gone, or until `stop`.
    async fn run(mut self, mut events: Receiver<MachineEvent>, mut stop: Shutdown) {
        loop {
            let due_ms = self.chains.values().filter_map(|chain| chain.throttle.due_ms()).min();
            let clock = Arc::clone(&self.clock);
            let due = async {
                match due_ms {
                    Some(ms) => clock.sleep_until(ms).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = due => self.write_due(),
                event = events.recv() => match event {
                    Ok(event) => self.event(&event),
                    Err(RecvError::Lagged(bundles)) => (self.write)(Line::Missed(bundles)),
                    Err(RecvError::Closed) => break,
                },
                () = stop.wait() => break,
            }
        }
        loop {
            match events.try_recv() {
                Ok(event) => self.event(&event),
                Err(TryRecvError::Lagged(bundles)) => (self.write)(Line::Missed(bundles)),
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        for chain in self.chains.values_mut() {
            if let Some(summary) = chain.throttle.take_summary(None) {
                (self.write)(Line::Summary(chain.name.clone(), summary));
            }
        }
    }

    fn event(&mut self, event: &MachineEvent) {
        // A clock that was set back makes a summary due before the task wakes.
        self.write_due();
        if let Some(event) = event.accepted() {
            self.accepted(event);
        }
    }

    fn accepted(&mut self, event: &AcceptedEvent) {
        let AcceptedEvent { accepted_ms, commit_ms, execute_ms, .. } = *event;
        let now_ms = self.clock.now_ms();
        for (id, block) in &event.blocks {
            let Some((name, figures)) = (self.figures)(id, block) else { continue };
            let chain = self.chains.entry(*id).or_default();
            chain.name = name;
            let last_ms = chain.last_ms.replace(accepted_ms);
            if figures.is_empty {
                continue;
            }
            let since_last_ms = last_ms.map(|last| accepted_ms.saturating_sub(last));
            let height = block.height;
            let line = Block { height, figures, since_last_ms, execute_ms, commit_ms };
            if let Some(line) = chain.throttle.accept(line, now_ms) {
                (self.write)(Line::Block(chain.name.clone(), line));
            }
        }
    }

    fn write_due(&mut self) {
        let now_ms = self.clock.now_ms();
        for chain in self.chains.values_mut() {
            if let Some(summary) = chain.throttle.take_summary(Some(now_ms)) {
                (self.write)(Line::Summary(chain.name.clone(), summary));
            }
        }
    }
}

#[cfg(test)]
mod tests;
