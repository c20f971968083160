//! Decodes chunks of a stream into text.
//!
//! A chunk may end inside a character: its first bytes wait for the next chunk. UTF-8 is not copied; invalid
//! bytes become `\xHH`. A byte order mark at the start of the stream selects UTF-16 if no character set is
//! configured. With `CHARSET = AUTO` the first bytes that are not plain ASCII decide.

use bytes::Bytes;
use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use inputs::text::append_repaired;
use knowledge::Charset;

use super::guess;

/// The decoding state of one stream.
pub(crate) struct TextDecoder {
    /// The decoder of another character set; `None` for UTF-8.
    other: Option<Decoder>,
    /// The first bytes of a character whose other bytes have not arrived.
    held: Vec<u8>,
    /// Whether the first bytes of the stream have been examined.
    begun: bool,
    may_sniff: bool,
    /// Whether the first bytes that are not UTF-8 may select another character set (`AUTO`).
    may_guess: bool,
}

impl std::fmt::Debug for TextDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextDecoder").field("held", &self.held).finish_non_exhaustive()
    }
}

/// Text of a chunk; valid UTF-8.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) text: Bytes,
    /// Whether some bytes were invalid in their character set.
    pub(crate) repaired: bool,
}

impl TextDecoder {
    /// Creates a decoder for a `CHARSET`.
    pub(crate) fn new(charset: Charset) -> Self {
        let other = match charset {
            Charset::Utf8 | Charset::Auto => None,
            // The byte order mark is more reliable than the byte order in `UTF-16`.
            Charset::Other(encoding) if [UTF_16LE, UTF_16BE].contains(&encoding) => {
                Some(encoding.new_decoder())
            }
            Charset::Other(encoding) => Some(encoding.new_decoder_with_bom_removal()),
        };
        Self {
            may_sniff: other.is_none(),
            other,
            held: Vec::new(),
            begun: false,
            may_guess: charset == Charset::Auto,
        }
    }

    /// Returns the name of the character set.
    pub(crate) fn charset(&self) -> &'static str {
        self.other.as_ref().map_or(UTF_8, Decoder::encoding).name()
    }

    /// Returns the maximum number of input bytes per byte of text.
    pub(crate) fn input_per_text(&self) -> u64 {
        match &self.other {
            Some(decoder) if [UTF_16LE, UTF_16BE].contains(&decoder.encoding()) => 2,
            _ => 1,
        }
    }

    /// Decodes the next chunk; `end` says that it is the last one.
    pub(crate) fn decode(&mut self, chunk: Bytes, end: bool) -> Decoded {
        let mut chunk = self.join_held(chunk);
        if !self.begun && !chunk.is_empty() {
            if self.may_sniff && !end && chunk.len() < 3 && b"\xEF\xBB\xBF".starts_with(&chunk) {
                return self.hold(chunk, 0);
            }
            self.begun = true;
            if self.may_sniff
                && let Some((encoding, length)) = Encoding::for_bom(&chunk)
            {
                chunk = chunk.slice(length..);
                if encoding != UTF_8 {
                    self.other = Some(encoding.new_decoder_without_bom_handling());
                }
            }
        }
        if self.other.is_none() && self.may_guess {
            self.guess(&chunk, end);
        }
        if let Some(decoder) = &mut self.other {
            return decode_other(decoder, &chunk, end);
        }
        self.decode_utf8(chunk, end)
    }

    /// Decides on a character set at the first chunk that is not plain ASCII. ASCII is the same in all of
    /// them.
    fn guess(&mut self, chunk: &[u8], end: bool) {
        if chunk.is_ascii() && !chunk.contains(&0) {
            return;
        }
        self.may_guess = false;
        let complete = if end { chunk.len() } else { without_torn_character(chunk) };
        let found = guess::charset(&chunk[..complete]);
        self.other = found.map(Encoding::new_decoder_without_bom_handling);
    }

    fn join_held(&mut self, chunk: Bytes) -> Bytes {
        if self.held.is_empty() {
            return chunk;
        }
        let mut joined = std::mem::take(&mut self.held);
        joined.extend_from_slice(&chunk);
        joined.into()
    }

    fn hold(&mut self, chunk: Bytes, keep: usize) -> Decoded {
        self.held = chunk[keep..].to_vec();
        Decoded { text: chunk.slice(..keep), repaired: false }
    }

    fn decode_utf8(&mut self, chunk: Bytes, end: bool) -> Decoded {
        let Err(error) = simdutf8::compat::from_utf8(&chunk) else {
            return Decoded { text: chunk, repaired: false };
        };
        let complete = if end { chunk.len() } else { without_torn_character(&chunk) };
        if error.valid_up_to() == complete {
            return self.hold(chunk, complete);
        }
        let mut text = String::with_capacity(chunk.len() + 64);
        append_repaired(&chunk[..complete], "\\x", &mut text);
        self.held = chunk[complete..].to_vec();
        Decoded { text: text.into_bytes().into(), repaired: true }
    }
}

