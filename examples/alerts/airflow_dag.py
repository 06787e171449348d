"""A DAG of Airflow with a task for each table, which fails while the table has problems."""

from datetime import datetime, timedelta

from airflow.sdk import Variable, dag, task
from airflow.sdk.exceptions import AirflowFailException


@dag(schedule=timedelta(hours=1), start_date=datetime(2026, 1, 1), catchup=False, tags=["lakebed"])
def table_health():
    @task
    def tables() -> list[str]:
        """Their paths, from the variable `lake_tables`, a JSON list."""
        return Variable.get("lake_tables", deserialize_json=True)

    # An error of a storage may pass; a problem of a table does not, so it is not tried again.
    @task(retries=2, retry_delay=timedelta(minutes=1))
    def check(path: str) -> None:
        import lakebed

        found = lakebed.open_table(path).health().findings()
        for one in found:
            print(f"{one['column']}: {one['what']}; {one['next_step']}")
        if found:
            raise AirflowFailException(", ".join(one["column"] for one in found))

    check.expand(path=tables())


table_health()
