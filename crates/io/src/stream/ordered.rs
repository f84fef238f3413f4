//! Rows in the order of time, the same on every run; with the input of each flow and its number.
//!
//! Workers end flows in an order that depends on their threads. The rows of a run that fits are
//! held until its end and put in order. A larger run gives its rows as they come, and counts them.
//! Connections have their numbers in both.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_select::interleave::interleave_record_batch;
use tcpwhy_core::counter::{Counter, Counters};
use tcpwhy_core::pipeline::Table;
use tcpwhy_core::record::BATCH_ROWS;

use super::{Item, Numbers, counter_batch, lock};
use crate::sources::Sources;
use crate::sys::memory;

/// Puts the rows of a run in order.
pub(super) struct Ordered {
    sources: Arc<Sources>,
    held: Vec<(Table, RecordBatch)>,
    rows: usize,
    /// Errors wait for the rows.
    errors: Vec<Item>,
    ready: VecDeque<Ready>,
    /// Whether rows are held.
    holds: bool,
    /// Whether every connection gives a row.
    all_give_rows: bool,
    numbers: Option<Numbers>,
    /// Rows of flows whose numbers are not known yet: another worker has connections before them.
    unnumbered: VecDeque<RecordBatch>,
    /// Rows that came as they were, since they are too many to be held.
    unordered: Option<u64>,
}

/// What can be given next.
enum Ready {
    Item(Item),
    /// Rows of held batches, which are copied when somebody asks for them.
    Rows(Table, Arc<[RecordBatch]>, Vec<(usize, usize)>),
}

impl Ordered {
    /// Holds the rows of a run that ends by itself, until they are too many; if all connections
    /// give rows, until they will be.
    pub fn holding(
        sources: Arc<Sources>,
        numbers: Option<Numbers>,
        all_give_rows: bool,
    ) -> Ordered {
        Ordered { holds: true, all_give_rows, ..Ordered::passing(sources, numbers) }
    }

    /// Gives rows as they come.
    pub fn passing(sources: Arc<Sources>, numbers: Option<Numbers>) -> Ordered {
        Ordered {
            sources,
            held: Vec::new(),
            rows: 0,
            errors: Vec::new(),
            ready: VecDeque::new(),
            holds: false,
            all_give_rows: false,
            numbers,
            unnumbered: VecDeque::new(),
            unordered: None,
        }
    }

    /// The next item of a run that gives `next`.
    pub fn next(&mut self, mut next: impl FnMut() -> Option<Item>) -> Option<Item> {
        loop {
            match self.ready.pop_front() {
                Some(Ready::Item(item)) => return Some(item),
                Some(Ready::Rows(table, batches, rows)) => {
                    return Some(Ok((table, self.gathered(table, &batches, &rows))));
                }
                None => {}
            }
            let item = next();
            self.number(!matches!(item, Some(Ok((table, _))) if table != Table::Counters));
            match item {
                Some(Ok((Table::Counters, batch))) => {
                    let mut counters = counters_of(&batch);
                    let forgotten = self.numbers.as_ref().map_or(0, |n| lock(n).forgotten());
                    counters.add(Counter::StreamsForgotten, forgotten);
                    self.release();
                    counters.add(Counter::RowsUnordered, self.unordered.unwrap_or(0));
                    let batch = counter_batch(&counters).unwrap_or(batch);
                    self.ready.push_back(Ready::Item(Ok((Table::Counters, batch))));
                }
                Some(Ok((table, batch))) => self.take(table, batch),
                Some(error) if self.holds => self.errors.push(error),
                Some(error) => return Some(error),
                None if self.is_empty() => return None,
                None => self.release(),
            }
        }
    }

