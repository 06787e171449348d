//! Properties of all predicates, tested on many generated ones.

use arrow_array::Array;

use super::super::op::OperatorForm;
use super::super::value::Reader;
use super::super::{MAX_TEXT_BYTES, Operator};
use super::*;

const ROUNDS: u64 = 4000;

fn literal(random: &mut Random) -> Literal {
    let text = random.pick(&["", "it's", "a\"b", "x\\%", "2026-01-01", "é\n"]).to_string();
    match random.below(9) {
        0 => Literal::Null,
        1 => Literal::Boolean(random.below(2) == 0),
        2 => Literal::Number(random.pick(&["0", "-5", "1.50", "1e-7", "-.5"]).to_string()),
        3 => Literal::String(text),
        4 => Literal::Date(text),
        5 => Literal::Time(text),
        6 => Literal::Timestamp(text),
        7 => Literal::Uuid(text),
        _ => Literal::Binary(text.into_bytes()),
    }
}

fn operator(random: &mut Random) -> Operator {
    *random.pick(&Operator::all().collect::<Vec<_>>())
}

fn literal_count(operator: Operator, random: &mut Random) -> usize {
    match operator.row().form {
        OperatorForm::Postfix | OperatorForm::Test => 0,
        OperatorForm::Infix | OperatorForm::Function => 1,
        OperatorForm::Between => 2,
        OperatorForm::Pattern => 1 + random.below(2),
        OperatorForm::List => 1 + random.below(4),
    }
}

fn predicate(random: &mut Random, depth: usize) -> Predicate {
    let terms =
        |random: &mut Random| (0..2 + random.below(2)).map(|_| predicate(random, depth - 1)).collect();
    match random.below(if depth == 0 { 8 } else { 12 }) {
        0 => Predicate::Constant(random.below(2) == 0),
        1..8 => {
            let column =
                random.pick(&["a", "A b", "x.y", "quo\"te", "and", "größe", "bucket", ""]).to_string();
            let transform = match random.below(6) {
                0 => Some(Call { name: "day".to_owned(), parameter: None }),
                1 => Some(Call { name: "bucket".to_owned(), parameter: Some(16) }),
                _ => None,
            };
            let operator = operator(random);
            let literals = (0..literal_count(operator, random)).map(|_| literal(random)).collect();
            Predicate::leaf(Term { column, transform, key: None }, operator, literals)
        }
        8 | 9 => Predicate::and(terms(random)),
        _ => Predicate::or(terms(random)),
    }
}

#[test]
fn the_text_of_a_predicate_reads_back_to_it() {
    let mut random = Random(1);
    for _ in 0..ROUNDS {
        let predicate = predicate(&mut random, 4);
        assert_eq!(parse(&predicate.to_string()), predicate);
        let negated = predicate.clone().negate();
        assert_eq!(parse(&format!("NOT ({predicate})")), parse(&negated.to_string()));
        assert_eq!(negated.negate(), predicate);
    }
}

/// Malformed text is refused with a position, or parsed to a predicate whose text parses to the same; nothing panics.
#[test]
fn malformed_text_is_refused_or_read() {
    let mut random = Random(4);
    for _ in 0..ROUNDS {
        let mut text: Vec<char> = predicate(&mut random, 2).to_string().chars().collect();
        for _ in 0..1 + random.below(3) {
            let place = random.below(text.len() + 1);
            match random.below(3) {
                0 => text.insert(place, *random.pick(&['(', ')', '\'', '"', '.', '-', '\n', 'é', '\0', '9'])),
                1 => text.truncate(place),
                _ => drop(text.drain(place..(place + 3).min(text.len()))),
            }
        }
        match Predicate::parse(&text.iter().collect::<String>()) {
            Ok(predicate) => assert_eq!(parse(&predicate.to_string()), predicate),
            Err(error) => assert!(error.message().ends_with('^'), "{error}"),
        }
    }
}

/// What texts are made of, valid or not.
const PIECES: &[&str] = &[
    "a", "b.c", "\"x y\"", "größe", "_", "é", "²", "🦀", "\0", "AND ", " OR ", "NOT ", "IS ", "NULL", "in",
    "LIKE ", "1", "1.", ".5", "1e", "1e-", "10L", "0x", " kB ", "'x'", "'", "''", "\"", "\"\"", "X'00'",
    "x'", "N'", "DATE '", "(", ")", ",", ".", "=", "==", "!", "<", "<=>", ">", "-", "--", "+", "/*", "*/",
    "$$", "?", "\\", " ", "\n", "\r\n", "\u{a0}", "is_nan(",
];

