//! The columns that a query reads from its indexes, by the scopes of SQL.
//!
//! An index has a column for each computed field that a query names (`plan::sql_table`), and such a column
//! hides what else the query calls so: in `GROUP BY`, the engine prefers a column of the input to a name
//! given with `AS`. So a name counts only where an index can be meant: not if it is the name of a result,
//! nor if a query in `FROM` or `WITH` has a result of this name. Through the `*` of such a query, names
//! reach the relations within it. Which index a column without its table belongs to is known only once they
//! are open, so all indexes of a `FROM` have its name.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Cte, Distinct, ExcludeSelectItem, Expr, FunctionArguments, Ident, JoinConstraint, JoinOperator,
    ObjectName, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, SetOperator,
    Statement as Parsed, TableAlias, TableFactor, TableWithJoins, Visit, Visitor,
    WildcardAdditionalOptions,
};

/// How many names queries may pass to the queries within them: each level has its own set of names.
const MOST_PASSED: usize = 250_000;

/// The columns that a statement reads from its indexes.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Their names, by the index that may have them.
    pub(crate) read: BTreeMap<String, BTreeSet<String>>,
    /// Whether a `*` or a `NATURAL JOIN` stands for columns without naming them.
    pub(crate) all: bool,
    /// Whether there are too many columns in too many levels of queries to follow them all.
    pub(crate) too_many: bool,
}

/// Returns the columns that a statement reads from its indexes.
pub(crate) fn of(statement: &Statement) -> Names {
    let mut walk = Walk::default();
    walk.statement(statement);
    Names { read: walk.read, all: walk.all, too_many: walk.passed > MOST_PASSED }
}

/// A column as it is written.
#[derive(Debug, Clone)]
struct Name {
    /// The table before it.
    table: Option<String>,
    column: String,
}

impl Name {
    fn of_column(column: &str) -> Self {
        Self { table: None, column: column.to_owned() }
    }

    /// Whether it can be that of a result with this name.
    fn is_given(&self, given: &HashSet<String>) -> bool {
        self.table.is_none() && given.contains(&self.column)
    }
}

/// The results of a query, as far as its text says.
#[derive(Debug, Clone, Default)]
struct Outputs {
    /// Their names.
    given: HashSet<String>,
    /// Whether there are more, through `*`.
    all: bool,
}

impl Outputs {
    fn of_query(query: &Query) -> Self {
        let outputs = Self::of_body(&query.body);
        let is_piped = !query.pipe_operators.is_empty();
        Self { all: outputs.all || is_piped, ..outputs }
    }

    fn of_body(body: &SetExpr) -> Self {
        match body {
            SetExpr::Select(select) => Self::of_select(select),
            SetExpr::Query(query) => Self::of_query(query),
            SetExpr::SetOperation { left, .. } => Self::of_body(left),
            _ => Self::default(),
        }
    }

    fn of_select(select: &Select) -> Self {
        let mut given = aliases(select);
        for item in &select.projection {
            if let SelectItem::UnnamedExpr(expr) = item {
                given.extend(name_of(expr).map(|name| name.column));
            }
        }
        // A query that begins with FROM has no list.
        let mut all = select.projection.is_empty();
        all |= select.projection.iter().any(|item| star(item).is_some());
        Self { given, all }
    }

    /// The names after `AS t (a, b)`, if there are any.
    fn renamed(self, alias: Option<&TableAlias>) -> Self {
        match alias {
            Some(alias) if !alias.columns.is_empty() => {
                let given = alias.columns.iter().map(|column| column.name.value.clone()).collect();
                Self { given, all: false }
            }
            _ => self,
        }
    }

    /// Whether a name that is not given may be among them.
    fn may_have(&self, column: &str) -> bool {
        self.all && !self.given.contains(column)
    }
}

/// A relation of a `FROM`.
struct Relation<'q> {
    /// The name before its columns.
    name: Option<String>,
    source: Source<'q>,
    outputs: Outputs,
}

enum Source<'q> {
    /// An index of this name.
    Index(String),
    /// A query of `WITH`, by its position among those that are known.
    With(usize),
    Query {
        query: &'q Query,
        lateral: bool,
        wanted: BTreeSet<String>,
    },
    /// A function, or a table that is not an index.
    Other,
}

/// A query of `WITH`, and which of its columns are read where it is used.
struct With {
    name: String,
    outputs: Outputs,
    wanted: BTreeSet<String>,
}

