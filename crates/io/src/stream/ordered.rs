//! Rows in the order of time, the same on every run; with the input of each flow and its number.
//!
//! Workers end flows in an order that depends on their threads. The rows of a run that fits are
//! held until its end and put in order. A larger run gives its rows as they come, and counts them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt32Array};
use arrow_select::interleave::interleave_record_batch;
use tcpwhy_core::counter::{Counter, Counters};
use tcpwhy_core::pipeline::{Options, Table};

use super::{Item, counter_batch};
use crate::sources::Sources;

/// Puts the rows of a run in order.
pub(super) struct Ordered {
    sources: Arc<Sources>,
    held: Vec<(Table, RecordBatch)>,
    rows: usize,
    /// Errors wait for the rows.
    errors: Vec<Item>,
    ready: VecDeque<Item>,
    /// Whether rows are held.
    holds: bool,
    /// Whether the rows are all that there are, so that flows can be numbered.
    numbers: bool,
    unordered: u64,
}

impl Ordered {
    /// Holds the rows of a run that ends by itself, until they are too many.
    pub fn holding(sources: Arc<Sources>, options: &Options, filtered: bool) -> Ordered {
        let numbers = options.flow.is_none() && options.frame.is_none() && !filtered;
        Ordered { holds: true, numbers, ..Ordered::passing(sources) }
    }

    /// Gives rows as they come.
    pub fn passing(sources: Arc<Sources>) -> Ordered {
        Ordered {
            sources,
            held: Vec::new(),
            rows: 0,
            errors: Vec::new(),
            ready: VecDeque::new(),
            holds: false,
            numbers: false,
            unordered: 0,
        }
    }

    /// The next item of a run that gives `next`.
    pub fn next(&mut self, mut next: impl FnMut() -> Option<Item>) -> Option<Item> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            match next() {
                Some(Ok((Table::Counters, batch))) => {
                    let mut counters = counters_of(&batch);
                    self.numbers &= counters.value(Counter::FlowsForgotten) == 0;
                    self.release();
                    counters.add(Counter::RowsUnordered, self.unordered);
                    let batch = counter_batch(&counters).unwrap_or(batch);
                    self.ready.push_back(Ok((Table::Counters, batch)));
                }
                Some(Ok((table, batch))) => self.take(table, batch),
                Some(error) if self.holds => self.errors.push(error),
                Some(error) => return Some(error),
                None if self.held.is_empty() && self.errors.is_empty() => return None,
                None => self.release(),
            }
        }
    }

    fn take(&mut self, table: Table, batch: RecordBatch) {
        self.rows += batch.num_rows();
        if self.holds && self.rows <= MOST_ROWS {
            self.held.push((table, batch));
            return;
        }
        if self.holds {
            (self.holds, self.numbers) = (false, false);
            for (table, batch) in std::mem::take(&mut self.held) {
                self.pass(table, batch);
            }
            self.ready.extend(self.errors.drain(..));
            self.unordered = (self.rows - batch.num_rows()) as u64;
        }
        self.unordered += if self.unordered > 0 { batch.num_rows() as u64 } else { 0 };
        self.pass(table, batch);
    }

    /// Gives a batch as it is, but for the inputs of flows.
    fn pass(&mut self, table: Table, batch: RecordBatch) {
        let batch = self.completed(table, batch, &HashMap::new());
        self.ready.push_back(Ok((table, batch)));
    }

    /// Gives what is held, in order.
    fn release(&mut self) {
        let held = std::mem::take(&mut self.held);
        for table in Table::ALL.into_iter().chain([Table::Observations]) {
            let of_table = held.iter().filter(|(held, _)| *held == table);
            let batches: Vec<&RecordBatch> = of_table.map(|(_, batch)| batch).collect();
            if batches.is_empty() {
                continue;
            }
            let is_flows = table == Table::Flows && self.numbers;
            let numbers = if is_flows { numbers(&batches) } else { HashMap::new() };
            let order = order(table, &batches);
            for rows in order.chunks(BATCH_ROWS) {
                let batch = interleave_record_batch(&batches, rows)
                    .expect("the batches of a table have one schema");
                let batch = self.completed(table, batch, &numbers);
                self.ready.push_back(Ok((table, batch)));
            }
        }
        self.ready.extend(self.errors.drain(..));
    }

    /// A batch with the inputs and the numbers of its flows.
    fn completed(
        &self,
        table: Table,
        batch: RecordBatch,
        numbers: &HashMap<u64, u32>,
    ) -> RecordBatch {
        if table != Table::Flows {
            return batch;
        }
        let frames = batch["first_frame"].as_primitive::<UInt64Type>();
        let sources = StringArray::from(self.sources.of(frames.values()));
        let ids = batch["flow_id"].as_primitive::<UInt64Type>();
        let of_flows = ids.values().iter().map(|id| numbers.get(id).copied());
        let of_flows: UInt32Array = of_flows.collect();
        let schema = batch.schema();
        let columns = schema.fields().iter().zip(batch.columns());
        let columns = columns.map(|(field, column)| -> ArrayRef {
            match field.name().as_str() {
                "source" => Arc::new(sources.clone()),
                "stream" => Arc::new(of_flows.clone()),
                _ => column.clone(),
            }
        });
        let columns = columns.collect();
        RecordBatch::try_new(schema.clone(), columns).expect("columns of the same types")
    }
}