#[test]
fn random_text_is_refused_or_read() {
    let mut random = Random(7);
    for _ in 0..5 * ROUNDS {
        let text: String = (0..1 + random.below(12)).map(|_| *random.pick(PIECES)).collect();
        match Predicate::parse(&text) {
            Ok(predicate) => assert_eq!(parse(&predicate.to_string()), predicate, "{text:?}"),
            Err(error) => assert!(error.message().ends_with('^'), "{text:?}: {error}"),
        }
    }
}

/// A lexer that looks again and again at what is before a token would take hours.
#[test]
fn long_texts_take_seconds() {
    let start = std::time::Instant::now();
    for piece in PIECES {
        for first in ["", "'", "\""] {
            let text = format!("{first}{}", piece.repeat(MAX_TEXT_BYTES / 8 / piece.len()));
            if let Err(error) = Predicate::parse(&text) {
                assert!(error.message().ends_with('^'), "{first}{piece}: {error}");
            }
        }
    }
    assert!(start.elapsed().as_secs() < 120, "{:?}", start.elapsed());
}

#[test]
fn the_table_is_in_order_and_negations_are_mutual() {
    for (index, operator) in Operator::all().enumerate() {
        assert_eq!(operator as usize, index);
        assert_eq!(operator.negation().negation(), operator);
        assert_eq!(operator.negation().row().form, operator.row().form);
        assert_ne!(operator.negation(), operator);
    }
}

/// A short column of few distinct values, and literals around them.
fn column(random: &mut Random) -> (ArrayRef, Vec<&'static str>) {
    let length = 1 + random.below(4);
    let mut pick = |choices: usize| -> Vec<Option<usize>> {
        (0..length).map(|_| Some(random.below(choices + 1)).filter(|choice| *choice < choices)).collect()
    };
    fn of<V: Copy>(picks: Vec<Option<usize>>, values: &[V]) -> Vec<Option<V>> {
        picks.into_iter().map(|pick| pick.map(|index| values[index])).collect()
    }
    match pick(5)[0].unwrap_or(5) {
        0 => (array::<Int32Array, _>(of(pick(4), &[-1, 0, 1, 2])), vec!["-1", "0", "1", "5", "NULL"]),
        1 => {
            let values = [-0.0, 0.0, 1.5, f64::NAN, -f64::NAN, f64::NEG_INFINITY];
            (
                array::<Float64Array, _>(of(pick(6), &values)),
                vec!["0.0", "-0.0", "1.5", "'NaN'", "'inf'", "NULL", "1E400", "-1E400"],
            )
        }
        2 => (array::<BooleanArray, _>(of(pick(2), &[true, false])), vec!["TRUE", "FALSE", "NULL"]),
        3 => {
            (array::<Date32Array, _>(of(pick(3), &[-1, 0, 1])), vec!["'1970-01-01'", "'1969-12-31'", "NULL"])
        }
        4 => {
            let decimals = Decimal128Array::from(of(pick(3), &[-150, 0, 99])).with_precision_and_scale(5, 2);
            (Arc::new(decimals.unwrap()), vec!["-1.5", "0", "0.99", "100"])
        }
        _ => {
            let values = ["", "a", "ab", "abc", "é"];
            (array::<StringArray, _>(of(pick(5), &values)), vec!["''", "'a'", "'ab'", "'b'", "'%b_'", "NULL"])
        }
    }
}

/// A condition on `c0` that is valid for the column, with its literals; `None` where the operator is not.
fn condition(random: &mut Random, array: &ArrayRef, literals: &[&str]) -> Option<Predicate> {
    let operator = operator(random);
    let applies = match operator.row().form {
        OperatorForm::Test => *array.data_type() == DataType::Float64,
        OperatorForm::Pattern | OperatorForm::Function => *array.data_type() == DataType::Utf8,
        _ => true,
    };
    let count =
        literal_count(operator, random).min(if operator.row().form == OperatorForm::Pattern { 1 } else { 4 });
    let literals = (0..count)
        .map(|_| match parse(&format!("c0 = {}", random.pick(literals))) {
            Predicate::Leaf(mut leaf) => leaf.literals.remove(0),
            other => panic!("{other}"),
        })
        .collect();
    applies.then(|| Predicate::leaf("c0", operator, literals))
}

