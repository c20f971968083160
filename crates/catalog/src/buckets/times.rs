//! Looking for a time among sorted ones.

use model::EventTime;

/// Distance of the first probe from the place where a time is expected: a cache line.
const NEAR: usize = 8;

/// Returns how many of sorted times are before a time, and how many are equal to it. Looks where the time
/// would be if all had the same distance, and then around that place: each step of a binary search over
/// times that are not in the cache waits for memory.
pub(super) fn find(times: &[EventTime], time: EventTime) -> (usize, usize) {
    let earlier = earlier(times, time);
    let same = match times[earlier..] {
        [first, second, ..] if first == time && second == time => {
            times[earlier..].partition_point(|other| *other == time)
        }
        [first, ..] => usize::from(first == time),
        [] => 0,
    };
    (earlier, same)
}

/// Returns how many of sorted times are before a time.
fn earlier(times: &[EventTime], time: EventTime) -> usize {
    let [first, .., last] = times else { return times.partition_point(|other| *other < time) };
    if time <= *first {
        return 0;
    }
    if time > *last {
        return times.len();
    }
    // There is a time before it, and one that is not: the borders move together.
    let expected = expected(times.len(), (*first, *last), time);
    let (mut from, mut upto) = (0, times.len() - 1);
    let mut step = NEAR;
    if times[expected] < time {
        from = expected + 1;
        while let Some(probe) = from.checked_add(step).filter(|probe| *probe < upto) {
            if times[probe] >= time {
                upto = probe;
                break;
            }
            from = probe + 1;
            step *= 2;
        }
    } else {
        upto = expected;
        while let Some(probe) = upto.checked_sub(step).filter(|probe| *probe > from) {
            if times[probe] < time {
                from = probe + 1;
                break;
            }
            upto = probe;
            step *= 2;
        }
    }
    from + times[from..upto].partition_point(|other| *other < time)
}

/// Returns the index that a time between the first and the last one has if all have the same distance.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn expected(len: usize, (first, last): (EventTime, EventTime), time: EventTime) -> usize {
    let since_first = |time: EventTime| time.0.wrapping_sub(first.0) as u64 as f64;
    let part = since_first(time) / since_first(last);
    ((part * (len - 1) as f64) as usize).min(len - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(times: &[EventTime], time: EventTime) {
        let earlier = times.partition_point(|other| *other < time);
        let upto = times.partition_point(|other| *other <= time);
        assert_eq!(find(times, time), (earlier, upto - earlier), "{time:?} in {times:?}");
    }

    #[test]
    fn extreme_times_are_found() {
        let times = [i64::MIN, i64::MIN + 1, -1, 0, 0, 0, i64::MAX - 1, i64::MAX].map(EventTime);
        for len in 0..=times.len() {
            for time in times {
                check(&times[..len], time);
            }
        }
    }

    #[test]
    fn times_are_found_if_all_but_one_are_equal_and_far_away() {
        let mut times = vec![EventTime(7); 1_000];
        times.push(EventTime(i64::MAX));
        for time in [0, 7, 8, i64::MAX] {
            check(&times, EventTime(time));
        }
        times.insert(0, EventTime(i64::MIN));
        for time in [i64::MIN, 0, 7, 8, i64::MAX] {
            check(&times, EventTime(time));
        }
    }

    proptest! {
        #[test]
        fn the_same_is_found_as_by_a_binary_search(
            times in proptest::collection::vec(-300_i64..300, 0..400),
            far in proptest::collection::vec(any::<i64>(), 0..5),
            time in -310_i64..310,
        ) {
            let mut times: Vec<EventTime> = times.into_iter().chain(far).map(EventTime).collect();
            times.sort_unstable();
            check(&times, EventTime(time));
            for time in times.clone() {
                check(&times, time);
            }
        }
    }
}
