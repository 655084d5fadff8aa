"""The OpenAPI description says what the server does: schemathesis compares them."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from gbrain.output.json import dumps
from gbrain.server.openapi import openapi_document
from gbrain.server.routes import ROUTES

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
)


def test_every_route_is_described() -> None:
    described = openapi_document()
    operations = {
        (method.upper(), path) for path, known in described["paths"].items() for method in known
    }
    expected = {(route.method, route.path.replace(":path}", "}")) for route in ROUTES}
    assert expected < operations
    assert len(operations) == len(expected) + 3
    names = [
        known["operationId"] for each in described["paths"].values() for known in each.values()
    ]
    assert len(names) == len(set(names))


def test_defaults_are_those_of_requests() -> None:
    document = dumps(openapi_document())
    assert "(default 10)" in document
    assert "on a terminal" not in document


def test_every_schema_is_a_schema() -> None:
    components = openapi_document()["components"]["schemas"]
    assert components
    for schema in components.values():
        Draft202012Validator.check_schema(schema)


def check_routes(served, data: st.DataObject, calls: int) -> None:
    """Send generated requests, valid and invalid ones, and check the responses."""
    schema = schemathesis.openapi.from_dict(openapi_document())
    operations = [operation.ok() for operation in schema.get_all_operations()]
    assert len(operations) == len(ROUTES) + 3
    for operation in operations:
        for _ in range(calls):
            case = data.draw(operation.as_strategy(), label=operation.label)
            response = case.call(
                base_url=f"http://127.0.0.1:{served.port}",
                headers={"Authorization": f"Bearer {served.token}"},
                timeout=60,
            )
            case.validate_response(response, checks=CHECKS)


@settings(
    max_examples=1,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_answers_are_as_described(served, data: st.DataObject) -> None:
    check_routes(served, data, 2)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_many_answers_are_as_described(served, data: st.DataObject) -> None:
    check_routes(served, data, 3)
