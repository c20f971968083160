//! `cidrmatch("10.0.0.0/8", ip)`: whether an address is in a network; `ipmask(mask, ip)`: the bits of an
//! address that a mask selects.

use std::collections::HashMap;
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr};

use super::{Call, Function, Preparation, plain, refuse, text, truth};
use crate::Cached;

pub(super) const FUNCTIONS: &[Function] = &[plain("cidrmatch", cidrmatch), plain("ipmask", ipmask)];

/// A network: an address and the length of its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: u128,
    bits: u32,
    v4: bool,
}

impl Network {
    /// Parses `10.0.0.0/8` or `2001:db8::/32`; an address without a prefix length is a network of one
    /// address.
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

    /// Returns whether the address in the text belongs to the network; `None` if the text is not an address.
    #[must_use]
    pub fn contains(self, text: &str) -> Option<bool> {
        let (address, v4) = number(text.trim().parse().ok()?);
        let shift = self.shift();
        Some(v4 == self.v4 && leading(address, shift) == leading(self.address, shift))
    }

    /// Returns the number of host bits of an address.
    fn shift(self) -> u32 {
        if self.v4 { 32 - self.bits } else { 128 - self.bits }
    }
}

/// Returns the network bits of an address.
fn leading(address: u128, shift: u32) -> u128 {
    address.checked_shr(shift).unwrap_or(0)
}

/// Numbered networks, looked up by address with one hash lookup per prefix length, independent of the number
/// of networks.
#[derive(Debug, Default)]
pub struct Networks(Vec<SameLength>);

/// The networks of one prefix length, keyed by their network bits.
#[derive(Debug)]
struct SameLength {
    v4: bool,
    shift: u32,
    members: HashMap<u128, Vec<u32>>,
}

impl Networks {
    /// Adds a network with its number.
    pub fn add(&mut self, network: Network, member: u32) {
        let (v4, shift) = (network.v4, network.shift());
        let known = self.0.iter().position(|same| same.v4 == v4 && same.shift == shift);
        let at = known.unwrap_or_else(|| {
            self.0.push(SameLength { v4, shift, members: HashMap::new() });
            self.0.len() - 1
        });
        self.0[at].members.entry(leading(network.address, shift)).or_default().push(member);
    }

    /// Returns the approximate memory of the networks, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let members = self.0.iter().flat_map(|same| same.members.values());
        let each = |members: &Vec<u32>| {
            size_of::<(u128, Vec<u32>)>() + members.capacity() * size_of::<u32>()
        };
        members.map(each).sum()
    }

    /// Returns the numbers of the networks that contain the address, in ascending order; none if the text is
    /// not an address.
    #[must_use]
    pub fn find(&self, text: &str) -> Vec<u32> {
        let Ok(address) = text.trim().parse::<IpAddr>() else { return Vec::new() };
        let (address, v4) = number(address);
        let of_kind = self.0.iter().filter(|same| same.v4 == v4);
        let members = of_kind.filter_map(|same| same.members.get(&leading(address, same.shift)));
        let mut found: Vec<u32> = members.flatten().copied().collect();
        found.sort_unstable();
        found
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

/// Prepares `ipmask`: mask and address must be IPv4; anything else gives null.
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
    use super::{Network, Networks};

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

    #[test]
    fn networks_are_found_as_if_each_were_asked() {
        let texts = [
            "10.1.0.0/16",
            "10.0.0.0/8",
            "0.0.0.0/0",
            "10.1.2.3",
            "10.1.2.3/32",
            "10.1.255.9/16",
            "2001:db8::/32",
            "::/0",
            "2001:db8::1",
            "::10.1.2.3/128",
        ];
        let mut networks = Networks::default();
        for (at, text) in (0..).zip(texts) {
            networks.add(Network::new(text).unwrap(), at);
        }
        let addresses = ["10.1.2.3", " 10.1.9.9 ", "10.2.0.1", "11.0.0.1", "2001:db8::1", "::1"];
        for address in addresses.into_iter().chain(["::10.1.2.3", "web", ""]) {
            let holds = |text: &str| Network::new(text).unwrap().contains(address) == Some(true);
            let each = (0..).zip(texts).filter(|(_, text)| holds(text)).map(|(at, _)| at);
            assert_eq!(networks.find(address), each.collect::<Vec<u32>>(), "{address}");
        }
    }
}
