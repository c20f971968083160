//! Writes trees as text.
//!
//! Guarantees: parsing the text gives an equal tree, except for spans. Leaves to others: layout; the text is
//! one line unless quoted texts of the user contain line breaks.

use crate::ast::{
    BinOptions, BinSpan, BinaryOperator, Command, ComparisonOperator, Directive, DirectiveKind,
    Expr, ExprKind, FieldPattern, PatternPart, Pipeline, SearchCommand, SearchComputed, SearchExpr,
    SearchPattern, SeriesLimit, SeriesOptions, SortKey, SortOrder, SplitBy, SplitWhere,
    SplitWhereCondition, StatsArgument, StatsBy, StatsCall, Subsearch, Term, TimeModifier,
    TimeSpan, UnaryOperator,
};
use crate::parser::is_name_character;
use std::fmt;

/// Words with a meaning in lists of fields, which need quotes as field names.
const KEYWORDS: [&str; 12] =
    ["as", "by", "over", "where", "sortby", "with", "in", "notin", "from", "and", "or", "not"];

/// Arguments separated by blanks.
#[derive(Debug, Default)]
pub(crate) struct Arguments(String);

impl Arguments {
    pub(crate) fn push(&mut self, argument: impl fmt::Display) -> &mut Self {
        let before = self.0.len();
        if before > 0 {
            self.0.push(' ');
        }
        let at = self.0.len();
        self.0.push_str(&argument.to_string());
        if self.0.len() == at {
            self.0.truncate(before);
        }
        self
    }

    /// Writes `name=value`.
    pub(crate) fn option(&mut self, name: &str, value: impl fmt::Display) -> &mut Self {
        self.push(format_args!("{name}={}", option_text(&value.to_string())))
    }

    /// Writes `name=value` if there is a value.
    pub(crate) fn maybe(&mut self, name: &str, value: Option<impl fmt::Display>) -> &mut Self {
        match value {
            Some(value) => self.option(name, value),
            None => self,
        }
    }

    /// Writes `name=true|false` unless it is the default.
    pub(crate) fn flag(&mut self, name: &str, value: bool, default: bool) -> &mut Self {
        if value == default { self } else { self.option(name, value) }
    }

    /// Writes `AS name` if there is an alias.
    pub(crate) fn alias(&mut self, alias: Option<&str>) -> &mut Self {
        match alias {
            Some(alias) => self.push(format_args!("AS {}", field_name(alias))),
            None => self,
        }
    }

    pub(crate) fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns `text` in double quotes.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns a name as it is written in lists of fields.
pub(crate) fn field_name(name: &str) -> String {
    let keyword = KEYWORDS.iter().any(|keyword| name.eq_ignore_ascii_case(keyword));
    let bare = name.chars().all(|c| is_name_character(c) && c != '`')
        && !name.starts_with(['\'', '+', '-'])
        && name.chars().any(|c| !c.is_ascii_digit());
    if bare && !keyword { name.to_owned() } else { quoted(name) }
}

/// Joins names with commas.
pub(crate) fn field_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(field_name).collect::<Vec<_>>().join(", ")
}

/// Joins patterns with commas.
pub(crate) fn field_patterns(patterns: &[FieldPattern]) -> String {
    field_names(patterns.iter().map(|pattern| pattern.text.as_str()))
}

