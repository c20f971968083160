//! The declaration of a setting, and the conversion of its value to a Rust value.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use crate::values;

/// A declared setting, as used by warnings, pages and forms.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The file, without `.conf`.
    pub conf: &'static str,
    /// The stanza, or the kinds of stanzas with their variable part in angle brackets, separated by
    /// commas; empty for all stanzas.
    pub stanza: &'static str,
    /// The key. A name that ends in `*` stands for a family such as `EXTRACT-<class>`.
    pub name: &'static str,
    /// The format of the value.
    pub kind: Type,
    /// The default in the format of a file; empty if there is none, or if the description states how it is
    /// computed.
    pub default: &'static str,
    /// The description, in the form of a doc comment: see [`Setting::description`].
    pub doc: &'static str,
    /// Whether and when it has an effect.
    pub effect: Effect,
}

/// Whether and when a setting has an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// After the next start of the program, which reads it from files.
    Restart,
    /// After the next start of the program, which reads it from files, or as it was changed over REST.
    Stored,
    /// Immediately if changed over REST; after the next start or reload if changed in the file.
    Live,
    /// None on the server, which keeps it for users and programs that read the stanza.
    Note,
    /// Never: Splunk's setting is accepted with a warning.
    None,
}

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A count or another number without unit.
    One,
    /// Percent.
    Percent,
    /// Bytes.
    Bytes,
    /// MB of 2^20 bytes. Read as bytes.
    Megabytes,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Minutes.
    Minutes,
    /// Days.
    Days,
}

/// The format of the value of a setting.
#[derive(Debug, Clone, Copy)]
pub enum Type {
    /// `true` or `false`, or a synonym ([`crate::boolean`]).
    Boolean,
    /// A whole number.
    Number {
        /// Its unit.
        unit: Unit,
        /// The minimum.
        least: i64,
        /// The maximum; `i64::MAX` for no limit.
        most: i64,
    },
    /// A number that may have a decimal point.
    Decimal {
        /// The minimum.
        least: f64,
        /// The maximum; infinity for no limit.
        most: f64,
    },
    /// A number above 0 and below 1.
    Fraction,
    /// Bytes with or without a unit, such as `16MB` ([`crate::size`]).
    Size {
        /// The minimum in bytes.
        least: u64,
    },
    /// A time with or without a unit, such as `90m` ([`crate::time_span`]).
    Span {
        /// The minimum in seconds.
        least: u64,
    },
    /// One of some words, ignoring case.
    Choice(&'static [&'static str]),
    /// Words between separators.
    List {
        /// `,` or `;`.
        separator: char,
    },
    /// A regular expression, which its reader compiles.
    Regex,
    /// Any text.
    Text,
    /// A text that forms do not display.
    Secret,
    /// A text with a syntax of its own.
    Form {
        /// A description of the syntax.
        expected: &'static str,
        /// Whether a text is valid.
        fits: fn(&str) -> bool,
    },
}

