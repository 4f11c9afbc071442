//! Opens connections, for blocking and asynchronous callers.

use std::error::Error;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use esker_primitives::read_bounded;
use hyper::body::Body;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use crate::url::SourceUrl;

/// Largest file of certificates, in bytes.
const MAX_FILE: u64 = 4 << 20;

/// The reason why the certificates for TLS can't be used.
#[derive(Debug, Error)]
pub enum RootsError {
    /// The file can't be read.
    #[error("can't read {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// No usable certificate in the file.
    #[error(
        "{} holds no usable certificate{}: expected PEM text with -----BEGIN CERTIFICATE-----",
        path.display(),
        .reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default()
    )]
    Certificate {
        /// The file.
        path: PathBuf,
        /// The fault of the first unusable certificate.
        reason: Option<String>,
    },
    /// The machine has no certificates.
    #[error("this machine has no certificates of authorities: name a file of them")]
    NoneHere,
}

/// Opens connections to sources, with TLS if their addresses have `https`.
#[derive(Clone, Debug)]
pub struct Dialer {
    tls: Option<Tls>,
}

#[derive(Clone)]
struct Tls {
    connector: TlsConnector,
    /// The origin of the trusted certificates, for error texts.
    trusted: Arc<str>,
}

/// A TLS connection over another one, for blocking callers.
pub type BlockingTls<S> = StreamOwned<ClientConnection, S>;

/// An open HTTP/1.1 connection. Dropping it closes it.
#[derive(Debug)]
pub struct HttpConnection<B> {
    /// Sends one request after the other.
    pub sender: SendRequest<B>,
    /// Drives the connection. Requests report its errors.
    task: JoinHandle<()>,
}

impl<B> Drop for HttpConnection<B> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Dialer {
    /// Without TLS.
    pub const fn plain() -> Self {
        Self { tls: None }
    }

    /// Trusts the authorities that this machine trusts.
    ///
    /// # Errors
    /// It has no certificates of authorities.
    pub fn with_machine_roots() -> Result<Self, RootsError> {
        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        let (added, _unusable) = roots.add_parsable_certificates(found.certs);
        if added == 0 {
            return Err(RootsError::NoneHere);
        }
        Ok(Self::with_roots(roots, "the authorities that this machine trusts"))
    }

    /// Trusts the certificates of a file in PEM: of authorities, or of the sources themselves.
    ///
    /// # Errors
    /// The file can't be read, or holds something else.
    pub fn with_ca_file(path: &Path) -> Result<Self, RootsError> {
        let read = |error| RootsError::Read { path: path.to_owned(), error };
        let certificate = |reason| RootsError::Certificate { path: path.to_owned(), reason };
        let text = read_bounded(path, MAX_FILE).map_err(read)?;
        let mut roots = RootCertStore::empty();
        for parsed in CertificateDer::pem_slice_iter(&text) {
            let parsed = parsed.map_err(|error| certificate(Some(error.to_string())))?;
            roots.add(parsed).map_err(|error| certificate(Some(error.to_string())))?;
        }
        if roots.is_empty() {
            return Err(certificate(None));
        }
        Ok(Self::with_roots(roots, &path.display().to_string()))
    }

    fn with_roots(roots: RootCertStore, trusted: &str) -> Self {
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider has the ciphers of TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = TlsConnector::from(Arc::new(config));
        Self { tls: Some(Tls { connector, trusted: trusted.into() }) }
    }

    /// Opens a connection. The caller sets the deadline.
    ///
    /// # Errors
    /// The connection failed, or the certificate is not trusted or has another name.
    pub async fn connect<B>(&self, url: &SourceUrl) -> io::Result<HttpConnection<B>>
    where
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let stream = TcpStream::connect((url.host.as_str(), url.port)).await?;
        stream.set_nodelay(true)?;
        if !url.is_tls {
            return open(stream).await;
        }
        let tls = self.tls()?;
        let name = ServerName::try_from(url.host.clone()).map_err(io::Error::other)?;
        let secured = tls.connector.connect(name, stream).await;
        open(secured.map_err(|error| tls.error(&error))?).await
    }

    /// Opens TLS to a host over a connection. The caller sets the deadlines of the connection.
    ///
    /// # Errors
    /// The handshake failed: the certificate is not trusted or has another name, or the peer has no TLS.
    pub fn secure_blocking<S: Read + Write>(
        &self,
        host: &str,
        stream: S,
    ) -> io::Result<BlockingTls<S>> {
        let tls = self.tls()?;
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let config = Arc::clone(tls.connector.config());
        let mut stream = StreamOwned::new(
            ClientConnection::new(config, name).map_err(io::Error::other)?,
            stream,
        );
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).map_err(|error| tls.error(&error))?;
        }
        Ok(stream)
    }

    fn tls(&self) -> io::Result<&Tls> {
        self.tls.as_ref().ok_or_else(|| io::Error::other("TLS is not set up"))
    }
}

impl Tls {
    /// The error of a handshake. Timeouts keep their kind and get no text.
    fn error(&self, error: &io::Error) -> io::Error {
        if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
            return error.kind().into();
        }
        let text = format!("TLS: {} (trusted: {})", tls_reason(error), self.trusted);
        io::Error::new(error.kind(), text)
    }
}