/// The relations of a `FROM`, and what its `SELECT` reads of them.
#[derive(Default)]
struct Clause<'q> {
    relations: Vec<Relation<'q>>,
    names: Vec<Name>,
    /// Columns that both sides of a join have.
    using: Vec<String>,
    /// Columns that are read around the query, and may be those of a `*`.
    through: Vec<String>,
    /// The tables of its `*`; `None`: all.
    starred: BTreeSet<Option<String>>,
}

#[derive(Default)]
struct Walk {
    read: BTreeMap<String, BTreeSet<String>>,
    all: bool,
    with: Vec<With>,
    /// How many names have been passed to queries.
    passed: usize,
}

impl Walk {
    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Explain(explain) => self.statement(&explain.statement),
            Statement::Statement(parsed) => self.parsed(parsed),
            _ => {}
        }
    }

    fn parsed(&mut self, parsed: &Parsed) {
        match parsed {
            Parsed::Query(query) => {
                // Names that no relation has are mistakes.
                self.query(query, &BTreeSet::new());
            }
            Parsed::Explain { statement, .. } => self.parsed(statement),
            _ => {}
        }
    }

    /// Counts names that are passed to a query. Returns whether they are not too many yet.
    fn may_pass(&mut self, wanted: &BTreeSet<String>) -> bool {
        self.passed += wanted.len();
        self.passed <= MOST_PASSED
    }

    /// Returns the columns that expressions read, without those within their queries that belong there.
    fn reads<T: Visit>(&mut self, part: &T) -> Vec<Name> {
        let mut reads = Reads { walk: self, names: Vec::new(), depth: 0 };
        let _ = part.visit(&mut reads);
        reads.names
    }

    /// Reads a query of whose results these are read around it. Returns the names that its own relations may
    /// not have: they belong to a query around it.
    fn query(&mut self, query: &Query, wanted: &BTreeSet<String>) -> Vec<Name> {
        if !self.may_pass(wanted) {
            return Vec::new();
        }
        let tables = query.with.as_ref().map_or(&[][..], |with| with.cte_tables.as_slice());
        for table in tables {
            let outputs = Outputs::of_query(&table.query).renamed(Some(&table.alias));
            let name = table.alias.name.value.clone();
            self.with.push(With { name, outputs, wanted: BTreeSet::new() });
        }
        let mut wanted = wanted.clone();
        if !query.pipe_operators.is_empty() {
            self.all = true;
            let piped = self.reads(&query.pipe_operators);
            wanted.extend(piped.into_iter().map(|name| name.column));
        }
        let sorted = self.reads(&query.order_by);
        let mut outer = self.body(&query.body, &wanted, sorted);
        // The last query of a WITH may read those before it.
        let recursive = query.with.as_ref().is_some_and(|with| with.recursive);
        for table in tables.iter().rev() {
            outer.extend(self.query_of_with(table, recursive));
        }
        outer
    }

    fn query_of_with(&mut self, table: &Cte, recursive: bool) -> Vec<Name> {
        let Some(own) = self.with.pop() else { return Vec::new() };
        let (first, repeated) = match table.query.body.as_ref() {
            SetExpr::SetOperation { op: SetOperator::Union, left, right, .. } if recursive => {
                (left, right)
            }
            _ => return self.query(&table.query, &own.wanted),
        };
        // Only this part reads the query itself. In the other one, its name can be that of an index.
        let wanted = own.wanted.clone();
        self.with.push(own);
        let mut outer = self.body(repeated, &wanted, Vec::new());
        // The columns that it reads of itself.
        let again = self.with.last().map(|own| own.wanted.clone()).unwrap_or_default();
        if again.len() > wanted.len() {
            self.body(repeated, &again, Vec::new());
        }
        self.with.pop();
        outer.extend(self.body(first, &again, Vec::new()));
        outer
    }

    fn body(&mut self, body: &SetExpr, wanted: &BTreeSet<String>, sorted: Vec<Name>) -> Vec<Name> {
        if !self.may_pass(wanted) {
            return Vec::new();
        }
        let with_sorted = || {
            let mut wanted = wanted.clone();
            wanted.extend(sorted.iter().map(|name| name.column.clone()));
            wanted
        };
        match body {
            SetExpr::Select(select) => self.select(select, wanted, sorted),
            SetExpr::Query(query) => self.query(query, &with_sorted()),
            SetExpr::SetOperation { left, right, .. } => {
                let wanted = with_sorted();
                let mut outer = self.body(left, &wanted, Vec::new());
                outer.extend(self.body(right, &wanted, Vec::new()));
                outer
            }
            SetExpr::Values(values) => self.reads(values),
            _ => Vec::new(),
        }
    }

    fn select(
        &mut self,
        select: &Select,
        wanted: &BTreeSet<String>,
        sorted: Vec<Name>,
    ) -> Vec<Name> {
        let mut from = Clause { names: self.reads(&select.projection), ..Clause::default() };
        from.names.extend(self.reads(&select.prewhere));
        from.names.extend(self.reads(&select.selection));
        from.names.extend(self.reads(&select.named_window));
        from.names.extend(excluded(select).map(Name::of_column));
        // Here, the names of results come first.
        let mut late = self.reads(&select.group_by);
        late.extend(self.reads(&select.having));
        late.extend(self.reads(&select.qualify));
        if let Some(Distinct::On(exprs)) = &select.distinct {
            late.extend(self.reads(exprs));
        }
        late.extend(sorted);
        let given = aliases(select);
        from.names.extend(late.into_iter().filter(|name| !name.is_given(&given)));
        let outputs = Outputs::of_select(select);
        self.all |= outputs.all;
        from.starred = select.projection.iter().filter_map(star).map(|star| star.table).collect();
        if select.projection.is_empty() {
            from.starred.insert(None);
        }
        from.through = wanted.iter().filter(|column| outputs.may_have(column)).cloned().collect();
        for table in &select.from {
            self.table(table, &mut from);
        }
        self.distribute(from)
    }

    /// Adds the relations of an item of `FROM`, and what their conditions read.
    fn table<'q>(&mut self, table: &'q TableWithJoins, from: &mut Clause<'q>) {
        self.relation(&table.relation, from);
        for join in &table.joins {
            self.relation(&join.relation, from);
            from.names.extend(self.reads(&join.join_operator));
            match constraint(&join.join_operator) {
                Some(JoinConstraint::Using(columns)) => {
                    from.using.extend(columns.iter().filter_map(last));
                }
                Some(JoinConstraint::Natural) => self.all = true,
                _ => {}
            }
        }
    }

    fn relation<'q>(&mut self, factor: &'q TableFactor, from: &mut Clause<'q>) {
        let (source, outputs, alias, own_name) = match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let (source, outputs) = self.named(name);
                (source, outputs, alias.as_ref(), last(name))
            }
            TableFactor::Derived { lateral, subquery, alias, .. } => {
                let outputs = Outputs::of_query(subquery);
                let query: &'q Query = subquery;
                let source = Source::Query { query, lateral: *lateral, wanted: BTreeSet::new() };
                (source, outputs, alias.as_ref(), None)
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let first = from.relations.len();
                self.table(table_with_joins, from);
                if let Some(alias) = alias {
                    for relation in &mut from.relations[first..] {
                        relation.name = Some(alias.name.value.clone());
                    }
                }
                return;
            }
            TableFactor::Table { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::TableFunction { alias, .. } => {
                from.names.extend(self.reads(factor));
                (Source::Other, Outputs::default(), alias.as_ref(), None)
            }
            _ => {
                from.names.extend(self.reads(factor));
                return;
            }
        };
        let name = alias.map(|alias| alias.name.value.clone()).or(own_name);
        from.relations.push(Relation { name, source, outputs: outputs.renamed(alias) });
    }

    /// Returns what a name in `FROM` stands for.
    fn named(&self, name: &ObjectName) -> (Source<'static>, Outputs) {
        let parts = name.0.iter().filter_map(|part| part.as_ident());
        let parts: Vec<&str> = parts.map(|part| part.value.as_str()).collect();
        // The engine finds `a.b` under the name "a.b" of a WITH, too.
        let whole = parts.join(".");
        if let Some(at) = self.with.iter().rposition(|known| known.name == whole) {
            return (Source::With(at), self.with[at].outputs.clone());
        }
        let is_listing = parts.iter().rev().nth(1) == Some(&"information_schema");
        let index = parts.last().map(|part| (*part).to_owned()).unwrap_or_default();
        let source = if is_listing { Source::Other } else { Source::Index(index) };
        (source, Outputs { all: true, ..Outputs::default() })
    }

    /// Passes the names that a `SELECT` reads to its relations. Returns those that they may not have.
    fn distribute(&mut self, from: Clause<'_>) -> Vec<Name> {
        let Clause { mut relations, names, using, through, starred } = from;
        let mut outer = Vec::new();
        for name in names {
            if !self.pass(&name, &mut relations) {
                outer.push(name);
            }
        }
        for column in &using {
            for relation in &mut relations {
                self.want(column, relation);
            }
        }
        for column in &through {
            if starred.contains(&None) {
                self.pass(&Name::of_column(column), &mut relations);
            }
            for relation in &mut relations {
                if relation.name.is_some() && starred.contains(&relation.name) {
                    self.want(column, relation);
                }
            }
        }
        let queries: Vec<(&Query, bool, BTreeSet<String>)> = relations
            .iter()
            .filter_map(|relation| match &relation.source {
                Source::Query { query, lateral, wanted } => {
                    Some((*query, *lateral, wanted.clone()))
                }
                _ => None,
            })
            .collect();
        for (query, lateral, wanted) in queries {
            for name in self.query(query, &wanted) {
                if !(lateral && self.pass(&name, &mut relations)) {
                    outer.push(name);
                }
            }
        }
        outer
    }

    /// Passes a name to the relations that may have the column. Returns whether one of them has it.
    fn pass(&mut self, name: &Name, relations: &mut [Relation<'_>]) -> bool {
        if relations.iter().any(|relation| name.is_given(&relation.outputs.given)) {
            return true;
        }
        let mut is_there = false;
        for relation in relations {
            if name.table.is_none() {
                is_there |= self.want(&name.column, relation);
            } else if name.table == relation.name {
                self.want(&name.column, relation);
                is_there = true;
            }
        }
        is_there
    }

    /// Passes a name to a relation. Returns whether it is an index.
    fn want(&mut self, column: &str, relation: &mut Relation<'_>) -> bool {
        let Relation { source, outputs, .. } = relation;
        let wanted = match source {
            Source::Index(index) => {
                // Most names are there already.
                match self.read.get_mut(index) {
                    Some(read) if read.contains(column) => {}
                    Some(read) => {
                        read.insert(column.to_owned());
                    }
                    None => {
                        self.read.insert(index.clone(), BTreeSet::from([column.to_owned()]));
                    }
                }
                return true;
            }
            Source::With(at) => &mut self.with[*at].wanted,
            Source::Query { wanted, .. } => wanted,
            Source::Other => return false,
        };
        if outputs.may_have(column) && !wanted.contains(column) {
            wanted.insert(column.to_owned());
        }
        false
    }
}

