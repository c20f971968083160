//! SQL aggregates of floating-point numbers over windows that slide.
//!
//! The engine subtracts the values that leave a window. A subtraction does not undo an addition of numbers of
//! different sizes: after `1e17, 17, 17`, the sum of the last two is 32, and their variance may be negative.
//! Here, nothing is subtracted: a window is kept as two stacks, of its older and its newer values, with the
//! aggregate of the values from each older one on. Each value enters and leaves a stack once, so that a row
//! costs the same in a window of any length.
//!
//! A window has 32 bytes for each of its values, for a moment 48. No limit counts them, because the engine
//! does not ask windows for their size. It holds the rows of a partition anyway.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef, Float64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, GroupsAccumulator, ReversedUDAF,
    Signature,
};

use super::checked;

/// Maximum capacity of the list of newer values after they have become the older ones.
const KEPT_CAPACITY: usize = 1_024;

/// The functions that are replaced.
const FUNCTIONS: &[(&str, Statistic)] = &[
    ("sum", Statistic::Sum),
    ("avg", Statistic::Average),
    ("var", Statistic::Variance),
    ("var_pop", Statistic::PopulationVariance),
    ("stddev", Statistic::Deviation),
    ("stddev_pop", Statistic::PopulationDeviation),
];

/// What is computed of the values of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Statistic {
    Sum,
    Average,
    Variance,
    PopulationVariance,
    Deviation,
    PopulationDeviation,
}

/// Returns the replacements of functions of a session.
pub(super) fn functions(known: impl Fn(&str) -> Option<Arc<AggregateUDF>>) -> Vec<AggregateUDF> {
    let replaced = FUNCTIONS.iter().filter_map(|&(name, statistic)| {
        let windowed = Windowed { inner: known(name)?, statistic };
        Some(AggregateUDF::new_from_impl(windowed))
    });
    replaced.collect()
}

/// A function of the engine with other accumulators for windows that slide, and for sums of integers.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Windowed {
    inner: Arc<AggregateUDF>,
    statistic: Statistic,
}

