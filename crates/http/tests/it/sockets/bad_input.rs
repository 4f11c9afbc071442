//! Input that breaks the rules ends its own connection, with a code that names the reason, and harms no other.

use esker_http::HttpConfig;

use super::client::{Socket, frame, head};
use super::{CALL, CALLED, World};

/// The last thing that is said to a socket, and the end.
#[track_caller]
fn closes(mut socket: Socket, expected: &str) {
    assert_eq!(socket.read(), expected);
    // The client's answer to it goes out with this.
    assert_eq!(socket.read(), "end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_frames() {
    let world = World::new(HttpConfig::default()).await;
    for (bytes, expected) in [
        (vec![0x81, 2, b'{', b'}'], "1002 a client's frames are masked"),
        (frame(0xc1, b"{}"), "1002 no extension was agreed upon"),
        (frame(0x83, b"{}"), "1002 an unknown kind of frame"),
        (frame(0x80, b"{}"), "1002 no message to continue"),
        (
            [frame(0x01, b"{"), frame(0x81, b"}")].concat(),
            "1002 the message before is not complete",
        ),
        (frame(0x09, b""), "1002 a control frame is not fragmented"),
        (frame(0x89, &[0; 126]), "1002 a control frame is short"),
        (frame(0x88, &[3]), "1002 half a close code"),
        (frame(0x81, b"\"\xc3\x28\""), "1007 a text is not UTF-8"),
        ([frame(0x01, b"\xc3"), frame(0x80, b"(")].concat(), "1007 a text is not UTF-8"),
    ] {
        let mut socket = world.socket();
        // The calls before it are answered.
        assert_eq!(socket.ask(CALL), CALLED);
        socket.raw(&bytes);
        closes(socket, expected);
        world.is_unharmed();
    }
    world.server.until_metric("esker_http_connections", 0.0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oversized_messages() {
    let world = World::new(HttpConfig { message_limit: 200_000, ..HttpConfig::default() }).await;
    let expected = "1009 a message is larger than 200000 bytes";
    // One that only says so.
    let mut socket = world.socket();
    socket.raw(&head(0x81, u64::MAX));
    closes(socket, expected);
    // One that comes wholly.
    let mut socket = world.socket();
    socket.raw(&frame(0x81, &vec![b' '; 5_000_000]));
    closes(socket, expected);
    // In fragments, each of them small.
    let mut socket = world.socket();
    socket.raw(&frame(0x01, &[b' '; 50_000]));
    (0..4).for_each(|_| socket.raw(&frame(0x00, &[b' '; 50_000])));
    closes(socket, expected);
    // The largest that may be.
    let padded = format!("{}{CALL}", " ".repeat(200_000 - CALL.len()));
    assert_eq!(world.socket().ask(&padded), CALLED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_messages_that_stay_unfinished() {
    const HALF: usize = 300_000;
    let world = World::new(HttpConfig { body_memory: 1_000_000, ..HttpConfig::default() }).await;
    let half = [head(0x81, (HALF + CALL.len()) as u64), vec![b' '; HALF]].concat();
    let mut sockets: Vec<Socket> = (0..3).map(|_| world.socket()).collect();
    sockets.iter_mut().for_each(|socket| socket.raw(&half));
    world.server.until_metric("esker_http_body_memory_bytes", 3.0 * HALF as f64).await;
    let mut last = world.socket();
    last.raw(&half);
    closes(last, "1013 too many large messages at once");
    // Its memory is free a moment after its close frame.
    world.server.until_metric("esker_http_body_memory_bytes", 3.0 * HALF as f64).await;
    world.is_unharmed();
    // A message that has come wholly gives its memory back.
    sockets[0].raw(CALL.as_bytes());
    assert_eq!(sockets[0].read(), CALLED);
    drop(sockets);
    world.server.until_metric("esker_http_body_memory_bytes", 0.0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_close_frame_is_answered() {
    let world = World::new(HttpConfig::default()).await;
    for (payload, expected) in [(&[3, 232, b'b'][..], "1000 "), (&[][..], "close")] {
        let mut socket = world.socket();
        socket.raw(&frame(0x88, payload));
        closes(socket, expected);
    }
    // The messages after it are ignored.
    let mut socket = world.socket();
    socket.raw(&[frame(0x88, &[]), frame(0x81, CALL.as_bytes())].concat());
    closes(socket, "close");
}
