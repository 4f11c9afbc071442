//! Reading ahead of the machine, within limits. Blocks are announced to the machine as soon as they are read.

use std::sync::Arc;

use esker_chain::ChainMachine;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;

use crate::feed::{Feed, FeedItem, SourceError};

/// Most items that are read ahead.
const MAX_ITEMS: usize = 256;
/// Bytes of blocks that are read ahead, in units of [`UNIT`]. A larger item waits alone.
const MAX_UNITS: usize = 8 << 10;
const UNIT: usize = 1024;

/// A task that reads a feed while the machine executes what was read before.
#[derive(Debug)]
pub(super) struct Prefetch {
    items: mpsc::Receiver<Read>,
    task: JoinHandle<()>,
}

/// An item with its share of the memory, or the end.
type Read = Result<(FeedItem, Option<OwnedSemaphorePermit>), SourceError>;

impl Prefetch {
    pub(super) fn spawn(mut feed: Box<dyn Feed>, machine: Arc<dyn ChainMachine>) -> Self {
        let (sender, items) = mpsc::channel(MAX_ITEMS);
        let memory = Arc::new(Semaphore::new(MAX_UNITS));
        let task = tokio::spawn(async move {
            loop {
                let read = match feed.next().await {
                    Ok(item) => {
                        let units = item.bytes().div_ceil(UNIT).min(MAX_UNITS);
                        let units = u32::try_from(units).unwrap_or(u32::MAX);
                        let permit = Arc::clone(&memory).acquire_many_owned(units).await.ok();
                        announce(&item, machine.as_ref());
                        Ok((item, permit))
                    }
                    Err(error) => Err(error),
                };
                let ended = read.is_err();
                if sender.send(read).await.is_err() || ended {
                    return;
                }
            }
        });
        Self { items, task }
    }

    /// The next item. The error is the last one.
    pub(super) async fn next(&mut self) -> Result<FeedItem, SourceError> {
        match self.items.recv().await {
            Some(read) => read.map(|(item, _)| item),
            None => Err(ended()),
        }
    }

    /// The next item, if one has been read.
    pub(super) fn try_next(&mut self) -> Option<Result<FeedItem, SourceError>> {
        match self.items.try_recv() {
            Ok(read) => Some(read.map(|(item, _)| item)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(ended())),
        }
    }
}

fn announce(item: &FeedItem, machine: &dyn ChainMachine) {
    match item {
        FeedItem::Bundle { bundle, .. } => machine.prepare(&bundle.blocks),
        FeedItem::Block { chain, bytes } => machine.prepare(&[(*chain, bytes.clone())]),
        FeedItem::Remaining(_) => {}
    }
}

fn ended() -> SourceError {
    SourceError::Unreachable("the reader of the source ended".to_owned())
}

impl Drop for Prefetch {
    fn drop(&mut self) {
        self.task.abort();
    }
}
