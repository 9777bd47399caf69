//! The generated parts of the chart in `charts/training-job`. `values.yaml` declares the values, each with a comment, and
//! the code declares the spec. `values.schema.json`, the README's table and the values files for the examples are generated
//! from both; `make bless` writes them. tests/helm tests the chart with Helm.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};

fn chart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/training-job")
}

fn read(path: &str) -> String {
    fs::read_to_string(chart().join(path)).unwrap_or_default()
}

/// Compares a text with a file of the chart, or writes the file if `KHOROVOD_BLESS` is set.
fn hold(path: &str, text: &str) {
    if std::env::var_os("KHOROVOD_BLESS").is_some() {
        fs::create_dir_all(chart().join(path).parent().unwrap()).unwrap();
        fs::write(chart().join(path), text).unwrap();
    }
    assert!(read(path) == text, "{path} is not what it is made from; `make bless`, then look at the difference");
}

/// One of the chart's values: its path and its comment.
struct Value {
    path: Vec<String>,
    comment: String,
}

impl Value {
    fn name(&self) -> String {
        self.path.join(".")
    }
}

/// The keys of `values.yaml` that have a comment. Keys without a comment are maps of other keys.
fn values() -> Vec<Value> {
    let (mut found, mut parents, mut comment): (Vec<Value>, Vec<String>, Vec<&str>) = Default::default();
    let mut inside: Option<usize> = None;
    let text = read("values.yaml");
    for line in text.lines() {
        let depth = (line.len() - line.trim_start().len()) / 2;
        let line = line.trim_start();
        if line.is_empty() {
            comment.clear();
        } else if let Some(words) = line.strip_prefix("# ") {
            comment.push(words);
            inside = None;
        } else if inside.is_none_or(|above| depth <= above) {
            let key = line.split_once(':').expect("a key").0;
            parents.truncate(depth);
            parents.push(key.to_owned());
            inside = (!comment.is_empty()).then_some(depth);
            if !comment.is_empty() {
                found.push(Value { path: parents.clone(), comment: comment.join(" ") });
                comment.clear();
            }
        }
    }
    found
}

fn defaults() -> Json {
    serde_yaml::from_str(&read("values.yaml")).unwrap()
}

/// A text that matches a pattern, or the empty text, which means that the value is not set.
fn or_empty(mut field: Json) -> Json {
    if let Some(pattern) = field["pattern"].as_str() {
        let inner = pattern.strip_prefix('^').unwrap().strip_suffix('$').unwrap();
        field["pattern"] = Json::from(format!("^({inner})?$"));
    } else if let Some(words) = field.get_mut("enum").and_then(Json::as_array_mut) {
        words.push(Json::from(""));
    }
    let map = field.as_object_mut().unwrap();
    for key in ["title", "examples", "default", "markdownEnumDescriptions"] {
        map.remove(key);
    }
    field
}

/// The schema of a value: that of the field that it sets, or the usual one for its name in Helm charts.
fn kind(name: &str, root: &Json) -> Json {
    let field = |shape: &str, key: &str| or_empty(root["$defs"][shape]["properties"][key].clone());
    let text = |pattern: &str| json!({"type": "string", "maxLength": 253, "pattern": pattern});
    let word = |keys: &[&str]| {
        let properties: Map<_, _> = keys.iter().map(|key| ((*key).to_owned(), json!({"type": "string"}))).collect();
        json!({"type": "object", "properties": properties, "additionalProperties": false, "required": keys})
    };
    match name {
        "spec" => json!({"$ref": "#/$defs/Body"}),
        "image.repository" => text("^([a-z0-9][-a-z0-9._:/]*[a-z0-9])?$"),
        "image.registry" | "global.imageRegistry" => text("^([a-zA-Z0-9][-a-zA-Z0-9._:/]*[a-zA-Z0-9])?$"),
        "image.tag" => text("^([A-Za-z0-9_][-A-Za-z0-9_.]{0,127})?$"),
        "image.digest" => field("ImageParts", "digest"),
        "image.pullPolicy" => field("ImageParts", "pullPolicy"),
        "image.pullSecrets" => field("ImageParts", "pullSecrets"),
        "global.imagePullSecrets" => {
            let name = root["$defs"]["ImageParts"]["properties"]["pullSecrets"]["items"].clone();
            let named = json!({"type": "object", "properties": {"name": name}, "additionalProperties": false,
                "required": ["name"]});
            json!({"type": "array", "items": {"anyOf": [name, named]}})
        }
        "existingSecret" => field("Ssh", "secretName"),
        "nameOverride" | "fullnameOverride" => field("Metadata", "name"),
        "commonLabels" => field("Metadata", "labels"),
        "commonAnnotations" => field("Metadata", "annotations"),
        "nodeSelector" | "tolerations" | "affinity" => field("Placement", name),
        "priorityClassName" => field("Placement", "priorityClassName"),
        "schedulerName" => field("Scheduling", "schedulerName"),
        "serviceAccount.name" => field("Security", "serviceAccountName"),
        "extraEnv" => json!({"type": "array", "items": {
            "type": "object",
            "properties": {
                "name": root["$defs"]["Body"]["properties"]["env"]["propertyNames"].clone(),
                "value": {"type": "string"},
                "valueFrom": {
                    "type": "object",
                    "properties": {
                        "secretKeyRef": word(&["name", "key"]),
                        "configMapKeyRef": word(&["name", "key"]),
                        "fieldRef": word(&["fieldPath"]),
                    },
                    "additionalProperties": false,
                    "minProperties": 1,
                    "maxProperties": 1,
                },
            },
            "additionalProperties": false,
            "required": ["name"],
            // Only one of the two is allowed.
            "dependentSchemas": {"value": {"properties": {"valueFrom": false}}},
        }}),
        "hooks.resources" => json!({"$ref": "#/$defs/Resources"}),
        "test.patience" => json!({"type": "integer", "minimum": 0, "maximum": 3600}),
        "extraDeploy" => json!({"type": "array", "items": {"type": ["object", "string"]}}),
        _ => panic!("values.yaml has `{name}`, which has no type here"),
    }
}

