//! The destinations of inputs: `_TCP_ROUTING` in `inputs.conf`.
//!
//! Guarantees: an unknown group named by the administrator keeps the forwarder from starting; named by an
//! app, it is ignored with a warning.

use std::sync::Arc;

use conf::Effective;
use inputs::configured;
use knowledge::Knowledge;

use crate::outputs::{Group, Outputs, groups_named};

/// The name of the setting.
const ROUTING: &str = "_TCP_ROUTING";
/// All groups.
const ALL: &str = "*";

/// The destinations of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Routing {
    /// Names of groups, separated by commas; empty for the default groups, `*` for all.
    pub(crate) names: String,
    /// The ignored groups, and why.
    pub(crate) warning: Option<String>,
}

impl Routing {
    /// The routing of a stanza of `inputs.conf`.
    pub(crate) fn of(
        stanza: &str,
        conf: &Effective,
        knowledge: &Knowledge,
        outputs: &Outputs,
    ) -> Self {
        let names = configured::routing(conf, stanza).to_owned();
        let (known, unknown) = split(&outputs.groups, &names);
        let entry = conf.complete(stanza).into_iter().find(|entry| entry.key == ROUTING);
        let of_app = entry.filter(|entry| knowledge.layers().is_of_app(&entry.place));
        match of_app {
            Some(entry) if !unknown.is_empty() && names.trim() != ALL => {
                let rest = match known.is_empty() {
                    true => "the input goes to defaultGroup",
                    false => "the input goes to the other groups",
                };
                let warning = format!(
                    "{}: [{stanza}] {ROUTING} names [tcpout:{}], which outputs.conf does not have; {rest}",
                    entry.place,
                    unknown.join("], [tcpout:")
                );
                Self { names: known.join(","), warning: Some(warning) }
            }
            _ => Self { names, warning: None },
        }
    }

    /// The positions of the groups.
    pub(crate) fn groups(names: &str, outputs: &Outputs) -> Result<Vec<usize>, String> {
        match names {
            "" => Ok(outputs.default_groups.clone()),
            ALL => Ok((0..outputs.groups.len()).collect()),
            names => groups_named(&outputs.groups, names),
        }
    }
}

/// Splits names into those of existing groups and unknown ones.
fn split<'n>(groups: &[Arc<Group>], names: &'n str) -> (Vec<&'n str>, Vec<&'n str>) {
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.partition(|name| groups.iter().any(|group| *group.name == **name))
}

/// Warnings about unknown groups in inputs of apps, for the check of a configuration.
#[must_use]
pub fn routing_warnings(knowledge: &Knowledge, outputs: &Outputs) -> Vec<String> {
    let conf = knowledge.conf("inputs");
    let stanzas = conf.stanzas.iter().filter(|stanza| stanza.name != "default");
    let routing = |name: &str| Routing::of(name, &conf, knowledge, outputs);
    stanzas.filter_map(|stanza| routing(&stanza.name).warning).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::{Layer, Layers};

    use super::*;

    fn routing(layer: Layer, setting: &str) -> (Routing, Outputs) {
        let outputs =
            "[tcpout]\ndefaultGroup = a\n[tcpout:a]\nserver = h:1\n[tcpout:b]\nserver = h:2\n";
        let inputs = format!("[monitor:///x]\n_TCP_ROUTING = {setting}\n");
        let layers = Layers::builtin()
            .with(Layer::SystemLocal, "outputs", outputs)
            .with(layer, "inputs", &inputs);
        let knowledge = Knowledge::new(layers);
        let outputs = Outputs::read(&knowledge.conf("outputs")).unwrap();
        let conf = knowledge.conf("inputs");
        (Routing::of("monitor:///x", &conf, &knowledge, &outputs), outputs)
    }

    fn app() -> Layer {
        Layer::AppDefault("ta".to_owned())
    }

    #[test]
    fn an_app_that_names_an_unknown_group_is_warned() {
        let (found, outputs) = routing(app(), "other");
        let warning = found.warning.unwrap();
        assert!(warning.contains("[tcpout:other], which outputs.conf does not have"), "{warning}");
        assert!(warning.contains("inputs.conf:2: [monitor:///x]"), "{warning}");
        assert_eq!(Routing::groups(&found.names, &outputs), Ok(vec![0]));
        let (found, outputs) = routing(app(), "other, b");
        assert!(found.warning.unwrap().contains("goes to the other groups"));
        assert_eq!(Routing::groups(&found.names, &outputs), Ok(vec![1]));
    }

    #[test]
    fn an_unknown_group_of_the_administrator_is_an_error() {
        let (found, outputs) = routing(Layer::SystemLocal, "other");
        assert_eq!(found.warning, None);
        let error = Routing::groups(&found.names, &outputs).unwrap_err();
        assert!(error.contains("[tcpout:other]"), "{error}");
    }

    #[test]
    fn known_groups_and_all_groups_stay() {
        for (setting, groups) in [("b", vec![1]), ("b, a", vec![1, 0]), ("*", vec![0, 1])] {
            let (found, outputs) = routing(app(), setting);
            assert_eq!((found.warning, found.names.as_str()), (None, setting));
            assert_eq!(Routing::groups(setting, &outputs), Ok(groups));
        }
    }
}
