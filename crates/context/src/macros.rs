//! Macros of `macros.conf`, for the parser.
//!
//! `[name]` or `[name(2)]` with `definition` and `args`; `$arg$` in the definition stands for an
//! argument. With `iseval` the definition is an expression whose text stands for the call; `validation`
//! is an expression over the arguments that must hold, or whose text is the error.

use std::sync::OnceLock;

use conf::{Effective, Stanza};
use eval::{Datum, Expression, Scope, Value, ValueType};
use knowledge::Knowledge;
use model::EventTime;

/// The macro definitions of a configuration, read on first use.
#[derive(Debug)]
pub struct Macros<'k> {
    knowledge: &'k Knowledge,
    conf: OnceLock<Effective>,
}

impl<'k> Macros<'k> {
    /// Creates the macros of `macros.conf`.
    #[must_use]
    pub fn of(knowledge: &'k Knowledge) -> Self {
        Self { knowledge, conf: OnceLock::new() }
    }

    fn conf(&self) -> &Effective {
        self.conf.get_or_init(|| self.knowledge.conf("macros"))
    }
}

impl spl::MacroResolver for Macros<'_> {
    fn expand(&self, name: &str, arguments: &[String]) -> Result<String, String> {
        let count = arguments.len();
        let wanted = stanza_name(name, count);
        let conf = self.conf();
        let Some(stanza) = conf.stanza(&wanted) else {
            return Err(missing(conf, name, count));
        };
        let value = |key: &str| stanza.get(key).map(|entry| entry.value.as_str());
        // Apps ship empty macros for users to fill in.
        let definition = value("definition").unwrap_or_default();
        let names: Vec<&str> =
            value("args").unwrap_or_default().split(',').map(str::trim).collect();
        let bound = Bound { names, values: in_order(&value("args"), arguments) };
        bound.validate(&wanted, stanza)?;
        let text = bound.fill(definition);
        if value("iseval").and_then(conf::boolean) == Some(true) {
            let expression = Expression::compile(&text, &|_| ValueType::Text);
            let expression = expression.map_err(|e| format!("the macro \"{wanted}\": {e}"))?;
            let value = expression.evaluate(&bound);
            let text = value.get().text().map(|text| text.to_string());
            return text.ok_or_else(|| format!("the expression of macro \"{wanted}\" is null"));
        }
        Ok(text)
    }

    fn defines(&self, name: &str, arguments: usize) -> bool {
        self.conf().stanza(&stanza_name(name, arguments)).is_some()
    }
}

/// `name`, or `name(2)` with arguments.
fn stanza_name(name: &str, arguments: usize) -> String {
    if arguments == 0 { name.to_owned() } else { format!("{name}({arguments})") }
}

/// Returns the error for a missing macro, with existing macros of the same name. Programs match the first two
/// sentences, which are Splunk's.
fn missing(conf: &Effective, name: &str, count: usize) -> String {
    let with = match count {
        0 => String::new(),
        1 => " with 1 argument".to_owned(),
        count => format!(" with {count} arguments"),
    };
    let others: Vec<&str> = conf
        .stanzas
        .iter()
        .map(|stanza| stanza.name.as_str())
        .filter(|other| other.split('(').next() == Some(name))
        .collect();
    let others = match others.as_slice() {
        [] => String::new(),
        some => format!("; there is {}", some.join(", ")),
    };
    format!(
        "Error in 'SearchParser': The search specifies a macro '{}' that cannot be found. Reasons include: the \
         macro name is misspelled, you do not have \"read\" permission for the macro, or the macro has not been \
         shared with this application; there is no macro \"{name}\"{with} in macros.conf{others}",
        stanza_name(name, count)
    )
}

/// Returns the arguments in the order of the names, given by position, or all as `name=value`.
fn in_order(names: &Option<&str>, arguments: &[String]) -> Vec<String> {
    let names: Vec<&str> = names.unwrap_or_default().split(',').map(str::trim).collect();
    let named = |name: &&str| {
        arguments.iter().find_map(|argument| {
            let (key, value) = argument.split_once('=')?;
            (key.trim() == *name).then(|| unquoted(value))
        })
    };
    let by_name: Option<Vec<String>> = names.iter().map(named).collect();
    by_name.unwrap_or_else(|| arguments.iter().map(|argument| unquoted(argument)).collect())
}

/// Removes the quotes that protect a comma or a blank in an argument.
fn unquoted(argument: &str) -> String {
    let argument = argument.trim();
    let inner = argument.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner {
        // Quotes inside are part of the argument.
        Some(inner) if !inner.replace("\\\"", "").contains('"') => inner.replace("\\\"", "\""),
        _ => argument.to_owned(),
    }
}

