//! `content_stats`: statistics of columns in the columns' own types (Iceberg specification, "Content Stats"; Iceberg's
//! `StatsUtil.java`).

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, new_null_array};
use arrow_schema::{DataType, Field, Fields};

use super::columns::{StoredFields, built};
use super::fields::stats::{
    AVG_VALUE_SIZE, COLUMNS, FIRST, LOWER_BOUND, LOWER_CORNER, NAN_VALUE_COUNT, NULL_VALUE_COUNT, STEP,
    TIGHT_BOUNDS, UPPER_BOUND, UPPER_CORNER, VALUE_COUNT,
};
use super::stored::{id_of, position};
use super::write::{GivenFields, StoredColumn, stored_values, struct_of, typed_with_id, with_id};
use crate::conform::conform;
use crate::error::Result;
use crate::iceberg::partition::conform as conform_value;
use crate::iceberg::types::{Schema, Type};
use crate::iceberg::write::avro_name;

/// The statistics of the columns of a table, a struct of each.
pub(super) struct ContentStats(Vec<StatsColumn>);

/// The statistics of a column.
struct StatsColumn {
    /// The name of the column; where no schema says it, its id.
    name: String,
    /// The id of its struct.
    id: i32,
    members: Vec<StatsMember>,
}

/// One of them.
struct StatsMember {
    offset: i32,
    name: &'static str,
    form: MemberForm,
}

enum MemberForm {
    /// A count or a flag.
    Plain(DataType),
    /// A bound, in the column's type.
    Bound(Type),
    /// A bound in the type that it is stored in.
    Stored(DataType),
    /// A corner of the box around geometries.
    Corner(&'static [(i32, &'static str); 4]),
}

impl ContentStats {
    /// Those of the columns of a schema that have statistics: primitive ones and variants, outside of lists and maps.
    /// The type is the same for all manifests. `only` are the ids of those that are wanted; `None` for all.
    pub(super) fn of_schema(schema: &Schema, only: Option<&[i32]>) -> ContentStats {
        let mut names = HashSet::new();
        let column = |(name, field): (&str, &crate::iceberg::types::FieldRef)| {
            let id = struct_id(field.id)?;
            let is_wanted = only.is_none_or(|only| only.contains(&field.id));
            if !is_wanted || field.ty == Type::Unknown || !schema.is_single(field.id) {
                return None;
            }
            // Two columns may have one full name, since names may have dots.
            let taken = !names.insert(name.to_owned());
            let name = if taken { format!("{name}_{}", field.id) } else { name.to_owned() };
            Some(StatsColumn { name, id, members: metrics_of(&field.ty) })
        };
        ContentStats(schema.leaves().filter_map(column).collect())
    }

    /// Those that a file stores in a struct of these fields, as it stores them.
    pub(super) fn of_file(stored: &Fields) -> ContentStats {
        let column = |field: &Arc<Field>| {
            let (id, DataType::Struct(members)) = (id_of(field)?, field.data_type()) else { return None };
            let column_id = id.checked_sub(FIRST)? / STEP;
            (struct_id(column_id) == Some(id)).then(|| StatsColumn {
                name: column_id.to_string(),
                id,
                members: metrics_in(id, members),
            })
        };
        ContentStats(stored.iter().filter_map(column).collect())
    }

    /// The ids of the structs.
    pub(super) fn ids(&self) -> Vec<i32> {
        self.0.iter().map(|column| column.id).collect()
    }

    /// The place of the struct of a column of the table.
    pub(super) fn position(&self, column_id: i32) -> Option<usize> {
        self.0.iter().position(|column| struct_id(column_id) == Some(column.id))
    }

    /// The Arrow fields, a struct for each column.
    pub(super) fn fields(&self) -> Fields {
        let field = |column: &StatsColumn| Field::new(&column.name, DataType::Struct(column.fields()), true);
        self.0.iter().map(field).collect()
    }

