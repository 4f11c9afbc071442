//! The events on the chains of a development network, as text for a person's terminal: accepted transactions and
//! blocks, calls that end with an error, and what code prints, in the form of anvil.
//!
//! A task follows the machine's events and the server's calls, and a thread of its own writes, so neither chains
//! nor clients wait for a terminal. Under load, some blocks a second have their text and the others a summary.

mod call_log;
mod fork;
mod output;
mod printed;
mod summary;
mod text;

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use esker_chain::{
    AcceptedEvent, BlockReport, ChainVm, ExecutedBlock, MachineEvent, Shutdown, ShutdownTrigger,
};
use esker_evm::control::Controls;
use esker_evm::printed::PrintedCall;
use esker_fork::Fork;
use esker_primitives::ChainId;
use esker_primitives::clock::Clock;
use esker_rpc::work::FailedCall;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::task::JoinHandle;

pub use self::call_log::CallLogSources;
use self::fork::ForkReads;
use self::output::{Closed, Output};
use self::summary::BlockSummary;
use crate::throttle::{Throttle, WINDOW_MS};

/// Most blocks of a chain that have their own text in a window, most failed calls, and most calls that print.
const MAX_SHOWN: u32 = 10;
/// Most transactions of one block that have their own text.
const MAX_TXS: usize = 10;
/// Time that the end waits for a terminal that does not read.
const STOP_TIMEOUT: Duration = Duration::from_millis(200);

/// The sources of the lines.
#[derive(Debug)]
pub(crate) struct Sources {
    pub(crate) events: Receiver<MachineEvent>,
    pub(crate) failed_calls: Receiver<FailedCall>,
    /// Of each chain.
    pub(crate) printed_calls: Vec<Receiver<PrintedCall>>,
    pub(crate) chains: Vec<Arc<dyn ChainVm>>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Controls of the chains. While logging is off, nothing is shown.
    pub(crate) controls: Vec<Arc<Controls>>,
    /// The source of a forked chain.
    pub(crate) fork: Option<Fork>,
}

/// What the reader of the lines can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terminal {
    /// It is a terminal, on which a line can replace the last one.
    pub can_replace: bool,
    /// It shows colours.
    pub has_colours: bool,
}

/// The running task.
#[derive(Debug)]
pub struct Activity {
    stop: ShutdownTrigger,
    task: JoinHandle<()>,
}

impl Activity {
    /// Writes lines from now on, until `out` is closed.
    pub(crate) fn spawn(sources: Sources, out: impl Write + Send + 'static) -> Self {
        let (stop, stopped) = Shutdown::new();
        let Sources { events, failed_calls, printed_calls, chains, clock, controls, fork } =
            sources;
        let followed = Followed { events, failed_calls, printed_calls };
        let chains = chains.into_iter().map(|vm| (vm.context().chain_id, Chain::new(vm)));
        let screen = Screen {
            chains: chains.collect(),
            calls: Throttle::default(),
            printed: Throttle::default(),
            output: Output::spawn(out),
            fork: fork.map(|fork| ForkReads::new(&fork, clock.now_ms())),
            clock,
            controls,
        };
        Self { stop, task: tokio::spawn(screen.run(followed, stopped)) }
    }

    /// Writes the lines that are due, and ends. It does not wait for a terminal that does not read.
    pub async fn stop(self) {
        self.stop.trigger();
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the screen's activity failed");
        }
    }
}

/// The report of a block. Its transactions may run again for it: other tasks go on meanwhile.
fn report(vm: &dyn ChainVm, block: &ExecutedBlock) -> BlockReport {
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::MultiThread => tokio::task::block_in_place(|| vm.block_report(block)),
        _ => vm.block_report(block),
    }
}

/// One chain on the screen.
#[derive(Debug)]
struct Chain {
    vm: Arc<dyn ChainVm>,
    name: String,
    blocks: Throttle<BlockSummary, MAX_SHOWN>,
}

impl Chain {
    fn new(vm: Arc<dyn ChainVm>) -> Self {
        Self { name: vm.name(), vm, blocks: Throttle::default() }
    }
}

/// What the task waits for.
#[derive(Debug)]
struct Followed {
    events: Receiver<MachineEvent>,
    failed_calls: Receiver<FailedCall>,
    printed_calls: Vec<Receiver<PrintedCall>>,
}

#[derive(Debug)]
struct Screen {
    chains: BTreeMap<ChainId, Chain>,
    /// Failed calls; the summary is their number.
    calls: Throttle<u64, MAX_SHOWN>,
    /// Calls that print; the summary is their number.
    printed: Throttle<u64, MAX_SHOWN>,
    output: Output,
    fork: Option<ForkReads>,
    clock: Arc<dyn Clock>,
    controls: Vec<Arc<Controls>>,
}

impl Screen {
    async fn run(mut self, mut followed: Followed, mut stop: Shutdown) {
        while self.next(&mut followed, &mut stop).await.is_ok_and(|is_running| is_running) {}
        // The lines that are due at the end.
        if self.drain(&mut followed).is_ok() {
            self.output.finish(STOP_TIMEOUT).await;
        }
    }

