//! The beginning of a connection: a handshake, or an HTTP request of a client that does not know of TLS.

use std::io;

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::{ALPN_HTTP2, Tls};

/// How a connection begins.
pub(crate) enum Handshake {
    /// A client that chose HTTP/1.1, or no protocol.
    Http1(Box<TlsStream<TcpStream>>),
    /// A client that chose HTTP/2.
    Http2(Box<TlsStream<TcpStream>>),
    /// A request without TLS, unread.
    Plain(TcpStream),
}

/// Waits for the client's part of the handshake. The table of connections limits its time.
pub(crate) async fn handshake(tls: &Tls, stream: TcpStream) -> io::Result<Handshake> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    // A record of a handshake begins with 22, a request with a method.
    if first[0].is_ascii_uppercase() {
        return Ok(Handshake::Plain(stream));
    }
    let stream = Box::new(TlsAcceptor::from(tls.current()).accept(stream).await?);
    Ok(match stream.get_ref().1.alpn_protocol() {
        Some(ALPN_HTTP2) => Handshake::Http2(stream),
        _ => Handshake::Http1(stream),
    })
}
