//! The set of instructions that a tracer sees.

/// A set of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepFilter([u64; 4]);

impl StepFilter {
    /// No instruction.
    pub const NONE: Self = Self([0; 4]);
    /// Every byte, including undefined instructions.
    pub const ALL: Self = Self([u64::MAX; 4]);

    /// These instructions.
    pub fn from_opcodes(opcodes: impl IntoIterator<Item = u8>) -> Self {
        let mut filter = Self::NONE;
        for opcode in opcodes {
            filter.0[usize::from(opcode >> 6)] |= 1 << (opcode & 63);
        }
        filter
    }

    /// The union of both sets.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] | other.0[at]))
    }

    /// Whether the set contains the instruction.
    #[inline]
    pub fn has(&self, opcode: u8) -> bool {
        self.0[usize::from(opcode >> 6)] >> (opcode & 63) & 1 == 1
    }

    /// Whether the set is empty.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }
}