    /// Waits for the next event, and shows it; false at the end.
    async fn next(&mut self, followed: &mut Followed, stop: &mut Shutdown) -> Result<bool, Closed> {
        let Followed { events, failed_calls, printed_calls } = followed;
        let clock = Arc::clone(&self.clock);
        let due_ms = self.due_ms();
        let due = async {
            match due_ms {
                Some(ms) => clock.sleep_until(ms).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = due => self.summaries_due()?,
            event = events.recv() => match event {
                Ok(event) => self.event(&event)?,
                Err(RecvError::Lagged(bundles)) => self.output.write(text::missed(bundles))?,
                Err(RecvError::Closed) => return Ok(false),
            },
            // Before the call's error.
            call = printed::next(printed_calls) => match call {
                Ok(call) => self.printed_call(&call)?,
                Err(RecvError::Lagged(calls)) => self.printed.skip(calls),
                Err(RecvError::Closed) => return Ok(false),
            },
            call = failed_calls.recv() => match call {
                Ok(call) => self.call(&call)?,
                Err(RecvError::Lagged(calls)) => self.calls.skip(calls),
                Err(RecvError::Closed) => return Ok(false),
            },
            () = stop.wait() => return Ok(false),
        }
        Ok(true)
    }

    fn due_ms(&self) -> Option<u64> {
        let blocks = self.chains.values().filter_map(|chain| chain.blocks.due_ms());
        let calls = [self.calls.due_ms(), self.printed.due_ms()].into_iter().flatten();
        blocks.chain(calls).chain(self.fork.as_ref().map(ForkReads::due_ms)).min()
    }

    fn event(&mut self, event: &MachineEvent) -> Result<(), Closed> {
        // A clock that was set back makes a summary due before the task wakes.
        self.summaries_due()?;
        match event {
            MachineEvent::Accepted(event) => self.accepted(event),
            MachineEvent::Rewound(rewound) => self.output.write(text::rewound(rewound)),
        }
    }

    fn is_silent(&self) -> bool {
        self.controls.iter().any(|controls| !controls.is_logging())
    }

    fn accepted(&mut self, event: &AcceptedEvent) -> Result<(), Closed> {
        if self.is_silent() {
            return Ok(());
        }
        event.blocks.iter().try_for_each(|(id, block)| self.block(id, block))
    }

    fn block(&mut self, id: &ChainId, block: &Arc<ExecutedBlock>) -> Result<(), Closed> {
        let Some(chain) = self.chains.get_mut(id) else { return Ok(()) };
        if chain.blocks.take(self.clock.now_ms()) {
            let report = report(chain.vm.as_ref(), block);
            return self.output.write(text::block(&chain.name, block, &report, MAX_TXS));
        }
        chain.blocks.summary().add(block.height, &chain.vm.block_figures(block));
        Ok(())
    }

    fn call(&mut self, call: &FailedCall) -> Result<(), Closed> {
        self.summaries_due()?;
        if self.is_silent() {
            return Ok(());
        }
        match self.calls.take(self.clock.now_ms()) {
            true => self.output.write(text::failed_call(call)),
            false => {
                self.calls.skip(1);
                Ok(())
            }
        }
    }

    fn printed_call(&mut self, call: &PrintedCall) -> Result<(), Closed> {
        self.summaries_due()?;
        if self.is_silent() {
            return Ok(());
        }
        match self.printed.take(self.clock.now_ms()) {
            true => self.output.write(printed::call(call)),
            false => {
                self.printed.skip(1);
                Ok(())
            }
        }
    }

    fn summaries_due(&mut self) -> Result<(), Closed> {
        let now_ms = self.clock.now_ms();
        if let Some(reads) = self.fork.as_mut().and_then(|fork| fork.take(now_ms))
            && !self.is_silent()
        {
            self.output.write(reads)?;
        }
        self.summaries(Some(now_ms))
    }

    /// Writes the summaries that are due; without a time, all.
    fn summaries(&mut self, now_ms: Option<u64>) -> Result<(), Closed> {
        for chain in self.chains.values_mut() {
            if let Some(summary) = chain.blocks.take_summary(now_ms) {
                self.output.write(text::further_blocks(&chain.name, &summary))?;
            }
        }
        if let Some(calls) = self.printed.take_summary(now_ms) {
            self.output.write(printed::further_calls(calls))?;
        }
        match self.calls.take_summary(now_ms) {
            Some(calls) => self.output.write(text::further_calls(calls)),
            None => Ok(()),
        }
    }

    fn drain(&mut self, followed: &mut Followed) -> Result<(), Closed> {
        let Followed { events, failed_calls, printed_calls } = followed;
        loop {
            match events.try_recv() {
                Ok(event) => self.event(&event)?,
                Err(TryRecvError::Lagged(bundles)) => self.output.write(text::missed(bundles))?,
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        for calls in printed_calls {
            while let Ok(call) = calls.try_recv() {
                self.printed_call(&call)?;
            }
        }
        while let Ok(call) = failed_calls.try_recv() {
            self.call(&call)?;
        }
        self.summaries(None)
    }
}

#[cfg(test)]
mod tests;
