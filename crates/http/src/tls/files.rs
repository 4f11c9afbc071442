//! The files of a certificate: its chain, and its key.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use esker_primitives::{open_secret, read_at_most, read_bounded};
use rustls::crypto::ring::default_provider;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;
use zeroize::Zeroizing;

/// Largest file of a certificate or a key, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// The files of a certificate and its key, both in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate of this server, then those of its issuers.
    pub certificate: PathBuf,
    /// The key: PKCS#8, SEC1 or PKCS#1, not encrypted.
    pub key: PathBuf,
}

/// The reason why a certificate can't be used.
#[derive(Debug, Error)]
pub enum CertificateError {
    /// A file can't be read.
    #[error("can't read {what} {}: {error}", path.display())]
    Read {
        /// The expected content of the file.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// No certificate in the file.
    #[error(
        "{} holds no certificate: expected PEM text with -----BEGIN CERTIFICATE-----, the server's own first, then those of its issuers",
        .0.display()
    )]
    NoCertificate(PathBuf),
    /// The certificate is damaged or of a form that is not supported.
    #[error("the certificate in {} is damaged: {reason}", path.display())]
    DamagedCertificate {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// No key in the file.
    #[error(
        "{} holds no private key: expected PEM text with -----BEGIN PRIVATE KEY-----, EC PRIVATE KEY or RSA PRIVATE KEY",
        .0.display()
    )]
    NoKey(PathBuf),
    /// The key needs a passphrase.
    #[error(
        "the private key in {} is encrypted: decrypt it first, for example with openssl pkey -in FILE -out KEY",
        .0.display()
    )]
    EncryptedKey(PathBuf),
    /// The key is damaged or of a kind that is not supported.
    #[error("the private key in {} can't be used: expected ECDSA (P-256, P-384), Ed25519 or RSA of 2048 to 8192 bits", .0.display())]
    UnsupportedKey(PathBuf),
    /// Key and certificate belong to different pairs.
    #[error("the private key in {} is not the key of the certificate in {}", key.display(), certificate.display())]
    Mismatch {
        /// The file of the key.
        key: PathBuf,
        /// The file of the certificate.
        certificate: PathBuf,
    },
}

/// The unchecked contents of the files.
pub(super) struct FileContents {
    certificate: Vec<u8>,
    key: Zeroizing<Vec<u8>>,
}

impl CertificateFiles {
    pub(super) fn read(&self) -> Result<FileContents, CertificateError> {
        Ok(FileContents {
            certificate: read_bounded(&self.certificate, MAX_FILE)
                .map_err(|error| unreadable(&self.certificate, "the certificate", error))?,
            key: open_secret(&self.key)
                .and_then(|file| read_at_most(&file, MAX_FILE))
                .map(Zeroizing::new)
                .map_err(|error| unreadable(&self.key, "the private key", error))?,
        })
    }

    /// Checks that the files hold a certificate and its key.
    pub(super) fn parse(
        &self,
        contents: &FileContents,
    ) -> Result<Arc<CertifiedKey>, CertificateError> {
        let chain = chain(&self.certificate, &contents.certificate)?;
        let key = key(&self.key, &contents.key)?;
        let unsupported = |_| CertificateError::UnsupportedKey(self.key.clone());
        let key = default_provider().key_provider.load_private_key(key).map_err(unsupported)?;
        let pair = CertifiedKey::new(chain, key);
        match pair.keys_match() {
            Ok(()) => Ok(Arc::new(pair)),
            Err(rustls::Error::InconsistentKeys(_)) => Err(CertificateError::Mismatch {
                key: self.key.clone(),
                certificate: self.certificate.clone(),
            }),
            Err(error) => Err(damaged(&self.certificate, &error)),
        }
    }
}

impl FileContents {
    /// A fingerprint, which is equal for equal contents.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.certificate, &*self.key).hash(&mut hasher);
        hasher.finish()
    }
}

fn unreadable(path: &Path, what: &'static str, error: io::Error) -> CertificateError {
    CertificateError::Read { what, path: path.to_owned(), error }
}

fn chain(path: &Path, bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let parsed: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(bytes).collect();
    let chain = parsed.map_err(|error| damaged(path, &error))?;
    if chain.is_empty() {
        return Err(CertificateError::NoCertificate(path.to_owned()));
    }
    Ok(chain)
}

fn damaged(path: &Path, error: &dyn std::fmt::Display) -> CertificateError {
    CertificateError::DamagedCertificate { path: path.to_owned(), reason: error.to_string() }
}

fn key(path: &Path, bytes: &[u8]) -> Result<PrivateKeyDer<'static>, CertificateError> {
    match PrivateKeyDer::from_pem_slice(bytes) {
        Ok(key) => Ok(key),
        Err(pem::Error::NoItemsFound) if is_encrypted(bytes) => {
            Err(CertificateError::EncryptedKey(path.to_owned()))
        }
        Err(pem::Error::NoItemsFound) => Err(CertificateError::NoKey(path.to_owned())),
        Err(_) => Err(CertificateError::UnsupportedKey(path.to_owned())),
    }
}

/// Whether the file has the encrypted form of PKCS#8.
fn is_encrypted(bytes: &[u8]) -> bool {
    const MARK: &[u8] = b"-----BEGIN ENCRYPTED PRIVATE KEY-----";
    bytes.windows(MARK.len()).any(|window| window == MARK)
}
