//! What is certain of a file is true of all its rows, whichever engine asks: random rows, with the metrics that
//! writers make of them.

use serde_json::{Map, json};

use super::cases::Suite;
use super::*;

const ROUNDS: u64 = 6_000;

/// SplitMix64 (Steele, Lea, Flood 2014): the same cases on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    /// True once in `times`.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Cell {
    Null,
    Number(f64),
    Text(&'static str),
}

const COLUMNS: [(&str, i32, &str); 6] = [
    ("f", 1, "float"),
    ("d", 2, "double"),
    ("i", 3, "int"),
    ("s", 4, "string"),
    ("n.d", 6, "double"),
    ("n.i", 7, "int"),
];

fn schema() -> Schema {
    let field = |name: &str, id: i32, ty| json!({"id": id, "name": name, "required": false, "type": ty});
    let of = |at: usize, name: &str| field(name, COLUMNS[at].1, json!(COLUMNS[at].2));
    let inner = json!({"type": "struct", "fields": [of(4, "d"), of(5, "i")]});
    let fields = json!([of(0, "f"), of(1, "d"), of(2, "i"), of(3, "s"), field("n", 5, inner)]);
    Schema::from_json(&json!({"type": "struct", "schema-id": 0, "fields": fields})).expect("a schema")
}

/// How engines read NaN: as the greatest value, or as one that is not comparable.
#[derive(Debug, Clone, Copy)]
enum Reading {
    Greatest,
    Incomparable,
}

/// A test on one column: its SQL and whether a cell matches it, three-valued.
struct Test {
    sql: String,
    matches: Box<dyn Fn(Cell, Reading) -> Option<bool>>,
}

