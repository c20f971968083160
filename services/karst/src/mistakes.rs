//! Mistakes in the configuration: for `btool check`, the report of an installation, and the messages of the
//! server.
//!
//! Guarantees: every mistake has the severity that it has at a start, and its place is part of its text.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use access::AuthenticationSettings;
use conf::{Layers, Place, Registry, Warning};
use inputs::configured::Configured;
use knowledge::Knowledge;
use plan::Macros;

/// The file with lookups and transforms.
const TRANSFORMS: &str = "transforms";

/// The effect of a mistake, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// A mistake in the administrator's files, which prevents the start.
    Error,
    /// A mistake in an app's files, which is ignored.
    Ignored,
    /// A setting that is unknown, without effect, or oddly written.
    Note,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mistake {
    pub(crate) weight: Weight,
    /// The app that has it.
    pub(crate) app: Option<String>,
    /// The message, beginning with file and line.
    pub(crate) text: String,
    /// The file and the stanza that does not exist, if this is the mistake: another app may have the stanza.
    pub(crate) missing: Option<(&'static str, String)>,
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Error => "error",
            Self::Ignored => "ignored",
            Self::Note => "note",
        })
    }
}

/// Everything that is wrong in files, in order of weight.
pub(crate) fn all(mut layers: Layers, registry: &Registry) -> Vec<Mistake> {
    let tolerated = registry.tolerate_apps(&mut layers);
    let knowledge = Knowledge::new(layers);
    let mut found = ignored(&knowledge, &tolerated);
    let layers = knowledge.layers();
    let apps: HashMap<&str, &str> = layers.files_of_apps().collect();
    let add = |found: &mut Vec<Mistake>, weight, place: Option<&Place>, text: String| {
        let app = place.and_then(|place| apps.get(&*place.file)).map(|app| (*app).to_owned());
        found.push(Mistake { weight, app, text, missing: None });
    };
    let fatal: Vec<_> = knowledge.fatal_errors().collect();
    for error in &fatal {
        add(&mut found, Weight::Error, error.place(), error.to_string());
    }
    for conf in layers.confs() {
        let own = layers.stanzas(conf).filter(|(layer, _)| layer.app().is_none());
        for invalid in own.flat_map(|(_, stanza)| registry.invalid(conf, stanza)) {
            // Settings that the knowledge compiles have been checked by it, in more detail.
            let is_told = fatal.iter().any(|error| error.place() == invalid.place.as_ref());
            if !is_told {
                add(&mut found, Weight::Error, invalid.place.as_ref(), invalid.to_string());
            }
        }
    }
    match read_inputs(&knowledge) {
        Ok(warnings) => {
            let conf = knowledge.conf("inputs");
            for text in warnings.into_iter().filter(|text| is_unknown_input(text)) {
                let name = text.split_once(": [").and_then(|(_, name)| name.split_once("]: "));
                let place = name.and_then(|(name, _)| conf.stanza(name)).map(|one| &one.place);
                add(&mut found, Weight::Note, place, text);
            }
        }
        Err(errors) => {
            let error = |text| Mistake { weight: Weight::Error, app: None, text, missing: None };
            found.extend(errors.into_iter().map(error));
        }
    }
    let whole = whole_files(layers);
    found.extend(whole.into_iter().filter(|mistake| mistake.weight == Weight::Error));
    let unknown = registry.warnings(layers);
    for warning in unknown.iter().chain(knowledge.warnings()) {
        add(&mut found, Weight::Note, Some(&warning.place), warning.to_string());
    }
    found.sort();
    found.dedup();
    found
}