/// Joins items with commas.
pub(crate) fn commas<T: fmt::Display>(things: &[T]) -> String {
    things.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

/// Returns a value as it is written in options; brackets stay unquoted only around a subsearch.
fn option_text(value: &str) -> String {
    if is_subsearch(value) {
        return value.to_owned();
    }
    let bare = !value.is_empty()
        && !value.starts_with('=')
        && value.chars().all(|c| !c.is_whitespace() && !"|,()[]\"'`\\".contains(c));
    if bare { value.to_owned() } else { quoted(value) }
}

/// Returns whether this is a subsearch in brackets, and not a JSON array.
fn is_subsearch(value: &str) -> bool {
    let begins =
        |inside: &str| inside.starts_with(|c: char| c == '|' || c == '`' || c.is_alphabetic());
    value.strip_prefix('[').is_some_and(|inside| begins(inside.trim_start()))
        && crate::parse_search_terms(value)
            .is_ok_and(|found| matches!(found.expr, Some(SearchExpr::Subsearch(_))))
}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, command) in self.commands.iter().enumerate() {
            match (index, &command.node) {
                (0, Command::Search(_)) => {}
                (0, _) => f.write_str("| ")?,
                _ => f.write_str(" | ")?,
            }
            command.node.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments = self.arguments();
        f.write_str(self.written_name())?;
        if arguments.is_empty() { Ok(()) } else { write!(f, " {arguments}") }
    }
}

impl fmt::Display for Subsearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", self.pipeline)
    }
}

impl fmt::Display for FieldPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&field_name(&self.text))
    }
}

impl fmt::Display for SearchCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        if let Some(format) = self.time_format() {
            arguments.option("timeformat", format);
        }
        for modifier in &self.time {
            arguments.push(modifier);
        }
        if let Some(expr) = &self.expr {
            arguments.push(expr);
        }
        arguments.write(f)
    }
}

impl fmt::Display for TimeModifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = option_text(&self.value);
        // A star in this position is a wildcard with or without quotes, unlike in options.
        write!(f, "{}={value}", self.kind.name())
    }
}

impl fmt::Display for SearchPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                PatternPart::Any => f.write_str("*")?,
                PatternPart::Literal(text) => {
                    for c in text.chars() {
                        if matches!(c, '\\' | '"' | '*') {
                            f.write_str("\\")?;
                        }
                        write!(f, "{c}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn piece(pattern: &SearchPattern, is_quoted: bool) -> String {
    if is_quoted { format!("\"{pattern}\"") } else { pattern.to_string() }
}

fn search_field(name: &str) -> String {
    let bare = name.chars().all(|c| !c.is_whitespace() && !"|()\"[]=<>!,\\`".contains(c))
        && !matches!(name, "AND" | "OR" | "NOT")
        && !["by", "groupby"].iter().any(|word| word.eq_ignore_ascii_case(name));
    if bare { name.to_owned() } else { quoted(name) }
}

impl fmt::Display for SearchExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::And(members) if is_case(members) => write!(f, "{}", members[1]),
            Self::And(members) => write_members(f, members, " "),
            Self::Or(members) => write_members(f, members, " OR "),
            Self::Not(inner, _) => write!(f, "NOT {}", nested(inner)),
            Self::Term(Term { pattern, quoted, .. }) => f.write_str(&piece(pattern, *quoted)),
            Self::Comparison(comparison) => {
                let value = piece(&comparison.value.pattern, comparison.value.quoted);
                let field = search_field(&comparison.field.node);
                // `a= =b` must not become `a==b`.
                let gap = if value.starts_with('=') { " " } else { "" };
                write!(f, "{field}{}{gap}{value}", comparison.operator.symbol())
            }
            Self::Cased(comparison) => {
                let field = search_field(&comparison.field.node);
                write!(f, "{field}=CASE(\"{}\")", comparison.value.pattern)
            }
            Self::In(list) => {
                let values: Vec<String> =
                    list.values.iter().map(|value| piece(&value.pattern, value.quoted)).collect();
                let not = if list.negated { "NOT " } else { "" };
                let field = search_field(&list.field.node);
                write!(f, "{field} {not}IN ({})", values.join(", "))
            }
            Self::Directive(directive) => directive.fmt(f),
            Self::Subsearch(subsearch) => subsearch.fmt(f),
            Self::Time(modifier) => modifier.fmt(f),
            Self::Computed(SearchComputed { field, operator, subsearch }) => {
                write!(f, "{}{}{subsearch}", search_field(&field.node), operator.symbol())
            }
        }
    }
}

