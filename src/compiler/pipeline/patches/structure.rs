//! Compares a patch, as it is written, with the object that it changes: types of fields, items of lists, and directives. See
//! [`find_conflict`].

use std::borrow::Cow;

use serde_json::Value as Json;

use super::BROKEN_PATCH;
use crate::kubernetes::strategic::{DELETE_FROM, Lists, ORDER, PATCH, RETAIN_KEYS, Type};
use crate::problem::{Problem, Span};
use crate::yaml::{Entry, Kind, Node};

/// The first conflict of a patch with an object of a type, if there is one.
pub fn find_conflict(patch: &Node, object: &Json, of: Type, kind: &str) -> Option<Problem> {
    Search { kind, path: Vec::new() }.value(patch, object, of, Lists::Replace)
}

struct Search<'p> {
    kind: &'p str,
    path: Vec<Cow<'p, str>>,
}

fn broken(span: Span, message: impl Into<String>, hint: impl Into<String>) -> Problem {
    Problem::new(&BROKEN_PATCH, span, message).hint(hint)
}

impl<'p> Search<'p> {
    /// Compares a part of a patch with the part of the object at the same path, which is null if the object does not have it.
    fn value(&mut self, part: &'p Node, object: &Json, of: Type, lists: Lists) -> Option<Problem> {
        let at = self.path.join(".");
        if let Some(hint) = self.fixed_field_hint()
            && part.to_json() != *object
        {
            let message = format!("the patch changes `{at}` of a {}, which identifies the object", self.kind);
            return Some(broken(part.span, message, hint));
        }
        let expected = match (&part.kind, object) {
            (Kind::Map(entries), Json::Object(_) | Json::Null) => {
                let fields = entries.iter().filter(|entry| !entry.key.starts_with('$'));
                return self.directives(part, of).or_else(|| {
                    fields.into_iter().find_map(|entry| {
                        let (below, lists) = of.field(&entry.key);
                        self.below(&entry.key, &entry.value, &object[&entry.key], below, lists)
                    })
                });
            }
            (Kind::List(items), Json::Array(_) | Json::Null) => return self.items(items, object, of, lists),
            (Kind::Scalar { .. }, _) if part.to_json().is_null() && at != "metadata" => return None,
            (_, Json::Object(_)) => "a map",
            (_, Json::Array(_)) => "a list",
            (_, Json::Null) | (Kind::Scalar { .. }, _) => return None,
            _ => "a single value",
        };
        let message = format!("`{at}` of a {} is {expected}, but the patch has {}", self.kind, part.describe());
        Some(broken(part.span, message, "`khorovod render` shows the object"))
    }

    fn below(
        &mut self,
        step: impl Into<Cow<'p, str>>,
        part: &'p Node,
        object: &Json,
        of: Type,
        lists: Lists,
    ) -> Option<Problem> {
        self.path.push(step.into());
        let found = self.value(part, object, of, lists);
        self.path.pop();
        found
    }

    /// Compares the items of a list. `of` is their type.
    fn items(&mut self, items: &'p [Node], object: &Json, of: Type, lists: Lists) -> Option<Problem> {
        let at = self.path.join(".");
        let Lists::ByKey(key) = lists else {
            let entry = items.iter().find_map(directive_in)?;
            let message =
                format!("`{at}` has the directive `{}`, but a patch replaces this list as a whole", entry.key);
            return Some(broken(
                entry.key_span,
                message,
                "write all items that the list must have, without a directive",
            ));
        };
        items.iter().find_map(|item| {
            let directive = item.entry(PATCH);
            if let Some(entry) = directive.filter(|entry| entry.value.text() == Some("replace")) {
                let message = "`$patch: replace` replaces the whole list, and Kubernetes leaves out the other fields of this item";
                let hint = format!(
                    "to replace the list, write `- $patch: replace` as an item of its own; to replace one item, list all its \
                     fields in `$retainKeys: [{key}, …]`"
                );
                return (item.entries().len() > 1).then(|| broken(entry.key_span, message, hint));
            }
            let Some(name) = item.get(key).filter(|name| name.scalar().is_some()).map(Node::to_json) else {
                let message = format!("a patch merges the items of `{at}` by their `{key}`, which this item lacks");
                let hint = format!("add the `{key}` of the item that the patch changes, or a new one");
                return Some(broken(item.span, message, hint));
            };
            let all = object.as_array().map_or(&[][..], Vec::as_slice);
            let before = all.iter().find(|other| other[key] == name).unwrap_or(&Json::Null);
            let step = name.as_str().map_or_else(|| name.to_string(), str::to_owned);
            let is_new = before.is_null() && directive.is_none();
            if is_new && of == Type::Container && item.get("image").is_none() {
                let message = format!("the pod has no container `{step}` in `{at}`, and a new one needs an `image`");
                let names: Vec<_> = all.iter().filter_map(|other| other[key].as_str()).map(|name| format!("`{name}`")).collect();
                let hint = match names.is_empty() {
                    true => "add its `image`".to_owned(),
                    false => format!("to change a container, use its name here, {}; `target.name` selects the pods", names.join(" or ")),
                };
                return Some(broken(item.span, message, hint));
            }
            self.below(step, item, before, of, Lists::Replace)
        })
    }

