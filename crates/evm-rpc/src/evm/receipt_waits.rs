//! Calls that wait for a receipt.

use std::time::Duration;

use tokio::sync::Semaphore;

/// Time that a call without a timeout waits.
pub const DEFAULT_RECEIPT_WAIT: Duration = Duration::from_secs(20);
/// Longest time that a call waits: less than any call may take, so that it ends with its own error.
pub const MAX_RECEIPT_WAIT: Duration = Duration::from_secs(25);
/// Calls that may wait for a receipt at a time.
pub const MAX_RECEIPT_WAITS: usize = 256;

/// Permits of calls that wait for a receipt.
#[derive(Debug)]
pub struct ReceiptWaits(pub(super) Semaphore);

impl Default for ReceiptWaits {
    fn default() -> Self {
        Self(Semaphore::new(MAX_RECEIPT_WAITS))
    }
}