/// A value that matches its [`Type`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// Of [`Type::Boolean`].
    Boolean(bool),
    /// Of [`Type::Number`].
    Number(i64, Unit),
    /// Of [`Type::Decimal`] and [`Type::Fraction`].
    Decimal(f64),
    /// Of [`Type::Size`], in bytes.
    Size(u64),
    /// Of [`Type::Span`].
    Span(Duration),
    /// Of [`Type::List`].
    List(&'a str, char),
    /// Of all other types; of [`Type::Choice`] in the declared spelling.
    Text(&'a str),
}

impl Type {
    /// A whole number from `least`.
    #[must_use]
    pub const fn number(least: i64) -> Self {
        Self::of(Unit::One, least, i64::MAX)
    }

    /// A whole number from `least` to `most`.
    #[must_use]
    pub const fn range(least: i64, most: i64) -> Self {
        Self::of(Unit::One, least, most)
    }

    /// A whole number of a unit, from `least` to `most`.
    #[must_use]
    pub const fn of(unit: Unit, least: i64, most: i64) -> Self {
        Self::Number { unit, least, most }
    }

    /// Seconds from `least`.
    #[must_use]
    pub const fn seconds(least: i64) -> Self {
        Self::of(Unit::Seconds, least, i64::MAX)
    }

    /// Milliseconds from `least`.
    #[must_use]
    pub const fn milliseconds(least: i64) -> Self {
        Self::of(Unit::Milliseconds, least, i64::MAX)
    }

    /// MB from `least`.
    #[must_use]
    pub const fn megabytes(least: i64) -> Self {
        Self::of(Unit::Megabytes, least, i64::MAX)
    }

    /// A size from `least` bytes.
    #[must_use]
    pub const fn size(least: u64) -> Self {
        Self::Size { least }
    }

    /// Words between commas.
    pub const LIST: Self = Self::List { separator: ',' };

    /// Parses a text, ignoring surrounding blanks; `None` if it is invalid.
    #[must_use]
    pub fn read<'a>(&self, text: &'a str) -> Option<Value<'a>> {
        Some(match *self {
            Self::Boolean => Value::Boolean(values::boolean(text)?),
            Self::Number { unit, least, most } => {
                let number = text.parse().ok().filter(|n| (least..=most).contains(n))?;
                Value::Number(number, unit)
            }
            Self::Decimal { least, most } => {
                Value::Decimal(text.parse().ok().filter(|n| (least..=most).contains(n))?)
            }
            Self::Fraction => {
                Value::Decimal(text.parse().ok().filter(|n: &f64| *n > 0.0 && *n < 1.0)?)
            }
            Self::Size { least } => Value::Size(values::size(text).filter(|size| *size >= least)?),
            Self::Span { least } => {
                let span = values::time_span(text)?;
                Value::Span((span >= Duration::from_secs(least)).then_some(span)?)
            }
            Self::Choice(words) => {
                Value::Text(words.iter().find(|word| word.eq_ignore_ascii_case(text))?)
            }
            Self::List { separator } => Value::List(text, separator),
            Self::Regex | Self::Text | Self::Secret => Value::Text(text),
            Self::Form { fits, .. } => Value::Text(fits(text).then_some(text)?),
        })
    }

    /// A description of the valid values, for errors and pages.
    #[must_use]
    pub fn expected(&self) -> String {
        match *self {
            Self::Boolean => "true or false".to_owned(),
            Self::Number { unit, least, most } => {
                let what = match unit {
                    Unit::One => "a whole number",
                    Unit::Percent => "a percentage",
                    Unit::Bytes => "a whole number of bytes",
                    Unit::Megabytes => "a whole number of MB",
                    Unit::Milliseconds => "a whole number of milliseconds",
                    Unit::Seconds => "a whole number of seconds",
                    Unit::Minutes => "a whole number of minutes",
                    Unit::Days => "a whole number of days",
                };
                match (least, most) {
                    (i64::MIN, i64::MAX) => what.to_owned(),
                    (_, i64::MAX) => format!("{what}, {least} or more"),
                    _ => format!("{what} from {least} to {most}"),
                }
            }
            Self::Decimal { least, most: f64::INFINITY } => format!("a number, {least} or more"),
            Self::Decimal { least, most } => format!("a number from {least} to {most}"),
            Self::Fraction => "a number above 0 and below 1".to_owned(),
            Self::Size { least: 0 } => "a size such as 500KB, 16MB or 1GB".to_owned(),
            Self::Size { least } => {
                format!("a size such as 500KB, 16MB or 1GB, {} or more", shown_size(least))
            }
            Self::Span { least: 0 } => "a time span such as 90s, 30m, 1h or 2d".to_owned(),
            Self::Span { least } => {
                format!("a time span such as 90s, 30m, 1h or 2d, {least}s or more")
            }
            Self::Choice(words) => match words {
                [] => String::new(),
                [only] => (*only).to_owned(),
                [first @ .., last] => format!("{} or {last}", first.join(", ")),
            },
            Self::List { separator: ',' } => "a comma-separated list".to_owned(),
            Self::List { separator: ';' } => "a semicolon-separated list".to_owned(),
            Self::List { separator } => format!("a list separated by \"{separator}\""),
            Self::Regex => "a regular expression".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Secret => "a secret".to_owned(),
            Self::Form { expected, .. } => expected.to_owned(),
        }
    }
}