/// Returns the ignored settings of apps, and notes about settings that are unusual but in force. `tolerated`
/// are the settings that were changed or left out before `knowledge` was compiled.
pub(crate) fn ignored(knowledge: &Knowledge, tolerated: &[Warning]) -> Vec<Mistake> {
    // There are thousands of places in thousands of files.
    let apps: HashMap<&str, &str> = knowledge.layers().files_of_apps().collect();
    let app_of = |place: &Place| apps.get(&*place.file).map(|app| (*app).to_owned());
    let mistake = |place: Option<&Place>, text: String| {
        let app = place.and_then(app_of);
        Mistake { weight: Weight::Ignored, app, text, missing: None }
    };
    let tolerated = tolerated.iter().map(|one| {
        // A comment after a value is removed, and the value is in force.
        let is_left_out = one.text.starts_with(conf::LEFT_OUT);
        let weight = if is_left_out { Weight::Ignored } else { Weight::Note };
        Mistake { weight, ..mistake(Some(&one.place), one.to_string()) }
    });
    let mut found: Vec<Mistake> = tolerated.collect();
    for error in knowledge.app_errors() {
        let missing = match error {
            knowledge::Error::Missing { target, conf, .. } => Some((*conf, target.clone())),
            _ => None,
        };
        found.push(Mistake { missing, ..mistake(error.place(), error.to_string()) });
    }
    let wrong = read_inputs(knowledge).unwrap_or_default().into_iter();
    for text in wrong.filter(|text| !is_unknown_input(text)) {
        found.push(Mistake { app: app_in(&text), ..mistake(None, text) });
    }
    let of_app = |place: &Place| apps.contains_key(&*place.file);
    for field in knowledge.calculated_fields().iter().filter(|field| of_app(&field.place)) {
        if let Err(error) = spl::parse_expression(&field.expression) {
            let text = format!("{}: EVAL-{}: {error}", field.place, field.field);
            found.push(mistake(Some(&field.place), text));
        }
    }
    // An app whose stanzas match nothing has no effect, so the installation names them.
    let literal = knowledge.warnings().iter().filter(|warning| {
        of_app(&warning.place) && warning.text.contains(knowledge::LOOKS_LIKE_PATTERN)
    });
    found.extend(literal.map(|warning| Mistake {
        weight: Weight::Note,
        ..mistake(Some(&warning.place), warning.to_string())
    }));
    let transforms = knowledge.transforms();
    for lookup in knowledge.automatic_lookups().iter().filter(|lookup| of_app(&lookup.place)) {
        let wrong = match spl::parse_lookup(&lookup.arguments) {
            Ok(command) => knowledge.lookup(&command.name.node).err().map(|text| {
                let name = command.name.node;
                let is_there = transforms.stanza(&name).is_some();
                (text, (!is_there).then_some((TRANSFORMS, name)))
            }),
            Err(error) => Some((error.to_string(), None)),
        };
        if let Some((wrong, missing)) = wrong {
            let text = format!("{}: the automatic lookup: {wrong}", lookup.place);
            found.push(Mistake { missing, ..mistake(Some(&lookup.place), text) });
        }
    }
    found.extend(event_types(knowledge));
    let whole = whole_files(knowledge.layers());
    found.extend(whole.into_iter().filter(|mistake| mistake.weight == Weight::Ignored));
    found.sort();
    found.dedup();
    found
}

/// Returns the event types of apps whose search is invalid. Undefined macros are not reported here: searches
/// that use the event type report them.
fn event_types(knowledge: &Knowledge) -> Vec<Mistake> {
    let conf = knowledge.conf("eventtypes");
    let macros = Macros::of(knowledge);
    let options = spl::ParseOptions {
        macros: Some(&macros),
        unknown_macros: spl::UnknownMacros::Opaque,
        ..spl::ParseOptions::default()
    };
    let mut found = Vec::new();
    for event_type in knowledge.event_types() {
        let stanza = conf.stanza(&event_type.name);
        let place = stanza.and_then(|stanza| stanza.get("search")).map(|entry| &entry.place);
        let Some(place) = place else { continue };
        let Some(app) = knowledge.layers().app_of(place) else { continue };
        let wrong = match spl::parse_search_terms_with(&event_type.search, &options) {
            Ok(parsed) if parsed.expr.as_ref().is_some_and(|expr| expr.subsearch().is_some()) => {
                Some("event types cannot have subsearches".to_owned())
            }
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        };
        if let Some(wrong) = wrong {
            let text = format!("{place}: [{}] search: {wrong}", event_type.name);
            let app = Some(app.to_owned());
            found.push(Mistake { weight: Weight::Ignored, app, text, missing: None });
        }
    }
    found
}

