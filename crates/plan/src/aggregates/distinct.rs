//! `dc` (exact) and `estdc` (estimated): how many different texts.
//!
//! `estdc` is a HyperLogLog of 4,096 registers: a standard error of 1.6 % in 4 KiB per group.

use std::hash::{DefaultHasher, Hasher};

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use hashbrown::HashSet;

use crate::aggregates::state;
use crate::aggregates::summary::Summary;
use crate::aggregates::wholes::Wholes;
use crate::expr::column::Value;
use crate::value::whole_number;

/// The different values so far. A text that is a whole number as Karst writes it is kept as a number,
/// so that it makes no difference in which form a value arrives.
#[derive(Debug, Clone, Default)]
pub(crate) struct Distinct {
    wholes: Wholes,
    texts: HashSet<Box<str>>,
    bytes: usize,
}

impl Distinct {
    fn add_text(&mut self, text: &str) {
        match whole_number(text) {
            Some(whole) => self.wholes.insert(whole),
            None => self.add_other(text),
        }
    }

    fn add_other(&mut self, text: &str) {
        if !self.texts.contains(text) {
            self.bytes += text.len();
            self.texts.insert(text.into());
        }
    }
}

impl Summary for Distinct {
    #[inline]
    fn add_value(&mut self, value: Value<'_>) {
        match value {
            Value::Integer(whole) => self.wholes.insert(whole),
            Value::Text(text) => self.add_text(text),
            other => other.each_text(|text| self.add_text(text)),
        }
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![state::list_of(DataType::Int64), state::list_of(DataType::Utf8View)]
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.bytes = 0;
        let texts = state::texts(std::mem::take(&mut self.texts));
        Ok(vec![state::wholes(self.wholes.take()), texts])
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        state::each_integer(&states[0], row, |whole| self.wholes.insert(whole));
        state::each_text(&states[1], row, |text| self.add_other(text));
        Ok(())
    }

    fn result(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Int64(i64::try_from(self.wholes.len() + self.texts.len()).ok()))
    }

    fn heap_size(&self) -> usize {
        let texts = self.texts.capacity() * (size_of::<Box<str>>() + 1) + self.bytes;
        texts + self.wholes.heap_size()
    }
}

const INDEX_BITS: u32 = 12;
const REGISTERS: usize = 1 << INDEX_BITS;

/// A sketch of the different texts so far; no registers as long as there is none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Estimate {
    registers: Vec<u8>,
    /// Whether the relative error is asked for instead.
    error: bool,
}

impl Estimate {
    pub(crate) fn new(error: bool) -> Self {
        Self { registers: Vec::new(), error }
    }

    fn add_text(&mut self, text: &str) {
        if let Some(whole) = whole_number(text) {
            return self.add_whole(whole);
        }
        // The keys of this hasher are constant, so sketches of different machines merge.
        let mut hasher = DefaultHasher::new();
        hasher.write(text.as_bytes());
        self.add_hash(hasher.finish());
    }

    #[inline]
    fn add_whole(&mut self, whole: i64) {
        self.add_hash(scramble(whole.cast_unsigned()));
    }

    #[inline]
    fn add_hash(&mut self, hash: u64) {
        let register = usize::try_from(hash >> (64 - INDEX_BITS)).unwrap_or(0);
        let rank = ((hash << INDEX_BITS) | (1 << (INDEX_BITS - 1))).leading_zeros() + 1;
        self.raise(register, u8::try_from(rank).unwrap_or(u8::MAX));
    }

    fn raise(&mut self, register: usize, rank: u8) {
        if self.registers.is_empty() {
            self.registers = vec![0; REGISTERS];
        }
        if let Some(held) = self.registers.get_mut(register) {
            *held = rank.max(*held);
        }
    }

    #[allow(clippy::cast_precision_loss)]
    fn estimate(&self) -> f64 {
        if self.registers.is_empty() {
            return 0.0;
        }
        let count = REGISTERS as f64;
        let inverse: f64 = self.registers.iter().map(|rank| 2_f64.powi(-i32::from(*rank))).sum();
        let raw = 0.7213 / (1.0 + 1.079 / count) * count * count / inverse;
        let empty = self.registers.iter().filter(|rank| **rank == 0).count() as f64;
        // Few values leave registers empty, whose number is the better estimate.
        if raw <= 2.5 * count && empty > 0.0 { count * (count / empty).ln() } else { raw }
    }
}

/// A hash of a number, in which each bit depends on each bit of it (the end of splitmix64).
#[inline]
fn scramble(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

impl Summary for Estimate {
    #[inline]
    fn add_value(&mut self, value: Value<'_>) {
        match value {
            Value::Integer(whole) => self.add_whole(whole),
            other => other.each_text(|text| self.add_text(text)),
        }
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![DataType::Binary]
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::Binary(Some(std::mem::take(&mut self.registers)))])
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        let registers = state::bytes(&states[0], row).unwrap_or_default();
        for (register, rank) in registers.iter().enumerate() {
            self.raise(register, *rank);
        }
        Ok(())
    }

    fn result(&mut self) -> Result<ScalarValue> {
        #[allow(clippy::cast_precision_loss)]
        let error = 1.04 / (REGISTERS as f64).sqrt();
        Ok(ScalarValue::Float64(Some(if self.error { error } else { self.estimate().round() })))
    }

    fn heap_size(&self) -> usize {
        self.registers.capacity()
    }
}

/// `count` of a multivalue field: how many values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Occurrences {
    count: i64,
}

impl Summary for Occurrences {
    fn add_value(&mut self, value: Value<'_>) {
        self.count += i64::try_from(value.count()).unwrap_or(0);
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![DataType::Int64]
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::Int64(Some(self.count))])
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        use arrow::array::AsArray;
        self.count += states[0].as_primitive::<arrow::datatypes::Int64Type>().value(row);
        Ok(())
    }

    fn result(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Int64(Some(self.count)))
    }

    fn heap_size(&self) -> usize {
        0
    }
}
