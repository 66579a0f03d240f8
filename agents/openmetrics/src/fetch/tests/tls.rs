//! Certificates: those of servers, and those of this host.

use std::os::unix::fs::chown;
use std::process::Command;

use openssl::asn1::Asn1Time;
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::ssl::{HandshakeError, SslAcceptor, SslFiletype, SslMethod, SslVerifyMode};
use openssl::x509::{X509, X509Name};
use tokio::runtime;

use super::*;

/// A key and a certificate for `localhost`, which is no authority's, as `openssl` makes it.
fn certificate(directory: &Path, name: &str) -> (PathBuf, PathBuf) {
    let (key, certificate) = (
        directory.join(format!("{name}.key")),
        directory.join(format!("{name}.pem")),
    );
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-nodes",
            "-newkey",
            "rsa:2048",
            "-subj",
            "/CN=localhost",
            "-keyout",
        ])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output();
    assert!(made.expect("openssl is there").status.success());
    (key, certificate)
}

/// A server with this key and certificate; if `client` is there, for those alone who show the
/// certificate of that file.
fn server(key: &Path, certificate: &Path, client: Option<&Path>) -> Server {
    server_with_tickets(key, certificate, client, 2)
}

/// As [`server`]; behind each handshake it sends so many tickets for later ones.
fn server_with_tickets(key: &Path, certificate: &Path, client: Option<&Path>, tickets: usize) -> Server {
    let mut acceptor = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls()).expect("OpenSSL");
    // Weak certificates are for clients to refuse.
    acceptor.set_security_level(0);
    acceptor.set_num_tickets(tickets).expect("OpenSSL");
    acceptor.set_private_key_file(key, SslFiletype::PEM).expect("a key");
    acceptor
        .set_certificate_file(certificate, SslFiletype::PEM)
        .expect("a certificate");
    if let Some(client) = client {
        acceptor.set_ca_file(client).expect("a certificate");
        acceptor.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
    }
    let acceptor = acceptor.build();
    Server::wrapping(
        |_, out| respond(out, "200 OK", b"x 1\n"),
        move |stream| match acceptor.accept(stream) {
            Ok(stream) => Some(stream),
            Err(HandshakeError::Failure(refused)) => {
                // Closed with bytes that were not read, the client would have a reset instead of
                // the reason.
                let _ = std::io::copy(&mut refused.get_ref(), &mut std::io::sink());
                None
            }
            Err(_) => None,
        },
    )
}

/// What TLS sends beside a reply is counted: tickets without end cost neither time nor memory, and
/// some of them no document.
#[test]
fn tickets_without_end() {
    let directory = tempfile::tempdir().expect("a directory");
    let (key, certificate) = certificate(directory.path(), "server");
    let client = http::Client::with(Proxies::default(), Trust::of_file(&certificate));
    for (tickets, is_refused) in [(100, false), (100_000, true)] {
        let server = server_with_tickets(&key, &certificate, None, tickets);
        let got = get(&client, &format!("https://localhost:{}/", server.port), None);
        match got {
            Ok((200, document)) if !is_refused => assert_eq!(document, b"x 1\n"),
            Err(failure) if is_refused => {
                let why = format!("more than {} bytes have arrived before the head", limits::HEAD);
                assert!(failure.reason.starts_with(&why), "{failure:?}");
            }
            other => panic!("{tickets}: {other:?}"),
        }
    }
}

type Got = Result<(u16, Vec<u8>), Failure>;

fn get(client: &http::Client, url: &str, secure: Option<&Secure>) -> Got {
    let peer = client.peer(&Url::new(url), secure.cloned().map(Arc::new).as_ref());
    let progress = Arc::default();
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let got = runtime.block_on(async {
        let memory = Memory::new();
        let got = client.get(&peer, &[], None, &memory, &progress);
        // A file that is waited for would be for ever.
        tokio::time::timeout(Duration::from_secs(20), got).await
    });
    got.expect("nothing hangs")
        .map(|(status, document)| (status, document.bytes().to_vec()))
}

