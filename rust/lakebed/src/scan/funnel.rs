//! How many manifests, entries and files each step of a scan keeps, counted as it runs.

use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::Add;
use std::sync::{Arc, Mutex};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;

use super::{Batches, Step};
use crate::error::Result;

/// A step that may leave out some of its input.
#[derive(Debug)]
pub(crate) struct Stage {
    /// Its place among the steps of its scan.
    pub(crate) order: u8,
    /// What is counted: manifests, entries, files.
    pub(crate) step: &'static str,
    /// The reason why something is left out.
    pub(crate) why: &'static str,
}

/// A number of manifests or files, with their rows and bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) count: u64,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

impl Amount {
    /// The rows and bytes of the files of entries, by the columns that have them, where these are read; negative numbers
    /// are unknown, and count as 0.
    fn of(entries: &RecordBatch, [rows, bytes]: [&str; 2]) -> Amount {
        let sum = |name: &str| {
            let column =
                entries.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int64Type>());
            let numbers = column.into_iter().flatten().flatten();
            numbers.map(|number| u64::try_from(number).unwrap_or(0)).fold(0, u64::saturating_add)
        };
        Amount { count: entries.num_rows() as u64, rows: sum(rows), bytes: sum(bytes) }
    }
}

impl Add for Amount {
    type Output = Amount;

    fn add(self, other: Amount) -> Amount {
        Amount {
            count: self.count.saturating_add(other.count),
            rows: self.rows.saturating_add(other.rows),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Amount>>(amounts: I) -> Amount {
        amounts.fold(Amount::default(), Add::add)
    }
}

/// The stages that ran, with their input and what they kept.
type StageAmounts = BTreeMap<u8, (&'static Stage, Amount, Amount)>;

/// Counts what stages keep, from several threads; clones share the counts. By default it counts nothing, so
/// that scans can always report to it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Funnel(Option<Arc<Mutex<StageAmounts>>>);

impl Funnel {
    /// A funnel that counts.
    fn counting() -> Funnel {
        Funnel(Some(Arc::default()))
    }

    /// Whether it counts. Work that only the counts need is skipped where it does not.
    pub(crate) fn is_counting(&self) -> bool {
        self.0.is_some()
    }

    /// Records the input of a stage and what it kept; `amounts` is only called where the funnel counts.
    pub(crate) fn pass(&self, stage: &'static Stage, amounts: impl FnOnce() -> [Amount; 2]) {
        let Some(passed) = &self.0 else { return };
        let [total, kept] = amounts();
        let Ok(mut passed) = passed.lock() else { return };
        let counted = passed.entry(stage.order).or_insert((stage, Amount::default(), Amount::default()));
        (counted.1, counted.2) = (counted.1 + total, counted.2 + kept);
    }

    /// The entries that a stage keeps, which it records; `counted` are their columns with the rows and bytes of files.
    ///
    /// # Errors
    /// None that input could cause.
    pub(crate) fn keep(
        &self,
        stage: &'static Stage,
        entries: RecordBatch,
        keep: &BooleanArray,
        counted: [&str; 2],
    ) -> Result<RecordBatch> {
        let kept = match keep.true_count() == keep.len() {
            true => entries.clone(),
            false => filter_record_batch(&entries, keep)?,
        };
        self.pass(stage, || [Amount::of(&entries, counted), Amount::of(&kept, counted)]);
        Ok(kept)
    }

    /// The steps, in their order.
    fn steps(&self) -> Vec<Step> {
        let Some(passed) = self.0.as_ref().and_then(|passed| passed.lock().ok()) else { return Vec::new() };
        let step = |(stage, total, kept): &(&'static Stage, Amount, Amount)| Step {
            step: stage.step,
            kept: kept.count,
            total: total.count,
            rows_kept: Some(kept.rows),
            rows_total: Some(total.rows),
            bytes_kept: Some(kept.bytes),
            bytes_total: Some(total.bytes),
            why: stage.why,
        };
        passed.values().map(step).collect()
    }
}

/// Runs a scan for its counts alone; `open` starts it with the funnel to report to.
///
/// # Errors
/// Those of the scan.
pub(crate) fn counted(open: impl FnOnce(&Funnel) -> Result<Batches>) -> Result<Vec<Step>> {
    let funnel = Funnel::counting();
    open(&funnel)?.try_for_each(|counted| counted.map(drop))?;
    Ok(funnel.steps())
}

#[cfg(test)]
mod tests {
    use super::*;

    static FIRST: Stage = Stage { order: 0, step: "manifests", why: "summaries" };
    static LAST: Stage = Stage { order: 1, step: "files", why: "statistics" };

    fn amount(count: u64) -> Amount {
        Amount { count, rows: 10 * count, bytes: 100 * count }
    }

    #[test]
    fn counts_of_threads_are_added_up_by_stage() {
        let funnel = Funnel::counting();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| funnel.clone().pass(&LAST, || [amount(3), amount(1)]));
            }
        });
        funnel.pass(&FIRST, || [amount(2), amount(2)]);
        let steps: Vec<_> =
            funnel.steps().into_iter().map(|step| (step.step, step.kept, step.total)).collect();
        assert_eq!(steps, [("manifests", 2, 2), ("files", 4, 12)]);
        assert_eq!(
            funnel.steps().last().map(|step| (step.rows_kept, step.bytes_total)),
            Some((Some(40), Some(1200)))
        );
    }

    #[test]
    fn one_that_does_not_count_costs_nothing() {
        Funnel::default().pass(&FIRST, || unreachable!("nothing is counted"));
        assert!(Funnel::default().steps().is_empty());
    }
}
