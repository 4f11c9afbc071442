//! Ctrl-C and SIGTERM for work that looks now and then whether it shall end.

use std::io;
use std::thread;

use tokio::sync::watch;

use crate::signals::Signals;

/// Has somebody asked to stop?
#[derive(Clone, Debug)]
pub(crate) struct StopSignal(watch::Receiver<bool>);

impl StopSignal {
    /// Listens from now on; the signals no longer end the process by themselves.
    pub(crate) fn listen() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let mut signals = {
            let _entered = runtime.enter();
            Signals::listen()?
        };
        let (requested, receiver) = watch::channel(false);
        // Ends with the process.
        let _listener = thread::Builder::new().name("signals".to_owned()).spawn(move || {
            runtime.block_on(signals.stop());
            requested.send_replace(true);
        })?;
        Ok(Self(receiver))
    }

    /// Has it come?
    pub(crate) fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves when it comes.
    pub(crate) async fn requested(&self) {
        let mut requested = self.0.clone();
        if requested.wait_for(|requested| *requested).await.is_err() {
            // Nobody listens any more: it can't come.
            std::future::pending::<()>().await;
        }
    }
}