/// Returns whether an `And` represents `field=CASE(value)`, which is then written in that form.
fn is_case(members: &[SearchExpr]) -> bool {
    match members {
        [SearchExpr::Comparison(any), SearchExpr::Cased(cased)] => {
            any.field.node == cased.field.node
                && any.operator == ComparisonOperator::Equal
                && any.value.pattern == cased.value.pattern
        }
        _ => false,
    }
}

fn write_members(f: &mut fmt::Formatter<'_>, members: &[SearchExpr], between: &str) -> fmt::Result {
    let mut behind_in = false;
    for (index, member) in members.iter().enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        match member {
            // Without brackets: after the word `in`, a bracket would start a list of values.
            SearchExpr::Or(_) if behind_in => write!(f, "{member}")?,
            _ => f.write_str(&nested(member))?,
        }
        behind_in = matches!(member, SearchExpr::Term(term)
            if !term.quoted && term.pattern.text().eq_ignore_ascii_case("in"));
    }
    Ok(())
}

fn nested(expr: &SearchExpr) -> String {
    match expr {
        SearchExpr::And(_) | SearchExpr::Or(_) => format!("({expr})"),
        _ => expr.to_string(),
    }
}

impl fmt::Display for Directive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            DirectiveKind::Case => "CASE",
            DirectiveKind::Term => "TERM",
        };
        write!(f, "{name}(\"{}\")", self.pattern)
    }
}

impl BinaryOperator {
    /// Returns the operator as written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Or => "OR",
            Self::Xor => "XOR",
            Self::And => "AND",
            Self::Compare(comparison) => comparison.symbol(),
            Self::Like => "LIKE",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Concat => ".",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }

    /// Returns the precedence; operators with higher values bind tighter.
    fn precedence(self) -> u8 {
        match self {
            Self::Xor => 1,
            Self::Or => 2,
            Self::And => 3,
            Self::Compare(_) | Self::Like => 5,
            Self::Add | Self::Subtract | Self::Concat => 6,
            Self::Multiply | Self::Divide | Self::Remainder => 7,
        }
    }

    fn is_associative(self) -> bool {
        matches!(self, Self::Xor | Self::Or | Self::And)
    }
}

const NOT_PRECEDENCE: u8 = 4;
const COMPARISON_PRECEDENCE: u8 = 5;
const SIGN_PRECEDENCE: u8 = 8;

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_expr(f, self, 0)
    }
}

/// Writes `expr`, in brackets if its precedence is below `least`.
fn write_expr(f: &mut fmt::Formatter<'_>, expr: &Expr, least: u8) -> fmt::Result {
    let own = match &expr.kind {
        ExprKind::Binary(operator, ..) => operator.precedence(),
        ExprKind::Unary(UnaryOperator::Not, _) => NOT_PRECEDENCE,
        ExprKind::In { .. } => COMPARISON_PRECEDENCE,
        ExprKind::Unary(..) => SIGN_PRECEDENCE,
        _ => u8::MAX,
    };
    if own < least {
        f.write_str("(")?;
        write_expr(f, expr, 0)?;
        return f.write_str(")");
    }
    match &expr.kind {
        ExprKind::Number(text) => f.write_str(text),
        ExprKind::String(text) => f.write_str(&quoted(text)),
        ExprKind::Field(field) if field.quoted => {
            let name = field.name.replace('\\', "\\\\").replace('\'', "\\'");
            write!(f, "'{name}'")
        }
        ExprKind::Field(field) => f.write_str(&field.name),
        ExprKind::Unary(operator, inner) => {
            f.write_str(match operator {
                UnaryOperator::Not => "NOT ",
                UnaryOperator::Negate => "-",
                UnaryOperator::Plus => "+",
            })?;
            write_expr(f, inner, own)
        }
        ExprKind::Binary(operator, left, right) => {
            let is_comparison = own == COMPARISON_PRECEDENCE;
            write_expr(f, left, if is_comparison { own + 1 } else { own })?;
            write!(f, " {} ", operator.symbol())?;
            write_expr(f, right, if operator.is_associative() { own } else { own + 1 })
        }
        ExprKind::In { value, list, negated } => {
            write_expr(f, value, own + 1)?;
            write!(f, " {}IN ({})", if *negated { "NOT " } else { "" }, commas(list))
        }
        ExprKind::Call(call) => write!(f, "{}({})", call.function.node, commas(&call.arguments)),
        ExprKind::Subsearch(subsearch) => write!(f, "{subsearch}"),
    }
}

