//! Some columns of a field table, resolved against the schemas of writers.

use std::sync::{Arc, Mutex, OnceLock};

use arrow_schema::{DataType, Schema as ArrowSchema, SchemaRef};
use lakebed_avro::{Header, Limits, Program, Projection, Schema as AvroSchema};

use super::Records;
use crate::error::{Error, ErrorKind, Result};
use crate::field::FieldSpec;
use crate::words::unknown;

/// Some columns of a field table, to be resolved against writers' schemas.
///
/// The files of a table have one or a few writers' schemas: each is parsed and resolved once.
pub struct RecordResolver {
    columns: Vec<&'static FieldSpec>,
    /// The fields that a guard reads, and before which nested fields it runs, as in [`Program::resolve`].
    guard: &'static [&'static str],
    /// Further fields that are decoded where the writer has them; in batches they have their path on disk as
    /// name.
    besides: Vec<&'static str>,
    rewrite: Option<Rewrite>,
    /// The entries that are kept of maps with int keys; `None` for all.
    keys: Option<Vec<i32>>,
    schema: SchemaRef,
    known: Mutex<Vec<(Vec<u8>, AvroRecords)>>,
    unguarded: OnceLock<Box<RecordResolver>>,
}

/// Renames a writer's schema as in the field table: first the layout of the bytes, then the types to read
/// them as.
pub(crate) type Rewrite = fn(AvroSchema) -> Result<(AvroSchema, AvroSchema)>;

/// How many writers' schemas are kept; a table with more of them is resolved repeatedly.
const KNOWN_WRITERS: usize = 16;

