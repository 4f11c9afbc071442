//! Work that takes long, from a method that waits for something else too.

/// The work was given up because the node stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the node is shutting down")]
pub struct ShuttingDown;

/// Runs work on a thread of the blocking pool.
///
/// # Panics
///
/// If the work does: the caller turns it into an error reply and a log line, as for every handler.
pub async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ShuttingDown> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => Ok(result),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(ShuttingDown),
        },
    }
}
