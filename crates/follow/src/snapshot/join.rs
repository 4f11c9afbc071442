//! Joining from the first source whose snapshot is complete and correct.

use std::sync::Arc;

use esker_chain::snapshot::{Restore, RestoreError, SnapshotItem, SnapshotTarget};
use esker_chain::tables::Position;
use esker_chain::{ChainError, Shutdown};
use esker_primitives::clock::Clock;
use tokio::sync::mpsc;

use super::client::{Next, SnapshotSource, SnapshotStart};
use super::progress::Progress;
use super::status::JoinStatusCell;
use crate::engine::FollowerConfig;
use crate::feed::SourceError;

/// Records that are read ahead, of about half a mebibyte each; a record has at most 68 MiB.
const BACKLOG: usize = 8;

/// The outcome of a join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Joined {
    /// The store has the state after this bundle.
    Snapshot(Position),
    /// The source has no snapshot yet, for this reason. The store is empty, and is to be filled from the first bundle
    /// on.
    FromBeginning(String),
    /// The node was told to stop.
    Stopped,
}

/// Takes a snapshot from one of several sources.
#[derive(Debug)]
pub struct SnapshotJoin {
    sources: Vec<SnapshotSource>,
    config: FollowerConfig,
    clock: Arc<dyn Clock>,
    status: JoinStatusCell,
}

/// Compares the number of rows so far, or of all rows, with the number that the source has announced.
fn check_total(total: Option<u64>, rows: u64, is_end: bool) -> Result<(), RestoreError> {
    match total {
        Some(total) if rows > total || (is_end && rows != total) => {
            Err(RestoreError::Invalid(format!("its total is {total} rows, and {rows} came")))
        }
        _ => Ok(()),
    }
}

/// Work for the thread that writes.
enum Work {
    /// The announced number of rows.
    Total(u64),
    Item(SnapshotItem),
    /// The end, with the number of rows.
    End(u64),
}

impl SnapshotJoin {
    /// A join from these sources, the preferred one first.
    pub fn new(
        sources: Vec<SnapshotSource>,
        config: FollowerConfig,
        clock: Arc<dyn Clock>,
        status: JoinStatusCell,
    ) -> Self {
        Self { sources, config, clock, status }
    }

    /// Tries all sources until one gives a complete snapshot. An incomplete one leaves nothing in the store, which
    /// nobody else may use meanwhile.
    ///
    /// # Errors
    /// The store fails. It may have a part of a state; a next join begins anew.
    pub async fn run(
        &self,
        target: &Arc<SnapshotTarget>,
        mut stop: Shutdown,
    ) -> Result<Joined, ChainError> {
        let mut wait = self.config.retry_min;
        loop {
            let mut behind = None;
            for source in &self.sources {
                let joined = tokio::select! {
                    joined = self.join(source, target) => joined,
                    () = stop.wait() => return Ok(Joined::Stopped),
                };
                match joined {
                    Ok(Ok(position)) => return Ok(Joined::Snapshot(position)),
                    Ok(Err(SourceError::Behind(reason))) => {
                        behind = Some(format!("{}: {reason}", source.name()));
                    }
                    Ok(Err(error)) => self.left(source, &error),
                    // The store is in the state after a kill, and the next attempt begins anew.
                    Err(error) if error.is_temporary() => self.suspended(&error),
                    Err(error) => return Err(error),
                }
            }
            if let Some(reason) = behind {
                match target.clear() {
                    Ok(()) => {
                        tracing::warn!(reason, "no snapshot yet; following from the beginning");
                        return Ok(Joined::FromBeginning(reason));
                    }
                    Err(error) if error.is_temporary() => self.suspended(&error.into()),
                    Err(error) => return Err(error.into()),
                }
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = stop.wait() => return Ok(Joined::Stopped),
            }
            wait = (wait * 2).min(self.config.retry_max);
        }
    }

    /// This node can't write at the moment.
    fn suspended(&self, error: &ChainError) {
        if self.status.ended(error.to_string(), false) {
            tracing::error!(%error, "can't write the snapshot; trying again");
        }
    }

    fn left(&self, source: &SnapshotSource, error: &SourceError) {
        let (name, is_fault) = (source.name(), error.is_fault());
        if !self.status.ended(format!("{name}: {error}"), is_fault) {
            return;
        }
        if is_fault {
            tracing::error!(source = name, %error, "the source's snapshot is refused");
        } else {
            tracing::warn!(source = name, %error, "no snapshot from the source; trying the next");
        }
    }

    /// One attempt.
    async fn join(
        &self,
        source: &SnapshotSource,
        target: &Arc<SnapshotTarget>,
    ) -> Result<Result<Position, SourceError>, ChainError> {
        let SnapshotStart { bundle, proof, summary, mut body } = match source.open().await {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(error)),
        };
        let height = bundle.height;
        tracing::info!(source = source.name(), height, "joining from a snapshot");
        self.status.update(|status| {
            status.source = Some(source.name().to_owned());
            status.height = Some(height);
        });
        let (work, mut items) = mpsc::channel::<Work>(BACKLOG);
        let (of_thread, status) = (Arc::clone(target), self.status.clone());
        let writing = tokio::task::spawn_blocking(move || {
            of_thread.begin()?;
            let mut restore = Restore::new(&of_thread, bundle, proof, summary)?;
            let mut total = None;
            while let Some(next) = items.blocking_recv() {
                match next {
                    Work::Total(rows) => total = Some(rows),
                    Work::Item(item) => restore.take(item)?,
                    Work::End(rows) => {
                        check_total(total, rows, true)?;
                        return restore.finish(rows).map(Some);
                    }
                }
                let rows = restore.rows();
                check_total(total, rows, false)?;
                status.update(|status| status.rows = rows);
            }
            Ok::<_, RestoreError>(None)
        });
        let mut progress = Progress::new(self.clock.now_ms());
        let ended = loop {
            let next = match body.next().await {
                Ok(next) => next,
                Err(error) => break Some(error),
            };
            let bytes = body.bytes();
            self.status.update(|status| status.bytes = bytes);
            progress.note(&self.status, self.clock.now_ms());
            let next = match next {
                Next::Item(item) => Work::Item(item),
                Next::End(totals) => Work::End(totals.rows),
                Next::Total(rows) => {
                    self.status.update(|status| status.total = Some(rows));
                    Work::Total(rows)
                }
                Next::Nothing => continue,
            };
            let is_end = matches!(next, Work::End(_));
            // If the thread has ended, its error is the reason.
            if work.send(next).await.is_err() || is_end {
                break None;
            }
        };
        drop(work);
        let written = writing.await.map_err(|_| ChainError::Stopped)?;
        let refused = match written {
            Ok(Some(position)) => {
                let (bytes, rows) = (body.bytes(), self.status.get().rows);
                let id = position.id;
                tracing::info!(height, %id, rows, bytes, "joined from a snapshot");
                return Ok(Ok(position));
            }
            Ok(None) => None,
            Err(RestoreError::Invalid(reason)) => Some(SourceError::Snapshot(reason)),
            Err(RestoreError::Chain(error)) => return Err(error),
        };
        // Only the mark stays in the store.
        target.begin()?;
        let cut = || SourceError::Unreachable("the snapshot ended early".to_owned());
        Ok(Err(refused.or(ended).unwrap_or_else(cut)))
    }
}