/// The reason why a handshake failed. The library has no readable texts for the most common mistakes.
fn tls_reason(error: &io::Error) -> String {
    let text = error.to_string();
    if text.contains("CaUsedAsEndEntity") {
        return "the node's certificate is that of an authority, which servers can't use: make one with basicConstraints CA:FALSE".to_owned();
    }
    if text.contains("InvalidContentType") {
        return "the answer is no TLS: is it a node without HTTPS, with http:// as its address?"
            .to_owned();
    }
    text
}

async fn open<S, B>(stream: S) -> io::Result<HttpConnection<B>>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let (sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let task = tokio::spawn(async move {
        let _ended = connection.await;
    });
    Ok(HttpConnection { sender, task })
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("trusted", &self.trusted).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::Request;
    use http_body_util::{BodyExt as _, Empty};
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
    use rustls::ServerConfig;
    use rustls_pki_types::PrivateKeyDer;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::*;

    async fn server() -> (u16, String) {
        serve(IsCa::NoCa).await
    }

    /// A server with a certificate for `localhost`, which answers each connection once; its certificate in PEM.
    async fn serve(is_ca: IsCa) -> (u16, String) {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.is_ca = is_ca;
        let key = KeyPair::generate().unwrap();
        let cert = params.self_signed(&key).unwrap();
        let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes());
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key.unwrap())
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let mut request = [0; 1024];
                let _read = stream.read(&mut request).await.unwrap();
                let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
                stream.write_all(reply).await.unwrap();
                stream.shutdown().await.unwrap();
            }
        });
        (port, cert.pem())
    }

    async fn get(dialer: &Dialer, url: &str) -> Result<Bytes, String> {
        let url = url.parse().unwrap();
        let mut open = dialer.connect(&url).await.map_err(|error| error.to_string())?;
        let request = Request::get("/").body(Empty::<Bytes>::new()).unwrap();
        let reply = open.sender.send_request(request).await.map_err(|error| error.to_string())?;
        Ok(reply.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes())
    }

    #[tokio::test]
    async fn a_certificate_is_checked() {
        let (port, pem) = server().await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        std::fs::write(&file, pem).unwrap();
        let trusting = Dialer::with_ca_file(&file).unwrap();
        assert_eq!(get(&trusting, &format!("https://localhost:{port}")).await.unwrap(), "hi");
        let other_name = get(&trusting, &format!("https://127.0.0.1:{port}")).await.unwrap_err();
        assert!(other_name.contains("not valid for name"), "{other_name}");

        let (_, other) = server().await;
        std::fs::write(&file, other).unwrap();
        let distrusting = Dialer::with_ca_file(&file).unwrap();
        let error = get(&distrusting, &format!("https://localhost:{port}")).await.unwrap_err();
        assert!(error.starts_with("TLS: ") && error.contains("ca.pem"), "{error}");

        let (port, authority) = serve(IsCa::Ca(BasicConstraints::Unconstrained)).await;
        std::fs::write(&file, authority).unwrap();
        let trusting = Dialer::with_ca_file(&file).unwrap();
        let error = get(&trusting, &format!("https://localhost:{port}")).await.unwrap_err();
        assert!(error.contains("make one with basicConstraints CA:FALSE"), "{error}");

        let error = get(&Dialer::plain(), &format!("https://localhost:{port}")).await.unwrap_err();
        assert_eq!(error, "TLS is not set up");
    }

    #[tokio::test]
    async fn blocking_connections_check_the_certificate_too() {
        let (port, pem) = server().await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        std::fs::write(&file, pem).unwrap();
        let ask = move |host: &'static str, port: u16, file: PathBuf| {
            tokio::task::spawn_blocking(move || {
                let stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
                let dialer = Dialer::with_ca_file(&file).unwrap();
                let mut stream =
                    dialer.secure_blocking(host, stream).map_err(|error| error.to_string())?;
                stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
                let mut reply = String::new();
                stream.read_to_string(&mut reply).unwrap();
                Ok::<_, String>(reply)
            })
        };
        let reply = ask("localhost", port, file.clone()).await.unwrap().unwrap();
        assert!(reply.ends_with("hi"), "{reply}");
        let other_name = ask("127.0.0.1", port, file.clone()).await.unwrap().unwrap_err();
        assert!(other_name.contains("not valid for name"), "{other_name}");
        // A peer without TLS.
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
            let _closed = stream.read(&mut [0; 1024]);
        });
        let plain = ask("localhost", port, file).await.unwrap().unwrap_err();
        assert!(plain.contains("with http:// as its address?"), "{plain}");
        let stream = std::io::Cursor::new(Vec::new());
        let error = Dialer::plain().secure_blocking("localhost", stream).unwrap_err();
        assert_eq!(error.to_string(), "TLS is not set up");
    }

    #[test]
    fn files_without_certificates() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let refusal = |path: &Path| Dialer::with_ca_file(path).unwrap_err().to_string();
        assert!(refusal(&file).starts_with("can't read"), "{}", refusal(&file));
        assert!(refusal(folder.path()).contains("not a regular file"));
        for (text, reason) in [
            ("", "holds no usable certificate:"),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "holds no usable"),
        ] {
            std::fs::write(&file, text).unwrap();
            assert!(refusal(&file).contains(reason), "{}", refusal(&file));
        }
    }
}
