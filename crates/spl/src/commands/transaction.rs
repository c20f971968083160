//! `transaction`: combines related events.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Expr, Field, SearchExpr, Spanned, Term, TimeSpan, TimeUnit};
use crate::display::{Arguments, field_names, quoted};
use crate::parser::{OptionValue, Parsed, Parser, pattern_of};
use std::fmt;

/// `transaction [<fields>] [<options>]`; a `None` value is taken from `name=`, or is the default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TransactionCommand {
    /// The fields whose values the events of a transaction have in common.
    pub fields: Vec<Field>,
    /// `name=`: a stanza of `transactiontypes.conf`.
    pub name: Option<Field>,
    /// `maxspan=`: maximum time from the first to the last event (default unlimited).
    pub maxspan: Option<TransactionSpan>,
    /// `maxpause=`: maximum time between adjacent events (default unlimited).
    pub maxpause: Option<TransactionSpan>,
    /// `maxevents=`: maximum number of events (default 1000, unlimited below 0).
    pub maxevents: Option<i64>,
    /// `startswith=`: the condition on the first event.
    pub startswith: Option<TransactionMark>,
    /// `endswith=`: the condition on the last event.
    pub endswith: Option<TransactionMark>,
    /// `connected=`: whether an event must share a value with the transaction (default true).
    pub connected: Option<bool>,
    /// `unifyends=`: whether first and last events must share a value too (default `connected`).
    pub unifyends: Option<bool>,
    /// `keeporphans=`: whether events without a transaction are kept (default false).
    pub keeporphans: Option<bool>,
    /// `keepevicted=`: whether incomplete transactions are kept (default false).
    pub keepevicted: Option<bool>,
    /// `mvlist=`: the fields that list the values of all events (default none).
    pub mvlist: Option<TransactionLists>,
    /// `mvraw=`: whether `_raw` has a value per event (default false).
    pub mvraw: Option<bool>,
    /// `delim=`: separator of values.
    pub delim: Option<String>,
    /// `nullstr=`: the text for a missing value in a list (default `NULL`).
    pub nullstr: Option<String>,
    /// `maxopentxn=`: maximum number of open transactions.
    pub maxopentxn: Option<u64>,
    /// `maxopenevents=`: maximum number of events in open transactions.
    pub maxopenevents: Option<u64>,
}

/// The value of `maxspan=` and `maxpause=`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionSpan {
    /// A negative number.
    Unlimited,
    /// A duration, which may be 0.
    Of(TimeSpan),
}

/// The condition on the first or last event of a transaction.
#[derive(Debug, Clone, PartialEq)]
pub enum TransactionMark {
    /// `startswith="login"`, `startswith=(status=200 "a b")`.
    Search(SearchExpr),
    /// `startswith=eval(x > 3)`.
    Eval(Expr),
}

/// The value of `mvlist=`.
#[derive(Debug, Clone, PartialEq)]
pub enum TransactionLists {
    /// `mvlist=t` or `mvlist=f`.
    All(bool),
    /// `mvlist="a, b"`.
    Fields(Vec<String>),
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "transaction",
    aliases: &["transam"],
    summary: "groups related events",
    syntax: "transaction [<field>...] [name=<name>] [maxspan=<time>] [maxpause=<time>] \
             [maxevents=<n>] [startswith=<filter>] [endswith=<filter>] [<options>]",
    kind: CommandKind::Centralised,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[
    "name",
    "fields",
    "maxspan",
    "maxpause",
    "maxevents",
    "startswith",
    "endswith",
    "connected",
    "unifyends",
    "keeporphans",
    "keepevicted",
    "mvlist",
    "mvraw",
    "delim",
    "nullstr",
    "maxopentxn",
    "maxopenevents",
];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = TransactionCommand::default();
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Transaction(command));
        }
        match p.option(OPTIONS)? {
            Some(option) => accept(&mut command, p, &option)?,
            None => command.fields.push(p.field("a field name or an option")?),
        }
    }
}

fn accept(
    command: &mut TransactionCommand,
    p: &mut Parser<'_>,
    option: &OptionValue,
) -> Parsed<()> {
    match option.name {
        "name" => command.name = Some(option.spanned()),
        "fields" => {
            let names = names(p, option)?.into_iter();
            command.fields.extend(names.map(|name| Spanned::new(name, option.value_span)));
        }
        "maxspan" => command.maxspan = Some(span(option)?),
        "maxpause" => command.maxpause = Some(span(option)?),
        "maxevents" => {
            let number = option.value.parse().map_err(|_| option.error("a whole number"))?;
            command.maxevents = Some(number);
        }
        "startswith" => command.startswith = Some(mark(p, option)?),
        "endswith" => command.endswith = Some(mark(p, option)?),
        "connected" => command.connected = Some(option.boolean()?),
        "unifyends" => command.unifyends = Some(option.boolean()?),
        "keeporphans" => command.keeporphans = Some(option.boolean()?),
        "keepevicted" => command.keepevicted = Some(option.boolean()?),
        "mvlist" => {
            let names = names(p, option)?;
            command.mvlist = Some(match option.boolean() {
                Ok(all) if names.len() == 1 => TransactionLists::All(all),
                _ => TransactionLists::Fields(names),
            });
        }
        "mvraw" => command.mvraw = Some(option.boolean()?),
        "delim" => command.delim = Some(option.text()),
        "nullstr" => command.nullstr = Some(option.text()),
        "maxopentxn" => command.maxopentxn = Some(option.number()?),
        _ => command.maxopenevents = Some(option.number()?),
    }
    Ok(())
}

