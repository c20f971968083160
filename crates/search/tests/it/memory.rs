//! Searches that hold more than their memory spill, and give the same rows.

use karst_search::{JobRequest, OperatorReport, SearchService, Settings};

use crate::support::{filled, log_event};

const ROWS: usize = 120_000;

async fn service(megabytes: usize) -> SearchService {
    let events: Vec<_> = (0..ROWS).map(log_event).collect();
    let settings = Settings {
        batch_search_max_pipeline: 2,
        search_memory_bytes: megabytes << 20,
        ..Settings::default()
    };
    filled(&events, 4, settings).await.0
}

fn spilled(operators: &[OperatorReport]) -> usize {
    operators.iter().map(|one| one.spilled_bytes + spilled(&one.inputs)).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sort_of_more_than_its_memory_gives_all_rows_in_order() {
    let search = "search * | sort 0 - ms, user, n | streamstats count as at | where at%1000=0 \
                  | table at, _raw";
    let mut results = Vec::new();
    for megabytes in [512, 32] {
        let service = service(megabytes).await;
        let job = service.dispatch(JobRequest::new(search, "me")).await.unwrap();
        job.finished().await.unwrap_or_else(|error| panic!("{megabytes} MB: {error}"));
        let rows: Vec<String> =
            job.page(0, 1_000).rows.iter().map(|row| format!("{row:?}")).collect();
        assert_eq!(rows.len(), ROWS / 1_000);
        let spilled = spilled(&job.inspect().plans);
        assert_eq!(spilled > 0, megabytes == 32, "{spilled} bytes spilled with {megabytes} MB");
        results.push(rows);
    }
    assert_eq!(results[0], results[1]);
}
