//! Resolves unions: a writer's branches one by one, and the branch of a reader's union for a value that is
//! not in a union of the writer.

use super::layout::Layout;
use super::matching::best_branch;
use super::op::Op;
use super::resolve::{Resolver, Target, count, unresolvable};
use crate::error::{ErrorKind, Result};
use crate::schema::{Node, Wire};

impl Resolver {
    /// A writer's union: each of its branches is resolved on its own.
    pub(super) fn resolve_union(
        &mut self,
        writer: &Node,
        branches: &[Node],
        path: &str,
        target: Target<'_>,
    ) -> Result<()> {
        if let (Some((null, value)), Some((_, wanted))) = (writer.nullable(), target.node.nullable())
            && let Layout::Nullable { valid, value: layout } = target.layout
        {
            let valid = Some(*valid);
            let at = self.push(Op::Nullable { null, valid, end: 0 }, target.path);
            self.resolve_branch(value, path, Target { node: wanted, layout, path: target.path })?;
            self.ops[at] = Op::Nullable { null, valid, end: self.here() };
            return Ok(());
        }
        let same = same_branches(branches, target);
        let types = if let (Layout::Union { types, .. }, Some(_)) = (target.layout, &same) {
            Some(*types)
        } else {
            None
        };
        let at = self.push(Op::Union { branches: 0, types, end: 0 }, target.path);
        for (index, branch) in branches.iter().enumerate() {
            let head = self.push(Op::Branch { end: 0 }, target.path);
            let target = same.as_ref().and_then(|same| same.get(index)).copied().unwrap_or(target);
            self.resolve_branch(branch, path, target)?;
            self.ops[head] = Op::Branch { end: self.here() };
        }
        self.ops[at] = Op::Union { branches: count(branches), types, end: self.here() };
        Ok(())
    }

    /// One branch of a writer's union. If it does not resolve, that is an error of the records with this
    /// branch.
    fn resolve_branch(&mut self, branch: &Node, path: &str, target: Target<'_>) -> Result<()> {
        let start = self.ops.len();
        match self.resolve(branch, path, Some(target)) {
            Err(error) if error.kind() == ErrorKind::Unresolvable => {
                self.ops.truncate(start);
                self.paths.truncate(start);
                let at = self.push(Op::Mismatch { refused: true, end: 0 }, target.path);
                self.resolve(target.node, target.path, Some(target))?;
                self.ops[at] = Op::Mismatch { refused: true, end: self.here() };
                self.skip(branch, path);
                Ok(())
            }
            result => result,
        }
    }

    /// A reader's union for a value that the writer did not put into one.
    pub(super) fn resolve_member(
        &mut self,
        writer: &Node,
        branches: &[Node],
        path: &str,
        target: Target<'_>,
    ) -> Result<()> {
        let found = best_branch(writer, branches).and_then(|index| Some((index, branches.get(index)?)));
        let Some((index, branch)) = found else { return Err(unresolvable(writer, path, target)) };
        let below = |layout| Target { node: branch, layout, path: target.path };
        match (target.layout, target.node.nullable()) {
            (Layout::Nullable { valid, value }, Some((_, wanted))) if branch.wire == Wire::Null => {
                let valid = Some(*valid);
                let at = self.push(Op::Absent { valid, end: 0 }, target.path);
                let value = Target { node: wanted, layout: value, path: target.path };
                self.resolve(wanted, target.path, Some(value))?;
                self.ops[at] = Op::Absent { valid, end: self.here() };
                Ok(())
            }
            (Layout::Nullable { valid, value }, _) => {
                self.push(Op::Present { valid: Some(*valid) }, target.path);
                self.resolve(writer, path, Some(below(value)))
            }
            (Layout::Union { types, branches, .. }, _) => {
                let branch = u8::try_from(index).unwrap_or(u8::MAX);
                self.push(Op::Member { branch, types: Some(*types) }, target.path);
                self.resolve(writer, path, branches.get(index).map(below))
            }
            _ => Ok(()),
        }
    }
}

/// The targets of a writer's branches if the reader's union has the same ones in the same order: then branch
/// numbers are the same.
fn same_branches<'t>(branches: &[Node], target: Target<'t>) -> Option<Vec<Target<'t>>> {
    let (Wire::Union(wanted), Layout::Union { branches: layouts, .. }) = (&target.node.wire, target.layout)
    else {
        return None;
    };
    let targets = wanted.iter().zip(layouts).map(|(node, layout)| Target { node, layout, path: target.path });
    let mut numbers = branches.iter().enumerate();
    let same = branches.len() == wanted.len()
        && numbers.all(|(index, branch)| best_branch(branch, wanted) == Some(index));
    same.then(|| targets.collect())
}
