//! Small languages in configuration: expressions of rules, time formats.

use std::hint::black_box;

use eval::time::{LocalClock, TimeFormat};
use eval::{Datum, Expression, Scope, ValueType};
use model::EventTime;

use super::Target;

/// Every field has the same text.
struct Event<'e>(&'e str);

impl Scope for Event<'_> {
    fn field(&self, _: &str) -> Datum<'_> {
        Datum::text(self.0)
    }

    fn now(&self) -> EventTime {
        EventTime(1_700_000_000_000_000)
    }
}

/// The first line, and what follows.
fn halves(bytes: &[u8]) -> (String, String) {
    let text = String::from_utf8_lossy(bytes);
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    (first.to_owned(), rest.to_owned())
}

fn seeds(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

pub(super) const EXPRESSION: Target = Target {
    name: "expression",
    decode: |bytes| {
        let (expression, value) = halves(bytes);
        if let Ok(expression) = Expression::compile(&expression, &|_| ValueType::Text) {
            let _ = black_box(expression.evaluate(&Event(&value)));
        }
    },
    seeds: || {
        seeds(&[
            "if(a > 3, round(a * 1.50, 2), lower(b)) . \"x\"\n4.25",
            "replace(a, \"(\\w+)=(\\w+)\", \"\\2=\\1\")\nkey=value",
            "printf(\"%05.1f|%-4s|%'d %g\", a, b, c, d)\n1234567.5",
            "json_set(a, \"b{0}.c\", 1, \"d\", json_extract(a, \"b{}\"))\n{\"b\":[{\"c\":1}]}",
            "mvjoin(mvmap(split(a, \",\"), substr(a, -2, 1)), tostring(a, \"commas\"))\na,b,c",
            "strftime(strptime(a, \"%F %T\") + 1, \"%c\")\n2023-11-14 22:13:20",
            "cidrmatch(a, \"10.0.0.1\") OR a LIKE \"10%\" XOR a IN (1, \"2\")\n10.0.0.0/8",
        ])
    },
    words: &[
        "(", ")", "\"", ",", "\n", "-", "1e308", "null()", "%", "{}", "true", "AND", "mvindex(",
    ],
};

pub(super) const TIME_FORMAT: Target = Target {
    name: "time_format",
    decode: |bytes| {
        let (format, text) = halves(bytes);
        let mut clock = LocalClock::utc();
        let now = EventTime(1_700_000_000_000_000);
        let format = TimeFormat::parse(&format);
        let time = format.strptime(&text, &mut clock, now);
        let mut out = String::new();
        format.strftime(time.unwrap_or(now), &clock, &mut out);
        black_box(out);
        let _ = black_box(eval::time::parse_time(&text, now, clock.zone()));
    },
    seeds: || {
        seeds(&[
            "%Y-%m-%d %H:%M:%S.%3N %z\n2023-11-14 22:13:20.250 +0100",
            "%d/%b/%Y:%I:%M:%S %p %Z\n14/Nov/2023:10:13:20 PM CET",
            "%s%Q %j %U %G-W%V-%u\n1700000000250",
            "%c\n-1d@d+2h",
            "%+\n11/14/2023:22:13:20",
        ])
    },
    words: &["%", "%9N", "%s", "9999999999999", "-", "@", "\n", "mon", "w7", " "],
};
