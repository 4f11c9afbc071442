//! Ctrl-C and SIGTERM for work that looks now and then whether it shall end.

use std::io;
use std::thread;

use tokio::sync::watch;

use crate::signals::Signals;

/// Has somebody asked to stop?
#[derive(Clone, Debug)]
pub(crate) struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Listens from now on; the signals no longer end the process by themselves.
    pub(crate) fn on_signal() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let mut signals = {
            let _entered = runtime.enter();
            Signals::listen()?
        };
        let (asked, receiver) = watch::channel(false);
        // Ends with the process.
        let _listener = thread::Builder::new().name("signals".to_owned()).spawn(move || {
            runtime.block_on(signals.stop());
            asked.send_replace(true);
        })?;
        Ok(Self(receiver))
    }

    /// Has it come?
    pub(crate) fn is_asked(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves when it comes.
    pub(crate) async fn asked(&self) {
        let mut asked = self.0.clone();
        if asked.wait_for(|asked| *asked).await.is_err() {
            // Nobody listens any more: it can't come.
            std::future::pending::<()>().await;
        }
    }
}