fn shown_size(bytes: u64) -> String {
    match bytes.trailing_zeros() {
        30.. => format!("{}GB", bytes >> 30),
        20.. => format!("{}MB", bytes >> 20),
        10.. => format!("{}KB", bytes >> 10),
        _ if bytes == 1 => "1 byte".to_owned(),
        _ => format!("{bytes} bytes"),
    }
}

impl Setting {
    /// Splunk's setting that is accepted and has no effect.
    #[must_use]
    pub const fn without_effect(conf: &'static str, name: &'static str) -> Self {
        let doc = "accepted, without effect in this version";
        Self { conf, stanza: "", name, kind: Type::Text, default: "", doc, effect: Effect::None }
    }

    /// The description as one paragraph.
    #[must_use]
    pub fn description(&self) -> String {
        self.doc.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Whether this is the setting of a key in a stanza. A setting of other stanzas is accepted, too,
    /// because `[default]` may set it.
    #[must_use]
    pub fn has_name(&self, stanza: &str, key: &str) -> bool {
        match self.name.strip_suffix('*') {
            Some("") => self.is_in(stanza),
            Some(family) => key.starts_with(family),
            None => self.name == key,
        }
    }

    /// Whether it is declared for a stanza.
    #[must_use]
    pub fn is_in(&self, stanza: &str) -> bool {
        self.stanza.is_empty()
            || stanza == "default"
            || self.stanza.split(", ").any(|kind| match kind.split_once('<') {
                // `<LDAP strategy>`: any name.
                Some((prefix, rest)) => {
                    let (_, suffix) = rest.split_once('>').unwrap_or(("", ""));
                    stanza.starts_with(prefix) && stanza.ends_with(suffix)
                }
                None => kind == stanza,
            })
    }
}

/// Splunk's settings of a file that are accepted and have no effect.
#[must_use]
pub const fn without_effect<const N: usize>(
    conf: &'static str,
    names: [&'static str; N],
) -> [Setting; N] {
    let mut settings = [Setting::without_effect(conf, ""); N];
    let mut at = 0;
    while at < N {
        settings[at].name = names[at];
        at += 1;
    }
    settings
}

/// Settings of a file that are kept, but have no effect.
#[must_use]
pub const fn notes<const N: usize>(conf: &'static str, names: [&'static str; N]) -> [Setting; N] {
    let mut settings = without_effect(conf, names);
    let mut at = 0;
    while at < N {
        settings[at].doc = "Stored with the stanza and shown; without effect.";
        settings[at].effect = Effect::Note;
        at += 1;
    }
    settings
}

/// A setting that is read on its own, as a `T`.
#[derive(Debug, Clone, Copy)]
pub struct Key<T> {
    /// The declaration.
    pub setting: Setting,
    read_as: PhantomData<fn() -> T>,
}

impl<T> Key<T> {
    /// Made by [`crate::keys!`].
    #[must_use]
    pub const fn new(setting: Setting) -> Self {
        Self { setting, read_as: PhantomData }
    }

    /// The name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.setting.name
    }

    /// The name of a family without its `*`.
    #[must_use]
    pub fn prefix(&self) -> &'static str {
        self.setting.name.trim_end_matches('*')
    }
}

impl<T: FromValue> Key<T> {
    /// Reads a value from text.
    #[must_use]
    pub fn value(&self, text: &str) -> Option<T> {
        self.setting.value(text)
    }

    /// The value that is used if nothing is set.
    ///
    /// # Panics
    /// If the declaration has no default for a type that needs one.
    #[must_use]
    pub fn default_value(&self) -> T {
        self.setting.default_value().expect("the default is a value")
    }
}

/// A Rust type for values of settings.
pub trait FromValue: Sized {
    /// The value; `None` if the type cannot hold it.
    fn from_value(value: Value<'_>) -> Option<Self>;

    /// The value of a setting that is neither set nor has a default; `None` if the setting is required.
    fn absent() -> Option<Self> {
        None
    }
}

impl FromValue for bool {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Boolean(truth) => Some(truth),
            _ => None,
        }
    }
}