impl fmt::Display for StatsCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match &self.alias {
            Some(alias) => write!(f, " AS {}", field_name(&alias.node)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for StatsArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Field(field) => field.fmt(f),
            Self::Eval(expr) => write!(f, "eval({expr})"),
            Self::Over { expr, .. } => expr.fmt(f),
            Self::Prefix(text) => write!(f, "PREFIX({})", text.node),
            Self::Sparkline { call, step } => {
                if let Some(call) = call {
                    call.fmt(f)?;
                }
                step.as_ref().map_or(Ok(()), |step| write!(f, ", {step}"))
            }
        }
    }
}

impl fmt::Display for StatsBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return Ok(());
        }
        f.write_str("BY ")?;
        for (index, field) in self.fields.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            if self.prefixes.contains(&index) {
                write!(f, "PREFIX({})", quoted(&field.text))?;
            } else {
                field.fmt(f)?;
            }
        }
        if self.auto_span {
            f.write_str(" span=auto")?;
        }
        self.span.as_ref().map_or(Ok(()), |span| write!(f, " span={span}"))
    }
}

impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.count, self.unit.name())?;
        self.snap.as_ref().map_or(Ok(()), |snap| write!(f, "@{snap}"))
    }
}

impl fmt::Display for BinSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(span) => span.fmt(f),
            Self::Number(number) => f.write_str(number),
            Self::Log { coefficient, base } => write!(f, "{coefficient}log{base}"),
        }
    }
}

impl fmt::Display for BinOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .maybe("span", self.span.as_ref())
            .maybe("minspan", self.minspan.as_ref())
            .maybe("bins", self.bins)
            .maybe("start", self.start.as_ref())
            .maybe("end", self.end.as_ref())
            .maybe("aligntime", self.aligntime.as_ref())
            .write(f)
    }
}

impl fmt::Display for SeriesLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Top(count) => write!(f, "top{count}"),
            Self::Bottom(count) => write!(f, "bottom{count}"),
        }
    }
}

impl fmt::Display for SeriesOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments
            .maybe("sep", self.sep.as_ref())
            .maybe("format", self.format.as_ref())
            .maybe("cont", self.cont)
            .maybe("limit", self.limit)
            .maybe("useother", self.useother)
            .maybe("usenull", self.usenull)
            .maybe("otherstr", self.otherstr.as_ref())
            .maybe("nullstr", self.nullstr.as_ref())
            .flag("dedup_splitvals", self.dedup_splitvals, false);
        if let Some(agg) = &self.agg {
            arguments.push(format_args!("agg={agg}"));
        }
        arguments.write(f)
    }
}

impl fmt::Display for SplitBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default().push(field_name(&self.field.node)).push(&self.bins).write(f)
    }
}

impl fmt::Display for SplitWhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WHERE {} ", self.call)?;
        match &self.condition {
            SplitWhereCondition::In { limit, negated } => {
                write!(f, "{} {limit}", if *negated { "notin" } else { "in" })
            }
            SplitWhereCondition::Compare(operator, number) => {
                write!(f, "{} {number}", operator.symbol())
            }
        }
    }
}

impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.descending { "-" } else { "+" };
        let is_direction =
            ["d", "desc", "asc"].iter().any(|word| self.field.node.eq_ignore_ascii_case(word));
        let name =
            if is_direction { quoted(&self.field.node) } else { field_name(&self.field.node) };
        match self.order {
            SortOrder::Auto => write!(f, "{sign}{name}"),
            SortOrder::Number => write!(f, "{sign}num({name})"),
            SortOrder::String => write!(f, "{sign}str({name})"),
            SortOrder::Ip => write!(f, "{sign}ip({name})"),
        }
    }
}
