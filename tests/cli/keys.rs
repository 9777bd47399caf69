//! ssh keys: seeds, `keygen`, and the job that keys belong to.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::common::{JOB, SEED, khorovod, place};
use super::{mode, piped, run};

#[test]
fn seeds_are_checked_before_they_are_used() {
    let place = place();
    let seed = place.path().join("seed");
    let render = || run(khorovod(place.path()).args(["render", "-", "--ssh-seed", "seed"]));
    let (code, _, err) = render();
    assert!(code == 3 && err.contains("cannot read the ssh seed"), "{err}");
    fs::write(&seed, "too short").unwrap();
    fs::set_permissions(&seed, fs::Permissions::from_mode(0o600)).unwrap();
    let (code, _, err) = render();
    assert!(code == 3 && err.contains("64 hex digits"), "{err}");
    assert!(!err.contains("too short"), "key material must not be shown: {err}");
    fs::write(&seed, SEED).unwrap();
    fs::set_permissions(&seed, fs::Permissions::from_mode(0o644)).unwrap();
    let (code, _, err) = piped(khorovod(place.path()).args(["render", "--ssh-seed", "seed"]), JOB);
    assert!(code == 0 && err.contains("chmod 600 seed"), "{err}");
    let (code, _, err) = run(khorovod(place.path()).args(["keygen", "keys"]).env("KHOROVOD_SSH_SEED", "abc"));
    assert!(code == 2 && err.contains("KHOROVOD_SSH_SEED") && !err.contains("abc"), "{err}");
}

#[test]
fn a_missing_seed_is_reported_with_a_hint() {
    let place = place();
    let (code, out, err) = piped(khorovod(place.path()).arg("render").env("CI", "true"), JOB);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("no-ssh-keys") && err.contains("--ssh-seed"), "{err}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "no seed is made in CI");
    let (code, out, _) = piped(khorovod(place.path()).args(["render", "--no-keys"]), JOB);
    assert!(code == 0 && out.contains("kind: StatefulSet") && !out.contains("kind: Secret"));
    // With a Secret of the user, pods that only pass on downloads need no seed either.
    let download = "  launcher: torchrun\n  ssh: {secretName: train-ssh}\n  storage: [{name: d, mountPath: /d, download: {url: https://a.test/d}}]\n";
    let (code, out, err) = piped(khorovod(place.path()).arg("render").env("CI", "true"), &format!("{JOB}{download}"));
    assert!(code == 0 && out.contains("secretName: train-ssh") && !out.contains("kind: Secret"), "{err}");
    // `plan` and `validate` need no keys.
    assert_eq!(piped(khorovod(place.path()).arg("plan"), JOB).0, 0);
    assert_eq!(piped(khorovod(place.path()).arg("validate"), JOB).0, 0);
    // Otherwise a seed is created once, with a message, and used again, also in CI.
    let (code, first, err) = piped(khorovod(place.path()).arg("render"), JOB);
    let state = place.path().join(".local/state/khorovod/seed");
    assert!(code == 0 && err.contains("created an ssh seed") && err.contains("--ssh-seed"), "{err}");
    assert_eq!(mode(&state), 0o600);
    assert_eq!(piped(khorovod(place.path()).arg("render").env("CI", "true"), JOB), (0, first, String::new()));
    fs::write(&state, SEED).unwrap();
    let (_, own, _) = piped(khorovod(place.path()).arg("render"), JOB);
    assert_eq!(own, piped(khorovod(place.path()).arg("render").env("KHOROVOD_SSH_SEED", SEED), JOB).1);
}

#[test]
fn keygen_makes_new_keys_by_default() {
    let place = place();
    let args = ["keygen", "keys", "-n", "a"];
    let keygen = |seed: &str| run(khorovod(place.path()).args(args).env("KHOROVOD_SSH_SEED", seed)).1;
    let (one, other) = (keygen(""), keygen(""));
    assert!(
        one.contains("name: keys")
            && one.contains("namespace: a")
            && one.contains("\n  id_ed25519: LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVEUgS0VZ"),
        "{one}"
    );
    assert_ne!(one, other);
    assert_eq!(keygen(SEED), keygen(SEED));
    assert_eq!(run(khorovod(place.path()).args(["keygen", "keys", "-o", "keys.yaml"])).0, 0);
    assert_eq!(mode(&place.path().join("keys.yaml")), 0o600);
}

#[test]
fn keys_of_another_name_start_another_run() {
    let place = place();
    let spec = |keys: &str| JOB.replace("  workers:", &format!("  ssh: {{secretName: {keys}}}\n  workers:"));
    fs::write(place.path().join("old.yaml"), spec("team-keys")).unwrap();
    let plan = |keys: &str| piped(khorovod(place.path()).args(["plan", "-", "--against", "old.yaml"]), &spec(keys)).1;
    assert!(plan("team-keys-2").contains("restarts the run"), "{}", plan("team-keys-2"));
    assert!(!plan("team-keys").contains("restarts the run"), "{}", plan("team-keys"));
    // The content of the Secret is not a part of the run: new keys do not change the run's name.
    let rendered = piped(khorovod(place.path()).args(["render", "-"]), &spec("team-keys")).1;
    assert!(rendered.contains("secretName: team-keys") && !rendered.contains("kind: Secret"), "{rendered}");
}