#[test]
fn https_with_a_certificate_that_is_trusted() {
    let directory = tempfile::tempdir().expect("a directory");
    let (key, certificate) = certificate(directory.path(), "server");
    let server = server(&key, &certificate, None);
    let url = format!("https://localhost:{}/", server.port);
    let location = format!("302 Found\r\nLocation: {url}");
    let leading_there = Server::new(move |_, out| respond(out, &location, b"moved"));
    let get = |trust: Trust, url: &str| get(&http::Client::with(Proxies::default(), trust), url, None);
    for url in [&url, &leading_there.url()] {
        assert_eq!(get(Trust::of_file(&certificate), url), Ok((200, b"x 1\n".to_vec())));
    }
    let address = url.replace("localhost", "127.0.0.1");
    for (trust, url, words) in [
        (
            Trust::of_the_environment(),
            &url,
            "the certificate of localhost is refused: self-signed certificate; put it",
        ),
        (
            Trust::of_file(&certificate),
            &address,
            "IP address mismatch; put a name into the address",
        ),
        (Trust::of_file(&key), &url, "no certificates can be read there"),
    ] {
        let refused = get(trust, url).expect_err("not trusted");
        // OpenSSL 1.1.1 writes it without the hyphen.
        let reason = refused.reason.replace("self signed", "self-signed");
        assert!(reason.contains(words), "{reason}");
    }
}

/// A client as the agent has it, with the system's certificates.
fn client() -> http::Client {
    http::Client::with(Proxies::default(), Trust::of_the_environment())
}

fn refused(client: &http::Client, url: &str, secure: &Secure) -> String {
    get(client, url, Some(secure)).expect_err("no answer").reason
}

/// A certificate that one source trusts, or any server, is not trusted by the other sources
/// (OM-22).
#[test]
fn authorities_of_a_source() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    let (key, certificate) = certificate(directory.path(), "server");
    let server = server(&key, &certificate, None);
    let url = format!("https://localhost:{}/", server.port);
    let trusting = |path: PathBuf| Secure {
        authorities: Some(path),
        ..Secure::default()
    };
    let unverified = Secure {
        is_unverified: true,
        ..Secure::default()
    };
    let client = client();
    let good = Ok((200, b"x 1\n".to_vec()));
    assert_eq!(get(&client, &url, Some(&trusting(certificate.clone()))), good);
    assert_eq!(get(&client, &url, Some(&unverified)), good);
    // The connections that are kept now are no other source's.
    get(&client, &url, None).expect_err("not trusted");
    // Nor is the next host trusted.
    let location = format!("302 Found\r\nLocation: {url}");
    let leading_there = Server::new(move |_, out| respond(out, &location, b"moved"));
    get(&client, &leading_there.url(), Some(&unverified)).expect_err("not trusted");
    let address = url.replace("localhost", "127.0.0.1");
    assert_eq!(get(&client, &address, Some(&unverified)), good);
    let why = refused(&client, &address, &trusting(certificate.clone()));
    assert!(why.contains("IP address mismatch"), "{why}");
    // A folder with files of any name, and as `openssl rehash` makes it.
    fs::create_dir(at("folder")).expect("made");
    nix::unistd::mkfifo(&at("folder/pipe"), nix::sys::stat::Mode::S_IRWXU).expect("ours");
    fs::copy(&key, at("folder/server.key")).expect("copied");
    let why = refused(&client, &url, &trusting(at("folder")));
    let none = format!("CA: {}: no file there has a certificate in PEM", at("folder").display());
    assert!(why.starts_with(&none), "{why}");
    fs::copy(&certificate, at("folder/server")).expect("copied");
    assert_eq!(get(&client, &url, Some(&trusting(at("folder")))), good);
    let of_folder = http::Client::with(Proxies::default(), Trust::of_file(&at("folder")));
    assert_eq!(get(&of_folder, &url, None), good);
    fs::rename(at("folder/server"), at("folder/server.pem")).expect("ours");
    let hashed = Command::new("openssl").arg("rehash").arg(at("folder")).status();
    assert!(hashed.is_ok_and(|status| status.success()));
    assert_eq!(get(&client, &url, Some(&trusting(at("folder")))), good);
    let is_root = nix::unistd::geteuid().is_root();
    if is_root {
        chown(at("folder"), Some(65534), None).expect("root");
        let why = refused(&client, &url, &trusting(at("folder")));
        assert!(why.contains("other users than root may write to the folder"), "{why}");
    }
    nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("ours");
    fs::write(at("text"), "no certificate").expect("written");
    fs::File::create(at("large"))
        .expect("ours")
        .set_len(1 << 40)
        .expect("a hole");
    symlink("/dev/zero", at("zero")).expect("ours");
    for (name, why) in [
        ("none", "No such file or directory"),
        ("pipe", "Invalid argument"),
        ("zero", "Invalid argument"),
        ("text", "no certificate or crl found"),
        ("large", "it has more than 67108864 bytes"),
    ] {
        let reason = refused(&client, &url, &trusting(at(name)));
        let begin = format!("CA: {}: {why}", at(name).display());
        assert!(reason.starts_with(&begin) && is_about_a_file(&reason), "{reason}");
        let variable = get(
            &http::Client::with(Proxies::default(), Trust::of_file(&at(name))),
            &url,
            None,
        );
        let reason = variable.expect_err("not trusted").reason;
        assert!(
            reason.starts_with("REQUESTS_CA_BUNDLE names ") && reason.contains(why),
            "{reason}"
        );
    }
}

