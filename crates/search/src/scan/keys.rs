//! Integer keys for the values of a field, so that rows are grouped by integers.
//!
//! Guarantees: equal texts have equal keys and different texts different ones, in all batches of a plan;
//! a whole number is its own key (shifted), other texts are numbered as they come. Meant for columns
//! with few different texts: all of them are kept.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{
    AnyDictionaryArray, Array, ArrayRef, AsArray, Int64Array, RecordBatch, StringViewArray,
    StringViewBuilder,
};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Int64Type, Schema};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use hashbrown::HashMap;
use parking_lot::Mutex;
use plan::value::{NumberText, whole_number};

/// The numbering of one column of one plan.
#[derive(Default)]
pub(super) struct Keys {
    texts: Mutex<Texts>,
}

#[derive(Default)]
struct Texts {
    numbers: HashMap<Arc<str>, i64>,
    texts: Vec<Arc<str>>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys")
    }
}

/// Returns the key of an integer; `None` if the shifted integer would overflow.
fn key_of_whole(whole: i64) -> Option<i64> {
    whole.checked_mul(2)
}

impl Keys {
    /// Returns the keys of a column of texts or integers.
    pub(super) fn of_column(&self, column: &ArrayRef) -> Result<ArrayRef> {
        Ok(match column.data_type() {
            DataType::Int64 => self.of_integers(column.as_primitive()),
            DataType::Utf8View => self.of_texts(column.as_string_view()),
            DataType::Dictionary(..) => self.of_dictionary(column.as_any_dictionary())?,
            _ => self.of_texts(cast(column, &DataType::Utf8View)?.as_string_view()),
        })
    }

    fn of_integers(&self, integers: &Int64Array) -> ArrayRef {
        let key = |whole| {
            key_of_whole(whole).unwrap_or_else(|| self.of_text(&NumberText::integer(whole)))
        };
        Arc::new(integers.unary::<_, Int64Type>(key))
    }

    /// Maps the values of a dictionary to keys. The dictionary may contain a value twice.
    fn of_dictionary(&self, column: &dyn AnyDictionaryArray) -> Result<ArrayRef> {
        let values = cast(column.values(), &DataType::Utf8View)?;
        if values.len() > column.len() {
            let texts = take(&values, column.keys(), None)?;
            return Ok(self.of_texts(texts.as_string_view()));
        }
        Ok(take(&self.of_texts(values.as_string_view()), column.keys(), None)?)
    }

    /// Equal views within a column are equal texts, so most rows need one look into a small table.
    fn of_texts(&self, texts: &StringViewArray) -> ArrayRef {
        let mut known = vec![(NO_VIEW, 0); SLOTS];
        // One loop for columns with and without nulls: the compiler inlines a closure that is called in two
        // places only sometimes, and a call for each row costs half as much again.
        let keys = texts.views().iter().enumerate().map(|(row, view)| {
            let slot = &mut known[slot_of(*view)];
            if slot.0 != *view {
                // The view of a null may be that of a text, so its key is not kept. What key a null gets does
                // not matter.
                if texts.is_null(row) {
                    return 0;
                }
                *slot = (*view, self.of_text(texts.value(row)));
            }
            slot.1
        });
        let keys: Vec<i64> = keys.collect();
        Arc::new(Int64Array::new(keys.into(), texts.nulls().cloned()))
    }

    /// A call, so that the look into the table is inlined into the loop over the rows.
    #[inline(never)]
    fn of_text(&self, text: &str) -> i64 {
        if let Some(key) = whole_number(text).and_then(key_of_whole) {
            return key;
        }
        let mut known = self.texts.lock();
        if let Some(number) = known.numbers.get(text) {
            return *number;
        }
        let text: Arc<str> = text.into();
        let number = i64::try_from(known.texts.len()).unwrap_or(i64::MAX / 2) * 2 + 1;
        known.texts.push(Arc::clone(&text));
        known.numbers.insert(text, number);
        number
    }

