//! Small languages in configuration and searches (expressions of rules, time formats, regular expressions,
//! sed scripts, paths), and the text of events that they read.

use std::hint::black_box;
use std::sync::{Arc, LazyLock};

use conf::{Layer, Layers};
use eval::json::DocumentPath;
use eval::time::{LocalClock, TimeFormat};
use eval::{Datum, Expression, Scope, Sed, ValueType};
use knowledge::{FieldRules, Knowledge};
use model::EventTime;
use tables::text::xml::XPath;

use super::Target;

/// An event whose fields all have the same text.
struct Event<'e>(&'e str);

impl Scope for Event<'_> {
    fn field(&self, _: &str) -> Datum<'_> {
        Datum::text(self.0)
    }

    fn now(&self) -> EventTime {
        EventTime(1_700_000_000_000_000)
    }
}

/// Splits bytes into the first line and the rest.
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

pub(super) const PATTERN: Target = Target {
    name: "pattern",
    decode: |bytes| {
        let (pattern, text) = halves(bytes);
        eval::fuzzing::pattern(&pattern, &text);
    },
    seeds: || {
        seeds(&[
            r#"^(?<ip>[\d.]+) \S+ (\S+) \[([^\]]*)\] "(?<method>\w+) ([^ "]*)
10.0.0.1 - bob [14/Nov/2023] "GET /a?b HTTP/1.1" 200"#,
            r"(?i)user=(?<user>[^,;]*?)[,;]|\bid:(\d{2,5})\b
User=ann;id:1234 id:1",
            r"(a|ab)(c|bcd)(d*)$
abcd",
            r"^(?:x[^;,]*?y)*
xyxzyx;y",
            r"(?<=k=)(\w)\1(?!b)
k=aab k=bbc",
            r"[[:alpha:]\s-]+\h*\Z
ab c-d ",
        ])
    },
    words: &[
        "(", ")", "(?:", "(?<n>", "(?i)", "[^", "]", "*?", "+", "{2,3}", "?", "|", "^", "$", "\\b",
        "\\d", "\\w", "\\S", ".", "\n", "ä", "\\x41", "\\1", "(?=",
    ],
};

pub(super) const SED: Target = Target {
    name: "sed",
    decode: |bytes| {
        let (script, text) = halves(bytes);
        if let Ok(sed) = Sed::compile(&script) {
            black_box(sed.apply(&text, 1 << 20));
        }
    },
    seeds: || {
        seeds(&[
            r"s/(\d{4})-(\d{4})/\1-xxxx/2g s#/(\w+)/#\0\1#
1234-5678 1111-2222 /a/b/c/",
            r"y/äbc/xyz/  s/a\/b/$1\n/I
AäbC a/b",
            r"s|(?<=id=)\w*|#|g
id=abc id= id=ö",
        ])
    },
    words: &[
        "s/", "y/", "/", "\\", "\\1", "\\9", "g", "i", "2", "99999999", " ", "\n", "ä", "^", "$",
        "(", ")", ".*", "|",
    ],
};

pub(super) const JSON: Target = Target {
    name: "json",
    decode: |bytes| {
        let (path, text) = halves(bytes);
        eval::fuzzing::json(&text);
        // Paths are written by users, so that long ones may be slow.
        let path: String = path.chars().take(100).collect();
        eval::fuzzing::json_at(&path, &text);
        let mut values = 0;
        let is_whole = DocumentPath::new(&path).visit(&text, &mut |value| values += value.len());
        black_box((values, is_whole));
    },
    seeds: || {
        let mut all = seeds(&[
            r#"a.b{}.c
{"a":{"b":[{"c":1.50},{"c":"x\n\u00e9"},null]},"d":[-0.0,1e5,true,{}]}"#,
            "{}{0}\n [[1, 2], [ 3 ] , [] , 12345678901234567890.10]\n",
            r#"'d.e'.f
{"d.e":{"f":false},"d":1,"d":2,"":"\ud83d\ude00 \"\\"}"#,
            "a{2}.b{@c}\n<a><b>1</b></a><a><b c='2'>3 &amp; 4</b></a>",
        ]);
        let deep = |levels: usize| format!("{{}}\n{}7{}", "[".repeat(levels), "]".repeat(levels));
        all.extend([127, 128, 200].map(|levels| deep(levels).into_bytes()));
        all
    },
    words: &[
        "{", "}", "[", "]", "\"", ":", ",", "\\", "\\u", "\\ud800", "null", "true", "-", "1e999",
        "0.", "{\"a\":", "[[", "]]", "{}", ".", "'", "\n", " ", "ä",
    ],
};

