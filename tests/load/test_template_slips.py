"""Tests what is said of a template that cannot be expanded: the rule, the whole message and the whole hint."""

from __future__ import annotations

import pytest

from kubectl_tas.jinja import sandbox
from kubectl_tas.jinja.bounds import TEMPLATE_LIMIT, TEMPLATE_VALUE, Budget, Refusal
from tests.load.test_sandbox import refusal

SLIPS = {
    "syntax": r"""
{% do x %}
    encountered unknown tag 'do'
    = Compare Jinja's docs. Text that is no template belongs between {% raw %} and {% endraw %}.
{% if 1 %}
    the block if is not closed
    = Compare Jinja's docs. Text that is no template belongs between {% raw %} and {% endraw %}.
{{ a b }}
    expected token 'end of print statement', got 'b'
    = Compare Jinja's docs. Text that is no template belongs between {% raw %} and {% endraw %}.
""",
    "file-not-text": r"""
{{ "\x07" }}
    the control character U+0007 is not text
    = Remove it from the value.
{{ "\ud800" }}
    the control character U+D800 is not text
    = Remove it from the value.
""",
    "undefined": r"""
{{ gpu }}
    gpu is not defined; defined: gpus
    = Did you mean "gpus"?
{{ {'a': {'b': 1}}.a.c }}
    c is not defined; defined: b
    = Write what counts without it: {{ value | default(1) }}.
{{ []|max }}
    an item of an empty list is not defined; defined: nothing
    = Write what counts without it: {{ value | default(1) }}.
{% for i in [1] %}{{ loop.__init__ }}{% endfor %}
    loop.__init__ is not defined; defined: first, index, index0, last, length, revindex, revindex0
    = Write what counts without it: {{ value | default(1) }}.
{{ {'a': 1}[[1]] }}
    the item of a list is not defined; defined: nothing
    = Write what counts without it: {{ value | default(1) }}.
{{ [1][3] }}
    the item 3 is not defined; defined: nothing
    = Write what counts without it: {{ value | default(1) }}.
{{ []|first }}
    the first item is not defined; defined: nothing
    = Write what counts without it: {{ value | default(1) }}.
{{ []|last }}
    the last item is not defined; defined: nothing
    = Write what counts without it: {{ value | default(1) }}.
{{ q.a.b }}
    q is not defined; defined: gpus
    = Define it in default-values, or give it with --set q=VALUE.
{% macro m(a) %}{{ a }}{% endmacro %}{{ m() }}
    a is not defined; defined: gpus, m
    = Define it in default-values, or give it with --set a=VALUE.
{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}
    caller is not defined; defined: nothing
    = Write what counts without it: {{ value | default(1) }}.
{% set n = 1 %}{% if n %}{% set n = q %}{% endif %}
    q is not defined; defined: gpus, n
    = Define it in default-values, or give it with --set q=VALUE.
{{ {'size': {'gpus': 1}}.size.gpu }}
    gpu is not defined; defined: gpus
    = Did you mean "gpus"?
{{ map.a }}
    map is not defined; defined: gpus
    = Define it in default-values, or give it with --set map=VALUE.
{{ dict(a=gpu) }}
    gpu is not defined; defined: gpus
    = Did you mean "gpus"?
{{ [{}]|sum('a') }}
    a is not defined; defined: nothing
    = Write what counts without it: {{ value | default(1) }}.
{{ namespace(a=1).b }}
    b is not defined; defined: a
    = Write what counts without it: {{ value | default(1) }}.
{% set n = namespace(a=1) %}{{ n.b }}
    n.b is not defined; defined: a
    = Write what counts without it: {{ value | default(1) }}.
{% for i in [1] %}{{ loop.previtem }}{% endfor %}
    loop.previtem is not defined; defined: first, index, index0, last, length, revindex, revindex0
    = Write what counts without it: {{ value | default(1) }}.
{% for i in [1] %}{{ loop.nextitem }}{% endfor %}
    loop.nextitem is not defined; defined: first, index, index0, last, length, revindex, revindex0
    = Write what counts without it: {{ value | default(1) }}.
{% for i in [1] %}{{ loop.indx }}{% endfor %}
    loop.indx is not defined; defined: first, index, index0, last, length, revindex, revindex0
    = Did you mean "index"?
{{ {}._a }}
    _a is not defined; defined: nothing
    = Write what counts without it: {{ value | default(1) }}.
{% with a = 1 %}{{ b }}{% endwith %}
    b is not defined; defined: a, gpus
    = Define it in default-values, or give it with --set b=VALUE.
{{ range(3)[5] }}
    the item 5 is not defined; defined: nothing
    = Write what counts without it: {{ value | default(1) }}.
{{ range(gpu) | join(',') }}
    gpu is not defined; defined: gpus
    = Did you mean "gpus"?
""",
    "unsupported": r"""
{{ [1]|sorted }}
    the filter "sorted" is not available
    = Did you mean "sort"?
{{ 1 is prime }}
    the test "prime" is not available
    = Available: boolean, defined, divisibleby, eq, equalto, even, false, float, ge, greaterthan, gt, in, integer,
    iterable, le, lessthan, lower, lt, mapping, ne, none, number, odd, sequence, string, true, undefined, upper.
{{ [].append(1) }}
    append() changes a value; values stay as they are here
    = Make a new one: {% set items = items + [item] %}.
{{ [1].pop() }}
    pop() changes a value; values stay as they are here
    = Make a new one: {% set items = items + [item] %}.
{{ {'a': 1}.pop('a') }}
    pop() changes a value; values stay as they are here
    = Make a new one: {% set items = items + [item] %}.
{% block a %}{% endblock %}
    {% block %} is not available in a template here
    = Available: for, if, set, with, macro, call, filter, raw.
{{ ('a'|tojson) % 1 }}
    % is not available for text of tojson
    = Join it with ~.
{{ ('"%d"'|tojson)|format(1) }}
    % is not available for text of tojson
    = Join it with ~.
{{ {'a': 1}['__class__'] }}
    __class__ reaches into Python; a template has values alone
    = Compute with values and filters.
{{ 'a'._x() }}
    _x reaches into Python; a template has values alone
    = Compute with values and filters.
{{ '%c' % 65 }}
    a format that is not available
    = Use %s, %d, %f, %g or %x.
{{ [{}]|sort(attribute='a,b') }}
    sorting by several fields is not available
    = Sort by one after another.
{{ ('a'|tojson)|trim('"') }}
    trim of text of tojson is not available
    = Trim it before.
{{ 'a'.append(1) }}
    text has no method "append" here
    = Available: capitalize, count, endswith, find, index, isalnum, isalpha, isdigit, islower, isnumeric, join, lower,
    lstrip, partition, removeprefix, removesuffix, replace, rfind, rpartition, rsplit, rstrip, split, splitlines,
    startswith, strip, swapcase, title, upper, zfill.
{{ {'a': 1}.center(1) }}
    a mapping has no method "center" here
    = Available: get, items, keys, values.
{{ dict(**{'a': 1}) }}
    arguments by * or ** are not available
    = Write them one by one.
{% for i in [1] %}{{ loop.cycle }}{% endfor %}
    loop.cycle is not available
    = Call it: loop.cycle('a', 'b').
{% for i in [1] %}{{ loop.depth }}{% endfor %}
    loop.depth is not available
    = Compute with loop.index.
{{ self.a }}
    self of Jinja is not available
    = Compute with values and filters.
{% include "a" %}
    include is not available: a template reads no other file
    = Write what it holds into this file.
{% from "a" import b %}
    import is not available: a template reads no other file
    = Write what it holds into this file.
{% import "a" as b %}
    import is not available: a template reads no other file
    = Write what it holds into this file.
{% extends "a" %}
    extends is not available: a template reads no other file
    = Write what it holds into this file.
{% autoescape true %}a{% endautoescape %}
    {% autoescape %} is not available in a template here
    = Available: for, if, set, with, macro, call, filter, raw.
{% print 1 %}
    {% print %} is not available in a template here
    = Write {{ value }}.
{% for a in [] recursive %}{% endfor %}
    a recursive loop is not available
    = Write loops within loops.
{{ x[1:2, 3] }}
    a slice among items is not available
    = Slice once.
{{ [[]]|map('nothing')|list }}
    the filter "nothing" is not available
    = Available: abs, capitalize, count, d, default, dictsort, first, float, format, indent, int, items, join, last,
    length, list, lower, map, max, min, reject, rejectattr, replace, reverse, round, select, selectattr, sort,
    string, sum, title, tojson, trim, unique, upper.
{{ [1]|map(1)|list }}
    the filter "a number" is not available
    = Available: abs, capitalize, count, d, default, dictsort, first, float, format, indent, int, items, join, last,
    length, list, lower, map, max, min, reject, rejectattr, replace, reverse, round, select, selectattr, sort,
    string, sum, title, tojson, trim, unique, upper.
{{ [1].copy() }}
    a list has no method "copy" here
    = Available: count, index.
{{ {'a': 1}.itemz() }}
    a mapping has no method "itemz" here
    = Did you mean "items"?
{{ 'a'.center(3) }}
    the method center of text is not available
    = Write '%s-%02d' | format(text, number).
{{ 'a'.uper() }}
    text has no method "uper" here
    = Did you mean "upper"?
{{ [1].counts(1) }}
    a list has no method "counts" here
    = Did you mean "count"?
{{ 1.foo() }}
    a number has no method "foo" here
    = Available: none.
{{ (('a'|tojson)).upper() }}
    methods of text of tojson are not available
    = Use filters: value | tojson | replace('a', 'b').
{{ 'abc'|lenght }}
    the filter "lenght" is not available
    = Did you mean "length"?
{{ 1 is od }}
    the test "od" is not available
    = Did you mean "odd"?
{{ dict(*[1]) }}
    arguments by * or ** are not available
    = Write them one by one.
{{ ('<'|tojson).replace('a', 'b') }}
    methods of text of tojson are not available
    = Use filters: value | tojson | replace('a', 'b').
{{ ('a'|tojson)|trim('a') }}
    trim of text of tojson is not available
    = Trim it before.
{{ [1].sort() }}
    sort() changes a value; values stay as they are here
    = Make a new one: {% set items = items + [item] %}.
{{ {'a': 1}.update(b=1) }}
    update() changes a value; values stay as they are here
    = Make a new one: {% set items = items + [item] %}.
{{ 'a'.encode() }}
    the method encode of text is not available
    = Write '%s-%02d' | format(text, number).
{{ {}.append(1) }}
    append() changes a value; values stay as they are here
    = Make a new one: {% set items = items + [item] %}.
{{ '%r' % 1 }}
    a format that is not available
    = Use %s, %d, %f, %g or %x.
{{ '%*d' % (1, 1) }}
    a format that is not available
    = Use %s, %d, %f, %g or %x.
{% for i in [1] %}{{ loop.changed(i) }}{% endfor %}
    the loop has no method "changed" here
    = Available: none.
{% for i in [1] %}{{ loop.depth0 }}{% endfor %}
    loop.depth0 is not available
    = Compute with loop.index.
{% macro m() %}{{ varargs }}{% endmacro %}{{ m() }}
    varargs of Jinja is not available
    = Compute with values and filters.
{% macro m() %}{{ kwargs }}{% endmacro %}{{ m() }}
    kwargs of Jinja is not available
    = Compute with values and filters.
{{ joiner() }}
    joiner of Jinja is not available
    = Compute with values and filters.
{{ cycler() }}
    cycler of Jinja is not available
    = Compute with values and filters.
{{ lipsum() }}
    lipsum of Jinja is not available
    = Compute with values and filters.
{% set x = 1 %}{{ x.append(1) }}
    a number has no method "append" here
    = Available: none.
{{ []._a }}
    _a reaches into Python; a template has values alone
    = Compute with values and filters.
{{ {}.__class__ }}
    __class__ reaches into Python; a template has values alone
    = Compute with values and filters.
{{ {'__a': 1}.__a }}
    __a reaches into Python; a template has values alone
    = Compute with values and filters.
{% filter upper|lowr %}a{% endfilter %}
    the filter "lowr" is not available
    = Did you mean "lower"?
{% set n = namespace(a=1) %}{{ n.get('a') }}
    a namespace has no method "get" here
    = Available: none.
{{ ([1]|map('string')).index('1') }}
    what a filter gives item by item has no method "index" here
    = Available: none.
{{ {'a': 1}.items().count(1) }}
    what a method of a mapping gives has no method "count" here
    = Available: none.
""",
    "limit": r"""
{{ 2 ** 65 }}
    a number beyond 64 bits
    = Use smaller numbers.
{{ range(-(2**62), 2**62) }}
    a range of more than 100,000 numbers
    = Make it shorter.
{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}
    the template nests more than 60 levels deep
    = Does a macro call itself without end? Otherwise nest it less.
{% set n = namespace(a=[]) %}{% for i in range(90) %}{% set n.a = [n.a] %}{% endfor %}{{ n.a }}
    a value that is nested more than 60 levels deep
    = Nest it less.
{{ 2 ** 63 }}
    a number beyond 64 bits
    = Use smaller numbers.
{{ 9223372036854775807 + 1 }}
    a number beyond 64 bits
    = Use smaller numbers.
{{ 'A' * 9000000 }}
    the template makes more than 8 MiB of text and values
    = Generate less, or split the template.
{{ [1]|map(attribute='a' ~ '.a' * 60)|list }}
    an attribute of more than 60 parts
    = Name a shorter one.
{{ range(100001) }}
    a range of more than 100,000 numbers
    = Make it shorter.
{{ range(3)|list|join('x' * 9000000) }}
    the template makes more than 8 MiB of text and values
    = Generate less, or split the template.
{{ 9 ** 9 ** 9 }}
    a number beyond 64 bits
    = Use smaller numbers.
{{ 1e308 * 10 }}
    a number beyond 64 bits
    = Use smaller numbers.
{{ 18446744073709551616 }}
    a number beyond 64 bits
    = Use smaller numbers.
{{ {'a': 18446744073709551616 } }}
    a number beyond 64 bits
    = Use smaller numbers.
{{ -(2 ** 62) * 4 }}
    a number beyond 64 bits
    = Use smaller numbers.
""",
    "value": r"""
{{ gpus.many }}
    a number has no field "many"
    = Fields are those of mappings.
{{ 'a' + 1 }}
    + is not for text and a number
    = Join texts with ~; make a number of text with | int.
{{ none }}
    the value is empty, and would be printed as the word None
    = Give it a value; or write what counts without one: {{ name or 1 }}.
{{ 1 / 0 }}
    / divides by zero
    = Test first whether it is zero.
{{ 'a'|abs }}
    the filter "abs" cannot be used this way, on: text
    = Compare Jinja's docs.
{{ 1 < 'a' }}
    a number and text have no order
    = Compare two numbers; make one of text with | int.
{% for i in 1 %}{% endfor %}
    a number has no items
    = Use a list, a mapping or range(NUMBER).
{% for a, b in [[1]] %}{% endfor %}
    2 names for 1 values
    = Write a name for each.
{% macro m() %}{% endmacro %}{% call m() %}x{% endcall %}
    the macro m uses no block of its call
    = Print {{ caller() }} in it.
{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}
    m takes (a)
    = Give it these alone.
{% set a.b = 1 %}
    a is no namespace, which alone has fields to set
    = Write {% set a = namespace() %} before.
{{ ('a' if false)|int }}
    an if without else that gives nothing is no number
    = Write what counts else.
{{ 'aaa'|replace('a', 'b', '2') }}
    text is no number of times
    = Write a whole number.
{{ 'a'.replace('a', 1) }}
    replace() cannot be used this way, on: text, text, a number
    = Compare Jinja's docs.
{{ [1, 2]|map('string')|length }}
    what a filter gives item by item has no length
    = Write | list | length.
{{ [1, 2]|map('string')|last }}
    what a filter gives item by item has no last item
    = Write | list | last.
{{ namespace(a=1)|last }}
    a namespace has no last item
    = Use one of its fields.
{% set x = [1]|map('string') %}{{ x|first }}{{ x|join }}
    what a filter gives item by item was read before, and is empty now
    = Write | list behind it.
{{ [{}]|map(attribute='a', defalt=1)|list }}
    the filter "map" cannot be used this way, on: a list
    = Compare Jinja's docs.
{{ 2.5|round(0, 'up') }}
    the filter "round" cannot be used this way, on: a number, a number, text
    = Compare Jinja's docs.
{{ {'a': 1}.get([1]) }}
    a list is no key
    = Use text.
{{ (-4) ** 0.5 }}
    the root of a negative number
    = Write a number from 0.
{{ ([1]|map('string')) * 2 }}
    * is not for what a filter gives item by item and a number
    = Use numbers.
{{ {'a': 1}.keys() * 2 }}
    * is not for what a method of a mapping gives and a number
    = Use numbers.
{{ ([1]|map('string'))[:1] }}
    what a filter gives item by item has no items in order
    = Slice text or a list.
{{ range() }}
    range() cannot be used this way, on: nothing
    = Compare Jinja's docs.
{% macro m(a, a) %}{% endmacro %}
    two parameters have one name
    = Rename one.
{% for i in [1] %}{{ loop.cycle() }}{% endfor %}
    loop.cycle() has no values to choose from in order
    = Write loop.cycle('a', 'b').
{% for i in [1] %}{{ loop.cycle(1, b=2) }}{% endfor %}
    loop.cycle() has no values to choose from in order
    = Write loop.cycle('a', 'b').
{{ ([1]|map('string'))[0] }}
    what a filter gives item by item has no field a number
    = Write | list behind it.
{{ {'a': 1}.keys()[0] }}
    what a method of a mapping gives has no field a number
    = Write | list behind it.
{{ 1[0] }}
    a number has no field a number
    = Fields are those of mappings.
{{ ''.join.__globals__ }}
    join is a method: call it
    = Write join().
{% for loop in [1] %}{% endfor %}
    loop is the state of a loop, and cannot name an item
    = Use another name.
{{ dict(a=1, a=2) }}
    an argument is given twice
    = Remove one.
{% set n = namespace() %}{% set n.a = n %}{{ n|tojson }}
    a namespace is no value
    = Call it, or use one of its fields.
{{ "%1001d" % 1 }}
    a width above 1000
    = Use a smaller one.
{{ 'a'.zfill(1001) }}
    a width above 1000
    = Use a smaller one.
{{ 'a'|indent(1001) }}
    a width above 1000
    = Use a smaller one.
{{ [1]|tojson(indent=1001) }}
    a width above 1000
    = Use a smaller one.
{{ 1|indent }}
    a number has no lines
    = Make text of it with | string.
{{ 4|round(19) }}
    a precision that is no whole number from -18 to 18
    = Write a whole number from -18 to 18.
{{ 4|round('a') }}
    a precision that is no whole number from -18 to 18
    = Write a whole number from -18 to 18.
{{ ['a']|sum }}
    text is no number
    = Make one of text with | int.
{{ ('9' * 401)|int }}
    a number of more than 400 characters
    = Use a shorter text.
{{ ('a' if false)|float }}
    an if without else that gives nothing is no number
    = Write what counts else.
{{ 1|dictsort }}
    a number has no keys
    = Use it on a mapping.
{{ {'a': 1}.keys }}
    keys is a method of mappings, also where they have such a field
    = Write keys() for the method, ["keys"] for the field.
{{ 'a'.upper }}
    upper is a method: call it
    = Write upper().
{{ 'a'.b }}
    text has no field "b"
    = Fields are those of mappings.
{{ 1['b'] }}
    a number has no field "b"
    = Fields are those of mappings.
{{ [1]['a'] }}
    a list has no field "a"
    = Fields are those of mappings.
{{ namespace(a=1)|first }}
    a namespace has no items
    = Use one of its fields.
{{ [[1]]|sort }}
    a list has no order
    = Use texts or numbers alone.
{{ [1]|map(attribute=[1])|list }}
    a list is no attribute
    = Write its name: attribute='name'.
{{ 1|map }}
    a number has no items
    = Use a list, a mapping or range(NUMBER).
{{ 1|select('odd')|list }}
    a number has no items
    = Use a list, a mapping or range(NUMBER).
{% if [1]|map('string') %}a{% endif %}
    what a filter gives item by item is true, even without items
    = Write | list behind it.
{% for i in [1] %}{{ loop }}{% endfor %}
    the loop is no value
    = Call it, or use one of its fields.
{{ namespace() }}
    a namespace is no value
    = Call it, or use one of its fields.
{{ range }}
    a macro is no value
    = Call it, or use one of its fields.
{% macro m() %}{% endmacro %}{{ m }}
    a macro is no value
    = Call it, or use one of its fields.
{{ ['a'|tojson] }}
    text of tojson within a list or a mapping
    = Write | tojson once, behind the whole of it.
{{ ('a' if false)() }}
    an if without else that gives nothing cannot be called
    = Only macros and methods can.
{{ {[1]: 1} }}
    a list cannot be a key
    = Use text.
{{ -'a' }}
    text is no number
    = Make one of text with | int.
{{ +'a' }}
    text is no number
    = Make one of text with | int.
{{ 'a' * 'b' }}
    * is not for text and text
    = Use numbers.
{{ 1 in 2 }}
    a number has no items
    = Use a list, a mapping or range(NUMBER).
{{ [1] in {} }}
    a list is no key
    = Look for text or for a number.
{{ 1 in 'a' }}
    a number is in no text
    = Make text of it with | string.
{% filter int %}1{% endfilter %}
    the filters of a block give a number, not text
    = End with | string.
{% set a, b = 1 %}
    a number has no items
    = Use a list, a mapping or range(NUMBER).
{% set a, b = [1, 2, 3] %}
    2 names for 3 values
    = Write a name for each.
{% set q.b = 1 %}
    q is no namespace, which alone has fields to set
    = Write {% set q = namespace() %} before.
{% macro m(a) %}{% endmacro %}{{ m(b=1) }}
    m takes (a)
    = Give it these alone.
{% macro m(a, b=1) %}{% endmacro %}{{ m(1, 2, 3) }}
    m takes (a, b)
    = Give it these alone.
{{ 'abc'[q:] }}
    [:] cannot be used this way, on: a value that is not defined, an empty value, an empty value
    = Compare Jinja's docs.
{{ 'abc'['a':] }}
    [:] cannot be used this way, on: text, an empty value, an empty value
    = Compare Jinja's docs.
{{ 1[:2] }}
    a number has no items in order
    = Slice text or a list.
{{ {'a': 1}[:2] }}
    a mapping has no items in order
    = Slice text or a list.
{% for i in [1] %}{{ n }}{% endfor %}{% set n = 1 %}
    n is set here, and a block above looks it up, where it is not defined yet
    = Set it above the block, or under another name.
{% filter trim %}{{ n }}{% endfilter %}{% set n = 1 %}
    n is set here, and a block above looks it up, where it is not defined yet
    = Set it above the block, or under another name.
{{ 1 % 0 }}
    % divides by zero
    = Test first whether it is zero.
{{ 'a' % 1 }}
    % cannot be used this way, on: text, a number
    = Compare Jinja's docs.
{{ '%d' % 'a' }}
    % cannot be used this way, on: text, text
    = Compare Jinja's docs.
{{ [{'a': 1}]|sort(attribute='a.b.c') }}
    a number has no field "b"
    = Fields are those of mappings.
{{ [1]|sort(attribute='x') }}
    a number has no field "x"
    = Fields are those of mappings.
{{ 'x'|replace('a', 'b', [1]) }}
    a list is no number of times
    = Write a whole number.
{{ range('a') }}
    text is no number
    = Make one of text with | int.
{{ {'a': 1}.keys() }}
    what a method of a mapping gives is no value
    = Write | list behind it.
{{ range(1, 2, 0) }}
    range() cannot be used this way, on: a number, a number, a number
    = Compare Jinja's docs.
{{ ([1]|map('string')).a }}
    what a filter gives item by item has no field "a"
    = Write | list behind it.
{{ gpus[none] }}
    a number has no field an empty value
    = Fields are those of mappings.
{{ 'a'.replace('a') }}
    replace() cannot be used this way, on: text, text
    = Compare Jinja's docs.
{{ {'a': 1}|dictsort(by='b') }}
    the filter "dictsort" cannot be used this way, on: a mapping
    = Compare Jinja's docs.
{{ ['b', 1]|sort }}
    the filter "sort" cannot be used this way, on: a list
    = Compare Jinja's docs.
{{ '%s %s' % 'a' }}
    % cannot be used this way, on: text, text
    = Compare Jinja's docs.
{{ '%.1001f' % 1 }}
    a width above 1000
    = Use a smaller one.
{{ 1|capitalize|abs }}
    the filter "abs" cannot be used this way, on: text
    = Compare Jinja's docs.
{{ [1]|abs }}
    the filter "abs" cannot be used this way, on: a list
    = Compare Jinja's docs.
{{ [3, none]|max }}
    an empty value has no order
    = Use texts or numbers alone.
{{ 'a b'|replace('a', none) }}
    the value is empty, and would be printed as the word None
    = Give it a value; or write what counts without one: {{ name or 1 }}.
{{ none|string }}
    the value is empty, and would be printed as the word None
    = Give it a value; or write what counts without one: {{ name or 1 }}.
{{ ([1]|select('odd')) + [1] }}
    + is not for what a filter gives item by item and a list
    = Join texts with ~; make a number of text with | int.
{{ {}.keys() + [1] }}
    + is not for what a method of a mapping gives and a list
    = Join texts with ~; make a number of text with | int.
{{ [1] + (2,) }}
    + is not for a list and a list
    = Join texts with ~; make a number of text with | int.
{{ 'a'|indent(none) }}
    the filter "indent" cannot be used this way, on: text, an empty value
    = Compare Jinja's docs.
{% set n = namespace(a=1) %}{{ n|list }}
    a namespace has no items
    = Use a list, a mapping or range(NUMBER).
{% for i in [1] %}{{ loop|length }}{% endfor %}
    the loop has no length
    = Use it on text, a list or a mapping.
{% for i in [1] %}{{ loop|first }}{% endfor %}
    the loop has no items
    = Use one of its fields.
{% for i in [1] %}{{ loop|last }}{% endfor %}
    the loop has no last item
    = Use one of its fields.
{{ 'a'.startswith(1) }}
    startswith() cannot be used this way, on: text, a number
    = Compare Jinja's docs.
{{ ''.join.x }}
    join is a method: call it
    = Write join().
{% call(a) gpus() %}{% endcall %}
    a number cannot be called
    = Only macros and methods can.
{% call(a, a) m() %}{% endcall %}
    two parameters have one name
    = Rename one.
{% if 1 is odd(2) %}{% endif %}
    the test "odd" cannot be used this way, on: a number, a number
    = Compare Jinja's docs.
{{ gpus is divisibleby('a') }}
    text is no number
    = Make one of text with | int.
{{ gpus is even(1) }}
    the test "even" cannot be used this way, on: a number, a number
    = Compare Jinja's docs.
{{ 'a' is even }}
    text is no number
    = Make one of text with | int.
{{ 1 is in 2 }}
    a number has no items
    = Use a list, a mapping or range(NUMBER).
{{ 1 is gt 'a' }}
    a number and text have no order
    = Compare two numbers; make one of text with | int.
{{ [1] < [2] }}
    a list and a list have no order
    = Compare two numbers; make one of text with | int.
{{ none < 1 }}
    an empty value and a number have no order
    = Compare two numbers; make one of text with | int.
{{ (1, 2)['a'] }}
    a list has no field "a"
    = Fields are those of mappings.
{{ range(3).a }}
    a list has no field "a"
    = Fields are those of mappings.
{{ [1, 2]|tojson(indent='a') }}
    the filter "tojson" cannot be used this way, on: a list
    = Compare Jinja's docs.
{{ (1, [2, ('a' if false)]) }}
    an if without else that gives nothing is no value
    = Call it, or use one of its fields.
{{ 1|length }}
    a number has no length
    = Use it on text, a list or a mapping.
{{ [{'a': 1}]|sort }}
    a mapping has no order
    = Name a field of it: attribute='name'.
""",
}
"""By rule: a template, and below it the message and, after ``=``, the hint. The value ``gpus`` is 8."""
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


def cases() -> list[tuple[str, str, str]]:
    """Each template with its rule and what is said of it on one line."""
    found: list[tuple[str, str, str]] = []
    for rule, text in SLIPS.items():
        for line in text.strip().split("\n"):
            if line.startswith("    "):
                template, _, said = found.pop()
                found.append((template, rule, f"{said} {line.strip()}".strip()))
            else:
                found.append((line, rule, ""))
    return found


@pytest.mark.parametrize(("template", "rule", "said"), cases())
def test_a_slip_is_told_in_words(template: str, rule: str, said: str) -> None:
    assert refusal(template, gpus=8) == (f"template-{rule}".replace("template-file", "file"), f"4: {said}")


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
