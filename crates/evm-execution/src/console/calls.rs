//! The calls of the console in one execution.

use alloy_primitives::Bytes;

use super::message::Message;

/// Most calls of one execution that are kept.
const MAX_CALLS: usize = 1000;
/// Most bytes of their data.
const MAX_BYTES: usize = 64 << 10;

/// The data of the first calls of an execution, in their order, also of those in frames that were reverted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsoleCalls {
    inputs: Vec<Bytes>,
    bytes: usize,
    left_out: u64,
}

impl ConsoleCalls {
    /// Adds a call with so many bytes, unless it or an earlier one is beyond the bounds. `input` copies them.
    pub fn push(&mut self, length: usize, input: impl FnOnce() -> Bytes) {
        let is_full = self.inputs.len() == MAX_CALLS || length > MAX_BYTES - self.bytes;
        if is_full || self.left_out > 0 {
            self.left_out += 1;
            return;
        }
        self.bytes += length;
        self.inputs.push(input());
    }

    /// Adds the calls of a later execution, within the bounds of one.
    pub fn append(&mut self, later: Self) {
        for input in later.inputs {
            self.push(input.len(), || input);
        }
        self.left_out += later.left_out;
    }

    /// Whether nothing was printed.
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty() && self.left_out == 0
    }

    /// Bytes of the kept data.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of calls that were not kept.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Drops the data, and counts the calls as left out.
    pub fn drop_inputs(&mut self) {
        self.left_out += self.inputs.len() as u64;
        self.inputs = Vec::new();
        self.bytes = 0;
    }

    /// The printed texts. They may have any characters.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        self.inputs.iter().map(|input| Message::text_of(input))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(calls: &mut ConsoleCalls, length: usize) {
        calls.push(length, || vec![0; length].into());
    }

    #[test]
    fn calls_and_bytes_are_bounded() {
        let mut many = ConsoleCalls::default();
        assert!(many.is_empty());
        (0..MAX_CALLS + 3).for_each(|_| push(&mut many, 1));
        assert_eq!((many.texts().count(), many.left_out()), (MAX_CALLS, 3));

        let mut large = ConsoleCalls::default();
        push(&mut large, MAX_BYTES - 1);
        push(&mut large, 2);
        // It would fit, but the kept calls are the first ones without a gap.
        push(&mut large, 1);
        assert_eq!((large.texts().count(), large.bytes(), large.left_out()), (1, MAX_BYTES - 1, 2));
        let mut both = many.clone();
        both.append(large.clone());
        assert_eq!((both.texts().count(), both.left_out()), (MAX_CALLS, 3 + 1 + 2));
        let mut later = ConsoleCalls::default();
        push(&mut later, 5);
        later.append(large.clone());
        assert_eq!((later.texts().count(), later.bytes(), later.left_out()), (1, 5, 3));
        large.drop_inputs();
        assert_eq!((large.texts().count(), large.bytes(), large.left_out()), (0, 0, 3));
        assert!(!large.is_empty());
    }
}
