//! The character set of bytes that nobody has named one for (`CHARSET = AUTO`).

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Bytes that are looked at.
const SAMPLE: usize = 64 << 10;

/// The character set that bytes are probably in; `None` for UTF-8. Zeros at every other place are
/// UTF-16, what is valid UTF-8 is UTF-8, and the rest goes by the frequency of characters.
pub(super) fn charset(bytes: &[u8]) -> Option<&'static Encoding> {
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    if let Some(encoding) = utf16(sample) {
        return Some(encoding);
    }
    if simdutf8::basic::from_utf8(bytes).is_ok() {
        return None;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, true);
    let encoding = detector.guess(None, Utf8Detection::Allow);
    (encoding != UTF_8).then_some(encoding)
}

/// Text in Latin letters has its zeros at the even places of UTF-16BE and the odd ones of UTF-16LE.
fn utf16(bytes: &[u8]) -> Option<&'static Encoding> {
    let zeros = |first: usize| bytes.iter().skip(first).step_by(2).filter(|b| **b == 0).count();
    let (even, odd, pairs) = (zeros(0), zeros(1), bytes.len() / 2);
    if odd > pairs / 2 && even < pairs / 10 + 1 {
        Some(UTF_16LE)
    } else if even > pairs / 2 && odd < pairs / 10 + 1 {
        Some(UTF_16BE)
    } else {
        None
    }
}
