"""Tests what is said of a template that cannot be expanded: the rule, and by snapshots the whole message and hint."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_tas.jinja import sandbox
from kubectl_tas.jinja.bounds import TEMPLATE_LIMIT, TEMPLATE_VALUE, Budget, Refusal
from tests.load.test_sandbox import refusal

SLIPS = {
    "syntax": r"""
{% do x %}
{% if 1 %}
{{ a b }}
""",
    "file-not-text": r"""
{{ "\x07" }}
{{ "\ud800" }}
""",
    "undefined": r"""
{{ gpu }}
{{ {'a': {'b': 1}}.a.c }}
{{ []|max }}
{% for i in [1] %}{{ loop.__init__ }}{% endfor %}
{{ {'a': 1}[[1]] }}
{{ [1][3] }}
{{ []|first }}
{{ []|last }}
{{ q.a.b }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m() }}
{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}
{% set n = 1 %}{% if n %}{% set n = q %}{% endif %}
{{ {'size': {'gpus': 1}}.size.gpu }}
{{ map.a }}
{{ dict(a=gpu) }}
{{ [{}]|sum('a') }}
{{ namespace(a=1).b }}
{% set n = namespace(a=1) %}{{ n.b }}
{% for i in [1] %}{{ loop.previtem }}{% endfor %}
{% for i in [1] %}{{ loop.nextitem }}{% endfor %}
{% for i in [1] %}{{ loop.indx }}{% endfor %}
{{ {}._a }}
{% with a = 1 %}{{ b }}{% endwith %}
{{ range(3)[5] }}
{{ range(gpu) | join(',') }}
""",
    "unsupported": r"""
{{ [1]|sorted }}
{{ 1 is prime }}
{{ [].append(1) }}
{{ [1].pop() }}
{{ {'a': 1}.pop('a') }}
{% block a %}{% endblock %}
{{ ('a'|tojson) % 1 }}
{{ ('"%d"'|tojson)|format(1) }}
{{ {'a': 1}['__class__'] }}
{{ 'a'._x() }}
{{ '%c' % 65 }}
{{ [{}]|sort(attribute='a,b') }}
{{ ('a'|tojson)|trim('"') }}
{{ 'a'.append(1) }}
{{ {'a': 1}.center(1) }}
{{ dict(**{'a': 1}) }}
{% for i in [1] %}{{ loop.cycle }}{% endfor %}
{% for i in [1] %}{{ loop.depth }}{% endfor %}
{{ self.a }}
{% include "a" %}
{% from "a" import b %}
{% import "a" as b %}
{% extends "a" %}
{% autoescape true %}a{% endautoescape %}
{% print 1 %}
{% for a in [] recursive %}{% endfor %}
{{ x[1:2, 3] }}
{{ [[]]|map('nothing')|list }}
{{ [1]|map(1)|list }}
{{ [1].copy() }}
{{ {'a': 1}.itemz() }}
{{ 'a'.center(3) }}
{{ 'a'.uper() }}
{{ [1].counts(1) }}
{{ 1.foo() }}
{{ (('a'|tojson)).upper() }}
{{ 'abc'|lenght }}
{{ 1 is od }}
{{ dict(*[1]) }}
{{ ('<'|tojson).replace('a', 'b') }}
{{ ('a'|tojson)|trim('a') }}
{{ [1].sort() }}
{{ {'a': 1}.update(b=1) }}
{{ 'a'.encode() }}
{{ {}.append(1) }}
{{ '%r' % 1 }}
{{ '%*d' % (1, 1) }}
{% for i in [1] %}{{ loop.changed(i) }}{% endfor %}
{% for i in [1] %}{{ loop.depth0 }}{% endfor %}
{% macro m() %}{{ varargs }}{% endmacro %}{{ m() }}
{% macro m() %}{{ kwargs }}{% endmacro %}{{ m() }}
{{ joiner() }}
{{ cycler() }}
{{ lipsum() }}
{% set x = 1 %}{{ x.append(1) }}
{{ []._a }}
{{ {}.__class__ }}
{{ {'__a': 1}.__a }}
{% filter upper|lowr %}a{% endfilter %}
{% set n = namespace(a=1) %}{{ n.get('a') }}
{{ ([1]|map('string')).index('1') }}
{{ {'a': 1}.items().count(1) }}
""",
    "limit": r"""
{{ 2 ** 65 }}
{{ range(-(2**62), 2**62) }}
{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}
{% set n = namespace(a=[]) %}{% for i in range(90) %}{% set n.a = [n.a] %}{% endfor %}{{ n.a }}
{{ 2 ** 63 }}
{{ 9223372036854775807 + 1 }}
{{ 'A' * 9000000 }}
{{ [1]|map(attribute='a' ~ '.a' * 60)|list }}
{{ range(100001) }}
{{ range(3)|list|join('x' * 9000000) }}
{{ 9 ** 9 ** 9 }}
{{ 1e308 * 10 }}
{{ 18446744073709551616 }}
{{ {'a': 18446744073709551616 } }}
{{ -(2 ** 62) * 4 }}
""",
    "value": r"""
{{ gpus.many }}
{{ 'a' + 1 }}
{{ none }}
{{ 1 / 0 }}
{{ 'a'|abs }}
{{ 1 < 'a' }}
{% for i in 1 %}{% endfor %}
{% for a, b in [[1]] %}{% endfor %}
{% macro m() %}{% endmacro %}{% call m() %}x{% endcall %}
{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}
{% set a.b = 1 %}
{{ ('a' if false)|int }}
{{ 'aaa'|replace('a', 'b', '2') }}
{{ 'a'.replace('a', 1) }}
{{ [1, 2]|map('string')|length }}
{{ [1, 2]|map('string')|last }}
{{ namespace(a=1)|last }}
{% set x = [1]|map('string') %}{{ x|first }}{{ x|join }}
{{ [{}]|map(attribute='a', defalt=1)|list }}
{{ 2.5|round(0, 'up') }}
{{ {'a': 1}.get([1]) }}
{{ (-4) ** 0.5 }}
{{ ([1]|map('string')) * 2 }}
{{ {'a': 1}.keys() * 2 }}
{{ ([1]|map('string'))[:1] }}
{{ range() }}
{% macro m(a, a) %}{% endmacro %}
{% for i in [1] %}{{ loop.cycle() }}{% endfor %}
{% for i in [1] %}{{ loop.cycle(1, b=2) }}{% endfor %}
{{ ([1]|map('string'))[0] }}
{{ {'a': 1}.keys()[0] }}
{{ 1[0] }}
{{ ''.join.__globals__ }}
{% for loop in [1] %}{% endfor %}
{{ dict(a=1, a=2) }}
{% set n = namespace() %}{% set n.a = n %}{{ n|tojson }}
{{ "%1001d" % 1 }}
{{ 'a'.zfill(1001) }}
{{ 'a'|indent(1001) }}
{{ [1]|tojson(indent=1001) }}
{{ 1|indent }}
{{ 4|round(19) }}
{{ 4|round('a') }}
{{ ['a']|sum }}
{{ ('9' * 401)|int }}
{{ ('a' if false)|float }}
{{ 1|dictsort }}
{{ {'a': 1}.keys }}
{{ 'a'.upper }}
{{ 'a'.b }}
{{ 1['b'] }}
{{ [1]['a'] }}
{{ namespace(a=1)|first }}
{{ [[1]]|sort }}
{{ [1]|map(attribute=[1])|list }}
{{ 1|map }}
{{ 1|select('odd')|list }}
{% if [1]|map('string') %}a{% endif %}
{% for i in [1] %}{{ loop }}{% endfor %}
{{ namespace() }}
{{ range }}
{% macro m() %}{% endmacro %}{{ m }}
{{ ['a'|tojson] }}
{{ ('a' if false)() }}
{{ {[1]: 1} }}
{{ -'a' }}
{{ +'a' }}
{{ 'a' * 'b' }}
{{ 1 in 2 }}
{{ [1] in {} }}
{{ 1 in 'a' }}
{% filter int %}1{% endfilter %}
{% set a, b = 1 %}
{% set a, b = [1, 2, 3] %}
{% set q.b = 1 %}
{% macro m(a) %}{% endmacro %}{{ m(b=1) }}
{% macro m(a, b=1) %}{% endmacro %}{{ m(1, 2, 3) }}
{{ 'abc'[q:] }}
{{ 'abc'['a':] }}
{{ 1[:2] }}
{{ {'a': 1}[:2] }}
{% for i in [1] %}{{ n }}{% endfor %}{% set n = 1 %}
{% filter trim %}{{ n }}{% endfilter %}{% set n = 1 %}
{{ 1 % 0 }}
{{ 'a' % 1 }}
{{ '%d' % 'a' }}
{{ [{'a': 1}]|sort(attribute='a.b.c') }}
{{ [1]|sort(attribute='x') }}
{{ 'x'|replace('a', 'b', [1]) }}
{{ range('a') }}
{{ {'a': 1}.keys() }}
{{ range(1, 2, 0) }}
{{ ([1]|map('string')).a }}
{{ gpus[none] }}
{{ 'a'.replace('a') }}
{{ {'a': 1}|dictsort(by='b') }}
{{ ['b', 1]|sort }}
{{ '%s %s' % 'a' }}
{{ '%.1001f' % 1 }}
{{ 1|capitalize|abs }}
{{ [1]|abs }}
{{ [3, none]|max }}
{{ 'a b'|replace('a', none) }}
{{ none|string }}
{{ ([1]|select('odd')) + [1] }}
{{ {}.keys() + [1] }}
{{ [1] + (2,) }}
{{ 'a'|indent(none) }}
{% set n = namespace(a=1) %}{{ n|list }}
{% for i in [1] %}{{ loop|length }}{% endfor %}
{% for i in [1] %}{{ loop|first }}{% endfor %}
{% for i in [1] %}{{ loop|last }}{% endfor %}
{{ 'a'.startswith(1) }}
{{ ''.join.x }}
{% call(a) gpus() %}{% endcall %}
{% call(a, a) m() %}{% endcall %}
{% if 1 is odd(2) %}{% endif %}
{{ gpus is divisibleby('a') }}
{{ gpus is even(1) }}
{{ 'a' is even }}
{{ 1 is in 2 }}
{{ 1 is gt 'a' }}
{{ [1] < [2] }}
{{ none < 1 }}
{{ (1, 2)['a'] }}
{{ range(3).a }}
{{ [1, 2]|tojson(indent='a') }}
{{ (1, [2, ('a' if false)]) }}
{{ 1|length }}
{{ [{'a': 1}]|sort }}
""",
}
"""Templates by the rule that each breaks. The value ``gpus`` is 8."""
UNDEFINED = (
    "{{ q() }}",
    "{{ q.a }}",
    "{{ gpus and q }}",
    "{{ [q] }}",
    "{{ {q: 1} }}",
    "{{ {'a': q} }}",
    "{{ (q,) }}",
    "{{ 1 if q else 2 }}",
    "{{ [1]|join(q) }}",
    "{{ 'a'|d(q) }}",
    "{% filter trim(q) %}a{% endfilter %}",
    "{{ q is string }}",
    "{{ 1 < q }}",
    "{{ q == 1 }}",
    "{% for a in q %}{% endfor %}",
    "{% set a = q %}",
    "{% with a = q %}{% endwith %}",
    "{% if q %}{% endif %}",
    "{% if 0 %}{% elif q %}{% endif %}",
    "{{ not q }}",
    "{{ q or 1 }}",
    "{{ q ~ 'a' }}",
    "{{ q is none }}",
    "{{ {1: 2, 3: q} }}",
)
"""Templates that look ``q`` up, which nothing defines."""
LONG = "a" * 120


@pytest.mark.parametrize(
    ("rule", "template"), [(rule, line) for rule, text in SLIPS.items() for line in text.strip().split("\n")]
)
def test_a_slip_is_told_in_words(rule: str, template: str, snapshot: Any) -> None:
    found, said = refusal(template, gpus=8)
    assert found == f"template-{rule}".replace("template-file", "file")
    assert said == snapshot


@pytest.mark.parametrize("template", UNDEFINED)
def test_a_name_that_nothing_defines_is_found_wherever_it_is_used(template: str) -> None:
    hint = "Define it in default-values, or give it with --set q=VALUE."
    assert refusal(template, gpus=8) == ("template-undefined", f"4: q is not defined; defined: gpus = {hint}")


def test_a_long_name_is_cut_where_it_is_told() -> None:
    cut = f"{'a' * 100}..."
    hint = f"Define it in default-values, or give it with --set {cut}=VALUE."
    assert refusal(f"{{{{ {LONG} }}}}", gpus=8)[1] == f"4: {cut} is not defined; defined: gpus = {hint}"
    assert refusal("{{ b }}", **{LONG: 1})[1].startswith(f"4: b is not defined; defined: {cut} = ")
    assert refusal(f"{{{{ 1 is {LONG} }}}}")[1].startswith(
        f'4: the test "{cut}" is not available = Available: boolean, '
    )
    assert refusal(f"{{{{ 1.{LONG} }}}}")[1] == f'4: a number has no field "{cut}" = Fields are those of mappings.'
    assert refusal(f"{{{{ 1.{LONG}() }}}}")[1] == f'4: a number has no method "{cut}" here = Available: none.'
    assert refusal(f"{{{{ 1._{LONG} }}}}")[1].startswith(f"4: _{cut[1:]} reaches into Python; ")
    assert refusal(f"{{{{ {'a' * 100} }}}}")[1].startswith(f"4: {'a' * 100} is not defined; ")


def test_twenty_names_are_listed() -> None:
    names = [f"a{number:02}" for number in range(22)]
    known = ", ".join(names[:20])
    assert refusal("{{ q }}", **dict.fromkeys(names[:20], 1))[1].startswith(f"4: q is not defined; defined: {known} = ")
    more = refusal("{{ q }}", **dict.fromkeys(names, 1))[1]
    assert more.startswith(f"4: q is not defined; defined: {known} and 2 more = ")


MANY = "{{ a }}" * 9362
"""Two characters fewer than a text with tokens may have."""
TOO_LONG = "it nests too deep, or has a number of too many digits"


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("a", "a"),
        ("{{ a }}", "1"),
        ("{{a}}\n", "1\n"),
        ("{{ a }}b", "1b"),
        ("{{ none }}", None),
        (" {{-none-}} ", None),
        ("{# a #}", ""),
        ("{% if a %}b{% endif %}", "b"),
        (f"{MANY}bb", "1" * 9362 + "bb"),
    ],
)
def test_a_text_with_tokens_is_filled_in(text: str, filled: str | None) -> None:
    assert sandbox.filled(text, {"a": 1, "none": None}, Budget()) == filled


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *(
            (text, "there are no loops and macros here = Use tokens, filters and if.")
            for text in (
                "{% for a in [1] %}{% endfor %}",
                "{% macro m() %}{% endmacro %}",
                "{% if a %}{% call m() %}{% endcall %}{% endif %}",
            )
        ),
        ("{{ a", "unexpected end of template, expected 'end of print statement' = Compare Jinja's docs."),
        ("{{ a b }}", "expected token 'end of print statement', got 'b' = Compare Jinja's docs."),
        ("{% do %}", "encountered unknown tag 'do' = Compare Jinja's docs."),
        (f"{{{{ {'9' * 5000} }}}}", f"{TOO_LONG} = Compare Jinja's docs."),
        (f"{{{{ {'(' * 5000}1{')' * 5000} }}}}", f"{TOO_LONG} = Compare Jinja's docs."),
        (
            f"{MANY}bbb",
            "a text with tokens of more than 65,536 characters = Make several of it; text without tokens may be "
            "longer.",
        ),
        (
            "{{ none }}b",
            "the value is empty, and would be printed as the word None = Give it a value; or write what counts without "
            "one: {{ name or 1 }}.",
        ),
    ],
)
def test_a_text_with_tokens_that_cannot_be_filled_in(text: str, said: str) -> None:
    with pytest.raises(Refusal) as refused:
        sandbox.filled(text, {"a": 1, "none": None}, Budget())
    rule = TEMPLATE_LIMIT if "65,536" in said else TEMPLATE_VALUE
    assert (refused.value.rule, f"{refused.value.message} = {refused.value.hint}") == (rule, said)


@pytest.mark.parametrize(
    "block",
    [
        "{% for i in [] %}{% else %}{{ n }}{% endfor %}",
        "{% set x %}{{ n }}{% endset %}",
        "{% with %}{{ n }}{% endwith %}",
        "{% with a = 1 %}{{ n }}{% endwith %}",
        "{% macro m() %}{{ n }}{% endmacro %}",
        "{% macro m(a=n) %}{% endmacro %}",
        "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}{{ n }}{% endcall %}",
        "{% filter upper %}{{ n }}{% endfilter %}",
    ],
)
def test_a_name_that_is_set_below_the_block_that_looks_it_up(block: str) -> None:
    said = "n is set here, and a block above looks it up, where it is not defined yet"
    hint = "Set it above the block, or under another name."
    assert refusal(f"{block}{{% set n = 1 %}}") == ("template-value", f"4: {said} = {hint}")