impl RecordResolver {
    /// The named columns of `table`, in that order; all of them for `None`.
    ///
    /// # Errors
    /// `UnknownColumn`, with the known names.
    pub(crate) fn new(
        table: &'static [FieldSpec],
        names: Option<&[String]>,
        guard: &'static [&'static str],
        besides: &'static [&'static str],
    ) -> Result<RecordResolver> {
        let columns = select(table, names)?;
        let schema = record_schema(&columns);
        let (known, unguarded) = (Mutex::new(Vec::new()), OnceLock::new());
        let besides = besides.to_vec();
        Ok(RecordResolver { columns, guard, besides, rewrite: None, keys: None, schema, known, unguarded })
    }

    /// The same resolver for a format whose writers' schemas must be rewritten before fields are matched by
    /// name.
    #[must_use]
    pub(crate) fn rewriting(self, rewrite: Rewrite) -> RecordResolver {
        RecordResolver { rewrite: Some(rewrite), ..self }
    }

    /// The same resolver, with only the entries of these keys in maps with int keys: other entries need not
    /// be decoded, but may be present.
    #[must_use]
    pub(crate) fn keeping(self, keys: Option<Vec<i32>>) -> RecordResolver {
        RecordResolver { keys, ..self }
    }

    /// The same columns, and what the guard reads as further fields.
    pub(crate) fn unguarded(&self) -> &RecordResolver {
        self.unguarded.get_or_init(|| {
            let own = |path: &&&str| !self.columns.iter().any(|spec| spec.disk == **path);
            let mut besides = self.besides.clone();
            for path in self.guard.iter().filter(own) {
                if !besides.contains(path) {
                    besides.push(path);
                }
            }
            Box::new(RecordResolver {
                columns: self.columns.clone(),
                guard: &[],
                besides,
                rewrite: self.rewrite,
                keys: self.keys.clone(),
                schema: Arc::clone(&self.schema),
                known: Mutex::new(Vec::new()),
                unguarded: OnceLock::new(),
            })
        })
    }

    /// What tells resolvers of one format apart by what they decode.
    pub(crate) fn signature(&self) -> String {
        format!("{} {:?}", self.paths().join(","), self.keys)
    }

    /// The keys of [`RecordResolver::keeping`].
    pub(crate) fn keys(&self) -> Option<&[i32]> {
        self.keys.as_deref()
    }

    /// The schema of the conformed batches, the same for all writers.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The records of an Avro file with this header.
    pub(crate) fn resolve(&self, header: &Header, limits: &Limits) -> Result<AvroRecords> {
        let text = header.schema()?;
        if let Ok(known) = self.known.lock()
            && let Some((_, records)) = known.iter().find(|(known, _)| known == text.as_bytes())
        {
            return Ok(records.clone());
        }
        let writer = AvroSchema::parse(text, limits)?;
        let records = match self.rewrite {
            Some(rewrite) => {
                rewrite(writer).and_then(|(writer, reader)| self.resolve_as(&writer, &reader))?
            }
            None => self.resolve_as(&writer, &writer)?,
        };
        let Ok(mut known) = self.known.lock() else { return Ok(records) };
        // If several threads resolve it at the same time, the first result is kept.
        if let Some((_, first)) = known.iter().find(|(known, _)| known == text.as_bytes()) {
            return Ok(first.clone());
        }
        if known.len() < KNOWN_WRITERS {
            known.push((text.as_bytes().to_vec(), records.clone()));
        }
        Ok(records)
    }

    fn resolve_as(&self, writer: &AvroSchema, reader: &AvroSchema) -> Result<AvroRecords> {
        let records = self.records(|path| reader.has(path))?;
        let there = records.columns().iter().filter(|(_, there)| *there);
        let mut paths: Vec<String> = there.map(|(spec, _)| spec.disk.to_owned()).collect();
        let besides = self.besides.iter().filter(|path| reader.has(path));
        paths.extend(besides.map(|path| (*path).to_owned()));
        let resolve = |paths: &[String], guard: &[&str]| {
            let all = || Program::resolve_as(writer, reader, &Projection::Paths(paths.to_vec()), guard);
            let Some(keys) = &self.keys else { return all() };
            let keyed = paths.iter().filter(|path| reader.has_int_keys(path));
            let keys = keyed.map(|path| (path.clone(), keys.clone())).collect();
            let keyed = Projection::Keyed { paths: paths.to_vec(), keys };
            match Program::resolve_as(writer, reader, &keyed, guard) {
                // The writer's pairs do not begin with the key, as selecting by key requires.
                Err(error) if error.kind() == lakebed_avro::ErrorKind::Unresolvable => all(),
                resolved => resolved,
            }
        };
        let mut program = resolve(&paths, self.guard)?;
        if !self.guard.is_empty() && !program.guards() {
            // Nested fields may be decoded too late for the guard; others may still be in time.
            let fields = self.guard.iter().copied().filter(|path| !path.contains('.'));
            program = resolve(&paths, &fields.collect::<Vec<_>>())?;
        }
        if !self.guard.is_empty() && !program.guards() {
            // The writer has put a field that the guard reads after nested fields: it is read as a column
            // instead.
            let guarded = self.guard.iter().filter(|path| reader.has(path));
            paths.extend(guarded.map(|path| (*path).to_owned()));
            program = resolve(&paths, &[])?;
        }
        Ok(AvroRecords { records: Arc::new(records), program: Arc::new(program) })
    }

    /// The records of a file of which only the columns at [`paths`](Self::paths) are read.
    pub(crate) fn resolve_columns(&self, writer: &ArrowSchema) -> Result<Arc<Records>> {
        self.records(|path| field_at(writer, path).is_some()).map(Arc::new)
    }

    /// All paths on disk that the columns, the guard and the further fields need, each once.
    pub(crate) fn paths(&self) -> Vec<String> {
        let columns = self.columns.iter().map(|spec| spec.disk);
        let mut paths: Vec<String> = Vec::new();
        for path in columns.chain(self.guard.iter().chain(&self.besides).copied()) {
            if !paths.iter().any(|known| known == path) {
                paths.push(path.to_owned());
            }
        }
        paths
    }

    fn records(&self, has: impl Fn(&str) -> bool) -> Result<Records> {
        let columns: Vec<_> = self.columns.iter().map(|spec| (*spec, has(spec.disk))).collect();
        let absent = columns.iter().find(|(spec, there)| spec.required && !there);
        if let Some((spec, _)) = absent {
            let message = format!("the writer's schema has no {}", spec.on_disk());
            return Err(Error::new(ErrorKind::Required, message).in_field(spec.column));
        }
        Ok(Records::new(columns, Arc::clone(&self.schema)))
    }
}

