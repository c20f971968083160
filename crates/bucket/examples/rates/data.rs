//! Generated web-shop lines as the hot rows an indexer hands to the writer, and the built-in rules.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray, StringViewArray,
    TimestampMicrosecondArray, make_view,
};
use arrow::buffer::{Buffer, ScalarBuffer};
use arrow::datatypes::Int32Type;
use karst_bucket::{FieldExtractor, FieldSource, hot_schema};
use knowledge::{FieldRules, Knowledge};
use loadgen::{LineWriter, Stream};

/// The rules every installation starts with.
pub(crate) struct Builtin(pub(crate) Knowledge);

struct Rules(Arc<FieldRules>);

impl FieldSource for Builtin {
    fn extractor(&self, sourcetype: &str, source: &str, host: &str) -> Arc<dyn FieldExtractor> {
        Arc::new(Rules(self.0.field_rules(sourcetype, source, host)))
    }
}

impl FieldExtractor for Rules {
    fn fingerprint(&self) -> u64 {
        1
    }

    fn extract(&self, raw: &str, emit: &mut dyn FnMut(&str, &str)) -> bool {
        !self.0.extract(raw, &mut |name, value| emit(name, &value)).lacks_columns
    }
}

/// Events of a request, and requests of a batch.
const REQUEST: u64 = 1_600;
const REQUESTS: usize = 5;
const HOSTS: u32 = 200;

/// Batches of hot rows in the order in which four connections deliver them, and the size of their
/// text.
pub(crate) fn batches(rows: u64) -> (Vec<RecordBatch>, u64) {
    let start = 1_763_672_400_000_000;
    let stream = Stream { seed: 1, events: rows, start, span: rows * 43_200, hosts: HOSTS };
    let mut writer = LineWriter::new(&stream);
    let requests = rows.div_ceil(REQUEST);
    let mut order: Vec<u64> = (0..requests).collect();
    for four in order.chunks_mut(4) {
        let by = four.len() / 2;
        four.rotate_left(by);
    }
    let mut batches = Vec::new();
    let (mut index_time, mut raw_bytes) = (start + 1_000_000_000, 0);
    for requests in order.chunks(REQUESTS) {
        let mut text = Vec::new();
        let (mut times, mut index_times, mut ends, mut hosts) = (vec![], vec![], vec![], vec![]);
        for request in requests {
            index_time += 20_000;
            let first = request * REQUEST + 1;
            stream.for_each(first..(first + REQUEST).min(rows + 1), |event| {
                writer.write_bare(event, &mut text);
                ends.push(text.len());
                times.push(event.time);
                index_times.push(index_time);
                index_time += 1;
                hosts.push(event.host.cast_signed());
            });
        }
        raw_bytes += text.len() as u64;
        batches.push(batch(times, index_times, text, &ends, hosts, &writer));
    }
    (batches, raw_bytes)
}

fn batch(
    times: Vec<i64>,
    index_times: Vec<i64>,
    text: Vec<u8>,
    ends: &[usize],
    hosts: Vec<i32>,
    writer: &LineWriter,
) -> RecordBatch {
    let mut start = 0;
    let view = |end: &usize| {
        let from = std::mem::replace(&mut start, *end);
        make_view(&text[from..*end], 0, u32::try_from(from).unwrap())
    };
    let views: Vec<u128> = ends.iter().map(view).collect();
    let rows = views.len();
    let text = vec![Buffer::from_vec(text)];
    let raw = StringViewArray::try_new(ScalarBuffer::from(views), text, None).unwrap();
    let names: StringArray = (0..HOSTS as usize).map(|host| Some(writer.name(host))).collect();
    let hosts = DictionaryArray::try_new(Int32Array::from(hosts), Arc::new(names)).unwrap();
    let constant = |name: &str| {
        let values = std::iter::repeat_n(name, rows);
        Arc::new(values.collect::<DictionaryArray<Int32Type>>()) as ArrayRef
    };
    let time = |values: Vec<i64>| {
        Arc::new(TimestampMicrosecondArray::from(values).with_timezone("UTC")) as ArrayRef
    };
    let columns = vec![
        time(times),
        time(index_times),
        Arc::new(raw),
        Arc::new(hosts),
        constant("http:bench"),
        constant("loadgen"),
        Arc::new(StringArray::new_null(rows)),
    ];
    RecordBatch::try_new(hot_schema(), columns).unwrap()
}
