"""A DAG of Airflow that types what `health` advises for each table into Trino, every night."""

from datetime import datetime

from airflow.providers.common.sql.operators.sql import SQLExecuteQueryOperator
from airflow.sdk import Variable, dag, task


@dag(schedule="0 3 * * *", start_date=datetime(2026, 1, 1), catchup=False, tags=["lakebed"])
def table_mending():
    @task
    def calls() -> list[str]:
        """The statements that end the problems of the tables of the variable `lake_tables`."""
        import lakebed

        tables = Variable.get("lake_tables", deserialize_json=True)
        found = [one for path in tables for one in lakebed.open_table(path).health().findings()]
        return [statement for one in found for statement in one["calls"].get("trino", [])]

    # Tables without problems make no task: an empty list is skipped.
    SQLExecuteQueryOperator.partial(task_id="mend", conn_id="trino", max_active_tis_per_dag=1).expand(
        sql=calls()
    )


table_mending()
