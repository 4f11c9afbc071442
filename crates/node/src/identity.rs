//! The node's identity: a TLS certificate, whose hash is the node ID, and a BLS key.
//!
//! Both are created once and stored in `<data folder>/staking/`, in the reference's files and formats: `staker.crt`
//! and `staker.key` (PEM, PKCS #8), `signer.key` (the 32 bytes of the BLS key). Only the owner can read them.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use blst::min_pk::SecretKey;
use esker_primitives::hash::{ripemd160, sha256};
use esker_primitives::{NodeId, Randomness, ShortId, check_secret};
use rcgen::{CertificateParams, DistinguishedName, KeyPair, KeyUsagePurpose};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use thiserror::Error;
use zeroize::Zeroizing;

/// Folder of the files, below the data folder.
pub const FOLDER: &str = "staking";
const CERTIFICATE: &str = "staker.crt";
const TLS_KEY: &str = "staker.key";
const BLS_KEY: &str = "signer.key";
/// Most bytes of a file that are read.
const MAX_FILE_BYTES: usize = 64 << 10;

/// Ciphersuite of proofs of possession: minimal public keys, hashing to G2.
const POSSESSION: &[u8] = b"BLS_POP_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_";

/// The reason why the identity can't be loaded.
#[derive(Debug, Error)]
pub enum IdentityError {
    /// A file cannot be read or written.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Every user of the machine can read a key.
    #[error("{path}: {error}")]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its mode.
        error: io::Error,
    },
    /// A file has invalid content.
    #[error("{path}: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault.
        what: String,
    },
    /// A key or certificate can't be created.
    #[error("cannot make a staking key: {0}")]
    Generate(String),
}

