//! Volumes that khorovod rendered → `spec.storage`.

use serde_json::{Map, Value as Json, json};

use super::{Parts, list};
use crate::context::Context;

pub fn read(parts: &Parts, context: &mut Context<'_>) {
    let transfers: Json =
        parts.data("s3.json").and_then(|data| serde_json::from_str(data["s3.json"].as_str()?).ok()).unwrap_or_default();
    for mount in parts.mounts() {
        let name = mount["name"].as_str().unwrap_or_default();
        if name.starts_with("khorovod-") {
            continue;
        }
        let Some(volume) = parts.volume(name) else { continue };
        let mut item =
            Map::from_iter([("name".to_owned(), name.into()), ("mountPath".to_owned(), mount["mountPath"].clone())]);
        for key in ["readOnly", "subPath"] {
            item.extend(mount.get(key).map(|value| (key.to_owned(), value.clone())));
        }
        match list(&transfers).find(|transfer| transfer["name"] == name) {
            Some(transfer) => drop(item.insert("s3".to_owned(), s3(parts, transfer, volume))),
            None => item.extend(source_of(parts, volume)),
        }
        context.spec.push("spec.storage", item, "");
    }
}

fn s3(parts: &Parts, transfer: &Json, volume: &Json) -> Json {
    let direction = match (transfer["download"] == true, transfer["upload"] == true) {
        (true, true) => "both",
        (true, false) => "in",
        _ => "out",
    };
    let mut s3 = json!({"bucket": transfer["bucket"], "prefix": transfer["prefix"], "region": transfer["region"],
        "direction": direction, "endpoint": transfer["endpoint"]});
    let folder = format!("/etc/khorovod/s3/{}", transfer["name"].as_str().unwrap_or_default());
    let secret = parts.mounts().find(|mount| mount["mountPath"] == folder.as_str());
    let secret = secret.and_then(|mount| parts.volume(mount["name"].as_str()?));
    if let Some(secret) = secret {
        s3["secret"] = secret["secret"]["secretName"].clone();
    }
    if let Some(size) = volume["emptyDir"].get("sizeLimit") {
        s3["size"] = size.clone();
    }
    s3
}

/// Where a volume's data lies, as an entry of storage says it.
fn source_of(parts: &Parts, volume: &Json) -> Map<String, Json> {
    let mut source = Map::new();
    let mut set = |key: &str, value: Json| drop(source.insert(key.to_owned(), value));
    if let Some(claim) = volume["persistentVolumeClaim"]["claimName"].as_str() {
        match parts.beside.get(&format!("PersistentVolumeClaim/{claim}")) {
            None => set("existingClaim", claim.into()),
            // One that is bound names a volume too, which is not ours.
            Some(claim) => match claim["spec"]["volumeName"].as_str().map(|name| format!("PersistentVolume/{name}")) {
                None => set("claim", claim_of(&claim["spec"])),
                Some(name) if !parts.beside.contains_key(&name) => set("claim", claim_of(&claim["spec"])),
                Some(name) => {
                    let spec = parts.beside.get(&name).map(|volume| &volume["spec"]);
                    let ours =
                        ["capacity", "accessModes", "persistentVolumeReclaimPolicy", "storageClassName", "claimRef"];
                    let theirs = spec.and_then(Json::as_object).into_iter().flatten();
                    let theirs: Map<_, _> = theirs
                        .filter(|(key, _)| !ours.contains(&key.as_str()))
                        .map(|(key, value)| (key.clone(), value.clone()))
                        .collect();
                    set("persistentVolume", theirs.into());
                    set("size", claim["spec"]["resources"]["requests"]["storage"].clone());
                    set("accessModes", claim["spec"]["accessModes"].clone());
                }
            },
        }
    } else if let Some(nfs) = volume.get("nfs") {
        set("nfs", json!({"server": nfs["server"], "path": nfs["path"]}));
    } else if let Some(path) = volume["hostPath"].get("path") {
        set("hostPath", path.clone());
    } else if let Some(folder) = volume.get("emptyDir") {
        let size = folder.get("sizeLimit");
        set("emptyDir", size.map_or(json!({}), |size| json!({"size": size})));
    }
    source
}

fn claim_of(spec: &Json) -> Json {
    let mut claim = json!({"size": spec["resources"]["requests"]["storage"], "accessModes": spec["accessModes"]});
    if let Some(class) = spec.get("storageClassName") {
        claim["storageClass"] = class.clone();
    }
    claim
}
