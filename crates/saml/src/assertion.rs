//! A signed assertion: its subject, its audience, and its validity period.

use crate::error::{Error, short};
use crate::login::{ASSERTION, Expected, Login, Subject};
use crate::settings::Settings;
use crate::time;
use crate::xml::{Document, Id};

const BEARER: &str = "urn:oasis:names:tc:SAML:2.0:cm:bearer";
const ENTITY: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:entity";
/// Maximum length in bytes of a user's name and of an attribute's value.
const MAX_TEXT_BYTES: usize = 1_024;
const MAX_GROUPS: usize = 2_000;

/// Reads an assertion from a signed text.
pub(crate) fn read(
    settings: &Settings,
    document: &Document,
    id: Id,
    expected: Expected<'_>,
) -> Result<Login, Error> {
    let reader = Reader { settings, document, id, expected };
    reader.check_head()?;
    let confirmed_until = reader.check_confirmations()?;
    let conditions_until = reader.check_conditions()?;
    let (session_index, session_end) = reader.session()?;
    let (name_id, format) = reader.name_id()?;
    let groups = reader.values(&settings.attributes.role)?;
    if groups.len() > MAX_GROUPS {
        return Err(Error::TooLarge("more than 2,000 groups"));
    }
    let first = |name: &str| reader.values(name).map(|values| values.into_iter().next());
    let assertion = document.get(id);
    Ok(Login {
        subject: Subject { name_id, format, session_index },
        real_name: first(&settings.attributes.real_name)?,
        mail: first(&settings.attributes.mail)?,
        groups,
        assertion_id: assertion.attribute("ID").unwrap_or_default().to_owned(),
        expires: confirmed_until.min(conditions_until).saturating_add(settings.skew),
        session_end,
    })
}

/// Checks that the issuer is the configured provider.
pub(crate) fn check_issuer(
    settings: &Settings,
    document: &Document,
    issuer: Id,
) -> Result<(), Error> {
    let found = document.text(issuer)?;
    let format = document.get(issuer).attribute("Format");
    if found != settings.issuer_id || format.is_some_and(|format| format != ENTITY) {
        let reason = format!("its issuer is \"{}\", not {}", short(found), settings.issuer_id);
        return Err(Error::response(reason));
    }
    Ok(())
}

struct Reader<'a> {
    settings: &'a Settings,
    document: &'a Document,
    id: Id,
    expected: Expected<'a>,
}