    fn take(&mut self, table: Table, batch: RecordBatch) {
        self.rows += batch.num_rows();
        if self.holds && self.rows.max(self.rows_to_come()) <= MOST_ROWS {
            self.held.push((table, batch));
            return;
        }
        if self.holds {
            self.holds = false;
            for (table, batch) in std::mem::take(&mut self.held) {
                self.pass(table, batch);
            }
            self.ready.extend(self.errors.drain(..).map(Ready::Item));
            self.unordered = Some((self.rows - batch.num_rows()) as u64);
        }
        if let Some(unordered) = &mut self.unordered {
            *unordered += batch.num_rows() as u64;
        }
        self.pass(table, batch);
    }

    /// Rows that there will be at least.
    fn rows_to_come(&self) -> usize {
        let numbers = self.numbers.as_ref().filter(|_| self.all_give_rows);
        numbers.map_or(0, |numbers| lock(numbers).count() as usize)
    }

    fn is_empty(&self) -> bool {
        self.held.is_empty() && self.errors.is_empty() && self.ready.is_empty()
    }

    /// Gives a batch as it is, but for the inputs and the numbers of flows.
    fn pass(&mut self, table: Table, batch: RecordBatch) {
        if table == Table::Flows && self.numbers.is_some() {
            self.unnumbered.push_back(batch);
            self.number(false);
        } else {
            let batch = self.completed(table, batch);
            self.ready.push_back(Ready::Item(Ok((table, batch))));
        }
    }

    /// Gives the rows of flows whose numbers are known by now, or `all`.
    fn number(&mut self, all: bool) {
        let known_to = self.numbers.as_ref().map_or(u64::MAX, |numbers| lock(numbers).known_to());
        while let Some(batch) = self.unnumbered.pop_front() {
            let frames = batch["first_frame"].as_primitive::<UInt64Type>();
            if !all && frames.values().iter().any(|&frame| frame > known_to) {
                return self.unnumbered.push_front(batch);
            }
            let batch = self.completed(Table::Flows, batch);
            self.ready.push_back(Ready::Item(Ok((Table::Flows, batch))));
        }
    }

    /// Gives what is held, in order.
    fn release(&mut self) {
        let held = std::mem::take(&mut self.held);
        if self.holds && self.rows > BATCH_ROWS {
            // The flows have ended, and what writes the rows is of other sizes.
            memory::give_back();
        }
        for table in Table::ALL.into_iter().chain([Table::Observations]) {
            let of_table = held.iter().filter(|(held, _)| *held == table);
            let batches: Arc<[RecordBatch]> = of_table.map(|(_, batch)| batch.clone()).collect();
            let order = order(table, &batches);
            let chunks = order.chunks(BATCH_ROWS);
            self.ready.extend(chunks.map(|rows| Ready::Rows(table, batches.clone(), rows.into())));
        }
        self.ready.extend(self.errors.drain(..).map(Ready::Item));
    }

    /// A batch of these rows.
    fn gathered(
        &self,
        table: Table,
        batches: &[RecordBatch],
        rows: &[(usize, usize)],
    ) -> RecordBatch {
        let batches: Vec<&RecordBatch> = batches.iter().collect();
        let batch = interleave_record_batch(&batches, rows)
            .expect("the batches of a table have one schema");
        self.completed(table, batch)
    }

    /// A batch with the inputs and the numbers of its flows.
    fn completed(&self, table: Table, batch: RecordBatch) -> RecordBatch {
        if table != Table::Flows {
            return batch;
        }
        let frames = batch["first_frame"].as_primitive::<UInt64Type>();
        let sources = self.sources.of(frames.values());
        let numbers = self.numbers.as_ref().map(|numbers| lock(numbers));
        let of_frame = |&frame: &u64| numbers.as_ref().and_then(|numbers| numbers.of(frame));
        let of_flows: UInt32Array = frames.values().iter().map(of_frame).collect();
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
fn order(table: Table, batches: &[RecordBatch]) -> Vec<(usize, usize)> {
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
pub(super) const MOST_ROWS: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int64Array, StringArray, UInt64Array};

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
            let mut ordered = Ordered::holding(sources, None, false);
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
