//! HTTP requests over a persistent connection, as far as these measurements need them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::ensure;

/// The timeout of an answer.
const ANSWER_MAX: Duration = Duration::from_secs(10);

pub(crate) fn connect(port: u16) -> anyhow::Result<TcpStream> {
    let socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(ANSWER_MAX))?;
    Ok(socket)
}

/// Sends a request, and returns the body of its answer.
pub(crate) fn get(
    connection: &mut BufReader<TcpStream>,
    path: &str,
    headers: &str,
) -> anyhow::Result<Vec<u8>> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n");
    connection.get_mut().write_all(request.as_bytes())?;
    let status = line(connection)?;
    ensure!(status.split(' ').nth(1) == Some("200"), "{path}: {status}");
    let (mut length, mut is_chunked) = (0, false);
    loop {
        let header = line(connection)?.to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
        is_chunked |= header.starts_with("transfer-encoding:") && header.ends_with("chunked");
    }
    let mut body = Vec::new();
    while is_chunked {
        let size = usize::from_str_radix(&line(connection)?, 16)?;
        take(connection, size, &mut body)?;
        ensure!(line(connection)?.is_empty(), "{path}: a chunk does not end");
        is_chunked = size > 0;
    }
    take(connection, length, &mut body)?;
    Ok(body)
}

/// Returns the lines of an answer's head, with names in lower case.
pub(crate) fn head(
    connection: &mut BufReader<TcpStream>,
    path: &str,
) -> anyhow::Result<Vec<String>> {
    let request = format!("HEAD {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    connection.get_mut().write_all(request.as_bytes())?;
    let mut lines = Vec::new();
    loop {
        let line = line(connection)?;
        if line.is_empty() {
            return Ok(lines);
        }
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        lines.push(name.clone() + &line[name.len()..]);
    }
}

fn line(connection: &mut BufReader<TcpStream>) -> anyhow::Result<String> {
    let mut line = String::new();
    let read = connection.read_line(&mut line)?;
    ensure!(read > 0, "the server ended the connection");
    Ok(line.trim_end().to_owned())
}

fn take(
    connection: &mut BufReader<TcpStream>,
    length: usize,
    into: &mut Vec<u8>,
) -> anyhow::Result<()> {
    let begin = into.len();
    into.resize(begin + length, 0);
    Ok(connection.read_exact(&mut into[begin..])?)
}