impl Reader<'_> {
    fn only(&self, id: Id, name: &str) -> Result<Id, Error> {
        let found = self.document.only(id, ASSERTION, name)?;
        found.ok_or_else(|| Error::response(format!("it has no {name}")))
    }

    fn check_head(&self) -> Result<(), Error> {
        let assertion = self.document.get(self.id);
        if !assertion.is(ASSERTION, "Assertion") || assertion.attribute("Version") != Some("2.0") {
            return Err(Error::response("the assertion's version is not 2.0"));
        }
        if assertion.attribute("ID").is_none() {
            return Err(Error::response("the assertion has no ID"));
        }
        check_issuer(self.settings, self.document, self.only(self.id, "Issuer")?)
    }

    /// Checks that the current time is within an interval, and returns its end.
    fn check_interval(&self, id: Id, what: &str) -> Result<Option<i64>, Error> {
        let (element, now, skew) = (self.document.get(id), self.expected.now, self.settings.skew);
        let time = |name| element.attribute(name).map(time::parse).transpose();
        if time("NotBefore")?.is_some_and(|start| now.saturating_add(skew) < start) {
            return Err(Error::response(format!("{what} is not valid yet; check the clocks")));
        }
        let end = time("NotOnOrAfter")?;
        if end.is_some_and(|end| now.saturating_sub(skew) >= end) {
            return Err(Error::response(format!("{what} has expired; check the clocks")));
        }
        Ok(end)
    }

    /// Checks that one bearer confirmation is for this request and this address, and returns its end.
    fn check_confirmations(&self) -> Result<i64, Error> {
        let subject = self.only(self.id, "Subject")?;
        let mut refused = Error::response("it has no bearer confirmation");
        for confirmation in self.document.named(subject, ASSERTION, "SubjectConfirmation") {
            if self.document.get(confirmation).attribute("Method") != Some(BEARER) {
                continue;
            }
            match self.check_confirmation(confirmation) {
                Ok(end) => return Ok(end),
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    fn check_confirmation(&self, confirmation: Id) -> Result<i64, Error> {
        let data = self.only(confirmation, "SubjectConfirmationData")?;
        let element = self.document.get(data);
        if element.attribute("Recipient") != Some(self.settings.acs_url.as_str()) {
            let found = short(element.attribute("Recipient").unwrap_or_default());
            let reason = format!("its recipient is \"{found}\", not {}", self.settings.acs_url);
            return Err(Error::response(reason));
        }
        match element.attribute("InResponseTo") {
            Some(id) if id == self.expected.request_id => {}
            Some(_) => return Err(Error::response("it answers another request")),
            None => {
                let reason =
                    "it was not requested: logins begin at this server, not at the provider";
                return Err(Error::response(reason));
            }
        }
        let end = self.check_interval(data, "the confirmation")?;
        end.ok_or_else(|| Error::response("its confirmation has no end"))
    }

    /// Checks that the audience includes this server, and returns the end of the conditions, if there is
    /// one.
    fn check_conditions(&self) -> Result<i64, Error> {
        let conditions = self.only(self.id, "Conditions")?;
        let end = self.check_interval(conditions, "the assertion")?;
        let mut has_audience = false;
        for condition in self.document.children(conditions) {
            let element = self.document.get(condition);
            match element.name.as_str() {
                "AudienceRestriction" => {
                    self.check_audience(condition)?;
                    has_audience = true;
                }
                "OneTimeUse" | "ProxyRestriction" => {}
                other => {
                    return Err(Error::response(format!("unknown condition {}", short(other))));
                }
            }
        }
        match has_audience {
            true => Ok(end.unwrap_or(i64::MAX)),
            false => Err(Error::response("it names no audience")),
        }
    }

    fn check_audience(&self, restriction: Id) -> Result<(), Error> {
        let mut found = String::new();
        for audience in self.document.named(restriction, ASSERTION, "Audience") {
            let name = self.document.text(audience)?;
            if name == self.settings.entity_id {
                return Ok(());
            }
            found = short(name);
        }
        let own = &self.settings.entity_id;
        Err(Error::response(format!("its audience is \"{found}\", not {own} (entityId)")))
    }

    fn session(&self) -> Result<(Option<String>, Option<i64>), Error> {
        let mut statements = self.document.named(self.id, ASSERTION, "AuthnStatement");
        let statement = statements.next();
        let statement = statement.ok_or_else(|| Error::response("it has no AuthnStatement"))?;
        if statements.next().is_some() {
            return Err(Error::response("it has several AuthnStatements"));
        }
        let element = self.document.get(statement);
        let end = element.attribute("SessionNotOnOrAfter").map(time::parse).transpose()?;
        if end.is_some_and(|end| self.expected.now.saturating_sub(self.settings.skew) >= end) {
            return Err(Error::response("the session at the provider has ended"));
        }
        Ok((element.attribute("SessionIndex").map(str::to_owned), end))
    }

    fn name_id(&self) -> Result<(String, Option<String>), Error> {
        let name_id = self.only(self.only(self.id, "Subject")?, "NameID")?;
        let name = self.bounded(name_id)?;
        if name.is_empty() {
            return Err(Error::response("its NameID is empty"));
        }
        if self.settings.excluded_users.contains(&name.to_lowercase()) {
            return Err(Error::response("the user is in excludedUsers"));
        }
        Ok((name, self.document.get(name_id).attribute("Format").map(str::to_owned)))
    }

    fn bounded(&self, id: Id) -> Result<String, Error> {
        let text = self.document.text(id)?;
        match text.len() <= MAX_TEXT_BYTES {
            true => Ok(text.to_owned()),
            false => Err(Error::TooLarge("a value of more than 1,024 bytes")),
        }
    }

    /// The non-empty values of an attribute. Some providers use the configured name only as the friendly
    /// name.
    fn values(&self, name: &str) -> Result<Vec<String>, Error> {
        let mut attributes = self.attributes("Name", name);
        if attributes.is_empty() {
            attributes = self.attributes("FriendlyName", name);
        }
        let mut values = Vec::new();
        for attribute in attributes {
            for value in self.document.named(attribute, ASSERTION, "AttributeValue") {
                values.push(self.bounded(value)?);
            }
        }
        values.retain(|value| !value.is_empty());
        Ok(values)
    }

    fn attributes(&self, key: &str, name: &str) -> Vec<Id> {
        let statements = self.document.named(self.id, ASSERTION, "AttributeStatement");
        let all = statements.flat_map(|id| self.document.named(id, ASSERTION, "Attribute"));
        all.filter(|id| self.document.get(*id).attribute(key) == Some(name)).collect()
    }
}