/// The rows of a table in the order of time: batch and row of each.
fn order(table: Table, batches: &[&RecordBatch]) -> Vec<(usize, usize)> {
    let time = if table == Table::Segments { "ts_ns" } else { "start_ns" };
    let mut keys = Vec::new();
    for (number, batch) in batches.iter().enumerate() {
        let times = batch[time].as_primitive::<Int64Type>().values();
        let ids = batch["flow_id"].as_primitive::<UInt64Type>().values();
        let directions = batch["direction"].as_string::<i32>();
        let frames = batch.column_by_name("frame").map(|c| c.as_primitive::<UInt64Type>().values());
        for row in 0..batch.num_rows() {
            let frame = frames.map_or(0, |frames| frames[row]);
            // "orig" before "resp".
            let direction = directions.value(row).as_bytes().first().copied();
            keys.push((times[row], frame, ids[row], direction, number, row));
        }
    }
    keys.sort_unstable();
    keys.into_iter().map(|(.., number, row)| (number, row)).collect()
}

/// The number of each flow by its `flow_id`: connections are counted in the order of their first
/// frames, as Wireshark does. What continues after a pause on the same ports without another SYN is
/// the same connection, and so is what has the same addresses and ports in another tunnel.
fn numbers(batches: &[&RecordBatch]) -> HashMap<u64, u32> {
    struct Start<'a> {
        frame: u64,
        id: u64,
        name: &'a str,
        syn: Option<Syn<'a>>,
    }
    let mut starts: HashMap<u64, Start> = HashMap::new();
    for batch in batches {
        let ids = batch["flow_id"].as_primitive::<UInt64Type>().values();
        let frames = batch["first_frame"].as_primitive::<UInt64Type>().values();
        let names = batch["community_id"].as_string::<i32>();
        let directions = batch["direction"].as_string::<i32>();
        let sources = batch["src"].as_string::<i32>();
        let ports = batch["src_port"].as_primitive::<arrow_array::types::UInt16Type>().values();
        let initial = batch["initial_seq"].as_primitive::<UInt32Type>();
        for row in 0..batch.num_rows() {
            let start = starts.entry(ids[row]).or_insert(Start {
                frame: frames[row],
                id: ids[row],
                name: names.value(row),
                syn: None,
            });
            if directions.value(row) == "orig" && !initial.is_null(row) {
                start.syn = Some((sources.value(row), ports[row].into(), initial.value(row)));
            }
        }
    }
    let mut starts: Vec<Start> = starts.into_values().collect();
    starts.sort_unstable_by_key(|start| (start.frame, start.id));
    let mut last: HashMap<&str, (u32, Option<Syn>)> = HashMap::new();
    let mut count = 0;
    let mut found = HashMap::new();
    for start in starts {
        let continued = last.get(start.name).filter(|(_, syn)| match start.syn {
            None => true,
            Some(own) => *syn == Some(own),
        });
        let number = match continued {
            Some(&(number, _)) => number,
            None => {
                count += 1;
                last.insert(start.name, (count - 1, start.syn));
                count - 1
            }
        };
        found.insert(start.id, number);
    }
    found
}

/// Address and port of who sent a SYN, and its number.
type Syn<'a> = (&'a str, u32, u32);

fn counters_of(batch: &RecordBatch) -> Counters {
    let names = batch["name"].as_string::<i32>();
    let values = batch["value"].as_primitive::<UInt64Type>().values();
    let mut counters = Counters::default();
    for (row, &value) in values.iter().enumerate() {
        let known = Counter::ALL.iter().find(|counter| counter.name() == names.value(row));
        known.into_iter().for_each(|&counter| counters.add(counter, value));
    }
    counters
}

/// Rows that are held: of a capture with 30,000 connections all, some 80 MB.
const MOST_ROWS: usize = 1 << 16;
/// Rows of a batch, as the pipelines make them.
const BATCH_ROWS: usize = 8192;

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int64Array, UInt64Array};

    /// Rows that come last first, with the columns that order them.
    fn backwards(rows: i64) -> RecordBatch {
        let count = rows as usize;
        let columns: [(&str, ArrayRef); 3] = [
            ("start_ns", Arc::new((0..rows).rev().collect::<Int64Array>())),
            ("flow_id", Arc::new((0..rows as u64).collect::<UInt64Array>())),
            ("direction", Arc::new(StringArray::from(vec!["orig"; count]))),
        ];
        RecordBatch::try_from_iter(columns).expect("columns of one length")
    }

    #[test]
    fn rows_beyond_the_bound_come_as_they_are_and_are_counted() {
        let batch = backwards(20_000);
        let mut counters = Counters::default();
        counters.add(Counter::PacketsRead, 7);
        let end = counter_batch(&counters).expect("some counters");
        for (batches, unordered) in [(2, 0), (5, 100_000)] {
            let sources = Arc::new(Sources::only("a"));
            let mut ordered = Ordered::holding(sources, &Options::default(), false);
            let mut items: VecDeque<Item> =
                (0..batches).map(|_| Ok((Table::Intervals, batch.clone()))).collect();
            items.push_back(Ok((Table::Counters, end.clone())));
            let (mut seen, mut counted, mut falls, mut last) = (0, None, 0, i64::MIN);
            while let Some(item) = ordered.next(|| items.pop_front()) {
                let (table, batch) = item.expect("no error");
                if table == Table::Counters {
                    counted = Some(counters_of(&batch).value(Counter::RowsUnordered));
                    continue;
                }
                seen += batch.num_rows();
                for &start in batch["start_ns"].as_primitive::<Int64Type>().values() {
                    falls += usize::from(start < last);
                    last = start;
                }
            }
            assert_eq!((seen, counted), (batches * 20_000, Some(unordered)));
            assert_eq!(falls == 0, unordered == 0);
        }
    }
}
