//! The older time modifiers, converted to `earliest` and `latest`.

use crate::ast::{
    ComparisonOperator, SearchCommand, SearchComparison, SearchExpr, TimeModifier, TimeModifierKind,
};

/// Applies `timeformat=` to the times of a search: then `starttime` and `endtime` are times in any form.
pub(super) fn formatted(mut search: SearchCommand, format: &str) -> SearchCommand {
    if let Some(expr) = &mut search.expr {
        expr.walk_mut(&mut |part| {
            let SearchExpr::Comparison(comparison) = part else { return };
            if let Some(modifier) = limit(comparison) {
                *part = SearchExpr::Time(modifier);
            }
        });
    }
    // Times outside of branches are not part of the tree.
    search.expr = match search.expr {
        Some(SearchExpr::Time(modifier)) => {
            search.time.push(modifier);
            None
        }
        Some(SearchExpr::And(members)) => {
            let mut kept = Vec::with_capacity(members.len());
            for member in members {
                match member {
                    SearchExpr::Time(modifier) => search.time.push(modifier),
                    other => kept.push(other),
                }
            }
            match kept.len() {
                0 | 1 => kept.pop(),
                _ => Some(SearchExpr::And(kept)),
            }
        }
        other => other,
    };
    let set = |modifier: &mut TimeModifier| modifier.format = Some(format.to_owned());
    search.time.iter_mut().for_each(set);
    if let Some(expr) = &mut search.expr {
        expr.walk_mut(&mut |part| {
            if let SearchExpr::Time(modifier) = part {
                set(modifier);
            }
        });
    }
    search
}

/// Returns `starttime=` or `endtime=` as a time modifier.
fn limit(comparison: &SearchComparison) -> Option<TimeModifier> {
    let kind = match comparison.field.node.as_str() {
        "starttime" => TimeModifierKind::Earliest,
        "endtime" => TimeModifierKind::Latest,
        _ => return None,
    };
    let value = comparison.value.pattern.as_literal()?.to_owned();
    let is_equal = comparison.operator == ComparisonOperator::Equal;
    is_equal.then_some(TimeModifier { kind, value, format: None, span: comparison.span })
}

/// Converts older modifiers such as `daysago=2` and `starttimeu=1700000000` to `earliest=-2d` and
/// `earliest=1700000000`.
pub(super) fn older_modifier(name: &str, value: &str) -> Option<(TimeModifierKind, String)> {
    let (kind, what) = match name.strip_prefix("end") {
        Some(what) => (TimeModifierKind::Latest, what),
        None => (TimeModifierKind::Earliest, name.strip_prefix("start").unwrap_or(name)),
    };
    let unit = match what {
        "daysago" => "d",
        "hoursago" => "h",
        "minutesago" => "m",
        "monthsago" => "mon",
        // Fields can have these names, too: it is a modifier only if the value is a time.
        "timeu" if name != what && is_number(value) => return Some((kind, value.to_owned())),
        "time" if name != what && is_date(value) => return Some((kind, value.to_owned())),
        _ => return None,
    };
    let count: u32 = value.parse().ok()?;
    Some((kind, format!("-{count}{unit}")))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Returns whether a text has the form `10/27/2025:00:00:00`.
fn is_date(text: &str) -> bool {
    let pieces: Vec<&str> = text.split(['/', ':']).collect();
    pieces.len() == 6 && pieces.iter().all(|piece| is_number(piece))
}

#[cfg(test)]
mod tests {
    use crate::testing::same;

    #[test]
    fn older_modifiers_have_meanings_of_today() {
        same("a daysago=2", "a earliest=-2d");
        same("a starthoursago=3 endminutesago=30", "a earliest=-3h latest=-30m");
        same("a startmonthsago=1", "a earliest=-1mon");
        same("a starttimeu=5 endtimeu=9", "a earliest=5 latest=9");
        same("a starttimeu::5 endtimeu::9", "a earliest=5 latest=9");
        same("a starttime=10/27/2025:00:00:00", "a earliest=10/27/2025:00:00:00");
    }

    #[test]
    fn fields_of_their_names_are_fields() {
        for text in ["daysago=x", "starttime=*", "endtime=5", "time=5", "daysago>5"] {
            let pipeline = crate::parse(text).expect(text);
            assert_eq!(pipeline.to_string(), format!("search {text}"));
        }
    }
}
