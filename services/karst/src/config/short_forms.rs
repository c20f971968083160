//! The arguments of the command line, with short forms expanded: `karst add FILE` is `karst add oneshot
//! FILE`.

use std::ffi::OsString;
use std::path::Path;

/// The arguments of this process, with short forms expanded.
pub(crate) fn words() -> Vec<OsString> {
    let mut words: Vec<_> = std::env::args_os().collect();
    let is = |at: usize, fits: fn(&str) -> bool| {
        words.get(at).and_then(|word| word.to_str()).is_some_and(fits)
    };
    if is(1, |word| word == "add") && is(2, is_data) {
        words.insert(2, "oneshot".into());
    }
    words
}

/// Whether the word behind `karst add` names data, not a subcommand or an option.
fn is_data(word: &str) -> bool {
    let is_taken = matches!(word, "oneshot" | "help") || word.starts_with('-');
    word == "-" || (!is_taken && (word.contains(['/', '.']) || Path::new(word).exists()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_or_url_is_data() {
        for word in ["s3://bucket/prefix", "a.log", "logs/today", "/var/log", "src", "-"] {
            assert!(is_data(word), "{word}");
        }
        for word in ["oneshot", "help", "--help", "-h", "onshot", ""] {
            assert!(!is_data(word), "{word}");
        }
    }
}
