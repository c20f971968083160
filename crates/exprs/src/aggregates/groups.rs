//! The states of all groups of an aggregation.
//!
//! A group without a value need not have a state: in `stats values(*) by sourcetype` over thousands of
//! fields, nearly every group of nearly every aggregate has no value, and a state for each exceeded the
//! memory of a search.
//!
//! The engine converts all groups at once, however many there are. So the memory of the columns is counted
//! from the first value on, before they exist: a search over its limit spills while the groups grow. The
//! state of a group is freed as soon as it is converted, so the larger of the two sizes counts.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, new_null_array};
use arrow::compute::concat;
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};

use crate::aggregates::summary::{Order, Place, Summary};

/// The states of groups, indexed by group number.
#[derive(Debug)]
struct States<S> {
    empty: S,
    /// The position of the state of each group, counted from 1; 0 if it has none. `None` while every group
    /// has a state, in the order of the groups.
    places: Option<Vec<u32>>,
    states: Vec<S>,
}

impl<S: Summary> States<S> {
    fn of(empty: S) -> Self {
        Self { empty, places: None, states: Vec::new() }
    }

    /// Adds groups. If only few rows have a value, most of the new groups may stay without a state.
    fn grow(&mut self, total: usize, is_sparse: bool) {
        let states = self.states.len();
        if is_sparse && total > states && self.places.is_none() {
            self.places = Some((1..=number(states)).collect());
        }
        match &mut self.places {
            Some(places) => places.resize(total.max(places.len()), 0),
            None => self.states.resize_with(total.max(states), || self.empty.clone()),
        }
    }

    /// Returns the state of a group, creating it if necessary.
    fn of_group(&mut self, group: usize) -> &mut S {
        let Some(places) = &mut self.places else { return &mut self.states[group] };
        let place = &mut places[group];
        if *place == 0 {
            self.states.push(self.empty.clone());
            *place = number(self.states.len());
        }
        &mut self.states[*place as usize - 1]
    }

    /// Takes the states of the first groups, or of all.
    fn take(&mut self, emit_to: EmitTo) -> Vec<Option<S>> {
        let Some(mut taken) = self.places.take() else {
            let taken = emit_to.take_needed(&mut self.states);
            return taken.into_iter().map(Some).collect();
        };
        let left = match emit_to {
            EmitTo::All => None,
            EmitTo::First(count) => Some(taken.split_off(count)),
        };
        let mut states: Vec<Option<S>> =
            std::mem::take(&mut self.states).into_iter().map(Some).collect();
        let mut state = |place: &u32| states[(*place).checked_sub(1)? as usize].take();
        let taken = taken.iter().map(&mut state).collect();
        if let Some(mut left) = left {
            for place in &mut left {
                if let Some(state) = state(place) {
                    self.states.push(state);
                    *place = number(self.states.len());
                }
            }
            self.places = Some(left);
        }
        taken
    }

    fn held_size(&self) -> usize {
        self.states.iter().map(held_size).sum()
    }

    /// Returns the number of groups, with or without a state.
    fn groups(&self) -> usize {
        self.places.as_ref().map_or(self.states.len(), Vec::len)
    }

    fn size(&self) -> usize {
        let places = self.places.as_ref().map_or(0, |places| places.capacity() * size_of::<u32>());
        places + self.states.capacity() * size_of::<S>()
    }
}

/// Returns the size of a group in bytes outside of its state: while it grows, or in columns. Of the group
/// that is being converted, both exist; so a single large group may take more than it counts.
fn held_size<S: Summary>(state: &S) -> usize {
    state.heap_size().max(state.emitted_size())
}

/// Returns the fixed part of the size of a row in columns of these types.
fn row_size(types: &[DataType]) -> usize {
    let size = |data_type: &DataType| match data_type {
        DataType::Utf8View => size_of::<u128>(),
        DataType::LargeBinary => size_of::<i64>(),
        other => other.primitive_width().unwrap_or(size_of::<i32>()),
    };
    types.iter().map(size).sum()
}

fn number(states: usize) -> u32 {
    u32::try_from(states).expect("so many groups do not fit into memory")
}

