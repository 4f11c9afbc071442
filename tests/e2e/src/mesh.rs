//! TCP proxies between all pairs of some processes, so that each link can be cut, held, delayed and throttled.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use esker_primitives::sync::{Condvar, Mutex};

/// Bytes of a piece that is passed on.
const PIECE: usize = 16 << 10;

/// Pieces in transit in one direction of a connection. A sender waits when there are more.
const PIECES: usize = 64;

/// Bytes that are recorded of a connection, and connections that are recorded.
const RECORDED: usize = 64 << 10;

/// The properties of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Connections are closed, and so are new ones. This also cuts the other direction.
    pub is_cut: bool,
    /// Bytes wait, and connections stay open.
    pub is_held: bool,
    /// Time that bytes are in transit.
    pub delay: Duration,
    /// 0: no limit.
    pub bytes_per_second: u32,
}

/// The proxies between some processes. They end when dropped.
#[derive(Debug)]
pub struct Mesh {
    size: usize,
    /// The address at which `from` reaches `to`, at `from * size + to`.
    addresses: Vec<SocketAddr>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    size: usize,
    state: Mutex<State>,
    changed: Condvar,
    has_ended: AtomicBool,
}

#[derive(Debug)]
struct State {
    /// The flow from one process to another, at `from * size + to`.
    flows: Vec<Flow>,
    /// Open connections, with the pair.
    open: Vec<((usize, usize), TcpStream)>,
    /// The first bytes of those who connected, with the pair.
    recorded: Vec<((usize, usize), Vec<u8>)>,
}

impl Mesh {
    /// Starts proxies to processes that listen at these addresses, now or later.
    pub fn start(targets: &[SocketAddr]) -> Result<Self> {
        let size = targets.len();
        let state = State {
            flows: vec![Flow::default(); size * size],
            open: Vec::new(),
            recorded: Vec::new(),
        };
        let shared = Arc::new(Shared {
            size,
            state: Mutex::new(state),
            changed: Condvar::new(),
            has_ended: AtomicBool::new(false),
        });
        let mut addresses = Vec::with_capacity(size * size);
        for from in 0..size {
            for (to, target) in targets.iter().enumerate() {
                let listener = TcpListener::bind(("127.0.0.1", 0))?;
                addresses.push(listener.local_addr()?);
                let (shared, target) = (Arc::clone(&shared), *target);
                thread::spawn(move || shared.listen(&listener, (from, to), target));
            }
        }
        Ok(Self { size, addresses, shared })
    }

    /// The address at which one process reaches another.
    pub fn address(&self, from: usize, to: usize) -> SocketAddr {
        self.addresses[from * self.size + to]
    }

    /// Sets the flow from one process to another, whichever of them connected.
    pub fn set(&self, from: usize, to: usize, flow: Flow) {
        let mut state = self.shared.state.lock();
        state.flows[from * self.size + to] = flow;
        if flow.is_cut {
            state.open.retain(|((a, b), stream)| {
                let is_cut = (*a, *b) == (from, to) || (*a, *b) == (to, from);
                if is_cut {
                    // It may have ended already.
                    let _ended = stream.shutdown(Shutdown::Both);
                }
                !is_cut
            });
        }
        self.shared.changed.notify_all();
    }

    /// Sets the flow between all pairs, by a function of the two.
    pub fn set_all(&self, flow: impl Fn(usize, usize) -> Flow) {
        for from in 0..self.size {
            for to in (0..self.size).filter(|to| *to != from) {
                self.set(from, to, flow(from, to));
            }
        }
    }

    /// Ends all cuts, holds and limits.
    pub fn heal(&self) {
        self.set_all(|_, _| Flow::default());
    }

    /// The first bytes that one process sent to another, for each connection that it made.
    pub fn recorded(&self, from: usize, to: usize) -> Vec<Vec<u8>> {
        let state = self.shared.state.lock();
        let of_pair = state.recorded.iter().filter(|(pair, _)| *pair == (from, to));
        of_pair.map(|(_, bytes)| bytes.clone()).collect()
    }
}

