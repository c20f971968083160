//! `cidrmatch("10.0.0.0/8", ip)`: whether an address lies in a network.

use std::net::IpAddr;

use super::{Function, Prepared, ResultKind, prepared};
use crate::eval::node::{Arguments, Kind};
use crate::eval::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[prepared(
    &["cidrmatch"],
    ResultKind::Always(Kind::Truth),
    |arguments| match arguments[0].literal_text() {
        None => Ok(Prepared::Nothing),
        Some(text) => Network::new(text)
            .map(Prepared::Network)
            .ok_or_else(|| format!("\"{text}\" is not a network such as 10.0.0.0/8")),
    },
    cidrmatch,
)];

/// A network: an address and how many of its bits count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Network {
    address: u128,
    bits: u32,
    v4: bool,
}

impl Network {
    /// Parses `10.0.0.0/8` or `2001:db8::/32`; an address alone is a network of one.
    fn new(text: &str) -> Option<Self> {
        let (address, bits) = match text.trim().split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u32>().ok()?)),
            None => (text.trim(), None),
        };
        let (address, v4) = number(address.parse().ok()?);
        let most = if v4 { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        (bits <= most).then_some(Self { address, bits, v4 })
    }

    fn contains(self, text: &str) -> Option<bool> {
        let (address, v4) = number(text.trim().parse().ok()?);
        let shift = if self.v4 { 32 - self.bits } else { 128 - self.bits };
        let same = |a: u128, b: u128| a.checked_shr(shift) == b.checked_shr(shift);
        Some(v4 == self.v4 && same(address, self.address))
    }
}

fn number(address: IpAddr) -> (u128, bool) {
    match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)), true),
        IpAddr::V6(address) => (u128::from(address), false),
    }
}

fn cidrmatch<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    let network = match arguments.prepared {
        Prepared::Network(network) => Some(*network),
        _ => arguments.text(0).and_then(|text| Network::new(&text)),
    };
    let texts = arguments.value(1).texts();
    match network {
        Some(network) if !texts.is_empty() => {
            Value::Truth(texts.iter().any(|text| network.contains(text) == Some(true)))
        }
        _ => Value::Null,
    }
}