/// The type of the field at a dotted path.
pub(crate) fn field_at<'s>(schema: &'s ArrowSchema, path: &str) -> Option<&'s DataType> {
    let (top, below) = path.split_once('.').map_or((path, None), |(top, below)| (top, Some(below)));
    let mut found = schema.fields().find(top)?.1.data_type();
    for name in below.into_iter().flat_map(|below| below.split('.')) {
        let DataType::Struct(children) = found else { return None };
        found = children.find(name)?.1.data_type();
    }
    Some(found)
}

/// The Arrow schema of some columns of a field table.
pub(crate) fn record_schema(columns: &[&'static FieldSpec]) -> SchemaRef {
    Arc::new(ArrowSchema::new(columns.iter().map(|spec| spec.arrow()).collect::<Vec<_>>()))
}

/// The named columns of `table`, in that order; all of them for `None`.
///
/// # Errors
/// `UnknownColumn`, with the known names.
pub(crate) fn select(
    table: &'static [FieldSpec],
    names: Option<&[String]>,
) -> Result<Vec<&'static FieldSpec>> {
    match names {
        None => Ok(table.iter().collect()),
        Some(names) => names.iter().map(|name| spec_of(table, name)).collect(),
    }
}

fn spec_of(table: &'static [FieldSpec], name: &String) -> Result<&'static FieldSpec> {
    table.iter().find(|spec| spec.column == name).ok_or_else(|| {
        let message = unknown("column", name, table.iter().map(|spec| spec.column));
        Error::new(ErrorKind::UnknownColumn, message).in_field(name)
    })
}

/// The records of one writer of Avro files.
#[derive(Clone)]
pub(crate) struct AvroRecords {
    pub(crate) records: Arc<Records>,
    pub(crate) program: Arc<Program>,
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use lakebed_avro::Blocks;

    use super::*;
    use crate::paimon::fields::LIST;

    const THREADS: usize = 8;

    #[test]
    fn a_schema_that_threads_miss_at_once_is_kept_once() {
        // All threads miss it before the first has resolved it.
        static MISSED: Barrier = Barrier::new(THREADS);
        let rewrite: Rewrite = |writer| {
            MISSED.wait();
            Ok((writer.clone(), writer))
        };
        let schema = r#"{"type":"record","name":"r","fields":[{"name":"_FILE_NAME","type":"string"}]}"#;
        let length = [0x80 | ((schema.len() * 2) & 0x7f) as u8, ((schema.len() * 2) >> 7) as u8];
        let bytes = [b"Obj\x01\x02\x16avro.schema", length.as_slice(), schema.as_bytes(), &[0; 17]].concat();
        let (header, _) = Blocks::open(arrow_buffer::Buffer::from(bytes).into(), Limits::DEFAULT).unwrap();
        let names = ["file_name".to_owned()];
        let resolver = RecordResolver::new(&LIST, Some(&names), &[], &[]).unwrap().rewriting(rewrite);
        let resolved: Vec<AvroRecords> = std::thread::scope(|scope| {
            let resolve = || resolver.resolve(&header, &Limits::DEFAULT).unwrap();
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(resolve)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(resolver.known.lock().unwrap().len(), 1);
        assert!(resolved.iter().all(|one| Arc::ptr_eq(&one.program, &resolved[0].program)));
    }
}
