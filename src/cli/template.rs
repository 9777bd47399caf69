//! `khorovod plan --template`: formats the plan with a Handlebars template of the user.
//!
//! [`render`] first checks the names in the template, also in branches that are not taken, and then renders in strict mode.
//! So a misspelled field is an error and never an empty text.

use handlebars::template::{BlockParam, HelperTemplate, Parameter, TemplateElement};
use handlebars::{
    Context, Handlebars, Helper, HelperDef, HelperResult, JsonRender, JsonTruthy, Output, Path, PathSeg, RenderContext,
    RenderError, RenderErrorReason, Renderable, ScopedJson, Template,
};
use khorovod::problem::count;
use serde_json::{Value, json};

/// Every field of a plan. `[]` marks a list, `?` a field that a job may lack.
const FIELDS: &[&str] = &[
    "jobs[].job",
    "jobs[].namespace?",
    "jobs[].run",
    "jobs[].image",
    "jobs[].shape",
    "jobs[].launcher",
    "jobs[].launch[]",
    "jobs[].workers[].group?",
    "jobs[].workers[].origin",
    "jobs[].workers[].workload",
    "jobs[].workers[].replicas",
    "jobs[].workers[].slots",
    "jobs[].workers[].firstRank?",
    "jobs[].workers[].gpus",
    "jobs[].workers[].hosts[]",
    "jobs[].workers[].requests[].resource",
    "jobs[].workers[].requests[].quantity",
    "jobs[].workers[].shm",
    "jobs[].workers[].spares",
    "jobs[].ranks",
    "jobs[].pods",
    "jobs[].requests[].resource",
    "jobs[].requests[].quantity",
    "jobs[].cost.gpus",
    "jobs[].cost.bounds[]",
    "jobs[].cost.mostHours?",
    "jobs[].head.host",
    "jobs[].head.ownPod",
    "jobs[].head.ranks",
    "jobs[].head.requests[].resource",
    "jobs[].head.requests[].quantity",
    "jobs[].links[].from",
    "jobs[].links[].to",
    "jobs[].links[].over",
    "jobs[].guarded",
    "jobs[].nodes",
    "jobs[].apart",
    "jobs[].elastic?[]",
    "jobs[].storage[].name",
    "jobs[].storage[].mountPath",
    "jobs[].storage[].source",
    "jobs[].storage[].outlivesJob",
    "jobs[].gang?.by",
    "jobs[].gang?.pods",
    "jobs[].domains?[].level",
    "jobs[].domains?[].required",
    "jobs[].domains?[].workers",
    "jobs[].nvlink?",
    "jobs[].objects[].kind",
    "jobs[].objects[].name",
    "jobs[].objects[].fact",
    "jobs[].objects[].purpose",
    "jobs[].objects[].creates?[].kind",
    "jobs[].objects[].creates?[].name",
    "jobs[].objects[].creates?[].count",
    "jobs[].objects[].creates?[].fact",
    "jobs[].podSecurity.level",
    "jobs[].podSecurity.reasons[]",
    "jobs[].release",
    "jobs[].notes[]",
    "jobs[].commands.follow",
    "jobs[].commands.delete",
    "jobs[].defaults[].path",
    "jobs[].defaults[].value",
    "changes[].job",
    "changes[].namespace?",
    "changes[].effect",
    "changes[].because[].path",
    "changes[].because[].old",
    "changes[].because[].new",
    "changes[].inPlace[].path",
    "changes[].inPlace[].old",
    "changes[].inPlace[].new",
    "changes[].refused[]",
    "changes[].notes[]",
    "changes[].delete?",
];

/// The helpers that khorovod adds, and the functions that compute their values.
const HELPERS: &[(&str, Call)] = &[
    ("cell", cell),
    ("count", counted),
    ("default", default),
    ("join", join),
    ("json", as_json),
    ("pad", pad),
    ("sum", sum),
];

/// The helpers of Handlebars itself. khorovod replaces `if` and `unless` by [`Condition`].
const BUILT_IN: &[&str] =
    &["if", "unless", "each", "with", "lookup", "raw", "eq", "ne", "gt", "gte", "lt", "lte", "and", "or", "not", "len"];

