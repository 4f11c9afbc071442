//! Limits the small frames of bodies over HTTP/2. The library keeps each unread frame in some hundred bytes of memory,
//! and windows count only what is in it.

/// Length of the client's connection preface.
const PREFACE: usize = 24;
/// Length of a frame's head.
const HEAD: usize = 9;
/// The type of frames with a part of a body.
const DATA: u8 = 0;
/// The flag of a stream's last frame.
const END_STREAM: u8 = 1;
/// Bytes of memory that a frame takes beside its content.
const FRAME_COST: u64 = 256;
/// How much more than the bytes in them the frames of a connection may cost.
const MAX_WASTED: u64 = 1024 * 1024;

/// Follows the frames of one connection.
#[derive(Debug)]
pub(super) struct SmallFrames {
    /// Remaining bytes of the preface or of the previous frame.
    skip: usize,
    head: [u8; HEAD],
    /// Received bytes of the frame's head.
    come: usize,
    wasted: u64,
}

impl SmallFrames {
    pub(super) fn new() -> Self {
        Self { skip: PREFACE, head: [0; HEAD], come: 0, wasted: 0 }
    }

    /// Follows received bytes; false once the client has sent too many small frames.
    pub(super) fn follow(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = &bytes[skipped..];
            let taken = (HEAD - self.come).min(bytes.len());
            self.head[self.come..][..taken].copy_from_slice(&bytes[..taken]);
            self.come += taken;
            bytes = &bytes[taken..];
            if self.come == HEAD {
                self.end_head();
            }
        }
        self.wasted <= MAX_WASTED
    }

    /// No body is being received.
    pub(super) fn reset(&mut self) {
        self.wasted = 0;
    }

    fn end_head(&mut self) {
        let [a, b, c, kind, flags, ..] = self.head;
        let length = u32::from_be_bytes([0, a, b, c]);
        self.come = 0;
        self.skip = length as usize;
        // There are as many last frames as requests, and requests have their own limits.
        if kind == DATA && flags & END_STREAM == 0 {
            self.wasted = (self.wasted + FRAME_COST).saturating_sub(u64::from(length));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, length: usize) -> Vec<u8> {
        let mut frame = u32::try_from(length).unwrap().to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags, 0, 0, 0, 1]);
        frame.resize(HEAD + length, DATA);
        frame
    }

    /// How many of these frames a client may send, up to `most`.
    fn allowed(frame: &[u8], most: usize) -> usize {
        let mut frames = SmallFrames::new();
        assert!(frames.follow(&[b'x'; PREFACE]));
        (0..most).take_while(|_| frames.follow(frame)).count()
    }

    #[test]
    fn only_small_parts_of_bodies_are_limited() {
        const MANY: usize = 100_000;
        assert_eq!(allowed(&frame(DATA, 0, 1), MANY), 4112);
        assert_eq!(allowed(&frame(DATA, 0, 0), MANY), 4096);
        for free in
            [frame(DATA, 0, 256), frame(DATA, END_STREAM, 1), frame(1, 0, 1), frame(8, 0, 4)]
        {
            assert_eq!(allowed(&free, MANY), MANY);
        }
    }

    #[test]
    fn large_frames_pay_for_small_ones() {
        let pair = [frame(DATA, 0, 1), frame(DATA, 0, 1000)].concat();
        assert_eq!(allowed(&pair, 100_000), 100_000);
    }

    #[test]
    fn frames_may_come_in_any_pieces() {
        let mut bytes = vec![b'x'; PREFACE];
        bytes.extend([frame(1, 4, 30), frame(DATA, 0, 5), frame(4, 0, 0)].concat().repeat(3));
        for piece in [1, 2, 7, 9, 24, 1000] {
            let mut frames = SmallFrames::new();
            assert!(bytes.chunks(piece).all(|piece| frames.follow(piece)));
            assert_eq!((frames.wasted, frames.skip, frames.come), (3 * 251, 0, 0), "{piece}");
        }
    }
}
