//! The socket of UDP inputs: the size of its receive buffer, and the datagrams that the kernel dropped.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU32, Ordering};

use socket2::SockRef;
use tokio::net::UdpSocket;

/// A socket, which outlives changes of its input.
#[derive(Debug)]
pub(crate) struct UdpPort {
    socket: UdpSocket,
    /// Dropped datagrams that have been counted.
    counted: AtomicU32,
}

impl UdpPort {
    pub(crate) fn new(socket: UdpSocket) -> Self {
        Self { socket, counted: AtomicU32::new(0) }
    }

    /// Takes an address. Datagrams wait in a receive buffer of that many bytes, or as many as the system
    /// gives.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub(crate) async fn bind(address: SocketAddr, receive_buffer: usize) -> io::Result<Self> {
        let port = Self::new(UdpSocket::bind(address).await?);
        // The input sets it again, and logs a smaller one.
        let _ = port.set_receive_buffer(receive_buffer);
        Ok(port)
    }

    pub(crate) fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Sets the size of the receive buffer, unless it is 0. Returns the bytes that the system gives.
    ///
    /// # Errors
    /// The system refuses the size.
    pub(crate) fn set_receive_buffer(&self, bytes: usize) -> io::Result<usize> {
        let socket = SockRef::from(&self.socket);
        if bytes > 0 {
            socket.set_recv_buffer_size(bytes)?;
        }
        let given = socket.recv_buffer_size()?;
        // Linux doubles what is asked for, for its own data of each datagram.
        Ok(if cfg!(target_os = "linux") { given / 2 } else { given })
    }

    /// Returns how many datagrams the kernel has dropped since the last call; `None` if it does not tell.
    pub(crate) async fn newly_dropped(&self) -> Option<u32> {
        let dropped = self.dropped().await?;
        Some(dropped.wrapping_sub(self.counted.swap(dropped, Ordering::Relaxed)))
    }

    /// Returns how many datagrams the kernel has dropped since the socket was opened, modulo 2^32.
    async fn dropped(&self) -> Option<u32> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let table = if self.local_addr().ok()?.is_ipv4() { "udp" } else { "udp6" };
        let copy = self.socket.as_fd().try_clone_to_owned().ok()?;
        let inode = File::from(copy).metadata().ok()?.ino();
        let table = tokio::fs::read_to_string(format!("/proc/net/{table}")).await.ok()?;
        drops_of(&table, inode)
    }
}

/// The last column of the line of a socket in `/proc/net/udp` or `/proc/net/udp6`.
fn drops_of(table: &str, inode: u64) -> Option<u32> {
    let inode = inode.to_string();
    let line = table
        .lines()
        .skip(1)
        .find(|line| line.split_whitespace().nth(9) == Some(inode.as_str()))?;
    line.split_whitespace().nth(12)?.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_drops_of_a_socket_are_found_by_its_inode() {
        let table = "\
  sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode ref pointer drops
  372: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000 101 0 19204 2 0000000000000000 0
 1203: 00000000:0202 00000000:0000 07 00000000:00033400 00:00000000 00000000   0 0 77120 2 0000000000000000 47
";
        assert_eq!(drops_of(table, 77_120), Some(47));
        assert_eq!(drops_of(table, 19_204), Some(0));
        assert_eq!(drops_of(table, 7_712), None);
        assert_eq!(drops_of("", 19_204), None);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn dropped_datagrams_are_counted_once() {
        let port = UdpPort::bind("127.0.0.1:0".parse().unwrap(), 4_096).await.unwrap();
        let sender = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..200 {
            sender.send_to(&[b'x'; 1_000], port.local_addr().unwrap()).unwrap();
        }
        let (mut kept, mut dropped) = (0, 0);
        let mut buffer = [0; 2_000];
        while kept + dropped < 200 {
            dropped += port.newly_dropped().await.unwrap();
            while port.socket().try_recv_from(&mut buffer).is_ok() {
                kept += 1;
            }
        }
        assert!(kept > 0 && dropped > 0, "{kept} {dropped}");
        assert_eq!(port.newly_dropped().await, Some(0));
    }

    #[tokio::test]
    async fn a_receive_buffer_of_zero_is_that_of_the_system() {
        let address = "127.0.0.1:0".parse().unwrap();
        let usual = UdpPort::bind(address, 0).await.unwrap().set_receive_buffer(0).unwrap();
        let port = UdpPort::bind(address, 16 << 10).await.unwrap();
        assert_eq!(port.set_receive_buffer(0).unwrap(), 16 << 10);
        assert!(usual > 16 << 10, "{usual}");
    }
}
