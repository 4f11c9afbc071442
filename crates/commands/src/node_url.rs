//! The address of a running node, as commands take it: `http://HOST:PORT` or `https://HOST:PORT`.

use std::io;
use std::net::ToSocketAddrs as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Arg, ArgMatches, ValueHint, value_parser};
use esker_client::{HttpClient, Layer, Layered, TimedStream};
use esker_outbound::{BlockingTls, Dialer, RootsError, SourceKind, SourceUrl};
use thiserror::Error;

/// The node that a command asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeUrl {
    /// As given.
    pub url: String,
    /// File with the certificates that are trusted, instead of the machine's authorities.
    pub ca_file: Option<PathBuf>,
}

/// The reason why there is no client of a node.
#[derive(Debug, Error)]
pub enum NodeUrlError {
    /// The URL is not one of a node.
    #[error("expected http://HOST:PORT or https://HOST:PORT{}", reason.map(|reason| format!(" ({reason})")).unwrap_or_default())]
    Url {
        /// The fault; `None`: it is the URL of an AvalancheGo.
        reason: Option<&'static str>,
    },
    /// The host's name can't be resolved.
    #[error(transparent)]
    Resolve(io::Error),
    /// The host's name has no address.
    #[error("the name has no address")]
    NoAddress,
    /// Certificates are named for a connection without TLS.
    #[error("--ca-file {} is for https:// only", .0.display())]
    CaFileWithoutTls(PathBuf),
    /// The machine's certificates can't be used.
    #[error("{0} with --ca-file, or use http://")]
    MachineRoots(#[source] RootsError),
    /// The certificates of the file can't be used.
    #[error("--ca-file: {0}")]
    CaFile(#[source] RootsError),
}

/// The argument `--ca-file` of commands with `--url`.
pub(crate) fn ca_file() -> Arg {
    Arg::new("ca-file")
        .long("ca-file")
        .value_name("FILE")
        .value_hint(ValueHint::FilePath)
        .value_parser(value_parser!(PathBuf))
        .help("File in PEM with the certificates to trust for https://, instead of the machine's authorities")
}

impl NodeUrl {
    /// The arguments `--url` and `--ca-file`.
    pub(crate) fn parse(given: &ArgMatches) -> Self {
        // `esker address` has none.
        let url = given.try_get_one::<String>("url").ok().flatten();
        let ca_file = given.try_get_one::<PathBuf>("ca-file").ok().flatten();
        Self { url: url.cloned().unwrap_or_default(), ca_file: ca_file.cloned() }
    }

    /// A client of the node; nothing is sent yet.
    pub(crate) fn client(&self, patience: Duration) -> Result<HttpClient, NodeUrlError> {
        let Self { url, ca_file } = self;
        let url = parse(url)?;
        let found = (url.host.as_str(), url.port).to_socket_addrs();
        let addresses: Vec<_> = found.map_err(NodeUrlError::Resolve)?.collect();
        if addresses.is_empty() {
            return Err(NodeUrlError::NoAddress);
        }
        let client = HttpClient::of_host(addresses, url.authority()).with_timeout(patience);
        let dialer = match (url.is_tls, ca_file) {
            (false, None) => return Ok(client),
            (false, Some(file)) => return Err(NodeUrlError::CaFileWithoutTls(file.clone())),
            (true, None) => Dialer::with_machine_roots().map_err(NodeUrlError::MachineRoots)?,
            (true, Some(file)) => Dialer::with_ca_file(file).map_err(NodeUrlError::CaFile)?,
        };
        Ok(client.with_layer(Arc::new(Tls { dialer, host: url.host })))
    }

    /// The form in which an address is compared with others: with its port, without a slash at the end.
    pub(crate) fn normal(&self) -> String {
        parse(&self.url).map_or_else(|_| self.url.clone(), |url| url.to_string())
    }
}

fn parse(url: &str) -> Result<SourceUrl, NodeUrlError> {
    match url.parse::<SourceUrl>() {
        Ok(url) if url.kind == SourceKind::Esker => Ok(url),
        Ok(_) => Err(NodeUrlError::Url { reason: None }),
        Err(error) => Err(NodeUrlError::Url { reason: Some(error.reason()) }),
    }
}

/// TLS under the client.
#[derive(Debug)]
struct Tls {
    dialer: Dialer,
    host: String,
}

impl Layer for Tls {
    fn open(&self, stream: TimedStream) -> io::Result<Box<dyn Layered>> {
        Ok(Box::new(Secured(self.dialer.secure_blocking(&self.host, stream)?)))
    }
}

struct Secured(BlockingTls<TimedStream>);

impl io::Read for Secured {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl io::Write for Secured {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.0.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Layered for Secured {
    fn below(&mut self) -> &mut TimedStream {
        &mut self.0.sock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(url: &str) -> NodeUrl {
        NodeUrl { url: url.to_owned(), ca_file: None }
    }

    #[test]
    fn urls_of_nodes() {
        for url in [
            "http://127.0.0.1:9650",
            "http://127.0.0.1:9650/",
            "http://[::1]:9650",
            "http://127.0.0.1",
        ] {
            let client = node(url).client(Duration::from_secs(1)).unwrap();
            assert_eq!(client.addresses()[0].port(), 9650, "{url}");
        }
        assert_eq!(node("http://127.0.0.1/").normal(), "http://127.0.0.1:9650");
        assert_eq!(node("https://node.example").normal(), "https://node.example:443");
        for (url, reason) in [
            ("127.0.0.1:9650", "expected http://HOST:PORT or https://"),
            ("avalanchego+http://127.0.0.1:9650", "expected http://HOST:PORT or https://"),
            ("http://127.0.0.1:9650/ext", "a path is not expected"),
            ("http://127.0.0.1:x", "not a port"),
        ] {
            let error = node(url).client(Duration::from_secs(1)).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn files_of_certificates_are_for_https() {
        let with = |url: &str, file: &str| {
            let node = NodeUrl { url: url.to_owned(), ca_file: Some(file.into()) };
            node.client(Duration::from_secs(1)).unwrap_err().to_string()
        };
        let plain = with("http://127.0.0.1:9650", "/nowhere/ca.pem");
        assert_eq!(plain, "--ca-file /nowhere/ca.pem is for https:// only");
        let missing = with("https://127.0.0.1:9650", "/nowhere/ca.pem");
        assert!(missing.starts_with("--ca-file: can't read /nowhere/ca.pem"), "{missing}");
    }
}
