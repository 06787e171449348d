"""Faults that tasks of `mapInArrow` make themselves, in an executor."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any


class Faulty:
    """A function for `mapInArrow`, and the fault of its tasks, which comes after the first rows of one.

    Attributes: kind, "tried again": every third task fails the first time; "killed": one kills its executor;
        "lost": one deletes all files of shuffles, and fails; "twice": one waits until it is begun once more;
        "killed by time": each takes a while, in which others kill; folder, where files tell what became of
        which task, and one that is named "armed" that the job which is meant has begun; after, how many tasks
        are to have ended before what comes once; local, where executors have their files.
    """

    def __init__(self, mapper: Any, kind: str, folder: str, after: int, local: str) -> None:
        self.mapper, self.kind, self.folder, self.after, self.local = mapper, kind, folder, after, local

    def __call__(self, batches: Any) -> Any:
        struck = False
        for batch in self.mapper(batches):
            yield batch
            if not struck:
                struck = True
                self.strike()
        if not struck:
            self.strike()
        self.tell("ended")

    def tell(self, what: str) -> None:
        from pyspark import TaskContext

        task: Any = TaskContext.get()
        which = f"{task.stageId()}.{task.partitionId()}.{task.attemptNumber()}"
        Path(self.folder, f"{what} {which}").touch()

    def once(self) -> bool:
        """Whether the fault is this task's."""
        if len([*Path(self.folder).glob("ended *")]) < self.after:
            return False
        try:
            os.close(os.open(f"{self.folder}/once", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def strike(self) -> None:
        from pyspark import TaskContext

        task: Any = TaskContext.get()
        if not Path(self.folder, "armed").exists():
            return
        if self.kind == "killed by time":
            time.sleep(0.5)
        elif self.kind == "tried again":
            # A process less must be begun for each that does not fail.
            if task.attemptNumber() == 0 and task.partitionId() % 3 == 0:
                self.tell("struck")
                raise OSError("try again")
        elif self.kind == "killed" and self.once():
            self.tell("struck")
            self.kill()
        elif self.kind == "lost" and self.once():
            self.tell("struck")
            for file in Path(self.local).rglob("shuffle_*"):
                file.unlink(missing_ok=True)
            # It is tried again, and then misses them: other tasks may have had theirs by now.
            raise OSError("try again")
        elif self.kind == "twice":
            self.wait(f"{task.stageId()}.{task.partitionId()}")

    def kill(self) -> None:
        """Kills the executor that this process works for."""
        pid = os.getpid()
        while b"CoarseGrainedExecutorBackend" not in Path(f"/proc/{pid}/cmdline").read_bytes():
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(pid, 9)
        time.sleep(1)
        os._exit(1)

    def wait(self, task: str) -> None:
        """Has the first task that comes here wait until it is here once more."""
        self.tell("here")

        def again() -> bool:
            return len([*Path(self.folder).glob(f"here {task}.*")]) > 1

        if self.once():
            for _ in range(1200):
                if again():
                    self.tell("struck")
                    # The other ends before: Spark's log has no end of one that it kills when the job is over.
                    time.sleep(5)
                    break
                time.sleep(0.1)
        elif again():
            # What ends first has the other killed, which is to have seen this one.
            for _ in range(100):
                if [*Path(self.folder).glob("struck *")]:
                    break
                time.sleep(0.1)