impl Drop for Mesh {
    fn drop(&mut self) {
        self.shared.has_ended.store(true, Ordering::Relaxed);
        let cut = Flow { is_cut: true, ..Flow::default() };
        self.set_all(|_, _| cut);
        for address in &self.addresses {
            // Wakes the listener.
            let _woken = TcpStream::connect(address);
        }
    }
}

impl Shared {
    fn listen(self: &Arc<Self>, listener: &TcpListener, pair: (usize, usize), target: SocketAddr) {
        for client in listener.incoming().map_while(Result::ok) {
            if self.has_ended.load(Ordering::Relaxed) {
                return;
            }
            // A connection that can't be passed on is closed.
            let _closed = self.pass(client, pair, target);
        }
    }

    fn flow(&self, (from, to): (usize, usize)) -> Flow {
        self.state.lock().flows[from * self.size + to]
    }

    fn pass(
        self: &Arc<Self>,
        client: TcpStream,
        (from, to): (usize, usize),
        target: SocketAddr,
    ) -> std::io::Result<()> {
        if self.flow((from, to)).is_cut || self.flow((to, from)).is_cut {
            return Ok(());
        }
        let server = TcpStream::connect(target)?;
        for stream in [&client, &server] {
            stream.set_nodelay(true)?;
        }
        let recorded = {
            let mut state = self.state.lock();
            for stream in [client.try_clone()?, server.try_clone()?] {
                state.open.push(((from, to), stream));
            }
            state.recorded.push(((from, to), Vec::new()));
            state.recorded.len() - 1
        };
        self.copy(client.try_clone()?, server.try_clone()?, (from, to), Some(recorded));
        self.copy(server, client, (to, from), None);
        Ok(())
    }

    /// Copies until one side ends, in two threads: one reads, and one waits while bytes are in transit.
    fn copy(
        self: &Arc<Self>,
        mut from: TcpStream,
        to: TcpStream,
        pair: (usize, usize),
        recorded: Option<usize>,
    ) {
        let (pieces, under_way) = sync_channel(PIECES);
        let shared = Arc::clone(self);
        thread::spawn(move || {
            let mut piece = vec![0; PIECE];
            while let Ok(read @ 1..) = from.read(&mut piece) {
                if let Some(recorded) = recorded {
                    shared.record(recorded, &piece[..read]);
                }
                if pieces.send((Instant::now(), piece[..read].to_vec())).is_err() {
                    break;
                }
            }
        });
        let shared = Arc::clone(self);
        thread::spawn(move || {
            shared.write(&under_way, &to, pair);
            // The other side may have closed it.
            let _closed = to.shutdown(Shutdown::Both);
        });
    }

    fn record(&self, number: usize, bytes: &[u8]) {
        let mut state = self.state.lock();
        let (_, recorded) = &mut state.recorded[number];
        let left = RECORDED.saturating_sub(recorded.len()).min(bytes.len());
        recorded.extend_from_slice(&bytes[..left]);
    }

    fn write(
        &self,
        pieces: &Receiver<(Instant, Vec<u8>)>,
        mut to: &TcpStream,
        pair: (usize, usize),
    ) {
        for (came, piece) in pieces {
            let flow = self.wait(came, pair);
            if flow.is_cut || to.write_all(&piece).is_err() {
                return;
            }
            if flow.bytes_per_second > 0 {
                let seconds = piece.len() as f64 / f64::from(flow.bytes_per_second);
                thread::sleep(Duration::from_secs_f64(seconds));
            }
        }
    }

    /// Waits until a piece arrives, by the flow of that time.
    fn wait(&self, came: Instant, (from, to): (usize, usize)) -> Flow {
        let mut state = self.state.lock();
        loop {
            let flow = state.flows[from * self.size + to];
            if flow.is_cut {
                return flow;
            }
            if flow.is_held {
                self.changed.wait(&mut state);
            } else if came.elapsed() >= flow.delay {
                return flow;
            } else {
                self.changed.wait_until(&mut state, came + flow.delay);
            }
        }
    }
}
