//! Detection of the character set of a stream (`CHARSET = AUTO`).

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Number of bytes that are examined.
const SAMPLE: usize = 64 << 10;

/// Returns the probable character set of bytes; `None` for UTF-8. Zeros at every other byte mean UTF-16,
/// valid UTF-8 is UTF-8, and otherwise the frequency of characters decides.
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

/// Detects UTF-16: Latin text has its zeros at the even offsets of UTF-16BE and the odd ones of UTF-16LE.
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
