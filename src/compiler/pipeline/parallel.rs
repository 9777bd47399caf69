//! Builds jobs on all cores and returns the results in order: see [`in_order`]. This saves time for a stream of
//! thousands of jobs.
//!
//! No other module of the compiler uses threads. On platforms without threads, such as a browser, [`in_order`] is a simple
//! loop.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// If there are fewer items than this, the start of threads takes longer than the threads save.
const MIN_ITEMS: usize = 16;
/// The number of results per thread that may wait in the queue. The limit keeps memory independent of the number of items.
const QUEUED_PER_THREAD: usize = 8;

/// Calls `make` for every item, in parallel, and passes the results to `take` in the order of the items.
pub fn in_order<T: Send, R: Send>(items: Vec<T>, make: impl Fn(T) -> R + Sync, mut take: impl FnMut(R)) {
    // The first condition is constant, so the modules for browsers and Helm do not contain the code below.
    let is_loop = cfg!(target_family = "wasm") || items.len() < MIN_ITEMS;
    let count = if is_loop { 1 } else { thread::available_parallelism().map_or(1, usize::from) };
    if count == 1 {
        for item in items {
            take(make(item));
        }
        return;
    }
    let items = Mutex::new(items.into_iter());
    let (enqueue, slots) = sync_channel(QUEUED_PER_THREAD * count);
    // A thread holds the lock while it takes an item and puts the slot of the result into the queue. So the slots in the
    // queue have the order of the items.
    let take_one = |enqueue: &SyncSender<Receiver<R>>| {
        let mut items = items.lock().unwrap_or_else(PoisonError::into_inner);
        let item = items.next()?;
        let (send, result) = sync_channel(1);
        // This fails if `take` panicked; the remaining results are then not needed.
        enqueue.send(result).ok().map(|()| (item, send))
    };
    thread::scope(|scope| {
        let (make, take_one) = (&make, &take_one);
        for _ in 0..count {
            let enqueue = enqueue.clone();
            scope.spawn(move || {
                while let Some((item, send)) = take_one(&enqueue) {
                    let _ = send.send(make(item));
                }
            });
        }
        drop(enqueue);
        for result in slots {
            take(result.recv().expect("a thread sends one result for each item that it takes"));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::{MIN_ITEMS, in_order};

    #[test]
    fn results_have_the_order_of_the_items() {
        for count in [0, 1, MIN_ITEMS - 1, MIN_ITEMS, 1000] {
            let mut taken = Vec::new();
            in_order((0..count).collect(), |item| item * 2, |result| taken.push(result));
            assert_eq!(taken, (0..count).map(|item| item * 2).collect::<Vec<_>>());
        }
    }
}