impl AggregateUDFImpl for Windowed {
    fn name(&self) -> &str {
        self.inner.inner().name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.inner().aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.inner().signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.inner().return_type(arg_types)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.inner.inner().state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let is_sum = self.statistic == Statistic::Sum;
        match is_sum.then(|| checked::sum(&args)).flatten() {
            Some(sum) => Ok(sum),
            None => self.inner.inner().accumulator(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.inner.inner().groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let is_sum = self.statistic == Statistic::Sum;
        match is_sum.then(|| checked::sums(&args)).flatten() {
            Some(sums) => Ok(sums),
            None => self.inner.inner().create_groups_accumulator(args),
        }
    }

    /// The engine subtracts the rows that leave the window: sums of integers wrap there.
    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn Accumulator>> {
        match Window::of(self.statistic, &args) {
            Some(window) => Ok(Box::new(window)),
            None => self.inner.inner().create_sliding_accumulator(args),
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.inner.inner().reverse_expr()
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.inner.inner().order_sensitivity()
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.inner().documentation()
    }
}

/// The values of a window, without nulls.
#[derive(Debug)]
struct Window {
    statistic: Statistic,
    /// The older values; the oldest is last. Each entry stands for its value and all before it in this list.
    older: Vec<Moments>,
    /// The newer values; the newest is last.
    newer: Vec<f64>,
    of_newer: Moments,
}

impl Window {
    /// Returns an empty window; `None` for an aggregate of other types than floating-point numbers, and for
    /// `DISTINCT`.
    fn of(statistic: Statistic, args: &AccumulatorArgs<'_>) -> Option<Self> {
        let is_float = matches!(args.return_field.data_type(), DataType::Float64);
        (is_float && !args.is_distinct).then(|| Self::new(statistic))
    }

    fn new(statistic: Statistic) -> Self {
        let (older, newer) = (Vec::new(), Vec::new());
        Self { statistic, older, newer, of_newer: Moments::default() }
    }

    fn drop_oldest(&mut self) {
        if self.older.is_empty() {
            let mut all = Moments::default();
            self.older.reserve_exact(self.newer.len());
            while let Some(value) = self.newer.pop() {
                all = Moments::of(value).and(all);
                self.older.push(all);
            }
            self.of_newer = Moments::default();
            // A window that reaches to the end of its partition gets no other value.
            self.newer.shrink_to(KEPT_CAPACITY);
        }
        self.older.pop();
    }
}

impl Accumulator for Window {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in numbers(values)?.iter().flatten() {
            self.newer.push(value);
            self.of_newer = self.of_newer.and(Moments::of(value));
        }
        Ok(())
    }

    /// Values leave in the order in which they entered.
    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = numbers(values)?;
        for _ in values.null_count()..values.len() {
            self.drop_oldest();
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let of_older = self.older.last().copied().unwrap_or_default();
        Ok(ScalarValue::Float64(of_older.and(self.of_newer).value(self.statistic)))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("a window is not merged")
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        internal_err!("a window is not merged")
    }

    fn size(&self) -> usize {
        let older = self.older.capacity() * size_of::<Moments>();
        size_of_val(self) + older + self.newer.capacity() * size_of::<f64>()
    }
}

fn numbers(values: &[ArrayRef]) -> Result<Float64Array> {
    let [values] = values else { return internal_err!("the aggregate has one argument") };
    Ok(cast(values, &DataType::Float64)?.as_primitive::<Float64Type>().clone())
}

/// Count, sum, mean and sum of the squared distances from the mean of some values.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    count: f64,
    sum: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn of(value: f64) -> Self {
        // The distance of infinity from itself is not a number.
        let squares = if value.is_finite() { 0.0 } else { f64::NAN };
        Self { count: 1.0, sum: value, mean: value, squares }
    }

    /// Returns the moments of both (the formula of Chan, Golub and LeVeque).
    fn and(self, other: Self) -> Self {
        if self.count <= 0.0 {
            return other;
        }
        if other.count <= 0.0 {
            return self;
        }
        let count = self.count + other.count;
        let apart = other.mean - self.mean;
        let between = apart * apart * (self.count * other.count / count);
        Self {
            count,
            sum: self.sum + other.sum,
            mean: self.mean + apart * (other.count / count),
            squares: self.squares + other.squares + between,
        }
    }

    /// Returns a statistic; `None` if there are too few values for it.
    fn value(self, statistic: Statistic) -> Option<f64> {
        let mean_square = |of: f64| (of > 0.0).then_some(self.squares / of);
        match statistic {
            Statistic::Sum => (self.count > 0.0).then_some(self.sum),
            Statistic::Average => (self.count > 0.0).then_some(self.sum / self.count),
            Statistic::Variance => mean_square(self.count - 1.0),
            Statistic::PopulationVariance => mean_square(self.count),
            Statistic::Deviation => mean_square(self.count - 1.0).map(f64::sqrt),
            Statistic::PopulationDeviation => mean_square(self.count).map(f64::sqrt),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{Session, SessionSettings};
    use super::*;

    const SIZES: &str =
        "(VALUES (1, 1e17), (2, 17.0), (3, 17.0), (4, 17.0), (5, 20.0)) AS t (i, x)";
    const HOLES: &str = "(VALUES (1, 1.0), (2, NULL), (3, 2.0), (4, NULL), (5, NULL)) AS t (i, x)";

    /// Returns a function over each row and the one before, of the rows from `first` on.
    async fn pairs(function: &str, rows: &str, first: usize) -> Vec<String> {
        let context = Session::new(&SessionSettings::default(), Vec::new()).unwrap().sql("a", "b");
        let query = format!(
            "SELECT CAST(s AS VARCHAR) FROM (SELECT i, {function}(x) OVER \
             (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM {rows}) AS w \
             WHERE i >= {first} ORDER BY i"
        );
        let batches = context.sql(&query).await.unwrap().collect().await.unwrap();
        let mut values = Vec::new();
        for batch in &batches {
            for row in 0..batch.num_rows() {
                let value = arrow::util::display::array_value_to_string(batch.column(0), row);
                values.push(value.unwrap());
            }
        }
        values
    }

    #[tokio::test]
    async fn values_that_have_left_a_window_leave_no_error() {
        for (function, expected) in [
            ("sum", ["34.0", "34.0", "37.0"]),
            ("avg", ["17.0", "17.0", "18.5"]),
            ("var", ["0.0", "0.0", "4.5"]),
            ("var_samp", ["0.0", "0.0", "4.5"]),
            ("var_pop", ["0.0", "0.0", "2.25"]),
            ("stddev", ["0.0", "0.0", "2.1213203435596424"]),
            ("stddev_pop", ["0.0", "0.0", "1.5"]),
        ] {
            assert_eq!(pairs(function, SIZES, 3).await, expected, "{function}");
        }
    }

    #[tokio::test]
    async fn nulls_are_not_counted() {
        assert_eq!(pairs("sum", HOLES, 1).await, ["1.0", "1.0", "2.0", "2.0", ""]);
        assert_eq!(pairs("stddev", HOLES, 1).await, ["", "", "", "", ""]);
        assert_eq!(pairs("var_pop", HOLES, 1).await, ["0.0", "0.0", "0.0", "0.0", ""]);
    }

    #[test]
    fn numbers_that_are_not_finite_have_no_variance() {
        let of = |numbers: &[f64]| Arc::new(Float64Array::from(numbers.to_vec())) as ArrayRef;
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut window = Window::new(Statistic::PopulationVariance);
            window.update_batch(&[of(&[number])]).unwrap();
            let variance = window.evaluate().unwrap();
            let is_nan = matches!(variance, ScalarValue::Float64(Some(found)) if found.is_nan());
            assert!(is_nan, "{number}: {variance}");
            window.update_batch(&[of(&[1.0, 2.0])]).unwrap();
            window.retract_batch(&[of(&[number])]).unwrap();
            assert_eq!(window.evaluate().unwrap(), ScalarValue::Float64(Some(0.25)), "{number}");
        }
    }

    #[test]
    fn a_window_has_little_more_memory_than_its_values() {
        let mut window = Window::new(Statistic::Variance);
        let values = Arc::new(Float64Array::from(vec![1.0; 10_000])) as ArrayRef;
        window.update_batch(&[values]).unwrap();
        window.retract_batch(&[Arc::new(Float64Array::from(vec![1.0])) as ArrayRef]).unwrap();
        assert!(window.size() < 10_000 * size_of::<Moments>() + 10_000, "{}", window.size());
    }

    #[test]
    fn windows_have_the_values_of_their_rows() {
        let one = |number: u32| Arc::new(Float64Array::from(vec![f64::from(number)])) as ArrayRef;
        let mut window = Window::new(Statistic::Sum);
        for number in 0..100_u32 {
            window.update_batch(&[one(number)]).unwrap();
            // The window grows to 7 rows and shrinks to the newest one.
            let first = number - number % 7;
            if first == number && first > 0 {
                for left in first - 7..first {
                    window.retract_batch(&[one(left)]).unwrap();
                }
            }
            let expected = (first..=number).sum::<u32>();
            let expected = ScalarValue::Float64(Some(f64::from(expected)));
            assert_eq!(window.evaluate().unwrap(), expected, "{number}");
        }
        for number in 98..100 {
            window.retract_batch(&[one(number)]).unwrap();
        }
        assert_eq!(window.evaluate().unwrap(), ScalarValue::Float64(None));
    }
}
