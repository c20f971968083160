//! Reshaping of whole results: `transpose`, `untable`, `xyseries`, and `spath` of everything.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayBuilder, ArrayRef, StringViewBuilder, UInt32Array};
use arrow::compute::take;
use eval::ValueType;

use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::{Column, FreeNames, NameFormat, Rows, Texts, Values, check_cells, convert};
use crate::text::leaves::{self, leaves};

/// `transpose`.
#[derive(Debug, Clone)]
pub struct Transpose {
    /// Maximum number of rows that become columns; 0 for all.
    pub limit: u64,
    /// The column with the names of the columns.
    pub column_name: String,
    /// The field whose values name the columns; `row 1` and so on if absent.
    pub header_field: Option<String>,
    /// Whether columns without values are included.
    pub include_empty: bool,
}

impl Operation for Transpose {
    fn apply(&self, rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        let wanted = match usize::try_from(self.limit).unwrap_or(usize::MAX) {
            0 => rows.count,
            limit => rows.count.min(limit),
        };
        let shown = wanted.min(context.limits.columns);
        if shown < wanted {
            let text = format!("transpose shows only the first {shown} rows (a fixed limit)");
            context.warn(text);
        }
        let header = self.header_field.as_deref();
        let headers = match header {
            Some(field) => rows.texts(field)?,
            None => Vec::new(),
        };
        let sources: Vec<&Column> =
            rows.columns.iter().filter(|c| Some(c.name.as_str()) != header).collect();
        let mut texts = Vec::with_capacity(sources.len());
        let mut names = StringViewBuilder::new();
        for column in sources {
            let cells = column.texts()?;
            if self.include_empty || cells.iter().take(shown).any(Option::is_some) {
                names.append_value(&column.name);
                texts.push(cells);
            }
        }
        check_cells(texts.len(), shown, context.limits.bytes)?;
        let mut result = Rows { columns: Vec::new(), count: texts.len() };
        let mut free = FreeNames::default();
        let name = free.take(&self.column_name);
        result.push(name, ValueType::Text, Arc::new(names.finish()));
        for row in 0..shown {
            let given = headers.get(row).cloned().flatten();
            let name = given.unwrap_or_else(|| format!("row {}", row + 1));
            let mut cells = StringViewBuilder::new();
            for column in &texts {
                cells.append_option(column[row].as_deref());
            }
            result.push(free.take(&name), ValueType::Text, Arc::new(cells.finish()));
        }
        Ok(result)
    }
}

/// `untable`.
#[derive(Debug, Clone)]
pub struct Untable {
    /// The field that remains.
    pub row: String,
    /// The output field for the names of the other fields.
    pub name: String,
    /// The output field for their values.
    pub value: String,
}

impl Operation for Untable {
    fn apply(&self, rows: Rows, _: &mut Context) -> Result<Rows, Error> {
        let shown = |column: &&Column| column.name != self.row && !column.name.starts_with('_');
        let sources: Vec<&Column> = rows.columns.iter().filter(shown).collect();
        let values: Vec<Values> =
            sources.iter().map(|c| Values::new(&c.array)).collect::<Result<_, _>>()?;
        let mut picked = Vec::new();
        let mut names = StringViewBuilder::new();
        let mut cells = StringViewBuilder::new();
        for row in 0..rows.count {
            for (column, values) in sources.iter().zip(&values) {
                if let Some(text) = values.get(row).text() {
                    picked.push(u32::try_from(row).unwrap_or(u32::MAX));
                    names.append_value(&column.name);
                    cells.append_value(&*text);
                }
            }
        }
        let mut result = Rows { columns: Vec::new(), count: picked.len() };
        if let Some(key) = rows.column(&self.row) {
            let keys = take(&key.array, &UInt32Array::from(picked), None)?;
            result.push(self.row.clone(), key.kind, keys);
        }
        result.push(self.name.clone(), ValueType::Text, Arc::new(names.finish()));
        result.push(self.value.clone(), ValueType::Text, Arc::new(cells.finish()));
        Ok(result)
    }
}