/// Collects the columns of expressions; queries within them are read by their own scopes.
struct Reads<'w> {
    walk: &'w mut Walk,
    names: Vec<Name>,
    /// How many queries are open.
    depth: usize,
}

impl Visitor for Reads<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if self.depth == 0 {
            let outer = self.walk.query(query, &BTreeSet::new());
            self.names.extend(outer);
        }
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if self.depth == 0 {
            self.names.extend(name_of(expr));
        }
        ControlFlow::Continue(())
    }
}

/// Returns the column that an expression is.
fn name_of(expr: &Expr) -> Option<Name> {
    match expr {
        Expr::Identifier(name) => Some(Name::of_column(&name.value)),
        Expr::CompoundIdentifier(parts) => {
            let (column, tables) = parts.split_last()?;
            let table = tables.last().map(|table| table.value.clone());
            Some(Name { table, column: column.value.clone() })
        }
        // Words such as `user`, which some dialects call without brackets.
        Expr::Function(function) if matches!(function.args, FunctionArguments::None) => {
            last(&function.name).map(|column| Name { table: None, column })
        }
        _ => None,
    }
}

/// The names that a `SELECT` gives to its results.
fn aliases(select: &Select) -> HashSet<String> {
    let mut given = HashSet::new();
    for item in &select.projection {
        match item {
            SelectItem::ExprWithAlias { alias, .. } => {
                given.insert(alias.value.clone());
            }
            SelectItem::ExprWithAliases { aliases, .. } => {
                given.extend(aliases.iter().map(|alias| alias.value.clone()));
            }
            _ => {}
        }
    }
    given
}

