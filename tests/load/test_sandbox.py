"""Tests hostile templates: each is a finding at its line, fast and with little memory. Others expand as in Jinja."""

from __future__ import annotations

import sys

import pytest
from jinja2 import StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from kubectl_tas.jinja import bounds
from kubectl_tas.load.templates import Expansion, Templates
from kubectl_tas.model.config import Setting
from tests.support.effort import in_a_minute
from tests.support.process import call

HEAD = "workflow:\n  name: train\n  pool: team\n"
LONG = '{% set x = "A" * 1000000 %}{% for i in range(90000) %}'
SHARED = "{% set a = [1, 2] %}{% set b = [1, 2] %}" + "{% set a = [a, a] %}{% set b = [b, b] %}" * 50
NEEDLE = '{% set x = "a" * 1000000 %}{% set y = "ab" ~ "a" * 500000 %}'
TREE = "{% set t = (1, 1) %}" + "{% set t = (t, t) %}" * 50
ALIKE = '{% set x = "a" * 50000 %}{% set l = [' + ",".join(f"x ~ '{i}'" for i in range(80)) + "] %}"
ATTACKS = {
    # into Python
    "class": ('{{ "".__class__ }}', "unsupported"),
    "class as an item": ('{{ ""["__class__"] }}', "unsupported"),
    "subclasses": ("{{ ().__class__.__bases__[0].__subclasses__() }}", "unsupported"),
    "the filter attr": ('{{ ""|attr("__class__") }}', "unsupported"),
    "attribute of map": ("{{ ['a']|map(attribute='__class__')|list }}", "unsupported"),
    "filter of map": ('{{ [1]|map("attr", "__class__")|list }}', "unsupported"),
    "globals of a function": ("{{ range.__init__.__globals__ }}", "unsupported"),
    "globals of a method": ("{{ ''.join.__globals__ }}", "value"),
    "a macro's insides": ("{% macro m() %}{% endmacro %}{{ m.__code__ }}", "unsupported"),
    "the loop's insides": ("{% for i in [1] %}{{ loop.__init__ }}{% endfor %}", "undefined"),
    "self": ("{{ self._TemplateReference__context }}", "unsupported"),
    "cycler": ('{{ cycler.__init__.__globals__.os.popen("id").read() }}', "unsupported"),
    "a random text": ("{{ lipsum(5) }}", "unsupported"),
    "random": ("{{ [1, 2]|random }}", "unsupported"),
    # other files
    "include": ('{% include "/etc/passwd" %}', "unsupported"),
    "import": ('{% import "os" as os %}', "unsupported"),
    "from import": ('{% from "a" import b %}', "unsupported"),
    "extends": ('{% extends "a" %}', "unsupported"),
    "autoescape": ("{% autoescape true %}a{% endautoescape %}", "unsupported"),
    "print": ("{% print 1 %}", "unsupported"),
    # format strings
    "format": ('{{ "{0.__class__}".format(1) }}', "unsupported"),
    "format_map": ('{{ "{x.__class__}".format_map({"x": 1}) }}', "unsupported"),
    "a wide number": ('{{ "%1000000000d" % 1 }}', "value"),
    "a wide text": ('{{ "%1000000000s"|format(1) }}', "value"),
    "a precise number": ('{{ "%.1000000000f" % 1 }}', "value"),
    "a width as an argument": ('{{ "%*d" % (1000000000, 1) }}', "unsupported"),
    "a long width": ('{{ "%999999999ld" % 1 }}', "value"),
    "a width by name": ("{{ '%(a)1000000000d' % {'a': 1} }}", "value"),
    "a width where a number is asked for": ('{{ "%1000000000d" is even }}', "value"),
    "a width where a number is divided": ('{{ "%1000000000d" is divisibleby(3) }}', "value"),
    # recursion
    "a macro calls itself": ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "limit"),
    "brackets": ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "limit"),
    "a long sum": ("{{ " + "+".join(["1"] * 10000) + " }}", "limit"),
    "many filters": ("{{ 1" + "|string" * 9000 + " }}", "limit"),
    "many fields": ("{{ a" + ".b" * 9000 + " }}", "limit"),
    "many ifs": ("{% if 1 %}" * 900 + "{% endif %}" * 900, "limit"),
    "a value in itself": ("{% set n = namespace() %}{% set n.a = n %}{{ n|tojson }}", "value"),
    "lists in lists": (
        "{% set n = namespace(a=[]) %}{% for i in range(9000) %}{% set n.a = [n.a] %}{% endfor %}{{ n.a }}",
        "limit",
    ),
    # without end
    "loops in loops": ("{% for a in range(9999) %}" * 4 + "{% endfor %}" * 4, "limit"),
    "a long range": ("{% for a in range(10**9) %}{% endfor %}", "limit"),
    "a range as a list": ("{{ range(10**18)|list }}", "limit"),
    "upper in a loop": (LONG + "{% if x|upper == 1 %}{% endif %}{% endfor %}", "limit"),
    "in in a loop": (LONG + '{% if "b" in x %}{% endif %}{% endfor %}', "limit"),
    "count in a loop": (LONG + '{% if x.count("b") %}{% endif %}{% endfor %}', "limit"),
    "strip in a loop": (LONG + "{% if x.strip() %}{% endif %}{% endfor %}", "limit"),
    "isdigit in a loop": (LONG + "{% if x.isdigit() %}{% endif %}{% endfor %}", "limit"),
    "int of a long text": (LONG + "{% set y = x|int %}{% endfor %}", "value"),
    "test in a loop": (LONG + "{% if x is lower %}{% endif %}{% endfor %}", "limit"),
    "default in a loop": (LONG + '{% set y = q|default("") %}{% endfor %}', "limit"),
    "range in a loop": ("{% for i in range(90000) %}{% if -1 in range(90000) %}{% endif %}{% endfor %}", "limit"),
    "equal lists of lists": (SHARED + "{{ a == b }}", "limit"),
    "a list of lists in a list": (SHARED + "{{ a in [b] }}", "limit"),
    "round to a billion places": ("{{ 4|round(-1000000000) }}", "value"),
    "rfind": (NEEDLE + "{{ x.rfind(y) }}", "limit"),
    "rpartition": (NEEDLE + "{{ x.rpartition(y) }}", "limit"),
    "rsplit": (NEEDLE + "{{ x.rsplit(y) }}", "limit"),
    "find of half a text": (NEEDLE + "{{ x.find(y) }}", "limit"),
    "in half a text": (NEEDLE + "{{ y in x }}", "limit"),
    "replace of half a text": (NEEDLE + "{{ x|replace(y, '') }}", "limit"),
    "strip of many": (NEEDLE + "{{ x.strip(y[::-1]) }}", "limit"),
    "trim of many": (NEEDLE + "{{ x|trim(y[::-1]) }}", "limit"),
    **{
        f"a long path in {name}": ("{% set p = 'a.' * 90000 %}{{ ([{}] * 9999)|" + name + " }}", "limit")
        for name in (
            "map(attribute=p)",
            "sort(attribute=p)",
            "selectattr(p)",
            "unique(attribute=p)",
            "sum(p)",
            "max(attribute=p)",
        )
    },
    "a tree as an attribute": (TREE + "{{ [1]|map(attribute=t)|list }}", "limit"),
    "a tree as a filter": (TREE + "{{ [1]|map(t)|list }}", "limit"),
    "a tree as a key": (TREE + "{{ {'a': 1}.get(t) }}", "limit"),
    "a tree as an item": (TREE + "{{ {'a': 1}[t] }}", "undefined"),
    "a tree as a field of a loop": (TREE + "{% for a in [1] %}{{ loop[t] }}{% endfor %}", "undefined"),
    "a tree as a field": (TREE + "{{ 1[t] }}", "value"),
    "a tree as a method of rounding": (TREE + "{{ 1|round(0, t) }}", "limit"),
    "replace with a negative count": ('{{ ("a" * 100000)|replace("a", "b" * 100000, -1) }}', "limit"),
    "a format of many zeros": ('{{ ("%" ~ "0" * 200000 ~ "!") % 1 }}', "value"),
    "sorted texts that begin alike": (ALIKE + "{{ (l * 900)|sort(case_sensitive=true)|length }}", "limit"),
    "the largest of texts that begin alike": (ALIKE + "{{ (l * 900)|max(case_sensitive=true)|length }}", "limit"),
    "a macro that is long": (
        "{% macro m() %}{% if 0 %}" + "{{ 1 }}" * 5000 + "{% endif %}{% endmacro %}"
        "{% for i in range(90000) %}{{ m() }}{% endfor %}",
        "limit",
    ),
    "many short lines": ('{{ ("€€\n" * 2600000).splitlines() }}', "limit"),
    "many words": ('{{ ("a " * 2000000)|title }}', "limit"),
    "much YAML": ("{% for a in range(9000) %}\n- " + "[a, b, c], " * 99 + "{% endfor %}", "limit"),
    # gigabytes
    "a text doubles": ('{% set x = "ABCD" %}' + "{% set x = x + x %}" * 40 + "{{ x }}", "limit"),
    "a text is joined to itself": ('{% set x = "ABCD" %}' + "{% set x = x ~ x %}" * 40, "limit"),
    "a text many times": ('{{ "a" * 10**10 }}', "limit"),
    "many times a text": ('{{ 10**10 * "a" }}', "limit"),
    "a list many times": ("{{ [1] * 10**9 }}", "limit"),
    "a list of lists as text": (SHARED + "{{ a }}", "limit"),
    "a list of lists as JSON": (SHARED + "{{ a|tojson }}", "limit"),
    "a power": ("{{ 10**10**10 }}", "limit"),
    "a square of squares": (
        "{% set n = namespace(x=9) %}{% for i in range(99) %}{% set n.x = n.x * n.x %}{% endfor %}",
        "limit",
    ),
    "join": ('{{ range(90000)|join("x" * 90000) }}', "limit"),
    "replace": ('{{ ("a" * 100000)|replace("a", "b" * 100000) }}', "limit"),
    "replace nothing": ('{{ ("a" * 100000).replace("", "b" * 100000) }}', "limit"),
    "indent": ('{{ ("a\\n" * 10000)|indent(1000) }}', "limit"),
    "indent by a text": ('{{ ("a\\n" * 10000)|indent("x" * 100000) }}', "limit"),
    "indented JSON": ("{{ [[1]]|tojson(indent=10**9) }}", "value"),
    "center": ('{{ "a"|center(10**9) }}', "unsupported"),
    "ljust": ('{{ "a".ljust(10**9) }}', "unsupported"),
    "zfill": ('{{ "a".zfill(10**9) }}', "value"),
    "expandtabs": ('{{ "\\t".expandtabs(10**9) }}', "unsupported"),
    "sorted texts": ('{{ (["A" * 100000] * 10000)|sort }}', "limit"),
    "a long text, often": ("{% for i in range(90000) %}" + "y" * 1000 + "{% endfor %}", "limit"),
    # to read
    "many tags": ("{{ 1 }}" * 50000, "limit"),
    "many comments": ("{# #}" * 50000, "limit"),
    "many ends of raw": ("{% raw " * 50000, "limit"),
    "a token that is not closed": ("{{input:a" + " " * 400_000, "syntax"),
    "many numbers of many digits": (("9" * 3999 + " ") * 1000 + "{{ a b }}", "syntax"),
    "a number of many digits": ("{{ " + "9" * 5000 + " }}", "syntax"),
}