/// Inputs that are left out, or why `inputs.conf` is invalid.
fn read_inputs(knowledge: &Knowledge) -> Result<Vec<String>, Vec<String>> {
    let of_app = |place: &Place| knowledge.layers().is_of_app(place);
    let read = Configured::read_tolerating(&knowledge.conf("inputs"), "", &of_app);
    match read {
        Ok(configured) => Ok(configured.warnings),
        Err(errors) => Err(errors.iter().map(ToString::to_string).collect()),
    }
}

/// Whether a warning is about a kind of input that there is not: a modular input of an app, most often.
fn is_unknown_input(warning: &str) -> bool {
    warning.contains("]: there is no input ")
}

/// Reads a file of all layers, only to see whether that works.
type Read<'a> = dyn Fn(&Layers) -> Result<(), String> + 'a;

/// Returns the mistakes in files that are read as a whole. If only apps have mistakes, their settings are
/// left out.
fn whole_files(layers: &Layers) -> Vec<Mistake> {
    let console = access::Console { host: "localhost".to_owned(), port: 8000, tls: false };
    let authentication = |layers: &Layers| {
        let read = AuthenticationSettings::read(layers, &console);
        read.map(drop).map_err(|error| error.to_string())
    };
    let search =
        |layers: &Layers| search::Settings::of(layers).map(drop).map_err(|error| error.to_string());
    let readers: [(&str, &Read); 2] = [("authentication", &authentication), ("limits", &search)];
    let mistake = |(conf, read): (&str, &Read)| {
        let text = read(layers).err()?;
        if read(&layers.without_apps()).is_err() {
            return Some(Mistake { weight: Weight::Error, app: None, text, missing: None });
        }
        // An error that names no place is of the app that has the file, most often the only one.
        let has_it = || layers.stanzas(conf).find_map(|(layer, _)| layer.app().map(str::to_owned));
        let app = app_in(&text).or_else(has_it);
        let of = app.as_deref().unwrap_or_default();
        let text = format!("{text} (app {of}); what apps say in {conf}.conf is ignored");
        Some(Mistake { weight: Weight::Ignored, app, text, missing: None })
    };
    readers.into_iter().filter_map(mistake).collect()
}

/// The app whose file a text names.
fn app_in(text: &str) -> Option<String> {
    let (_, behind) = text.split_once("apps/")?;
    behind.split_once('/').map(|(app, _)| app.to_owned())
}

/// Groups the ignored settings by app, the app with the most first.
pub(crate) fn by_app(mistakes: Vec<Mistake>) -> Vec<(String, Vec<Mistake>)> {
    let mut apps: BTreeMap<String, Vec<Mistake>> = BTreeMap::new();
    for mistake in mistakes.into_iter().filter(|one| one.weight == Weight::Ignored) {
        if let Some(app) = &mistake.app {
            apps.entry(app.clone()).or_default().push(mistake);
        }
    }
    let mut apps: Vec<_> = apps.into_iter().collect();
    apps.sort_by_key(|(_, mistakes)| std::cmp::Reverse(mistakes.len()));
    apps
}

#[cfg(test)]
mod tests {
    use conf::Layer;

    use super::*;

    fn layers(layer: &Layer) -> Layers {
        let props = "[a]\nMAX_EVENTS = many\nEVAL-x = 1 +\nLOOKUP-l = nothing f\nREPORT-r = none\nOTHER = 1\n";
        let event_types = "[e]\nsearch = ( a\n[f]\nsearch = a\n";
        Layers::builtin()
            .with(layer.clone(), "props", props)
            .with(layer.clone(), "inputs", "[snow://x]\ninterval = 1\n")
            .with(layer.clone(), "eventtypes", event_types)
    }

