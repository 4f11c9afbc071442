//! The calls to a development network that have ended, each with what it did, in the form of Hardhat's node.
//!
//! A block waits a moment for the call that made it, and a call for its block: they come from different tasks. A block that
//! no call made, such as one at a regular time, is shown by itself.

mod blocks;
mod coins;
mod lines;

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use esker_chain::{
    AcceptedEvent, ChainVm, ExecutedBlock, MachineEvent, PrintedTexts, RunReport, Shutdown,
};
use esker_evm::chain::Evm;
use esker_evm::control::Controls;
use esker_evm::runs::{LogSwitch, MadeBlocks, SentTx};
use esker_evm::view::ChainReader as _;
use esker_fork::Fork;
use esker_primitives::ChainId;
use esker_primitives::clock::Clock;
use esker_rpc::work::EndedCall;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use self::blocks::{MadeBlock, WaitingBlocks};
use self::lines::{CallEffect, CallLines};
use super::fork::ForkReads;
use super::output::{Closed, Output};
use super::{Activity, STOP_TIMEOUT, Terminal};

/// Longest time that a call waits for its block, ms.
const CALL_WAIT_MS: u64 = 10_000;
/// Longest time that a block waits for its call, ms.
const BLOCK_WAIT_MS: u64 = 2000;
/// The same while blocks are made at regular times, which are shown in order with the calls.
const REGULAR_BLOCK_WAIT_MS: u64 = 20;
/// Most calls that are written together.
const MAX_TOGETHER: usize = 64;
/// Bytes from which on nothing more is written together.
const MAX_TEXT: usize = 32 << 10;

/// The sources of the lines.
#[derive(Debug)]
pub struct CallLogSources {
    pub(crate) events: Receiver<MachineEvent>,
    pub(crate) ended_calls: Receiver<EndedCall>,
    pub(crate) chains: Vec<Arc<Evm>>,
    pub(crate) clock: Arc<dyn Clock>,
    /// The source of a forked chain.
    pub(crate) fork: Option<Fork>,
}

/// What the task waits for.
#[derive(Debug)]
struct Followed {
    events: Receiver<MachineEvent>,
    ended_calls: Receiver<EndedCall>,
}

#[derive(Debug)]
struct CallLog {
    chains: BTreeMap<ChainId, Arc<Evm>>,
    lines: CallLines,
    blocks: WaitingBlocks,
    /// The next call, whose block has not come yet, and the time until which it waits, Unix ms.
    held: Option<(EndedCall, u64)>,
    output: Output,
    /// What is written together.
    text: String,
    fork: Option<ForkReads>,
    clock: Arc<dyn Clock>,
    controls: Vec<Arc<Controls>>,
    /// Whether logging is off at this place of the log: only what code prints is shown.
    is_silent: bool,
}

impl CallLogSources {
    /// Writes the log of what happens from the time on at which the sources were made, until `out` is closed.
    pub fn show(self, out: impl Write + Send + 'static, terminal: Terminal) -> Activity {
        let (stop, stopped) = Shutdown::new();
        let Self { events, ended_calls, chains, clock, fork } = self;
        let controls: Vec<_> = chains.iter().filter_map(|evm| evm.controls()).cloned().collect();
        let is_silent = is_silent(&controls);
        let log = CallLog {
            chains: chains.into_iter().map(|evm| (evm.context().chain_id, evm)).collect(),
            lines: CallLines::new(terminal),
            blocks: WaitingBlocks::default(),
            held: None,
            output: Output::spawn(out),
            text: String::new(),
            fork: fork.map(|fork| ForkReads::new(&fork, clock.now_ms())),
            clock,
            controls,
            is_silent,
        };
        Activity { stop, task: tokio::spawn(log.run(Followed { events, ended_calls }, stopped)) }
    }
}

impl CallLog {
    async fn run(mut self, mut followed: Followed, mut stop: Shutdown) {
        while self.next(&mut followed, &mut stop).await.is_ok_and(|is_running| is_running) {}
        if self.drain(&mut followed).is_ok() {
            self.output.finish(STOP_TIMEOUT).await;
        }
    }

    /// Waits for the next event, and shows it; false at the end.
    async fn next(&mut self, followed: &mut Followed, stop: &mut Shutdown) -> Result<bool, Closed> {
        let (clock, due_ms) = (Arc::clone(&self.clock), self.due_ms());
        let due = async {
            match due_ms {
                Some(ms) => clock.sleep_until(ms).await,
                None => std::future::pending().await,
            }
        };
        let Followed { events, ended_calls } = followed;
        tokio::select! {
            biased;
            event = events.recv() => match event {
                Ok(event) => self.event(&event)?,
                Err(RecvError::Lagged(bundles)) => self.missed(bundles, "blocks")?,
                Err(RecvError::Closed) => return Ok(false),
            },
            call = ended_calls.recv(), if self.held.is_none() => match call {
                Ok(call) => self.calls(call, ended_calls)?,
                Err(RecvError::Lagged(calls)) => self.missed(calls, "calls")?,
                Err(RecvError::Closed) => return Ok(false),
            },
            // After what may end a wait: the task may itself have been late.
            () = due => {}
            () = stop.wait() => return Ok(false),
        }
        self.show_due()?;
        self.flush()?;
        Ok(true)
    }