    /// The structs of the columns that are given, by their names.
    ///
    /// # Errors
    /// `UnknownColumn` for a column or a statistic that there is not; those of [`conform`] and [`stored_values`].
    pub(super) fn stored(&self, given: &GivenFields<'_>) -> Result<Vec<StoredColumn>> {
        given.check(self.0.iter().map(|column| column.name.as_str()))?;
        let stored = self.0.iter().filter_map(|column| {
            let stored = column.stored(given.child(&column.name)?, given.rows);
            let stored = stored.map_err(|error| error.within(&column.name));
            Some(stored.map(|values| {
                (with_id(&avro_name(&column.name), values.data_type(), false, column.id), values)
            }))
        });
        stored.collect()
    }

    /// The structs of all columns, null where the file has none.
    pub(super) fn columns(&self, stored: &StoredFields<'_>) -> Vec<Result<ArrayRef>> {
        let column = |column: &StatsColumn| match stored.child(column.id) {
            Some(metrics) => column.read(metrics).map_err(|error| error.within(&column.name)),
            None => Ok(new_null_array(&DataType::Struct(column.fields()), stored.rows)),
        };
        self.0.iter().map(column).collect()
    }
}

impl StatsColumn {
    fn fields(&self) -> Fields {
        self.members.iter().map(|metric| Field::new(metric.name, metric.form.data_type(), true)).collect()
    }

    fn read(&self, stored: &ArrayRef) -> Result<ArrayRef> {
        let parent = StoredFields::of(stored)?;
        let columns = self.members.iter().map(|metric| match parent.child(self.id + metric.offset) {
            Some(values) => metric.form.read(values, self.id).map_err(|error| error.within(metric.name)),
            None => Ok(new_null_array(&metric.form.data_type(), parent.rows)),
        });
        built(self.fields(), columns, stored)
    }
}

impl StatsColumn {
    fn stored(&self, given: &ArrayRef, rows: usize) -> Result<ArrayRef> {
        let given = GivenFields::of(Some(given), rows)?;
        given.check(self.members.iter().map(|member| member.name))?;
        let stored = self.members.iter().map(|member| {
            let values = member.form.stored(given.child(member.name), rows, self.id);
            let values = values.map_err(|error| error.within(member.name))?;
            let id = self.id + member.offset;
            let field = match &member.form {
                MemberForm::Bound(ty) => typed_with_id(member.name, &values, ty, id),
                _ => with_id(member.name, values.data_type(), false, id),
            };
            Ok((field, values))
        });
        struct_of(stored.collect::<Result<_>>()?, given.nulls(), rows)
    }
}

impl MemberForm {
    fn stored(&self, given: Option<&ArrayRef>, rows: usize, id: i32) -> Result<ArrayRef> {
        let absent = || new_null_array(&self.data_type(), rows);
        match self {
            MemberForm::Bound(ty) => stored_values(given.unwrap_or(&absent()), ty),
            MemberForm::Plain(data_type) | MemberForm::Stored(data_type) => {
                given.map_or_else(|| Ok(absent()), |given| conform(given, data_type))
            }
            MemberForm::Corner(axes) => {
                let given = GivenFields::of(given, rows)?;
                given.check(axes.iter().map(|(_, name)| *name))?;
                let axis = |(offset, name): &(i32, &'static str)| {
                    let values = match given.child(name) {
                        Some(values) => conform(values, &DataType::Float64)?,
                        None => new_null_array(&DataType::Float64, rows),
                    };
                    Ok((with_id(name, &DataType::Float64, false, id + offset), values))
                };
                struct_of(axes.iter().map(axis).collect::<Result<_>>()?, given.nulls(), rows)
            }
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            MemberForm::Plain(data_type) | MemberForm::Stored(data_type) => data_type.clone(),
            MemberForm::Bound(ty) => ty.arrow(),
            MemberForm::Corner(axes) => DataType::Struct(axes_of(*axes)),
        }
    }