    /// Checks the directives of a map.
    fn directives(&self, part: &Node, of: Type) -> Option<Problem> {
        part.entries()
            .iter()
            .filter(|entry| entry.key.starts_with('$'))
            .find_map(|entry| self.directive(entry, part, of))
    }

    fn directive(&self, entry: &Entry, part: &Node, of: Type) -> Option<Problem> {
        let (key, value, list) = (entry.key.as_str(), &entry.value, matches!(entry.value.kind, Kind::List(_)));
        if (key == PATCH || key == RETAIN_KEYS) && (self.path.is_empty() || self.path == ["metadata"]) {
            let message = format!(
                "`{key}` applies to {}, which must remain",
                if self.path.is_empty() { "the whole object" } else { "all metadata" }
            );
            return Some(broken(entry.key_span, message, "remove it; a field that is `null` is removed"));
        }
        if key == PATCH {
            return match value.text() {
                Some("delete" | "replace") => None,
                Some("merge") => Some(broken(
                    entry.key_span,
                    "`$patch: merge` is not supported",
                    "remove it: without a directive, a patch merges",
                )),
                _ => Some(broken(value.span, "unknown value of `$patch`", "write `delete` or `replace`")),
            };
        }
        if key == RETAIN_KEYS {
            let kept: Vec<_> = value.items().iter().filter_map(Node::text).collect();
            if !list || kept.len() != value.items().len() {
                return Some(broken(
                    value.span,
                    "`$retainKeys` is not a list of fields",
                    "write it as in `$retainKeys: [name, secret]`",
                ));
            }
            let missing = part
                .entries()
                .iter()
                .find(|other| !other.key.starts_with('$') && !kept.contains(&other.key.as_str()))?;
            let message = format!("`$retainKeys` lacks `{}`, which the patch sets", missing.key);
            let all = kept.iter().copied().chain([missing.key.as_str()]).collect::<Vec<_>>().join(", ");
            return Some(broken(value.span, message, format!("write `$retainKeys: [{all}]`")));
        }
        let Some((name, is_order)) =
            key.strip_prefix(ORDER).map(|name| (name, true)).or_else(|| Some((key.strip_prefix(DELETE_FROM)?, false)))
        else {
            let hint = "the directives are `$patch: delete`, `$patch: replace`, `$retainKeys`, `$setElementOrder/LIST` and \
                        `$deleteFromPrimitiveList/LIST`";
            return Some(broken(entry.key_span, format!("the directive `{key}` is not supported"), hint));
        };
        let merged = of.field(name).1;
        match merged {
            _ if !list => Some(broken(value.span, format!("`{key}` is not a list"), "write a list")),
            Lists::Replace if is_order => {
                let message = format!("`{key}` has no effect: a patch replaces the list `{name}` as a whole");
                Some(broken(
                    entry.key_span,
                    message,
                    format!("remove it, and write the items of `{name}` in their order"),
                ))
            }
            Lists::ByKey(_) if !is_order => {
                let message = format!("`{key}` applies to lists of single values, and `{name}` has maps");
                let hint = format!("to delete an item of `{name}`, add `$patch: delete` to it");
                Some(broken(entry.key_span, message, hint))
            }
            _ if is_order => {
                let id = |item: &Node| merged.identity(&item.to_json()).clone();
                let order: Vec<_> = value.items().iter().map(id).collect();
                let items = part.get(name).map_or(&[][..], Node::items).iter().filter(|item| item.get(PATCH).is_none());
                let places: Vec<_> = items.map(|item| order.iter().position(|other| *other == id(item))).collect();
                let message = match () {
                    () if order.contains(&Json::Null) => format!("an item of `{key}` is not as in `{name}`"),
                    () if places.contains(&None) => format!("`{key}` lacks an item that the patch has in `{name}`"),
                    () if !places.is_sorted() => format!("`{key}` has the items of `{name}` in another order"),
                    () => return None,
                };
                Some(broken(
                    value.span,
                    message,
                    format!("write one item for each item of `{name}` in the patch, in the same order"),
                ))
            }
            _ => None,
        }
    }

    /// The hint for a patch of a field that identifies the object; `None` for any other field.
    fn fixed_field_hint(&self) -> Option<&'static str> {
        let path: Vec<&str> = self.path.iter().map(|step| &**step).collect();
        match path.as_slice() {
            ["apiVersion" | "kind"] => Some("remove it: `target` selects the object"),
            ["metadata", "name"] => {
                Some("remove it: `target` selects the object, and the names of objects come from `metadata.name`")
            }
            ["metadata", "namespace"] => {
                Some("remove it, and set `metadata.namespace` of the TrainingJob, which applies to all objects")
            }
            _ => None,
        }
    }
}

/// The first directive in a value.
fn directive_in(node: &Node) -> Option<&Entry> {
    let own = node.entries().iter().find(|entry| entry.key.starts_with('$'));
    own.or_else(|| node.entries().iter().find_map(|entry| directive_in(&entry.value)))
        .or_else(|| node.items().iter().find_map(directive_in))
}