    /// The next time at which something does not wait any more, Unix ms.
    fn due_ms(&self) -> Option<u64> {
        let block = self.blocks.oldest_ms().map(|ms| ms.saturating_add(self.block_wait_ms()));
        let held = self.held.as_ref().map(|(_, until_ms)| *until_ms);
        let fork = self.fork.as_ref().map(ForkReads::due_ms);
        [block, held, fork].into_iter().flatten().min()
    }

    fn block_wait_ms(&self) -> u64 {
        match self.has_regular_blocks() {
            true => REGULAR_BLOCK_WAIT_MS,
            false => BLOCK_WAIT_MS,
        }
    }

    fn has_regular_blocks(&self) -> bool {
        self.controls.iter().any(|controls| controls.interval().is_some())
    }

    fn show_due(&mut self) -> Result<(), Closed> {
        let now_ms = self.clock.now_ms();
        if let Some(reads) = self.fork.as_mut().and_then(|fork| fork.take(now_ms))
            && !self.is_silent
        {
            let remark = self.lines.remark(reads.trim());
            self.write(&remark)?;
        }
        if let Some((call, _)) = self.held.take_if(|(_, until_ms)| *until_ms <= now_ms) {
            self.show_call(&call)?;
        }
        let wait_ms = self.block_wait_ms();
        let has_requests = self.controls.iter().any(|controls| controls.has_requests());
        // A request may make many blocks before its call ends.
        if has_requests && !self.has_regular_blocks() {
            self.blocks.wait_on(now_ms);
            return Ok(());
        }
        while self.blocks.oldest_ms().is_some_and(|ms| ms.saturating_add(wait_ms) <= now_ms) {
            self.show_oldest_block()?;
        }
        Ok(())
    }

    fn event(&mut self, event: &MachineEvent) -> Result<(), Closed> {
        match event {
            MachineEvent::Accepted(event) => self.accepted(event)?,
            MachineEvent::Rewound(_) => {
                self.show_blocks()?;
                self.blocks.rewind();
            }
        }
        match self.held.take() {
            Some((call, until_ms)) if self.must_wait(&call) => self.held = Some((call, until_ms)),
            Some((call, _)) => self.show_call(&call)?,
            None => {}
        }
        Ok(())
    }

    fn accepted(&mut self, event: &AcceptedEvent) -> Result<(), Closed> {
        event.blocks.iter().try_for_each(|(id, block)| self.block(id, block))
    }

    fn block(&mut self, id: &ChainId, block: &ExecutedBlock) -> Result<(), Closed> {
        let Some(evm) = self.chains.get(id) else { return Ok(()) };
        let block = MadeBlock::new(evm.as_ref(), block);
        let is_regular = self.has_regular_blocks();
        match self.blocks.push(block, self.clock.now_ms(), !is_regular) {
            Some(oldest) => self.show_block(&oldest),
            None => Ok(()),
        }
    }

    /// Shows a call and those that have come after it.
    fn calls(&mut self, first: EndedCall, next: &mut Receiver<EndedCall>) -> Result<(), Closed> {
        self.call(first)?;
        for _ in 1..MAX_TOGETHER {
            if self.held.is_some() {
                break;
            }
            match next.try_recv() {
                Ok(call) => self.call(call)?,
                Err(TryRecvError::Lagged(calls)) => self.missed(calls, "calls")?,
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        Ok(())
    }

    fn call(&mut self, call: EndedCall) -> Result<(), Closed> {
        if self.must_wait(&call) {
            self.held = Some((call, self.clock.now_ms().saturating_add(CALL_WAIT_MS)));
            return Ok(());
        }
        self.show_call(&call)
    }

    /// Whether a call has made a block that has not come yet.
    fn must_wait(&self, call: &EndedCall) -> bool {
        let Some(note) = &call.note else { return false };
        if let Some(SentTx(hash)) = note.downcast_ref() {
            let mut chains = self.chains.values();
            return self.blocks.height_of(&hash.to_string()).is_none()
                && chains.any(|evm| evm.location(*hash).is_ok_and(|found| found.is_some()));
        }
        let made = note.downcast_ref::<MadeBlocks>();
        made.is_some_and(|MadeBlocks(height)| !self.blocks.has_reached(*height))
    }

    fn show_call(&mut self, call: &EndedCall) -> Result<(), Closed> {
        if let Some(SentTx(hash)) = call.note.as_ref().and_then(|note| note.downcast_ref()) {
            let height = self.blocks.height_of(&hash.to_string()).unwrap_or_default();
            while let Some(earlier) = self.blocks.pop_empty_before(height) {
                self.show_block(&earlier)?;
            }
        }
        if let Some(LogSwitch(is_on)) = call.note.as_ref().and_then(|note| note.downcast_ref()) {
            self.is_silent = !is_on;
            return Ok(());
        }
        let effect = self.effect_of(call);
        if self.is_silent {
            let texts = printed_by(&effect);
            return self.show_printed(&texts);
        }
        let can_replace = !self.output.has_dropped();
        let text = self.lines.call(call, &effect, can_replace);
        self.write(&text)
    }

    fn effect_of<'a>(&mut self, call: &'a EndedCall) -> CallEffect<'a> {
        let Some(note) = &call.note else { return CallEffect::Nothing };
        if let Some(run) = note.downcast_ref::<RunReport>() {
            return CallEffect::Run(run);
        }
        if let Some(SentTx(hash)) = note.downcast_ref() {
            let hash = hash.to_string();
            let sent = self.blocks.take_with(&hash).and_then(|(block, is_shown)| {
                let index = block.position(&hash)?;
                Some(CallEffect::Sent { block, index, is_shown })
            });
            return sent.unwrap_or(CallEffect::Nothing);
        }
        match note.downcast_ref() {
            Some(MadeBlocks(height)) => CallEffect::Made(self.blocks.take_through(*height)),
            None => CallEffect::Nothing,
        }
    }

