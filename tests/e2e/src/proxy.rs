//! A TCP proxy between two processes of a test. Its target can change, and it can cut or hold connections.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use anyhow::Result;
use esker_primitives::sync::{Condvar, Mutex};

/// Bytes of a piece that is passed on.
const PIECE: usize = 1024;

/// The proxy. It ends when dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: Mutex<SocketAddr>,
    /// Number of bytes to the client after which connections are cut; 0: never.
    cut_after: AtomicU64,
    /// Number of bytes to the client after which connections wait; 0: never.
    hold_after: Mutex<u64>,
    released: Condvar,
    /// Connections that wait.
    held: AtomicUsize,
    open: Mutex<Vec<TcpStream>>,
    has_ended: AtomicBool,
}

impl Proxy {
    /// A proxy on a free port.
    pub fn start(target: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            target: Mutex::new(target),
            cut_after: AtomicU64::new(0),
            hold_after: Mutex::new(0),
            released: Condvar::new(),
            held: AtomicUsize::new(0),
            open: Mutex::new(Vec::new()),
            has_ended: AtomicBool::new(false),
        });
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if of_thread.has_ended.load(Ordering::Relaxed) {
                    return;
                }
                of_thread.pass(client);
            }
        });
        Ok(Self { address, shared })
    }

    /// `http://` and its address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Connects further clients to another address.
    pub fn set_target(&self, target: SocketAddr) {
        *self.shared.target.lock() = target;
    }

    /// Cuts each further connection after this many bytes to its client; 0: not any more.
    pub fn cut_after(&self, bytes: u64) {
        self.shared.cut_after.store(bytes, Ordering::Relaxed);
    }

    /// Holds each connection after this many bytes to its client, until [`Self::release`].
    pub fn hold_after(&self, bytes: u64) {
        *self.shared.hold_after.lock() = bytes;
    }

    /// Number of connections that are held.
    pub fn held(&self) -> usize {
        self.shared.held.load(Ordering::Relaxed)
    }

    /// Lets all connections go on.
    pub fn release(&self) {
        self.shared.release();
    }

    /// Cuts every open connection.
    pub fn cut_all(&self) {
        self.shared.cut_all();
    }
}

impl Shared {
    fn pass(self: &Arc<Self>, client: TcpStream) {
        let target = *self.target.lock();
        // The target is gone: the client sees that its connection is closed.
        let Ok(server) = TcpStream::connect(target) else { return };
        let (Ok(to_client), Ok(to_server)) = (client.try_clone(), server.try_clone()) else {
            return;
        };
        let mut open = self.open.lock();
        open.extend([&client, &server].map(TcpStream::try_clone).into_iter().flatten());
        let limit = self.cut_after.load(Ordering::Relaxed);
        let of_thread = Arc::clone(self);
        thread::spawn(move || copy(client, to_server, 0, |_| ()));
        thread::spawn(move || copy(server, to_client, limit, |passed| of_thread.wait(passed)));
    }

    /// Waits while a connection that has passed this many bytes is held.
    fn wait(&self, passed: u64) {
        let mut hold_after = self.hold_after.lock();
        if *hold_after == 0 || passed < *hold_after {
            return;
        }
        self.held.fetch_add(1, Ordering::Relaxed);
        self.released.wait_while(&mut hold_after, |hold_after| *hold_after != 0);
        self.held.fetch_sub(1, Ordering::Relaxed);
    }

    fn release(&self) {
        *self.hold_after.lock() = 0;
        self.released.notify_all();
    }

    fn cut_all(&self) {
        for stream in self.open.lock().drain(..) {
            // It may have ended already.
            let _ended = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Copies until an end, or until `limit` bytes were passed on. `passed` gets the number of bytes after each piece.
fn copy(mut from: TcpStream, mut to: TcpStream, limit: u64, passed: impl Fn(u64)) {
    let mut piece = [0; PIECE];
    let mut total = 0;
    let mut left = if limit == 0 { u64::MAX } else { limit };
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        match from.read(&mut piece[..most]) {
            Ok(0) | Err(_) => break,
            Ok(read) => {
                if to.write_all(&piece[..read]).is_err() {
                    break;
                }
                left -= read as u64;
                total += read as u64;
                passed(total);
            }
        }
    }
    for stream in [from, to] {
        // The other side may have closed it.
        let _closed = stream.shutdown(Shutdown::Both);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.has_ended.store(true, Ordering::Relaxed);
        self.shared.release();
        self.shared.cut_all();
        // Wakes the listener.
        let _woken = TcpStream::connect(self.address);
    }
}