/// A `*` of one table, or of all tables.
struct Star {
    table: Option<String>,
}

fn star(item: &SelectItem) -> Option<Star> {
    match item {
        SelectItem::Wildcard(_) => Some(Star { table: None }),
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
            Some(Star { table: last(name) })
        }
        _ => None,
    }
}

/// The columns that a `*` leaves out or replaces.
fn excluded(select: &Select) -> impl Iterator<Item = &str> {
    let options = select.projection.iter().filter_map(|item| match item {
        SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => Some(options),
        _ => None,
    });
    options.flat_map(changed).chain(select.exclude.iter().flat_map(excludes))
}

fn changed(options: &WildcardAdditionalOptions) -> Vec<&str> {
    let mut names: Vec<&str> = options.opt_exclude.iter().flat_map(excludes).collect();
    if let Some(except) = &options.opt_except {
        names.push(except.first_element.value.as_str());
        names.extend(except.additional_elements.iter().map(|name| name.value.as_str()));
    }
    if let Some(replace) = &options.opt_replace {
        names.extend(replace.items.iter().map(|item| item.column_name.value.as_str()));
    }
    names
}

fn excludes(item: &ExcludeSelectItem) -> Vec<&str> {
    let names = match item {
        ExcludeSelectItem::Single(name) => std::slice::from_ref(name),
        ExcludeSelectItem::Multiple(names) => names.as_slice(),
    };
    names.iter().filter_map(last_part).map(|name| name.value.as_str()).collect()
}

