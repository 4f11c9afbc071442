//! A certificate, and clients that trust it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use esker_e2e::files::write_secret;
use esker_e2e::{Node, NodeBuilder};
use rcgen::CertifiedKey;
use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The longest wait.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) const HTTP1: &[u8] = b"http/1.1";
pub(super) const HTTP2: &[u8] = b"h2";

/// An encrypted connection.
pub(super) type Stream = StreamOwned<ClientConnection, TcpStream>;

/// The files of a certificate.
pub(super) struct Certificate {
    pub(super) folder: TempDir,
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

impl Certificate {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
        let files = Self { folder, certificate, key };
        files.replace();
        files
    }

    /// Writes another certificate, and its key.
    pub(super) fn replace(&self) {
        let names = vec!["localhost".to_owned()];
        let CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(names).unwrap();
        std::fs::write(&self.certificate, cert.pem()).unwrap();
        write_secret(&self.key, &signing_key.serialize_pem()).unwrap();
    }

    pub(super) fn der(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_file(&self.certificate).unwrap()
    }

    /// A node with this certificate.
    pub(super) fn give(&self, node: NodeBuilder) -> NodeBuilder {
        node.arg("--http-tls-cert-file")
            .arg(&self.certificate)
            .arg("--http-tls-key-file")
            .arg(&self.key)
    }

    /// The configuration of a client that trusts this certificate, and no other.
    pub(super) fn client(&self, protocols: &[&[u8]]) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.der()).unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Arc::new(config)
    }

    /// A connection after its handshake.
    pub(super) fn connect(&self, address: SocketAddr) -> io::Result<Stream> {
        let tcp = TcpStream::connect(address)?;
        tcp.set_read_timeout(Some(PATIENCE))?;
        tcp.set_write_timeout(Some(PATIENCE))?;
        let connection = ClientConnection::new(self.client(&[HTTP1]), name()).unwrap();
        let mut stream = StreamOwned::new(connection, tcp);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(stream)
    }

    /// One call over a connection of its own.
    pub(super) fn call(&self, address: SocketAddr, path: &str, method: &str) -> io::Result<Value> {
        let mut stream = self.connect(address)?;
        stream.write_all(post(path, method).as_bytes())?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply)?;
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{reply}");
        Ok(serde_json::from_str(body)?)
    }
}

pub(super) fn name() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

/// A call that closes its connection.
fn post(path: &str, method: &str) -> String {
    let body = call(method, &json!([]));
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A call of the positional dialect.
pub(super) fn call(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

/// The line that the node has written when it was ready.
pub(super) fn ready(node: &Node) -> Value {
    let text = std::fs::read_to_string(node.scratch().join("ready.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Where `/` is the C-Chain's JSON-RPC.
pub(super) fn evm_address(node: &Node) -> SocketAddr {
    ready(node)["evm"].as_str().unwrap().parse().unwrap()
}
