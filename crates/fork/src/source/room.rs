//! Where the bytes of long replies are counted.

use std::fmt;

/// Counts the bytes of a long reply while it is read and used. What was taken becomes free when this is dropped.
pub trait ReplyRoom: fmt::Debug + Send + Sync {
    /// Takes room for so many bytes more; false if there is none.
    fn take(&self, bytes: usize) -> bool;
}

/// Bytes of a reply that are not counted.
const FREE: usize = 256 << 10;
/// Room is taken in steps of this size.
const STEP: usize = 256 << 10;
/// The bytes of a reply are there as text and as values.
const FACTOR: usize = 2;

/// The room of one reply.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter<'a> {
    room: Option<&'a dyn ReplyRoom>,
    counted: usize,
}

impl<'a> Meter<'a> {
    pub(super) fn new(room: Option<&'a dyn ReplyRoom>) -> Self {
        Self { room, counted: FREE }
    }

    /// Whether there is room for a reply that is so long by now.
    pub(super) fn fits(&mut self, length: usize) -> bool {
        let Some(room) = self.room else { return true };
        while self.counted < length {
            if !room.take(STEP * FACTOR) {
                return false;
            }
            self.counted += STEP;
        }
        true
    }
}