/// Converts patterns to Go's regular expressions, which Helm uses: `\x1f` instead of `\u001f`.
fn in_go(schema: &mut Json) {
    match schema {
        Json::Object(map) => {
            if let Some(Json::String(pattern)) = map.get_mut("pattern") {
                *pattern = pattern.replace("\\u00", "\\x");
            }
            map.values_mut().for_each(in_go);
        }
        Json::Array(items) => items.iter_mut().for_each(in_go),
        _ => {}
    }
}

/// `values.schema.json`: the chart's own values, with the schema of the spec.
fn schema() -> Json {
    let root = khorovod::schema();
    let mut shapes = root["$defs"].clone();
    for shape in ["TrainingJob", "Metadata"] {
        shapes.as_object_mut().unwrap().shift_remove(shape);
    }
    // The image can be set by its parts. The templates check that an image and workers are set.
    shapes["Body"].as_object_mut().unwrap().shift_remove("required");
    let closed = || json!({"type": "object", "properties": {}, "additionalProperties": false});
    let mut all = closed();
    for value in values() {
        let mut kind = kind(&value.name(), &root);
        kind["description"] = Json::from(value.comment.as_str());
        let (last, parents) = value.path.split_last().unwrap();
        let mut place = &mut all;
        for parent in parents {
            place = place["properties"].as_object_mut().unwrap().entry(parent).or_insert_with(closed);
        }
        place["properties"][last] = kind;
    }
    // Other charts of a release also use `global`.
    all["properties"]["global"]["additionalProperties"] = Json::from(true);
    let mut schema = json!({"$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Values of the chart training-job"});
    schema.as_object_mut().unwrap().append(all.as_object_mut().unwrap());
    schema["$defs"] = shapes;
    in_go(&mut schema);
    schema
}

/// The type of a value as one word.
fn takes(kind: &Json, root: &Json) -> &'static str {
    if let Some(path) = kind["$ref"].as_str() {
        return takes(root.pointer(&path[1..]).unwrap(), root);
    }
    match kind["type"].as_str() {
        Some("object") => "map",
        Some("array") => "list",
        Some("integer") => "number",
        _ => "text",
    }
}

#[test]
fn the_schema_has_the_fields_of_the_spec_and_the_values() {
    let schema = schema();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    hold("values.schema.json", &format!("{schema:#}\n"));
}

#[test]
fn the_schema_accepts_exactly_the_values_of_the_templates() {
    let judge = jsonschema::draft202012::new(&schema()).unwrap();
    assert!(judge.is_valid(&defaults()), "the chart's own values");
    let sound = [
        json!({"spec": {"workers": {"replicas": 1}}, "global": {"storageClass": "another chart's"}}),
        json!({"image": {"repository": "acme/mnist", "tag": "1.4", "registry": "localhost:5000"}}),
        json!({"extraEnv": [{"name": "A", "value": ""}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "a"}}}]}),
        json!({"global": {"imagePullSecrets": ["a", {"name": "b"}]}, "extraDeploy": ["a: b", {"a": "b"}]}),
        json!({"tolerations": [{"key": "a", "operator": "Exists"}], "existingSecret": "a"}),
    ];
    for values in sound {
        assert!(judge.is_valid(&values), "{values}");
    }
    let wrong = [
        json!({"spec": {"workers": {"replicas": 0}}}),
        json!({"spec": {"worker": {"replicas": 1}}}),
        json!({"image": {"tag": 1.4}}),
        json!({"image": "ghcr.io/acme/mnist:1.4"}),
        json!({"replicaCount": 1}),
        json!({"extraEnv": [{"name": "A", "value": "", "valueFrom": {"fieldRef": {"fieldPath": "a"}}}]}),
        json!({"extraEnv": [{"name": "A", "valueFrom": {"resourceFieldRef": {}}}]}),
        json!({"serviceAccount": {"create": true}}),
        json!({"tolerations": [{"keys": "a"}]}),
        json!({"priorityClassName": "A B"}),
        json!({"fullnameOverride": "1a"}),
    ];
    for values in wrong {
        assert!(!judge.is_valid(&values), "{values}");
    }
}

