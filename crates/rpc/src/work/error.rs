//! The reasons why work is refused.

/// A job was refused, because too many wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many calls wait")]
pub struct Busy;

/// The reason why there is no memory for a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The reply and what the connection has not read exceed the limit of a connection.
    #[error("response too large")]
    TooLarge,
    /// Other replies hold all the memory for replies.
    #[error("too many large replies at once")]
    Full,
}

/// The reason why a call gets no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallMemoryError {
    /// The call alone needs more than a client may have.
    #[error(
        "the call needs more memory than the {0} bytes that the calls of a client may take \
         (http-client-call-memory)"
    )]
    TooLarge(usize),
    /// Other calls have it, and gave none back in time.
    #[error(
        "other calls take the memory that there is: {client} bytes for a client, {all} for all (http-client-call-memory, \
         http-call-memory); try again later"
    )]
    Full {
        /// The limit of a client, bytes.
        client: usize,
        /// The limit of all, bytes.
        all: usize,
    },
}
