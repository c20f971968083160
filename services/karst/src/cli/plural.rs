//! Singular and plural of counted nouns in messages.

use std::fmt::Display;

/// `1 note`, `2 notes`.
pub(super) fn counted<T: Display + PartialEq + From<u8>>(count: T, one: &str) -> String {
    let ending = if is_one(&count) { "" } else { "s" };
    format!("{count} {one}{ending}")
}

/// Returns the verb after a counted noun.
pub(super) fn is_or_are<T: PartialEq + From<u8>>(count: T) -> &'static str {
    if is_one(&count) { "is" } else { "are" }
}

/// The same in the past.
pub(super) fn was_or_were<T: PartialEq + From<u8>>(count: T) -> &'static str {
    if is_one(&count) { "was" } else { "were" }
}

fn is_one<T: PartialEq + From<u8>>(count: &T) -> bool {
    *count == T::from(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        let told = |count: u64| format!("{} {}", counted(count, "bucket"), is_or_are(count));
        assert_eq!([0, 1, 2].map(told), ["0 buckets are", "1 bucket is", "2 buckets are"]);
    }
}
