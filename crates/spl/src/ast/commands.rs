//! The arguments of all commands outside the stats and chart families.
//!
//! Guarantees: options are typed; `Option` means that the default is a setting or depends on the
//! data, a plain value has the documented default filled in.

use super::{
    BinOptions, Expr, Field, FieldPattern, SearchPattern, SearchValue, Span, Spanned, Subsearch,
};

/// `accum <field> [AS <name>]`: a running total.
#[derive(Debug, Clone, PartialEq)]
pub struct AccumCommand {
    /// The field summed.
    pub field: Field,
    /// Where the total goes; the field itself if absent.
    pub alias: Option<Field>,
}

/// `addtotals [row=] [col=] [fieldname=] [labelfield=] [label=] [fields]`.
#[derive(Debug, Clone, PartialEq)]
pub struct AddtotalsCommand {
    /// `row=`: a total per row (default true).
    pub row: bool,
    /// `col=`: a last row with the totals of columns.
    pub col: bool,
    /// `fieldname=` of the row total (default `Total`).
    pub fieldname: String,
    /// `labelfield=`: where the label of the last row goes.
    pub labelfield: Option<String>,
    /// `label=` of the last row (default `Total`).
    pub label: String,
    /// The fields totalled; all numeric ones if empty.
    pub fields: Vec<FieldPattern>,
}

/// `append [options] [subsearch]`.
#[derive(Debug, Clone, PartialEq)]
pub struct AppendCommand {
    /// The search whose rows are appended.
    pub subsearch: Subsearch,
    /// `maxtime=` in seconds.
    pub maxtime: Option<u64>,
    /// `maxout=`: rows at most.
    pub maxout: Option<u64>,
    /// `timeout=` in seconds.
    pub timeout: Option<u64>,
    /// `extendtimerange=`.
    pub extendtimerange: bool,
}

/// `appendpipe [run_in_preview=] [pipeline]`.
#[derive(Debug, Clone, PartialEq)]
pub struct AppendpipeCommand {
    /// The commands run over the rows so far; a first `search` filters them.
    pub subsearch: Subsearch,
    /// `run_in_preview=` (default true).
    pub run_in_preview: bool,
}

/// `bin [options] <field> [AS <name>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct BinCommand {
    /// The field cut into bins.
    pub field: Field,
    /// Where the bin goes; the field itself if absent.
    pub alias: Option<Field>,
    /// The bins.
    pub bins: BinOptions,
}

/// `convert [timeformat=] <conversion>...`.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvertCommand {
    /// `timeformat=` of `ctime` and `mktime`.
    pub timeformat: Option<String>,
    /// At least one.
    pub conversions: Vec<Conversion>,
}

/// `ctime(x) AS y`.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversion {
    /// What is done.
    pub function: ConvertFunction,
    /// To which fields.
    pub field: FieldPattern,
    /// Where the result goes; the field itself if absent.
    pub alias: Option<FieldPattern>,
    /// The place of the conversion.
    pub span: Span,
}

/// The functions of `convert`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named after the functions")]
pub enum ConvertFunction {
    Auto,
    Ctime,
    Dur2sec,
    Memk,
    Mktime,
    Mstime,
    /// Leaves the fields alone (for `auto(*) none(x)`).
    None,
    Num,
    Rmcomma,
    Rmunit,
}

/// `dedup [N] <fields> [options] [sortby <keys>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct DedupCommand {
    /// How many rows per combination are kept (default 1).
    pub count: u64,
    /// At least one.
    pub fields: Vec<FieldPattern>,
    /// `keepevents=`: keep the rows, remove the fields' values.
    pub keepevents: bool,
    /// `keepempty=`: keep rows that lack a field.
    pub keepempty: bool,
    /// `consecutive=`: only neighbours.
    pub consecutive: bool,
    /// `sortby`: the order of the results.
    pub sortby: Vec<SortKey>,
}

/// `delta <field> [AS <name>] [p=N]`.
#[derive(Debug, Clone, PartialEq)]
pub struct DeltaCommand {
    /// The field.
    pub field: Field,
    /// Where the difference goes; `delta(field)` if absent.
    pub alias: Option<Field>,
    /// `p=`: how many rows back (default 1).
    pub p: u64,
}

/// `eval <field>=<expression>, ...`.
#[derive(Debug, Clone, PartialEq)]
pub struct EvalCommand {
    /// In order; each sees the ones before. At least one.
    pub assignments: Vec<Assignment>,
}

/// `field=expression`.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The field set. `{name}` inside stands for the value of field `name`.
    pub field: Field,
    /// The value.
    pub expr: Expr,
}

/// `fields [+|-] <patterns>`.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldsCommand {
    /// Whether the fields are removed (`-`) instead of kept.
    pub remove: bool,
    /// At least one.
    pub fields: Vec<FieldPattern>,
}

