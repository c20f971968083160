//! Messages about apps of which something is ignored.
//!
//! Guarantees: one message per app, with counts and the first mistakes, and a bounded number of messages.

use ::inputs::configured::Configured;
use api::Messages;
use ingest::IndexCatalog;
use knowledge::Knowledge;

use crate::mistakes::{self, Mistake, Weight};

/// Maximum number of messages about single apps; one more summarizes all others, so that there is room for
/// the messages of clients.
const APPS: usize = 200;
/// Mistakes that a message shows.
const SHOWN: usize = 3;
/// Characters of a mistake that a message shows.
const LENGTH: usize = 300;

/// Inputs of apps for indexes that do not exist.
pub(crate) fn inputs_without_index(indexes: &IndexCatalog, knowledge: &Knowledge) -> Vec<Mistake> {
    let layers = knowledge.layers();
    let conf = knowledge.conf("inputs");
    let read = Configured::read_tolerating(&conf, "", &|place| layers.is_of_app(place));
    let configured = read.unwrap_or_default();
    let mistake = |(index, who): (model::IndexName, &str)| {
        let place = configured.index_of_apps(&index)?;
        let text =
            format!("{place}: there is no index \"{index}\" for {who}; add it to indexes.conf");
        let app = layers.app_of(place).map(str::to_owned);
        let is_missing = !indexes.contains(&index);
        is_missing.then_some(Mistake { weight: Weight::Ignored, app, text, missing: None })
    };
    configured.indexes().into_iter().filter_map(mistake).collect()
}

/// Leaves the messages; their names.
pub(crate) fn leave(messages: &Messages, mistakes: Vec<Mistake>, created: i64) -> Vec<String> {
    let mut names = Vec::new();
    let apps = mistakes::by_app(mistakes);
    for (app, mistakes) in apps.iter().take(APPS) {
        let name = format!("app_{app}");
        messages.warn(&name, text(app, mistakes), created);
        names.push(name);
    }
    let left = &apps[apps.len().min(APPS)..];
    if !left.is_empty() {
        let count: usize = left.iter().map(|(_, mistakes)| mistakes.len()).sum();
        let text = format!(
            "In {} further apps {count} settings or objects are ignored because they are wrong. `karst btool check` \
             lists all.",
            left.len()
        );
        messages.warn("apps", text, created);
        names.push("apps".to_owned());
    }
    names
}

fn text(app: &str, mistakes: &[Mistake]) -> String {
    let (subject, verb) = match mistakes.len() {
        1 => ("1 setting or object".to_owned(), "is ignored because it is wrong"),
        count => (format!("{count} settings or objects"), "are ignored because they are wrong"),
    };
    let shown: Vec<String> = mistakes.iter().take(SHOWN).map(|one| shortened(&one.text)).collect();
    let first = if mistakes.len() > SHOWN { "the first ones are: " } else { "" };
    format!(
        "{subject} of the app \"{app}\" {verb}: {first}{}. The log of the server lists all. `karst btool check --app {app}`, \
         with the --conf-dir and the --data-dir of the server, also lists the settings without effect.",
        shown.join("; ")
    )
}

fn shortened(text: &str) -> String {
    let line = text.replace('\n', " ");
    match line.char_indices().nth(LENGTH) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(app: usize, number: usize) -> Mistake {
        let (app, text) =
            (Some(format!("ta{app}")), format!("apps/ta{app}/props.conf:{number}: x"));
        Mistake { weight: Weight::Ignored, app, text, missing: None }
    }

    #[test]
    fn a_message_has_the_count_and_the_first_mistakes() {
        let all: Vec<Mistake> = (1..=5).map(|number| mistake(1, number)).collect();
        let found = text("ta1", &all);
        assert!(
            found.starts_with("5 settings or objects of the app \"ta1\" are ignored"),
            "{found}"
        );
        assert!(
            found.contains("apps/ta1/props.conf:3: x. The log of the server lists all"),
            "{found}"
        );
        assert!(text("ta1", &all[..1]).starts_with("1 setting or object of the app"));
        assert!(shortened(&"x".repeat(1000)).len() < 310);
    }

    #[test]
    fn the_number_of_messages_is_bounded() {
        let messages = Messages::default();
        let all = (0..APPS + 3).map(|app| mistake(app, 1)).collect();
        leave(&messages, all, 0);
        assert_eq!(messages.names().len(), APPS + 1);
        assert!(messages.names().contains(&"apps".to_owned()));
    }
}
