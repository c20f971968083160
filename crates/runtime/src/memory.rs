//! Divides one memory limit of the process among the components that have limits of their own.
//!
//! A component whose limit is configured keeps it. The rest is divided by weight, within the bounds of each
//! component; bytes that one may not take go to the others. A pure function: `services` decides which
//! components there are, and which settings apply to them.

use std::fmt;

/// A component of the process with a memory limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Consumer {
    /// Its name.
    pub name: &'static str,
    /// Its weight in the division, relative to those of the others.
    pub weight: u32,
    /// Minimum number of bytes that it needs to work.
    pub least: u64,
    /// Maximum number of bytes that it can use.
    pub most: u64,
    /// The configured number of bytes; `None` if it is derived.
    pub set: Option<u64>,
}

/// The memory of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// The component.
    pub name: &'static str,
    /// Number of bytes.
    pub bytes: u64,
    /// Whether the number is configured, not derived.
    pub is_set: bool,
}

/// The error that the components need more memory than there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLittle {
    /// Number of bytes to divide.
    pub available: u64,
    /// The configured values, and the minimum of all other components.
    pub needed: Vec<Share>,
}

impl fmt::Display for TooLittle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let needed: u64 = self.needed.iter().map(|share| share.bytes).sum();
        let parts: Vec<String> = self
            .needed
            .iter()
            .map(|Share { name, bytes, is_set }| {
                format!("{name} {} ({})", shown(*bytes), if *is_set { "set" } else { "at least" })
            })
            .collect();
        let available = shown(self.available);
        write!(f, "{available} are divided, and {} are needed: {}", shown(needed), parts.join(", "))
    }
}

impl std::error::Error for TooLittle {}

/// Divides bytes among the components.
///
/// # Errors
/// The configured values and the minima of the others exceed the available bytes.
pub fn divide(available: u64, consumers: &[Consumer]) -> Result<Vec<Share>, TooLittle> {
    let needed: Vec<Share> = consumers
        .iter()
        .map(|part| Share {
            name: part.name,
            bytes: part.set.unwrap_or(part.least),
            is_set: part.set.is_some(),
        })
        .collect();
    let sum = needed.iter().fold(0_u64, |sum, share| sum.saturating_add(share.bytes));
    if sum > available {
        return Err(TooLittle { available, needed });
    }
    let mut bytes: Vec<Option<u64>> = consumers.iter().map(|part| part.set).collect();
    // Components at a bound are settled first, then the rest is divided again: each round settles at least
    // one.
    loop {
        let settled = bytes.iter().flatten().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
        let rest = available.saturating_sub(settled);
        let open = || consumers.iter().zip(&bytes).filter(|(_, bytes)| bytes.is_none());
        let weights: u64 = open().map(|(part, _)| u64::from(part.weight)).sum();
        let share = |part: &Consumer| scaled(rest, u64::from(part.weight), weights.max(1));
        let below = open().any(|(part, _)| share(part) < part.least);
        let bound = |part: &Consumer| match share(part) {
            bytes if bytes < part.least => Some(part.least),
            // A component at its minimum reduces the shares of the others, so minima are settled before
            // maxima.
            bytes if !below && bytes > part.most => Some(part.most),
            _ => None,
        };
        let bounds: Vec<Option<u64>> = consumers
            .iter()
            .zip(&bytes)
            .map(|(part, known)| if known.is_none() { bound(part) } else { None })
            .collect();
        if bounds.iter().all(Option::is_none) {
            let last: Vec<u64> = consumers
                .iter()
                .zip(&bytes)
                .map(|(part, known)| known.unwrap_or_else(|| share(part)))
                .collect();
            let shares = needed.into_iter().zip(last);
            return Ok(shares.map(|(share, bytes)| Share { bytes, ..share }).collect());
        }
        for (known, bound) in bytes.iter_mut().zip(bounds) {
            *known = known.or(bound);
        }
    }
}

