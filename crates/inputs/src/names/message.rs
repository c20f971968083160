//! DNS messages, as far as asking for the name of an address needs them (RFC 1035, 3596).
//!
//! Guarantees: no answer, however it is made, leads to a panic, an endless loop or a name that is
//! none.

use std::net::IpAddr;

const PTR: u16 = 12;
const INTERNET: u16 = 1;
const HEADER: usize = 12;
/// Longest name.
const LONGEST: usize = 253;
/// Jumps within a compressed name at most.
const JUMPS: usize = 32;

/// What a message says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The name.
    Name(String),
    /// There is none.
    NoName,
    /// The server could not find out, by this code.
    Failed(u8),
    /// It is not the answer to the question.
    Other,
}

/// The question for the name of an address.
pub(super) fn question(id: u16, address: IpAddr) -> Vec<u8> {
    let mut out = Vec::with_capacity(96);
    out.extend_from_slice(&id.to_be_bytes());
    // Please recurse; one question.
    out.extend_from_slice(&[0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0]);
    let mut label = |text: &str| {
        out.push(u8::try_from(text.len()).unwrap_or(0));
        out.extend_from_slice(text.as_bytes());
    };
    match address {
        IpAddr::V4(address) => {
            address.octets().iter().rev().for_each(|octet| label(&octet.to_string()));
            label("in-addr");
        }
        IpAddr::V6(address) => {
            for octet in address.octets().iter().rev() {
                label(&format!("{:x}", octet & 15));
                label(&format!("{:x}", octet >> 4));
            }
            label("ip6");
        }
    }
    label("arpa");
    out.push(0);
    out.extend_from_slice(&PTR.to_be_bytes());
    out.extend_from_slice(&INTERNET.to_be_bytes());
    out
}

/// Reads an answer.
pub(super) fn answer(message: &[u8], id: u16) -> Answer {
    let is_answer = message.len() >= HEADER
        && message[..2] == id.to_be_bytes()
        && message[2] & 0x80 != 0
        && u16_at(message, 4) == Some(1);
    if !is_answer {
        return Answer::Other;
    }
    match message[3] & 15 {
        0 => find_name(message).map_or(Answer::NoName, Answer::Name),
        3 => Answer::NoName,
        code => Answer::Failed(code),
    }
}

/// The first name in the answers; aliases before it are passed over.
fn find_name(message: &[u8]) -> Option<String> {
    let mut at = skip_name(message, HEADER)? + 4;
    for _ in 0..u16_at(message, 6)? {
        at = skip_name(message, at)?;
        let (kind, length) = (u16_at(message, at)?, u16_at(message, at + 8)?);
        at += 10;
        if kind == PTR {
            let name = name_at(message, at)?;
            return is_host_name(&name).then_some(name);
        }
        at += usize::from(length);
    }
    None
}

fn u16_at(message: &[u8], at: usize) -> Option<u16> {
    let bytes = message.get(at..at + 2)?;
    Some(u16::from_be_bytes([bytes[0], bytes[1]]))
}

fn skip_name(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *message.get(at)? {
            0 => return Some(at + 1),
            length if length & 0xC0 == 0xC0 => return Some(at + 2),
            length if length & 0xC0 == 0 => at += 1 + usize::from(length),
            _ => return None,
        }
    }
}

fn name_at(message: &[u8], mut at: usize) -> Option<String> {
    let mut name = String::new();
    let mut jumps = 0;
    loop {
        match *message.get(at)? {
            0 => return Some(name),
            length if length & 0xC0 == 0xC0 => {
                jumps += 1;
                if jumps > JUMPS {
                    return None;
                }
                at = usize::from(u16_at(message, at)? & 0x3FFF);
            }
            length if length & 0xC0 == 0 => {
                let end = at + 1 + usize::from(length);
                let label = std::str::from_utf8(message.get(at + 1..end)?).ok()?;
                if name.len() + label.len() > LONGEST {
                    return None;
                }
                if !name.is_empty() {
                    name.push('.');
                }
                name.push_str(label);
                at = end;
            }
            _ => return None,
        }
    }
}

/// Whether a text may be the name of a machine.
pub(super) fn is_host_name(name: &str) -> bool {
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    !name.is_empty() && name.len() <= LONGEST && name.bytes().all(usual)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header(question: &[u8], code: u8, answers: u8) -> Vec<u8> {
        let mut out = question.to_vec();
        out[2] |= 0x80;
        out[3] = 0x80 | code;
        out[7] = answers;
        out
    }

    /// The answer to a question: an alias, and the name behind it.
    pub(in super::super) fn reply(question: &[u8], name: &str) -> Vec<u8> {
        let mut out = header(question, 0, 2);
        let alias = [0xC0, 12, 0, 5, 0, 1, 0, 0, 0, 60, 0, 2, 0xC0, 12];
        out.extend_from_slice(&alias);
        out.extend_from_slice(&[0xC0, 12, 0, 12, 0, 1, 0, 0, 0, 60]);
        let length = u16::try_from(name.len() + 2).unwrap();
        out.extend_from_slice(&length.to_be_bytes());
        for label in name.split('.') {
            out.push(u8::try_from(label.len()).unwrap());
            out.extend_from_slice(label.as_bytes());
        }
        out.push(0);
        out
    }

    /// The answer that there is no name.
    pub(in super::super) fn no_name(question: &[u8]) -> Vec<u8> {
        header(question, 3, 0)
    }

    #[test]
    fn addresses_are_asked_for_backwards() {
        let text = |address: &str| {
            let question = question(7, address.parse().unwrap());
            name_at(&question, HEADER).unwrap()
        };
        assert_eq!(text("192.0.2.10"), "10.2.0.192.in-addr.arpa");
        assert!(text("2001:db8::1f").starts_with("f.1.0.0."));
        assert!(text("2001:db8::1f").ends_with(".8.b.d.0.1.0.0.2.ip6.arpa"));
    }

    #[test]
    fn answers_are_told_apart() {
        let asked = question(7, "192.0.2.10".parse().unwrap());
        let named = reply(&asked, "web.example.com");
        assert_eq!(answer(&named, 7), Answer::Name("web.example.com".to_owned()));
        assert_eq!(answer(&named, 8), Answer::Other);
        assert_eq!(answer(&asked, 7), Answer::Other);
        assert_eq!(answer(&no_name(&asked), 7), Answer::NoName);
        assert_eq!(answer(&header(&asked, 2, 0), 7), Answer::Failed(2));
        assert_eq!(answer(&reply(&asked, "a b.com"), 7), Answer::NoName);
    }

    #[test]
    fn no_answer_does_harm() {
        let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
        let asked = question(7, "192.0.2.10".parse().unwrap());
        let good = reply(&asked, "web.example.com");
        let places = prop::collection::vec((0..good.len(), any::<u8>()), 0..6);
        proptest!(config, |(places in places, length in 0..good.len())| {
            let mut message = good.clone();
            for (place, byte) in places {
                message[place] = byte;
            }
            if let Answer::Name(name) = answer(&message[..length], 7) {
                prop_assert!(is_host_name(&name));
            }
        });
    }
}
