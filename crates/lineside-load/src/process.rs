//! Kernel data about processes on this machine: listeners, memory and CPU.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

/// A process whose usage can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessHandle(u32);

/// The usage of a process at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessUsage {
    /// CPU of all its threads since its start, in nanoseconds.
    pub cpu_nanos: u64,
    /// Resident memory, in bytes.
    pub resident_bytes: u64,
    /// Peak resident memory, in bytes.
    pub resident_bytes_peak: u64,
}

impl ProcessHandle {
    pub(crate) fn from_id(id: u32) -> Self {
        Self(id)
    }

    pub(crate) fn this_process() -> Self {
        Self(std::process::id())
    }

    /// Finds the process that listens on the address, if it is on this machine and accessible.
    pub(crate) fn find_listening_process(address: SocketAddr) -> Option<Self> {
        // Only an address of this machine can be bound; for any other one the local listener on that port is a
        // different server.
        UdpSocket::bind((address.ip(), 0)).ok()?;
        let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
        let inode = tables.iter().find_map(|table| {
            let table = fs::read_to_string(table).ok()?;
            table
                .lines()
                .skip(1)
                .find_map(|line| parse_listener_inode(line, address).map(str::to_owned))
        })?;
        let socket = format!("socket:[{inode}]");
        let ids = fs::read_dir("/proc").ok()?.flatten();
        let mut ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.find(|id| does_process_hold_socket(*id, &socket)).map(Self)
    }

    pub(crate) fn process_id(self) -> u32 {
        self.0
    }

    /// Returns the current usage; `None` if the process has ended, or without /proc.
    pub(crate) fn read_usage(self) -> Option<ProcessUsage> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0)).ok()?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
        };
        Some(ProcessUsage {
            cpu_nanos: self.read_cpu_nanos()?,
            resident_bytes: field("VmRSS:")?,
            resident_bytes_peak: field("VmHWM:")?,
        })
    }

    /// Returns the CPU time, including ended threads, in nanoseconds.
    #[cfg(target_os = "linux")]
    fn read_cpu_nanos(self) -> Option<u64> {
        let id = nix::unistd::Pid::from_raw(i32::try_from(self.0).ok()?);
        let time = nix::time::clock_getcpuclockid(id).ok()?.now().ok()?;
        let (seconds, nanos) = (u64::try_from(time.tv_sec()), u64::try_from(time.tv_nsec()));
        Some(seconds.ok()? * crate::clock::SECOND + nanos.ok()?)
    }

    #[cfg(not(target_os = "linux"))]
    fn read_cpu_nanos(self) -> Option<u64> {
        None
    }
}

/// Returns the inode in a line of /proc/net/tcp that describes a listener on the address.
fn parse_listener_inode(line: &str, address: SocketAddr) -> Option<&str> {
    const LISTENING: &str = "0A";
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (ip, port) = fields.get(1)?.split_once(':')?;
    let is_there = fields.get(3) == Some(&LISTENING)
        && u16::from_str_radix(port, 16) == Ok(address.port())
        && (ip.bytes().all(|digit| digit == b'0')
            || ip == format_address_as_proc_hex(address.ip()));
    is_there.then(|| fields.get(9).copied()).flatten()
}

/// Formats an address like the kernel: each 32-bit word in native byte order.
fn format_address_as_proc_hex(ip: IpAddr) -> String {
    let octets = match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let words = octets.chunks_exact(4).map(|word| [word[0], word[1], word[2], word[3]]);
    words.map(|word| format!("{:08X}", u32::from_ne_bytes(word))).collect()
}

fn does_process_hold_socket(id: u32, socket: &str) -> bool {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{id}/fd")) else { return false };
    let mut targets = descriptors.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    targets.any(|target| target.as_os_str() == socket)
}

/// Raises the descriptor limit of this process to the hard limit, and returns it.
pub(crate) fn raise_descriptor_limit() -> io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_err() {
        return Ok(soft);
    }
    Ok(hard)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_process_that_listens_on_a_port_is_found() {
        for ip in ["127.0.0.1", "127.0.0.9", "0.0.0.0"] {
            let listener = TcpListener::bind((ip, 0)).expect("a free port");
            let mut address = listener.local_addr().expect("an address");
            assert_eq!(
                ProcessHandle::find_listening_process(address),
                Some(ProcessHandle::this_process()),
                "{ip}"
            );
            address.set_ip("127.0.0.1".parse().expect("an address"));
            let elsewhere = ip == "127.0.0.9";
            assert_eq!(ProcessHandle::find_listening_process(address).is_none(), elsewhere, "{ip}");
            // An address for documentation (RFC 5737), which no machine has.
            address.set_ip("192.0.2.1".parse().expect("an address"));
            assert_eq!(ProcessHandle::find_listening_process(address), None, "{ip}");
        }
    }

    #[test]
    fn the_resource_usage_of_a_process_is_read() {
        let before = ProcessHandle::this_process().read_usage().expect("own figures");
        let mut sum = 0_u64;
        while ProcessHandle::this_process().read_usage().expect("own figures").cpu_nanos
            < before.cpu_nanos + 5_000_000
        {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(before.resident_bytes > 100_000, "{before:?}");
        assert!(before.resident_bytes_peak >= before.resident_bytes);
        assert_eq!(ProcessHandle::from_id(u32::MAX).read_usage(), None);
    }

    #[test]
    fn the_descriptor_limit_can_be_raised() {
        assert!(raise_descriptor_limit().expect("a limit") >= 64);
    }
}
