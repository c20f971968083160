//! Time formats, compiled into items for reading and writing.

use super::civil::DAY;
use super::error::Error;

/// One element of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Literal(Box<str>),
    /// A run of blanks; when reading, it matches any number of blanks.
    Space(Box<str>),
    Year4,
    Year2,
    /// A year of four digits; two digits are accepted when reading.
    YearAny,
    Century,
    IsoYear,
    IsoYear2,
    Month,
    MonthShort,
    MonthLong,
    Day,
    DayPadded,
    DayOfYear,
    Hour24,
    Hour24Padded,
    Hour12,
    Hour12Padded,
    Minute,
    Second,
    AmPm,
    AmPmLower,
    WeekdayShort,
    WeekdayLong,
    WeekdayNumber,
    WeekdayIso,
    WeekIso,
    WeekSunday,
    WeekMonday,
    Epoch,
    ZoneName,
    Offset,
    OffsetColon,
    OffsetSeconds,
    OffsetMinutes,
    OffsetHours,
    /// Fractional digits of the second: how many are written, and whether reading is limited to them.
    Fraction {
        digits: u8,
        exact: bool,
    },
    /// An undefined specifier, written as it is.
    Unknown(Box<str>),
}

/// A format in Splunk's dialect of strptime and strftime, compiled.
///
/// Date: `%Y %y %C %G %g %m %b %B %h %d %e %j %F %D %x %v`; weekday and week: `%a %A %w %u %U %V %W`;
/// time: `%H %k %I %l %M %S %p %P %T %R %r %X`; both: `%c %+ %s`; zone: `%Z %z %:z %::z %:::z %Ez`; fraction
/// of a second: `%N %Q %q %L %f` with a number of digits as in `%3N`, `%6Q`; and `%n %t %%`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeFormat {
    pub(super) items: Vec<Item>,
    format: String,
    unknown: Option<(usize, String)>,
    /// See [`TimeFormat::granule`].
    granule: Option<i64>,
}

impl TimeFormat {
    /// Compiles a format. Undefined specifiers are written as they are, and match nothing when reading.
    #[must_use]
    pub fn parse(format: &str) -> Self {
        let mut out =
            Self { items: Vec::new(), format: format.to_owned(), unknown: None, granule: None };
        out.compile(format, 0);
        out.granule = granule(&out.items);
        out
    }

    /// Compiles a format for reading times.
    ///
    /// # Errors
    /// [`Error::Format`] if a specifier can only be written, or is not defined.
    pub fn for_input(format: &str) -> Result<Self, Error> {
        let out = Self::parse(format);
        match &out.unknown {
            None => Ok(out),
            Some((at, specifier)) => Err(Error::Format {
                format: format.to_owned(),
                at: *at,
                specifier: specifier.clone(),
            }),
        }
    }

    /// Returns the text of the format.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.format
    }

    /// Returns whether the format has no specifiers, as in `YYYY-MM-DD`: it cannot read any time.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.items.iter().all(|item| matches!(item, Item::Literal(_) | Item::Space(_)))
    }

    /// Returns the maximum number of fractional digits that are read, if the format limits them.
    #[must_use]
    pub fn fraction_digits(&self) -> Option<usize> {
        self.items.iter().find_map(|item| match item {
            Item::Fraction { digits, exact: true } => Some(usize::from(*digits)),
            _ => None,
        })
    }

    /// Returns the length in seconds of the parts of a local day within which all times have the same text if
    /// the offset of the zone is the same. `None` if other properties of a time are written, too.
    pub(super) fn granule(&self) -> Option<i64> {
        self.granule
    }

    fn compile(&mut self, format: &str, depth: usize) {
        let mut rest = format;
        while let Some(first) = rest.chars().next() {
            let at = self.format.len().saturating_sub(rest.len());
            let length = if first == '%' {
                self.specifier(rest, at, depth)
            } else if first.is_whitespace() {
                let end = rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len());
                self.items.push(Item::Space(rest[..end].into()));
                end
            } else {
                let stop = rest.find(|c: char| c == '%' || c.is_whitespace());
                let end = stop.unwrap_or(rest.len());
                self.items.push(Item::Literal(rest[..end].into()));
                end
            };
            rest = &rest[length..];
        }
    }

    /// Reads the specifier at the start of the text, and returns its length.
    fn specifier(&mut self, text: &str, at: usize, depth: usize) -> usize {
        let body = &text[1..];
        let flags = body.find(|c: char| !matches!(c, '-' | '_' | '0'..='9' | ':' | 'E' | 'O'));
        let Some(letter) = flags.and_then(|end| body[end..].chars().next()) else {
            self.unknown.get_or_insert((at, body.to_owned()));
            self.items.push(Item::Literal(text.into()));
            return text.len();
        };
        let flag = &body[..flags.unwrap_or(0)];
        let length = 1 + flag.len() + letter.len_utf8();
        if let Some(expansion) = composite(letter).filter(|_| depth == 0) {
            self.compile(expansion, 1);
            if letter == 'x'
                && let Some(year) = self.items.last_mut()
            {
                *year = Item::YearAny;
            }
        } else if let Some(item) = single(flag, letter) {
            self.items.push(item);
        } else {
            self.unknown.get_or_insert((at, text[1..length].to_owned()));
            self.items.push(Item::Unknown(text[..length].into()));
        }
        length
    }
}

