//! The fields of a file in one version, as a tree that a check walks along.

use super::{
    field::{GbfsFieldRule, GbfsFieldType},
    version::GbfsVersion,
};

/// A node of the tree.
#[derive(Debug, Default)]
pub(super) struct FieldSchemaNode {
    pub(super) field_type: Option<GbfsFieldType>,
    pub(super) is_required: bool,
    /// The fields of an object by name; `*` is any name.
    pub(super) fields: Vec<(&'static str, FieldSchemaNode)>,
    /// The elements of a list.
    pub(super) item: Option<Box<FieldSchemaNode>>,
}

impl FieldSchemaNode {
    /// Builds the tree of the fields that a version has.
    pub(super) fn build_field_schema_tree(
        fields: &[GbfsFieldRule],
        version: GbfsVersion,
    ) -> FieldSchemaNode {
        let mut root = FieldSchemaNode {
            field_type: Some(GbfsFieldType::Object),
            is_required: true,
            ..FieldSchemaNode::default()
        };
        for field in fields.iter().filter(|field| (field.from..=field.to).contains(&version)) {
            let node = root.get_or_add_node_at_path(field.path);
            node.field_type = Some(field.field_type);
            node.is_required = field.is_required;
        }
        root
    }

    fn get_or_add_node_at_path(&mut self, path: &'static str) -> &mut FieldSchemaNode {
        let mut node = self;
        for part in path.split('.') {
            let name = part.trim_end_matches("[]");
            let depth = (part.len() - name.len()) / 2;
            node = node.get_or_add_child_node(name);
            for _ in 0..depth {
                node = &mut **node.item.get_or_insert_with(Box::default);
            }
        }
        node
    }

    fn get_or_add_child_node(&mut self, name: &'static str) -> &mut FieldSchemaNode {
        let at = self.fields.iter().position(|(other, _)| *other == name);
        let at = at.unwrap_or_else(|| {
            self.fields.push((name, FieldSchemaNode::default()));
            self.fields.len() - 1
        });
        &mut self.fields[at].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::gbfs::tables::TABLES;

    fn described(node: &FieldSchemaNode, path: &str, wrong: &mut Vec<String>) {
        if node.field_type.is_none() {
            wrong.push(path.to_owned());
        }
        for (name, field) in &node.fields {
            described(field, &format!("{path}.{name}"), wrong);
        }
        if let Some(item) = &node.item {
            described(item, &format!("{path}[]"), wrong);
        }
    }

    #[test]
    fn the_parents_of_a_field_exist_in_each_of_its_versions() {
        let mut wrong = Vec::new();
        for table in TABLES {
            for (version, name) in GbfsVersion::ALL {
                if (table.from..=table.to).contains(&version) {
                    let path = format!("{name} {}", table.name);
                    described(
                        &FieldSchemaNode::build_field_schema_tree(table.fields, version),
                        &path,
                        &mut wrong,
                    );
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn no_version_lists_a_field_twice() {
        for table in TABLES {
            for (version, name) in GbfsVersion::ALL {
                let has = |field: &&GbfsFieldRule| (field.from..=field.to).contains(&version);
                let mut paths: Vec<_> = table.fields.iter().filter(has).map(|it| it.path).collect();
                paths.sort_unstable();
                let n = paths.len();
                paths.dedup();
                assert_eq!(paths.len(), n, "{} in {name}", table.name);
            }
        }
    }
}
