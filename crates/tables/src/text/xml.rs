//! XML functions of searches: character references, simple elements in any text, and paths into documents
//! (docs/decisions/0019).
//!
//! Guarantees: no input causes a failure or unbounded recursion; if a text is not well-formed, the part
//! before the error is used.

mod document;
mod path;

pub use path::XPath;

/// Appends a text with character references replaced: `&lt;`, `&#8364;`, `&#x20AC;`. Unknown references are
/// kept.
pub fn unescape(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match reference(rest) {
            Some((character, length)) => {
                out.push(character);
                rest = &rest[length..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
}

/// Parses the character reference at the start of a text; returns the character and the length of the
/// reference.
fn reference(text: &str) -> Option<(char, usize)> {
    const LONGEST: usize = 12;
    let end = text.bytes().take(LONGEST).position(|byte| byte == b';')?;
    let name = &text[1..end];
    let character = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    };
    Some((character, end + 1))
}

/// Visits each element that contains only text, with its name and its text. The surrounding text need not be
/// XML.
pub fn simple_elements(text: &str, visit: &mut dyn FnMut(&str, &str)) {
    let mut rest = text;
    let mut value = String::new();
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let Some(end) = rest.find(['>', '<']) else { return };
        let tag = &rest[..end];
        if rest[end..].starts_with('<') {
            rest = &rest[end..];
            continue;
        }
        rest = &rest[end + 1..];
        let name = tag.split(char::is_whitespace).next().unwrap_or_default();
        let opens = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if !opens || tag.ends_with('/') {
            continue;
        }
        let Some(length) = rest.find('<') else { return };
        let behind = rest[length + 1..].strip_prefix('/').and_then(|t| t.strip_prefix(name));
        if behind.is_some_and(|behind| behind.starts_with('>')) {
            value.clear();
            unescape(rest[..length].trim(), &mut value);
            visit(name, &value);
        }
        rest = &rest[length..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_become_characters_and_others_stay() {
        let mut out = String::new();
        unescape("a &lt;b&gt; &amp;amp; &#65;&#x42; &nbsp; & &#xFFFFFFFF; é&", &mut out);
        assert_eq!(out, "a <b> &amp; AB &nbsp; & &#xFFFFFFFF; é&");
    }

    #[test]
    fn simple_elements_are_found_in_any_text() {
        let text = "1 < 2 <r><user id='7'>ann &amp; bob</user><n/><x> 1 </x> <y>2</z></r> <a";
        let mut out = Vec::new();
        simple_elements(text, &mut |name, value| out.push(format!("{name}={value}")));
        assert_eq!(out, ["user=ann & bob", "x=1"]);
    }
}