    #[test]
    fn mistakes_of_apps_are_ignored_and_listed_with_their_places() {
        let app = Layer::AppDefault("ta".to_owned());
        let found = all(layers(&app), &crate::settings::registry());
        let shown: Vec<String> =
            found.iter().map(|one| format!("{} {}", one.weight, one.text)).collect();
        for (at, part) in [
            ("note apps/ta/default/inputs.conf:1: ", "[snow://x]: there is no input \"snow\""),
            ("ignored apps/ta/default/eventtypes.conf:2: ", "[e] search"),
            ("ignored apps/ta/default/props.conf:2: ", "MAX_EVENTS"),
            ("ignored apps/ta/default/props.conf:3: ", "EVAL-x"),
            ("ignored apps/ta/default/props.conf:4: ", "there is no lookup \"nothing\""),
            ("ignored apps/ta/default/props.conf:5: ", "REPORT-r names [none]"),
            ("note apps/ta/default/props.conf:6: ", "unknown setting OTHER"),
        ] {
            let fits = |text: &String| text.starts_with(at) && text.contains(part);
            assert!(shown.iter().any(fits), "{at}{part}: {shown:#?}");
        }
        assert_eq!(found.len(), 7, "{shown:#?}");
        assert_eq!(by_app(found)[0].0, "ta");
    }

    #[test]
    fn a_comment_behind_a_value_is_a_note() {
        let app = Layer::AppDefault("ta".to_owned());
        let props = "[a]\nMAX_EVENTS = 10 # lines\nTRUNCATE = many\n";
        let found = all(Layers::builtin().with(app, "props", props), &crate::settings::registry());
        let [ignored, note] = found.as_slice() else { panic!("{found:#?}") };
        assert_eq!((ignored.weight, note.weight), (Weight::Ignored, Weight::Note));
        assert!(note.text.contains("MAX_EVENTS = 10: the comment after the value"), "{note:?}");
        assert_eq!(by_app(found)[0].1.len(), 1);
    }

    #[test]
    fn a_stanza_that_looks_like_a_pattern_is_a_note_of_the_installation() {
        let app = Layer::AppDefault("ta".to_owned());
        let layers = Layers::builtin().with(app, "props", "[web*]\nTRUNCATE = 10\n");
        let told = ignored(&Knowledge::new(layers.clone()), &[]);
        let [note] = told.as_slice() else { panic!("{told:#?}") };
        assert_eq!((note.weight, note.app.as_deref()), (Weight::Note, Some("ta")));
        assert!(note.text.contains("stanza [web*] looks like a pattern"), "{note:?}");
        assert_eq!(all(layers, &crate::settings::registry()), told);
    }

    #[test]
    fn a_file_that_is_read_as_a_whole_is_read_without_apps() {
        let text = "[authentication]\nauthType = LDAP\nauthSettings = nowhere\n";
        let app = Layer::AppDefault("ta".to_owned());
        let layers = Layers::builtin().with(app, "authentication", text);
        let found = all(layers, &crate::settings::registry());
        let [mistake] = found.as_slice() else { panic!("{found:#?}") };
        assert_eq!((mistake.weight, mistake.app.as_deref()), (Weight::Ignored, Some("ta")));
        let text = &mistake.text;
        assert!(text.ends_with("what apps say in authentication.conf is ignored"), "{text}");
        let own = Layers::builtin().with(
            Layer::SystemLocal,
            "authentication",
            "[authentication]\nauthType = LDAP\n",
        );
        assert_eq!(all(own, &crate::settings::registry())[0].weight, Weight::Error);
    }

    #[test]
    fn mistakes_of_the_administrator_are_errors() {
        let found = all(layers(&Layer::SystemLocal), &crate::settings::registry());
        let errors: Vec<_> = found.iter().filter(|one| one.weight == Weight::Error).collect();
        assert_eq!(errors.len(), 2, "{found:#?}");
        assert_eq!(errors[0].app, None);
    }
}
