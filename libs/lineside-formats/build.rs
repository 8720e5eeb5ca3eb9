//! Compiles proto/gtfs-realtime.proto with protox, so no protoc is needed. The output is prost messages with serde
//! support, and tables of all fields, required fields and lists.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "gtfs-rt")]
    gtfs_rt::generate_gtfs_rt_code()?;
    Ok(())
}

#[cfg(feature = "gtfs-rt")]
mod gtfs_rt {
    use std::{env, error::Error, fmt::Write, fs, path::PathBuf};

    use protox::prost_reflect::{
        Cardinality, DescriptorPool, FieldDescriptor, Kind, MessageDescriptor,
    };

    const PROTO: &str = "proto/gtfs-realtime.proto";
    const HELPERS: &str = "crate::gtfs_rt::json";

    pub(super) fn generate_gtfs_rt_code() -> Result<(), Box<dyn Error>> {
        println!("cargo::rerun-if-changed={PROTO}");
        let mut compiler = protox::Compiler::new(["proto"])?;
        compiler.include_source_info(true).open_file("gtfs-realtime.proto")?;
        let pool = compiler.descriptor_pool();

        let mut config = prost_build::Config::new();
        config.message_attribute(
            ".",
            "#[derive(serde::Serialize, serde::Deserialize)] #[serde(default)]",
        );
        for message in pool.all_messages().filter(is_gtfs_rt_message) {
            for field in message.fields() {
                config.field_attribute(
                    protobuf_field_path(&field),
                    serde_attribute_for_field(&field),
                );
            }
        }
        config.compile_fds(compiler.file_descriptor_set())?;

        let out = PathBuf::from(env::var("OUT_DIR")?);
        fs::write(out.join("required.rs"), generate_required_fields_table(&pool)?)?;
        fs::write(out.join("known.rs"), generate_known_fields_table(&pool)?)?;
        fs::write(out.join("lists.rs"), generate_repeated_fields_table(&pool)?)?;
        Ok(())
    }

    fn is_gtfs_rt_message(message: &MessageDescriptor) -> bool {
        message.package_name() == "transit_realtime"
    }

    fn protobuf_field_path(field: &FieldDescriptor) -> String {
        format!(".{}", field.full_name())
    }

    /// Returns the serde attribute of a field: snake_case names on output, camelCase also accepted on input, absent
    /// values omitted.
    fn serde_attribute_for_field(field: &FieldDescriptor) -> String {
        let mut parts = Vec::new();
        if field.json_name() != field.name() {
            parts.push(format!("alias = {:?}", field.json_name()));
        }
        let shape = match field.cardinality() {
            Cardinality::Optional => "option",
            Cardinality::Required => "plain",
            Cardinality::Repeated => "list",
        };
        match shape {
            "option" => parts.push("skip_serializing_if = \"Option::is_none\"".to_owned()),
            "list" => parts.push("skip_serializing_if = \"Vec::is_empty\"".to_owned()),
            _ => {}
        }
        match field.kind() {
            Kind::Enum(kind) => {
                let rust = prost_type_path(kind.full_name());
                parts.push(format!("serialize_with = \"{HELPERS}::write_name::<{rust}, _>\""));
                parts.push(format!("deserialize_with = \"{HELPERS}::read_name::<{rust}, _>\""));
            }
            Kind::Message(_) | Kind::String | Kind::Bool => {
                parts.push(format!("deserialize_with = \"{HELPERS}::read_or_default\""));
            }
            _ => parts.push(format!("deserialize_with = \"{HELPERS}::read_{shape}_number\"")),
        }
        format!("#[serde({})]", parts.join(", "))
    }

    /// Returns the path of prost's type for a name such as
    /// `transit_realtime.TripUpdate.StopTimeUpdate.ScheduleRelationship`.
    fn prost_type_path(full_name: &str) -> String {
        let mut segments: Vec<_> = full_name.split('.').skip(1).collect();
        let last = segments.pop().unwrap_or_default();
        let mut path = "crate::gtfs_rt::proto".to_owned();
        for segment in segments {
            path.push_str("::");
            for (i, letter) in segment.char_indices() {
                if letter.is_uppercase() && i > 0 {
                    path.push('_');
                }
                path.extend(letter.to_lowercase());
            }
        }
        path.push_str("::");
        path.push_str(last);
        path
    }

