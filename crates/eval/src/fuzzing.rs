//! What a fuzzer needs of the insides.

/// Compiles a pattern and searches a text with it, on the matcher of our own and on `regex`.
///
/// # Panics
/// If the two find different matches or groups.
pub fn pattern(pattern: &str, text: &str) {
    crate::pattern::compare(pattern, text);
}