/// Returns the length of the chunk without an incomplete character at its end.
fn without_torn_character(chunk: &[u8]) -> usize {
    let tail_start = chunk.len().saturating_sub(3);
    for at in (tail_start..chunk.len()).rev() {
        if chunk[at] & 0xC0 == 0x80 {
            continue;
        }
        let torn = std::str::from_utf8(&chunk[at..])
            .is_err_and(|error| error.error_len().is_none() && error.valid_up_to() == 0);
        return if torn { at } else { chunk.len() };
    }
    chunk.len()
}

fn decode_other(decoder: &mut Decoder, chunk: &[u8], end: bool) -> Decoded {
    let mut text = String::new();
    let mut rest = chunk;
    let mut repaired = false;
    loop {
        let room = decoder.max_utf8_buffer_length(rest.len()).unwrap_or(rest.len() * 3 + 16);
        text.reserve(room);
        let (result, read, errors) = decoder.decode_to_string(rest, &mut text, end);
        repaired |= errors;
        rest = &rest[read..];
        if result == CoderResult::InputEmpty {
            return Decoded { text: text.into_bytes().into(), repaired };
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_character_cut_between_chunks_is_whole_again() {
        let text = "aä世𝄞b".as_bytes();
        for cut in 0..=text.len() {
            let mut decoder = TextDecoder::new(Charset::Utf8);
            let first = decoder.decode(Bytes::copy_from_slice(&text[..cut]), false);
            let second = decoder.decode(Bytes::copy_from_slice(&text[cut..]), true);
            assert!(!first.repaired && !second.repaired);
            assert_eq!([first.text, second.text].concat(), text, "cut at {cut}");
        }
    }

    #[test]
    fn a_torn_character_at_the_end_of_the_stream_is_repaired() {
        let mut decoder = TextDecoder::new(Charset::Utf8);
        assert_eq!(decoder.decode(Bytes::from_static(b"x\xe4\xb8"), false).text, "x");
        assert_eq!(decoder.decode(Bytes::new(), true).text, "\\xE4\\xB8");
    }

    #[test]
    fn other_character_sets_are_decoded() {
        let mut latin = TextDecoder::new(Charset::Other(encoding_rs::WINDOWS_1252));
        assert_eq!(latin.decode(Bytes::from_static(b"gr\xfc\xdfe"), true).text, "grüße");
        let mut marked = TextDecoder::new(Charset::Utf8);
        assert_eq!(marked.decode(Bytes::from_static(b"\xff\xfea\0\xe4\0"), true).text, "aä");
        let mut named = TextDecoder::new(Charset::Other(UTF_16BE));
        assert_eq!(named.decode(Bytes::from_static(b"\xff\xfea\0\xe4\0"), true).text, "aä");
    }

    #[test]
    fn a_character_set_is_guessed_where_the_text_stops_being_ascii() {
        let decode = |chunks: &[&'static [u8]]| {
            let mut decoder = TextDecoder::new(Charset::Auto);
            let mut text = String::new();
            for chunk in chunks {
                let decoded = decoder.decode(Bytes::from_static(chunk), false);
                text.push_str(std::str::from_utf8(&decoded.text).unwrap());
            }
            text
        };
        assert_eq!(decode(&[b"plain\n", b"gr\xfc\xdfe aus K\xf6ln\n"]), "plain\ngrüße aus Köln\n");
        assert_eq!(decode(&[b"plain\n", "grüße aus Köln\n".as_bytes()]), "plain\ngrüße aus Köln\n");
        assert_eq!(decode(&[b"a\0b\0c\0\n\0"]), "abc\n");
        assert_eq!(decode(&[b"\0a\0b\0c\0\n"]), "abc\n");
        let text = "売上報告書を作成しました。会議に参加してください。エラーが発生しました。\n";
        let (japanese, ..) = encoding_rs::SHIFT_JIS.encode(text);
        let mut decoder = TextDecoder::new(Charset::Auto);
        let decoded = decoder.decode(Bytes::copy_from_slice(&japanese), true);
        assert_eq!(decoded.text, text);
    }
}