    /// Builds a table with a row per message: its fields, each with the row of its message type, if any.
    fn generate_known_fields_table(pool: &DescriptorPool) -> Result<String, Box<dyn Error>> {
        let messages: Vec<_> = pool.all_messages().filter(is_gtfs_rt_message).collect();
        let mut table = "static MESSAGES: &[SchemaMessage] = &[\n".to_owned();
        for message in &messages {
            writeln!(table, "    SchemaMessage {{ name: {:?}, fields: &[", message.name())?;
            for field in message.fields() {
                let inner = match field.kind() {
                    Kind::Message(inner) => messages.iter().position(|it| *it == inner),
                    _ => None,
                };
                writeln!(
                    table,
                    "        SchemaField {{ number: {}, name: {:?}, message: {inner:?} }},",
                    field.number(),
                    field.name(),
                )?;
            }
            table.push_str("    ] },\n");
        }
        table.push_str("];\n");
        Ok(table)
    }

    /// Builds a table with a row per message: its required fields, and the fields that lead to required ones.
    fn generate_required_fields_table(pool: &DescriptorPool) -> Result<String, Box<dyn Error>> {
        let is_required = |field: &FieldDescriptor| field.cardinality() == Cardinality::Required;
        generate_wanted_fields_table(pool, is_required, |field| {
            Ok(format!("name: {:?}, required: {}", field.name(), is_required(field)))
        })
    }

    /// Builds a table with a row per message: its lists with the size of one value in memory, and the fields that lead
    /// to lists.
    fn generate_repeated_fields_table(pool: &DescriptorPool) -> Result<String, Box<dyn Error>> {
        generate_wanted_fields_table(pool, FieldDescriptor::is_list, |field| {
            let bytes = match field.kind() {
                _ if !field.is_list() => "0".to_owned(),
                Kind::Message(one) => format!("size_of::<{}>()", prost_type_path(one.full_name())),
                Kind::String => "size_of::<String>()".to_owned(),
                // A packed list has several values in one field, so its values cannot be counted by field.
                _ => return Err(format!("{} is a list of numbers", field.full_name()).into()),
            };
            Ok(format!("value_bytes: {bytes}"))
        })
    }

    /// Builds a table with a row per message: its wanted fields and those that lead to wanted ones, each with the text
    /// of `is_wanted`.
    fn generate_wanted_fields_table(
        pool: &DescriptorPool,
        is_wanted: impl Fn(&FieldDescriptor) -> bool,
        format_entry: impl Fn(&FieldDescriptor) -> Result<String, Box<dyn Error>>,
    ) -> Result<String, Box<dyn Error>> {
        let messages: Vec<_> = pool.all_messages().filter(is_gtfs_rt_message).collect();
        let needs = find_messages_containing_fields(&messages, &is_wanted);
        let index = |message: &MessageDescriptor| messages.iter().position(|it| it == message);

        let mut table = "static MESSAGES: &[SchemaMessage] = &[\n".to_owned();
        for message in &messages {
            writeln!(table, "    SchemaMessage {{ name: {:?}, fields: &[", message.name())?;
            for field in message.fields() {
                let inner = match field.kind() {
                    Kind::Message(inner) => index(&inner).filter(|&inner| needs[inner]),
                    _ => None,
                };
                if is_wanted(&field) || inner.is_some() {
                    let (number, entry) = (field.number(), format_entry(&field)?);
                    writeln!(
                        table,
                        "        SchemaField {{ number: {number}, {entry}, message: {inner:?} }},"
                    )?;
                }
            }
            table.push_str("    ] },\n");
        }
        table.push_str("];\n");
        Ok(table)
    }

    /// Returns, for each message, true if it or a message nested in it has a wanted field.
    fn find_messages_containing_fields(
        messages: &[MessageDescriptor],
        is_wanted: impl Fn(&FieldDescriptor) -> bool,
    ) -> Vec<bool> {
        let mut needs = vec![false; messages.len()];
        let index = |message: &MessageDescriptor| messages.iter().position(|it| it == message);
        // Messages nest only a few levels deep, so repeating the pass until nothing changes is cheap.
        loop {
            let before = needs.clone();
            for (i, message) in messages.iter().enumerate() {
                needs[i] |= message.fields().any(|field| match field.kind() {
                    _ if is_wanted(&field) => true,
                    Kind::Message(inner) => index(&inner).is_some_and(|inner| before[inner]),
                    _ => false,
                });
            }
            if needs == before {
                return needs;
            }
        }
    }
}
