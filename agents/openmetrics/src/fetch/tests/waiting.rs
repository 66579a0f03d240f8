//! The sources that a request waits for, and the fetches that go on after it.

use super::*;

/// A program that writes its number to `pid`, and a document once `go` is there; `starts` has a line
/// for each of its starts.
fn waiting(directory: &Path) -> Arc<Target> {
    let [go, pid, starts] = ["go", "pid", "starts"].map(|name| directory.join(name));
    let text = format!(
        "#! /bin/sh\necho >> {2}; echo $$ > {0}.new; mv {0}.new {0}\n\
         while ! test -e {1}; do sleep 0.02; done\necho x 1\n",
        pid.display(),
        go.display(),
        starts.display()
    );
    script(directory, &text)
}

/// Waits until something is so, for as long as a busy machine may need.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The fetch of a late source goes on until a later request takes its document (OM-90).
#[test]
fn what_is_late_arrives() {
    let directory = tempfile::tempdir().expect("a directory");
    let late = waiting(directory.path());
    let mut fetcher = Fetcher::new(Memory::new());
    assert!(fetcher.may_begin(7) && fetcher.arrived().is_none());
    fetcher.begin(7, Arc::clone(&late), None);
    fetcher.wait_for([7, 8].map(|source| (source, Duration::from_millis(50))));
    assert!(fetcher.next(None).is_none());
    // Nobody has begun to fetch source 8.
    assert_eq!(fetcher.late(), HashSet::from([7]));
    assert!(fetcher.late().is_empty() && !fetcher.may_begin(7) && fetcher.may_begin(8));
    // A source is not fetched twice at a time.
    fetcher.begin(7, late, None);
    fs::write(directory.path().join("go"), "").expect("written");
    let mut outcome = None;
    until("it arrives", || {
        outcome = fetcher.arrived();
        outcome.is_some()
    });
    let outcome = outcome.expect("it has arrived");
    assert_eq!(
        (outcome.source, outcome.result.expect("a document").1.bytes()),
        (7, &b"x 1\n"[..])
    );
    assert!(fetcher.may_begin(7));
    thread::sleep(Duration::from_millis(100));
    assert!(fetcher.arrived().is_none());
    let starts = fs::read_to_string(directory.path().join("starts")).expect("it was started");
    assert_eq!(starts, "\n");
}

/// A source that a request no longer waits for is late.
#[test]
fn waiting_can_end() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut fetcher = Fetcher::new(Memory::new());
    fetcher.begin(7, waiting(directory.path()), None);
    fetcher.wait_for([(7, Duration::from_secs(60))]);
    fetcher.stop_waiting();
    assert_eq!(fetcher.late(), HashSet::from([7]));
    fs::write(directory.path().join("go"), "").expect("written");
    assert!(fetcher.next(None).is_none());
}

/// A relay that forgets connections without a word costs two requests a moment, and none any more
/// then: the same request goes out on another connection, and none is kept for a while.
#[test]
fn a_relay_that_forgets_connections() {
    let server = Server::new(|_, out| {
        respond(out, "200 OK", b"x 1\n");
        // The server never answers a later request on this connection.
        thread::sleep(Duration::from_secs(60));
        false
    });
    let mut fetcher = Fetcher::new(Memory::new());
    for (number, connections) in [1, 2, 3, 4, 5, 6].into_iter().enumerate() {
        let good = Ok((200, "x 1\n".to_owned()));
        assert_eq!(all(&mut fetcher, &[target(&server.url())]), [good], "request {number}");
        assert_eq!(server.connections.load(Ordering::SeqCst), connections);
        let again = fetcher.asked_again();
        assert_eq!(again.len(), usize::from(number == 1 || number == 2), "request {number}");
    }
}

/// Files of a request that waits for none of them are read, too.
#[test]
fn files_that_nobody_waits_for() {
    let directory = tempfile::tempdir().expect("a directory");
    let page = directory.path().join("page");
    fs::write(&page, "x 1\n").expect("written");
    let mut fetcher = Fetcher::new(Memory::new());
    for _ in 0..2 {
        let mut left = HashSet::from([1, 2, 3]);
        for source in &left {
            fetcher.begin(*source, Arc::new(Target::File(page.clone())), None);
        }
        until("all arrive", || {
            while let Some(outcome) = fetcher.arrived() {
                assert!(outcome.result.is_ok() && left.remove(&outcome.source), "{outcome:?}");
            }
            left.is_empty()
        });
    }
}

/// While the disk of one file hangs, another thread reads the others.
#[test]
fn a_file_behind_one_that_hangs() {
    let directory = tempfile::tempdir().expect("a directory");
    let page = directory.path().join("page");
    fs::write(&page, "x 1\n").expect("written");
    let mut fetcher = Fetcher::new(Memory::new());
    // As if the thread that reads files were still at the one before: it reads those of others.
    let others = Arc::new(Shared::new(Memory::new(), LIMIT));
    fetcher.work = Some(Loop::start(&others).expect("a thread"));
    let target = Arc::new(Target::File(page.clone()));
    fetcher.sources.entry(1).or_default().attempts.add(Attempt {
        number: 1,
        target: Arc::clone(&target),
        begun: Instant::now(),
        bound: LIMIT,
        progress: Arc::default(),
        task: None,
    });
    let report = Report {
        source: 1,
        attempt: 1,
        target,
        begun: Instant::now(),
        bound: LIMIT,
        results: Some(fetcher.sender.clone()),
    };
    fetcher.shared.read(FileJob { report, path: page });
    fetcher.wait_for([(1, LIMIT * 20)]);
    let outcome = fetcher.next(None).expect("it is read");
    assert_eq!(outcome.result.expect("a document").1.bytes(), b"x 1\n");
}

