//! Strangers at the ports of the validators' network: connections that say nothing, garbage, endless bytes, and bytes
//! that a validator sent before. The validators go on, say little of it, and keep nothing of it.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use esker_e2e::{Node, until};
use socket2::{Domain, Socket, Type};

use crate::validator_net::{Net, VALIDATORS, heights, wait_for_heights, wait_for_peers};
use crate::validator_traffic::Traffic;

/// Connections that say nothing.
const SILENT: usize = 1_000;

/// Connections of each kind that say something.
const TALKING: usize = 4;

/// Most bytes that an endless sender sends before the test fails.
const ENDLESS: usize = 64 << 20;

/// How long a connection that breaks the protocol may stay open; the handshake has five seconds.
const CLOSED_WITHIN: Duration = Duration::from_secs(20);

/// Sockets that strangers may take of a validator, those that others come and go with, and growth of its memory, KiB.
const MOST_SOCKETS: usize = 300;
const FEW_SOCKETS: usize = 10;
const MOST_GROWTH_KIB: usize = 96 << 10;

/// Warnings and errors of a validator meanwhile.
const MOST_WARNINGS: usize = 5;

/// Strangers have another address than the validators. Only Linux has more than one for this machine.
fn strangers_address() -> IpAddr {
    let address = if cfg!(target_os = "linux") { [127, 1, 0, 1] } else { [127, 0, 0, 1] };
    IpAddr::from(address)
}

fn connect(to: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((strangers_address(), 0)).into()).unwrap();
    socket.connect(&to.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(CLOSED_WITHIN)).unwrap();
    stream.set_write_timeout(Some(CLOSED_WITHIN)).unwrap();
    stream
}

/// The other side closes the connection, whatever it says before.
fn assert_closed(mut stream: &TcpStream, what: &str) {
    let begun = Instant::now();
    let mut bytes = [0; 4_096];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return,
            Ok(_) => assert!(begun.elapsed() < CLOSED_WITHIN, "{what}: not closed"),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                let is_open = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
                assert!(!is_open, "{what}: not closed: {error}");
                return;
            }
        }
    }
}

/// Sockets of a node, as Linux lists them; elsewhere none.
fn open_sockets(node: &Node) -> usize {
    let Ok(files) = std::fs::read_dir(format!("/proc/{}/fd", node.pid())) else { return 0 };
    let links = files.flatten().filter_map(|file| std::fs::read_link(file.path()).ok());
    links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
}

/// Of the system; `None` where it has no such file.
fn memory_kib(node: &Node) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", node.pid())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The warnings, sockets and memory of each validator.
fn footprint(nodes: &[Node]) -> Vec<(usize, usize, usize)> {
    let of_node = |node: &Node| {
        let output = node.output();
        let is_warning = |line: &&str| line.contains(" WARN ") || line.contains(" ERROR ");
        let warnings = output.lines().filter(is_warning).count();
        (warnings, open_sockets(node), memory_kib(node).unwrap_or_default())
    };
    nodes.iter().map(of_node).collect()
}

/// Bytes that go on until the other side closes.
fn send_endlessly(mut stream: &TcpStream, piece: &[u8]) {
    let mut sent = 0;
    while stream.write_all(piece).is_ok() {
        sent += piece.len();
        assert!(sent < ENDLESS, "{sent} bytes were taken");
    }
}

#[test]
fn timed_silence_garbage_floods_and_replays_at_the_peer_ports_change_nothing() {
    let net = Net::with_links();
    let mut nodes = net.start_all();
    for node in &nodes {
        wait_for_peers(node, VALIDATORS - 1);
    }
    let traffic = Traffic::start(&nodes);
    let (quiet, _) = traffic.wait_for_more(5, "without strangers");
    let before = footprint(&nodes);
    let targets: Vec<_> = (0..VALIDATORS).map(|number| net.peer_address(number)).collect();
    let target = |number: usize| targets[number % VALIDATORS];

    // Many that say nothing. Meanwhile one validator starts, and the others let it in.
    let silent: Vec<_> = (0..SILENT).map(|number| connect(target(number))).collect();
    let most = footprint(&nodes)
        .iter()
        .zip(&before)
        .map(|(now, before)| now.1.saturating_sub(before.1))
        .max();
    assert!(most.unwrap() <= MOST_SOCKETS, "{most:?}");
    traffic.use_only(&nodes[..3]);
    nodes.pop().unwrap().kill().unwrap();
    nodes.push(net.start(3));
    wait_for_heights(&nodes[3], heights(&nodes[0]));
    traffic.use_only(&nodes);
    let (median, _) = traffic.wait_for_more(5, "with silent strangers");
    assert!(median < Duration::from_secs(2), "{quiet:?} {median:?}");
    for stream in &silent {
        assert_closed(stream, "silence");
    }

    // Garbage; a message that says it is very long; bytes without an end, at once and one after another.
    for number in 0..TALKING {
        let stream = connect(target(number));
        // It may be closed already.
        let _refused = (&stream).write_all(&[number as u8 ^ 0x5a; 2_000]);
        assert_closed(&stream, "garbage");
        let stream = connect(target(number));
        let _refused = (&stream).write_all(&[0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2, 3]);
        assert_closed(&stream, "an oversized message");
        let stream = connect(target(number));
        send_endlessly(&stream, &[number as u8; 64 << 10]);
    }
    let slow = connect(target(0));
    let begun = Instant::now();
    while (&slow).write_all(&[1]).is_ok() {
        assert!(begun.elapsed() < CLOSED_WITHIN, "a byte now and then: not closed");
        std::thread::sleep(Duration::from_millis(50));
    }

    // The bytes that a validator sent when it connected are sent again, to the peer that took them and to another.
    let mut replayed = 0;
    for (from, to) in (0..VALIDATORS).flat_map(|from| (0..VALIDATORS).map(move |to| (from, to))) {
        for bytes in net.links().recorded(from, to).into_iter().filter(|bytes| !bytes.is_empty()) {
            for to in [to, (to + 1) % VALIDATORS] {
                let stream = connect(target(to));
                let _refused = (&stream).write_all(&bytes);
                assert_closed(&stream, "a replay");
                replayed += 1;
            }
        }
    }
    assert!(replayed >= 6, "{replayed}");

    let (median, _) = traffic.wait_for_more(5, "after all strangers");
    assert!(median < Duration::from_secs(2), "{quiet:?} {median:?}");
    for node in &nodes {
        wait_for_peers(node, VALIDATORS - 1);
    }
    // The last one has started meanwhile.
    let after = footprint(&nodes);
    println!("warnings, sockets and KiB of memory: {before:?} before, {after:?} after");
    for (after, before) in after.iter().zip(&before).take(3) {
        assert!(after.0 - before.0 <= MOST_WARNINGS, "{}", nodes[0].output());
        assert!(after.1.saturating_sub(before.1) <= MOST_SOCKETS, "{before:?} {after:?}");
        assert!(after.2.saturating_sub(before.2) <= MOST_GROWTH_KIB, "{before:?} {after:?}");
    }
    until("no stranger has a connection", || {
        let has_few = |(node, before): (&Node, &(usize, usize, usize))| {
            open_sockets(node) < before.1 + FEW_SOCKETS
        };
        nodes.iter().zip(&before).take(3).all(has_few).then_some(())
    });
    net.finish(nodes.into_iter().enumerate().collect(), traffic);
}