/// Renders the template `text`. `name` is the name of its file in error messages. `plan` is what `plan -o json` prints.
/// An error begins with the file, the line and the column.
pub fn render(name: &str, text: &str, mut plan: Value) -> Result<String, String> {
    // Without `--against`, `changes` is an empty list, so that `{{#each changes}}` works.
    if plan["changes"].is_null() {
        plan["changes"] = json!([]);
    }
    let template = Template::compile(text).map_err(|error| {
        let (line, column) = error.pos().unwrap_or((1, 1));
        let reason = error.reason().to_string();
        let reason = reason.strip_prefix("invalid handlebars syntax: ").unwrap_or(&reason);
        format!(
            "{name}:{line}:{column}: this is not valid Handlebars: {}; write a literal `{{{{` as `\\{{{{`",
            reason.trim()
        )
    })?;
    check(&template, &mut Vec::new())
        .map_err(|Mistake { line, column, what }| format!("{name}:{line}:{column}: {what}"))?;
    let mut registry = Handlebars::new();
    registry.set_strict_mode(true);
    registry.register_escape_fn(handlebars::no_escape);
    registry.unregister_helper("log");
    registry.register_helper("if", Box::new(Condition { wanted: true }));
    registry.register_helper("unless", Box::new(Condition { wanted: false }));
    for (helper, call) in HELPERS {
        registry.register_helper(helper, Box::new(Function(*call)));
    }
    registry.register_template("plan", template);
    let mut text = registry.render("plan", &plan).map_err(|error| {
        let (line, column) = (error.line_no.unwrap_or(1), error.column_no.unwrap_or(1));
        format!("{name}:{line}:{column}: {}", reason(&error))
    })?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// A name in a template that is neither a field nor a helper.
struct Mistake {
    line: usize,
    column: usize,
    what: String,
}

/// Checks every name in a template. `locals` are the names that enclosing blocks introduce with `as |name|`.
fn check<'t>(template: &'t Template, locals: &mut Vec<&'t str>) -> Result<(), Mistake> {
    for (index, element) in template.elements.iter().enumerate() {
        let (TemplateElement::Expression(found)
        | TemplateElement::HtmlExpression(found)
        | TemplateElement::HelperBlock(found)) = element
        else {
            continue;
        };
        let (line, column) = template.mapping.get(index).map_or((1, 1), |place| (place.0, place.1));
        check_names(found, locals).map_err(|what| Mistake { line, column, what })?;
        let before = locals.len();
        match &found.block_param {
            Some(BlockParam::Single(value)) => locals.extend(value.as_name()),
            Some(BlockParam::Pair((value, key))) => locals.extend(value.as_name().into_iter().chain(key.as_name())),
            _ => {}
        }
        for part in [&found.template, &found.inverse].into_iter().flatten() {
            check(part, locals)?;
        }
        locals.truncate(before);
    }
    Ok(())
}

/// Checks the names in one expression: its helper or field, and the fields in its parameters.
fn check_names(found: &HelperTemplate, locals: &[&str]) -> Result<(), String> {
    let name = found.name.as_name().unwrap_or_default();
    if !is_helper(name) {
        if found.block || !found.params.is_empty() || !found.hash.is_empty() {
            return Err(unknown_helper(name));
        }
        check_parameter(&found.name, locals)?;
    }
    found.params.iter().chain(found.hash.values()).try_for_each(|parameter| check_parameter(parameter, locals))
}

fn check_parameter(parameter: &Parameter, locals: &[&str]) -> Result<(), String> {
    match parameter {
        Parameter::Path(Path::Relative((segments, _))) => {
            let names = segments.iter().filter_map(|segment| match segment {
                PathSeg::Named(name) => Some(name.trim_matches(['[', ']'])),
                _ => None,
            });
            for (index, name) in names.enumerate() {
                let is_known = is_field(name) || name.parse::<usize>().is_ok() || index == 0 && locals.contains(&name);
                if !is_known {
                    return Err(unknown_field(name));
                }
            }
            Ok(())
        }
        Parameter::Subexpression(inner) => match inner.as_element() {
            TemplateElement::Expression(found) if is_helper(inner.name()) => check_names(found, locals),
            _ => Err(unknown_helper(inner.name())),
        },
        _ => Ok(()),
    }
}

fn is_helper(name: &str) -> bool {
    BUILT_IN.contains(&name) || HELPERS.iter().any(|(helper, _)| *helper == name)
}

/// The names in a path of [`FIELDS`], from the outermost.
fn names(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('.').map(|name| name.trim_end_matches("[]").trim_end_matches('?'))
}

fn is_field(name: &str) -> bool {
    FIELDS.iter().any(|path| names(path).any(|field| field == name))
}