def expand(template: str, **values: object) -> tuple[str, str]:
    """The text of a template's label, or the rule and the message of what it is refused for, with its line."""
    found = _expanded(template, **values)
    if not found.problems:
        return "", found.documents[0].text
    (problem,) = found.problems
    assert problem.location is not None
    assert problem.hint
    return problem.rule.code, f"{problem.location.line}: {problem.message}"


def refusal(template: str, **values: object) -> tuple[str, str]:
    """The rule of what a template is refused for, and its line, message and hint."""
    (problem,) = _expanded(template, **values).problems
    assert problem.location is not None
    return problem.rule.code, f"{problem.location.line}: {problem.message} = {problem.hint}"


def _expanded(template: str, **values: object) -> Expansion:
    settings = [Setting(name, value, str(value)) for name, value in values.items()]  # type: ignore[arg-type]
    return Templates(["workflows"], settings).expand("workflows/x.yaml", f"{HEAD}  # {template}\n")


@pytest.mark.parametrize(("template", "rule"), ATTACKS.values(), ids=list(ATTACKS))
def test_an_attack_is_a_finding_long_before_the_clock_ends_it(
    template: str, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "MAX_SECONDS", 10.0)  # of processor time; the longest of them takes a second
    with in_a_minute(10):
        code, message = expand(template)
    assert "of processor time" not in message
    assert (code, message.partition(":")[0]) == (f"template-{rule}", "4")