/// All groups of an aggregation.
pub(super) struct Groups<S> {
    states: States<S>,
    order: Order,
    /// The memory of the groups outside of their states, or of the variable part of their columns.
    heap: usize,
    /// The fixed part of the size of a group in columns.
    row_size: usize,
}

impl<S: Summary> Groups<S> {
    pub(super) fn of(empty: S, order: Order) -> Self {
        let row_size = row_size(&empty.state_types());
        Self { states: States::of(empty), order, heap: 0, row_size }
    }

    fn take(&mut self, emit_to: EmitTo) -> Vec<Option<S>> {
        let taken = self.states.take(emit_to);
        let heap: usize = taken.iter().flatten().map(held_size).sum();
        self.heap = self.heap.saturating_sub(heap);
        taken
    }
}

/// The group of each row that the filter admits.
struct Admitted<'a> {
    groups: &'a [usize],
    filter: Option<&'a BooleanArray>,
}

impl Admitted<'_> {
    #[inline(always)]
    fn group(&self, row: usize) -> Option<usize> {
        let is_admitted = self.filter.is_none_or(|keep| keep.is_valid(row) && keep.value(row));
        is_admitted.then(|| self.groups[row])
    }
}

/// Adds rows to the summaries of their groups, each of which has one. The common case: its loop over the rows
/// looks for neither missing states nor memory.
struct ToEach<'a, S> {
    states: &'a mut [S],
    rows: Admitted<'a>,
}

impl<S: Summary> Place<S> for ToEach<'_, S> {
    #[inline(always)]
    fn change(&mut self, row: usize, change: impl FnOnce(&mut S)) {
        if let Some(group) = self.rows.group(row) {
            change(&mut self.states[group]);
        }
    }
}

/// Adds rows to the summaries of their groups, and creates those that are missing.
struct ToAny<'a, S> {
    states: &'a mut States<S>,
    rows: Admitted<'a>,
    /// The memory of all groups; `None` if it is not measured on every change.
    heap: Option<&'a mut usize>,
}

impl<S: Summary> Place<S> for ToAny<'_, S> {
    fn change(&mut self, row: usize, change: impl FnOnce(&mut S)) {
        let Some(group) = self.rows.group(row) else { return };
        let summary = self.states.of_group(group);
        let Some(heap) = self.heap.as_deref_mut() else { return change(summary) };
        let before = held_size(summary);
        change(summary);
        *heap = (*heap + held_size(summary)).saturating_sub(before);
    }
}

/// Whether so few values exist that a state per group would waste memory.
fn is_sparse(values: &[ArrayRef]) -> bool {
    values.first().is_some_and(|values| values.null_count() > values.len() / 2)
}

/// Number of groups that the general conversion has as single values at a time: each is larger than its part
/// of a column.
const CONVERTED: usize = 8_192;

/// Returns the results of groups in order.
pub(super) fn results_of<S: Summary>(empty: &S, groups: Vec<Option<S>>) -> Result<ArrayRef> {
    let none = empty.clone().result()?;
    if groups.is_empty() {
        return Ok(new_null_array(&none.data_type(), 0));
    }
    let result = |group: Option<S>| group.map_or_else(|| Ok(none.clone()), |mut one| one.result());
    let mut groups = groups.into_iter();
    let mut parts = Vec::new();
    while groups.len() > 0 {
        let values = groups.by_ref().take(CONVERTED).map(result).collect::<Result<Vec<_>>>()?;
        parts.push(ScalarValue::iter_to_array(values)?);
    }
    joined(&parts)
}

