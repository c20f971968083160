//! Checks stanzas of `transforms.conf` that no stanza of `props.conf` refers to. They are compiled only when
//! a search uses them, so their errors are found here. The result is warnings, because the stanzas have no
//! effect until then.

use std::collections::HashSet;

use conf::{Effective, Entry, Stanza, Warning};
use eval::Pattern;

use crate::error::Error;
use crate::modular::named;
use crate::props::is_disabled;
use crate::settings::transforms::REGEX;

/// Prefixes of the keys of `props.conf` that refer to transforms.
const NAMING: [&str; 3] = ["REPORT", "TRANSFORMS", "RULESET"];

/// Returns a warning for each regular expression that does not compile; `errors` are those that are already
/// reported.
pub(crate) fn warnings(
    props: &Effective,
    transforms: &Effective,
    errors: &[Error],
) -> Vec<Warning> {
    let entries = props.stanzas.iter().flat_map(|stanza| &stanza.entries);
    let naming = entries.filter(|entry| NAMING.iter().any(|begin| entry.key.starts_with(begin)));
    let used: HashSet<&str> =
        naming.flat_map(|entry| entry.value.split(',').map(str::trim)).collect();
    let mut warnings = Vec::new();
    for stanza in &transforms.stanzas {
        if used.contains(stanza.name.as_str()) {
            continue;
        }
        let Some((entry, text)) = fault(stanza) else { continue };
        if !errors.iter().any(|error| error.place() == Some(&entry.place)) {
            warnings.push(Warning { place: entry.place.clone(), text });
        }
    }
    warnings
}

/// Returns the `REGEX` of an enabled stanza if it does not compile, and what is wrong with it.
pub(crate) fn fault(stanza: &Stanza) -> Option<(&Entry, String)> {
    let entry = stanza.get(REGEX.name()).filter(|_| !is_disabled(stanza))?;
    // Modules have groups whose names are completed by the expressions that use them.
    let reason = Pattern::compile(&named(&entry.value, None)).err()?;
    Some((entry, format!("[{}] REGEX: bad regular expression: {reason}", stanza.name)))
}

#[cfg(test)]
mod tests {
    use conf::{Layer, Layers};

    use crate::Knowledge;

    #[test]
    fn a_bad_expression_of_a_transform_that_nothing_names_is_a_warning() {
        let transforms = "[x]\nREGEX = (\n[part]\nREGEX = (?<>a)\n\
                          [named]\nREGEX = (\n[good]\nREGEX = (a)\nFORMAT = b::$1\n\
                          [index]\nREGEX = (\nDEST_KEY = queue\nFORMAT = nullQueue\n";
        let layers = Layers::builtin().with(Layer::SystemLocal, "transforms", transforms).with(
            Layer::SystemLocal,
            "props",
            "[s]\nREPORT-a = good, named\n",
        );
        let knowledge = Knowledge::new(layers);
        let shown = |text: &str| text.contains("system/local/transforms.conf");
        let warnings: Vec<String> = knowledge.warnings().iter().map(ToString::to_string).collect();
        let warnings: Vec<&String> = warnings.iter().filter(|text| shown(text)).collect();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].starts_with("system/local/transforms.conf:2: [x] REGEX: bad"));
        let errors: Vec<String> = knowledge.errors().iter().map(ToString::to_string).collect();
        assert_eq!(errors.iter().filter(|text| shown(text)).count(), 2, "{errors:?}");
        let faulty = |name: &str| knowledge.regex_fault(name).is_some();
        assert!(faulty("x") && faulty("named") && faulty("index"));
        assert!(!faulty("good") && !faulty("part") && !faulty("none"));
    }
}