macro_rules! whole_numbers {
    ($($number:ty)*) => {$(
        impl FromValue for $number {
            fn from_value(value: Value<'_>) -> Option<Self> {
                match value {
                    Value::Number(number, Unit::Megabytes) => number.checked_mul(1 << 20)?.try_into().ok(),
                    Value::Number(number, _) => number.try_into().ok(),
                    Value::Size(bytes) => bytes.try_into().ok(),
                    _ => None,
                }
            }
        }
    )*};
}

whole_numbers!(i32 i64 u16 u32 u64 usize);

impl FromValue for f64 {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Decimal(number) => Some(number),
            _ => None,
        }
    }
}

impl FromValue for Duration {
    fn from_value(value: Value<'_>) -> Option<Self> {
        let (number, unit) = match value {
            Value::Span(span) => return Some(span),
            Value::Number(number, unit) => (u64::try_from(number).ok()?, unit),
            _ => return None,
        };
        match unit {
            Unit::Milliseconds => Some(Self::from_millis(number)),
            Unit::Seconds => Some(Self::from_secs(number)),
            Unit::Minutes => Some(Self::from_secs(number.checked_mul(60)?)),
            Unit::Days => Some(Self::from_secs(number.checked_mul(86_400)?)),
            Unit::One | Unit::Percent | Unit::Bytes | Unit::Megabytes => None,
        }
    }
}

impl FromValue for String {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.to_owned()),
            _ => None,
        }
    }
}

impl FromValue for Arc<str> {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.into()),
            _ => None,
        }
    }
}

impl FromValue for Vec<String> {
    fn from_value(value: Value<'_>) -> Option<Self> {
        let Value::List(text, separator) = value else { return None };
        let words = text.split(separator).map(str::trim).filter(|word| !word.is_empty());
        Some(words.map(str::to_owned).collect())
    }

    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value<'_>) -> Option<Self> {
        T::from_value(value).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_types_units_and_ranges() {
        let read = |kind: Type, text: &'static str| kind.read(text);
        assert_eq!(read(Type::Boolean, "yes"), Some(Value::Boolean(true)));
        assert_eq!(read(Type::range(1, 64), "65"), None);
        let megabytes = read(Type::megabytes(0), "2").and_then(u64::from_value);
        assert_eq!(megabytes, Some(2 << 20));
        let minutes = read(Type::of(Unit::Minutes, 1, 9), "2").and_then(Duration::from_value);
        assert_eq!(minutes, Some(Duration::from_secs(120)));
        assert_eq!(read(Type::size(4096), "1KB"), None);
        assert_eq!(read(Type::Span { least: 1 }, "0"), None);
        assert_eq!(read(Type::Choice(&["LDAP", "SAML"]), "ldap"), Some(Value::Text("LDAP")));
        assert_eq!(read(Type::Fraction, "1"), None);
        assert_eq!(read(Type::number(0), "70000").and_then(u16::from_value), None);
    }

    #[test]
    fn the_expectation_is_said_in_words() {
        let said = [
            (Type::number(1), "a whole number, 1 or more"),
            (Type::range(1, 64), "a whole number from 1 to 64"),
            (Type::of(Unit::Seconds, 1, 60), "a whole number of seconds from 1 to 60"),
            (Type::size(8 << 10), "a size such as 500KB, 16MB or 1GB, 8KB or more"),
            (Type::Choice(&["lz4", "zstd", "none"]), "lz4, zstd or none"),
        ];
        for (kind, expected) in said {
            assert_eq!(kind.expected(), expected);
        }
    }

    #[test]
    fn stanzas_may_have_variable_names() {
        let of = |stanza| Setting { stanza, ..Setting::without_effect("x", "k") };
        assert!(of("monitor://<path>, batch://<path>").is_in("batch:///var/log"));
        assert!(!of("monitor://<path>, batch://<path>").is_in("tcp://1"));
        assert!(of("search").is_in("default") && !of("search").is_in("kv"));
        assert!(of("<LDAP strategy>").is_in("corp"));
    }
}
