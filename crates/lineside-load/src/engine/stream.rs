//! A nonblocking connection, plain or with TLS.

use std::io::{self, Read as _, Write as _};
use std::sync::Arc;

use mio::net::TcpStream;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use rustls_platform_verifier::BuilderVerifierExt as _;

use crate::LoadTestError;

pub(crate) enum SocketStream {
    Plain(TcpStream),
    Tls(Box<TlsStream>),
}

pub(crate) struct TlsStream {
    socket: TcpStream,
    connection: ClientConnection,
}

/// The TLS settings of all connections.
#[derive(Clone)]
pub(crate) struct TlsClient {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsClient {
    /// Creates a client that trusts the machine's certificates, and those in `SSL_CERT_FILE`.
    pub(crate) fn tls_client_for_host(host: &str) -> Result<Self, LoadTestError> {
        let broken = |error: rustls::Error| {
            LoadTestError::Unreachable(format!(
                "TLS cannot be set up: {error}; set SSL_CERT_FILE to a file with trusted \
                certificates"
            ))
        };
        let builder = ClientConfig::builder().with_platform_verifier().map_err(broken)?;
        let mut config = builder.with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // Every session simulates a different client, so none resumes a TLS session.
        config.resumption = rustls::client::Resumption::disabled();
        let name = ServerName::try_from(host.to_owned()).map_err(|error| {
            LoadTestError::Usage(format!("{host} is not a valid name for a certificate: {error}"))
        })?;
        Ok(Self { config: Arc::new(config), name })
    }

    pub(crate) fn new_connection(&self) -> Result<ClientConnection, rustls::Error> {
        ClientConnection::new(Arc::clone(&self.config), self.name.clone())
    }
}

impl SocketStream {
    pub(crate) fn new(socket: TcpStream, tls: Option<&TlsClient>) -> Result<Self, rustls::Error> {
        Ok(match tls {
            None => Self::Plain(socket),
            Some(tls) => {
                Self::Tls(Box::new(TlsStream { socket, connection: tls.new_connection()? }))
            }
        })
    }

    pub(crate) fn tcp_socket(&mut self) -> &mut TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(encrypted) => &mut encrypted.socket,
        }
    }

    /// Reads bytes and returns their number; 0 at the end of the connection.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(into),
            Self::Tls(encrypted) => encrypted.read(into),
        }
    }

    /// Returns true if a short read shows that the socket is empty, which saves the next read.
    pub(crate) fn did_read_drain_socket(&self, read: usize, requested: usize) -> bool {
        matches!(self, Self::Plain(_)) && read < requested
    }

    /// Writes bytes and returns the number accepted.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Tls(encrypted) => {
                let taken = encrypted.connection.writer().write(bytes)?;
                encrypted.flush()?;
                Ok(taken)
            }
        }
    }

    /// Writes the pending bytes of TLS.
    pub(crate) fn flush_tls(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Tls(encrypted) => encrypted.flush(),
        }
    }
}

impl TlsStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
            if self.connection.read_tls(&mut self.socket)? == 0 {
                return Ok(0);
            }
            self.connection.process_new_packets().map_err(io::Error::other)?;
            self.flush()?;
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut self.socket) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                other => other?,
            };
        }
        Ok(())
    }
}
