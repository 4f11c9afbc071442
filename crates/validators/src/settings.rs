//! The values on which all validators of a network agree: how many there may be, how many decide, and the timeouts.

use std::time::Duration;

/// Most validators of a network, and most followers among their peers.
pub const MAX_VALIDATORS: usize = 100;

/// The number of votes that decide: all but those of validators that may be dishonest.
#[must_use]
pub const fn quorum(validators: usize) -> usize {
    validators.saturating_sub(validators.saturating_sub(1) / 3)
}

/// Timeouts of the protocol. The defaults are for validators within some milliseconds of each other.
#[derive(Clone, Copy, Debug)]
pub struct Timings {
    /// Time that the validators wait for a proposal of the round's leader. Users wait for so long when a leader is
    /// down.
    pub leader: Duration,
    /// Time that they wait for a quorum in a round; more than `leader`.
    pub certification: Duration,
    /// Time after which a vote to skip the round is sent again.
    pub retry: Duration,
    /// A leader that was silent for this time is skipped at once; more than `certification` and `retry`.
    pub skip: Duration,
    /// Time that a peer has to answer a request.
    pub fetch: Duration,
    /// Age of the last bundle at which a leader proposes one without blocks. It bounds the rounds without a bundle.
    pub heartbeat: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        Self {
            leader: Duration::from_secs(1),
            certification: Duration::from_secs(2),
            retry: Duration::from_secs(2),
            skip: Duration::from_secs(5),
            fetch: Duration::from_secs(2),
            heartbeat: Duration::from_secs(10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quorum_leaves_out_less_than_a_third() {
        assert_eq!([1, 2, 3, 4, 5, 6, 7, 21].map(quorum), [1, 2, 3, 3, 4, 5, 5, 15]);
    }
}
