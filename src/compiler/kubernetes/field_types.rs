//! The types of the fields of Kubernetes' objects, for the check of patches. They are read from `field_types.txt`: see [`Struct`]
//! and [`Type`].

const TABLE: &str = include_str!("field_types.txt");

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Not checked.
    Any,
    Boolean,
    Integer,
    Number,
    Text,
    Quantity,
    /// A number or a name.
    Port,
    /// One of the words, which are separated by `|`.
    Word(&'static str),
    List(&'static str),
    /// A map whose keys are names.
    Map(&'static str),
    Fields(Struct),
}

/// A type with named fields: its line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Struct(&'static str);

impl Type {
    /// Parses a type in the notation of the table.
    pub fn parse(text: &'static str) -> Self {
        let within = |open, close| text.strip_prefix(open)?.strip_suffix(close);
        match text {
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::Text,
            "quantity" => Self::Quantity,
            "port" => Self::Port,
            _ if text.contains('|') && !text.starts_with('[') => Self::Word(text),
            _ => within('[', ']')
                .map(Self::List)
                .or_else(|| within('{', '}').map(Self::Map))
                .or_else(|| Struct::find(text).map(Self::Fields))
                .unwrap_or(Self::Any),
        }
    }
}

impl Struct {
    /// Finds the type with a name. The name of an object's type is its kind. `Pod` is the template of a pod.
    pub fn find(name: &str) -> Option<Self> {
        let is_row = |line: &&str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' '));
        TABLE.lines().filter(|line| !line.starts_with('#')).find(is_row).map(Self)
    }

    /// Its fields with their types.
    pub fn fields(self) -> impl Iterator<Item = (&'static str, Type)> {
        let fields = self.0.split(' ').skip(1).filter_map(|field| field.split_once(':'));
        fields.map(|(name, of)| (name, Type::parse(of)))
    }

    /// The type of a field.
    pub fn field(self, name: &str) -> Option<Type> {
        self.fields().find(|(field, _)| *field == name).map(|(_, of)| of)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::StatefulSet;
    use k8s_openapi::api::batch::v1::Job;
    use k8s_openapi::api::core::v1::{
        ConfigMap, PersistentVolume, PersistentVolumeClaim, PodTemplateSpec, Secret, Service, ServiceAccount,
    };
    use k8s_openapi::api::networking::v1::NetworkPolicy;
    use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
    use k8s_openapi::api::resource::v1::ResourceClaimTemplate;
    use serde_json::{Value as Json, json};

    use super::{Struct, Type};

    /// Samples of values for a field of a type, right and wrong ones, each with a flag: whether Kubernetes reads the value.
    fn samples(name: &str, of: Type) -> Vec<(Json, bool)> {
        let below = |of: &'static str| samples(name, Type::parse(of));
        match of {
            Type::Any => Vec::new(),
            Type::Boolean => vec![(json!(true), true), (json!("true"), false)],
            Type::Integer => vec![(json!(3), true), (json!("3"), false)],
            Type::Number => vec![(json!(0.5), true), (json!("0.5"), false)],
            Type::Text if name.ends_with("imestamp") => vec![(json!("2026-01-01T00:00:00Z"), true), (json!(3), false)],
            // `text` is also valid base64, for fields that need it.
            Type::Text => vec![(json!("text"), true), (json!(3), false), (json!(true), false)],
            Type::Quantity => vec![(json!("64Gi"), true), (json!([]), false)],
            Type::Port => vec![(json!(80), true), (json!("http"), true), (json!(true), false)],
            Type::Word(words) => vec![(json!(words.split('|').next()), true), (json!(3), false)],
            Type::List(of) => {
                let items = below(of).into_iter().map(|(value, fits)| (json!([value]), fits));
                items.chain([(json!({"a": 1}), false), (json!("a"), false)]).collect()
            }
            Type::Map(of) => {
                let values = below(of).into_iter().map(|(value, fits)| (json!({"a": value}), fits));
                values.chain([(json!(["a"]), false), (json!("a"), false)]).collect()
            }
            Type::Fields(of) => {
                let fields = of.fields().flat_map(|(name, of)| {
                    samples(name, of).into_iter().map(move |(value, fits)| (json!({name: value}), fits))
                });
                fields.chain([(json!("a"), false)]).collect()
            }
        }
    }

    fn read<T: serde::de::DeserializeOwned>(object: Json) -> bool {
        serde_json::from_value::<T>(object).is_ok()
    }

    /// Whether a value can be read as a type of Kubernetes.
    type Reads = fn(Json) -> bool;

    /// Also tests that Kubernetes has the fields. The types of Kubernetes ignore unknown fields, so a wrong value for a
    /// field that does not exist would be accepted.
    #[test]
    fn kubernetes_has_these_fields_with_these_types() {
        let rbac = "rbac.authorization.k8s.io/v1";
        let kinds: [(&str, &str, Reads); 15] = [
            ("Pod", "v1", read::<PodTemplateSpec>),
            ("StatefulSet", "apps/v1", read::<StatefulSet>),
            ("Job", "batch/v1", read::<Job>),
            ("Service", "v1", read::<Service>),
            ("ServiceAccount", "v1", read::<ServiceAccount>),
            ("ConfigMap", "v1", read::<ConfigMap>),
            ("Secret", "v1", read::<Secret>),
            ("PersistentVolume", "v1", read::<PersistentVolume>),
            ("PersistentVolumeClaim", "v1", read::<PersistentVolumeClaim>),
            ("NetworkPolicy", "networking.k8s.io/v1", read::<NetworkPolicy>),
            ("Role", rbac, read::<Role>),
            ("RoleBinding", rbac, read::<RoleBinding>),
            ("ClusterRole", rbac, read::<ClusterRole>),
            ("ClusterRoleBinding", rbac, read::<ClusterRoleBinding>),
            ("ResourceClaimTemplate", "resource.k8s.io/v1", read::<ResourceClaimTemplate>),
        ];
        let mut tried = 0;
        for (kind, version, reads) in kinds {
            let of = Struct::find(kind).expect(kind);
            for (mut object, fits) in samples("", Type::Fields(of)).into_iter().filter(|(object, _)| object.is_object())
            {
                object["apiVersion"] = json!(version);
                object["kind"] = json!(kind);
                assert_eq!(reads(object.clone()), fits, "{object}");
                tried += 1;
            }
        }
        assert!(tried > 5_000, "only {tried} values");
    }

    #[test]
    fn every_type_of_the_table_is_known() {
        for row in super::TABLE.lines().filter(|line| !line.starts_with('#')) {
            for (_, of) in row.split(' ').skip(1).map(|field| field.split_once(':').expect(field)) {
                let name = of.trim_matches(['[', ']', '{', '}']);
                let is_type = name.starts_with(|c: char| c.is_ascii_uppercase()) && !name.contains('|');
                assert!(!is_type || Struct::find(name).is_some(), "{row}: {name}");
            }
        }
    }
}