/// Whether a job may lack the field at the end of a path that a template uses.
fn is_optional(path: &str) -> bool {
    let last = path.rsplit(['.', '/']).next().unwrap_or(path);
    let ends = format!(".{last}?");
    FIELDS.iter().any(|path| path.trim_end_matches("[]").ends_with(&ends))
}

fn unknown_field(name: &str) -> String {
    let near =
        nearest(name, FIELDS.iter().map(|path| (names(path).next_back().unwrap_or_default(), path.replace('?', ""))));
    if near.is_empty() {
        format!("a plan has no field `{name}`; `khorovod plan -o json` prints all fields")
    } else {
        format!("a plan has no field `{name}`; did you mean {near}?")
    }
}

fn unknown_helper(name: &str) -> String {
    if is_field(name) {
        return format!("`{name}` is a field, not a helper; write `{{{{#each {name}}}}}` or `{{{{#if {name}}}}}`");
    }
    let all = || HELPERS.iter().map(|(helper, _)| *helper).chain(BUILT_IN.iter().copied());
    let near = nearest(name, all().map(|helper| (helper, helper.to_owned())));
    if near.is_empty() {
        format!("there is no helper `{name}`; the helpers are {}", all().collect::<Vec<_>>().join(", "))
    } else {
        format!("there is no helper `{name}`; did you mean {near}?")
    }
}

/// At most three of the candidates whose names are similar to `name`, the most similar first.
fn nearest<'n>(name: &str, candidates: impl Iterator<Item = (&'n str, String)>) -> String {
    let mut near: Vec<(f64, String)> = candidates
        .map(|(candidate, shown)| (strsim::jaro_winkler(candidate, name), shown))
        .filter(|(similarity, _)| *similarity > 0.8)
        .collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.len().cmp(&other.1.len())));
    near.iter().take(3).map(|(_, shown)| format!("`{shown}`")).collect::<Vec<_>>().join(" or ")
}

/// Why a template could not be rendered, and what to change.
fn reason(error: &RenderError) -> String {
    match error.reason() {
        RenderErrorReason::MissingVariable(Some(path)) if is_optional(path) => {
            format!(
                "`{path}` has no value here; write `{{{{#if {path}}}}}` around it, or `{{{{default {path} \"…\"}}}}`"
            )
        }
        RenderErrorReason::MissingVariable(Some(path)) => {
            let last = path.rsplit(['.', '/']).next().unwrap_or(path);
            let mut places: Vec<String> = FIELDS
                .iter()
                .filter_map(|field| {
                    let depth = names(field).position(|name| name == last)?;
                    let place: Vec<&str> = field.split('.').take(depth + 1).collect();
                    Some(format!("`{}`", place.join(".").replace('?', "")))
                })
                .collect();
            places.dedup();
            match places.as_slice() {
                [] => unknown_field(last),
                _ => format!("`{path}` has no value here; a plan has {}", places.join(", ")),
            }
        }
        RenderErrorReason::MissingVariable(None) => "a value is missing; check the path and the index".to_owned(),
        RenderErrorReason::PartialNotFound(name) => {
            format!("there is no partial `{name}`; define it above with `{{{{#*inline \"{name}\"}}}}…{{{{/inline}}}}`")
        }
        RenderErrorReason::ParamNotFoundForIndex(helper, index) => {
            format!("`{helper}` needs {}, and each must have a value", count(*index as u64 + 1, "parameter"))
        }
        RenderErrorReason::Other(message) => message.clone(),
        other => other.to_string(),
    }
}

/// A helper that computes a value from its parameters.
type Call = fn(&Helper<'_>) -> Result<Value, RenderError>;

struct Function(Call);

impl HelperDef for Function {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        (self.0)(helper).map(ScopedJson::Derived)
    }
}

/// khorovod's own `if` and `unless`. Unlike the helpers of Handlebars, they return an error for a field that no job can
/// have at this place.
struct Condition {
    /// Whether the block is rendered if the value is true (`if`) or if it is false (`unless`).
    wanted: bool,
}

impl HelperDef for Condition {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        rendering: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        let zero = helper.hash_get("includeZero").is_some_and(|value| value.value() == &json!(true));
        let is_true = optional(helper, 0, "a value")?.is_truthy(zero);
        match if is_true == self.wanted { helper.template() } else { helper.inverse() } {
            Some(part) => part.render(registry, context, rendering, out),
            None => Ok(()),
        }
    }
}

