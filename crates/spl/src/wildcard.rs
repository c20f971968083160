//! Matching of field names against patterns with `*`.
//!
//! Guarantees: time is bounded by pattern length times name length; no recursion.

/// Returns the text that each `*` of `pattern` matches in `name`; `None` if `name` does not match.
///
/// Each `*` except the last one matches as little as possible, as in Splunk's `rename`.
pub(crate) fn captures<'n>(pattern: &str, name: &'n str) -> Option<Vec<&'n str>> {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let rest: Vec<&str> = pieces.collect();
    let Some((last, middle)) = rest.split_last() else {
        return (pattern == name).then(Vec::new);
    };
    let mut left = name.strip_prefix(first)?;
    let mut taken = Vec::with_capacity(rest.len());
    for piece in middle {
        let at = left.find(piece)?;
        taken.push(&left[..at]);
        left = &left[at + piece.len()..];
    }
    taken.push(left.strip_suffix(last)?);
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::captures;

    #[test]
    fn wildcards_capture_what_they_stand_for() {
        assert_eq!(captures("a*", "abc"), Some(vec!["bc"]));
        assert_eq!(captures("*.b.*", "x.b.y.b.z"), Some(vec!["x", "y.b.z"]));
        assert_eq!(captures("abc", "abc"), Some(vec![]));
        assert_eq!(captures("abc", "ab"), None);
        assert_eq!(captures("a*c", "ab"), None);
        assert_eq!(captures("a*a", "a"), None);
        assert_eq!(captures("*", ""), Some(vec![""]));
    }
}