fn last_part(name: &ObjectName) -> Option<&Ident> {
    name.0.last().and_then(|part| part.as_ident())
}

fn last(name: &ObjectName) -> Option<String> {
    last_part(name).map(|part| part.value.clone())
}

fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::CrossJoin(constraint)
        | JoinOperator::Semi(constraint)
        | JoinOperator::LeftSemi(constraint)
        | JoinOperator::RightSemi(constraint)
        | JoinOperator::Anti(constraint)
        | JoinOperator::LeftAnti(constraint)
        | JoinOperator::RightAnti(constraint)
        | JoinOperator::StraightJoin(constraint)
        | JoinOperator::AsOf { constraint, .. } => Some(constraint),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;

    fn names(query: &str) -> Names {
        of(&DFParser::parse_sql(query).unwrap().pop_front().unwrap())
    }

    fn reads(query: &str, column: &str) -> bool {
        names(query).read.values().any(|read| read.contains(column))
    }

    #[test]
    fn columns_are_names_and_texts_and_tables_are_not() {
        let query = "SELECT m.action, \"tag::user\", upper(app), mv[1] FROM main m \
                     JOIN auth USING (src) WHERE status = 'action2' -- note";
        for name in ["action", "tag::user", "app", "status", "mv", "src"] {
            assert!(reads(query, name), "{name}");
        }
        for name in ["action2", "note", "main", "m", "auth", "upper"] {
            assert!(!reads(query, name), "{name}");
        }
        assert!(!names(query).all && names("SELECT count(*) FROM main").read.is_empty());
        assert!(!names("SELECT count(*) FROM main").all);
        assert!(names("SELECT m.* FROM main m").all);
        assert!(names("SELECT a FROM main NATURAL JOIN auth").all);
    }

    #[test]
    fn names_of_one_index_are_not_those_of_others() {
        let of_index = |query: &str, index: &str| {
            names(query).read.remove(index).is_some_and(|read| read.contains("day"))
        };
        for query in [
            "WITH d AS (SELECT n, day FROM main) SELECT w.uri, day FROM web w JOIN d USING (n)",
            "SELECT day FROM main GROUP BY day UNION ALL SELECT host AS day FROM web GROUP BY day",
            "SELECT m.day, w.host FROM main m, web w",
        ] {
            assert!(of_index(query, "main") && !of_index(query, "web"), "{query}");
        }
        let both = "SELECT day FROM main JOIN web USING (n)";
        assert!(of_index(both, "main") && of_index(both, "web"));
    }

    #[test]
    fn many_names_and_stars_are_read_once() {
        let columns: Vec<String> = (0..30_000).map(|number| format!("c{number}")).collect();
        let (columns, stars) = (columns.join(", "), vec!["*"; 30_000].join(", "));
        // With a product of names and stars, this would not end.
        let found = names(&format!("SELECT {columns} FROM (SELECT {stars} FROM main) q"));
        assert_eq!(found.read["main"].len(), 30_000);
        assert!(!found.too_many);
        // Each level has the names of those around it.
        let nested = |levels: usize| {
            let (open, close) = ("(SELECT * FROM ".repeat(levels), ") q".repeat(levels));
            names(&format!("SELECT {columns} FROM {open}main{close}")).too_many
        };
        assert!(nested(20) && !nested(2));
    }

    #[test]
    fn names_of_results_are_not_columns_of_indexes() {
        for query in [
            "SELECT date_trunc('day', _time) AS day, count(*) FROM main GROUP BY day ORDER BY day",
            "SELECT date_trunc('day', _time) day, count(*) FROM main GROUP BY day",
            "SELECT max(host) AS day FROM main GROUP BY (day)",
            "SELECT host AS day FROM main GROUP BY host HAVING max(day) > 'a'",
            "WITH t AS (SELECT date_trunc('day', _time) AS day, count(*) AS n FROM main GROUP BY day) \
             SELECT day, n FROM t WHERE day > '2026' ORDER BY day",
            "SELECT day, n FROM (SELECT host AS day, count(*) AS n FROM main GROUP BY day) q",
            "SELECT q.day FROM main m JOIN (SELECT host AS day FROM main) q ON m.host = q.day",
            "SELECT m.host, day FROM main m JOIN (SELECT host AS day FROM main) q USING (host)",
            "WITH t AS (SELECT *, host AS day FROM main) SELECT day, count(*) FROM t GROUP BY day",
            "WITH RECURSIVE t AS (SELECT host AS day FROM main UNION ALL SELECT day FROM t WHERE day > 'a') \
             SELECT day FROM t",
            "SELECT day FROM (SELECT host FROM main) AS q (day)",
            "SELECT 1 FROM main WHERE host IN (SELECT h FROM (SELECT host AS h, n AS day FROM auth) q \
             WHERE day > '1')",
            "SELECT day FROM (SELECT host AS day FROM main UNION ALL SELECT source FROM main) q",
            "SELECT host AS day FROM main UNION ALL SELECT source FROM main ORDER BY day",
            "SELECT count(*) FROM main day",
        ] {
            assert!(!reads(query, "day"), "{query}");
        }
    }

    #[test]
    fn names_that_an_index_may_have_are_columns() {
        for query in [
            "SELECT day FROM main",
            "EXPLAIN SELECT day FROM main",
            "SELECT upper(day) AS day FROM main GROUP BY day",
            "SELECT count(*) FROM main GROUP BY day",
            "SELECT row_number() OVER (ORDER BY host), day FROM main",
            "SELECT row_number() OVER (ORDER BY day) AS n FROM main",
            "SELECT host AS day, row_number() OVER (PARTITION BY day ORDER BY _time) AS n FROM main",
            "SELECT host AS day, row_number() OVER w FROM main WINDOW w AS (PARTITION BY day)",
            "SELECT 'all' AS day, count(*) FROM main UNION ALL \
             SELECT host, count(*) FROM main GROUP BY host, day",
            "SELECT host AS day FROM main m ORDER BY m.day",
            "WITH t AS (SELECT * FROM main) SELECT day FROM t",
            "WITH main AS (SELECT * FROM main) SELECT day FROM main",
            "WITH t AS (SELECT * FROM main), u AS (SELECT * FROM t) SELECT host FROM u WHERE day = 'a'",
            "WITH RECURSIVE t AS (SELECT * FROM main UNION ALL SELECT * FROM t WHERE day = 'a') \
             SELECT host FROM t",
            "WITH RECURSIVE main AS (SELECT * FROM main UNION ALL SELECT * FROM main WHERE day = 'a') \
             SELECT host FROM main",
            "WITH RECURSIVE main AS (SELECT host FROM main WHERE day = 'a' UNION ALL \
             SELECT host FROM main) SELECT host FROM main",
            "WITH RECURSIVE main AS (SELECT day FROM main) SELECT day FROM main",
            "SELECT day FROM (SELECT * FROM main UNION ALL SELECT * FROM auth) q",
            "SELECT host FROM (SELECT m.* FROM main m) q ORDER BY day",
            "SELECT 1 FROM main m WHERE EXISTS (SELECT 1 FROM (VALUES (1)) AS v (x) WHERE m.day = v.x)",
            "SELECT 1 FROM main m WHERE EXISTS (SELECT 1 FROM (VALUES (1)) AS v (x) WHERE day = x)",
            "SELECT host FROM main m JOIN (SELECT day FROM auth) q USING (day)",
            "SELECT t.x FROM main, unnest(day) AS t (x)",
            "SELECT * EXCLUDE (day) FROM main",
            "SELECT count(*) FILTER (WHERE day = 'a') FROM main",
            "SELECT (SELECT max(day) FROM main) AS n",
            "SELECT CASE WHEN host = 'a' THEN day END AS d FROM (main JOIN auth USING (host))",
        ] {
            assert!(reads(query, "day"), "{query}");
        }
    }
}
