//! The ledger: accounts for the memory of computed values of a search, such as texts, lists, and rows between
//! its stages.
//!
//! DataFusion's pool accounts for the memory of operators, not for the results of functions: one batch of
//! `mvrange()` may be a thousand times as large as its input rows. Here, functions request memory in steps
//! before their results grow, and arrays return it when their last reference is dropped. A search has one
//! [`Ledger`] with the same limit as its pool; all of them share one ledger of the process.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, StringArray, StringViewArray};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::resources_err;
use datafusion::error::Result;
use parking_lot::{Mutex, MutexGuard};

use crate::carried::{self, Carried};

/// Granularity in bytes in which functions request memory.
const STEP: usize = 1 << 20;
/// Size below which arrays are not accounted, because that requires visiting all of their texts again.
const SMALL: usize = 512 << 10;
/// Size of the view of a text in a list, besides the text itself.
const VIEW: usize = 16;
/// Maximum length in bytes of a text returned by a function.
pub use eval::LONGEST_TEXT;

/// The limit and the current size of computed values.
#[derive(Debug)]
pub struct Ledger {
    limit: usize,
    /// Name of the setting of the limit.
    setting: &'static str,
    taken: Mutex<Taken>,
    /// The ledger of all searches together.
    total: Option<Arc<Ledger>>,
}

impl Carried for Arc<Ledger> {
    const PREFIX: &'static str = "karst_memory";
}

#[derive(Debug, Default)]
struct Taken {
    bytes: usize,
    /// Whether the search has ended: the remaining values are its result, which has separate limits.
    is_over: bool,
}

impl Ledger {
    /// Creates the ledger of a process.
    pub fn of_all(limit: usize) -> Self {
        Self { limit, setting: "total_mem_usage_mb", taken: Mutex::default(), total: None }
    }

    /// Creates the ledger of a search.
    pub fn of_one(limit: usize, total: Arc<Self>) -> Self {
        Self { limit, setting: "max_mem_usage_mb", taken: Mutex::default(), total: Some(total) }
    }

    /// Returns the ledger in a configuration.
    pub fn of(config: &ConfigOptions) -> Option<Arc<Self>> {
        carried::get::<Arc<Self>>(config).cloned()
    }

    /// Puts the ledger into a configuration, so that functions that run with it are accounted.
    pub fn put(self: &Arc<Self>, config: &mut ConfigOptions) {
        carried::put(Arc::clone(self), config);
    }

    /// Returns the remaining bytes.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock()
    }

    fn take(&self, bytes: usize) -> Result<()> {
        let mut taken = self.taken();
        if taken.bytes.saturating_add(bytes) > self.limit {
            let (limit, setting, held) = (self.limit >> 20, self.setting, taken.bytes);
            return resources_err!(
                "computed values take more than {setting} = {limit}: {held} bytes and {bytes} more"
            );
        }
        if let Some(total) = self.total.as_ref().filter(|_| !taken.is_over) {
            total.take(bytes)?;
        }
        taken.bytes += bytes;
        Ok(())
    }

    fn give_back(&self, bytes: usize) {
        let mut taken = self.taken();
        taken.bytes -= bytes;
        if let Some(total) = self.total.as_ref().filter(|_| !taken.is_over) {
            total.give_back(bytes);
        }
    }

    fn end(&self) {
        let mut taken = self.taken();
        taken.is_over = true;
        if let Some(total) = &self.total {
            total.give_back(taken.bytes);
        }
    }
}

/// A running search. After the drop, its remaining values no longer count towards the total.
#[derive(Debug)]
pub struct Running(Arc<Ledger>);