fn compared(cell: Cell, literal: Cell, reading: Reading) -> Option<std::cmp::Ordering> {
    match (cell, literal) {
        (Cell::Number(left), Cell::Number(right)) => match (reading, left.is_nan(), right.is_nan()) {
            (Reading::Greatest, true, right) => Some(true.cmp(&right)),
            (Reading::Greatest, false, true) => Some(std::cmp::Ordering::Less),
            _ => left.partial_cmp(&right),
        },
        (Cell::Text(left), Cell::Text(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

fn literal(random: &mut Random, ty: &str) -> (String, Cell) {
    match ty {
        "string" => {
            let text = random.pick(&["", "a", "ab", "abc", "b"]);
            (format!("'{text}'"), Cell::Text(text))
        }
        "int" => {
            let number = random.pick(&["-1", "0", "1", "7", "99999999999"]);
            (number.to_owned(), Cell::Number(number.parse().expect("a number")))
        }
        _ => {
            let number = random.pick(&["-1.5", "0.0", "-0.0", "1.5", "7.0", "'NaN'", "'Infinity'"]);
            (number.to_owned(), Cell::Number(number.trim_matches('\'').parse().expect("a number")))
        }
    }
}

fn test(random: &mut Random, (name, _, ty): (&str, i32, &str)) -> Test {
    let [one, two] = [literal(random, ty), literal(random, ty)];
    let ((first, low), (second, high)) = (one, two);
    type Matches = Box<dyn Fn(Cell, Reading) -> Option<bool>>;
    let of = |sql: String, matches: Matches| Test {
        sql,
        matches: Box::new(
            move |cell, reading| if cell == Cell::Null { None } else { matches(cell, reading) },
        ),
    };
    let orders = |accepts: fn(std::cmp::Ordering) -> bool| -> Matches {
        Box::new(move |cell, reading| Some(compared(cell, low, reading).is_some_and(accepts)))
    };
    let equals =
        move |cell, literal, reading| compared(cell, literal, reading).is_some_and(|found| found.is_eq());
    match random.below(if ty == "int" { 12 } else { 14 }) {
        0 => of(format!("{name} = {first}"), orders(|found| found.is_eq())),
        1 => of(format!("{name} < {first}"), orders(|found| found.is_lt())),
        2 => of(format!("{name} <= {first}"), orders(|found| found.is_le())),
        3 => of(format!("{name} > {first}"), orders(|found| found.is_gt())),
        4 => of(format!("{name} >= {first}"), orders(|found| found.is_ge())),
        5 => {
            of(format!("{name} <> {first}"), Box::new(move |cell, reading| Some(!equals(cell, low, reading))))
        }
        6 => of(
            format!("{name} IN ({first}, {second})"),
            Box::new(move |cell, reading| Some(equals(cell, low, reading) || equals(cell, high, reading))),
        ),
        7 => of(
            format!("{name} NOT IN ({first}, {second})"),
            Box::new(move |cell, reading| Some(!equals(cell, low, reading) && !equals(cell, high, reading))),
        ),
        8 | 9 => of(
            format!("{name} BETWEEN {first} AND {second}"),
            Box::new(move |cell, reading| {
                let above = compared(cell, low, reading).is_some_and(|found| found.is_ge());
                Some(above && compared(cell, high, reading).is_some_and(|found| found.is_le()))
            }),
        ),
        10 => Test { sql: format!("{name} IS NULL"), matches: Box::new(|cell, _| Some(cell == Cell::Null)) },
        11 => Test {
            sql: format!("{name} <=> {first}"),
            matches: Box::new(move |cell, reading| Some(equals(cell, low, reading))),
        },
        _ if ty == "string" => {
            let prefix = first.trim_matches('\'').to_owned();
            let sql = if random.once_in(2) {
                format!("starts_with({name}, '{prefix}')")
            } else {
                format!("{name} LIKE '{prefix}%'")
            };
            of(
                sql,
                Box::new(move |cell, _| Some(matches!(cell, Cell::Text(text) if text.starts_with(&prefix)))),
            )
        }
        _ => of(
            format!("is_nan({name})"),
            Box::new(|cell, _| Some(matches!(cell, Cell::Number(number) if number.is_nan()))),
        ),
    }
}

fn cells(random: &mut Random, ty: &str, rows: usize) -> Vec<Cell> {
    // Few distinct values, so that bounds often meet.
    let has_nulls = random.once_in(3);
    let all = match ty {
        "string" => ["a", "ab", "abc", "b"].map(Cell::Text),
        "int" => [-1.0, 0.0, 1.0, 7.0].map(Cell::Number),
        _ if random.once_in(2) => [1.5, 7.0, -0.0, 0.0].map(Cell::Number),
        _ => [f64::NAN, 7.0, f64::NAN, f64::INFINITY].map(Cell::Number),
    };
    let some = &all[..1 + random.below(4)];
    let cell =
        |random: &mut Random| if has_nulls && random.once_in(3) { Cell::Null } else { random.pick(some) };
    (0..rows).map(|_| cell(random)).collect()
}

fn hex(bytes: impl IntoIterator<Item = u8>) -> String {
    bytes.into_iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(ty: &str, cell: Cell) -> String {
    match cell {
        Cell::Number(number) if ty == "int" => hex((number as i32).to_le_bytes()),
        Cell::Number(number) if ty == "float" => hex((number as f32).to_le_bytes()),
        Cell::Number(number) => hex(number.to_le_bytes()),
        Cell::Text(text) => hex(text.bytes()),
        Cell::Null => panic!("null is no bound"),
    }
}

/// The metrics of a column, some of them left out. Bounds may be NaN, as old writers made them, have lost the sign
/// of zero, or be cut.
fn measure(random: &mut Random, (_, id, ty): (&str, i32, &str), rows: &[Option<Cell>], file: &mut Value) {
    let mut put = |map: &str, value: Value| {
        let maps = file.as_object_mut().expect("a file");
        let map = maps.entry(map).or_insert_with(|| Value::Object(Map::new()));
        map.as_object_mut().expect("a map").insert(id.to_string(), value);
    };
    let is_nan = |cell: &Cell| matches!(cell, Cell::Number(number) if number.is_nan());
    // Rows whose struct is null have no cell; some writers count them as null.
    let counts_all = random.once_in(2);
    let counted: Vec<Cell> = match counts_all {
        true => rows.iter().map(|cell| cell.unwrap_or(Cell::Null)).collect(),
        false => rows.iter().flatten().copied().collect(),
    };
    if !random.once_in(4) {
        put("value_counts", json!(counted.len()));
    }
    if !random.once_in(4) {
        put("null_value_counts", json!(counted.iter().filter(|cell| **cell == Cell::Null).count()));
    }
    if matches!(ty, "float" | "double") && !random.once_in(4) {
        put("nan_value_counts", json!(counted.iter().filter(|cell| is_nan(cell)).count()));
    }
    let bounded: Vec<Cell> =
        counted.iter().copied().filter(|cell| *cell != Cell::Null && !is_nan(cell)).collect();
    let order = |left: &Cell, right: &Cell| compared(*left, *right, Reading::Greatest).expect("an order");
    let (least, most) = (bounded.iter().copied().min_by(order), bounded.iter().copied().max_by(order));
    let old = random.once_in(8) && counted.iter().any(is_nan);
    let spoiled = |random: &mut Random, cell: Cell| match cell {
        _ if old => Cell::Number(f64::NAN),
        Cell::Number(0.0) => Cell::Number(random.pick(&[0.0, -0.0])),
        cell => cell,
    };
    if let (Some(least), Some(most)) = (least, most) {
        let cut = random.once_in(3);
        if !random.once_in(4) {
            let bound = match spoiled(random, least) {
                Cell::Text(text) if cut => Cell::Text(&text[..1]),
                cell => cell,
            };
            put("lower_bounds", json!(bytes(ty, bound)));
        }
        if !random.once_in(4) {
            let bound = match spoiled(random, most) {
                Cell::Text(text) if cut && text.len() > 1 => Cell::Text("b"),
                cell => cell,
            };
            put("upper_bounds", json!(bytes(ty, bound)));
        }
    } else if old {
        put("lower_bounds", json!(bytes(ty, Cell::Number(f64::NAN))));
        put("upper_bounds", json!(bytes(ty, Cell::Number(f64::NAN))));
    }
}

/// A filter of up to three tests, and whether a row matches it.
struct Filter {
    tests: Vec<(usize, bool, Test)>,
    any: bool,
}

impl Filter {
    fn new(random: &mut Random) -> Filter {
        let first = random.below(COLUMNS.len());
        let tests = (0..1 + random.below(3)).map(|at| {
            let column = if at == 0 || random.once_in(2) { first } else { random.below(COLUMNS.len()) };
            (column, random.once_in(4), test(random, COLUMNS[column]))
        });
        Filter { tests: tests.collect(), any: random.once_in(2) }
    }

    fn sql(&self) -> String {
        let tests = self.tests.iter();
        let all = tests.map(|(_, not, test)| format!("{}({})", if *not { "NOT " } else { "" }, test.sql));
        all.collect::<Vec<_>>().join(if self.any { " OR " } else { " AND " })
    }

    fn matches(&self, row: &[Option<Cell>], reading: Reading) -> bool {
        let mut tests = self.tests.iter().map(|(column, not, test)| {
            let found = (test.matches)(row[*column].unwrap_or(Cell::Null), reading);
            // The negation of a test that is unknown is unknown.
            found.is_some_and(|found| found != *not)
        });
        if self.any { tests.any(|matches| matches) } else { tests.all(|matches| matches) }
    }
}

#[test]
fn what_is_certain_of_a_file_is_true_of_its_rows() {
    let (schema, partition) = (schema(), PartitionType { fields: Vec::new() });
    let mut random = Random(11);
    let (mut certain, mut of_floats) = (0, 0);
    for _ in 0..ROUNDS {
        let rows = 1 + random.below(4);
        let mut columns: Vec<Vec<Option<Cell>>> = Vec::new();
        let is_there: Vec<bool> = (0..rows).map(|_| !random.once_in(4)).collect();
        let mut file = json!({"record_count": rows});
        for column in COLUMNS {
            let nested = column.0.contains('.');
            let cells = cells(&mut random, column.2, rows).into_iter().zip(&is_there);
            let cells =
                cells.map(|(cell, is_there)| (!nested || *is_there).then_some(cell)).collect::<Vec<_>>();
            measure(&mut random, column, &cells, &mut file);
            columns.push(cells);
        }
        let filter = Filter::new(&mut random);
        let predicate = Predicate::parse(&filter.sql()).expect("a filter");
        let bound =
            RowFilter::new(&predicate, &schema, &partition, Names::Exact, Logic::Sql).expect("a filter");
        let metrics = MetricsEvaluator::new(&bound);
        let must = metrics.must_match(&entry(&file)).expect("an answer").value(0);
        if !must {
            continue;
        }
        for row in 0..rows {
            let row: Vec<Option<Cell>> = columns.iter().map(|column| column[row]).collect();
            for reading in [Reading::Greatest, Reading::Incomparable] {
                assert!(filter.matches(&row, reading), "{}: {row:?} ({reading:?}) of {file}", filter.sql());
            }
        }
        certain += 1;
        of_floats += u32::from(filter.tests.iter().any(|(column, ..)| *column < 2));
    }
    assert!(certain > 300 && of_floats > 50, "only {certain} and {of_floats}: the test would not notice");
}

/// Commits decide as SQL does, where null does not match the negation of a test: all other answers are the same.
#[test]
fn strict_metrics_of_commits() {
    let suite = Suite::new("strict_metrics");
    let mut differ = Vec::new();
    for (case, setting) in suite.cases() {
        let file = entry(suite.shared(case, "file", "files"));
        let must = |logic| {
            let filter =
                bind_with(logic, &case["filter"], &setting.schema, &setting.partition, setting.names);
            filter
                .ok()
                .map(|filter| MetricsEvaluator::new(&filter).must_match(&file).expect("an answer").value(0))
        };
        let [engines, commits] = [Logic::TwoValued, Logic::Sql].map(must);
        if engines != commits {
            assert_eq!([engines, commits], [Some(true), Some(false)], "{case}");
            let filter = &case["filter"];
            let words = [&filter["type"], &filter["term"]].map(|word| word.as_str().expect("a word"));
            differ.push(words.join(" "));
        }
    }
    differ.sort_unstable();
    differ.dedup();
    // There are nulls, or they are not counted.
    let of_nulls = [
        "not-eq all_nulls",
        "not-eq some_nan_correct_bounds",
        "not-in all_nulls",
        "not-in some_nan_correct_bounds",
        "not-in some_nulls",
        "not-nan all_nulls_double",
        "not-nan no_nans",
        "not-starts-with all_nulls",
        "not-starts-with some_nulls",
    ];
    assert_eq!(differ, of_nulls);
}