/// `filldown [fields]`.
#[derive(Debug, Clone, PartialEq)]
pub struct FilldownCommand {
    /// All fields if empty.
    pub fields: Vec<FieldPattern>,
}

/// `fillnull [value=] [fields]`.
#[derive(Debug, Clone, PartialEq)]
pub struct FillnullCommand {
    /// `value=` (default `0`).
    pub value: String,
    /// All fields of the whole result if empty.
    pub fields: Vec<FieldPattern>,
}

/// `head [N | limit=N | (condition)] [keeplast=] [null=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct HeadCommand {
    /// How many rows; 10 if there is no condition, else all.
    pub limit: Option<u64>,
    /// Rows are taken while it holds.
    pub condition: Option<Expr>,
    /// `keeplast=`: also the first row that fails.
    pub keeplast: bool,
    /// `null=`: whether a null condition goes on.
    pub null: bool,
}

/// `makemv [delim= | tokenizer=] [allowempty=] [setsv=] <field>`.
#[derive(Debug, Clone, PartialEq)]
pub struct MakemvCommand {
    /// The field.
    pub field: Field,
    /// How it is split.
    pub split: MakemvSplit,
    /// `allowempty=`: keep empty values.
    pub allowempty: bool,
    /// `setsv=`: keep the single value beside.
    pub setsv: bool,
}

/// How `makemv` splits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MakemvSplit {
    /// `delim=` (default one space).
    Delimiter(String),
    /// `tokenizer=`: a regular expression with one group.
    Tokenizer(Spanned<String>),
}

/// `makeresults [count=] [annotate=] [format= data=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct MakeresultsCommand {
    /// `count=` (default 1).
    pub count: u64,
    /// `annotate=`: also `_raw`, `host` and so on, empty.
    pub annotate: bool,
    /// `format=` and `data=`.
    pub data: Option<MakeresultsData>,
}

/// Rows written into the search itself.
#[derive(Debug, Clone, PartialEq)]
pub struct MakeresultsData {
    /// The format of the text.
    pub format: MakeresultsFormat,
    /// The rows as text.
    pub text: Spanned<String>,
}

/// The formats of `makeresults`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "formats name themselves")]
pub enum MakeresultsFormat {
    Csv,
    Json,
}

/// `metadata type=hosts|sources|sourcetypes [index=...]`.
#[derive(Debug, Clone, PartialEq)]
pub struct MetadataCommand {
    /// What is listed.
    pub kind: MetadataKind,
    /// `index=`, repeated or comma-separated, wildcards allowed; default indexes if empty.
    pub indexes: Vec<SearchValue>,
}

/// What `metadata` lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named after the option's values")]
pub enum MetadataKind {
    Hosts,
    Sources,
    Sourcetypes,
}

/// `mvexpand <field> [limit=N]`.
#[derive(Debug, Clone, PartialEq)]
pub struct MvexpandCommand {
    /// The field.
    pub field: Field,
    /// `limit=`: rows per input row; 0 means all (the default).
    pub limit: u64,
}

/// `nomv <field>`.
#[derive(Debug, Clone, PartialEq)]
pub struct NomvCommand {
    /// The field.
    pub field: Field,
}

/// `regex [<field>=|<field>!=]"<pattern>"`.
#[derive(Debug, Clone, PartialEq)]
pub struct RegexCommand {
    /// The field; `_raw` if absent.
    pub field: Option<Field>,
    /// Whether `!=` was written.
    pub negated: bool,
    /// The regular expression.
    pub pattern: Spanned<String>,
}

/// `rename <from> AS <to>, ...`.
#[derive(Debug, Clone, PartialEq)]
pub struct RenameCommand {
    /// At least one.
    pub renames: Vec<Rename>,
}

/// `from AS to`; either both hold as many wildcards or neither does.
#[derive(Debug, Clone, PartialEq)]
pub struct Rename {
    /// The old name.
    pub from: FieldPattern,
    /// The new name.
    pub to: FieldPattern,
}

/// `replace <old> WITH <new>, ... [IN <fields>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplaceCommand {
    /// At least one.
    pub replacements: Vec<Replacement>,
    /// All fields if empty.
    pub fields: Vec<FieldPattern>,
}

/// `old WITH new`.
#[derive(Debug, Clone, PartialEq)]
pub struct Replacement {
    /// The whole value, wildcards allowed.
    pub old: SearchPattern,
    /// The new value, in which a wildcard stands for what the wildcard of `old` matched.
    pub new: SearchPattern,
    /// The place of both.
    pub span: Span,
}

/// `reverse`.
#[derive(Debug, Clone, PartialEq)]
pub struct ReverseCommand;

/// `rex [field=] [max_match=] [offset_field=] "<regex>"` or `rex [field=] mode=sed "<sed>"`.
#[derive(Debug, Clone, PartialEq)]
pub struct RexCommand {
    /// `field=`; `_raw` if absent.
    pub field: Option<Field>,
    /// What is done with it.
    pub mode: RexMode,
}