@pytest.mark.sweep
def test_all_attacks_take_less_than_200_mebibytes() -> None:
    """With all modules loaded and no more address space than that: none fails for want of memory."""
    program = """
import resource
from tests.load.test_sandbox import ATTACKS, expand
pages = int(open("/proc/self/statm").read().split()[0])
size = pages * resource.getpagesize() + 200 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (size, size))
print(sum(expand(template)[0] == f"template-{rule}" for template, rule in ATTACKS.values()))
"""
    if sys.platform != "linux":
        pytest.skip("the size of a process is read from /proc")
    result = call(sys.executable, "-c", program)
    assert (result.out.strip(), result.err) == (str(len(ATTACKS)), "")


PLAIN = r"""
{{ range(5)|select('greaterthan', 2)|list }} {{ range(9)|select('divisibleby', 3)|list }} {{ 1 is in([1]) }}
{{ [0, 1, 2, 3]|select('even')|list }} {{ [0, 1, 2, 3]|reject('odd')|list }}
{{ 'ab' is lower }}{{ 'aB' is lower }}{{ 'AB' is upper }}{{ 'aB' is upper }}{{ ''|default('x', true) }}
{{ 'a,b,c'.split(',', 1) }} {{ 'a,b,c'.rsplit(',', maxsplit=1) }} {{ 'aaa'.replace('a', 'b', 2) }}
{{ '-'.join(['a', 'b', 'c']) }} {{ '7'.zfill(1000)|length }} {{ 'a'|indent(1000, true)|length }}
{{ '%1000d' % 1 }} {{ '%.1000f' % 1 }} {{ 1.23456|round(18) }} {{ 123456|round(-18) }} {{ ('1' * 18)|int }}
{{ {'a': 1, 'b': 2}.values()|list }} {{ {'a': 1}.items()|list }} {{ {'a': 1}.get('a') }}
{{ {}.get('a') is none }}
{{ [1, 2, 1].count(1) }} {{ [1, 2].index(2) }} {{ (1, 2).count(2) }} {{ range(3).index(2) }}
{{ {'b': 1, 'A': 3}|dictsort }} {{ {'b': 1, 'A': 3}|dictsort(true) }}
{{ {'b': 1, 'A': 3}|dictsort(by='value') }}
{{ {'b': 1, 'A': 3}|dictsort(reverse=true) }} {{ [3, 1]|sort(true) }}
{{ [{'a': 1}, {'a': 2}]|max(attribute='a') }}
{{ ['b', 'A']|max }} {{ ['b', 'A']|max(true) }} {{ ['b', 'A', 'a']|unique|list }}
{{ ['a', 'A']|unique(true)|list }}
{{ [{'a': 1}]|unique(attribute='a')|list }} {{ [{'a': [5, 6]}]|map(attribute='a.1')|list }}
{{ [[7]]|map(attribute=0)|list }}
{{ [{'a': 1}, {'a': 2}]|sum('a') }} {{ [1, 2]|sum(start=4) }} {{ [{'a': 1}]|sum(attribute='a', start=4) }}
{{ []|sum }}
{{ [{'a': 'x'}, {'a': 'y'}]|join('-', 'a') }} {{ 'abc'|join('-') }} {{ [1, 2]|join(3) }} {{ {'a': 1}|join }}
{{ [{'a': 1}, {'a': 0}]|rejectattr('a')|list }} {{ [{'a': 1}]|selectattr('a', 'eq', 1)|list }}
{{ [0, 1]|select|list }} {{ [0, 1]|reject|list }} {{ [[1, 2]]|map('join', '-')|list }}
{{ 'ab'|map('upper')|list }}
{{ ['ab']|map('replace', 'a', 'c')|list }} {{ ['a b']|map('replace', ' ', '')|first }}
{{ [[1]]|map('last')|list }}
{{ 'ab'|first }} {{ 'ab'|last }} {{ {'a': 1}|first }} {{ {'a': 1, 'b': 2}|last }} {{ range(3)|last }}
{{ ''|first is defined }}
{{ 'abc'|reverse }} {{ range(3)|reverse|list }} {{ {'a': 1, 'b': 2}|reverse|list }} {{ {'a': 1}|list }}
{{ 'ab'|list }}
{{ {'a': 1}|length }} {{ range(3)|length }} {{ ''|count }} {{ {'a': 1}.keys()|length }}
{{ ('a' if false)|count }}
{{ 'x'|float }} {{ 'x'|float(1.5) }} {{ none|int }} {{ [1]|int(7) }} {{ none|float(2) }} {{ 'inf'|int(3) }}
{{ '1e3'|int }}
{{ true|int }} {{ 2.9|int }} {{ '  7 '|int }} {{ ' 2.5'|float }} {{ 'ff'|int(0, 16) }} {{ '0b11'|int(base=2) }}
{{ '12'|int(0, 8) }}
{{ '<a href="b">&\''|tojson }}
{{ {'a': [1, {'c': none}]}|tojson(2)|replace('\n', ' ') }} {{ (1, 2)|tojson }} {{ 1.5|tojson }}
{{ 'é'|tojson }}
{{ ('<'|tojson)|upper }} {{ ('a'|tojson)|capitalize + '<' }} {{ ('A'|tojson)|lower + '<' }}
{{ '<' + ('A'|tojson) }} {{ ('a'|tojson) + '<>&"' }} {{ ('a'|tojson) + "'" }}
{{ ('a\nb'|tojson)|indent + '<' }} {{ ('ab'|tojson)[1:] + '&' }} {{ 2 * ('a'|tojson) + '"' }}
{{ 'a' * -1 }}|{{ [1] * 0 }}
{{ 7 // -2 }} {{ -7 % 3 }} {{ 7 - 2.5 }} {{ +n }} {{ 2 * 3.5 }} {{ true + 1 }} {{ 2 ** 62 }}
{{ 9223372036854775807 }} {{ -9223372036854775807 }} {{ 1e308 }} {{ 2 ** 63.0 }} {{ 1.0 ** 65 }} {{ 2.0 ** 64 }}
{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 'a' < 'b' }} {{ 2 > 1 }} {{ 2 >= 2 }} {{ 1 <= 0 }} {{ 1 != 1 }}
{{ [1] == [1] }} {{ 1 == 'a' }}
{{ 'a' in 'abc' }} {{ 'a' not in ['a'] }} {{ 'a' in {'a': 1}.keys() }} {{ 1 in range(3) }} {{ [1] in [[1]] }}
{{ 'q' in 'abc' }}
{{ 0 and q }} {{ 1 or q }} {{ n or 1 }} {{ '' or 0 }} {{ n and x }} {{ not n }} {{ not '' }} {{ 1 if n else q }}
{{ q if false else 2 }}
{% for i in 'abc' %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }} {% endfor %}
{% for i in 'abc' %}{{ loop.first }}{{ loop.last }} {% endfor %}
{% for i in 'abc' %}{{ loop.length }}{{ loop.previtem|default('-') }}{{ loop.nextitem|default('-') }}{% endfor %}
{% for i in [3] %}{{ loop.cycle('a', 'b') }}{{ loop['index'] }}{% endfor %}
{% for i in range(5) %}{{ loop.cycle(1, 2, 3) }}{% endfor %}
{% for a in {'x': 1} %}{{ a }}{% endfor %}{% for a in [] %}{% else %}{% set n = 1 %}{{ n }}{% endfor %}{{ n }}
{% set a, (b, c) = 1, (2, 3) %}{{ a }}{{ b }}{{ c }}
{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% set s = namespace(a=1, b=2) %}{% set s.c = s.a + s.b %}{{ s.c }}{{ s['a'] }}{{ s is mapping }}{{ dict(a=1)['a'] }}
{% set t %}{% endset %}[{{ t }}]{% set t | trim | upper %} a {% endset %}[{{ t }}]
{% filter trim %} {{ n }} {% endfilter %}
{% with %}{% set n = 1 %}{{ n }}{% endwith %}{{ n }}{% with n = 2, m = n %}{{ n }}{{ m }}{% endwith %}
{% macro m(a, b=0, c=b) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }}{{ m(1, 2) }}{{ m(1, c=3) }}{{ m(b=1, a=2) }}
{% macro m() %}[{{ caller(1, b=2) }}]{% endmacro %}{% call(a, b, c=3) m() %}{{ a }}{{ b }}{{ c }}{{ n }}{% endcall %}
{% macro a() %}{{ caller() }}{% endmacro %}{% macro b() %}{% call a() %}{{ x }}{% endcall %}{% endmacro %}{{ b() }}
{{ [1, 2, 3, 4][::2] }} {{ [1, 2, 3, 4][3:0:-1] }} {{ 'abcd'[-2:] }} {{ (1, 2, 3)[1:] }}
{{ range(9)[2:4]|list }}
{{ [1, 2][-1] }} {{ [1, 2][-2] }} {{ 'abc'[-3] }} {{ [1][1] is defined }} {{ [1][-2] is defined }}
{{ [][0] is defined }}
{{ {1: 2}[1] }} {{ {'a': {'b': [5]}}.a.b[0] }} {{ {'a': 1}.b is defined }} {{ x[0].upper() }}
{{ {true: 1}[true] }}
{{ 'a' ~ 1 ~ none|default('') if false else 'b' ~ 2.5 ~ [1] }} {{ '%s' % 'a' }}
{{ '%5.1f|%-3d|%+d|%e|%g' % (1.25, 2, 3, 4.0, 5) }}
{{ 'a\nb\n'|indent(2, true)|tojson }} {{ 'a\n\nb'|indent(width='> ', blank=true)|tojson }}
{{ 'a\nb'|indent|tojson }} {{ 'don\'t stop-me (now'|title }}
{{ 'ab'|trim('a') }} {{ 8|trim }} {{ 1|upper }} {{ true|lower }} {{ 12|title }} {{ 1|capitalize }} {{ 7|format }}
{{ 'aXbX'|replace('X', 1) }} {{ 1212|replace(1, 3) }} {{ 'aaa'|replace('a', 'b', 0) }}
{{ 'aaa'|replace('a', 'b', -1) }} {{ 'ab'|replace('', '-') }}
{{ ''|d(1) }} {{ ''|d(1, true) }} {{ q|d }} {{ n|d(1) }} {{ 0|default('z', boolean=true) }}
{{ [1, q|d(2)] }}
"""
"""Expressions and statements, one template a line, of the values n, 8, and x, abc."""
VARIOUS = "[8, 2.5, 'abc', true, false, none, [], {}, (), range(2), '']"
SAME = [
    "{{ n }} {{ x|upper }} {{ x ~ '-' ~ n }} {{ n + 1 }} {{ 7 // 2 }} {{ 7 / 2 }} {{ 7 % 4 }} {{ 2 ** 10 }} {{ -n }}",
    "{% for i in range(3) %}{{ loop.index }}{{ ',' if not loop.last }}{% endfor %}",
    "{% for i in range(0, 10, 3) if i != 3 %}{{ loop.length }}:{{ i }} {% else %}none{% endfor %}",
    "{% for i in [] %}x{% else %}none{% endfor %}",
    "{% for a, b in {'x': 1, 'y': 2}.items() %}{{ a }}={{ b }};{% endfor %}",
    "{% for i in [1, 2] %}{% for j in 'ab' %}{{ loop.index0 }}{{ j }}{{ i }} {% endfor %}{% endfor %}",
    "{% for i in [1, 2, 3] %}{{ loop.cycle('a', 'b') }}{{ loop.revindex }}{{ loop.first }}{% endfor %}",
    "{% if n > 8 %}big{% elif n == 8 %}eight{% else %}small{% endif %}",
    "{% if n > 1 and not (x == 'b' or n in [1, 2]) %}yes{% endif %}{% if 'a' not in x %}no{% endif %}",
    "{{ 1 < n <= 8 }} {{ n is even }} {{ n is divisibleby 4 }} {{ q is defined }} {{ x is string }}",
    "{{ n is number }}",
    "{{ q | default('d') }} {{ none | default('e', true) }} {{ '' or 'f' }} {{ 'g' if n else 'h' }}",
    "{% set y = n * 2 %}{{ y }}{% set a, b = [1, 2] %}{{ a }}{{ b }}",
    "{% set y = n %}{% for i in [1] %}{% set y = 0 %}{% endfor %}{{ y }}",
    "{% set s = namespace(v=0) %}{% for i in range(4) %}{% set s.v = s.v + i %}{% endfor %}{{ s.v }}",
    "{% set t %}in {{ x }}{% endset %}{{ t|title }}{% set u | upper %}abc{% endset %}{{ u }}",
    "{% macro m(a, b=2) %}[{{ a }}/{{ b }}]{% endmacro %}{{ m(1) }}{{ m(3, b=x) }}{{ m(a=1, b=4) }}",
    "{% macro m(a=1, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m() }}{{ m(2) }}{{ m(b=3) }}",
    "{{ 4|round }} {{ 'a b-c(d e.f'|title }} [{{ ''|indent(4, true) }}] {{ ('<'|tojson) + '<' }} {{ 'a' if false }}",
    "{% macro m(a) %}<{{ caller() }}{{ a }}>{% endmacro %}{% call m(1) %}body{% endcall %}",
    "{% filter upper | replace('A', 'B') %}abc {{ x }}{% endfilter %}",
    "{% with a = n, b = 2 %}{{ a + b }}{% endwith %}",
    "{% raw %}{{ raw }} {% if %}{% endraw %} {# comment #}end",
    "a  {{- n -}}  b  {%- if true -%}  c  {%- endif %}  d",
    "{{ '%02d' % 3 }} {{ '%s-%d' % (x, n) }} {{ '%.2f' | format(1.234) }} {{ '%x' % 255 }} {{ '100%%' % () }}",
    "{{ [1, 'a', 2.5, true] }} {{ {'a': [1, none]} }} {{ (1, 2) }} {{ range(3) }}",
    "{{ {'b': 1, 'a': ['<', n]} | tojson }} {{ [1] | tojson(indent=2) | replace('\\n', ' ') }}",
    "{{ [3, 1, 2] | sort | join(',') }} {{ ['b', 'A', 'c'] | sort }} {{ ['b', 'A'] | sort(case_sensitive=true) }}",
    "{{ [3, 1] | max }} {{ [3, 1] | min }} {{ [3, 1] | sum }} {{ [1, 1, 2] | unique | list }}",
    "{{ [1, 2] | reverse | list }}",
    "{{ [{'a': 2}, {'a': 1}] | map(attribute='a') | list }} {{ ['a'] | map('upper') | join }}",
    "{{ [{'a': 2}, {'a': 1}] | sort(attribute='a') }} {{ [{'a': 2}, {'a': 0}] | selectattr('a') | list }}",
    "{{ [1, 2, 3] | select('odd') | list }} {{ [1, 2, 3] | reject('gt', 1) | list }}",
    "{{ [{}] | rejectattr('x', 'undefined') | list }}",
    "{{ '3' | int + 1 }} {{ '3.7' | int }} {{ 'x' | int(5) }} {{ '0x1f' | int(base=16) }} {{ '2.5' | float }}",
    "{{ 2.567 | round(1) }}",
    "{{ 2.1 | round(0, 'ceil') }} {{ -2 | abs }} {{ [1, 2] | first }} {{ [1, 2] | last }}",
    "{{ [1, 2] | length }} {{ 'abc' | count }}",
    "{{ 'a b' | title }} {{ ' a ' | trim }} {{ 'ab' | capitalize }} {{ 'AB' | lower }}",
    "{{ 'a\\nb' | indent(2) | tojson }} {{ 1 | string + 'a' }}",
    "{{ {'b': 1, 'a': 2} | dictsort }} {{ {'b': 1} | items | list }} {{ {'b': 1}.b }} {{ {'b': 1}['b'] }}",
    "{{ {'b': 1}.get('c', 3) }}",
    "{{ 'a,b'.split(',') }} {{ 'abc'[1:] }} {{ [1, 2, 3][:-1] }} {{ 'abc'[0] }} {{ ' a'.strip() }}",
    "{{ 'ab'.replace('a', 'c') }}",
    "{{ 'ab'.startswith('a') }} {{ 'ab'.upper() }} {{ '-'.join(['a', 'b']) }} {{ '7'.zfill(3) }}",
    "{{ {'a': 1}.keys() | list }}",
    "{{ [1, 2] + [3] }} {{ [0] * 3 }} {{ 'ab' * 2 }} {{ 1.0 }} {{ 1e3 }} {{ true }} {{ dict(a=1) }} {{ 'é' }}",
    "{% for i in ('ab' if false) %}{{ i }}{% else %}none{% endfor %} {{ ('a' if false) | length }}",
    "{{ {'__class__': 1}['__class__'] }} {{ '%i' % 3 }} {{ 'aaa' | replace('a', 'b', 2) }}",
    "{{ 'a\\n\\nb' | indent(2) | tojson }} {{ 'a\\n\\nb' | indent(2, blank=true) | tojson }}",
    "{{ [1, 2] | map('string') | first }} {{ [1, 2] | map('string') | reverse | length }}",
    "{{ [] | max | default('none') }} {{ [] | min is defined }}",
    "{{ [{}, {'a': 2}] | map(attribute='a', default=1) | list }} {{ {'a': 1}.get(none) is none }}",
    "{{ 2.5 | round(0, 'floor') }} {{ {'a': 1}.get(2.5, 4) }} {{ 1 in {'a': 1} }}",
    "{{ ('ab' | tojson)[0] + '<' }} {{ ('<a' | tojson) | reverse + '<' }} {{ ('<' | tojson) | trim + '<' }}",
    "{{ ('<' | tojson) * 2 + '<' }}",
    "{{ 1.5 ** 100 }} {{ 2.0 ** 65 }} {{ 1 ** 65 }} {{ 0 ** 100 }} {{ (-1) ** 101 }} {{ 2 ** -65 }} {{ 4 ** 0.5 }}",
    "{{ 2 ** 64.5 }}",
    "{% macro dict(a) %}<{{ a }}>{% endmacro %}{{ dict(a=1) }}",
    "{{ n }}{% for i in [1] %}{% for j in [1] %}{{ n }}{% endfor %}{% set n = 1 %}{{ n }}{% endfor %}",
    *(
        f"{{% for i in {VARIOUS} %}}{{{{ i is {test} }}}} {{% endfor %}}"
        for test in (
            *("boolean", "float", "integer", "number", "string", "mapping", "sequence", "iterable", "none", "true"),
            *("false", "defined", "undefined", "eq(8)", "equalto('abc')", "ne(8)"),
        )
    ),
    *(
        f"{{{{ range(5)|select('{test}', 2)|list }}}}"
        for test in ("==", "!=", "<", "<=", ">", ">=", "eq", "equalto", "ne", "lt", "le", "gt", "ge", "lessthan")
    ),
    *(
        f"{{% for i in ['', 'ab', 'aB c', '12', 'ab12', '½', ' a '] %}}{{{{ i.{name}() }}}},{{% endfor %}}"
        for name in (
            *("upper", "lower", "title", "capitalize", "swapcase", "isdigit", "isalpha", "isalnum", "isnumeric"),
            *("islower", "strip", "lstrip", "rstrip", "split", "rsplit", "splitlines"),
        )
    ),
    *(
        f"{{{{ 'abcabc'.{name}('{part}') }}}}"
        for name in (
            *("startswith", "endswith", "removeprefix", "removesuffix", "find", "rfind", "count", "partition"),
            *("rpartition", "strip", "lstrip", "rstrip", "split", "rsplit", "index"),
        )
        for part in ("abc", "b")
    ),
    *PLAIN.strip().split("\n"),
]


@pytest.mark.parametrize("template", SAME)
def test_what_is_no_attack_is_as_jinja_has_it(template: str) -> None:
    environment = SandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
    expected = environment.from_string(f"{HEAD}  # {template}\n").render(n=8, x="abc")
    assert expand(template, n=8, x="abc") == ("", expected)
