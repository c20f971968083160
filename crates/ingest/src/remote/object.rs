//! The format of an object of a log, which has the records of each set as they are in the journal of the set.
//!
//! ```text
//! KARSTRJL version 1, 0 x 7                 16 bytes
//! set u16, 0 x 6, length u64                16 bytes, little-endian   } for each set
//! records (`journal/record.rs`)             length                    }
//! ```
//!
//! Records have checksums of their own. An empty object seals the log.

use std::collections::BTreeMap;

use bytes::{BufMut, Bytes, BytesMut};

/// Header of every object that has records.
const HEADER: [u8; 16] = *b"KARSTRJL\x01\0\0\0\0\0\0\0";
const SECTION: usize = 16;

/// Encodes these records into the parts of an object, without copying them.
pub(crate) fn encode(sets: BTreeMap<u16, Vec<Bytes>>) -> Vec<Bytes> {
    let mut parts = vec![Bytes::from_static(&HEADER)];
    for (set, records) in sets {
        let mut header = BytesMut::with_capacity(SECTION);
        header.put_u16_le(set);
        header.put_bytes(0, 6);
        header.put_u64_le(records.iter().map(|record| record.len() as u64).sum());
        parts.push(header.freeze());
        parts.extend(records);
    }
    parts
}

/// Decodes the records of each set. Fails with a reason if it is not such an object.
pub(crate) fn decode(object: &Bytes) -> Result<Vec<(u16, Bytes)>, &'static str> {
    let mut sections = Vec::new();
    if object.is_empty() {
        return Ok(sections);
    }
    if !object.starts_with(&HEADER) {
        return Err("it does not begin as a journal object of this version");
    }
    let mut at = HEADER.len();
    while at < object.len() {
        let header = object.get(at..at + SECTION).ok_or("it ends within the header of a set")?;
        let set = u16::from_le_bytes([header[0], header[1]]);
        let length = header[8..].first_chunk().map_or(0, |length| u64::from_le_bytes(*length));
        at += SECTION;
        let end = usize::try_from(length).ok().and_then(|length| at.checked_add(length));
        let end = end.filter(|end| *end <= object.len()).ok_or("it ends within the records")?;
        sections.push((set, object.slice(at..end)));
        at = end;
    }
    Ok(sections)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn joined(parts: Vec<Bytes>) -> Bytes {
        parts.concat().into()
    }

    #[test]
    fn records_come_back_by_set_and_a_cut_object_is_refused() {
        let sets = BTreeMap::from([(0, vec!["ab".into(), "c".into()]), (3, vec!["d".into()])]);
        let object = joined(encode(sets));
        let expected = [(0, Bytes::from("abc")), (3, Bytes::from("d"))];
        assert_eq!(decode(&object).unwrap(), expected);
        let whole = |cut: usize| decode(&object.slice(..cut)).is_ok();
        let accepted: Vec<usize> = (0..object.len()).filter(|cut| whole(*cut)).collect();
        // Empty, without sets, and with the first set alone.
        assert_eq!(accepted, [0, 16, 35]);
    }
}
