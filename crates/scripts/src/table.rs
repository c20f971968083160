//! Rows in the format of programs: CSV with a header line, and a column `__mv_<field>` for multivalue
//! fields.
//!
//! Guarantees: a value is the same after it is written and read again, whatever characters it has. Empty
//! and missing values are the same, as in Splunk's CSV.

use std::collections::HashMap;

/// The prefix of multivalue columns.
const MULTI: &str = "__mv_";

/// The values of a field: a list of zero or more values per row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The field.
    pub name: String,
    /// A list of values for each row.
    pub values: Vec<Vec<String>>,
}

/// Some rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// The columns in order, each with `count` entries.
    pub columns: Vec<Column>,
    /// Number of rows.
    pub count: usize,
}

impl Table {
    /// The column of a field.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Writes CSV. Several values are written into one cell, separated by line breaks; with `multi`, they
    /// are also written into a column `__mv_<field>`.
    pub(crate) fn to_csv(&self, multi: bool) -> Vec<u8> {
        let mut writer = csv::WriterBuilder::new()
            .terminator(csv::Terminator::Any(b'\n'))
            .from_writer(Vec::new());
        // Writing to memory can only fail if records differ in length, which these do not.
        let write = |writer: &mut csv::Writer<Vec<u8>>, cells: &[String]| {
            if let Err(error) = writer.write_record(cells) {
                tracing::error!(%error, "cannot write rows for a program");
            }
        };
        let mut cells: Vec<String> = Vec::with_capacity(self.columns.len() * 2);
        for column in &self.columns {
            cells.push(column.name.clone());
            if multi {
                cells.push(format!("{MULTI}{}", column.name));
            }
        }
        if cells.is_empty() {
            return Vec::new();
        }
        write(&mut writer, &cells);
        for row in 0..self.count {
            cells.clear();
            for column in &self.columns {
                let values = &column.values[row];
                cells.push(values.join("\n"));
                if multi {
                    cells.push(if values.len() > 1 { encoded(values) } else { String::new() });
                }
            }
            write(&mut writer, &cells);
        }
        writer.into_inner().unwrap_or_default()
    }

    /// Parses CSV.
    ///
    /// # Errors
    /// The reason, with the line.
    pub(crate) fn of_csv(bytes: &[u8]) -> Result<Self, String> {
        let mut reader = csv::ReaderBuilder::new().from_reader(bytes);
        let text = |cell: &[u8]| String::from_utf8_lossy(cell).into_owned();
        let header: Vec<String> =
            reader.byte_headers().map_err(|error| error.to_string())?.iter().map(text).collect();
        let mut columns: Vec<Column> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        // For each cell, its column and whether it is a multivalue column.
        let mut targets = Vec::with_capacity(header.len());
        for name in &header {
            let (field, multi) = match name.strip_prefix(MULTI) {
                Some(field) => (field, true),
                None => (name.as_str(), false),
            };
            let place = *places.entry(field).or_insert_with(|| {
                columns.push(Column { name: field.to_owned(), values: Vec::new() });
                columns.len() - 1
            });
            targets.push((place, multi));
        }
        let mut record = csv::ByteRecord::new();
        let mut count = 0;
        while reader.read_byte_record(&mut record).map_err(|error| error.to_string())? {
            columns.iter_mut().for_each(|column| column.values.push(Vec::new()));
            for (cell, (place, multi)) in record.iter().zip(&targets) {
                let values = &mut columns[*place].values[count];
                match multi {
                    _ if cell.is_empty() => {}
                    true => *values = decoded(&text(cell)),
                    false if values.is_empty() => values.push(text(cell)),
                    false => {}
                }
            }
            count += 1;
        }
        columns.retain(|column| !column.name.is_empty());
        Ok(Self { columns, count })
    }
}

/// Encodes values as `$a$;$b$`, with `$$` for `$`.
fn encoded(values: &[String]) -> String {
    let quoted = values.iter().map(|value| format!("${}$", value.replace('$', "$$")));
    quoted.collect::<Vec<_>>().join(";")
}

fn decoded(text: &str) -> Vec<String> {
    let mut values = Vec::new();
    let mut rest = text;
    while let Some(inside) = rest.strip_prefix('$') {
        let mut value = String::new();
        let mut left = inside;
        loop {
            let Some((before, behind)) = left.split_once('$') else {
                // The last value is not terminated; its text is kept.
                value.push_str(left);
                left = "";
                break;
            };
            value.push_str(before);
            match behind.strip_prefix('$') {
                Some(escaped) => {
                    value.push('$');
                    left = escaped;
                }
                None => {
                    left = behind;
                    break;
                }
            }
        }
        values.push(value);
        rest = left.strip_prefix(';').unwrap_or("");
    }
    values
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn table(columns: &[(&str, &[&[&str]])]) -> Table {
        let list = |values: &&[&str]| values.iter().map(|v| (*v).to_owned()).collect();
        let column = |(name, rows): &(&str, &[&[&str]])| Column {
            name: (*name).to_owned(),
            values: rows.iter().map(list).collect(),
        };
        Table { count: columns[0].1.len(), columns: columns.iter().map(column).collect() }
    }

    #[test]
    fn rows_are_the_same_after_writing_and_reading() {
        let rows = table(&[
            ("_raw", &[&["a \"quoted\", line\nand another"], &["$5;$6$"], &[]]),
            ("tags", &[&["x", "y$z", ""], &["$", "$$"], &["one"]]),
            ("ünï", &[&[], &["\u{1f600}"], &["é"]]),
        ]);
        assert_eq!(Table::of_csv(&rows.to_csv(true)), Ok(rows));
    }

    #[test]
    fn without_columns_for_several_values_these_stand_in_one_cell() {
        let rows = table(&[("a", &[&["x", "y"]])]);
        assert_eq!(rows.to_csv(false), b"a\n\"x\ny\"\n");
        assert_eq!(rows.to_csv(true), b"a,__mv_a\n\"x\ny\",$x$;$y$\n");
    }

    #[test]
    fn lists_are_read_as_splunk_writes_them() {
        for (text, values) in [
            ("$a$;$b$", vec!["a", "b"]),
            ("$$;$b$", vec!["", "b"]),
            ("$$$$", vec!["$"]),
            ("$a$$;$$b$;$$", vec!["a$;$b", ""]),
            ("$open", vec!["open"]),
            ("plain", vec![]),
        ] {
            assert_eq!(decoded(text), values, "{text}");
        }
    }

    #[test]
    fn a_line_with_another_number_of_cells_is_an_error_with_its_place() {
        let error = Table::of_csv(b"a,b\n1,2\n3\n").unwrap_err();
        assert!(error.contains("line: 3"), "{error}");
    }

    #[test]
    fn no_bytes_are_no_rows() {
        assert_eq!(Table::of_csv(b""), Ok(Table::default()));
        assert!(Table::default().to_csv(true).is_empty());
    }
}
