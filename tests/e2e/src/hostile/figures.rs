//! Memory of a process, and the node's own metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use esker_testing::Node;

use super::Wire;

const MIB: u64 = 1024 * 1024;
/// Interval of memory checks.
const WATCH_TICK: Duration = Duration::from_millis(3);

/// Resident memory of a process in bytes; `None` if `/proc` does not show it.
pub fn resident(pid: u32) -> Option<u64> {
    status(pid, "VmRSS:")
}

/// The peak of [`resident`] so far.
pub fn peak(pid: u32) -> Option<u64> {
    status(pid, "VmHWM:")
}

fn status(pid: u32, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Memory of a process that belongs to no file, bytes.
pub fn anonymous(pid: u32) -> Option<u64> {
    status(pid, "RssAnon:")
}

/// Watches [`anonymous`] memory of a process from a thread of its own, until it is dropped.
#[derive(Debug)]
pub struct Watch {
    most: Arc<AtomicU64>,
    /// Ends the thread when dropped.
    _stop: Sender<()>,
}

impl Watch {
    /// Starts watching.
    pub fn start(pid: u32) -> Self {
        let most = Arc::new(AtomicU64::new(0));
        let (stop, stopped) = std::sync::mpsc::channel();
        let watched = Arc::clone(&most);
        std::thread::spawn(move || {
            while stopped.recv_timeout(WATCH_TICK) == Err(RecvTimeoutError::Timeout) {
                watched.fetch_max(anonymous(pid).unwrap_or_default(), Ordering::Relaxed);
            }
        });
        Self { most, _stop: stop }
    }

    /// The peak since the last call, bytes.
    pub fn take_most(&self) -> u64 {
        self.most.swap(0, Ordering::Relaxed)
    }
}

/// Waits until a process uses less than this, or the time is over. Returns its use then.
pub fn until_below(pid: u32, bytes: u64, patience: Duration) -> u64 {
    let deadline = Instant::now() + patience;
    loop {
        let now = resident(pid).unwrap_or_default();
        if now < bytes || Instant::now() >= deadline {
            return now;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// One of the node's metrics.
pub fn metric(node: &Node, name: &str) -> Result<f64> {
    let mut wire = Wire::open(node.address())?;
    wire.send(b"GET /ext/metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let text = String::from_utf8(wire.reply()?.body)?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    Ok(line.with_context(|| format!("no metric {name}"))?.parse()?)
}

/// Bytes as text.
pub fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes / MIB)
}
