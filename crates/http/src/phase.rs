//! The phase of a connection, or of one of its streams.

/// A connection that receives or sends is closed for a new one only after this time without progress.
pub(super) const BUSY_GRACE_MS: u64 = 1000;

/// The phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Phase {
    /// Receives a request's head, or is new: the handshake of TLS belongs to it.
    Head,
    /// Receives a request's body.
    Body,
    /// A handler runs.
    Handling,
    /// Sends a complete reply.
    Reply,
    /// Sends a part of a reply; the next part is built when the client has read this one.
    Part,
    /// A handler streams a reply.
    Stream,
    /// A handler streams a reply, and the client does not read it.
    StreamBlocked,
    /// Waits for the next request.
    Idle,
    /// Closed by this side; still reads from the client.
    Drain,
}

impl Phase {
    pub(super) const ALL: [Self; 9] = [
        Self::Head,
        Self::Body,
        Self::Handling,
        Self::Reply,
        Self::Part,
        Self::Stream,
        Self::StreamBlocked,
        Self::Idle,
        Self::Drain,
    ];

    /// Time that a connection in this phase is kept, in ms, when there is no room for a new one; `None`: it stays.
    pub(super) fn grace_ms(self) -> Option<u64> {
        match self {
            Self::Handling | Self::Stream => None,
            Self::Head | Self::Idle => Some(0),
            Self::Body | Self::Reply | Self::Part | Self::StreamBlocked | Self::Drain => {
                Some(BUSY_GRACE_MS)
            }
        }
    }
}
