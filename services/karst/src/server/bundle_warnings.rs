//! Mistakes in apps of a bundle that a search meets only when it runs: nothing is ignored because of them.

use std::collections::{BTreeMap, BTreeSet};

use conf::{Place, Stanza};
use knowledge::Knowledge;
use plan::Macros;
use spl::ast::SearchExpr;
use spl::{CustomCommands, ParseOptions, UnknownMacros};

/// Part of the message about a macro that never ends.
const ENDLESS: &str = "expands to itself";
/// The field that event types are searched by.
const EVENT_TYPE: &str = "eventtype";

/// Saved searches that are invalid, macros that expand to themselves, and event types that refer to
/// themselves, each with its place.
pub(super) fn of(rules: &Knowledge, apps: &BTreeSet<&str>) -> Vec<String> {
    let macros = Macros::of(rules);
    let commands = CustomCommands::of(rules.custom_command_names());
    let options = ParseOptions {
        macros: Some(&macros),
        commands: Some(&commands),
        unknown_macros: UnknownMacros::Opaque,
        ..ParseOptions::default()
    };
    let mut found = saved_searches(rules, apps, &options);
    found.extend(endless_macros(rules, apps, &options));
    found.extend(endless_event_types(rules, apps, &options));
    found
}

/// Adds warnings about the settings of a name that the apps have in a file.
fn settings(
    (rules, apps): (&Knowledge, &BTreeSet<&str>),
    (file, key): (&str, &str),
    wrong: impl Fn(&Stanza, &Place, &str) -> Option<String>,
) -> Vec<String> {
    let of_bundle =
        |place: &Place| rules.layers().app_of(place).is_some_and(|app| apps.contains(app));
    let conf = rules.conf(file);
    let set = conf.stanzas.iter().filter_map(|stanza| Some((stanza, stanza.get(key)?)));
    let set = set.filter(|(_, entry)| of_bundle(&entry.place));
    set.filter_map(|(stanza, entry)| wrong(stanza, &entry.place, &entry.value)).collect()
}

fn saved_searches(
    rules: &Knowledge,
    apps: &BTreeSet<&str>,
    options: &ParseOptions<'_>,
) -> Vec<String> {
    settings((rules, apps), ("savedsearches", "search"), |stanza, place, search| {
        let error = spl::parse_with(search, options).err()?;
        Some(format!("{place}: [{}] search: {error}", stanza.name))
    })
}

fn endless_macros(
    rules: &Knowledge,
    apps: &BTreeSet<&str>,
    options: &ParseOptions<'_>,
) -> Vec<String> {
    settings((rules, apps), ("macros", "definition"), |stanza, place, _| {
        let error = spl::parse_with(&call(&stanza.name), options).err()?.to_string();
        let is_endless = error.contains(ENDLESS);
        is_endless.then(|| format!("{place}: [{}] definition: {error}", stanza.name))
    })
}

/// A search that calls the macro of a stanza, `name` or `name(2)`.
fn call(stanza: &str) -> String {
    let parts = stanza.strip_suffix(')').and_then(|name| name.split_once('('));
    match parts.and_then(|(name, count)| Some((name, count.parse::<usize>().ok()?))) {
        Some((name, count)) => format!("`{name}({})`", vec!["x"; count.min(100)].join(",")),
        None => format!("`{stanza}`"),
    }
}

fn endless_event_types(
    rules: &Knowledge,
    apps: &BTreeSet<&str>,
    options: &ParseOptions<'_>,
) -> Vec<String> {
    let mut referred: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for event_type in rules.event_types() {
        // An invalid search is already reported as ignored.
        let Ok(parsed) = spl::parse_search_terms_with(&event_type.search, options) else {
            continue;
        };
        let names = referred.entry(event_type.name.to_lowercase()).or_default();
        parsed.expr.iter().for_each(|expr| collect(expr, names));
    }
    settings((rules, apps), ("eventtypes", "search"), |stanza, place, _| {
        let is_endless = refers_to_itself(&stanza.name.to_lowercase(), &referred);
        is_endless.then(|| {
            format!("{place}: [{}] search: event types refer to each other in a cycle", stanza.name)
        })
    })
}

/// The names of event types in a search. Wildcards and tags are not followed.
fn collect(expr: &SearchExpr, names: &mut BTreeSet<String>) {
    match expr {
        SearchExpr::And(members) | SearchExpr::Or(members) => {
            members.iter().for_each(|member| collect(member, names));
        }
        SearchExpr::Not(inner, _) => collect(inner, names),
        SearchExpr::Comparison(one) if one.field.node == EVENT_TYPE => {
            names.insert(one.value.pattern.text().to_lowercase());
        }
        SearchExpr::In(list) if list.field.node == EVENT_TYPE => {
            names.extend(list.values.iter().map(|value| value.pattern.text().to_lowercase()));
        }
        _ => {}
    }
}

fn refers_to_itself(name: &str, referred: &BTreeMap<String, BTreeSet<String>>) -> bool {
    let (mut seen, mut left) = (BTreeSet::new(), vec![name]);
    while let Some(next) = left.pop() {
        for other in referred.get(next).into_iter().flatten() {
            if other == name {
                return true;
            }
            if seen.insert(other) {
                left.push(other);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use conf::{Layer, Layers};

    use super::*;

    fn found(app: &str) -> Vec<String> {
        let layer = || Layer::AppDefault("shop".to_owned());
        let layers = Layers::builtin()
            .with(
                layer(),
                "savedsearches",
                "[bad]\nsearch = * | nocommand\n[good]\nsearch = `x` | stats count\n",
            )
            .with(
                layer(),
                "macros",
                "[a]\ndefinition = `b(1)`\n[b(1)]\nargs = v\ndefinition = $v$ `a`\n\
                 [c]\ndefinition = `c(1)`\n[c(1)]\nargs = v\ndefinition = $v$\n",
            )
            .with(
                layer(),
                "eventtypes",
                "[one]\nsearch = a eventtype=Two\n[two]\nsearch = b OR eventtype IN (one, x)\n\
                 [three]\nsearch = eventtype=one\n",
            );
        of(&Knowledge::new(layers), &BTreeSet::from([app]))
    }

    #[test]
    fn invalid_saved_searches_and_cycles_are_found_with_their_places() {
        let found = found("shop");
        let places: Vec<&str> =
            found.iter().filter_map(|text| Some(text.split_once("]")?.0)).collect();
        let expected = [
            "apps/shop/default/savedsearches.conf:2: [bad",
            "apps/shop/default/macros.conf:2: [a",
            "apps/shop/default/macros.conf:5: [b(1)",
            "apps/shop/default/eventtypes.conf:2: [one",
            "apps/shop/default/eventtypes.conf:4: [two",
        ];
        assert_eq!(places, expected, "{found:#?}");
    }

    #[test]
    fn apps_outside_of_the_bundle_are_left_out() {
        assert_eq!(found("till"), [""; 0]);
    }
}
