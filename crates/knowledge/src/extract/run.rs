//! One extraction: applies the rules to an event in order, within the limits.

use std::borrow::Cow;
use std::ops::ControlFlow;

use eval::xml;
use model::columns;

use super::seen::Seen;
use super::{Alias, Extraction, ExtractionLimit, FIXED, FieldRules, KvMode, Wanted, json, kv};

/// The stage number of automatic extraction, which is the last; transforms count from zero and saturate.
const AUTOMATIC: u8 = u8::MAX;

/// Returns whether [`FIXED`] contains the name; the first letter excludes most names.
#[inline]
fn is_fixed(name: &str) -> bool {
    matches!(name.as_bytes().first(), Some(b'h' | b's' | b'i' | b'_')) && FIXED.contains(&name)
}

pub(super) struct Run<'a, 'r> {
    rules: &'r FieldRules,
    wanted: Option<&'r Wanted>,
    sink: &'r mut dyn FnMut(&str, Cow<'a, str>),
    seen: Seen,
    /// Values of the fields in `rules.kept`, by their index there.
    kept: Vec<(usize, Cow<'a, str>)>,
    out: Extraction,
    automatic: usize,
    /// Whether a name that automatic extraction finds again adds another value.
    repeats: bool,
}

impl<'a, 'r> Run<'a, 'r> {
    pub(super) fn new(
        rules: &'r FieldRules,
        wanted: Option<&'r Wanted>,
        sink: &'r mut dyn FnMut(&str, Cow<'a, str>),
    ) -> Self {
        let (seen, kept, out) = (Seen::new(), Vec::new(), Extraction::default());
        Self { rules, wanted, sink, seen, kept, out, automatic: 0, repeats: false }
    }

    pub(super) fn run(mut self, raw: &'a str) -> Extraction {
        self.transforms(raw);
        if self.wanted.is_none_or(|wanted| wanted.automatic) {
            self.automatic(raw);
        }
        if !self.rules.aliases.is_empty() {
            self.aliases(raw);
        }
        self.out
    }

    fn transforms(&mut self, raw: &'a str) {
        let rules = self.rules;
        for (at, rule) in rules.transforms.iter().enumerate() {
            if self.wanted.is_some_and(|wanted| !wanted.transforms[at]) {
                continue;
            }
            let stage = u8::try_from(at).unwrap_or(AUTOMATIC - 1).min(AUTOMATIC - 1);
            let add = rule.transform.add;
            let Some(field) = rule.transform.source.as_deref() else {
                rule.transform.apply(raw, &mut |name, value| {
                    let _ = self.field(name, value, stage, add);
                });
                continue;
            };
            match self.source(field) {
                Some(Cow::Borrowed(text)) => rule.transform.apply(text, &mut |name, value| {
                    let _ = self.field(name, value, stage, add);
                }),
                Some(Cow::Owned(text)) => rule.transform.apply(&text, &mut |name, value| {
                    let _ = self.field(name, Cow::Owned(value.into_owned()), stage, add);
                }),
                None => {}
            }
        }
    }

    /// Returns the text of a field that a rule reads: several values are joined as lines.
    fn source(&self, field: &str) -> Option<Cow<'a, str>> {
        let metadata = self.rules.metadata.iter().find(|(name, _)| name == field);
        if let Some((_, value)) = metadata {
            return Some(Cow::Owned(value.clone()));
        }
        let slot = self.rules.kept.binary_search_by(|name| name.as_str().cmp(field)).ok()?;
        let mut values = self.kept.iter().filter(|(at, _)| *at == slot).map(|(_, value)| value);
        let mut text = values.next()?.clone();
        for value in values {
            let lines = text.to_mut();
            lines.push('\n');
            lines.push_str(value);
        }
        Some(text)
    }

    fn values_of(&self, field: &str, raw: &'a str) -> Vec<Cow<'a, str>> {
        if field == columns::RAW {
            return vec![Cow::Borrowed(raw)];
        }
        let metadata = self.rules.metadata.iter().find(|(name, _)| name == field);
        if let Some((_, value)) = metadata {
            return match value.is_empty() {
                true => Vec::new(),
                false => vec![Cow::Owned(value.clone())],
            };
        }
        let Ok(slot) = self.rules.kept.binary_search_by(|name| name.as_str().cmp(field)) else {
            return Vec::new();
        };
        self.kept.iter().filter(|(at, _)| *at == slot).map(|(_, value)| value.clone()).collect()
    }

    fn automatic(&mut self, raw: &'a str) {
        let limit = self.rules.limits.chars;
        let text = match raw.len() > limit && limit > 0 {
            true => {
                self.out.cut.get_or_insert(ExtractionLimit::Chars);
                &raw[..raw.floor_char_boundary(limit)]
            }
            false => raw,
        };
        let (mode, auto_json, wanted) = (self.rules.mode, self.rules.auto_json, self.wanted);
        let most = self.rules.limits.automatic;
        let json = match mode {
            KvMode::Json => json::parse(text),
            KvMode::Auto | KvMode::AutoEscaped if auto_json => json::parse(text),
            _ => None,
        };
        // Arrays, repeated XML elements and repeated names of objects give several values; a repeated
        // key=value pair does not.
        self.repeats = json.is_some() || matches!(mode, KvMode::Xml | KvMode::Multi);
        let mut visit = |name: &str, value: Cow<'a, str>| self.automatic_field(name, value);
        let mut is_deep = false;
        let mut deeper = |path: &str| {
            is_deep |= wanted.is_none_or(|wanted| wanted.needs_below(path));
        };
        // A text this short has fewer values than the limit, so that skipping values does not change the
        // result.
        let is_short = most == 0 || text.len() / 2 < most;
        let wants =
            |path: &str| !is_short || wanted.is_none_or(|wanted| wanted.may_need_within(path));
        let _ = match (json, mode) {
            (Some(object), _) => json::walk(object, &mut visit, &mut deeper, &wants),
            (None, KvMode::Auto) => kv::pairs(text, false, &mut visit),
            (None, KvMode::AutoEscaped) => kv::pairs(text, true, &mut visit),
            (None, KvMode::Xml) => xml::walk(text, &mut visit),
            (None, KvMode::Multi) => columns(text, &mut visit),
            (None, KvMode::Json | KvMode::None) => ControlFlow::Continue(()),
        };
        if is_deep {
            self.out.cut.get_or_insert(ExtractionLimit::Depth);
        }
    }

    #[inline]
    fn automatic_field(&mut self, name: &str, value: Cow<'a, str>) -> ControlFlow<()> {
        let limit = self.rules.limits.automatic;
        if self.automatic == limit && limit > 0 {
            self.out.cut = Some(ExtractionLimit::Automatic);
            return ControlFlow::Break(());
        }
        self.automatic += 1;
        let several = self.repeats || (name.as_bytes().contains(&b'{') && name.contains("{}"));
        self.field(name, value, AUTOMATIC, several)
    }

    /// Takes a value unless an earlier rule found the field, or the field has a value and is not multivalue.
    #[inline(always)]
    fn field(
        &mut self,
        name: &str,
        value: Cow<'a, str>,
        stage: u8,
        several: bool,
    ) -> ControlFlow<()> {
        let needed = self.wanted.is_none_or(|wanted| wanted.needs(name));
        if !needed || is_fixed(name) {
            return ControlFlow::Continue(());
        }
        let earlier = self.seen.note(name, stage);
        let taken = match earlier {
            None => true,
            Some(AUTOMATIC) => several,
            Some(_) => several && stage != AUTOMATIC,
        };
        if !taken {
            return ControlFlow::Continue(());
        }
        if !self.rules.kept.is_empty()
            && let Ok(slot) = self.rules.kept.binary_search_by(|kept| kept.as_str().cmp(name))
        {
            if self.rules.aliases.iter().any(|alias| alias.alias == name && !alias.keep_existing) {
                // An alias may replace the value, so it is passed on only when the aliases are known.
                self.kept.push((slot, value));
                return ControlFlow::Continue(());
            }
            self.kept.push((slot, value.clone()));
        }
        self.hand_out(name, value)
    }

    #[inline(always)]
    fn hand_out(&mut self, name: &str, value: Cow<'a, str>) -> ControlFlow<()> {
        if self.wanted.is_some_and(|wanted| !wanted.contains(name)) {
            return ControlFlow::Continue(());
        }
        let limit = self.rules.limits.columns;
        if self.out.values == limit && limit > 0 {
            self.out.cut = Some(ExtractionLimit::Columns);
            self.out.lacks_columns = true;
            return ControlFlow::Break(());
        }
        self.out.values += 1;
        (self.sink)(name, value);
        ControlFlow::Continue(())
    }

    /// Applies the aliases in order. If an alias replaces a field, the previous values of that field are
    /// dropped; if the source of the alias does not exist, the field keeps its own values.
    fn aliases(&mut self, raw: &'a str) {
        let rules = self.rules;
        let mut done: Vec<&str> = Vec::new();
        for alias in rules.aliases.iter().filter(|alias| !is_fixed(&alias.alias)) {
            let own = !self.values_of(&alias.alias, raw).is_empty();
            let values = self.values_of(&alias.field, raw);
            if values.is_empty() || (alias.keep_existing && own) {
                continue;
            }
            let Ok(slot) = rules.kept.binary_search(&alias.alias) else { continue };
            self.kept.retain(|(at, _)| *at != slot);
            let replaced = |other: &Alias| other.alias == alias.alias && !other.keep_existing;
            if !rules.aliases.iter().any(replaced) {
                for value in &values {
                    let _ = self.hand_out(&alias.alias, value.clone());
                }
            }
            self.kept.extend(values.into_iter().map(|value| (slot, value)));
        }
        for alias in rules.aliases.iter().filter(|alias| !alias.keep_existing) {
            let name = alias.alias.as_str();
            if done.contains(&name) || is_fixed(name) {
                continue;
            }
            done.push(name);
            for value in self.values_of(name, raw) {
                let _ = self.hand_out(name, value);
            }
        }
    }
}

/// Visits the values of the tables in an event, line by line.
fn columns<'a>(
    text: &'a str,
    visit: &mut dyn FnMut(&str, Cow<'a, str>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let reading = eval::tabular::Reading { several: true, ..Default::default() };
    let mut flow = ControlFlow::Continue(());
    eval::tabular::rows(text, &reading, &mut |_, values| {
        for (name, value) in values {
            if flow.is_continue() {
                flow = visit(name, Cow::Owned((*value).to_owned()));
            }
        }
    });
    flow
}

#[cfg(test)]
mod tests {
    use super::{FIXED, is_fixed};

    #[test]
    fn every_fixed_name_is_recognised() {
        assert!(FIXED.iter().all(|name| is_fixed(name)));
        assert!(!is_fixed("status") && !is_fixed("") && !is_fixed("user"));
    }
}