/// A server that demands a client certificate gets it; wrong or missing files are named in the
/// failure (OM-22).
#[test]
fn certificates_of_a_source() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    let (key, own) = certificate(directory.path(), "server");
    let (client_key, client_certificate) = certificate(directory.path(), "client");
    let (other_key, other_certificate) = certificate(directory.path(), "other");
    let server = server(&key, &own, Some(&client_certificate));
    let url = format!("https://localhost:{}/", server.port);
    let showing = |certificate: &Path, key: Option<&Path>| Secure {
        authorities: Some(own.clone()),
        certificate: Some(certificate.to_owned()),
        key: key.map(Path::to_owned),
        ..Secure::default()
    };
    let both = at("both.pem");
    let write_both = |key: &Path, certificate: &Path| {
        let [key, certificate] = [key, certificate].map(|path| fs::read(path).expect("made"));
        fs::write(&both, [key, certificate].concat()).expect("written");
    };
    write_both(&client_key, &client_certificate);
    let client = client();
    let good = Ok((200, b"x 1\n".to_vec()));
    assert_eq!(
        get(&client, &url, Some(&showing(&client_certificate, Some(&client_key)))),
        good
    );
    assert_eq!(get(&client, &url, Some(&showing(&both, None))), good);
    let nobody = Secure {
        authorities: Some(own.clone()),
        ..Secure::default()
    };
    let why = refused(&client, &url, &nobody);
    assert!(why.contains("a line CERT: of the source names it"), "{why}");
    refused(&client, &url, &showing(&other_certificate, Some(&other_key)));
    // The certificate is renewed while the agent runs: the next connection of the same source shows the
    // new one.
    let secure = showing(&both, None);
    let source = client.peer(&Url::new(&url), Some(&Arc::new(secure.clone())));
    assert_eq!(get(&client, &url, Some(&secure)), good);
    write_both(&other_key, &other_certificate);
    refused(&client, &url, &secure);
    write_both(&client_key, &client_certificate);
    assert_eq!(get(&client, &url, Some(&secure)), good);
    let again = client.peer(&Url::new(&url), Some(&Arc::new(secure)));
    assert!(Arc::ptr_eq(&source.trust, &again.trust), "it was made anew");

    let locked = at("locked.key");
    let made = Command::new("openssl")
        .args(["pkey", "-aes256", "-passout", "pass:secret word", "-in"])
        .arg(&client_key)
        .arg("-out")
        .arg(&locked)
        .status();
    assert!(made.is_ok_and(|status| status.success()));
    nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("ours");
    fs::write(at("text"), "secret word").expect("written");
    fs::write(at("large"), vec![b'x'; limits::CONFIG + 1]).expect("written");
    for (name, why) in [
        ("none", "No such file or directory"),
        ("pipe", "Invalid argument"),
        ("text", "it has no key in PEM"),
        ("large", "File too large"),
        ("locked.key", "the key has a passphrase"),
        ("other.key", "it has another key than the certificate"),
        ("", "Is a directory"),
    ] {
        let path = at(name);
        let reason = refused(&client, &url, &showing(&client_certificate, Some(&path)));
        let begin = format!("KEY: {}: {why}", path.display());
        assert!(reason.starts_with(&begin) && is_about_a_file(&reason), "{reason}");
        assert!(!reason.contains("secret word"), "{reason}");
    }
    for (name, why) in [
        ("pipe", "Invalid argument"),
        ("text", "it has no certificate in PEM"),
        ("client.key", "it has no certificate in PEM"),
        ("client.pem", "it has no key in PEM"),
    ] {
        let path = at(name);
        let reason = refused(&client, &url, &showing(&path, None));
        let begin = format!("CERT: {}: {why}", path.display());
        assert!(reason.starts_with(&begin) && is_about_a_file(&reason), "{reason}");
    }
    let mut keyless = showing(&own, Some(&client_key));
    keyless.certificate = None;
    let why = refused(&client, &url, &keyless);
    assert!(why.starts_with("KEY: there is no line CERT: for it"), "{why}");
}

