//! `cidrmatch("10.0.0.0/8", ip)`: whether an address lies in a network; `ipmask(mask, ip)`: the bits
//! of an address that a mask has.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr};

use super::{Call, Function, Preparation, plain, refuse, text, truth};
use crate::Cached;

pub(super) const FUNCTIONS: &[Function] = &[plain("cidrmatch", cidrmatch), plain("ipmask", ipmask)];

/// A network: an address and how many of its bits count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: u128,
    bits: u32,
    v4: bool,
}

impl Network {
    /// Parses `10.0.0.0/8` or `2001:db8::/32`; an address alone is a network of one.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let (address, bits) = match text.trim().split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u32>().ok()?)),
            None => (text.trim(), None),
        };
        let (address, v4) = number(address.parse().ok()?);
        let most = if v4 { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        (bits <= most).then_some(Self { address, bits, v4 })
    }

    /// Whether the text is an address in it; `None` if it is not an address.
    #[must_use]
    pub fn contains(self, text: &str) -> Option<bool> {
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

fn cidrmatch(call: &Call<'_>) -> Preparation {
    if let Some(text) = call.text(0)
        && Network::new(text).is_none()
    {
        return refuse(0, format!("\"{text}\" is not a network such as 10.0.0.0/8"));
    }
    let cache = Cached::new(Network::new);
    Ok(truth(move |row| {
        let network = cache.get(&row.text(0)?)?;
        let mut any = None;
        row.value(1).each_text(|text| {
            any = Some(any == Some(true) || network.contains(text) == Some(true))
        });
        any
    }))
}

/// Both are IPv4; what is not an address gives null.
fn ipmask(call: &Call<'_>) -> Preparation {
    if let Some(mask) = call.text(0)
        && mask.parse::<Ipv4Addr>().is_err()
    {
        return refuse(0, format!("\"{mask}\" is not a mask such as 255.255.255.0"));
    }
    Ok(text(|row, out| {
        let address = |at| row.text(at)?.trim().parse::<Ipv4Addr>().ok();
        let masked = u32::from(address(0)?) & u32::from(address(1)?);
        write!(out, "{}", Ipv4Addr::from(masked)).ok()
    }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Network;

    #[test]
    fn addresses_are_matched_by_their_leading_bits() {
        let cases = [
            ("10.0.0.0/8", "10.1.2.3", Some(true)),
            ("10.0.0.0/8", "11.1.2.3", Some(false)),
            ("10.0.0.0/8", "web", None),
            ("0.0.0.0/0", "1.2.3.4", Some(true)),
            ("1.2.3.4", "1.2.3.4", Some(true)),
            ("2001:db8::/32", "2001:db8::1", Some(true)),
            ("::/0", "2001:db8::1", Some(true)),
            ("::/0", "1.2.3.4", Some(false)),
        ];
        for (network, address, expected) in cases {
            assert_eq!(
                Network::new(network).unwrap().contains(address),
                expected,
                "{network} {address}"
            );
        }
        assert_eq!(Network::new("10.0.0.0/33"), None);
    }
}
