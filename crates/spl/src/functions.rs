//! The registry of eval functions: their names and numbers of arguments.
//!
//! Guarantees: one entry per function, sorted by name; parser, completion and documents read it. Leaves to
//! others: the implementation of the functions.

/// The number of arguments that a function takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arity {
    /// Minimum number.
    pub min: usize,
    /// Maximum number; `None` for no limit.
    pub max: Option<usize>,
    /// Whether arguments come in pairs (`case`).
    pub pairs: bool,
}

impl Arity {
    /// Returns what is expected if `count` arguments are too few, too many or incomplete pairs.
    pub fn refuses(self, count: usize) -> Option<String> {
        let enough = count >= self.min && self.max.is_none_or(|max| count <= max);
        if enough && !(self.pairs && count % 2 == 1) {
            return None;
        }
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        Some(match (self.min, self.max) {
            _ if self.pairs => "pairs of arguments".to_owned(),
            (min, None) => format!("at least {min} argument{}", plural(min)),
            (0, Some(0)) => "no arguments".to_owned(),
            (min, Some(max)) if min == max => format!("{min} argument{}", plural(min)),
            (min, Some(max)) => format!("{min} to {max} arguments"),
        })
    }
}

/// The registry entry of an eval function.
#[derive(Debug, Clone, Copy)]
pub struct FunctionDefinition {
    /// The registered name, lower-case.
    pub name: &'static str,
    /// Aliases of the name.
    pub aliases: &'static [&'static str],
    /// The number of arguments.
    pub arity: Arity,
    /// The syntax of a call, for documents.
    pub syntax: &'static str,
    /// A one-line description.
    pub summary: &'static str,
}

const fn function(
    name: &'static str,
    min: usize,
    max: usize,
    syntax: &'static str,
    summary: &'static str,
) -> FunctionDefinition {
    let arity = Arity { min, max: Some(max), pairs: false };
    FunctionDefinition { name, aliases: &[], arity, syntax, summary }
}

impl FunctionDefinition {
    const fn endless(mut self) -> Self {
        self.arity.max = None;
        self
    }

    const fn in_pairs(mut self) -> Self {
        self.arity.pairs = true;
        self
    }

    const fn or(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
}

/// Returns the function with this lower-case name.
pub fn find(name: &str) -> Option<&'static FunctionDefinition> {
    FUNCTIONS.iter().find(|function| function.name == name || function.aliases.contains(&name))
}

/// Iterates over all names, including aliases.
pub fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS
        .iter()
        .flat_map(|function| std::iter::once(function.name).chain(function.aliases.iter().copied()))
}