/// Sources with the same lines share a context: the trusted certificates of one take a megabyte.
#[test]
fn sources_with_the_same_certificates() {
    let client = client();
    let trust = |url: &str, path: Option<&str>| {
        let trusting = |path: &str| Secure {
            authorities: Some(path.into()),
            ..Secure::default()
        };
        let secure = path.map(|path| Arc::new(trusting(path)));
        Arc::clone(&client.peer(&Url::new(url), secure.as_ref()).trust)
    };
    let one = trust("https://one/", Some("/x"));
    assert!(Arc::ptr_eq(&one, &trust("https://two/", Some("/x"))));
    assert!(!Arc::ptr_eq(&one, &trust("https://one/", Some("/y"))));
    assert!(Arc::ptr_eq(&trust("https://one/", None), &trust("https://two/", None)));
}

/// A day in seconds.
const DAY: i64 = 24 * 60 * 60;

/// Each fault of a certificate that is trusted comes with what to do about it.
#[test]
fn certificates_that_have_to_be_renewed() {
    let directory = tempfile::tempdir().expect("a directory");
    // The reason stands before the advice, in OpenSSL's words, which change with its version.
    for (bits, from, to, advice) in [
        (2048, -2 * DAY, -DAY, "; it has to be renewed"),
        (2048, DAY, 2 * DAY, "; wait until it is valid, or set the clock"),
        (768, -DAY, DAY, "; it has to be made anew with a stronger key"),
    ] {
        let key = Rsa::generate(bits).and_then(PKey::from_rsa).expect("a key");
        let (key, certificate) = write(directory.path(), &key, &signed(&key, ("localhost", &key), from, to));
        let server = server(&key, &certificate, None);
        let client = http::Client::with(Proxies::default(), Trust::of_file(&certificate));
        let url = format!("https://localhost:{}/", server.port);
        let why = get(&client, &url, None).expect_err("not trusted").reason;
        assert!(why.contains(advice), "{why}");
    }
}

/// A server's certificate that is trusted is enough: its authority need not be.
#[test]
fn a_certificate_without_its_authority() {
    let directory = tempfile::tempdir().expect("a directory");
    let authority = Rsa::generate(2048).and_then(PKey::from_rsa).expect("a key");
    let key = Rsa::generate(2048).and_then(PKey::from_rsa).expect("a key");
    let signed = signed(&key, ("authority", &authority), -DAY, DAY);
    let (key, certificate) = write(directory.path(), &key, &signed);
    let server = server(&key, &certificate, None);
    let client = http::Client::with(Proxies::default(), Trust::of_file(&certificate));
    let url = format!("https://localhost:{}/", server.port);
    assert_eq!(get(&client, &url, None), Ok((200, b"x 1\n".to_vec())));
}

/// A certificate for `localhost`, valid from and to so many seconds from now.
fn signed(key: &PKey<Private>, issuer: (&str, &PKey<Private>), from: i64, to: i64) -> X509 {
    let now = std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_secs();
    let now = i64::try_from(now).expect("not so far in the future");
    let named = |common: &str| {
        let mut name = X509Name::builder()?;
        name.append_entry_by_text("CN", common)?;
        Ok::<_, ErrorStack>(name.build())
    };
    let make = || {
        let mut made = X509::builder()?;
        made.set_subject_name(&*named("localhost")?)?;
        made.set_issuer_name(&*named(issuer.0)?)?;
        made.set_not_before(&*Asn1Time::from_unix(now + from)?)?;
        made.set_not_after(&*Asn1Time::from_unix(now + to)?)?;
        made.set_pubkey(key)?;
        made.sign(issuer.1, MessageDigest::sha256())?;
        Ok::<_, ErrorStack>(made.build())
    };
    make().expect("a certificate")
}

/// Writes a key and its certificate.
fn write(directory: &Path, key: &PKey<Private>, certificate: &X509) -> (PathBuf, PathBuf) {
    let (key_file, file) = (directory.join("made.key"), directory.join("made.pem"));
    fs::write(&key_file, key.private_key_to_pem_pkcs8().expect("a key")).expect("written");
    fs::write(&file, certificate.to_pem().expect("a certificate")).expect("written");
    (key_file, file)
}

/// A server that knows no TLS, or closes the connection: neither is a matter of certificates.
#[test]
fn what_is_no_tls() {
    for (answer, why) in [
        (
            &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
            "(is the server one of http:?)",
        ),
        (b"", "the server has closed the connection"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(answer);
            }
        });
        let url = format!("https://localhost:{port}/");
        let got = get(&client(), &url, None).expect_err("no answer").reason;
        // The version of OpenSSL decides which reason it gives.
        assert!(
            got.contains("TLS with localhost failed: ") && got.contains(why),
            "{got}"
        );
    }
}
