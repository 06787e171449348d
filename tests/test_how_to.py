"""Configurations that how-tos show, read by PyIceberg; Glue's with a server that speaks its protocol."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from catalog_tables import ROWS
from command_line import output, printed, run
from object_store import BUCKET, MINIO, server, variables

from shared_data import PROJECT

pytest.importorskip("boto3")
CONFIGURATION = re.compile(r"^```yaml title=\"\.pyiceberg\.yaml\"\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def page(name: str) -> str:
    return (PROJECT / "docs" / "how-to" / f"{name}.md").read_text("utf-8")


@pytest.mark.skipif(MINIO is not None, reason="MinIO has no Glue")
def test_tables_of_glue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyiceberg.catalog import load_catalog
    from pyiceberg.utils.config import Config

    (tmp_path / ".pyiceberg.yaml").write_text(CONFIGURATION.findall(page("glue"))[0])
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    with server() as address:
        for name, value in variables(address).items():
            monkeypatch.setenv(name, value)
        for name in ("GLUE", "S3"):
            monkeypatch.setenv(f"PYICEBERG_CATALOG__PROD__{name}__ENDPOINT", f"http://{address}")
        monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())
        catalog = load_catalog("prod")
        catalog.create_namespace("shop")
        for name in ("orders", "clicks"):
            table = catalog.create_table(f"shop.{name}", ROWS.schema, location=f"s3://{BUCKET}/shop/{name}")
            table.append(ROWS)
        assert {row["name"] for row in printed("find", "--catalog", "prod")} == {"shop.orders", "shop.clicks"}
        assert [row["file_count"] for row in printed("health", "--catalog", "prod", "shop")] == [1, 1]
        assert "s3://lake/shop/orders" in output("show", "--catalog", "prod", "shop.orders")
        commands = "".join(re.findall(r"^```sh\n(.*?)^```$", page("glue"), re.MULTILINE | re.DOTALL))
        for line in re.findall(r"^lakebed (.*?)(?: +#.*)?$", commands, re.MULTILINE):
            assert run(*line.split()).exit_code == 0, line
        (program,) = re.findall(r"^```py\n(.*?)^```$", page("glue"), re.MULTILINE | re.DOTALL)
        names: dict[str, Any] = {}
        exec(program, names)
        assert names["listed"].orphans(older_than=None).to_arrow().num_rows == 0
        # PyIceberg's files cannot be listed: the page says what to do.
        assert run("orphans", "--catalog", "prod", "shop.orders").exit_code == 1
        (catalog_line,) = [row for row in printed("doctor") if row["name"] == "prod"]
        assert (catalog_line["state"], catalog_line["detail"]) == ("ok", "loaded (GlueCatalog)")


def test_options_of_rest_catalogs_are_those_of_pyiceberg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyiceberg.catalog import AVAILABLE_CATALOGS, TOKEN, TYPE, URI, WAREHOUSE_LOCATION, CatalogType, rest
    from pyiceberg.utils.config import Config

    signed = {rest.SIGV4, rest.SIGV4_REGION, rest.SIGV4_SERVICE}
    texts = [page("glue"), page("databricks")]
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    monkeypatch.setenv("PYICEBERG_CATALOG__UNITY__TOKEN", "secret")
    found = []
    for block in re.findall(r"^```yaml.*?\n(.*?)^```$", "\n".join(texts), re.MULTILINE | re.DOTALL):
        (tmp_path / ".pyiceberg.yaml").write_text(block)
        (name,) = re.findall(r"^  (\w+):$", block, re.MULTILINE)
        given = Config().get_catalog_config(name)
        assert given is not None
        assert CatalogType(given.pop(TYPE)) in AVAILABLE_CATALOGS
        found.append(set(given))
    unity = {URI, WAREHOUSE_LOCATION, TOKEN}
    assert found[1:] == [{URI, WAREHOUSE_LOCATION} | signed, unity]
    named = set(re.findall(r"`([\w-]+(?:\.[\w-]+)*)`", texts[1]))
    assert {rest.CREDENTIAL, rest.OAUTH2_SERVER_URI, rest.SCOPE} <= named
