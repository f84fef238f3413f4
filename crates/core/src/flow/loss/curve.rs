//! A curve over time in little room: a point is kept as what it adds to the one before, rounded.

use crate::flow::rounded::Rounded;
use crate::units::Nanos;

/// A point of a curve that rises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// When.
    pub ts: Nanos,
    /// Bytes up to there.
    pub bytes: u64,
}

/// The points in order. Each is right to a two-thousandth of what it adds: a step begins where the
/// one before it ends as it is kept, so that no error is carried on.
#[derive(Debug, Default)]
pub struct Curve {
    steps: Vec<Step>,
    first: Point,
    /// The newest one, and where the steps end.
    last: Point,
    kept: Point,
}

/// From one point to the next.
#[derive(Clone, Copy, Debug)]
struct Step {
    ns: Rounded,
    bytes: Rounded,
}

impl Step {
    #[inline]
    fn between(from: Point, to: Point) -> Step {
        let rounded = |number: i64| match number > 0 {
            true => Rounded::of(number as f32),
            false => Rounded::default(),
        };
        let bytes = to.bytes.wrapping_sub(from.bytes) as i64;
        Step { ns: rounded(to.ts.since(from.ts).0), bytes: rounded(bytes) }
    }

    #[inline]
    fn after(self, point: Point) -> Point {
        let [ns, bytes] = [self.ns, self.bytes].map(|rounded| rounded.number() as i64);
        Point { ts: point.ts + Nanos(ns), bytes: point.bytes.wrapping_add(bytes as u64) }
    }
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
            (self.first, self.kept) = (point, point);
        }
        if self.steps.len() == self.steps.capacity() {
            self.steps.reserve_exact(ROOM);
        }
        let step = Step::between(self.kept, point);
        self.steps.push(step);
        (self.last, self.kept) = (point, step.after(self.kept));
    }

    /// All points.
    pub fn points(&self) -> Vec<Point> {
        let mut at = self.first;
        let points = self.steps.iter().map(|step| {
            at = step.after(at);
            at
        });
        points.collect()
    }

    /// Drops every second point, not the last one, since the curve ends there.
    pub fn halve(&mut self) {
        let (kept, last) = (self.points(), self.last);
        self.steps.clear();
        let odd = kept.len().is_multiple_of(2);
        kept.iter().skip(usize::from(odd)).step_by(2).for_each(|&point| self.push(point));
        self.last = last;
        // It took a while to fill, and takes as long again.
        self.steps.shrink_to(self.steps.len() + ROOM);
    }
}

/// Points for which room is made at a time.
const ROOM: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_come_out_near_where_they_went_in_whatever_lies_between_them() {
        let mut curve = Curve::default();
        // Each with the widest step so far, in ns and in bytes.
        let mut expected: Vec<(Point, [i64; 2])> = Vec::new();
        let (mut at, mut widest) = (Point { ts: Nanos(1 << 60), bytes: 7 }, [0; 2]);
        let spans = [0, 1, 1 << 20, u32::MAX.into(), 1 << 32, 1 << 50];
        for number in 0..37usize {
            expected.push((at, widest));
            curve.push(at);
            let added = [spans[number % 6], spans[number / 6 % 6]];
            at = Point { ts: at.ts + Nanos(added[0]), bytes: at.bytes + added[1] as u64 };
            widest = [0, 1].map(|way| widest[way].max(added[way]));
        }
        assert_eq!(curve.first(), Some(expected[0].0));
        for halved in 0..4 {
            let found = curve.points();
            assert_eq!((found.len(), curve.len()), (expected.len(), expected.len()));
            assert_eq!(curve.first(), found.first().copied());
            assert_eq!(curve.last(), expected.last().map(|(point, _)| *point));
            for (found, (point, widest)) in found.iter().zip(&expected) {
                let off = [found.ts.0 - point.ts.0, found.bytes as i64 - point.bytes as i64];
                let most = widest.map(|widest| (widest << halved) / 1000 + 1);
                let near = off[0].abs() <= most[0] && off[1].abs() <= most[1];
                assert!(near, "{found:?} for {point:?}, halved {halved} times");
            }
            let mut odd = expected.len().is_multiple_of(2);
            expected.retain(|_| {
                odd = !odd;
                odd
            });
            curve.halve();
        }
    }

    #[test]
    fn no_error_is_carried_on() {
        let mut curve = Curve::default();
        let at = |n: u64| Point { ts: Nanos(n as i64 * 1_234_567), bytes: n * 1_449 };
        (0..1000).for_each(|n| curve.push(at(n)));
        for (found, n) in curve.points().into_iter().zip(0..) {
            assert!(found.bytes.abs_diff(at(n).bytes) <= 1, "{found:?} is number {n}");
            assert!((found.ts.0 - at(n).ts.0).abs() <= 1_000, "{found:?} is number {n}");
        }
    }
}
