//! Checks of objects that are sent over REST, so that searches can use them. Files of apps may have mistakes,
//! of which searches warn.

use apps::{Namespace, Settings, TEXT};
use knowledge::DataModel;

use super::Asked;
use crate::error::RestError;

/// Refuses settings that no search could use, for an object of that name in that place.
pub(super) fn check(
    asked: &Asked<'_>,
    name: &str,
    there: &Namespace,
    settings: &Settings,
) -> Result<(), RestError> {
    let get = |key: &str| {
        let found = settings.iter().find(|(known, _)| known == key);
        found.map(|(_, value)| value.as_str())
    };
    match (asked.kind.conf, get("search"), get("args")) {
        ("datamodels", ..) => get(TEXT).map_or(Ok(()), |json| check_model(name, there, json)),
        ("eventtypes", Some(search), _) => check_event_type(asked, there, search),
        ("macros", _, args) => check_macro(asked, name, there, args),
        _ => Ok(()),
    }
}

fn check_model(name: &str, there: &Namespace, json: &str) -> Result<(), RestError> {
    match DataModel::parse(&there.app, name, json) {
        Ok(_) => Ok(()),
        Err(error) => Err(RestError::invalid(format!("{TEXT} is not a data model: {error}"))),
    }
}

fn check_event_type(asked: &Asked<'_>, there: &Namespace, search: &str) -> Result<(), RestError> {
    let Asked { state, caller, .. } = *asked;
    let knowledge = state.apps.view_without(there, &caller.rights.hidden());
    let checked = state.search.check_event_type(search, &knowledge);
    checked.map_err(|error| {
        RestError::invalid(format!("the search of an event type must be a filter: {error}"))
    })
}

/// Refuses a macro name that no call can refer to, and arguments that do not match it. Unchanged values of a
/// macro, also those from the files of its app, are not checked.
fn check_macro(
    asked: &Asked<'_>,
    name: &str,
    there: &Namespace,
    args: Option<&str>,
) -> Result<(), RestError> {
    if args.is_none() && asked.state.apps.get("macros", name, there).is_ok() {
        return Ok(());
    }
    match macro_fault(name, args.unwrap_or_default()) {
        Some(fault) => Err(RestError::invalid(fault)),
        None => Ok(()),
    }
}

/// Returns why the name of a macro, such as `m` or `m(2)`, or its arguments are invalid.
fn macro_fault(name: &str, args: &str) -> Option<String> {
    let (plain, count) = match name.split_once('(') {
        None => (name, Some(0)),
        Some((plain, count)) => {
            let count = count.strip_suffix(')').and_then(|count| count.parse::<usize>().ok());
            // The form that calls use: the stanza [m(01)] would not be found.
            (plain, count.filter(|count| *count > 0 && name == format!("{plain}({count})")))
        }
    };
    let Some(count) = count.filter(|_| is_name(plain, "_-.:")) else {
        return Some(format!(
            "\"{name}\" is not a valid name of a macro: use letters, digits, _, -, . and :, and the number of \
             arguments in parentheses if there are any, such as \"errors(2)\""
        ));
    };
    let names: Vec<&str> = match args.trim() {
        "" => Vec::new(),
        args => args.split(',').map(str::trim).collect(),
    };
    if let Some(wrong) = names.iter().find(|name| !is_name(name, "_-")) {
        return Some(format!(
            "\"{wrong}\" in args is not a valid name of an argument: use letters, digits, _ and -"
        ));
    }
    let twice = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name));
    if let Some((_, name)) = twice {
        return Some(format!("args names \"{name}\" twice"));
    }
    (names.len() != count).then(|| {
        let takes = match count {
            0 => "no arguments".to_owned(),
            1 => "1 argument".to_owned(),
            count => format!("{count} arguments"),
        };
        let named = match names.as_slice() {
            [] => "args names none".to_owned(),
            names => format!("args names {}: {}", names.len(), names.join(", ")),
        };
        format!("the macro \"{name}\" takes {takes}, but {named}")
    })
}

/// Whether a text has letters, digits and these other characters only.
fn is_name(text: &str, more: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || more.contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_take_the_arguments_that_their_names_count() {
        for (name, args) in [("m", ""), ("m(2)", "a, b"), ("a.b:c-d_1(1)", "x-y_2"), ("é", " ")] {
            assert_eq!(macro_fault(name, args), None, "{name}");
        }
        let wrong = [
            ("m", "a,b", "the macro \"m\" takes no arguments, but args names 2: a, b"),
            ("m(1)", "a, b", "the macro \"m(1)\" takes 1 argument, but args names 2: a, b"),
            ("m(2)", "", "the macro \"m(2)\" takes 2 arguments, but args names none"),
            ("m(2)", "a,a", "args names \"a\" twice"),
            ("m(2)", "a,", "\"\" in args is not a valid name"),
            ("m(1)", "a b", "\"a b\" in args is not a valid name"),
            ("m(0)", "", "\"m(0)\" is not a valid name of a macro"),
            ("m(01)", "a", "\"m(01)\" is not a valid name of a macro"),
            ("m(x)", "a", "\"m(x)\" is not a valid name of a macro"),
            ("m(1", "a", "\"m(1\" is not a valid name of a macro"),
            ("a b", "", "\"a b\" is not a valid name of a macro"),
            ("a`b", "", "\"a`b\" is not a valid name of a macro"),
        ];
        for (name, args, expected) in wrong {
            let fault = macro_fault(name, args).unwrap_or_default();
            assert!(fault.starts_with(expected), "{name}: {fault}");
        }
    }
}