    /// Returns the texts of keys.
    fn texts_of(&self, keys: &Int64Array) -> StringViewArray {
        let known = self.texts.lock();
        let mut texts = StringViewBuilder::with_capacity(keys.len());
        for key in keys {
            match key {
                None => texts.append_null(),
                Some(key) if key & 1 == 0 => texts.append_value(&*NumberText::integer(key / 2)),
                Some(key) => {
                    let text = usize::try_from(key / 2).ok().and_then(|at| known.texts.get(at));
                    texts.append_option(text.map(AsRef::as_ref));
                }
            }
        }
        texts.finish()
    }
}

/// Number of cached views within a column.
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 10;
/// An invalid view, whose length would be out of range.
const NO_VIEW: u128 = u128::MAX;

/// Returns the slot of a view: a hash of its length and first bytes, and of the rest.
fn slot_of(view: u128) -> usize {
    let folded = (view as u64) ^ ((view >> 64) as u64).rotate_left(23);
    (folded.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - SLOT_BITS)) as usize
}

/// An expression that converts a column of keys to texts.
#[derive(Debug, Clone)]
pub(super) struct TextsOfKeys {
    keys: Arc<Keys>,
    of: Arc<dyn PhysicalExpr>,
}

impl TextsOfKeys {
    pub(super) fn new(keys: Arc<Keys>, of: Arc<dyn PhysicalExpr>) -> Self {
        Self { keys, of }
    }
}

impl PartialEq for TextsOfKeys {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.keys, &other.keys) && self.of.eq(&other.of)
    }
}

impl Eq for TextsOfKeys {}

impl Hash for TextsOfKeys {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.keys).hash(state);
        self.of.hash(state);
    }
}

impl fmt::Display for TextsOfKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "texts_of_keys({})", self.of)
    }
}

impl PhysicalExpr for TextsOfKeys {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(true)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let keys = self.of.evaluate(batch)?.into_array(batch.num_rows())?;
        let keys = keys.as_primitive_opt::<Int64Type>().ok_or_else(|| {
            DataFusionError::Internal(format!("keys of type {}", keys.data_type()))
        })?;
        Ok(ColumnarValue::Array(Arc::new(self.keys.texts_of(keys))))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.of]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let of = children.pop().unwrap_or_else(|| Arc::clone(&self.of));
        Ok(Arc::new(Self { keys: Arc::clone(&self.keys), of }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn nulls_take_no_key_from_empty_texts_or_give_them_theirs() {
        let keys = Keys::default();
        for texts in [[None, Some(""), Some("a")], [Some(""), None, Some("")], [None; 3]] {
            let found = keys.of_texts(&StringViewArray::from(texts.to_vec()));
            assert_eq!(keys.texts_of(found.as_primitive()).iter().collect::<Vec<_>>(), texts);
        }
    }

    #[test]
    fn keys_stand_for_texts_in_all_batches() {
        let keys = Keys::default();
        let long = "a text that is too long to be kept in its view";
        let one: ArrayRef = Arc::new(StringViewArray::from(vec![
            Some("a"),
            Some("200"),
            None,
            Some("0200"),
            Some(long),
            Some("a"),
            Some(""),
        ]));
        let two: ArrayRef = Arc::new(StringViewArray::from(vec![Some(long), Some("b"), Some("a")]));
        let named = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let dictionary = cast(&one, &named).unwrap();
        // More values than rows, one of which has none.
        let part = dictionary.slice(1, 2);
        let integers: ArrayRef = Arc::new(Int64Array::from(vec![
            Some(200),
            None,
            Some(-1),
            Some(i64::MAX),
            Some(i64::MIN),
        ]));
        let mut texts = Vec::new();
        for column in [&one, &two, &dictionary, &part, &integers] {
            let found = keys.of_column(column).unwrap();
            let back = keys.texts_of(found.as_primitive());
            assert_eq!(&cast(column, &DataType::Utf8View).unwrap().to_data(), &{
                let back: ArrayRef = Arc::new(back.clone());
                back.to_data()
            });
            let pairs = back.iter().zip(found.as_primitive::<Int64Type>());
            texts.extend(pairs.map(|(text, key)| (text.map(str::to_owned), key)));
        }
        for (text, key) in &texts {
            for (other, other_key) in &texts {
                assert_eq!(text == other, key == other_key, "{text:?} {other:?}");
            }
        }
    }
}
