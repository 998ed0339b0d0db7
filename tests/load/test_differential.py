"""Compares templates with Jinja's own sandbox with OSMO's settings: the same text, or a refusal."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import pytest
from jinja2.defaults import DEFAULT_NAMESPACE
from jinja2.filters import FILTERS as JINJA_FILTERS
from jinja2.runtime import LoopContext
from jinja2.tests import TESTS as JINJA_TESTS

from fuzz.templates import apart, expanded, template
from kubectl_tas.jinja.bounds import Refusal
from kubectl_tas.jinja.filters import FILTERS, TESTS, method
from kubectl_tas.jinja.sandbox import FUNCTIONS


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(4))
def test_random_templates(part: int) -> None:
    texts = [template(20261122, number) for number in range(part * 150, part * 150 + 150)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # Python's, about what Jinja compiles
        assert [(text, found) for text in texts if (found := apart(text))] == []
    assert sum(expanded(text)[0] is not None for text in texts) > 15


TOLD = [
    "{{ 4|round }} {{ 4.5|round }} {{ 42|round(1, 'floor') }} {{ 4|round(-1) }} {{ true|round }}",
    "{{ \"a b-c(d e'f\"|title }} {{ '1a {b <C'|title }}",
    "[{{ ''|indent(4, true) }}] {{ 'a\\n\\nb\\n'|indent(2, blank=true) }} {{ 'a\\nb'|indent('> ', true) }}",
    "{{ '12345678901234567890'|int }}",
    "{{ '0000000000000000000000000000008'|int }} {{ 'a'|int('none') }} {{ '1_000'|int }}",
    "{{ ('a' if false) }}|{{ ('a' if false)|default('b') }}|{{ ('a' if false) is defined }}",
    "{% set x = 'a' if false %}{{ x is sequence }}{{ x is iterable }}{{ x is mapping }}{{ x is string }}",
    "{% set x = 'a' if false %}{{ x }}{{ 'c' if x else 'd' }}",
    "{% if [1]|select('even') %}always{% endif %}",
    "{% set x = [1, 2]|map('string') %}{{ x|join }}{{ x|join }}",
    "{{ map.items() }}",
    "{{ map.items }}{{ map['items'] }}",
    "{{ map['items'] }}{{ map.keys()|list }}",
    "{{ [1]|map('string') }}",
    "{{ ('<'|tojson) + '<' }} {{ '\"' + ('a'|tojson) }} {{ ('<'|tojson) ~ '<' }}",
    "{{ ('a\"'|tojson).replace('\"', '') }}",
    "{{ ['a'|tojson] }}",
    "{{ true is number }} {{ true is integer }} {{ namespace() is mapping }}",
    "{% set s = namespace() %}{{ 'yes' if s else 'no' }}",
    "{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{% set a = 5 %}{{ m(2) }}",
    "{% macro m(x=x) %}{{ x }}{% endmacro %}{{ m() }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, a=2) }}",
    "{% for i in [1] %}{{ n }}{% endfor %}{% set n = 1 %}",
    "{{ n }}{% for i in [1] %}{{ n }}{% endfor %}{% set n = 1 %}{{ n }}",
    "{% set a = namespace(b=1)|first %}",
    "{{ (1,) + (2,) }} {{ [1] + [2] }}",
    "{{ [1] + (2,) }}",
    "{{ '-'.join([1]) }}",
    "{{ range(3)|tojson }}",
    "{{ 'a1'.replace(1, 2) }}",
    "{{ 1 in 'a1' }}",
    "{% filter int %}1{% endfilter %}",
    "{{ x|default(default_value='d') }} {{ q|default(default_value='d') }}",
    "{{ '\\x01' }}",
    "{% for loop in [1] %}{% endfor %}",
    "{% if false %}{{ 1|nothing }}{% endif %}",
    "{{ dict(a=1, a=2) }}",
    "{{ cycler is defined }}{{ lipsum is defined }}{{ self is defined }}",
    "{% macro m() %}{{ varargs is defined }}{% endmacro %}{{ m() }}",
    "{{ [[1]] in {} }}",
    "{{ -2 ** n }} {{ (-2) ** n }} {{ (1 - 3) ** n }} {{ -n ** 2 }} {{ -2 ** 2 }} {{ -2 ** -n }} {{ (-2.5) ** n }}",
    "{{ 'é'|upper }} {{ 'ß'|upper }} {{ 'ǆ'|title }}",
    "{{ {2.5: 1}[2.5] }} {{ {1: 2}[true] }} {{ {}[none] is defined }}",
    "{{ '%05d|%-4s|%+.2f|%%' % (3, 'a', 2) }} {{ '%s' % [1] }}",
]


@pytest.mark.parametrize("text", TOLD)
def test_what_was_told_apart_once(text: str) -> None:
    assert apart(text) == ""


STATEMENTS = [
    "{% for a in [] %}{{ x[1:2, 3] }}{% endfor %}",
    "{% for a in [1] %}{{ loop[[]] }}{% endfor %}",
    "{% filter trim %}{{ n }}{% endfilter %}{% autoescape 1 %}{% set n = 1 %}{% endautoescape %}",
    "{% autoescape true %}a{% endautoescape %}",
    "{% autoescape %}",
    "{% block a %}b{% endblock %}",
    "{% block a scoped required %}{% endblock %}",
    "{% include 'a' %}",
    "{% include ['a', 'b'] ignore missing without context %}",
    "{% import 'a' as b with context %}",
    "{% from 'a' import b, c as d with context %}",
    "{% extends 'a' %}",
    "{% if 0 %}{% extends 'a' %}{% endif %}",
    "{% print 1, 2 %}",
    "{% do 1 %}",
    "{% trans %}a{% endtrans %}",
    "{% break %}",
    "{% continue %}",
    "{% debug %}",
    "{% for a in [] recursive %}{% endfor %}",
    "{% set a.b, c = 1, 2 %}",
    "{% set %}",
    "{% call(a) 1 %}{% endcall %}",
    "{% macro %}{% endmacro %}",
    "{% with %}{% include 'a' %}{% endwith %}",
    "{% filter nothing %}{% endfilter %}",
    "{% raw %}a",
    "{{ super() }}",
    "{{ x[1:2, 3] }}",
    "{{ x[::] [::] }}{{ q }}",
    "{{ x(*items, **map) }}",
    "{{ not }}",
    "{{ 1 is }}",
    "{{ 0x }}",
    "{{ " + "9" * 5000 + " }}",
    "{{ 1." + "9" * 5000 + "e9999 }}",
    "{{ '\\N{nothing}' }}",
    "{{ '\\U99999999' }}",
    "{{ '\\ud800'|upper|title|tojson }}{{ nothing['\\ud800'] }}",
    "{{ 1e400 }}",
    "{{ " + "not " * 3000 + "1 }}",
    "{{ " + "[" * 3000 + " }}",
    "{% filter upper" + "|lower" * 3000 + " %}{% endfilter %}",
    "{% " + "if 1 %}{% " * 300 + " %}",
    "{# a",
    "{{",
    "{%",
    "{%- - %}",
    "{{ \x0b }}",
]


@pytest.mark.parametrize("text", STATEMENTS)
def test_what_is_no_template_is_a_finding(text: str) -> None:
    found, problem, _ = expanded(text)
    assert found is None
    assert problem is not None
    assert problem.location is not None
    assert problem.location.line >= 4
    assert problem.hint


def absent() -> Iterable[str]:
    """What Jinja's default environment has and is not available here."""
    yield from JINJA_FILTERS.keys() - FILTERS.keys()
    yield from JINJA_TESTS.keys() - TESTS.keys()
    yield from DEFAULT_NAMESPACE.keys() - FUNCTIONS.keys()
    yield from ("self", "varargs", "kwargs")
    for name, value in (("", "a"), ("dict.", {}), ("list.", []), ("tuple.", ())):
        for attribute in dir(value):
            try:
                assert attribute.startswith("_") or method(value, attribute)
            except Refusal:
                yield f"{name or 'str.'}{attribute}"
    for attribute in dir(LoopContext):
        call = "(1)" if attribute in ("cycle", "changed") else ""
        asked = f"{{% if loop.index == 2 %}}{{{{ loop.{attribute}{call} }}}}{{% endif %}}"
        asked = f"{{% for i in [1, 2, 3] %}}{asked}{{% endfor %}}"
        if not attribute.startswith("_") and expanded(asked)[0] is None:
            yield f"loop.{attribute}"


ABSENT = """
    attr batch callable center cycler dict.clear dict.copy dict.fromkeys dict.pop dict.popitem dict.setdefault
    dict.update e escape escaped filesizeformat filter forceescape groupby joiner kwargs lipsum list.append
    list.clear list.copy list.extend list.insert list.pop list.remove list.reverse list.sort loop.changed
    loop.depth loop.depth0 pprint random safe sameas self slice str.casefold str.center str.encode
    str.expandtabs str.format str.format_map str.isascii str.isdecimal str.isidentifier str.isprintable
    str.isspace str.istitle str.isupper str.ljust str.maketrans str.rindex str.rjust str.translate striptags
    test truncate urlencode urlize varargs wordcount wordwrap xmlattr
"""
"""What templates lack: whoever makes it available takes it off."""


def test_what_is_not_there_is_known() -> None:
    assert {*ABSENT.split()} == {*absent(), "loop.depth0"}