impl Running {
    /// Starts a search with this ledger.
    #[must_use]
    pub fn new(ledger: &Arc<Ledger>) -> Self {
        Self(Arc::clone(ledger))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Bytes charged to a ledger, returned on drop. Without a ledger, nothing is charged.
#[derive(Debug, Default)]
pub struct Charge {
    ledger: Option<Arc<Ledger>>,
    bytes: usize,
}

impl Charge {
    /// Creates an empty charge for the ledger of a configuration.
    pub fn of(config: &ConfigOptions) -> Self {
        Self { ledger: Ledger::of(config), bytes: 0 }
    }

    /// Charges more bytes.
    ///
    /// # Errors
    /// If the ledger has no room for it.
    #[inline]
    pub fn grow(&mut self, bytes: usize) -> Result<()> {
        if let Some(ledger) = &self.ledger {
            ledger.take(bytes)?;
            self.bytes += bytes;
        }
        Ok(())
    }

    /// Creates an empty charge for the same ledger.
    pub fn beside(&self) -> Self {
        Self { ledger: self.ledger.clone(), bytes: 0 }
    }

    /// Returns a column of copied rows, charged to the same ledger. Lists are charged as long as they are
    /// referenced: their values are copied with each row, while texts are shared with the original rows.
    ///
    /// # Errors
    /// If the ledger has no room for them.
    pub fn copied_lists(&self, column: &ArrayRef) -> Result<ArrayRef> {
        let lists = column.as_list_opt::<i32>().filter(|_| self.ledger.is_some());
        let Some(lists) = lists else { return Ok(Arc::clone(column)) };
        let values = lists.values();
        // The allocated capacity is not counted, because part of it may never be written.
        let bytes = match values.data_type().primitive_width() {
            Some(width) => values.len() * width,
            None => values.len() * VIEW,
        };
        if bytes < SMALL { Ok(Arc::clone(column)) } else { held_lists(lists, bytes, self) }
    }

    /// Returns all bytes to the ledger.
    fn clear(&mut self) {
        if let Some(ledger) = &self.ledger {
            ledger.give_back(std::mem::take(&mut self.bytes));
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Accounts for the results of a function for a batch.
#[derive(Debug)]
pub struct Meter {
    charge: Charge,
    unpaid: usize,
}

impl Meter {
    /// Creates a meter for the ledger of a configuration.
    #[must_use]
    pub fn new(config: &ConfigOptions) -> Self {
        Self { charge: Charge::of(config), unpaid: 0 }
    }

    /// Counts bytes that have been or will be allocated.
    ///
    /// # Errors
    /// If the ledger has no room for them.
    #[inline]
    pub fn add(&mut self, bytes: usize) -> Result<()> {
        self.unpaid = self.unpaid.saturating_add(bytes);
        if self.unpaid < STEP {
            return Ok(());
        }
        self.charge.grow(std::mem::take(&mut self.unpaid))
    }

    /// Counts a text returned by a function.
    ///
    /// # Errors
    /// If the ledger has no room for it, or it is longer than a text may be.
    pub fn add_text(&mut self, function: &str, bytes: usize) -> Result<()> {
        if bytes > LONGEST_TEXT {
            return resources_err!("{function} makes a text of more than {LONGEST_TEXT} bytes");
        }
        self.add(bytes)
    }

    /// Returns the array, which stays charged as long as it is referenced.
    ///
    /// # Errors
    /// If the ledger has no room for it.
    pub fn finish(mut self, array: ArrayRef) -> Result<ArrayRef> {
        self.charge.clear();
        held(array, &self.charge)
    }
}

/// Attaches a charge to the buffers of an array until they are dropped. Only texts and lists of texts are
/// charged: the size of other results is proportional to the number of rows.
fn held(array: ArrayRef, of: &Charge) -> Result<ArrayRef> {
    if of.ledger.is_none() || array.get_buffer_memory_size() < SMALL {
        return Ok(array);
    }
    Ok(match array.data_type() {
        DataType::Utf8View => Arc::new(held_texts(array.as_string_view(), of)?),
        DataType::Utf8 => {
            let (offsets, values, nulls) = array.as_string::<i32>().clone().into_parts();
            Arc::new(StringArray::try_new(offsets, held_buffer(values, of)?, nulls)?)
        }
        DataType::List(field) if field.data_type().is_primitive() => {
            let lists = array.as_list::<i32>();
            held_lists(lists, lists.values().get_buffer_memory_size(), of)?
        }
        DataType::List(field) if *field.data_type() == DataType::Utf8View => {
            let lists = array.as_list::<i32>().clone();
            let (field, offsets, values, nulls) = lists.into_parts();
            let values = Arc::new(held_texts(values.as_string_view(), of)?);
            Arc::new(ListArray::try_new(field, offsets, values, nulls)?)
        }
        _ => array,
    })
}

/// Attaches a charge of this size to lists. The offsets buffer carries the charge, so the values need not be
/// visited again.
fn held_lists(lists: &ListArray, size: usize, of: &Charge) -> Result<ArrayRef> {
    let (field, offsets, values, nulls) = lists.clone().into_parts();
    let (rows, mut charge) = (offsets.len(), of.beside());
    charge.grow(size)?;
    let held = Held { buffer: offsets.into_inner().into_inner(), _charge: charge };
    let places = Buffer::from(bytes::Bytes::from_owner(held));
    let places = OffsetBuffer::new(ScalarBuffer::new(places, 0, rows));
    Ok(Arc::new(ListArray::try_new(field, places, values, nulls)?))
}

fn held_texts(array: &StringViewArray, of: &Charge) -> Result<StringViewArray> {
    let (views, buffers, nulls) = array.clone().into_parts();
    let rows = views.len();
    let views = ScalarBuffer::new(held_buffer(views.into_inner(), of)?, 0, rows);
    let buffers: Vec<Buffer> =
        buffers.iter().map(|buffer| held_buffer(buffer.clone(), of)).collect::<Result<_>>()?;
    Ok(StringViewArray::try_new(views, buffers, nulls)?)
}

fn held_buffer(buffer: Buffer, of: &Charge) -> Result<Buffer> {
    let mut charge = of.beside();
    charge.grow(buffer.capacity().max(buffer.len()))?;
    Ok(Buffer::from(bytes::Bytes::from_owner(Held { buffer, _charge: charge })))
}

/// A buffer with its charge.
struct Held {
    buffer: Buffer,
    _charge: Charge,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.taken().bytes, self.limit)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn config(limit: usize, total: usize) -> (Arc<Ledger>, ConfigOptions) {
        let ledger = Arc::new(Ledger::of_one(limit, Arc::new(Ledger::of_all(total))));
        let mut config = ConfigOptions::new();
        ledger.put(&mut config);
        (ledger, config)
    }

    fn used(ledger: &Ledger) -> usize {
        ledger.taken().bytes
    }

    #[test]
    fn an_array_is_counted_as_long_as_a_part_of_it_is_held() {
        let (ledger, config) = config(64 << 20, 64 << 20);
        let text = "x".repeat(1 << 20);
        let array: ArrayRef = Arc::new(StringViewArray::from(vec![text.as_str(); 4]));
        let counted = Meter::new(&config).finish(array).unwrap();
        assert!(used(&ledger) >= 4 << 20, "{ledger}");
        let part = counted.slice(1, 1);
        drop(counted);
        assert!(used(&ledger) >= 4 << 20, "{ledger}");
        assert_eq!(part.as_string_view().value(0).len(), 1 << 20);
        drop(part);
        assert_eq!(used(&ledger), 0);
    }

    #[test]
    fn a_function_is_refused_before_its_results_are_whole() {
        let (ledger, config) = config(8 << 20, 64 << 20);
        let mut meter = Meter::new(&config);
        let refused = (0..1_000).find_map(|_| meter.add(1 << 18).err()).unwrap().to_string();
        assert!(refused.contains("max_mem_usage_mb = 8"), "{refused}");
        assert!(used(&ledger) <= 8 << 20);
        drop(meter);
        assert_eq!(used(&ledger), 0);
    }

    #[test]
    fn all_searches_together_have_a_limit() {
        let (ledger, config) = config(8 << 20, 4 << 20);
        let refused = Charge::of(&config).grow(5 << 20).unwrap_err().to_string();
        assert!(refused.contains("total_mem_usage_mb = 4"), "{refused}");
        assert_eq!(used(&ledger), 0);
    }

    #[test]
    fn what_is_left_of_a_search_does_not_count_for_all() {
        let (ledger, config) = config(8 << 20, 8 << 20);
        let total = Arc::clone(ledger.total.as_ref().unwrap());
        let running = Running::new(&ledger);
        let mut held = Charge::of(&config);
        held.grow(2 << 20).unwrap();
        assert_eq!(used(&total), 2 << 20);
        drop(running);
        assert_eq!((used(&total), used(&ledger)), (0, 2 << 20));
        drop(held);
        assert_eq!((used(&total), used(&ledger)), (0, 0));
    }
}
