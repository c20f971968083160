//! Many files at once.

use std::fs;
use std::time::Duration;

use crate::monitor::Setup;

const FILES: usize = 5_000;

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_files_are_taken_in_and_followed_with_few_descriptors() {
    let setup = Setup::new(Duration::from_secs(3600));
    let name = |number: usize| format!("{}/{number}.log", number % 50);
    for folder in 0..50 {
        fs::create_dir(setup.logs.path().join(folder.to_string())).unwrap();
    }
    let mut monitor = setup.directory();
    for round in 0..3 {
        for number in 0..FILES {
            setup.append(&name(number), &format!("round {round} of file {number}\n"));
        }
        setup.poll(&mut monitor).await;
        let mut lines = setup.recorder.sorted();
        assert_eq!(lines.len(), FILES * (round + 1));
        lines.dedup();
        assert_eq!(lines.len(), FILES * (round + 1));
        let open = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        assert!(open < 400, "{open} descriptors are open");
    }
    let before = setup.recorder.traffic();
    setup.restart(1).await;
    assert_eq!(setup.recorder.traffic(), before);
    let size = fs::metadata(setup.state.path().join("monitor")).unwrap().len();
    assert!(size < 3 << 20, "{size} bytes of checkpoints");
}