/// The reason why a certificate and its key can't be used.
#[derive(Debug, Error)]
enum CertificateError {
    #[error("is not a PEM certificate: {0}")]
    Certificate(#[source] rustls_pki_types::pem::Error),
    #[error("is not a PEM key: {0}")]
    Key(#[source] rcgen::Error),
    #[error("is not the key of the certificate beside it")]
    OtherKey,
}

/// A node's keys, certificate and ID.
pub struct Identity {
    certificate_pem: String,
    certificate_der: Vec<u8>,
    tls_key_pem: Zeroizing<String>,
    node_id: NodeId,
    bls: SecretKey,
    /// Computed on first use, since that takes half a millisecond.
    proof: OnceLock<[u8; 96]>,
}

impl Identity {
    /// A new identity that is not stored.
    pub fn generate(randomness: &Randomness) -> Result<Self, IdentityError> {
        let (certificate_pem, tls_key_pem) = generate_tls().map_err(generate_error)?;
        let certificate_der = certificate_der(&certificate_pem).map_err(generate_error)?;
        Ok(Self::new(certificate_pem, certificate_der, tls_key_pem, generate_bls(randomness)?))
    }

    /// The identity in the data folder. Missing files are created.
    pub fn load_or_create(data_dir: &Path, randomness: &Randomness) -> Result<Self, IdentityError> {
        let folder = data_dir.join(FOLDER);
        let (certificate_pem, tls_key_pem) = load_or_create_tls(&folder)?;
        let path = folder.join(CERTIFICATE);
        let certificate_der =
            certificate_der(&certificate_pem).map_err(|error| damaged(&path, error))?;
        check_pair(&certificate_der, &tls_key_pem)
            .map_err(|error| damaged(&folder.join(TLS_KEY), error))?;
        let bls = load_or_create_bls(&folder, randomness)?;
        Ok(Self::new(certificate_pem, certificate_der, tls_key_pem, bls))
    }

    fn new(
        certificate_pem: String,
        certificate_der: Vec<u8>,
        tls_key_pem: Zeroizing<String>,
        bls: SecretKey,
    ) -> Self {
        let node_id = NodeId(ShortId::new(ripemd160(&sha256(&certificate_der))));
        let proof = OnceLock::new();
        Self { certificate_pem, certificate_der, tls_key_pem, node_id, bls, proof }
    }

    /// The node ID: `ripemd160(sha256(certificate))`.
    pub fn node_id(&self) -> NodeId {
        self.node_id
    }

    /// The certificate, DER.
    pub fn certificate_der(&self) -> &[u8] {
        &self.certificate_der
    }

    /// The certificate, PEM.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// The certificate's private key, PEM.
    pub fn tls_key_pem(&self) -> &str {
        &self.tls_key_pem
    }

    /// The BLS public key, compressed.
    pub fn bls_public_key(&self) -> [u8; 48] {
        self.bls.sk_to_pk().compress()
    }

    /// The BLS key's signature of its own public key, compressed.
    pub fn proof_of_possession(&self) -> [u8; 96] {
        *self
            .proof
            .get_or_init(|| self.bls.sign(&self.bls_public_key(), POSSESSION, &[]).compress())
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("node_id", &self.node_id).finish_non_exhaustive()
    }
}

fn load_or_create_tls(folder: &Path) -> Result<(String, Zeroizing<String>), IdentityError> {
    let (certificate_path, key_path) = (folder.join(CERTIFICATE), folder.join(TLS_KEY));
    match (read(&certificate_path)?, read_key(&key_path)?) {
        (Some(certificate), Some(key)) => {
            let key = text(&key_path, key.to_vec())?;
            Ok((text(&certificate_path, certificate.to_vec())?, Zeroizing::new(key)))
        }
        // A new certificate for an existing key would make another node. Only the user may do that.
        (Some(_), None) => Err(damaged(&key_path, "is missing, and its certificate is there")),
        (None, Some(_)) => Err(damaged(&certificate_path, "is missing, and its key is there")),
        (None, None) => {
            let (certificate, key) = generate_tls().map_err(generate_error)?;
            // The key first: a certificate without its key is useless.
            write(folder, &key_path, key.as_bytes())?;
            write(folder, &certificate_path, certificate.as_bytes())?;
            Ok((certificate, key))
        }
    }
}

fn load_or_create_bls(folder: &Path, randomness: &Randomness) -> Result<SecretKey, IdentityError> {
    let path = folder.join(BLS_KEY);
    match read_key(&path)? {
        Some(bytes) => SecretKey::from_bytes(&bytes)
            .map_err(|error| damaged(&path, format!("is not a BLS key of 32 bytes: {error:?}"))),
        None => {
            let key = generate_bls(randomness)?;
            write(folder, &path, Zeroizing::new(key.to_bytes()).as_slice())?;
            Ok(key)
        }
    }
}

fn generate_tls() -> Result<(String, Zeroizing<String>), rcgen::Error> {
    // P-256 takes well under a millisecond; an RSA key takes long.
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.not_before = rcgen::date_time_ymd(2000, 1, 1);
    params.not_after = rcgen::date_time_ymd(2125, 1, 1);
    let certificate = params.self_signed(&key)?;
    Ok((certificate.pem(), Zeroizing::new(key.serialize_pem())))
}

fn generate_bls(randomness: &Randomness) -> Result<SecretKey, IdentityError> {
    let mut seed = Zeroizing::new([0; 32]);
    randomness(seed.as_mut_slice());
    SecretKey::key_gen(seed.as_slice(), &[])
        .map_err(|error| IdentityError::Generate(format!("{error:?}")))
}

fn certificate_der(pem: &str) -> Result<Vec<u8>, CertificateError> {
    let der = CertificateDer::from_pem_slice(pem.as_bytes());
    der.map(|der| der.to_vec()).map_err(CertificateError::Certificate)
}

/// Checks that the key is readable and that the certificate has its public key.
fn check_pair(certificate_der: &[u8], key_pem: &str) -> Result<(), CertificateError> {
    let key = KeyPair::from_pem(key_pem).map_err(CertificateError::Key)?;
    let public = key.public_key_raw();
    if certificate_der.windows(public.len()).any(|window| window == public) {
        Ok(())
    } else {
        Err(CertificateError::OtherKey)
    }
}

/// The content of a file, if it exists.
fn read(path: &Path) -> Result<Option<Zeroizing<Vec<u8>>>, IdentityError> {
    open(path)?.map(|file| content(path, file)).transpose()
}

/// The content of a file with a key, if it exists. A file that every user of the machine can read is refused.
fn read_key(path: &Path) -> Result<Option<Zeroizing<Vec<u8>>>, IdentityError> {
    let Some(file) = open(path)? else { return Ok(None) };
    check_secret(&file).map_err(|error| IdentityError::Exposed { path: path.to_owned(), error })?;
    content(path, file).map(Some)
}

fn open(path: &Path) -> Result<Option<File>, IdentityError> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(IdentityError::Io { path: path.to_owned(), error }),
    }
}

