//! A snapshot that is gone back to.

use std::thread;

use esker_client::{DevClient, SnapshotId};
use parking_lot::ReentrantMutexGuard;

use crate::error::Error;
use crate::node::Node;

/// Goes back to the snapshot when it is dropped, also when the test panics. Only one thread at a time has snapshots of a
/// node; they can be nested, and the last one goes first.
#[derive(Debug)]
#[must_use = "the node goes back at once if this is not kept"]
pub struct Snapshot<'a> {
    node: &'a Node,
    /// None: gone back to, or kept.
    id: Option<SnapshotId>,
    /// Released after the way back.
    _turn: ReentrantMutexGuard<'a, ()>,
}

impl<'a> Snapshot<'a> {
    pub(crate) fn new(node: &'a Node, id: SnapshotId, turn: ReentrantMutexGuard<'a, ()>) -> Self {
        Self { node, id: Some(id), _turn: turn }
    }

    /// Goes back now.
    ///
    /// # Errors
    /// The snapshot is gone, or the node doesn't answer.
    pub fn revert(mut self) -> Result<(), Error> {
        self.go_back()
    }

    /// Leaves everything as it is.
    pub fn keep(mut self) {
        self.id = None;
    }

    fn go_back(&mut self) -> Result<(), Error> {
        let Some(id) = self.id.take() else { return Ok(()) };
        let is_back = DevClient::new(self.node.address()).revert(&id);
        match is_back.map_err(|error| self.node.call_error("going back to a snapshot", error))? {
            true => Ok(()),
            false => Err(Error::SnapshotGone(id.to_string())),
        }
    }
}

impl Drop for Snapshot<'_> {
    /// # Panics
    /// When the node is not as before: the next test would not begin where it should.
    fn drop(&mut self) {
        match self.go_back() {
            Ok(()) => {}
            Err(error) if thread::panicking() => eprintln!("{error}"),
            Err(error) => panic!("{error}"),
        }
    }
}
