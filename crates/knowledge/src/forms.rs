//! Forms: files `<name>.form` beside the settings of apps. A form is the text that all documents of a kind
//! have in common; `[[module:field]]` marks each part that differs (see `modular`).
//!
//! A blank in a form matches any number of blanks, a line end matches a line end.

use conf::Effective;
use eval::Pattern;

use crate::Knowledge;
use crate::extract::{Extractor, Reading, Transform};
use crate::modular;

impl Knowledge {
    /// Returns the names of all forms, in order.
    #[must_use]
    pub fn form_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.layers().files().forms().map(|(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the rule that reads texts with a form; `None` if there is no such form.
    ///
    /// # Errors
    /// If a module does not exist, if the form has no fields, or if the regular expression is invalid.
    #[must_use]
    pub fn form(&self, name: &str) -> Option<Result<Extractor, String>> {
        let mut forms = self.layers().files().forms();
        let (_, text) = forms.find(|(known, _)| *known == name)?;
        Some(extractor(text, &self.layers().effective("transforms")))
    }
}

fn extractor(form: &str, transforms: &Effective) -> Result<Extractor, String> {
    let pattern = Pattern::compile(&modular::expanded(&regex(form), transforms)?)?;
    let reading = Reading::groups(pattern);
    if matches!(&reading, Reading::Named { fields, .. } if fields.is_empty()) {
        return Err("it has no [[module:field]]".to_owned());
    }
    Ok(Extractor::of(Transform {
        source: None,
        reading,
        clean_keys: true,
        add: false,
        repeat: false,
        keep_empty: false,
    }))
}

/// Returns the regular expression of a form, with unexpanded modules.
fn regex(form: &str) -> String {
    let mut regex = String::new();
    let mut rest = form.trim();
    while let Some(c) = rest.chars().next() {
        if let Some(length) = modular::reference_length(rest) {
            regex.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        if c.is_whitespace() {
            let length = rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len());
            let lines = rest[..length].contains('\n');
            regex.push_str(if lines { r"\s*?[\r\n]\s*" } else { r"\s*" });
            rest = &rest[length..];
            continue;
        }
        if c.is_ascii_punctuation() {
            regex.push('\\');
        }
        regex.push(c);
        rest = &rest[c.len_utf8()..];
    }
    regex + r"\s*(?:[\r\n]|$)"
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::Knowledge;
    use conf::Layers;

    const STUDENT: &str =
        "Student's name: [[string:student_name]]\n Age: [[int:age]]   Zip: [[int:zip]]\n";

    fn found(form: &str, text: &str) -> Result<Vec<String>, String> {
        let layers = Layers::builtin()
            .with_form("apps/school/default/student.form", form)
            .with_form("apps/school/default/other.form", "[[int:n]]");
        let knowledge = Knowledge::new(layers);
        assert_eq!(knowledge.form_names(), ["other", "student"]);
        let mut found = Vec::new();
        let extractor = knowledge.form("student").unwrap()?;
        extractor.find(text, &mut |name, value| found.push(format!("{name}={value}")));
        Ok(found)
    }

    #[test]
    fn a_form_reads_what_differs() {
        let text = "x\nStudent's name: Ann Lee \r\nAge: 23 Zip: 10115\nmore";
        let expected = ["student_name=Ann Lee", "age=23", "zip=10115"];
        assert_eq!(found(STUDENT, text).unwrap(), expected);
        assert_eq!(found(STUDENT, "Student's name: Ann").unwrap(), [""; 0]);
        assert_eq!(found("(a) [[qstring:q]].", "(a) \"x y\".").unwrap(), ["q=x y"]);
    }

    #[test]
    fn mistakes_are_said() {
        assert!(found("no module", "").unwrap_err().contains("no [[module:field]]"));
        assert!(found("[[nothing:x]]", "").unwrap_err().contains("[nothing]"));
        let knowledge = Knowledge::new(Layers::builtin());
        assert!(knowledge.form("x").is_none() && knowledge.form_names().is_empty());
    }
}