    fn show_oldest_block(&mut self) -> Result<(), Closed> {
        self.blocks.pop().map_or(Ok(()), |block| self.show_block(&block))
    }

    fn show_blocks(&mut self) -> Result<(), Closed> {
        while self.blocks.oldest_ms().is_some() {
            self.show_oldest_block()?;
        }
        Ok(())
    }

    fn show_block(&mut self, block: &MadeBlock) -> Result<(), Closed> {
        if self.is_silent {
            let texts = printed_in(block);
            return self.show_printed(&texts);
        }
        let can_replace = !self.output.has_dropped();
        let text = self.lines.blocks(block, can_replace);
        self.write(&text)
    }

    fn show_printed(&mut self, texts: &PrintedTexts) -> Result<(), Closed> {
        match texts.texts.is_empty() {
            true => Ok(()),
            false => {
                let text = self.lines.printed(texts);
                self.write(&text)
            }
        }
    }

    fn missed(&mut self, number: u64, of: &str) -> Result<(), Closed> {
        // A switch may be among them.
        self.is_silent = is_silent(&self.controls);
        let remark = self.lines.remark(&format!("Not shown: {number} {of}"));
        self.write(&remark)
    }

    /// Writes a text together with others, unless they are long.
    fn write(&mut self, text: &str) -> Result<(), Closed> {
        self.text.push_str(text);
        match self.text.len() > MAX_TEXT {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), Closed> {
        match self.text.is_empty() {
            true => Ok(()),
            false => self.output.write(std::mem::take(&mut self.text)),
        }
    }

    /// Shows what has come until now.
    fn drain(&mut self, followed: &mut Followed) -> Result<(), Closed> {
        let Followed { events, ended_calls } = followed;
        loop {
            match events.try_recv() {
                Ok(event) => self.event(&event)?,
                Err(TryRecvError::Lagged(bundles)) => self.missed(bundles, "blocks")?,
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        if let Some((call, _)) = self.held.take() {
            self.show_call(&call)?;
        }
        loop {
            match ended_calls.try_recv() {
                Ok(call) => self.show_call(&call)?,
                Err(TryRecvError::Lagged(calls)) => self.missed(calls, "calls")?,
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        self.show_blocks()?;
        self.flush()
    }
}

/// Whether logging is off now.
fn is_silent(controls: &[Arc<Controls>]) -> bool {
    controls.iter().any(|controls| !controls.is_logging())
}

/// The texts that the code of a call printed.
fn printed_by(effect: &CallEffect<'_>) -> PrintedTexts {
    match effect {
        CallEffect::Nothing | CallEffect::Sent { is_shown: true, .. } => PrintedTexts::default(),
        CallEffect::Run(run) => run.printed.clone(),
        CallEffect::Sent { block, .. } => printed_in(&MadeBlock::Full(block.clone())),
        CallEffect::Made(blocks) => {
            let texts = blocks.iter().flat_map(|block| printed_in(block).texts).collect();
            PrintedTexts { texts, left_out: 0 }
        }
    }
}

/// The texts that the code of a block printed.
fn printed_in(block: &MadeBlock) -> PrintedTexts {
    match block {
        MadeBlock::Empty { .. } => PrintedTexts::default(),
        MadeBlock::Full(block) => {
            let txs = block.report.txs.iter();
            let texts = txs.flat_map(|tx| tx.printed.texts.iter().cloned()).collect();
            PrintedTexts { texts, left_out: 0 }
        }
    }
}

#[cfg(test)]
mod tests;