/// Returns the states of groups in order.
pub(super) fn states_of<S: Summary>(empty: &S, groups: Vec<Option<S>>) -> Result<Vec<ArrayRef>> {
    let types = empty.state_types();
    if groups.is_empty() {
        return Ok(types.iter().map(|data_type| new_null_array(data_type, 0)).collect());
    }
    let none = empty.clone().state()?;
    let mut groups = groups.into_iter();
    let mut parts: Vec<Vec<ArrayRef>> = vec![Vec::new(); types.len()];
    while groups.len() > 0 {
        let mut columns: Vec<Vec<ScalarValue>> = vec![Vec::new(); types.len()];
        for group in groups.by_ref().take(CONVERTED) {
            let state = group.map_or_else(|| Ok(none.clone()), |mut group| group.state())?;
            columns.iter_mut().zip(state).for_each(|(column, value)| column.push(value));
        }
        for (part, column) in parts.iter_mut().zip(columns) {
            part.push(ScalarValue::iter_to_array(column)?);
        }
    }
    // The parts of a column are freed before the next one is joined.
    parts.into_iter().map(|parts| joined(&parts)).collect()
}

fn joined(parts: &[ArrayRef]) -> Result<ArrayRef> {
    if let [only] = parts {
        return Ok(Arc::clone(only));
    }
    let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
    Ok(concat(&parts)?)
}