fn content(path: &Path, file: File) -> Result<Zeroizing<Vec<u8>>, IdentityError> {
    // None of these files is longer. Because the buffer does not grow, no part of a key stays in memory.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_FILE_BYTES));
    let read = file.take(MAX_FILE_BYTES as u64).read_to_end(&mut bytes);
    read.map_err(|error| IdentityError::Io { path: path.to_owned(), error })?;
    Ok(bytes)
}

/// Writes a file atomically; only its owner can read it.
fn write(folder: &Path, path: &Path, bytes: &[u8]) -> Result<(), IdentityError> {
    let io = |error| IdentityError::Io { path: path.to_owned(), error };
    fs::create_dir_all(folder).map_err(io)?;
    let unfinished = path.with_extension("unfinished");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&unfinished).map_err(io)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(io)?;
    fs::rename(&unfinished, path).map_err(io)
}

fn text(path: &Path, bytes: Vec<u8>) -> Result<String, IdentityError> {
    String::from_utf8(bytes).map_err(|_| damaged(path, "is not text"))
}

fn damaged(path: &Path, what: impl ToString) -> IdentityError {
    IdentityError::Damaged { path: path.to_owned(), what: what.to_string() }
}

fn generate_error(error: impl fmt::Display) -> IdentityError {
    IdentityError::Generate(error.to_string())
}

#[cfg(test)]
mod tests {
    use blst::BLST_ERROR;
    use blst::min_pk::{PublicKey, Signature};

    use super::*;
    use crate::environment::Environment;

    #[test]
    fn keys_for_everyone_are_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let load = || Identity::load_or_create(folder.path(), &Environment::system().randomness);
        let id = load().unwrap().node_id();
        for name in [TLS_KEY, BLS_KEY] {
            let path = folder.path().join(FOLDER).join(name);
            let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            for mode in [0o644, 0o604, 0o666] {
                set(mode);
                let error = load().unwrap_err();
                assert!(matches!(error, IdentityError::Exposed { .. }), "{error:?}");
                let text = error.to_string();
                assert!(text.contains(name) && text.contains("give it mode 0600"), "{text}");
            }
            for mode in [0o640, 0o600] {
                set(mode);
                assert_eq!(load().unwrap().node_id(), id, "{mode:o}");
            }
        }
        // The certificate is not secret.
        let certificate = folder.path().join(FOLDER).join(CERTIFICATE);
        fs::set_permissions(certificate, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(load().unwrap().node_id(), id);
    }