/// `xyseries`.
#[derive(Debug, Clone)]
pub struct Xyseries {
    /// The row field.
    pub x: String,
    /// The field whose values make columns.
    pub series: String,
    /// The fields of the cell values.
    pub values: Vec<String>,
    /// The names of the columns.
    pub names: NameFormat,
}

impl Operation for Xyseries {
    fn apply(&self, rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        let keys = rows.texts(&self.x)?;
        let series = rows.texts(&self.series)?;
        let mut first = Vec::new();
        let mut place: HashMap<&str, usize> = HashMap::new();
        let mut names: Vec<&str> = series.iter().flatten().map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        let (count, limit) = (names.len() * self.values.len(), context.limits.columns);
        if count > limit {
            let message =
                format!("xyseries makes {count} series, more than {limit} (a fixed limit)");
            return Err(Error::invalid_anywhere(message));
        }
        let keyed: std::collections::HashSet<&String> = keys.iter().flatten().collect();
        let columns = names.len() * (1 + self.values.len());
        check_cells(keyed.len(), columns, context.limits.bytes)?;
        let column_of: HashMap<&str, usize> =
            names.iter().enumerate().map(|(at, name)| (*name, at)).collect();
        let mut cells: Vec<Vec<Option<u32>>> = vec![Vec::new(); names.len()];
        for (row, (key, name)) in keys.iter().zip(&series).enumerate() {
            let (Some(key), Some(name)) = (key, name) else { continue };
            let number = u32::try_from(row).ok();
            let at = *place.entry(key).or_insert_with(|| {
                first.extend(number);
                cells.iter_mut().for_each(|column| column.push(None));
                first.len() - 1
            });
            cells[column_of[name.as_str()]][at] = number;
        }
        let mut result = Rows { columns: Vec::new(), count: first.len() };
        let mut free = FreeNames::default();
        if let Some(key) = rows.column(&self.x) {
            let array = take(&key.array, &UInt32Array::from(first), None)?;
            result.push(free.take(&self.x), key.kind, array);
        }
        for value in &self.values {
            let Some(source) = rows.column(value) else { continue };
            for (name, cells) in names.iter().zip(&cells) {
                let array = take(&source.array, &UInt32Array::from(cells.clone()), None)?;
                let shown = self.names.name(name, value, self.values.len());
                result.push(free.take(&shown), source.kind, array);
            }
        }
        Ok(result)
    }
}

/// Extracts every field of a JSON or XML text as a column. Existing fields keep their value in rows whose
/// text does not contain them.
#[derive(Debug)]
pub struct SpathAll(pub String);

impl Operation for SpathAll {
    fn apply(&self, rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        spath(rows, &self.0, context)
    }
}

fn spath(mut rows: Rows, input: &str, context: &mut Context) -> Result<Rows, Error> {
    let texts = rows.texts(input)?;
    let mut names: Vec<String> = Vec::new();
    let mut found: HashMap<String, Vec<Vec<String>>> = HashMap::new();
    let mut is_whole = true;
    for (row, text) in texts.iter().enumerate() {
        let Some(text) = text else { continue };
        let mut add = |path: &str, value: &str| {
            let cells = found.entry(path.to_owned()).or_insert_with(|| {
                names.push(path.to_owned());
                vec![Vec::new(); rows.count]
            });
            cells[row].push(value.to_owned());
        };
        is_whole &= leaves(text, &mut add);
        check_cells(names.len(), rows.count, context.limits.bytes)?;
    }
    if !is_whole {
        context.warn(leaves::TOO_DEEP);
    }
    let places: HashMap<String, usize> =
        rows.columns.iter().enumerate().map(|(at, column)| (column.name.clone(), at)).collect();
    for name in names {
        let cells = &found[&name];
        let old = places.get(&name).map(|at| rows.columns[*at].clone());
        let several = cells.iter().any(|cell| cell.len() > 1);
        let kind = if several { ValueType::Multi } else { ValueType::Text };
        let kind = old.as_ref().map_or(kind, |old| match old.kind {
            ValueType::Multi => ValueType::Multi,
            _ => kind,
        });
        let array = merged(cells, old.as_ref(), kind)?;
        match places.get(&name) {
            Some(at) => rows.columns[*at] = Column { name, kind, array },
            None => rows.push(name, kind, array),
        }
    }
    Ok(rows)
}