/// Reads `a,b`, `"a b"`.
fn names(p: &mut Parser<'_>, option: &OptionValue) -> Parsed<Vec<String>> {
    let separators = |c: char| c == ',' || c.is_whitespace();
    let mut names: Vec<String> =
        option.value.split(separators).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    if let Some(name) = names.iter().find(|name| name.contains('*')) {
        let message = format!("wildcards are not allowed here: '{name}' must be one field");
        return Err(p.error(message, option.value_span));
    }
    while p.rest().starts_with(',') && !p.rest()[1..].starts_with(char::is_whitespace) {
        p.bump();
        names.push(p.field("a field name")?.node);
    }
    Ok(names)
}

/// Parses `30s`, `5`, `-1`.
fn span(option: &OptionValue) -> Parsed<TransactionSpan> {
    let seconds = |count| TimeSpan { count, unit: TimeUnit::Second, snap: None };
    let number = option.value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    match number.parse::<i64>() {
        Ok(count) if count < 0 => Ok(TransactionSpan::Unlimited),
        Ok(0) => Ok(TransactionSpan::Of(seconds(0))),
        Ok(count) if number.len() == option.value.len() => {
            Ok(TransactionSpan::Of(seconds(count.unsigned_abs())))
        }
        _ => option.time_span().map(TransactionSpan::Of),
    }
}

/// Reads the value of `startswith=` and `endswith=`. A quoted text that is not a valid search is a phrase.
fn mark(p: &mut Parser<'_>, option: &OptionValue) -> Parsed<TransactionMark> {
    let value = option.value.trim();
    if value.eq_ignore_ascii_case("eval") && p.eat("(") {
        let expr = p.expr()?;
        p.expect(")", "after the expression of eval(")?;
        return Ok(TransactionMark::Eval(expr));
    }
    let inside = value.strip_prefix("eval(").and_then(|rest| rest.strip_suffix(')'));
    if let Some(text) = inside {
        let expr = crate::parse_expression(text);
        let expr = expr.map_err(|error| p.error(error.to_string(), option.value_span))?;
        return Ok(TransactionMark::Eval(expr));
    }
    match crate::parse_search_terms(value) {
        Ok(search) => {
            let expr = search.expr.ok_or_else(|| option.error("a search term"))?;
            Ok(TransactionMark::Search(expr))
        }
        Err(error) if value.starts_with('(') => Err(p.error(error.to_string(), option.value_span)),
        Err(_) => {
            let (pattern, span) = (pattern_of(value), option.value_span);
            Ok(TransactionMark::Search(SearchExpr::Term(Term { pattern, quoted: true, span })))
        }
    }
}

impl fmt::Display for TransactionSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unlimited => f.write_str("-1"),
            Self::Of(span) => span.fmt(f),
        }
    }
}

impl fmt::Display for TransactionMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Search(expr) => write!(f, "({expr})"),
            Self::Eval(expr) => write!(f, "eval({expr})"),
        }
    }
}

impl fmt::Display for TransactionCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments
            .push(field_names(self.fields.iter().map(|field| field.node.as_str())))
            .maybe("name", self.name.as_ref().map(|name| &name.node))
            .maybe("maxspan", self.maxspan.as_ref())
            .maybe("maxpause", self.maxpause.as_ref())
            .maybe("maxevents", self.maxevents);
        for (name, mark) in [("startswith", &self.startswith), ("endswith", &self.endswith)] {
            if let Some(mark) = mark {
                arguments.push(format_args!("{name}={mark}"));
            }
        }
        arguments
            .maybe("connected", self.connected)
            .maybe("unifyends", self.unifyends)
            .maybe("keeporphans", self.keeporphans)
            .maybe("keepevicted", self.keepevicted);
        match &self.mvlist {
            Some(TransactionLists::All(all)) => {
                arguments.option("mvlist", all);
            }
            Some(TransactionLists::Fields(names)) => {
                arguments.push(format_args!("mvlist={}", quoted(&names.join(","))));
            }
            None => {}
        }
        arguments
            .maybe("mvraw", self.mvraw)
            .maybe("delim", self.delim.as_ref())
            .maybe("nullstr", self.nullstr.as_ref())
            .maybe("maxopentxn", self.maxopentxn)
            .maybe("maxopenevents", self.maxopenevents)
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | transaction",
            "* | transaction host cookie maxspan=30s maxpause=5s",
            "* | transaction host,cookie maxspan=-1 maxpause=0 maxevents=-1",
            r#"* | transaction JSESSIONID startswith="view" endswith="purchase done""#,
            r#"* | transaction a startswith=(EventCode=4769 "x)") endswith=eval(first!=last)"#,
            "* | transaction name=session mvlist=t mvraw=f delim=\" \" nullstr=none",
            "* | transaction a mvlist=a,b keepevicted=true maxopentxn=10 maxopenevents=100",
            "* | transaction startswith=\"job started: (main\" connected=f unifyends=f",
        ]);
    }

    #[test]
    fn has_other_ways_to_say_the_same() {
        same("* | transaction fields=\"a,b\" maxspan=60", "* | transaction a b maxspan=60s");
        same("* | transaction mvlist=\"a, b\"", "* | transaction mvlist=a,b");
        same("* | transaction startswith=\"eval(x>1)\"", "* | transaction startswith=eval(x>1)");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | transaction a maxspn=5", "unknown option 'maxspn'", "maxspn");
        refuses("* | transaction a maxspan=5x", "a time such as 30s", "5x");
        refuses("* | transaction a startswith=(a=)", "expected a value", "(a=)");
        refuses("* | transaction a endswith=eval(x>)", "expected an expression", ")");
    }
}