impl<S: Summary> GroupsAccumulator for Groups<S> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.states.grow(total_num_groups, is_sparse(values));
        let batch = self.order.read(values)?;
        let states = &mut self.states;
        let rows = Admitted { groups: group_indices, filter: opt_filter };
        // With few groups, memory is measured once per batch; with many, on every change.
        let are_few = states.states.len() < batch.rows / 4;
        if are_few && states.places.is_none() {
            batch.add_all(&mut ToEach { states: &mut states.states, rows });
        } else {
            let heap = (!are_few).then_some(&mut self.heap);
            batch.add_all(&mut ToAny { states, rows, heap });
        }
        if are_few {
            self.heap = self.states.held_size();
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let taken = self.take(emit_to);
        self.states.empty.results(taken)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let taken = self.take(emit_to);
        self.states.empty.states(taken)
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        let has_state = |row: &usize| S::has_state(values, *row);
        let rows = group_indices.len();
        let states = (0..rows).filter(has_state).count();
        self.states.grow(total_num_groups, states < rows / 2);
        for row in (0..rows).filter(has_state) {
            let summary = self.states.of_group(group_indices[row]);
            let before = held_size(summary);
            summary.merge(values, row)?;
            self.heap = (self.heap + held_size(summary)).saturating_sub(before);
        }
        Ok(())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let batch = self.order.read(values)?;
        let mut states = States::of(self.states.empty.clone());
        states.grow(batch.rows, is_sparse(values));
        let groups: Vec<usize> = (0..batch.rows).collect();
        let rows = Admitted { groups: &groups, filter: opt_filter };
        batch.add_all(&mut ToAny { states: &mut states, rows, heap: None });
        self.states.empty.states(states.take(EmitTo::All))
    }

    /// The engine takes the columns of all groups at once, with and without a state.
    fn size(&self) -> usize {
        self.states.size() + self.heap + self.states.groups() * self.row_size
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::{AsArray, Float64Array, Int64Array, StringViewArray};
    use arrow::compute::SortOptions;
    use datafusion::execution::memory_pool::{FairSpillPool, MemoryConsumer, MemoryPool};

    use super::*;
    use crate::Report;
    use crate::aggregates::extreme::Extreme;
    use crate::aggregates::moments::{Moment, Moments};
    use crate::aggregates::percentile::Percentile;
    use crate::aggregates::values::{Listing, Values};

    fn groups() -> Groups<Values> {
        let order = Order { values: 1, directions: Vec::new() };
        Groups::of(Values::new(0, Report::new(|_| ())), order)
    }

    fn texts(values: &[Option<&str>]) -> Vec<ArrayRef> {
        vec![Arc::new(StringViewArray::from(values.to_vec()))]
    }

    /// Returns the values of each group; `None` if it has none.
    fn read(lists: &ArrayRef) -> Vec<Option<Vec<String>>> {
        let list = |list: Option<ArrayRef>| {
            let list = list?;
            Some(list.as_string_view().iter().flatten().map(str::to_owned).collect())
        };
        lists.as_list::<i32>().iter().map(list).collect()
    }

    fn of(values: &[&str]) -> Option<Vec<String>> {
        Some(values.iter().map(|value| (*value).to_owned()).collect())
    }

    #[test]
    fn groups_without_values_have_no_state() {
        let mut many = groups();
        let mut values = vec![None; 1_000];
        values[7] = Some("b");
        values[998] = Some("a");
        let all: Vec<usize> = (0..1_000).collect();
        many.update_batch(&texts(&values), &all, None, 1_000).unwrap();
        assert_eq!(many.states.states.len(), 2);
        assert!(many.size() < 10_000, "{}", many.size());
        // Values are also added to a group that already has a state, and to a new group.
        many.update_batch(&texts(&[Some("c"), Some("d")]), &[7, 1_000], None, 1_001).unwrap();
        let first = read(&many.evaluate(EmitTo::First(8)).unwrap());
        assert_eq!((first.len(), &first[7], &first[6]), (8, &of(&["b", "c"]), &None));
        many.update_batch(&texts(&[Some("e"), None, None]), &[990, 1, 2], None, 993).unwrap();
        let rest = read(&many.evaluate(EmitTo::All).unwrap());
        assert_eq!((rest.len(), &rest[990], &rest[992]), (993, &of(&["a", "e"]), &of(&["d"])));
        assert_eq!(rest.iter().flatten().count(), 2);
        assert_eq!(many.heap, 0);
    }

    /// Adds one number, counts the memory of 10,000 groups, and compares it with that of their columns.
    fn size_of_sparse(empty: impl Summary) -> usize {
        let order = Order { values: 1, directions: Vec::new() };
        let mut many = Groups::of(empty, order);
        let all: Vec<usize> = (0..10_000).collect();
        let mut numbers = vec![None; 10_000];
        numbers[7] = Some(1.0);
        let sparse: ArrayRef = Arc::new(Float64Array::from(numbers));
        many.update_batch(&[sparse], &all, None, 10_000).unwrap();
        assert_eq!(many.states.states.len(), 1);
        let counted = many.size();
        let states = many.state(EmitTo::All).unwrap();
        let columns: usize = states.iter().map(|state| state.get_array_memory_size()).sum();
        assert!(columns <= counted, "{columns} > {counted}");
        many.merge_batch(&states, &all, 10_000).unwrap();
        assert_eq!(many.states.states.len(), 1);
        counted
    }

    #[test]
    fn groups_without_a_state_count_as_in_columns() {
        assert!(size_of_sparse(Moments::new(Moment::Range)) < 100_000);
        assert!(size_of_sparse(Extreme::new(true)) < 150_000);
        size_of_sparse(Percentile::new(50.0, false));
    }

    #[test]
    fn groups_with_a_state_count_with_their_columns() {
        let order = Order { values: 1, directions: Vec::new() };
        let mut many = Groups::of(Moments::new(Moment::Range), order);
        let all: Vec<usize> = (0..10_000).collect();
        let dense: ArrayRef = Arc::new(Float64Array::from(vec![1.0; 10_000]));
        many.update_batch(&[dense], &all, None, 10_000).unwrap();
        let states = 10_000 * size_of::<Moments>();
        let columns = 10_000 * (Moments::PARTS * size_of::<f64>() + size_of::<i32>());
        assert!(many.size() >= states + columns, "{}", many.size());
        many.state(EmitTo::All).unwrap();
        assert_eq!(many.heap, 0);
    }

    #[test]
    fn a_group_may_take_more_than_half_of_the_memory() {
        let mut both = groups();
        for half in [0..1_000, 1_000..2_000] {
            let values: Vec<String> =
                half.map(|row| format!("a text of thirty-six bytes {row:09}")).collect();
            let values: Vec<Option<&str>> =
                values.iter().map(|value| Some(value.as_str())).collect();
            let mut part = groups();
            part.update_batch(&texts(&values), &[0; 1_000], None, 1).unwrap();
            let state = part.state(EmitTo::All).unwrap();
            both.merge_batch(&state, &[0], 1).unwrap();
        }
        // The state takes 60 % of the memory.
        let memory = both.states.states[0].heap_size() * 10 / 6;
        let pool: Arc<dyn MemoryPool> = Arc::new(FairSpillPool::new(memory));
        let held = MemoryConsumer::new("groups").with_can_spill(true).register(&pool);
        held.try_resize(both.size()).unwrap();
        let found = read(&both.evaluate(EmitTo::All).unwrap());
        assert_eq!(found[0].as_ref().map(Vec::len), Some(2_000));
    }

    #[test]
    fn states_of_groups_without_values_merge_to_none() {
        let (mut one, mut both) = (groups(), groups());
        let values = texts(&[None, Some("x"), None, None]);
        one.update_batch(&values, &[0, 1, 2, 3], None, 4).unwrap();
        let converted = one.convert_to_state(&values, None).unwrap();
        let states = one.state(EmitTo::All).unwrap();
        assert_eq!(read(&converted[0]), read(&states[0]));
        both.merge_batch(&states, &[0, 1, 2, 3], 4).unwrap();
        both.merge_batch(&states, &[3, 4, 1, 0], 5).unwrap();
        assert_eq!(both.states.states.len(), 2);
        let merged = read(&both.evaluate(EmitTo::All).unwrap());
        assert_eq!(merged, [None, of(&["x"]), None, None, of(&["x"])]);
    }

    /// Returns lists of up to three values, in numeric order.
    fn lists(said: &Report) -> Groups<Listing> {
        let order = Order { values: 1, directions: vec![SortOptions::default()] };
        Groups::of(Listing::new(3, said.clone()), order)
    }

    fn numbered(values: &[Option<&str>], first: i64) -> Vec<ArrayRef> {
        let mut columns = texts(values);
        let numbers = (first..).take(values.len());
        columns.push(Arc::new(Int64Array::from_iter_values(numbers)));
        columns
    }

    #[test]
    fn lists_of_one_value_are_small() {
        let mut many = lists(&Report::new(|_| ()));
        let values: Vec<String> = (0..1_000).map(|row| format!("a value of row {row}")).collect();
        let values: Vec<Option<&str>> = values.iter().map(|value| Some(value.as_str())).collect();
        let all: Vec<usize> = (0..1_000).collect();
        many.update_batch(&numbered(&values, 0), &all, None, 1_000).unwrap();
        assert!(many.size() < 250_000, "{}", many.size());
        let states = many.state(EmitTo::All).unwrap();
        assert_eq!(many.heap, 0);
        let bytes: usize = states.iter().map(|state| state.get_array_memory_size()).sum();
        assert!(bytes < 300_000, "{bytes}");
        let empty = Listing::new(3, Report::new(|_| ()));
        let types: Vec<_> = states.iter().map(|state| state.data_type().clone()).collect();
        assert_eq!(types, empty.state_types());
        many.merge_batch(&states, &all, 1_000).unwrap();
        assert!(many.size() < 250_000, "{}", many.size());
        let found = read(&many.evaluate(EmitTo::All).unwrap());
        let expected: Vec<_> = values.iter().map(|value| of(&[value.unwrap()])).collect();
        assert_eq!(found, expected);
        assert_eq!(many.heap, 0);
    }

    #[test]
    fn lists_of_groups_are_in_order_and_end_at_their_limit() {
        let said = Arc::new(parking_lot::Mutex::new(0));
        let heard = Arc::clone(&said);
        let report = Report::new(move |_| *heard.lock() += 1);
        let (mut one, mut two) = (lists(&report), lists(&report));
        let values: Vec<Option<&str>> = vec![Some("later"); 40];
        one.update_batch(&numbered(&values, 100), &[0; 40], None, 2).unwrap();
        let values = [Some("b"), None, Some("c"), Some("x")];
        two.update_batch(&numbered(&values, 0), &[0, 0, 0, 1], None, 3).unwrap();
        let (first, second) = (one.state(EmitTo::All).unwrap(), two.state(EmitTo::All).unwrap());
        let mut both = lists(&report);
        both.merge_batch(&first, &[0, 1], 3).unwrap();
        both.merge_batch(&second, &[0, 1, 2], 3).unwrap();
        assert_eq!(*said.lock(), 0);
        let found = read(&both.evaluate(EmitTo::All).unwrap());
        assert_eq!(found, [of(&["b", "c", "later"]), of(&["x"]), None]);
        assert_eq!(*said.lock(), 1);
    }
}