fn merged(cells: &[Vec<String>], old: Option<&Column>, kind: ValueType) -> Result<ArrayRef, Error> {
    let old = old.map(|old| Values::new(&old.array)).transpose()?;
    let mut built = Texts::new(StringViewBuilder::new());
    for (row, cell) in cells.iter().enumerate() {
        let before = built.values().len();
        for value in cell {
            built.values().append_value(value);
        }
        if cell.is_empty()
            && let Some(old) = &old
        {
            old.get(row).each_text(|text| built.values().append_value(text));
        }
        let some = built.values().len() > before;
        built.append(some);
    }
    let lists: ArrayRef = Arc::new(built.finish());
    convert(&lists, kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Limits;

    #[test]
    fn series_with_the_name_of_the_row_field_get_a_free_name() {
        let mut rows = Rows::blank(4);
        rows.set_texts("host", ["h1", "h1", "h2", "h2"].map(Some));
        rows.set_texts("u", ["host", "a", "host 2", "host"].map(Some));
        rows.set_integers("n", (1..5).map(Some));
        let series = |template: Option<&str>| {
            let xyseries = Xyseries {
                x: "host".to_owned(),
                series: "u".to_owned(),
                values: vec!["n".to_owned()],
                names: NameFormat {
                    separator: ": ".to_owned(),
                    template: template.map(str::to_owned),
                },
            };
            let most = Limits { rows: 100, columns: 100, bins: 10, bytes: 1 << 30 };
            let made = xyseries.apply(rows.clone(), &mut Context::new(most));
            made.expect("it is within the limits")
        };
        let made = series(None);
        assert_eq!(made.names(), ["host", "a", "host 2", "host 2 2"]);
        let cells = [Some("1".to_owned()), Some("4".to_owned())];
        assert_eq!(made.texts("host 2").expect("numbers"), cells);
        let made = series(Some("k"));
        assert_eq!(made.names(), ["host", "k", "k 2", "k 3"]);
    }

    #[test]
    fn rows_of_one_header_become_columns_of_their_own() {
        let headers: Vec<Option<String>> = (0..2_000_usize)
            .map(|row| (row % 4 > 0).then(|| ["", "host", "host", "host 3"][row % 4].to_owned()))
            .collect();
        let mut rows = Rows::blank(headers.len());
        rows.set_texts("header", headers.iter().map(Option::as_ref));
        rows.set_integers("n", (0..2_000).map(Some));
        let transpose = Transpose {
            limit: 0,
            column_name: "column".to_owned(),
            header_field: Some("header".to_owned()),
            include_empty: true,
        };
        let most = Limits { rows: 10_000, columns: 10_000, bins: 10, bytes: 1 << 30 };
        let made = transpose.apply(rows, &mut Context::new(most)).expect("it is within the limits");
        let names = made.names();
        assert_eq!(names[..5], ["column", "row 1", "host", "host 2", "host 3"]);
        assert_eq!(names[5..9], ["row 5", "host 4", "host 5", "host 3 2"]);
        // The result must be as if each column had checked its name against the previous ones.
        let mut before = Rows::blank(1);
        for (row, header) in headers.iter().enumerate().take(200) {
            let given = header.clone().unwrap_or_else(|| format!("row {}", row + 1));
            assert_eq!(names[row + 1], before.free_name(&given));
            before.set_texts(&names[row + 1], [Some("")]);
        }
    }
}
