//! The binary form of a summary: every list is sorted, and times are relative to the earliest event.

use model::{BucketSummary, ColumnKind, EventTime, FieldSummary, ValueCount};

use super::fields::{Fields, put_number, put_signed, put_text};
use super::{Damage, content};

const COLUMN: u8 = 0b11;
const INDEXED: u8 = 1 << 2;
const MULTIVALUE: u8 = 1 << 3;
const DISTINCT: u8 = 1 << 4;

pub(super) fn encode(summary: &BucketSummary) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1024);
    put_number(&mut bytes, summary.rows);
    put_number(&mut bytes, summary.raw_bytes);
    let start = summary.first_time;
    put_signed(&mut bytes, start.0);
    for time in [summary.last_time, summary.first_index_time, summary.last_index_time] {
        put_time(&mut bytes, time, start);
    }
    put_fields(&mut bytes, summary);
    for values in [&summary.hosts, &summary.sources, &summary.sourcetypes] {
        put_number(&mut bytes, values.len() as u64);
        for known in values {
            put_text(&mut bytes, &known.value);
            put_number(&mut bytes, known.count);
            for time in [known.first_time, known.last_time, known.recent_time] {
                put_time(&mut bytes, time, start);
            }
        }
    }
    put_number(&mut bytes, summary.rules.len() as u64);
    for (sourcetype, fingerprint) in &summary.rules {
        put_text(&mut bytes, sourcetype);
        put_number(&mut bytes, *fingerprint);
    }
    bytes
}

fn put_time(bytes: &mut Vec<u8>, time: EventTime, start: EventTime) {
    put_signed(bytes, time.0.wrapping_sub(start.0));
}

fn put_fields(bytes: &mut Vec<u8>, summary: &BucketSummary) {
    bytes.push(u8::from(summary.fields_complete));
    put_number(bytes, summary.fields.len() as u64);
    for field in &summary.fields {
        put_text(bytes, &field.name);
        put_number(bytes, field.count);
        let column = match field.column {
            None => 0,
            Some(ColumnKind::Text) => 1,
            Some(ColumnKind::Integer) => 2,
            Some(ColumnKind::Multivalue) => 3,
        };
        let mut flags = column;
        flags |= if field.indexed { INDEXED } else { 0 };
        flags |= if field.multivalue { MULTIVALUE } else { 0 };
        flags |= if field.distinct.is_some() { DISTINCT } else { 0 };
        bytes.push(flags);
        if let Some(distinct) = field.distinct {
            put_number(bytes, distinct);
        }
    }
}

pub(super) fn decode(bytes: &[u8]) -> Result<BucketSummary, Damage> {
    let mut fields = Fields::of(bytes);
    let (rows, raw_bytes) = (fields.number()?, fields.number()?);
    let first_time = EventTime(fields.signed()?);
    let last_time = time(&mut fields, first_time)?;
    let first_index_time = time(&mut fields, first_time)?;
    let last_index_time = time(&mut fields, first_time)?;
    let fields_complete = fields.byte()? == 1;
    let catalogue = list(&mut fields, field)?;
    let hosts = list(&mut fields, |fields| value(fields, first_time))?;
    let sources = list(&mut fields, |fields| value(fields, first_time))?;
    let sourcetypes = list(&mut fields, |fields| value(fields, first_time))?;
    let rules = list(&mut fields, |fields| Ok((fields.text()?.to_owned(), fields.number()?)))?;
    fields.end()?;
    Ok(BucketSummary {
        rows,
        raw_bytes,
        first_time,
        last_time,
        first_index_time,
        last_index_time,
        hosts,
        sources,
        sourcetypes,
        fields: catalogue,
        fields_complete,
        rules,
    })
}

fn list<'a, T>(
    fields: &mut Fields<'a>,
    part: impl Fn(&mut Fields<'a>) -> Result<T, Damage>,
) -> Result<Vec<T>, Damage> {
    let count = fields.count()?;
    (0..count).map(|_| part(fields)).collect()
}

fn time(fields: &mut Fields<'_>, start: EventTime) -> Result<EventTime, Damage> {
    Ok(EventTime(start.0.wrapping_add(fields.signed()?)))
}

fn value(fields: &mut Fields<'_>, start: EventTime) -> Result<ValueCount, Damage> {
    Ok(ValueCount {
        value: fields.text()?.to_owned(),
        count: fields.number()?,
        first_time: time(fields, start)?,
        last_time: time(fields, start)?,
        recent_time: time(fields, start)?,
    })
}

fn field(fields: &mut Fields<'_>) -> Result<FieldSummary, Damage> {
    let name = fields.text()?.to_owned();
    let count = fields.number()?;
    let flags = fields.byte()?;
    if flags & !(COLUMN | INDEXED | MULTIVALUE | DISTINCT) != 0 {
        return Err(content(format!("field {name:?} has the unknown flags {flags:#x}")));
    }
    let column = match flags & COLUMN {
        0 => None,
        1 => Some(ColumnKind::Text),
        2 => Some(ColumnKind::Integer),
        _ => Some(ColumnKind::Multivalue),
    };
    let distinct = if flags & DISTINCT != 0 { Some(fields.number()?) } else { None };
    let (indexed, multivalue) = (flags & INDEXED != 0, flags & MULTIVALUE != 0);
    Ok(FieldSummary { name, count, column, indexed, multivalue, distinct })
}
