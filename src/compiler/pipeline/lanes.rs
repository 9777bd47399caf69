//! Work spread over the cores, its results taken in order: what makes a stream of thousands of jobs quick.
//!
//! The one place in the core that knows threads. Where there are none, as in a browser, it is a plain loop.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Fewer items than this are not worth a thread.
const FEW: usize = 16;
/// How many results may wait for each lane, so that memory does not grow with the stream.
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
    let items = Mutex::new(items.into_iter());
    let (promise, promised) = sync_channel(AHEAD * count);
    // Whoever takes an item promises its result before anybody takes the next, so that promises stand in their order.
    let take_one = |promise: &SyncSender<Receiver<R>>| {
        let mut items = items.lock().unwrap_or_else(PoisonError::into_inner);
        let item = items.next()?;
        let (send, result) = sync_channel(1);
        // Fails where the taker has panicked: nobody wants the rest.
        promise.send(result).ok().map(|()| (item, send))
    };
    thread::scope(|scope| {
        let (make, take_one) = (&make, &take_one);
        for _ in 0..count {
            let promise = promise.clone();
            scope.spawn(move || {
                while let Some((item, send)) = take_one(&promise) {
                    let _ = send.send(make(item));
                }
            });
        }
        drop(promise);
        for result in promised {
            take(result.recv().expect("a lane makes one result for each of its items"));
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
