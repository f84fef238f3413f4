//! A curve over time in little room: a point is kept as what it adds to the one before.

use crate::units::Nanos;

/// A point of a curve that rises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// When.
    pub ts: Nanos,
    /// Bytes up to there.
    pub bytes: u64,
}

/// The points in order.
#[derive(Debug, Default)]
pub struct Curve {
    steps: Vec<Step>,
    /// What the steps add that are too wide, one after the other.
    wide: Vec<Point>,
    first: Point,
    last: Point,
}

/// From one point to the next, or [`WIDE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    ns: u32,
    bytes: u32,
}

impl Curve {
    /// How many points it has.
    #[inline]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// The first one.
    pub fn first(&self) -> Option<Point> {
        (!self.steps.is_empty()).then_some(self.first)
    }

    /// The newest one.
    #[inline]
    pub fn last(&self) -> Option<Point> {
        (!self.steps.is_empty()).then_some(self.last)
    }

    /// Adds a point after the others.
    #[inline]
    pub fn push(&mut self, point: Point) {
        if self.steps.is_empty() {
            (self.first, self.last) = (point, point);
        }
        if self.steps.len() == self.steps.capacity() {
            self.steps.reserve_exact(ROOM);
        }
        let ns = point.ts.since(self.last.ts).0;
        let bytes = point.bytes.wrapping_sub(self.last.bytes);
        let mut step = Step { ns: ns as u32, bytes: bytes as u32 };
        if (ns as u64).max(bytes) >= u64::from(u32::MAX) {
            self.wide.push(Point { ts: Nanos(ns), bytes });
            step = WIDE;
        }
        self.steps.push(step);
        self.last = point;
    }

    /// All points.
    pub fn points(&self) -> Vec<Point> {
        let (mut at, mut wide) = (self.first, self.wide.iter());
        let points = self.steps.iter().map(|&step| {
            let added = match step {
                WIDE => wide.next().copied().unwrap_or_default(),
                Step { ns, bytes } => Point { ts: Nanos(i64::from(ns)), bytes: u64::from(bytes) },
            };
            let bytes = at.bytes.wrapping_add(added.bytes);
            at = Point { ts: at.ts + added.ts, bytes };
            at
        });
        points.collect()
    }

    /// Drops every second point, not the last one, since the curve ends there.
    pub fn halve(&mut self) {
        let kept = self.points();
        self.steps.clear();
        self.wide.clear();
        let odd = kept.len().is_multiple_of(2);
        kept.iter().skip(usize::from(odd)).step_by(2).for_each(|&point| self.push(point));
    }
}

/// Both too wide for 32 bits: the next of [`Curve::wide`].
const WIDE: Step = Step { ns: u32::MAX, bytes: u32::MAX };
/// Points for which room is made at a time.
const ROOM: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_come_out_as_they_went_in_whatever_lies_between_them() {
        let (mut curve, mut expected) = (Curve::default(), Vec::new());
        let (mut ts, mut bytes) = (Nanos(1 << 60), 7);
        let spans = [0, 1, 1 << 20, u32::MAX.into(), 1 << 32, 1 << 50];
        for number in 0..37usize {
            expected.push(Point { ts, bytes });
            curve.push(Point { ts, bytes });
            ts += Nanos(spans[number % 6]);
            bytes += spans[number / 6 % 6] as u64;
        }
        for _ in 0..4 {
            assert_eq!(curve.points(), expected);
            assert_eq!(
                (curve.first(), curve.last()),
                (expected.first().copied(), expected.last().copied())
            );
            let mut odd = expected.len().is_multiple_of(2);
            expected.retain(|_| {
                odd = !odd;
                odd
            });
            curve.halve();
        }
    }
}
