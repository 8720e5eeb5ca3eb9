//! HTTPS: certificates from files, reloaded when they change.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use arc_swap::ArcSwap;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{ServerConfig, crypto};

/// The TLS configuration of the listeners.
pub struct ServerTls {
    files: lineside_config::TlsConfig,
    certificate: Arc<ReloadableCertificate>,
    acceptor: TlsAcceptor,
}

/// The certificate in use, replaced on reload.
#[derive(Debug)]
struct ReloadableCertificate(ArcSwap<CertifiedKey>);

impl ResolvesServerCert for ReloadableCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

impl ServerTls {
    /// Reads the certificate and the key.
    ///
    /// # Errors
    /// Returns an error if one of the files cannot be read, or if they do not match.
    pub fn new(files: lineside_config::TlsConfig) -> anyhow::Result<Self> {
        let provider = Arc::new(crypto::aws_lc_rs::default_provider());
        let certificate = Arc::new(ReloadableCertificate(ArcSwap::from_pointee(load_certificate(
            &files, &provider,
        )?)));
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .context("no TLS version is available")?
            .with_no_client_auth()
            .with_cert_resolver(certificate.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { files, certificate, acceptor: TlsAcceptor::from(Arc::new(config)) })
    }

    pub fn acceptor(&self) -> &TlsAcceptor {
        &self.acceptor
    }

    /// Hashes the contents of the files, to detect changes.
    pub fn files_fingerprint(&self) -> u64 {
        let read = |path: &PathBuf| std::fs::read(path).unwrap_or_default();
        let (cert, key) = (read(&self.files.cert), read(&self.files.key));
        xxhash_rust::xxh3::xxh3_64(&cert) ^ xxhash_rust::xxh3::xxh3_64(&key).rotate_left(1)
    }

    /// Reloads the files. New connections get the new certificate; open ones continue.
    ///
    /// # Errors
    /// Returns an error as [`new`](Self::new) does; the old certificate then stays in use.
    pub fn reload_certificate(&self) -> anyhow::Result<()> {
        let provider = crypto::aws_lc_rs::default_provider();
        self.certificate.0.store(Arc::new(load_certificate(&self.files, &provider)?));
        Ok(())
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTls").field("files", &self.files).finish_non_exhaustive()
    }
}

fn load_certificate(
    files: &lineside_config::TlsConfig,
    provider: &CryptoProvider,
) -> anyhow::Result<CertifiedKey> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(&files.cert)
        .and_then(Iterator::collect)
        .map_err(|error| unreadable_pem_error(&files.cert, "certificates", &error));
    let chain = chain?;
    if chain.is_empty() {
        anyhow::bail!("{}: expected a certificate in PEM", files.cert.display());
    }
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| unreadable_pem_error(&files.key, "a private key", &error))?;
    CertifiedKey::from_der(chain, key, provider).with_context(|| {
        let (cert, key) = (files.cert.display(), files.key.display());
        format!("the private key {key} does not match the first certificate in {cert}, or its type is not supported")
    })
}

fn unreadable_pem_error(path: &Path, what: &str, error: &impl fmt::Display) -> anyhow::Error {
    anyhow::anyhow!("{}: cannot read {what} in PEM: {error}", path.display())
}
