//! Encodes the notes of sources in the queue: each follows the name of its source.

use bytes::Bytes;

/// Encodes a note with its route and source.
pub(crate) fn keep(route: &str, source: u64, note: &[u8]) -> Bytes {
    let mut out = prefix(route);
    out.extend_from_slice(&source.to_le_bytes());
    out.extend_from_slice(note);
    out.into()
}

fn prefix(route: &str) -> Vec<u8> {
    let route = &route.as_bytes()[..route.len().min(255)];
    let mut out = vec![u8::try_from(route.len()).unwrap_or(u8::MAX)];
    out.extend_from_slice(route);
    out
}

/// The part of an encoded note that identifies the source.
pub(crate) fn name_of(kept: &Bytes) -> Bytes {
    let length = 1 + kept.first().map_or(0, |length| usize::from(*length)) + 8;
    kept.slice(..length.min(kept.len()))
}

/// Decodes the note; `None` if it is of another route.
pub(crate) fn of(route: &str, kept: &Bytes) -> Option<Bytes> {
    let prefix = prefix(route);
    let start = prefix.len() + 8;
    (kept.starts_with(&prefix) && kept.len() >= start).then(|| kept.slice(start..))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_found_under_its_route_and_named_by_its_source() {
        let (one, two) = (keep("a", 1, b"x"), keep("a", 1, b"y"));
        assert_eq!(name_of(&one), name_of(&two));
        assert_ne!(name_of(&one), name_of(&keep("a", 2, b"x")));
        assert_eq!((of("a", &one), of("b", &one)), (Some(Bytes::from("x")), None));
    }
}