fn run(predicate: &Predicate, array: &ArrayRef) -> Vec<bool> {
    let bound = predicate.bind(&schema(&[array.data_type().clone()])).unwrap();
    bound.evaluate(std::slice::from_ref(array), array.len()).unwrap().iter().collect()
}

#[test]
fn a_condition_and_its_negation_part_the_values() {
    let mut random = Random(2);
    for _ in 0..ROUNDS {
        let (array, literals) = column(&mut random);
        let Some(condition) = condition(&mut random, &array, &literals) else { continue };
        let has_null = match &condition {
            Predicate::Leaf(leaf) => {
                leaf.literals.contains(&Literal::Null)
                    && !matches!(leaf.operator, Operator::EqNullSafe | Operator::NotEqNullSafe)
            }
            _ => false,
        };
        let negated = run(&condition.clone().negate(), &array);
        for (row, (yes, no)) in run(&condition, &array).into_iter().zip(negated).enumerate() {
            assert!(!(yes && no), "{condition} on {array:?} row {row}");
            assert!(yes || no || has_null || array.is_null(row), "{condition} on {array:?} row {row}");
        }
    }
}

/// The least and greatest value as arrays of one row, as a writer would record them; some leave out NaN.
fn bounds(random: &mut Random, array: &ArrayRef) -> (ArrayRef, ArrayRef) {
    let column = Reader::new(array.as_ref());
    let skip_nan = random.below(2) == 0;
    let mut order: Vec<_> = (0..array.len())
        .filter(|row| column.get(*row).is_some_and(|value| !(skip_nan && value.is_nan())))
        .collect();
    order.sort_by_key(|row| column.get(*row));
    let mut one = |row: Option<&usize>| match row {
        Some(row) if random.below(8) != 0 => array.slice(*row, 1),
        _ => arrow_array::new_null_array(array.data_type(), 1),
    };
    (one(order.first()), one(order.last()))
}

/// What a writer would record of the rows, with some of it left out.
fn ranges(random: &mut Random, array: &ArrayRef) -> ColumnRanges {
    let (lower, upper) = bounds(random, array);
    let column = Reader::new(array.as_ref());
    let nans = (0..array.len()).filter(|row| column.get(*row).is_some_and(|value| value.is_nan())).count();
    let mut count = |count: usize| Int64Array::from(vec![(random.below(4) != 0).then_some(count as i64)]);
    let (values, nulls, nans) = (count(array.len()), count(array.null_count()), count(nans));
    let counts = Counts { values: Some(&values), nulls: Some(&nulls), nans: Some(&nans) };
    ColumnRanges { lower, upper, contents: Contents::from_counts(1, counts) }
}

#[test]
fn ranges_never_drop_a_match_nor_promise_a_miss() {
    let mut random = Random(3);
    let (mut dropped, mut promised) = (0, 0);
    for round in 0..8 * ROUNDS {
        let (array, literals) = column(&mut random);
        let Some(one) = condition(&mut random, &array, &literals) else { continue };
        let other = condition(&mut random, &array, &literals).unwrap_or(Predicate::Constant(false));
        let join = *random.pick(&[Predicate::and, Predicate::or]);
        let predicate = join(vec![one, other]);
        let logic = [Logic::ThreeValued, Logic::TwoValued, Logic::Sql][round as usize % 3];
        let column = Column::new(0, array.data_type().clone());
        let bound = predicate.bind_with(logic, &mut |_| Ok(column.clone())).unwrap();
        let known = [Some(ranges(&mut random, &array))];
        let may = bound.may_match(&known, 1).unwrap().value(0);
        let must = bound.must_match(&known, 1).unwrap().value(0);
        let matches = bound.evaluate(std::slice::from_ref(&array), array.len()).unwrap();
        assert!(may || matches.count_set_bits() == 0, "{predicate} on {array:?}: {known:?}");
        let surely = bound.evaluate_strictly(std::slice::from_ref(&array), array.len()).unwrap();
        for (row, sure) in surely.iter().enumerate() {
            assert!(matches.value(row) || !sure, "{predicate} on {array:?} row {row}");
            assert!(sure || !must, "{predicate} on {array:?} row {row}: {known:?}");
        }
        dropped += u32::from(!may);
        promised += u32::from(must);
    }
    assert!(dropped.min(promised) > 1000, "only {dropped} and {promised}: the test would not notice");
}