pub(super) const TIMESTAMP: Target = Target {
    name: "timestamp",
    decode: |bytes| {
        let now = EventTime(1_700_000_000_000_000);
        knowledge::fuzzing::timestamps(&String::from_utf8_lossy(bytes), now);
    },
    seeds: || {
        seeds(&[
            "2023-11-14T22:13:20.250+01:00 a\n2023-11-14T22:13:20.251+01:00 b\n2023-11-14 22:13:21,5 c",
            "Nov 14 22:13:20 host a: b\nNov 14 22:13:21 host c\nNov  4 02:13:21 host c",
            "10.0.0.1 - - [14/Nov/2023:22:13:20 +0000] \"GET\"\n[Tue Nov 14 22:13:20.1 2023] x",
            "{\"time\":1700000000.25,\"timestamp\":\"2023-11-14T22:13:20Z\"}\n1700000000 x\n1700000000123",
            "11/14/2023 10:13:20 PM LogName=x\n14.11.2023 22:13:20\n20231114221320",
            "I1114 22:13:20.25 1 a.cc:1] x\nW1114 22:13:20.5 2 a\nE20231114 22:13:20.5 3 b\n231114 22:13:20 c",
            "@400000006553f1aa1e9d8f64 a\n@400000006553f1aa b\n231114  2:13:20 c\n1700000000123456789 d",
        ])
    },
    words: &[
        "\n",
        ":",
        "-",
        "/",
        " ",
        ".",
        ",",
        "Z",
        "+0100",
        "UTC",
        "AM",
        "Nov",
        "1700000000",
        "00",
        "2023-02-29",
        "24:00:00",
        "23:59:60",
        "{\"time\":",
        "ä",
    ],
};

/// The rules of each kind of automatic extraction.
static RULES: LazyLock<Vec<Arc<FieldRules>>> = LazyLock::new(|| {
    let modes = ["xml", "json", "auto_escaped", "auto"];
    let text = modes.map(|mode| format!("[{mode}]\nKV_MODE = {mode}\n")).concat();
    let knowledge = Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "props", &text));
    modes.map(|mode| knowledge.field_rules(mode, "", "")).to_vec()
});

pub(super) const FIELDS: Target = Target {
    name: "fields",
    decode: |bytes| {
        let text = String::from_utf8_lossy(bytes);
        for rules in RULES.iter() {
            let mut all = Vec::new();
            let extraction = rules.extract(&text, &mut |name, value| {
                all.push((name.to_owned(), value.into_owned()));
            });
            if extraction.cut.is_some() {
                continue;
            }
            // Extracting one field alone must give the same values as extracting all.
            let Some((name, _)) = all.get(all.len() / 2).cloned() else { continue };
            let wanted = rules.wanted([name.as_str()]);
            let mut alone = Vec::new();
            let _ = rules.extract_wanted(&text, &wanted, &mut |name, value| {
                alone.push((name.to_owned(), value.into_owned()));
            });
            all.retain(|(field, _)| *field == name);
            assert_eq!(alone, all, "{name}");
        }
    },
    seeds: || {
        seeds(&[
            "<Event xmlns='x'><System><Provider Name='a'/><EventID>4624</EventID></System><D>a &lt; b<!-- c --><![CDATA[d]]></D></Event>",
            r#"{"a":{"b":[1,{"c":"x"},null]},"d.e":true,"f":"\u00e4\n","a":1e999}"#,
            r#"2023-11-14 a=1 b="x y" c='z' d="q\"r" e: 5, f=g=h; _x=1 "k"="v""#,
            "prefix {\"a\":1} a=2 <b>3</b>",
        ])
    },
    words: &[
        "<",
        "</",
        "/>",
        "<a b='c'>",
        "&amp;",
        "&#x41;",
        "<![CDATA[",
        "]]>",
        "<!--",
        "{",
        "}",
        "[",
        "]",
        "\"",
        ":",
        ",",
        "=",
        " ",
        "\\",
        "'",
        "\n",
        "null",
        "ä",
    ],
};

pub(super) const XPATH: Target = Target {
    name: "xpath",
    decode: |bytes| {
        let (path, xml) = halves(bytes);
        let mut out = String::new();
        tables::text::xml::unescape(&xml, &mut out);
        tables::text::xml::simple_elements(&xml, &mut |name, value| {
            out.push_str(name);
            out.push_str(value);
        });
        if let Ok(path) = XPath::parse(&path) {
            path.visit(&xml, &mut |text| out.push_str(text));
        }
        black_box(out);
    },
    seeds: || {
        seeds(&[
            "//System/EventID\n<Event xmlns='x'><System><EventID a=\"1\">4624</EventID></System></Event>",
            "/a/*[@k='v'][2]/text()\n<?xml version='1.0'?><a><b k='v'>1</b><b k=\"v\">2 &amp; 3</b></a>",
            "//b[text()!='x'][last()]/@*\n<a><b>x</b><b c='&#x20AC;' d='2'><![CDATA[<y>]]></b><!-- z --></a>",
            ".//b[c='1']//text()\nbefore <a><b><c>1</c>t<d/>u</b></a> after",
        ])
    },
    words: &[
        "<",
        "</",
        "/>",
        ">",
        "<a>",
        "</a>",
        "<a b='c'>",
        "&amp;",
        "&#x41;",
        "&#",
        ";",
        "<![CDATA[",
        "]]>",
        "<!--",
        "-->",
        "<?",
        "<!DOCTYPE a [",
        "//",
        "/*",
        "[",
        "]",
        "@*",
        "[last()]",
        "[1]",
        "text()",
        "\n",
    ],
};
