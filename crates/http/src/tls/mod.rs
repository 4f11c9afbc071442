//! TLS: the certificate, which can be replaced while the server runs, and the handshake.

mod files;
mod handshake;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use esker_primitives::sync::Mutex;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio::time::MissedTickBehavior;

use self::files::FileContents;
pub use self::files::{CertificateError, CertificateFiles};
pub(super) use self::handshake::{Handshake, handshake};

/// HTTP/2, as clients name it in a handshake.
const ALPN_HTTP2: &[u8] = b"h2";
const ALPN_HTTP1: &[u8] = b"http/1.1";

/// The certificate of a server, replaced when its files change. Clones share it.
#[derive(Clone, Debug)]
pub struct Tls(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    files: CertificateFiles,
    /// The configuration of new connections.
    config: ArcSwap<ServerConfig>,
    last_seen: Mutex<LastSeen>,
}

/// Fingerprints of the files. That of unreadable files is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LastSeen {
    /// The contents that were used or reported last.
    handled: Option<u64>,
    /// The contents of the last check.
    checked: Option<u64>,
}

impl Tls {
    /// Reads the certificate and its key.
    ///
    /// # Errors
    /// They can't be used; the text names the file, and what it should hold.
    pub fn open(files: CertificateFiles) -> Result<Self, CertificateError> {
        let contents = files.read()?;
        let config = server_config(files.parse(&contents)?);
        let seen = Some(contents.fingerprint());
        Ok(Self(Arc::new(Shared {
            files,
            config: ArcSwap::new(config),
            last_seen: Mutex::new_named("tls.files", LastSeen { handled: seen, checked: seen }),
        })))
    }

    /// Checks the files again and again, and uses them for new connections once they have changed; never returns.
    ///
    /// Changed files are used when two checks in a row find the same: between the two files being replaced, they do
    /// not match.
    pub async fn follow_files(&self, interval: Duration) {
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let tls = self.clone();
            // Only a panic or the end of the runtime makes it fail.
            let _ended =
                tokio::task::spawn_blocking(move || tls.check_files(ReloadPolicy::WhenStable))
                    .await;
        }
    }

    /// Checks the files now. Logs whether they have changed and can be used; unusable ones change nothing.
    pub fn reload(&self) {
        self.check_files(ReloadPolicy::Immediate);
    }

    fn check_files(&self, policy: ReloadPolicy) {
        let contents = self.0.files.read();
        let fingerprint = contents.as_ref().ok().map(FileContents::fingerprint);
        {
            let mut seen = self.0.last_seen.lock();
            let is_settled = seen.checked == fingerprint || policy == ReloadPolicy::Immediate;
            seen.checked = fingerprint;
            if seen.handled == fingerprint || !is_settled {
                return;
            }
            seen.handled = fingerprint;
        }
        let files = &self.0.files;
        let path = files.certificate.display();
        match contents.and_then(|contents| files.parse(&contents)) {
            Ok(pair) => {
                self.0.config.store(server_config(pair));
                tracing::info!(certificate = %path, "reloaded the certificate of the HTTP server");
            }
            Err(error) => {
                tracing::error!(%error, "the changed certificate is invalid; the previous one stays in use");
            }
        }
    }

    fn current(&self) -> Arc<ServerConfig> {
        self.0.config.load_full()
    }
}

/// When to use changed files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReloadPolicy {
    /// Immediately.
    Immediate,
    /// When two checks in a row find the same.
    WhenStable,
}

/// TLS 1.2 and 1.3, for HTTP/2 and HTTP/1.1.
fn server_config(pair: Arc<CertifiedKey>) -> Arc<ServerConfig> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has suites of both versions")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(pair)));
    config.alpn_protocols = vec![ALPN_HTTP2.to_vec(), ALPN_HTTP1.to_vec()];
    Arc::new(config)
}
