//! How many segments of a flow are analysed together.

use super::{bursts, short};
use crate::wire::FlowKey;
use std::cmp::Ordering;

/// How many are enough, of a flow that was analysed so many times: the more it has, the more
/// fetching its state costs against the room for a longer log. At least [`LEAST`].
///
/// Logs of flows that began together would be full together. So the first longer ones come some
/// bursts sooner or later, and are longer by a part; both differ by flow.
#[inline]
pub fn segments(bursts: u8, key: &FlowKey) -> usize {
    match bursts {
        0..MANY => LEAST,
        MANY..STEADY => of_many(bursts - MANY, key),
        STEADY.. => bursts::LONGEST,
    }
}

#[cold]
fn of_many(bursts: u8, key: &FlowKey) -> usize {
    // With each short burst more, a flow stays behind by as much as it is shorter.
    let (short_ones, part) = (mixed(key) / SHORTER % SHIFTS, mixed(key) % SHORTER);
    match usize::from(bursts).cmp(&short_ones) {
        Ordering::Less => LEAST,
        Ordering::Equal => LEAST + part,
        Ordering::Greater => bursts::LONGEST,
    }
}

/// A number that differs between most flows of the same hosts, and of different ones.
fn mixed(key: &FlowKey) -> usize {
    [&key.low, &key.high].map(|end| usize::from(end.port) + usize::from(end.addr[15])).iter().sum()
}

/// Segments that are analysed together: a flow with fewer never gets state.
pub const LEAST: usize = short::LONGEST;
/// Bursts after which a flow counts as long: 192 segments.
const MANY: u8 = 6;
/// By how much a short burst is shorter than a long one, and how many of that make a long one.
const SHORTER: usize = bursts::LONGEST - LEAST;
const SHIFTS: usize = bursts::LONGEST / SHORTER;
/// Bursts after which all are long.
const STEADY: u8 = MANY + SHIFTS as u8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Endpoint;

    #[test]
    fn logs_of_flows_that_began_together_are_full_at_different_times() {
        let server = Endpoint { addr: [1; 16], port: 443 };
        let mut full_at = [0; bursts::LONGEST];
        for port in 0..10 * bursts::LONGEST as u16 {
            let (key, _) = FlowKey::of(Endpoint { addr: [2; 16], port }, server, 0);
            let segments: usize = (0..STEADY).map(|burst| segments(burst, &key)).sum();
            full_at[segments % bursts::LONGEST] += 1;
        }
        assert_eq!(full_at, [10; bursts::LONGEST]);
    }
}