/// The two modes of `rex`.
#[derive(Debug, Clone, PartialEq)]
pub enum RexMode {
    /// Named groups become fields.
    Extract {
        /// The regular expression.
        pattern: Spanned<String>,
        /// `max_match=`: how many matches (default 1, 0 means all).
        max_match: u64,
        /// `offset_field=`: where the positions of the groups go.
        offset_field: Option<Field>,
    },
    /// `s/regex/replacement/flags` or `y/abc/xyz/`.
    Sed {
        /// The sed expression.
        expression: Spanned<String>,
    },
}

/// `sort [N] <keys> [desc]`.
#[derive(Debug, Clone, PartialEq)]
pub struct SortCommand {
    /// How many rows are kept; `None` is the default limit, 0 means all.
    pub limit: Option<u64>,
    /// At least one.
    pub keys: Vec<SortKey>,
    /// Whether `d` or `desc` at the end turns the whole order around.
    pub reversed: bool,
}

/// One key of `sort`.
#[derive(Debug, Clone, PartialEq)]
pub struct SortKey {
    /// The field.
    pub field: Field,
    /// Whether `-` was written.
    pub descending: bool,
    /// How values compare.
    pub order: SortOrder,
}

/// How values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SortOrder {
    /// No function: `auto`.
    Auto,
    /// `num(x)`.
    Number,
    /// `str(x)`.
    String,
    /// `ip(x)`.
    Ip,
}

/// `spath [input=] [output=] [path=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct SpathCommand {
    /// `input=`; `_raw` if absent.
    pub input: Option<Field>,
    /// `output=`; the path if absent.
    pub output: Option<Field>,
    /// `path=`; everything is extracted if absent.
    pub path: Option<Spanned<String>>,
}

/// `strcat [allrequired=] <part>... <destination>`.
#[derive(Debug, Clone, PartialEq)]
pub struct StrcatCommand {
    /// `allrequired=`: no result unless all fields exist.
    pub allrequired: bool,
    /// At least two.
    pub parts: Vec<StrcatPart>,
    /// Where the text goes.
    pub destination: Field,
}

/// A piece of `strcat`.
#[derive(Debug, Clone, PartialEq)]
pub enum StrcatPart {
    /// The value of a field.
    Field(Field),
    /// A quoted text.
    Literal(Spanned<String>),
}

/// `table <patterns>`.
#[derive(Debug, Clone, PartialEq)]
pub struct TableCommand {
    /// At least one.
    pub fields: Vec<FieldPattern>,
}

/// `tail [N]`.
#[derive(Debug, Clone, PartialEq)]
pub struct TailCommand {
    /// How many rows (default 10).
    pub limit: u64,
}

/// `top` and `rare`: `[N] [options] <fields> [by <fields>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct TopCommand {
    /// How many values (default 10, 0 means all).
    pub limit: u64,
    /// At least one.
    pub fields: Vec<Field>,
    /// The group keys.
    pub by: Vec<Field>,
    /// `countfield=` (default `count`).
    pub countfield: String,
    /// `percentfield=` (default `percent`).
    pub percentfield: String,
    /// `showcount=` (default true).
    pub showcount: bool,
    /// `showperc=` (default true).
    pub showperc: bool,
    /// `useother=`: a last row for all other values.
    pub useother: bool,
    /// `otherstr=` (default `OTHER`).
    pub otherstr: String,
}

/// `transpose [N] [column_name=] [header_field=] [include_empty=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct TransposeCommand {
    /// How many rows become columns (default 5, 0 means all).
    pub limit: u64,
    /// `column_name=` (default `column`).
    pub column_name: String,
    /// `header_field=`: whose values name the columns; `row 1` and so on if absent.
    pub header_field: Option<Field>,
    /// `include_empty=` (default true).
    pub include_empty: bool,
}

/// `untable <row field> <name field> <value field>`.
#[derive(Debug, Clone, PartialEq)]
pub struct UntableCommand {
    /// The field that stays.
    pub row: Field,
    /// Where the names of the other fields go.
    pub name: Field,
    /// Where their values go.
    pub value: Field,
}

/// `where <expression>`.
#[derive(Debug, Clone, PartialEq)]
pub struct WhereCommand {
    /// What must be true.
    pub expr: Expr,
}

/// `xyseries [grouped=] <x> <series> <values>... [sep=] [format=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct XyseriesCommand {
    /// What makes rows.
    pub x: Field,
    /// Whose values become columns.
    pub series: Field,
    /// What goes into them; at least one.
    pub values: Vec<Field>,
    /// `grouped=`: the input is sorted by `x`.
    pub grouped: bool,
    /// `sep=` between field and series in column names, when there is more than one value field.
    pub sep: Option<String>,
    /// `format=`: a template of column names.
    pub format: Option<String>,
}
