//! Work spread over the cores, its results taken in order: what makes a stream of thousands of jobs quick.
//!
//! The one place in the core that knows threads. Where there are none, as in a browser, it is a plain loop.

use std::sync::mpsc::sync_channel;
use std::thread;

/// Fewer items than this are not worth a thread.
const FEW: usize = 16;
/// How many results a lane may be ahead, so that memory does not grow with the stream.
const AHEAD: usize = 8;

/// `make` of every item, handed to `take` in the order of the items.
pub fn in_order<T: Send, R: Send>(items: Vec<T>, make: impl Fn(T) -> R + Sync, mut take: impl FnMut(R)) {
    let count = if items.len() < FEW { 1 } else { thread::available_parallelism().map_or(1, usize::from) };
    if count == 1 {
        for item in items {
            take(make(item));
        }
        return;
    }
    let mut lanes: Vec<Vec<T>> = (0..count).map(|_| Vec::new()).collect();
    let total = items.len();
    for (index, item) in items.into_iter().enumerate() {
        lanes[index % count].push(item);
    }
    thread::scope(|scope| {
        let make = &make;
        let lanes: Vec<_> = lanes
            .into_iter()
            .map(|lane| {
                let (send, results) = sync_channel(AHEAD);
                // Sending fails where the taker has panicked: nobody wants the rest.
                scope.spawn(move || lane.into_iter().all(|item| send.send(make(item)).is_ok()));
                results
            })
            .collect();
        for index in 0..total {
            take(lanes[index % count].recv().expect("a lane makes one result for each of its items"));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::{FEW, in_order};

    #[test]
    fn results_keep_the_order_of_the_items() {
        for count in [0, 1, FEW - 1, FEW, 1000] {
            let mut taken = Vec::new();
            in_order((0..count).collect(), |item| item * 2, |result| taken.push(result));
            assert_eq!(taken, (0..count).map(|item| item * 2).collect::<Vec<_>>());
        }
    }
}