#[test]
fn the_readme_has_every_value() {
    let (schema, defaults) = (schema(), defaults());
    let mut table = "| Value | Takes | Default | Meaning |\n|---|---|---|---|\n".to_owned();
    for value in values() {
        let pointer = value.path.join("/");
        let kind = schema.pointer(&format!("/properties/{}", value.path.join("/properties/"))).unwrap();
        let default = defaults.pointer(&format!("/{pointer}")).unwrap_or_else(|| panic!("{pointer} has no default"));
        let _ = writeln!(
            table,
            "| `{}` | {} | `{default}` | {} |",
            value.name(),
            takes(kind, &schema),
            value.comment.replace('|', "\\|")
        );
    }
    let readme = read("README.md");
    let (before, rest) = readme.split_once("<!-- values -->\n").expect("a mark before the table");
    let (_, after) = rest.split_once("<!-- end of values -->").expect("a mark behind the table");
    let text = format!("{before}<!-- values -->\n\n{table}\n<!-- end of values -->{after}");
    hold("README.md", &with_links(&text));
    assert!(values().len() > 20, "values.yaml was not read");
}

#[test]
fn every_example_is_a_values_file() {
    let judge = jsonschema::draft202012::new(&schema()).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut there = 0;
    for entry in fs::read_dir(root).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir()) {
        let name = entry.file_name().into_string().unwrap();
        let job = fs::read_to_string(entry.path().join("job.yaml")).unwrap();
        let comment: String =
            job.lines().take_while(|line| line.starts_with('#')).flat_map(|line| [line, "\n"]).collect();
        let (_, spec) = job.split_once("\nspec:\n").unwrap();
        let document: Json = serde_yaml::from_str(&job).unwrap();
        let metadata = document["metadata"].as_object().unwrap();
        assert!(metadata.keys().all(|key| ["name", "namespace"].contains(&key.as_str())), "{name}: {metadata:?}");
        let namespace = metadata.get("namespace").map(|space| format!(" -n {}", space.as_str().unwrap()));
        let (release, namespace) = (metadata["name"].as_str().unwrap(), namespace.unwrap_or_default());
        let text = format!(
            "{comment}#\n# Values for `helm install {release} . -f examples/{name}.yaml{namespace}`, from khorovod's own \
             examples/{name}/job.yaml.\nspec:\n{spec}"
        );
        assert!(judge.is_valid(&serde_yaml::from_str::<Json>(&text).unwrap()), "{name}");
        hold(&format!("examples/{name}.yaml"), &text);
        there += 1;
    }
    assert_eq!(
        fs::read_dir(chart().join("examples")).unwrap().count(),
        there,
        "values files of examples that are gone"
    );
}

#[test]
fn the_chart_has_the_version_of_the_compiler() {
    let about: Json = serde_yaml::from_str(&read("Chart.yaml")).unwrap();
    for key in ["version", "appVersion"] {
        assert_eq!(about[key], env!("CARGO_PKG_VERSION"), "{key} in Chart.yaml");
    }
}

/// The addresses of the project in `Cargo.toml`: its page and its repository.
fn addresses() -> (&'static str, &'static str) {
    match (env!("CARGO_PKG_HOMEPAGE"), env!("CARGO_PKG_REPOSITORY")) {
        ("", "") => ("https://khorovod.invalid", "https://khorovod.invalid/khorovod"),
        addresses => addresses,
    }
}

/// A text of the chart with the links to the repository at its address in `Cargo.toml`.
fn with_links(text: &str) -> String {
    let old =
        text.split("](").find_map(|part| part.split_once("/blob/main/").filter(|(start, _)| !start.contains(')')));
    text.replace(
        &format!("{}/blob/main/", old.expect("a link to the repository").0),
        &format!("{}/blob/main/", addresses().1),
    )
}

#[test]
fn addresses_are_those_of_cargo_toml() {
    let (home, repository) = addresses();
    let text = read("Chart.yaml");
    let metadata: Json = serde_yaml::from_str(&text).unwrap();
    let old = |value: &Json| value.as_str().unwrap().to_owned();
    let (old_home, old_repository) = (old(&metadata["home"]), old(&metadata["sources"][0]));
    hold("Chart.yaml", &text.replace(&old_repository, repository).replace(&old_home, home));
    assert!(!read("README.md").contains("](../"), "a relative link leads out of the package");
}

#[test]
fn the_license_has_both_texts() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let [mit, apache] = ["LICENSE-MIT", "LICENSE-APACHE"].map(|name| fs::read_to_string(root.join(name)).unwrap());
    let choice = "Licensed under the Apache License 2.0 or the MIT License, at your option.";
    hold("LICENSE", &format!("{choice}\n\n{}\n\n{apache}", mit.trim_end()));
}
