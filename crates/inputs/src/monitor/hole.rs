//! Holes: runs of NULs that are not text. A writer that does not append leaves one at the start of a file
//! that was truncated (copytruncate); a crash leaves blocks that were not written.

use std::fs::File;
use std::io;

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use super::tail::read_at;

/// NULs from which a run is skipped. Shorter runs are handed over as part of the text around them.
const HOLE: usize = 4 << 10;
/// Bytes read at once.
const BLOCK: usize = 1 << 20;

/// Returns the bytes of data before its first hole, or before the NULs at its end, which may begin one.
pub(crate) fn text_length(data: &[u8]) -> usize {
    let mut from = 0;
    while let Some(found) = memchr::memchr(0, &data[from..]) {
        let start = from + found;
        let run = data[start..].iter().take_while(|byte| **byte == 0).count();
        if run >= HOLE || start + run == data.len() {
            return start;
        }
        from = start + run;
    }
    data.len()
}

/// Returns the first position from another one on whose byte is not NUL; `None` if there is none, or none
/// before `most` NULs were read. NULs that take no space on the disk are not read if the file system says
/// where they are.
pub(crate) fn next_data(file: &File, from: u64, most: u64) -> io::Result<Option<u64>> {
    let (mut at, mut read) = (from, 0);
    while read < most {
        at = match rustix::fs::seek(file, SeekFrom::Data(at)) {
            Ok(data) => data.max(at),
            Err(Errno::NXIO) => return Ok(None),
            Err(_) => at,
        };
        let block = read_at(file, at, BLOCK)?;
        if let Some(found) = block.iter().position(|byte| *byte != 0) {
            return Ok(Some(at + found as u64));
        }
        if block.len() < BLOCK {
            return Ok(None);
        }
        at += BLOCK as u64;
        read += BLOCK as u64;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::{Seek, Write};

    use super::*;

    #[test]
    fn text_ends_at_a_hole_and_not_at_a_few_nuls() {
        let hole = vec![0; HOLE];
        for (data, expected) in [
            (b"".to_vec(), 0),
            (b"a\n".to_vec(), 2),
            (b"a\n\0\0b\n".to_vec(), 6),
            (b"a\n\0\0".to_vec(), 2),
            (b"\0\0".to_vec(), 0),
            ([&b"a\0b\n"[..], &hole[..], &b"c\n"[..]].concat(), 4),
            ([&hole[..], &b"c\n"[..]].concat(), 0),
            ([&b"a"[..], &hole[1..], &b"c\n"[..]].concat(), HOLE + 2),
        ] {
            assert_eq!(text_length(&data), expected, "{}", data.len());
        }
    }

    #[test]
    fn the_data_behind_a_hole_is_found() {
        let mut file = tempfile::tempfile().unwrap();
        let nuls = vec![0; 2 * BLOCK];
        file.write_all(b"a").unwrap();
        file.write_all(&nuls).unwrap();
        file.write_all(b"b").unwrap();
        file.seek(io::SeekFrom::Current(1 << 30)).unwrap();
        file.write_all(b"c").unwrap();
        let b = 2 * BLOCK as u64 + 1;
        let c = b + 1 + (1 << 30);
        let next = |from| next_data(&file, from, u64::MAX).unwrap();
        assert_eq!([0, 1, b, b + 1, c].map(next), [Some(0), Some(b), Some(b), Some(c), Some(c)]);
        assert_eq!([c + 1, c + 9].map(next), [None, None]);
    }
}