/// All eval functions.
pub const FUNCTIONS: &[FunctionDefinition] = &[
    function("abs", 1, 1, "abs(x)", "absolute value"),
    function("acos", 1, 1, "acos(x)", "arc cosine in radians"),
    function("acosh", 1, 1, "acosh(x)", "inverse hyperbolic cosine"),
    function(
        "array_to_object",
        3,
        3,
        "array_to_object(array, key, value)",
        "a JSON object from an array of objects, each with a key and a value",
    ),
    function("asin", 1, 1, "asin(x)", "arc sine in radians"),
    function("asinh", 1, 1, "asinh(x)", "inverse hyperbolic sine"),
    function("atan", 1, 1, "atan(x)", "arc tangent in radians"),
    function("atan2", 2, 2, "atan2(y, x)", "arc tangent of y/x in radians"),
    function("atanh", 1, 1, "atanh(x)", "inverse hyperbolic tangent"),
    function("avg", 1, 0, "avg(x, ...)", "the mean of the arguments").endless(),
    function("bit_and", 2, 0, "bit_and(x, y, ...)", "bitwise AND").endless(),
    function("bit_not", 1, 2, "bit_not(x, [mask])", "bitwise NOT"),
    function("bit_or", 2, 0, "bit_or(x, y, ...)", "bitwise OR").endless(),
    function("bit_shift_left", 2, 2, "bit_shift_left(x, bits)", "left shift"),
    function("bit_shift_right", 2, 2, "bit_shift_right(x, bits)", "right shift"),
    function("bit_xor", 2, 0, "bit_xor(x, y, ...)", "bitwise XOR").endless(),
    function(
        "case",
        2,
        0,
        "case(condition, value, ...)",
        "the value after the first true condition",
    )
    .endless()
    .in_pairs(),
    function("ceiling", 1, 1, "ceiling(x)", "rounded up to a whole number").or(&["ceil"]),
    function(
        "cidrmatch",
        2,
        2,
        "cidrmatch(\"10.0.0.0/8\", ip)",
        "whether an address is in a network",
    ),
    function("coalesce", 1, 0, "coalesce(x, y, ...)", "the first value that is not null")
        .endless()
        .or(&["ifnull"]),
    function("commands", 1, 1, "commands(search)", "the names of the commands in a search"),
    function("cos", 1, 1, "cos(x)", "cosine of radians"),
    function("cosh", 1, 1, "cosh(x)", "hyperbolic cosine"),
    function("exact", 1, 1, "exact(x)", "a number with all digits"),
    function("exp", 1, 1, "exp(x)", "e to the power of x"),
    function("false", 0, 0, "false()", "false"),
    function("floor", 1, 1, "floor(x)", "rounded down to a whole number"),
    function("hypot", 2, 2, "hypot(x, y)", "the hypotenuse"),
    function(
        "if",
        3,
        3,
        "if(condition, then, else)",
        "one of two values, depending on a condition",
    ),
    function("in", 2, 0, "in(x, a, b, ...)", "whether x is one of the values").endless(),
    function("ipmask", 2, 2, "ipmask(mask, ip)", "an IPv4 address with a mask applied"),
    function("isarray", 1, 1, "isarray(x)", "whether x is a JSON array"),
    function("isbool", 1, 1, "isbool(x)", "whether x is true or false"),
    function("isdouble", 1, 1, "isdouble(x)", "whether x is a number with decimals"),
    function("isint", 1, 1, "isint(x)", "whether x is a whole number"),
    function("ismv", 1, 1, "ismv(x)", "whether x has multiple values"),
    function("isnotnull", 1, 1, "isnotnull(x)", "whether x has a value"),
    function("isnull", 1, 1, "isnull(x)", "whether x has no value"),
    function("isnum", 1, 1, "isnum(x)", "whether x is a number"),
    function("isobject", 1, 1, "isobject(x)", "whether x is a JSON object"),
    function("isstr", 1, 1, "isstr(x)", "whether x is a string"),
    function("json", 1, 1, "json(x)", "x if it is valid JSON"),
    function(
        "json_append",
        3,
        0,
        "json_append(json, path, value, ...)",
        "JSON with values appended to arrays",
    )
    .endless(),
    function("json_array", 0, 0, "json_array(x, ...)", "a JSON array").endless(),
    function(
        "json_array_to_mv",
        1,
        2,
        "json_array_to_mv(json, [quoted])",
        "a multivalue with the elements of an array",
    ),
    function("json_delete", 2, 0, "json_delete(json, key, ...)", "JSON without the keys").endless(),
    function(
        "json_entries",
        1,
        1,
        "json_entries(json)",
        "an array of objects with the keys and the values of an object",
    ),
    function(
        "json_extend",
        3,
        0,
        "json_extend(json, path, value, ...)",
        "JSON with arrays extended",
    )
    .endless(),
    function("json_extract", 1, 0, "json_extract(json, path, ...)", "values at paths in JSON")
        .endless(),
    function(
        "json_extract_exact",
        1,
        0,
        "json_extract_exact(json, key, ...)",
        "values of literal keys in JSON",
    )
    .endless(),
    function(
        "json_has_key",
        2,
        2,
        "json_has_key(json, path)",
        "whether there is a value at a path in JSON",
    ),
    function(
        "json_has_key_exact",
        2,
        2,
        "json_has_key_exact(json, key)",
        "whether an object has a literal key",
    ),
    function("json_keys", 1, 1, "json_keys(json)", "an array of the keys"),
    function("json_object", 0, 0, "json_object(key, value, ...)", "a JSON object")
        .endless()
        .in_pairs(),
    function("json_set", 3, 0, "json_set(json, path, value, ...)", "JSON with values set")
        .endless(),
    function(
        "json_set_exact",
        3,
        0,
        "json_set_exact(json, key, value, ...)",
        "JSON with values of literal keys set",
    )
    .endless(),
    function("json_valid", 1, 1, "json_valid(x)", "whether x is valid JSON"),
    function("len", 1, 1, "len(x)", "number of characters").or(&["length"]),
    function("like", 2, 2, "like(x, pattern)", "whether x matches a pattern with % and _"),
    function("ln", 1, 1, "ln(x)", "natural logarithm"),
    function("log", 1, 2, "log(x, [base])", "logarithm, base 10 if not given"),
    function(
        "lookup",
        3,
        3,
        "lookup(table, json_object(field, value, ...), json_array(output, ...))",
        "fields of a lookup as JSON",
    ),
    function("lower", 1, 1, "lower(x)", "lower case"),
    function("ltrim", 1, 2, "ltrim(x, [characters])", "text without characters at the left end"),
    function("match", 2, 2, "match(x, regex)", "whether a regular expression matches"),
    function("max", 1, 0, "max(x, ...)", "the largest value").endless(),
    function("md5", 1, 1, "md5(x)", "MD5 in hexadecimal"),
    function("min", 1, 0, "min(x, ...)", "the smallest value").endless(),
    function(
        "mv_to_json_array",
        1,
        2,
        "mv_to_json_array(mv, [infer_types])",
        "a JSON array of the values",
    ),
    function("mvappend", 1, 0, "mvappend(x, ...)", "one multivalue with all values").endless(),
    function("mvcount", 1, 1, "mvcount(mv)", "number of values"),
    function("mvdedup", 1, 1, "mvdedup(mv)", "the values without duplicates"),
    function("mvfilter", 1, 1, "mvfilter(condition)", "the values for which the condition is true"),
    function("mvfind", 2, 2, "mvfind(mv, regex)", "the index of the first value that matches"),
    function(
        "mvindex",
        2,
        3,
        "mvindex(mv, start, [end])",
        "the values at positions, starting at 0; negative positions count from the end",
    ),
    function("mvjoin", 2, 2, "mvjoin(mv, delimiter)", "all values joined to one string"),
    function(
        "mvmap",
        2,
        3,
        "mvmap(mv, expression, [field])",
        "the result of the expression for each value",
    ),
    function(
        "mvrange",
        2,
        3,
        "mvrange(start, end, [step])",
        "numbers from start to end, without end",
    ),
    function("mvreverse", 1, 1, "mvreverse(mv)", "the values in reverse order"),
    function("mvsort", 1, 1, "mvsort(mv)", "the values sorted as text"),
    function("mvzip", 2, 3, "mvzip(x, y, [delimiter])", "values of two fields joined in pairs"),
    function("now", 0, 0, "now()", "the time at which the search began"),
    function("null", 0, 0, "null()", "no value"),
    function("nullif", 2, 2, "nullif(x, y)", "null if x equals y, else x"),
    function(
        "object_to_array",
        3,
        3,
        "object_to_array(object, key, value)",
        "a JSON array of objects, each with a key and a value of an object",
    ),
    function("pi", 0, 0, "pi()", "3.14159265358979"),
    function("pow", 2, 2, "pow(x, y)", "x to the power of y"),
    function("printf", 1, 0, "printf(format, x, ...)", "formatted text").endless(),
    function("random", 0, 0, "random()", "a random whole number below 2^31"),
    function(
        "relative_time",
        2,
        2,
        "relative_time(time, \"-1d@d\")",
        "a time shifted, then rounded down to a unit",
    ),
    function("replace", 3, 3, "replace(x, regex, replacement)", "text with matches replaced"),
    function("round", 1, 2, "round(x, [digits])", "rounded to a number of digits"),
    function("rtrim", 1, 2, "rtrim(x, [characters])", "text without characters at the right end"),
    function("searchmatch", 1, 1, "searchmatch(\"a=b c\")", "whether the event matches a search"),
    function("sha1", 1, 1, "sha1(x)", "SHA-1 in hexadecimal"),
    function("sha256", 1, 1, "sha256(x)", "SHA-256 in hexadecimal"),
    function("sha512", 1, 1, "sha512(x)", "SHA-512 in hexadecimal"),
    function("sigfig", 1, 1, "sigfig(x)", "rounded to the significant digits"),
    function("sin", 1, 1, "sin(x)", "sine of radians"),
    function("sinh", 1, 1, "sinh(x)", "hyperbolic sine"),
    function("spath", 2, 2, "spath(x, path)", "a value in JSON or XML"),
    function("split", 2, 2, "split(x, delimiter)", "a multivalue with the parts of a text"),
    function("sqrt", 1, 1, "sqrt(x)", "square root"),
    function("strftime", 2, 2, "strftime(time, format)", "a time as text"),
    function("strptime", 2, 2, "strptime(x, format)", "a time from text"),
    function("substr", 2, 3, "substr(x, start, [length])", "part of a text; positions start at 1"),
    function("sum", 1, 0, "sum(x, ...)", "the sum").endless(),
    function("tan", 1, 1, "tan(x)", "tangent of radians"),
    function("tanh", 1, 1, "tanh(x)", "hyperbolic tangent"),
    function("time", 0, 0, "time()", "the wall-clock time"),
    function("toarray", 1, 1, "toarray(x)", "a JSON array from a multivalue or from text"),
    function("tobool", 1, 1, "tobool(x)", "a Boolean from true, false or a number"),
    function("todouble", 1, 2, "todouble(x, [base])", "a number from text"),
    function("toint", 1, 2, "toint(x, [base])", "a whole number from text, rounded down"),
    function("tojson", 0, 1, "tojson([internal])", "the fields of the row as JSON"),
    function("tomv", 1, 1, "tomv(x)", "a multivalue from a JSON array, quotes kept"),
    function("tonumber", 1, 2, "tonumber(x, [base])", "a number from text"),
    function("toobject", 1, 1, "toobject(x)", "a JSON object from text"),
    function(
        "tostring",
        1,
        2,
        "tostring(x, [\"binary\"|\"commas\"|\"duration\"|\"hex\"])",
        "a value as text",
    ),
    function("trim", 1, 2, "trim(x, [characters])", "text without characters at both ends"),
    function("true", 0, 0, "true()", "true"),
    function("typeof", 1, 1, "typeof(x)", "the name of the type"),
    function("upper", 1, 1, "upper(x)", "upper case"),
    function("urldecode", 1, 1, "urldecode(x)", "text with URL escapes decoded"),
    function(
        "validate",
        2,
        0,
        "validate(condition, message, ...)",
        "the message after the first false condition",
    )
    .endless()
    .in_pairs(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_unique() {
        assert!(FUNCTIONS.is_sorted_by(|a, b| a.name < b.name));
        let mut all: Vec<&str> = names().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
