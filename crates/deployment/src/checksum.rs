//! The checksum of an app: SHA-256 over the paths, contents and executable flags of its files. It does not
//! depend on the archive or on file times.

use std::fmt::Write;

use ring::digest;

/// The prefix of the digest; a different computation gets a different prefix.
const MAGIC: &[u8] = b"karst app 1\n";
/// Length of a checksum in characters.
const LENGTH: usize = 64;

/// A file of an app.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AppFile {
    /// Its path below the directory of the app, with `/` between the parts.
    pub path: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// Whether it is executable.
    pub executable: bool,
}

/// The checksum of an app, as hexadecimal digits. The order of the files does not matter.
#[must_use]
pub fn checksum(files: &[AppFile]) -> String {
    let mut sorted: Vec<&AppFile> = files.iter().collect();
    sorted.sort_by(|a, b| a.path.cmp(&b.path));
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(MAGIC);
    for file in sorted {
        // Prefixed lengths make the encoding unambiguous.
        context.update(&(file.path.len() as u64).to_be_bytes());
        context.update(file.path.as_bytes());
        context.update(&[u8::from(file.executable)]);
        context.update(&(file.bytes.len() as u64).to_be_bytes());
        context.update(&file.bytes);
    }
    hex(context.finish().as_ref())
}

/// Whether a text has the form of a checksum.
#[must_use]
pub fn is_checksum(text: &str) -> bool {
    text.len() == LENGTH && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str, executable: bool) -> AppFile {
        AppFile { path: path.to_owned(), bytes: text.as_bytes().to_vec(), executable }
    }

    #[test]
    fn it_does_not_depend_on_the_order_of_files() {
        let (a, b) = (file("default/a.conf", "x", false), file("bin/b.sh", "y", true));
        let one = checksum(&[a.clone(), b.clone()]);
        assert_eq!(one, checksum(&[b, a]));
        assert!(is_checksum(&one) && !is_checksum(&one[1..]) && !is_checksum(&one.to_uppercase()));
    }

    #[test]
    fn it_changes_with_path_content_and_program() {
        let sums = [
            vec![file("a", "x", false)],
            vec![file("b", "x", false)],
            vec![file("a", "y", false)],
            vec![file("a", "x", true)],
            vec![file("a", "", false)],
            vec![file("a", "x", false), file("c", "", false)],
            vec![],
        ]
        .map(|files| checksum(&files));
        for (at, sum) in sums.iter().enumerate() {
            assert!(!sums[at + 1..].contains(sum), "{at}");
        }
    }

    /// The checksum must be the same in every version, because forwarders would reinstall all apps
    /// otherwise.
    #[test]
    fn it_stays_what_it_is() {
        let sum = checksum(&[file("default/app.conf", "[ui]\n", false)]);
        assert_eq!(sum, "1ad89c715e251a0c241d1f05789dbe84e9a4b81894ac23769d524b3467a67458");
    }
}
