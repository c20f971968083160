//! What an event holds, drawn from a counter-based generator.
//!
//! Events are numbered from 1. Four 64-bit words per event come from SplitMix64's mixing function
//! over (seed, number); every field is a slice of their bits, so a field never changes because
//! another one is drawn differently.

use crate::words::{METHODS, PATHS, STATUSES, path_weights, weighted};

/// Users are numbered 1 to this, all equally likely.
pub const USERS: u64 = 1_000_000;

/// A run of events: which, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    /// Another seed gives other events.
    pub seed: u64,
    /// How many events; they are numbered from 1.
    pub events: u64,
    /// Time of the first event, UTC microseconds.
    pub start: i64,
    /// Time from the first event to the end of the run, in microseconds; events are spread evenly.
    pub span: u64,
    /// How many hosts there are.
    pub hosts: u32,
}

/// An event's fields, not yet text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The event's number, field `id`.
    pub number: u64,
    /// UTC microseconds.
    pub time: i64,
    /// Which host, from 0.
    pub host: u32,
    /// Index into [`PATHS`].
    pub path: u8,
    /// Index into [`METHODS`].
    pub method: u8,
    /// HTTP status.
    pub status: u16,
    /// Milliseconds.
    pub latency: u32,
    /// Size of the response.
    pub bytes: u32,
    /// 1 to [`USERS`].
    pub user: u32,
    /// Written as 16 hexadecimal digits.
    pub session: u64,
    /// Whether a 2xx or 3xx event is logged as DEBUG.
    pub debug: bool,
    /// Indexes of the three parts of the message, 4 bits each.
    pub message: u16,
}

/// SplitMix64's finaliser.
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Lookup tables of the weighted draws.
#[derive(Debug, Clone)]
pub struct Tables {
    paths: [u8; 4_096],
    methods: [u8; 64],
    statuses: [u8; 1_000],
}

impl Default for Tables {
    fn default() -> Self {
        Self {
            paths: weighted(path_weights().into_iter()),
            methods: weighted(METHODS.iter().map(|(_, weight)| *weight)),
            statuses: weighted(STATUSES.iter().map(|(_, weight)| *weight)),
        }
    }
}

/// The part of `range` that a slice of `bits` bits falls on.
#[allow(clippy::cast_possible_truncation)]
const fn scaled(slice: u64, bits: u32, range: u64) -> u32 {
    ((slice * range) >> bits) as u32
}

impl Stream {
    /// The event of a number, from tables made once.
    #[inline]
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn draw(&self, tables: &Tables, number: u64, time: i64) -> Event {
        let base = mix(self.seed.wrapping_add(GOLDEN)).wrapping_add(number.wrapping_mul(GOLDEN));
        let a = mix(base);
        let b = mix(base ^ 0x5851_f42d_4c95_7f2d);
        let c = mix(base ^ 0x1405_7b7e_f767_814f);
        let session = mix(base ^ 0xd134_2543_de82_ef95);
        let path = tables.paths[(b & 0xfff) as usize];
        let status = tables.statuses[scaled((b >> 12) & 0xffff_ffff, 32, 1_000) as usize];
        Event {
            number,
            time,
            host: scaled(a >> 32, 32, u64::from(self.hosts)),
            user: 1 + scaled(a & 0xffff_ffff, 32, USERS),
            path,
            method: tables.methods[((b >> 44) & 63) as usize],
            status: STATUSES[usize::from(status)].0,
            latency: latency(c, path),
            bytes: 200 + scaled((c >> 32) & 0xffff, 16, 20_000),
            session,
            debug: (c >> 48) & 15 == 0,
            message: ((c >> 52) & 0xfff) as u16,
        }
    }

    /// The event of a number.
    #[must_use]
    pub fn event(&self, number: u64) -> Event {
        self.draw(&Tables::default(), number, self.time_of(number))
    }

    /// When the event of a number happened.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn time_of(&self, number: u64) -> i64 {
        let before = u128::from(number.saturating_sub(1));
        let offset = before * u128::from(self.span) / u128::from(self.events.max(1));
        self.start.saturating_add(offset as i64)
    }

    /// Calls `each` with the events of a range of numbers, in order.
    pub fn for_each(&self, numbers: std::ops::Range<u64>, mut each: impl FnMut(&Event)) {
        let tables = Tables::default();
        let events = self.events.max(1);
        let (step, rest) = (self.span / events, self.span % events);
        let mut time = self.time_of(numbers.start);
        // What the division has left over so far, in units of 1/events microseconds.
        let before = u128::from(numbers.start.saturating_sub(1));
        let left = before * u128::from(rest) % u128::from(events);
        let mut left = u64::try_from(left).unwrap_or(0);
        for number in numbers {
            each(&self.draw(&tables, number, time));
            left += rest;
            let carry = left >= events;
            if carry {
                left -= events;
            }
            time += i64::try_from(step).unwrap_or(0) + i64::from(carry);
        }
    }

    /// All numbers.
    #[must_use]
    pub fn numbers(&self) -> std::ops::Range<u64> {
        1..self.events + 1
    }
}

/// Each doubling of the latency is half as likely, and later (rarer) paths are a little slower.
#[allow(clippy::cast_possible_truncation)]
const fn latency(bits: u64, path: u8) -> u32 {
    let magnitude = ((bits >> 16) as u16 | 1 << 6).leading_zeros();
    let low = 4_u32 << magnitude;
    low + scaled(bits & 0xffff, 16, low as u64) + path as u32 / 2
}

impl Event {
    /// How the event is logged: server errors as ERROR, client errors as WARN.
    #[must_use]
    pub const fn level(&self) -> &'static str {
        match self.status {
            500.. => "ERROR",
            400..500 => "WARN",
            _ if self.debug => "DEBUG",
            _ => "INFO",
        }
    }

    /// The path's text.
    #[must_use]
    pub fn path(&self) -> &'static str {
        PATHS[usize::from(self.path)]
    }

    /// How many marker words the event has: those whose number divides its own.
    #[inline]
    #[must_use]
    pub const fn markers(&self) -> usize {
        let mut rest = self.number;
        let mut markers = 1;
        while markers < 7 && rest.is_multiple_of(10) {
            rest /= 10;
            markers += 1;
        }
        markers
    }
}