/// Arguments by their names.
#[derive(Debug)]
struct Bound<'m> {
    names: Vec<&'m str>,
    values: Vec<String>,
}

impl Bound<'_> {
    /// Replaces the names in a text by the arguments.
    fn fill(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('$') {
            out.push_str(before);
            let found = behind.split_once('$').and_then(|(name, left)| {
                let at = self.names.iter().position(|known| *known == name)?;
                Some((self.values.get(at)?, left))
            });
            match found {
                Some((value, left)) => {
                    out.push_str(value);
                    rest = left;
                }
                None => {
                    out.push('$');
                    rest = behind;
                }
            }
        }
        out.push_str(rest);
        out
    }

    fn validate(&self, macro_name: &str, stanza: &Stanza) -> Result<(), String> {
        let value = |key: &str| stanza.get(key).map(|entry| entry.value.trim());
        let Some(validation) = value("validation").filter(|text| !text.is_empty()) else {
            return Ok(());
        };
        let expression = Expression::compile(validation, &|_| ValueType::Text);
        let expression = expression
            .map_err(|error| format!("the validation of macro \"{macro_name}\": {error}"))?;
        match expression.evaluate(self).get() {
            // A text is the error message itself, as for `validate()`.
            Value::Text(text) => Err(text.to_owned()),
            value if value.truth() == Some(false) => {
                let given = value_or(value_text(stanza, "errormsg"), macro_name);
                Err(given)
            }
            _ => Ok(()),
        }
    }
}

fn value_text<'s>(stanza: &'s Stanza, key: &str) -> Option<&'s str> {
    stanza.get(key).map(|entry| entry.value.trim()).filter(|text| !text.is_empty())
}

fn value_or(message: Option<&str>, macro_name: &str) -> String {
    let default = || format!("the arguments of macro \"{macro_name}\" are not valid");
    message.map_or_else(default, str::to_owned)
}

impl Scope for Bound<'_> {
    fn field(&self, name: &str) -> Datum<'_> {
        let at = self.names.iter().position(|known| *known == name);
        at.and_then(|at| self.values.get(at)).map_or(Datum::NULL, |text| Datum::text(text))
    }

    #[expect(clippy::disallowed_methods, reason = "arguments are checked before there is a search")]
    fn now(&self) -> EventTime {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        EventTime::from_seconds(since.map_or(0.0, |since| since.as_secs_f64()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use conf::{Layer, Layers};
    use spl::MacroResolver;

    fn check(conf: &str, name: &str, arguments: &[&str], expected: Result<&str, &str>) {
        let layers = Layers::builtin().with(Layer::SystemLocal, "macros", conf);
        let knowledge = Knowledge::new(layers);
        let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        let found = Macros::of(&knowledge).expand(name, &arguments);
        match expected {
            Ok(text) => assert_eq!(found.as_deref(), Ok(text)),
            Err(part) => assert!(found.unwrap_err().contains(part)),
        }
    }

    #[test]
    fn arguments_stand_for_their_names() {
        let conf = "[m(2)]\nargs = a, b\ndefinition = x=$a$ $b$ $c$ $a$\n[m]\ndefinition = y\n";
        check(conf, "m", &["1", "\"p q\""], Ok("x=1 p q $c$ 1"));
        check(conf, "m", &["b=2", "a=1"], Ok("x=1 2 $c$ 1"));
        check(conf, "m", &[], Ok("y"));
        check(conf, "m", &["1"], Err("there is m, m(2)"));
        let missing = "Error in 'SearchParser': The search specifies a macro 'n(1)' that cannot be found. \
                       Reasons include: the macro name is misspelled, you do not have \"read\" permission for \
                       the macro, or the macro has not been shared with this application; there is no macro \
                       \"n\" with 1 argument";
        check(conf, "n", &["1"], Err(missing));
    }

    #[test]
    fn an_expression_gives_the_text() {
        let conf = "[m(1)]\nargs = n\niseval = 1\ndefinition = if($n$ > 5, \"big\", \"small\")\n";
        check(conf, "m", &["7"], Ok("big"));
        check(conf, "m", &["3"], Ok("small"));
        check(conf, "m", &[")"], Err("the macro \"m(1)\""));
    }

    #[test]
    fn arguments_are_validated() {
        let conf = "[m(1)]\nargs = n\ndefinition = head $n$\nvalidation = isnum(n)\nerrormsg = a number please\n";
        check(conf, "m", &["7"], Ok("head 7"));
        check(conf, "m", &["x"], Err("a number please"));
    }
}
