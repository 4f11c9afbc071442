//! Ctrl-C and SIGTERM for long work, which polls for a stop request.

use std::io;
use std::thread;

use tokio::sync::watch;

use crate::signals::Signals;

/// A stop request by signal.
#[derive(Clone, Debug)]
pub(crate) struct StopSignal(watch::Receiver<bool>);

impl StopSignal {
    /// Starts to listen; the signals no longer end the process.
    pub(crate) fn listen() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let mut signals = {
            let _entered = runtime.enter();
            Signals::listen()?
        };
        let (requested, receiver) = watch::channel(false);
        // The thread ends with the process.
        let _listener = thread::Builder::new().name("signals".to_owned()).spawn(move || {
            runtime.block_on(signals.stop());
            requested.send_replace(true);
        })?;
        Ok(Self(receiver))
    }

    /// Whether a stop was requested.
    pub(crate) fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves when a stop is requested.
    pub(crate) async fn requested(&self) {
        let mut requested = self.0.clone();
        if requested.wait_for(|requested| *requested).await.is_err() {
            // The listener has ended: no request can arrive.
            std::future::pending::<()>().await;
        }
    }
}
