//! Macros of `macros.conf`, for the parser.
//!
//! `[name]` or `[name(2)]` with `definition` and `args`; `$arg$` in the definition stands for an
//! argument.

use knowledge::Knowledge;

/// The macro definitions of a configuration.
#[derive(Debug)]
pub(crate) struct Macros<'k>(pub(crate) &'k Knowledge);

impl spl::MacroResolver for Macros<'_> {
    fn expand(&self, name: &str, arguments: &[String]) -> Result<String, String> {
        let count = arguments.len();
        let wanted = if count == 0 { name.to_owned() } else { format!("{name}({count})") };
        let conf = self.0.conf("macros");
        let Some(stanza) = conf.stanzas.iter().find(|stanza| stanza.name == wanted) else {
            let with = if count == 0 { String::new() } else { format!(" with {count} arguments") };
            return Err(format!("there is no macro \"{name}\"{with} in macros.conf"));
        };
        let value = |key: &str| stanza.get(key).map(|entry| entry.value.clone());
        let Some(definition) = value("definition") else {
            return Err(format!("the macro \"{wanted}\" has no definition"));
        };
        if value("iseval").is_some_and(|iseval| matches!(&*iseval, "1" | "true" | "t")) {
            return Err(format!("the macro \"{wanted}\" has iseval, which is not supported yet"));
        }
        let names = value("args").unwrap_or_default();
        let mut text = definition;
        for (name, argument) in names.split(',').map(str::trim).zip(arguments) {
            text = text.replace(&format!("${name}$"), argument);
        }
        Ok(text)
    }
}