    fn read(&self, stored: &ArrayRef, id: i32) -> Result<ArrayRef> {
        match self {
            MemberForm::Plain(data_type) => conform(stored, data_type),
            MemberForm::Bound(ty) => conform_value(stored, ty),
            MemberForm::Stored(_) => Ok(Arc::clone(stored)),
            MemberForm::Corner(axes) => {
                let parent = StoredFields::of(stored)?;
                let columns = axes.iter().map(|(offset, _)| match parent.child(id + offset) {
                    Some(values) => conform(values, &DataType::Float64),
                    None => Ok(new_null_array(&DataType::Float64, parent.rows)),
                });
                built(axes_of(*axes), columns, stored)
            }
        }
    }
}

fn axes_of(axes: &[(i32, &str)]) -> Fields {
    axes.iter().map(|(_, name)| Field::new(*name, DataType::Float64, true)).collect()
}

/// The id of a column's struct; `None` for a column that cannot have one.
fn struct_id(column_id: i32) -> Option<i32> {
    (0..COLUMNS).contains(&column_id).then(|| FIRST + STEP * column_id)
}

/// What columns of a type have. Bounds of variants are objects of bounds by path, which are not read.
fn metrics_of(ty: &Type) -> Vec<StatsMember> {
    let is_geo = matches!(ty, Type::Geometry { .. } | Type::Geography { .. });
    let is_float = matches!(ty, Type::Float | Type::Double);
    let has_size = is_geo || matches!(ty, Type::String | Type::Binary | Type::Variant);
    let bounds = match ty {
        Type::Variant => None,
        _ if is_geo => Some((MemberForm::Corner(&LOWER_CORNER), MemberForm::Corner(&UPPER_CORNER))),
        ty => Some((MemberForm::Bound(ty.clone()), MemberForm::Bound(ty.clone()))),
    };
    let has_flag = bounds.is_some() && !is_geo;
    let bounds = bounds
        .into_iter()
        .flat_map(|(lower, upper)| [metric(LOWER_BOUND, lower), metric(UPPER_BOUND, upper)]);
    let plain =
        |is_there: bool, which, data_type| is_there.then(|| metric(which, MemberForm::Plain(data_type)));
    let counts = [
        plain(has_flag, TIGHT_BOUNDS, DataType::Boolean),
        plain(true, VALUE_COUNT, DataType::Int64),
        plain(true, NULL_VALUE_COUNT, DataType::Int64),
        plain(is_float, NAN_VALUE_COUNT, DataType::Int64),
        plain(has_size, AVG_VALUE_SIZE, DataType::Int32),
    ];
    bounds.chain(counts.into_iter().flatten()).collect()
}

/// What a struct with an id has of statistics.
fn metrics_in(id: i32, stored: &Fields) -> Vec<StatsMember> {
    let bound = |which: (i32, &'static str), corner| {
        let data_type = stored.get(position(stored, id + which.0)?)?.data_type();
        let form = match data_type {
            DataType::Struct(axes) if corner_is(axes, id, corner) => MemberForm::Corner(corner),
            data_type => MemberForm::Stored(data_type.clone()),
        };
        Some(metric(which, form))
    };
    let plain = |which: (i32, &'static str), data_type| {
        position(stored, id + which.0).map(|_| metric(which, MemberForm::Plain(data_type)))
    };
    let metrics = [
        bound(LOWER_BOUND, &LOWER_CORNER),
        bound(UPPER_BOUND, &UPPER_CORNER),
        plain(TIGHT_BOUNDS, DataType::Boolean),
        plain(VALUE_COUNT, DataType::Int64),
        plain(NULL_VALUE_COUNT, DataType::Int64),
        plain(NAN_VALUE_COUNT, DataType::Int64),
        plain(AVG_VALUE_SIZE, DataType::Int32),
    ];
    metrics.into_iter().flatten().collect()
}

/// Whether a struct has a corner's axes.
fn corner_is(axes: &Fields, id: i32, corner: &[(i32, &str); 4]) -> bool {
    corner.iter().any(|(offset, _)| position(axes, id + offset).is_some())
}

fn metric((offset, name): (i32, &'static str), form: MemberForm) -> StatsMember {
    StatsMember { offset, name, form }
}