fn granule(items: &[Item]) -> Option<i64> {
    items.iter().try_fold(DAY, |least, item| match item {
        Item::Epoch | Item::ZoneName | Item::Fraction { .. } => None,
        Item::Second => Some(1),
        Item::Minute => Some(least.min(60)),
        Item::Hour24
        | Item::Hour24Padded
        | Item::Hour12
        | Item::Hour12Padded
        | Item::AmPm
        | Item::AmPmLower => Some(least.min(3600)),
        // They are listed, so that the compiler asks about a new item.
        Item::Literal(_)
        | Item::Space(_)
        | Item::Unknown(_)
        | Item::Year4
        | Item::Year2
        | Item::YearAny
        | Item::Century
        | Item::IsoYear
        | Item::IsoYear2
        | Item::Month
        | Item::MonthShort
        | Item::MonthLong
        | Item::Day
        | Item::DayPadded
        | Item::DayOfYear
        | Item::WeekdayShort
        | Item::WeekdayLong
        | Item::WeekdayNumber
        | Item::WeekdayIso
        | Item::WeekIso
        | Item::WeekSunday
        | Item::WeekMonday
        | Item::Offset
        | Item::OffsetColon
        | Item::OffsetSeconds
        | Item::OffsetMinutes
        | Item::OffsetHours => Some(least),
    })
}

/// Returns the format that a composite specifier stands for.
fn composite(letter: char) -> Option<&'static str> {
    Some(match letter {
        'T' | 'X' => "%H:%M:%S",
        'F' => "%Y-%m-%d",
        'D' => "%m/%d/%y",
        'x' => "%m/%d/%Y",
        'R' => "%H:%M",
        'r' => "%I:%M:%S %p",
        'c' => "%a %b %e %H:%M:%S %Y",
        '+' => "%a %b %e %H:%M:%S %Z %Y",
        'v' => "%e-%b-%Y",
        _ => return None,
    })
}

fn single(flag: &str, letter: char) -> Option<Item> {
    let digits = |default: u8| {
        let width = flag.trim_start_matches(['-', '_', '0']).parse::<u8>().ok();
        Item::Fraction { digits: width.unwrap_or(default).clamp(1, 9), exact: width.is_some() }
    };
    Some(match (flag, letter) {
        (":", 'z') => Item::OffsetColon,
        ("::", 'z') => Item::OffsetSeconds,
        (":::", 'z') => Item::OffsetHours,
        ("E", 'z') => Item::OffsetMinutes,
        (_, 'N') => digits(9),
        (_, 'Q' | 'q' | 'L') => digits(3),
        (_, 'f') => digits(6),
        (_, 'Y') => Item::Year4,
        (_, 'y') => Item::Year2,
        (_, 'C') => Item::Century,
        (_, 'G') => Item::IsoYear,
        (_, 'g') => Item::IsoYear2,
        (_, 'm') => Item::Month,
        (_, 'b' | 'h') => Item::MonthShort,
        (_, 'B') => Item::MonthLong,
        (_, 'd') => Item::Day,
        (_, 'e') => Item::DayPadded,
        (_, 'j') => Item::DayOfYear,
        (_, 'H') => Item::Hour24,
        (_, 'k') => Item::Hour24Padded,
        (_, 'I') => Item::Hour12,
        (_, 'l') => Item::Hour12Padded,
        (_, 'M') => Item::Minute,
        (_, 'S') => Item::Second,
        (_, 'p') => Item::AmPm,
        (_, 'P') => Item::AmPmLower,
        (_, 'a') => Item::WeekdayShort,
        (_, 'A') => Item::WeekdayLong,
        (_, 'w') => Item::WeekdayNumber,
        (_, 'u') => Item::WeekdayIso,
        (_, 'V') => Item::WeekIso,
        (_, 'U') => Item::WeekSunday,
        (_, 'W') => Item::WeekMonday,
        (_, 's') => Item::Epoch,
        (_, 'Z') => Item::ZoneName,
        (_, 'z') => Item::Offset,
        (_, 'n') => Item::Space("\n".into()),
        (_, 't') => Item::Space("\t".into()),
        (_, '%') => Item::Literal("%".into()),
        _ => return None,
    })
}

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(super) const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
