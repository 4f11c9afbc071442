//! Signals: what ends the node, and what makes it read its log levels again.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that the node listens to. From its creation on none of them ends the process by itself.
#[derive(Debug)]
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    /// Never asked: a write beyond the limit on a file's size is an error of that write, not the end of the process.
    _file_size: Signal,
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Ctrl-C or SIGTERM.
    Stop,
    /// SIGHUP.
    Reload,
}

impl Signals {
    /// Begins to listen.
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

    /// The next signal that asks to stop.
    pub async fn stop(&mut self) {
        while self.next().await != Request::Stop {}
    }
}