fn wrong(helper: &Helper<'_>, message: &str) -> RenderError {
    RenderErrorReason::Other(format!("`{}` {message}", helper.name())).into()
}

/// Returns a parameter. If the parameter is a field without a value, returns null if a job may lack this field, and an error
/// if every job has it.
fn optional<'h>(helper: &'h Helper<'_>, index: usize, what: &str) -> Result<&'h Value, RenderError> {
    match helper.param(index) {
        None => Err(wrong(helper, &format!("needs {what}"))),
        Some(value) if value.is_value_missing() && !value.relative_path().is_some_and(|path| is_optional(path)) => {
            Err(RenderError::strict_error(value.relative_path()))
        }
        Some(value) => Ok(value.value()),
    }
}

/// A parameter that must have a value.
fn required<'h>(helper: &'h Helper<'_>, index: usize, what: &str) -> Result<&'h Value, RenderError> {
    match helper.param(index) {
        Some(value) if value.is_value_missing() => Err(RenderError::strict_error(value.relative_path())),
        _ => optional(helper, index, what),
    }
}

fn list<'h>(helper: &'h Helper<'_>) -> Result<&'h Vec<Value>, RenderError> {
    required(helper, 0, "a list")?.as_array().ok_or_else(|| wrong(helper, "needs a list"))
}

fn width(helper: &Helper<'_>, value: &Value) -> Result<usize, RenderError> {
    let width = value.as_u64().and_then(|width| usize::try_from(width).ok()).filter(|width| *width <= 1_000);
    width.ok_or_else(|| wrong(helper, "needs a width from 0 to 1000"))
}

/// `{{join LIST "SEPARATOR"}}`: the items of a list as one text.
fn join(helper: &Helper<'_>) -> Result<Value, RenderError> {
    let separator = helper.param(1).map_or_else(|| ", ".to_owned(), |value| value.value().render());
    Ok(list(helper)?.iter().map(JsonRender::render).collect::<Vec<_>>().join(&separator).into())
}

/// `{{sum LIST "FIELD"}}`: the sum of a field over a list, or of the list's own numbers.
fn sum(helper: &Helper<'_>) -> Result<Value, RenderError> {
    let field = helper.param(1).map(|value| value.value().render());
    let mut total = 0;
    for item in list(helper)? {
        let mut value = item;
        for name in field.iter().flat_map(|path| path.split('.')) {
            value = value.get(name).ok_or_else(|| wrong(helper, &format!("cannot add up: {}", unknown_field(name))))?;
        }
        total += value.as_u64().ok_or_else(|| wrong(helper, &format!("can only add up whole numbers, not {value}")))?;
    }
    Ok(total.into())
}

/// `{{count NUMBER "rank"}}`: `1 rank`, `8 ranks`.
fn counted(helper: &Helper<'_>) -> Result<Value, RenderError> {
    let number = required(helper, 0, "a number")?.as_u64().ok_or_else(|| wrong(helper, "needs a whole number"))?;
    Ok(count(number, &required(helper, 1, "a word after the number")?.render()).into())
}

/// `{{pad VALUE WIDTH align="right"}}`: a column of a text table.
fn pad(helper: &Helper<'_>) -> Result<Value, RenderError> {
    let text = optional(helper, 0, "a value")?.render();
    let width = width(helper, required(helper, 1, "a width")?)?;
    match helper.hash_get("align").map(|value| value.value().render()).as_deref() {
        None | Some("left") => Ok(format!("{text:<width$}").into()),
        Some("right") => Ok(format!("{text:>width$}").into()),
        Some(other) => Err(wrong(helper, &format!("aligns left or right, not `{other}`"))),
    }
}

/// `{{cell VALUE WIDTH}}`: a cell of a Markdown table: on one line, cut at WIDTH, with each `|` escaped, because it
/// would end the cell.
fn cell(helper: &Helper<'_>) -> Result<Value, RenderError> {
    let text = optional(helper, 0, "a value")?.render();
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(value) = helper.param(1)
        && let Some((end, _)) = text.char_indices().nth(width(helper, value.value())?)
    {
        text.replace_range(end.., "…");
    }
    Ok(text.replace('\\', "\\\\").replace('|', "\\|").into())
}

/// `{{default VALUE "FALLBACK"}}`: the fallback if the value is missing, null or empty.
fn default(helper: &Helper<'_>) -> Result<Value, RenderError> {
    let value = optional(helper, 0, "a value")?;
    let is_empty = value.is_null() || value == "" || value.as_array().is_some_and(Vec::is_empty);
    if is_empty { required(helper, 1, "a fallback after the value").cloned() } else { Ok(value.clone()) }
}

