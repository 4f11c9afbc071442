//! The forms and texts that clients of a chain expect.

/// The JSON forms and error texts that clients of a chain expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Those of the Ethereum execution API, as go-ethereum has them today.
    Standard,
    /// Those of the reference: an older go-ethereum, with members for ext data.
    Reference,
}

impl Dialect {
    /// Whether it is [`Self::Standard`].
    pub const fn is_standard(self) -> bool {
        matches!(self, Self::Standard)
    }
}
