//! Signals that stop the node or reload its log levels.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Time in which a request to stop repeats the one before it. A Ctrl-C reaches each process of the terminal, and
/// launchers such as npx pass it on as well.
pub const REPEATED_WITHIN: Duration = Duration::from_millis(250);

/// The signals that the node handles. Once created, none of them ends the process by default.
#[derive(Debug)]
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    /// Only caught: a write beyond the file size limit then fails with an error, and does not end the process.
    _file_size: Signal,
}

/// The request that a signal makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Ctrl-C or SIGTERM.
    Stop,
    /// SIGHUP.
    Reload,
}

impl Signals {
    /// Starts to listen.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            _file_size: signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?,
        })
    }

    /// The next signal.
    pub async fn next(&mut self) -> Request {
        tokio::select! {
            _ = self.interrupt.recv() => Request::Stop,
            _ = self.terminate.recv() => Request::Stop,
            _ = self.hangup.recv() => Request::Reload,
        }
    }

    /// Waits for a request to stop.
    pub async fn stop(&mut self) {
        while self.next().await != Request::Stop {}
    }

    /// Waits for a further request to stop, after one that has come just now.
    pub async fn stop_again(&mut self) {
        let repeated = async {
            loop {
                self.stop().await;
            }
        };
        let _over = tokio::time::timeout(REPEATED_WITHIN, repeated).await;
        self.stop().await;
    }
}