    #[test]
    fn is_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let first =
            Identity::load_or_create(folder.path(), &Environment::system().randomness).unwrap();
        let second =
            Identity::load_or_create(folder.path(), &Environment::system().randomness).unwrap();
        assert_eq!(first.node_id(), second.node_id());
        assert_eq!(first.bls_public_key(), second.bls_public_key());
        assert_eq!(first.proof_of_possession(), second.proof_of_possession());
        let other = Identity::generate(&Environment::system().randomness).unwrap();
        assert_ne!(first.node_id(), other.node_id());
        assert_ne!(first.bls_public_key(), other.bls_public_key());
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_reads_the_files() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        Identity::load_or_create(folder.path(), &Environment::system().randomness).unwrap();
        let files: Vec<_> =
            fs::read_dir(folder.path().join(FOLDER)).unwrap().map(Result::unwrap).collect();
        assert_eq!(files.len(), 3, "{files:?}");
        for file in files {
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
        }
    }

    #[test]
    fn the_name_is_the_hash_of_the_certificate() {
        let identity = Identity::generate(&Environment::system().randomness).unwrap();
        let hash = ripemd160(&sha256(identity.certificate_der()));
        assert_eq!(identity.node_id(), NodeId(ShortId::new(hash)));
        assert!(identity.node_id().to_string().starts_with("NodeID-"));
        assert_eq!(
            certificate_der(identity.certificate_pem()).unwrap(),
            identity.certificate_der()
        );
        check_pair(identity.certificate_der(), identity.tls_key_pem()).unwrap();
    }

    #[test]
    fn the_proof_proves_possession() {
        let identity = Identity::generate(&Environment::system().randomness).unwrap();
        let public = identity.bls_public_key();
        let key = PublicKey::key_validate(&public).unwrap();
        let proof = Signature::sig_validate(&identity.proof_of_possession(), true).unwrap();
        let verify =
            |message: &[u8], suite: &[u8]| proof.verify(true, message, suite, &[], &key, true);
        assert_eq!(verify(&public, POSSESSION), BLST_ERROR::BLST_SUCCESS);
        assert_ne!(verify(b"else", POSSESSION), BLST_ERROR::BLST_SUCCESS);
        let signing = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_";
        assert_ne!(verify(&public, signing), BLST_ERROR::BLST_SUCCESS);
    }

    #[test]
    fn damaged_files_are_reported_and_kept() {
        let check = |damage: &dyn Fn(&Path), want: &str| {
            let folder = tempfile::tempdir().unwrap();
            Identity::load_or_create(folder.path(), &Environment::system().randomness).unwrap();
            damage(&folder.path().join(FOLDER));
            let error = Identity::load_or_create(folder.path(), &Environment::system().randomness)
                .unwrap_err()
                .to_string();
            assert!(error.contains(want), "{error}");
        };
        let overwrite = |file: &'static str, text: &'static str| {
            move |folder: &Path| fs::write(folder.join(file), text).unwrap()
        };
        check(&overwrite(CERTIFICATE, "x"), "staker.crt: is not a PEM certificate");
        check(&overwrite(TLS_KEY, "x"), "staker.key: is not a PEM key");
        check(&overwrite(BLS_KEY, "x"), "signer.key: is not a BLS key of 32 bytes");
        check(&|folder| fs::remove_file(folder.join(TLS_KEY)).unwrap(), "staker.key: is missing");
        check(
            &|folder| fs::remove_file(folder.join(CERTIFICATE)).unwrap(),
            "staker.crt: is missing",
        );
        let foreign = |folder: &Path| {
            let key = KeyPair::generate().unwrap().serialize_pem();
            fs::write(folder.join(TLS_KEY), key).unwrap();
        };
        check(&foreign, "staker.key: is not the key of the certificate");
    }

    #[test]
    fn a_missing_bls_key_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let first =
            Identity::load_or_create(folder.path(), &Environment::system().randomness).unwrap();
        fs::remove_file(folder.path().join(FOLDER).join(BLS_KEY)).unwrap();
        let second =
            Identity::load_or_create(folder.path(), &Environment::system().randomness).unwrap();
        assert_eq!(first.node_id(), second.node_id());
        assert_ne!(first.bls_public_key(), second.bls_public_key());
    }
}
