//! The self-signed certificate, and expiry times.

use std::net::{IpAddr, UdpSocket};

use anyhow::{Context, Result};
use jiff::ToSpan;
use jiff::civil::Date;
use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair};

/// Browsers refuse certificates that are valid for longer than 398 days.
pub(crate) const LIFETIME_DAYS: i32 = 397;
/// Remaining lifetime at which a certificate is renewed, or a warning is shown.
pub(crate) const RENEWAL_DAYS: i64 = 30;

/// A self-signed certificate for the names, PEM. Reusing the key keeps the next certificate valid
/// for clients that trust this one as a root: karst-forwarder and `karst`.
pub(crate) fn self_signed(names: Vec<String>, key: &KeyPair, today: Date) -> Result<String> {
    let mut params =
        CertificateParams::new(names).context("a name is not fit for a certificate")?;
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, "karst");
    subject.push(DnType::OrganizationName, "Karst");
    params.distinguished_name = subject;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // Clocks of clients may be behind.
    let midnight = |date: Date| {
        let (month, day) = (date.month().unsigned_abs(), date.day().unsigned_abs());
        rcgen::date_time_ymd(i32::from(date.year()), month, day)
    };
    params.not_before = midnight(today.saturating_sub(1.day()));
    params.not_after = midnight(today.saturating_add(LIFETIME_DAYS.days()));
    let certificate = params.self_signed(key).context("cannot make a certificate")?;
    Ok(certificate.pem())
}

/// Names of this machine: `localhost`, its host name, the addresses it listens on.
pub(crate) fn names(host: &str, listening: &[IpAddr]) -> Vec<String> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let mut add = |name: String| {
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    };
    add(host.to_owned());
    for address in listening {
        if !address.is_unspecified() {
            add(address.to_string());
        } else if let Some(address) = outward(*address) {
            add(address.to_string());
        }
    }
    names
}

/// The local address of outgoing packets; sends none.
fn outward(any: IpAddr) -> Option<IpAddr> {
    let elsewhere = if any.is_ipv4() { "192.0.2.1:9" } else { "[2001:db8::1]:9" };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(elsewhere).ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_unspecified()).then_some(address)
}

/// The expiry time of a certificate, epoch seconds; `None` if the bytes are not a certificate.
pub(crate) fn not_after(der: &[u8]) -> Option<i64> {
    validity(der).map(|times| times.end)
}

/// The times between which a certificate is valid, epoch seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Validity {
    pub(crate) begin: i64,
    pub(crate) end: i64,
}

impl Validity {
    /// Whether the certificate is valid at this time.
    pub(crate) fn contains(self, now: i64) -> bool {
        (self.begin..self.end).contains(&now)
    }
}

/// When a certificate is valid; `None` if the bytes are not a certificate.
pub(crate) fn validity(der: &[u8]) -> Option<Validity> {
    let (_, certificate, _) = element(der)?;
    let (_, mut signed, _) = element(certificate)?;
    // An optional version; then serial number, algorithm and issuer.
    let (tag, _, rest) = element(signed)?;
    if tag == 0xa0 {
        signed = rest;
    }
    for _ in 0..3 {
        signed = element(signed)?.2;
    }
    let (_, validity, _) = element(signed)?;
    let (tag, begin, rest) = element(validity)?;
    // The end is worth a warning without the begin, too.
    let begin = seconds(tag, begin).unwrap_or(i64::MIN);
    let (tag, end, _) = element(rest)?;
    Some(Validity { begin, end: seconds(tag, end)? })
}

/// A time in DER, as epoch seconds.
fn seconds(tag: u8, time: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(time).ok()?.strip_suffix('Z')?;
    let text = match tag {
        // Two-digit years: up to 2049.
        0x17 if text.get(..2)? < "50" => format!("20{text}"),
        0x17 => format!("19{text}"),
        0x18 => text.to_owned(),
        _ => return None,
    };
    let time = jiff::civil::DateTime::strptime("%Y%m%d%H%M%S", text).ok()?;
    // 99991231235959Z stands for no end (RFC 5280, 4.1.2.5), and is later than the last timestamp.
    let time = time.to_zoned(jiff::tz::TimeZone::UTC);
    Some(time.map_or(jiff::Timestamp::MAX, |time| time.timestamp()).as_second())
}

/// The first element of DER: tag, content, and the rest.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = if *first < 0x80 {
        (usize::from(*first), rest)
    } else {
        let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
        let length = digits.iter().try_fold(0_usize, |sum, digit| {
            sum.checked_mul(256)?.checked_add(usize::from(*digit))
        })?;
        (length, rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;

    use super::*;

    fn valid(today: Date) -> Validity {
        let key = KeyPair::generate().unwrap();
        let pem = self_signed(names("host-1", &[]), &key, today).unwrap();
        validity(&CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn a_certificate_ends_after_its_lifetime() {
        let day = |date: Date| date.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp();
        for today in [jiff::civil::date(2026, 11, 22), jiff::civil::date(2051, 1, 31)] {
            let begin = day(today.saturating_sub(1.day())).as_second();
            let end = day(today.saturating_add(LIFETIME_DAYS.days())).as_second();
            assert_eq!(valid(today), Validity { begin, end }, "{today}");
        }
    }

    #[test]
    fn a_certificate_without_an_end_has_a_begin() {
        assert_eq!(seconds(0x18, b"99991231235959Z"), Some(jiff::Timestamp::MAX.as_second()));
        let mut params = CertificateParams::new(names("host-1", &[])).unwrap();
        params.not_before = rcgen::date_time_ymd(2060, 1, 1);
        params.not_after = rcgen::date_time_ymd(9999, 12, 31);
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let times = validity(certificate.der()).unwrap();
        let end = jiff::Timestamp::MAX.as_second();
        assert_eq!(times, Validity { begin: 2_840_140_800, end });
        assert!(times.contains(times.begin) && !times.contains(times.begin - 1));
    }

    #[test]
    fn what_is_no_certificate_has_no_end() {
        for bytes in
            [&b""[..], b"\x30", b"\x30\x84\xff\xff\xff\xff", b"\x30\x03\x30\x01\x02", &[0x30; 64]]
        {
            assert_eq!(not_after(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn names_are_those_of_the_machine_once_each() {
        let listening = ["127.0.0.1".parse().unwrap(), "10.1.2.3".parse().unwrap()];
        let expected = ["localhost", "127.0.0.1", "::1", "host-1", "10.1.2.3"];
        assert_eq!(names("host-1", &listening), expected);
    }
}
