//! `tojson()`: the fields of the row as a JSON object.

use eval::functions::json_of;
use serde_json::{Map, Value as Json};

use crate::kernel::text;
use crate::types::ValueType;
use crate::{Scope, Typed};

/// Compiles `tojson`: the fields of the row that have values; if the argument is true, including those whose
/// names begin with `_`.
pub(super) fn to_json(argument: &Typed, scope: &dyn Scope) -> Typed {
    let internal = *argument == Typed::truth(true);
    let mut names = scope.fields();
    names.retain(|name| !name.starts_with("__") && (internal || !name.starts_with('_')));
    let columns = names.iter().map(|name| {
        let kind = scope.field(name).unwrap_or(ValueType::Null);
        Typed::column(name, kind)
    });
    let columns: Vec<Typed> = columns.collect();
    if columns.is_empty() {
        return Typed::text("{}");
    }
    let parameters = names.join("\n");
    let function = text("tojson", move |row, out| {
        let fields = names.iter().zip(row.values()).filter(|(_, value)| !value.is_null());
        let object: Map<String, Json> =
            fields.map(|(name, value)| (name.clone(), json_of(value, false))).collect();
        out.push_str(&Json::Object(object).to_string());
        Some(())
    });
    function.with(parameters).call(columns)
}
