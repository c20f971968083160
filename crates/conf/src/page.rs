//! The reference page of a file, generated from the declarations.

use std::fmt::Write;

use crate::registry::Registry;
use crate::setting::{Effect, Setting, Type};

/// The beginning of each page.
const INTRODUCTION: &str = "\
This page is generated from the declarations in the code; the tests of `karst-server` or `karst-forwarder`
update it with `KARST_BLESS=1`. Changes take effect at the next start of the program. Settings marked
\"live\" can also be changed over REST, with immediate effect, and those marked \"stored\" with effect at the
next start.
";

impl Registry {
    /// Writes the page of a file, in Markdown.
    #[must_use]
    pub fn page(&self, conf: &str) -> String {
        let settings: Vec<_> = self.settings(conf).collect();
        let used = || settings.iter().filter(|setting| setting.effect != Effect::None);
        let mut page = format!("# {conf}.conf\n\n{INTRODUCTION}");
        let mut stanzas: Vec<&str> = used().map(|setting| setting.stanza).collect();
        let mut seen = std::collections::BTreeSet::new();
        stanzas.retain(|stanza| seen.insert(*stanza));
        for stanza in stanzas {
            let of: Vec<_> = used().filter(|setting| setting.stanza == stanza).collect();
            let _ = write!(page, "\n## {}\n\n", heading(stanza));
            page += "| setting | value | default | description |\n| --- | --- | --- | --- |\n";
            for setting in of {
                page += &row(setting);
            }
        }
        let mut without: Vec<&str> = settings
            .iter()
            .filter(|setting| setting.effect == Effect::None)
            .map(|setting| setting.name)
            .collect();
        without.sort_unstable();
        if !without.is_empty() {
            page +=
                "\n## Without effect\n\nSettings of Splunk that are accepted with a warning:\n\n";
            let names: Vec<String> = without.iter().map(|name| format!("`{name}`")).collect();
            page += &wrapped(&names.join(", "));
        }
        page
    }
}

fn heading(stanza: &str) -> String {
    if stanza.is_empty() {
        return "All stanzas".to_owned();
    }
    stanza.split(", ").map(|one| format!("`[{one}]`")).collect::<Vec<_>>().join(", ")
}

fn row(setting: &Setting) -> String {
    let code = |text: &str| match text {
        "" => String::new(),
        text if text.contains('|') => format!("<code>{}</code>", text.replace('|', "&#124;")),
        text => format!("`{text}`"),
    };
    let rest = match setting.effect {
        Effect::Live => " (live)",
        Effect::Stored => " (stored)",
        Effect::Restart | Effect::Note | Effect::None => "",
    };
    let kind = match setting.kind {
        Type::Choice(words) => {
            words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        }
        kind => cell(&kind.expected()),
    };
    let (name, default) = (code(setting.name), code(setting.default));
    format!("| {name}{rest} | {kind} | {default} | {} |\n", cell(&setting.description()))
}

/// Escapes a text so that it does not end its table cell, and has no tags outside of code.
fn cell(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(at, part)| match at % 2 {
        0 => part.replace('<', "&lt;"),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`").replace('|', "\\|")
}

/// Wraps a text to lines of at most 140 columns.
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut width = 0;
    for word in text.split(' ') {
        if width > 0 && width + 1 + word.len() > 140 {
            lines.push('\n');
            width = 0;
        }
        if width > 0 {
            lines.push(' ');
            width += 1;
        }
        lines += word;
        width += word.len();
    }
    lines.push('\n');
    lines
}
