//! `search`: keeps events that match terms and comparisons.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, SearchExpr, TimeModifier, TimeModifierKind};
use crate::parser::{Parsed, Parser};

/// `search <expression> [time modifiers]`; also the implied first command.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SearchCommand {
    /// The condition; `None` if only time modifiers, or no arguments, are written: then all events match.
    pub expr: Option<SearchExpr>,
    /// Time modifiers such as `earliest=`, in the order written. They are not part of the boolean tree,
    /// except for those of single branches of OR ([`SearchExpr::Time`]).
    pub time: Vec<TimeModifier>,
}

impl SearchCommand {
    /// Returns the last modifier of a kind, which is the effective one.
    pub fn time_modifier(&self, kind: TimeModifierKind) -> Option<&TimeModifier> {
        self.time.iter().rev().find(|modifier| modifier.kind == kind)
    }

    /// Returns `timeformat=`, which is the same for all modifiers.
    pub fn time_format(&self) -> Option<&str> {
        let own = self.time.iter().find_map(|modifier| modifier.format.as_deref());
        own.or_else(|| self.expr.as_ref().and_then(SearchExpr::time_format))
    }
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "search",
    aliases: &[],
    summary: "keeps events that match terms and comparisons",
    syntax: "search <terms> [earliest=<time>] [latest=<time>] [timeformat=<format>]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Search,
    parse,
};

const OPTIONS: &[&str] = &["earliest", "latest", "_index_earliest", "_index_latest", "timeformat"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    p.search(|_| false).map(Command::Search)
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "",
            "*",
            "index=web",
            "search index=web status=404",
            "error OR warn host=a",
            "a b OR c d",
            "NOT a NOT (b c)",
            "NOT NOT a",
            "status>=400 status < 500 user!=root x == y",
            r#"status IN (404, 50*, "a b")"#,
            "status NOT IN (1,2)",
            "status in (200)",
            "error in (foo OR bar)",
            r#""quoted phrase" "a\"b\\c\*d*""#,
            r#"path=C:\Windows\* a\*b*c"#,
            "TERM(10.0.0.1) CASE(Error)",
            "TERM(user=*)",
            "host=CASE(LOCALHOST) b user=TERM(x.y) c",
            r#"host!=CASE("a B*") OR NOT x=CASE(*Y)"#,
            r#"timeformat="%Y-%m-%d" starttime=2015-05-01 endtime=2015-05-30 a"#,
            r#"(a starttime=2015-05-01) OR (b starttime=2015-05-02) timeformat=%Y-%m-%d"#,
            "timeformat=x starttime=5",
            "index=a [search index=b | fields user]",
            "earliest=-1d@d latest=now error",
            r#"earliest="10/27/2026:00:00:00" _index_earliest=-1h _index_latest=now"#,
            "(earliest=-1d error) OR warn",
            r#"host=(a OR b OR "c d")"#,
            "source=/var/log/*.log, sourcetype=access-combined:json",
            r#""field name"="some value""#,
            r#"user="*""#,
            "a.b{}.c=1",
            "sourcetype::syslog",
            "fe80::1",
            "x=a=b",
            "url=http://a/b?c=d&e=f",
            "() a",
            r#"a ```a comment | with [things "``` b"#,
            "tag=web eventtype=x $token$",
            r#"user="""#,
            r#"field="a|b]" | head 1"#,
            "( a  AND  b ) OR NOT c AND d",
            "foo(bar)",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("(a", "is not closed", "(");
        refuses("a)", "')' was not opened", ")");
        refuses("a]", "']' was not opened", "]");
        refuses("a OR", "a term after OR", "");
        refuses("a AND", "a term after AND", "");
        refuses("OR a", "expected a search term", "OR");
        refuses("AND", "expected a search term", "AND");
        refuses("NOT", "expected a search term", "");
        refuses(r#"a="b"#, "unbalanced quotes", r#"""#);
        refuses("=5", "a field name before the operator", "=5");
        refuses("status=", "a value after 'status='", "");
        refuses("status= | head", "a value after", "|");
        refuses("x IN (a", "after the values of IN", "");
        refuses("x IN ()", "at least one value", "x IN ()");
        refuses("earliest>5", "takes only '=' before a number", "earliest>5");
        refuses("earliest<-1d", "takes only '=', '>' and '>='", "earliest<-1d");
        refuses("latest>=@d", "takes only '=', '<' and '<='", "latest>=@d");
        refuses("_index_latest!=@d", "takes only '=', '<' and '<='", "_index_latest!=@d");
        refuses("NOT earliest=-1d", "cannot be negated", "NOT earliest=-1d");
        refuses("a `m(1)` b", "macro `m(1)` cannot be expanded", "`m(1)`");
        refuses("a ```b", "comment is not closed", "```b");
        refuses("host>CASE(x)", "takes only = and !=", "CASE(x)");
        refuses("earliest=TERM(x)", "does not take CASE() or TERM()", "TERM(x)");
        refuses("host=CASE()", "contains no term", "CASE()");
        refuses("[search a", "is not closed", "[");
        refuses("TERM()", "contains no term", "TERM()");
    }

    #[test]
    fn has_other_ways_to_say_the_same() {
        crate::testing::same("a b OR c d", "a (b OR c) d");
        crate::testing::same("NOT a OR b", "(NOT a) OR b");
        crate::testing::same("a AND b", "a b");
        crate::testing::same("x==1", "x = 1");
        crate::testing::same("search a", "a");
        crate::testing::same("SEARCH a", "search a");
        crate::testing::same("a, b", "a b");
        crate::testing::same("host=(a OR b)", "(host=a OR host=b)");
        crate::testing::same("host::a", "host=a");
        crate::testing::same("a earliest>=-1d latest<@d", "a earliest=-1d latest=@d");
        crate::testing::same("a earliest > -1d latest <= now", "a earliest=-1d latest=now");
        crate::testing::same(
            "a _index_earliest>=@d _index_latest<now",
            "a _index_earliest=@d _index_latest=now",
        );
        crate::testing::same("user=TERM(x.y)", "user=\"x.y\"");
        crate::testing::same("user!=CASE(X)", "(user=* NOT user=CASE(X))");
        crate::testing::same(
            "starttime=2015-05-01 a timeformat=%Y-%m-%d",
            "timeformat=%Y-%m-%d earliest=2015-05-01 a",
        );
        crate::testing::same("```x``` a", "a");
    }
}