/// Returns `bytes` × `part` / `of`, rounded down.
fn scaled(bytes: u64, part: u64, of: u64) -> u64 {
    let exact = u128::from(bytes) * u128::from(part) / u128::from(of);
    u64::try_from(exact).unwrap_or(u64::MAX)
}

/// Formats a number of bytes for users.
#[must_use]
#[allow(clippy::cast_precision_loss)]
pub fn shown(bytes: u64) -> String {
    if bytes >= 10 << 30 {
        format!("{:.1} GiB", bytes as f64 / (1_u64 << 30) as f64)
    } else {
        format!("{} MiB", bytes >> 20)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn part(name: &'static str, weight: u32, least: u64, most: u64) -> Consumer {
        Consumer { name, weight, least: least * MIB, most: most.saturating_mul(MIB), set: None }
    }

    fn mebibytes(available: u64, consumers: &[Consumer]) -> Vec<u64> {
        let shares = divide(available * MIB, consumers).unwrap();
        shares.iter().map(|share| share.bytes / MIB).collect()
    }

    #[test]
    fn what_is_not_set_is_divided_by_weight() {
        let mut parts = [part("a", 1, 1, 10_000), part("b", 3, 1, 10_000)];
        assert_eq!(mebibytes(400, &parts), [100, 300]);
        parts[0].set = Some(300 * MIB);
        assert_eq!(mebibytes(400, &parts), [300, 100]);
        let shares = divide(400 * MIB, &parts).unwrap();
        assert_eq!([shares[0].is_set, shares[1].is_set], [true, false]);
    }

    #[test]
    fn what_a_part_may_not_have_goes_to_the_others() {
        let parts = [part("a", 1, 1, 50), part("b", 1, 1, 10_000), part("c", 2, 1, 10_000)];
        assert_eq!(mebibytes(410, &parts), [50, 120, 240]);
        let parts = [part("a", 1, 200, 10_000), part("b", 1, 1, 10_000), part("c", 2, 1, 10_000)];
        assert_eq!(mebibytes(410, &parts), [200, 70, 140]);
        // The minimum of one component leaves less than the maximum of another.
        let parts = [part("a", 1, 300, 10_000), part("b", 1, 1, 100), part("c", 1, 1, 10_000)];
        assert_eq!(mebibytes(400, &parts), [300, 50, 50]);
    }

    #[test]
    fn the_shares_are_never_more_than_there_is_and_within_their_bounds() {
        for available in [700_u64, 1_024, 4_096, 8_191, 65_536, 1 << 20] {
            let parts = [
                part("a", 20, 64, 4_096),
                part("b", 15, 48, 6_144),
                part("c", 22, 64, u64::MAX),
                part("d", 3, 16, 256),
                Consumer { set: Some(100 * MIB), ..part("e", 5, 1, 10) },
            ];
            let shares = divide(available * MIB, &parts).unwrap();
            let sum: u64 = shares.iter().map(|share| share.bytes).sum();
            assert!(
                sum <= available * MIB && sum + 5 >= available * MIB,
                "{available}: {shares:?}"
            );
            for (share, part) in shares.iter().zip(&parts).filter(|(share, _)| !share.is_set) {
                assert!((part.least..=part.most).contains(&share.bytes), "{available}: {share:?}");
            }
        }
    }

    #[test]
    fn too_little_is_refused_with_what_is_needed() {
        let parts = [
            Consumer { set: Some(900 * MIB), ..part("cache", 1, 1, 10) },
            part("searches", 1, 200, 10_000),
        ];
        let refused = divide(1_024 * MIB, &parts).unwrap_err().to_string();
        assert_eq!(
            refused,
            "1024 MiB are divided, and 1100 MiB are needed: cache 900 MiB (set), searches 200 MiB (at least)"
        );
    }

    #[test]
    fn parts_without_a_weight_get_their_minimum() {
        assert_eq!(mebibytes(100, &[part("a", 0, 10, 20)]), [10]);
    }
}
