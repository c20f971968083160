//! Encodings of sources (`CHARSET`), by the names that `iconv` and Splunk use.

use encoding_rs::Encoding;

/// The encoding of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Charset {
    /// UTF-8, or UTF-16 if there is a byte order mark.
    #[default]
    Utf8,
    /// Detected from the bytes.
    Auto,
    /// Another encoding.
    Other(&'static Encoding),
}

impl Charset {
    /// Returns the encoding with this name in `iconv` or Splunk.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase().replace('_', "-");
        let label = match name.as_str() {
            "" | "utf-8" | "utf8" | "ascii" | "us-ascii" => return Some(Self::Utf8),
            "auto" => return Some(Self::Auto),
            "latin-1" | "latin1" | "iso-8859-1" => "windows-1252",
            "latin-2" => "iso-8859-2",
            "latin-5" => "iso-8859-9",
            "latin-9" => "iso-8859-15",
            "shift-jis" | "sjis" | "cp932" | "ms932" => "shift_jis",
            "macroman" | "mac-roman" | "macintosh" => "macintosh",
            "maccyrillic" => "x-mac-cyrillic",
            "ucs-2" | "ucs2" | "utf-16" | "ucs-2be" | "utf16be" => "utf-16be",
            "ucs-2le" | "utf16le" => "utf-16le",
            "cp936" | "ms936" | "euc-cn" => "gbk",
            "cp949" | "uhc" => "euc-kr",
            "cp950" | "big-5" => "big5",
            "cp866" => "ibm866",
            other => other,
        };
        let windows = label.strip_prefix("cp").map(|page| format!("windows-{page}"));
        let found = Encoding::for_label(label.as_bytes())
            .or_else(|| Encoding::for_label(windows?.as_bytes()));
        found.map(|encoding| match encoding == encoding_rs::UTF_8 {
            true => Self::Utf8,
            false => Self::Other(encoding),
        })
    }
}
