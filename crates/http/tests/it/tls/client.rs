//! A server with a certificate, and clients that trust it.

use std::fs::Permissions;
use std::io;
use std::net::SocketAddr;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use esker_http::{CertificateFiles, Endpoint, HttpConfig, Tls};
use h2::client::SendRequest;
use http::{HeaderMap, Request, Response, StatusCode, Version};
use rcgen::CertifiedKey;
use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::{Client, Server};

pub(super) const HTTP1: &[u8] = b"http/1.1";
pub(super) const HTTP2: &[u8] = b"h2";

/// The longest time that a test waits.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running server, and the files of its certificate.
pub(super) struct SecureServer {
    server: Server,
    tls: Tls,
    files: CertificateFiles,
    _folder: TempDir,
}

impl Deref for SecureServer {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl SecureServer {
    pub(super) async fn start() -> Self {
        Self::with(HttpConfig::default(), &[]).await
    }

    pub(super) async fn with(config: HttpConfig, further: &[(&str, Endpoint)]) -> Self {
        let folder = TempDir::new().unwrap();
        let files = CertificateFiles {
            certificate: folder.path().join("cert.pem"),
            key: folder.path().join("key.pem"),
        };
        write_certificate(&files);
        let tls = Tls::open(files.clone()).unwrap();
        let server = Server::with_tls(config, further, Some(tls.clone())).await;
        Self { server, tls, files, _folder: folder }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// Gives it another certificate.
    pub(super) fn replace_certificate(self) -> Self {
        write_certificate(&self.files);
        self.tls.reload();
        self
    }

    pub(super) async fn stop(self) {
        self.server.stop().await;
    }

    /// A connection of a client that speaks these protocols.
    pub(super) async fn handshake(&self, protocols: &[&[u8]]) -> io::Result<TlsStream<TcpStream>> {
        self.handshake_with(&rustls::version::TLS13, protocols).await
    }

    pub(super) async fn handshake_with(
        &self,
        version: &'static SupportedProtocolVersion,
        protocols: &[&[u8]],
    ) -> io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&self.files.certificate).unwrap()).unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        let stream = TcpStream::connect(self.address()).await?;
        let name = ServerName::try_from("localhost").unwrap();
        let connecting = TlsConnector::from(Arc::new(config)).connect(name, stream);
        tokio::time::timeout(PATIENCE, connecting).await.expect("the handshake ends")
    }

    /// A client of HTTP/1.1.
    pub(super) async fn client(&self) -> Client<TlsStream<TcpStream>> {
        Client::over(self.handshake(&[HTTP1]).await.unwrap())
    }

    /// A client of HTTP/2.
    pub(super) async fn http2(&self) -> Http2 {
        let stream = self.handshake(&[HTTP2, HTTP1]).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(HTTP2));
        // A reply that a test does not read stops at the window of its stream, so others still pass.
        let handshake =
            h2::client::Builder::new().initial_connection_window_size(1 << 24).handshake(stream);
        let (requests, connection) = handshake.await.unwrap();
        let ended = tokio::spawn(connection);
        Http2 { requests, ended }
    }
}

fn write_certificate(files: &CertificateFiles) {
    let names = vec!["localhost".to_owned()];
    let CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(names).unwrap();
    std::fs::write(&files.certificate, cert.pem()).unwrap();
    std::fs::write(&files.key, signing_key.serialize_pem()).unwrap();
    std::fs::set_permissions(&files.key, Permissions::from_mode(0o600)).unwrap();
}

/// A client of HTTP/2 that keeps the rules.
pub(super) struct Http2 {
    pub(super) requests: SendRequest<Bytes>,
    pub(super) ended: tokio::task::JoinHandle<Result<(), h2::Error>>,
}

/// A reply whose body was read.
#[derive(Debug)]
pub(super) struct Http2Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Http2Reply {
    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

pub(super) fn post(path: &str) -> Request<()> {
    let request = Request::post(format!("https://localhost{path}"));
    request.header("content-type", "application/json").body(()).unwrap()
}

pub(super) fn call(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

/// Reads a reply to its end.
pub(super) async fn read(response: Response<h2::RecvStream>) -> Result<Http2Reply, h2::Error> {
    assert_eq!(response.version(), Version::HTTP_2);
    let (parts, mut stream) = response.into_parts();
    let mut body = Vec::new();
    while let Some(data) = stream.data().await {
        let data = data?;
        stream.flow_control().release_capacity(data.len())?;
        body.extend_from_slice(&data);
    }
    Ok(Http2Reply { status: parts.status, headers: parts.headers, body })
}

impl Http2 {
    /// Sends a request with this body and reads its reply.
    pub(super) async fn send(
        &mut self,
        request: Request<()>,
        body: impl Into<Bytes>,
    ) -> Result<Http2Reply, h2::Error> {
        let body = body.into();
        let mut requests = self.requests.clone().ready().await?;
        let (response, mut stream) = requests.send_request(request, body.is_empty())?;
        if !body.is_empty() {
            stream.send_data(body, true)?;
        }
        let whole = async { read(response.await?).await };
        tokio::time::timeout(PATIENCE, whole).await.expect("a reply")
    }

    /// Sends a call to the toy without waiting for its reply.
    pub(super) async fn begin(&mut self, call: String) -> h2::client::ResponseFuture {
        let mut requests = self.requests.clone().ready().await.unwrap();
        let (response, mut stream) = requests.send_request(post("/ext/toy"), false).unwrap();
        stream.send_data(call.into(), true).unwrap();
        response
    }

    pub(super) async fn ping(&mut self) -> Result<Http2Reply, h2::Error> {
        self.send(post("/ext/toy"), call("toy.ping", "{}")).await
    }

    /// Waits until the connection has ended.
    pub(super) async fn closed(self) {
        let ended = tokio::time::timeout(PATIENCE, self.ended).await;
        let _how = ended.expect("the connection ends").unwrap();
    }
}
