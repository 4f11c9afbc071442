//! Whether the HTTP server has TLS.

use esker_http::CertificateFiles;

use super::value::Switch;
use super::{Config, ConfigError, Settings};

const CERT_FILE: &str = "http-tls-cert-file";
const KEY_FILE: &str = "http-tls-key-file";

impl Config {
    /// The files of the HTTP server's certificate; `None`: it has no TLS.
    pub fn tls_files(&self) -> Option<CertificateFiles> {
        files(&self.settings)
    }
}

/// The files of the certificate; `None` without TLS.
pub(super) fn files(settings: &Settings) -> Option<CertificateFiles> {
    let files = CertificateFiles {
        certificate: settings.http_tls_cert_file.clone()?,
        key: settings.http_tls_key_file.clone()?,
    };
    (settings.http_tls_enabled != Switch::Off).then_some(files)
}

/// Refuses TLS without one of the files.
pub(super) fn check(settings: &Settings) -> Result<(), ConfigError> {
    let files =
        [(CERT_FILE, &settings.http_tls_cert_file), (KEY_FILE, &settings.http_tls_key_file)];
    let missing: Vec<_> =
        files.iter().filter(|(_, file)| file.is_none()).map(|(name, _)| *name).collect();
    let text = match (settings.http_tls_enabled, &*missing) {
        (Switch::Off, _) | (_, []) | (Switch::Auto, [_, _, ..]) => return Ok(()),
        (Switch::Auto, [missing]) => {
            format!("{missing} is missing: set both {CERT_FILE} and {KEY_FILE}, or neither")
        }
        (Switch::On, [missing]) => {
            format!("http-tls-enabled is true, and {missing} is missing")
        }
        (Switch::On, missing) => {
            format!("http-tls-enabled is true, and {} are missing", missing.join(" and "))
        }
    };
    Err(ConfigError::Conflict(text))
}
