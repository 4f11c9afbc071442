//! The listening sockets.

use std::io;

use tokio::net::{TcpListener, TcpSocket, lookup_host};

/// Connections that may wait to be accepted; the system may allow fewer. Beyond it the clients' systems try again after a
/// second.
const BACKLOG: u32 = 4096;

/// Listens on the first address of a host that allows it.
///
/// # Errors
/// The host has no address, or none of them can be listened on.
pub async fn listen(host: &str, port: u16) -> io::Result<TcpListener> {
    let mut last = io::Error::new(io::ErrorKind::InvalidInput, "the host has no address");
    for address in lookup_host((host, port)).await? {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
        let listening = socket.and_then(|socket| {
            // A restart need not wait for the connections of the last run.
            socket.set_reuseaddr(true)?;
            socket.bind(address)?;
            socket.listen(BACKLOG)
        });
        match listening {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpStream};
    use std::time::Duration;

    use super::*;
    use crate::descriptors;

    /// Much less than the time after which a client's system tries again.
    const AT_ONCE: Duration = Duration::from_millis(900);

    #[tokio::test]
    async fn a_thousand_clients_connect_before_one_is_accepted() {
        const CLIENTS: usize = 1000;
        let listener = listen("127.0.0.1", 0).await.unwrap();
        let address = listener.local_addr().unwrap();
        // The system's limit.
        let backlog = std::fs::read_to_string("/proc/sys/net/core/somaxconn");
        let backlog = backlog.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(CLIENTS);
        let clients = descriptors::connection_limit(CLIENTS).min(backlog);
        // Nobody accepts.
        let connect = |_| TcpStream::connect_timeout(&address, AT_ONCE);
        let connected: Vec<_> = (0..clients).map(connect).collect::<Result<_, _>>().unwrap();
        assert_eq!(connected.len(), clients);
    }

    #[tokio::test]
    async fn an_address_that_is_in_use_is_refused() {
        let first = listen("127.0.0.1", 0).await.unwrap();
        let SocketAddr::V4(address) = first.local_addr().unwrap() else { panic!("it is IPv4") };
        let error = listen("127.0.0.1", address.port()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert!(listen("no such host", 0).await.is_err());
    }
}