/// `{{json VALUE}}`: the value as JSON on one line.
fn as_json(helper: &Helper<'_>) -> Result<Value, RenderError> {
    Ok(optional(helper, 0, "a value")?.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Value {
        json!({ "jobs": [
            { "job": "a", "ranks": 8, "cost": {"gpus": 8}, "launch": ["python", "t.py"], "notes": ["a|b\nc"], "workers": [] },
            { "job": "b", "namespace": "team", "ranks": 1, "cost": {"gpus": 0}, "launch": [], "notes": [], "workers": [] },
        ]})
    }

    fn rendered(text: &str) -> Result<String, String> {
        render("t.hbs", text, plan())
    }

    #[test]
    fn helpers_format_values() {
        for (template, text) in [
            ("{{join jobs.[0].launch \" \"}}", "python t.py"),
            ("{{#each jobs}}{{job}}{{#unless @last}}, {{/unless}}{{/each}}", "a, b"),
            ("{{sum jobs \"ranks\"}} {{sum jobs \"cost.gpus\"}}", "9 8"),
            ("{{count (sum jobs \"ranks\") \"rank\"}}, {{count jobs.[1].ranks \"rank\"}}", "9 ranks, 1 rank"),
            ("[{{pad jobs.[0].job 3}}|{{pad jobs.[0].ranks 3 align=\"right\"}}]", "[a  |  8]"),
            ("{{cell jobs.[0].notes.[0]}} {{cell \"abcdef\" 3}}", "a\\|b c abc…"),
            ("{{#each jobs}}{{default namespace \"none\"}} {{/each}}", "none team "),
            ("{{json jobs.[0].launch}} <b> & \"q\"", "[\"python\",\"t.py\"] <b> & \"q\""),
            ("{{#each jobs as |one|}}{{#if one.namespace}}{{one.namespace}}{{else}}-{{/if}}{{/each}}", "-team"),
            ("{{#each changes}}x{{/each}}{{#if changes}}x{{else}}none{{/if}}", "none"),
        ] {
            assert_eq!(rendered(template), Ok(format!("{text}\n")), "{template}");
        }
    }

    #[test]
    fn mistakes_have_a_place_and_a_way_out() {
        for (template, message) in [
            ("\n  {{rnaks}}", "t.hbs:2:3: a plan has no field `rnaks`; did you mean `jobs[].ranks`"),
            // Names in a branch that is not taken are checked too.
            ("{{#if changes}}{{#each changes}}{{efect}}{{/each}}{{/if}}", "did you mean `changes[].effect`?"),
            ("{{#each jobs}}{{#if elastc}}x{{/if}}{{/each}}", "did you mean `jobs[].elastic[]`?"),
            ("{{#each jobs}}{{namespace}}{{/each}}", "`namespace` has no value here; write `{{#if namespace}}`"),
            ("{{ranks}}", "t.hbs:1:1: `ranks` has no value here; a plan has `jobs[].ranks`"),
            ("{{#if ranks}}x{{/if}}", "`ranks` has no value here"),
            ("{{#each jobs}}{{#each rnks}}{{/each}}{{/each}}", "a plan has no field `rnks`"),
            ("{{joinn jobs}}", "there is no helper `joinn`; did you mean `join`"),
            ("{{#jobs}}{{/jobs}}", "`jobs` is a field, not a helper; write `{{#each jobs}}`"),
            ("{{#if (jion jobs)}}{{/if}}", "there is no helper `jion`"),
            ("{{join jobs.[0].job}}", "`join` needs a list"),
            ("{{sum jobs \"cost.gpsu\"}}", "did you mean `jobs[].cost.gpus`"),
            ("{{sum jobs \"job\"}}", "`sum` can only add up whole numbers, not \"a\""),
            ("{{pad jobs.[0].job}}", "`pad` needs a width"),
            ("{{pad jobs.[0].job 9 align=\"top\"}}", "`pad` aligns left or right"),
            ("{{> row}}", "there is no partial `row`"),
            ("{{log jobs}}", "there is no helper `log`"),
            ("{{#each jobs}}", "t.hbs:1:"),
            ("a\n{{#if }}", "t.hbs:2:"),
        ] {
            let found = rendered(template).expect_err(template);
            assert!(found.contains(message), "{template}: {found}");
            assert!(found.starts_with("t.hbs:"), "{found}");
        }
    }
}