/// A source whose fetch ends by a panic has an outcome.
#[test]
fn a_job_that_is_dropped() {
    let (sender, results) = channel();
    drop(Report {
        source: 3,
        attempt: 1,
        target: Arc::new(Target::File(PathBuf::new())),
        begun: Instant::now(),
        bound: LIMIT,
        results: Some(sender),
    });
    let outcome = results.try_recv().expect("an outcome");
    assert_eq!(
        (outcome.source, outcome.result.expect_err("no document").reason.as_str()),
        (3, "a panic, see the log")
    );
    assert!(results.try_recv().is_err(), "there is one");
}

/// The programs of the agent end with it.
#[test]
fn programs_end_with_the_agent() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut fetcher = Fetcher::new(Memory::new());
    fetcher.begin(1, waiting(directory.path()), None);
    let pid = directory.path().join("pid");
    until("it runs", || pid.exists());
    let pid = fs::read_to_string(&pid).expect("a number");
    let shared = Arc::clone(&fetcher.shared);
    drop(fetcher);
    // The one that reads files is not waited for.
    until("its threads have ended", || Arc::strong_count(&shared) == 1);
    // As a zombie it may be there for a moment.
    let stat = format!("/proc/{}/stat", pid.trim());
    until("it has ended", || {
        fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))
    });
}

/// A process that a script has left is killed if it could still write the document, and goes on
/// otherwise.
#[test]
fn what_a_script_leaves() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    let text = format!(
        "#! /bin/sh\n(exec >/dev/null 2>&1; touch {0}; sleep 0.5; touch {1}) &\n\
         while ! test -e {0}; do sleep 0.02; done\necho x 1\n",
        at("free").display(),
        at("daemon").display()
    );
    assert_eq!(one(&script(directory.path(), &text)), Ok((0, "x 1\n".to_owned())));
    let text = format!("#! /bin/sh\n(sleep 0.5; touch {}) &\necho x 1\n", at("left").display());
    assert_eq!(one(&script(directory.path(), &text)), Ok((0, "x 1\n".to_owned())));
    until("it goes on", || at("daemon").exists());
    thread::sleep(Duration::from_millis(700));
    assert!(!at("left").exists());
}

/// A script may write more than a pipe holds, whichever of its streams ends first.
#[test]
fn scripts_write_much() {
    let directory = tempfile::tempdir().expect("a directory");
    for first in ["", "exec 2>&-\n"] {
        let text = format!("#! /bin/sh\n{first}head -c 300000 /dev/zero | tr '\\0' '#'\necho\necho x 1\n");
        let (status, document) = all(
            &mut Fetcher::bounded(Memory::new(), Duration::from_secs(20)),
            &[script(directory.path(), &text)],
        )
        .remove(0)
        .expect("a document");
        assert_eq!((status, document.len()), (0, 300_005));
    }
}

/// A program that writes without end, faster than it is read, leaves other sources their turn, and is
/// killed when its time is over; one that has left others behind that do so is answered.
#[test]
fn scripts_that_write_without_end() {
    let good = Server::new(|_, out| respond(out, "200 OK", b"x 1\n"));
    for (stream, end) in [
        ("2", "wait"),
        ("1", "wait"),
        ("2", "echo x 2"),
        ("2", "exec >&-; sleep 60"),
    ] {
        let directory = tempfile::tempdir().expect("a directory");
        let text = format!(
            "#! /bin/sh\nfor writer in 1 2 3 4 5 6 7 8; do timeout 20 yes '#' >&{stream} & done\nsleep 0.3\n{end}\n"
        );
        let mut fetcher = Fetcher::bounded(Memory::new(), LIMIT * 3);
        let mut results = all(&mut fetcher, &[script(directory.path(), &text), target(&good.url())]);
        assert_eq!(results.pop(), Some(Ok((200, "x 1\n".to_owned()))), "{stream} {end}");
        match results.remove(0) {
            Ok((0, document)) if end == "echo x 2" => assert!(document.ends_with("x 2\n"), "{document}"),
            Err(failure) if end != "echo x 2" => {
                let words = ["has not ended in time and was killed", "has more than"];
                assert!(words.iter().any(|words| failure.reason.contains(words)), "{failure:?}");
            }
            other => panic!("{stream} {end}: {other:?}"),
        }
    }
}

/// The log shows where a document comes from, and nobody's secrets: of headers only the names.
#[test]
fn targets_in_the_log() {
    let headers = ["X-Plain", "X-Api-Password"].map(|name| (name.to_owned(), Secret::new("s3cret")));
    let target = Target::Http {
        url: Url::new("http://us:s3cret@h/m"),
        headers: headers.to_vec(),
        proof: None,
        secure: None,
    };
    assert_eq!(
        target.to_string(),
        "http://h/m HEADERS: X-Plain: ...; X-Api-Password: ...;"
    );
    for target in [Target::File("/a b".into()), Target::Script("/a b".into())] {
        assert_eq!(target.to_string(), "/a b");
    }
}
