"""The base of the classes in `spec`: conversion between objects, dictionaries and YAML."""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import numbers
import re
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

T = TypeVar("T", bound="Spec")


class Text(str):
    """A text that a notebook shows as it is, without quotes and escapes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Mismatch(TypeError):
    """A dictionary does not have the fields of a class."""


class Spec:
    """A part of a training spec. Its fields are those of the spec, with names in snake_case; None leaves a field out."""

    __slots__ = ()
    # The name in the spec of each field whose name differs. A name with a dot is a path.
    _names: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:

        def __new__(cls, *args: object, **fields: object):  # noqa: ANN204
            __tracebackhide__ = True
            if args:
                raise TypeError(f"{cls.__name__} takes fields by name, such as {cls.__name__}({_first_field(cls)}=…)")
            for name in fields:
                _check_name(cls, name)
            missing = [field.name for field in dataclasses.fields(cls) if field.default is dataclasses.MISSING and field.name not in fields]
            # Copies are made without fields.
            if missing and fields:
                raise TypeError(f"{cls.__name__} needs {' and '.join(missing)}")
            return object.__new__(cls)

        def __setattr__(self, name: str, value: object) -> None:
            __tracebackhide__ = True
            if name not in _fields(type(self)):
                _check_name(type(self), name, AttributeError)
            _check_class(type(self), name, value)
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        given = ((name, getattr(self, name)) for name in _fields(type(self)))
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given if value is not None)})"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are set, with the names that they have in the spec."""
        return _object(self, type(self).__name__)

    @classmethod
    def from_dict(cls: type[T], value: Mapping[str, Any]) -> T:
        """Return an object with the fields of a dictionary, which have the names of the spec."""
        return _from_fields(cls, value, "")


def _fields(cls: type[Spec]) -> list[str]:
    return [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]


def _first_field(cls: type[Spec]) -> str:
    return _fields(cls)[0]


def _check_name(cls: type[Spec], name: str, error: type[Exception] = TypeError) -> None:
    """Raise an error, with the most similar name, if a class has no field of this name."""
    __tracebackhide__ = True
    known = _fields(cls)
    if name in known:
        return
    snake = re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()
    similar = [snake] if snake in known else difflib.get_close_matches(snake, known, 1)
    advice = f"did you mean {similar[0]!r}?" if similar else f"its fields are {', '.join(known)}"
    raise error(f"{cls.__name__} has no field {name!r}: {advice}")


def _options(hint: Any) -> tuple[Any, ...]:
    """Return the types of a union, or the only type."""
    is_union = isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
    return typing.get_args(hint) if is_union else (hint,)


def _check_class(cls: type[Spec], name: str, value: object) -> None:
    """Raise an error if a field takes a list or an object of a class, and the value is neither. The compiler checks the rest."""
    __tracebackhide__ = True
    options = [option for option in _options(_type_hints(cls)[name]) if option is not type(None)]
    classes = [option for option in options if isinstance(option, type) and issubclass(option, Spec)]
    has_list = any(typing.get_origin(option) is list for option in options)
    if isinstance(value, Spec):
        if any(isinstance(value, option) for option in classes):
            return
        if has_list:
            raise TypeError(f"{cls.__name__}.{name} is a list: write {name}=[{type(value).__name__}(…)]")
        wanted = " or ".join(option.__name__ for option in classes) or "no object"
        raise TypeError(f"{cls.__name__}.{name} takes {wanted}, not {type(value).__name__}")
    if classes == options and value is not None and not isinstance(value, Mapping):
        raise TypeError(f"{cls.__name__}.{name} takes {classes[0].__name__}(…), not {value!r}")


def _object(spec: Spec, path: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in _fields(type(spec)):
        value = getattr(spec, name)
        if value is None:
            continue
        *parents, last = spec._names.get(name, name).split(".")
        place = found
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = _plain(value, f"{path}.{name}")
    return found


def _plain(value: object, path: str) -> Any:
    """Return a value as JSON has it. Numbers of numpy and similar libraries become those of Python."""
    if isinstance(value, Spec):
        return _object(value, path)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real) and math.isfinite(value):
        return float(value)
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{path} has the key {key!r}, which is not a string: write {str(key)!r}")
        return {str(key): _plain(item, f"{path}[{key!r}]") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{path}[{index}]") for index, item in enumerate(value)]
    kind = "a number that is not finite" if isinstance(value, numbers.Real) else f"of type {type(value).__name__}"
    raise TypeError(f"{path} is {kind}: pass a string, a number, a boolean, a list, a dictionary or a class of khorovod")


_hints: dict[type[Spec], dict[str, Any]] = {}


def _type_hints(cls: type[Spec]) -> dict[str, Any]:
    if cls not in _hints:
        _hints[cls] = typing.get_type_hints(cls)
    return _hints[cls]


def _from_fields(cls: type[T], value: Mapping[str, Any], path: str) -> T:
    hints = _type_hints(cls)
    names = {cls._names.get(name, name): name for name in _fields(cls)}
    unknown = [key for key in value if key not in names]
    if unknown:
        raise Mismatch(f"{path}{unknown[0]} is not a field: the fields are {', '.join(names)}")
    fields = {names[key]: _typed(hints[names[key]], item, f"{path}{key}") for key, item in value.items()}
    missing = [
        field.name
        for field in dataclasses.fields(cls)  # type: ignore[arg-type]
        if field.default is dataclasses.MISSING and fields.get(field.name) is None
    ]
    if missing:
        raise Mismatch(f"{path}{cls._names.get(missing[0], missing[0])} is missing")
    return cls(**fields)


def _typed(hint: Any, value: Any, path: str) -> Any:
    """Return a value of a dictionary as an object of its class, if its type has one. The compiler checks other types."""
    for option in _options(hint):
        origin, arguments = typing.get_origin(option), typing.get_args(option)
        if isinstance(value, Mapping):
            if isinstance(option, type) and issubclass(option, Spec):
                return _from_fields(option, value, f"{path}.")
            if origin is Mapping:
                return {key: _typed(arguments[1], item, f"{path}.{key}") for key, item in value.items()}
        if isinstance(value, list) and origin is list:
            return [_typed(arguments[0], item, f"{path}[{index}]") for index, item in enumerate(value)]
    return value


# Words that every YAML parser reads as a string.
_WORD = re.compile(r"(?:[A-Za-z/](?:[\w./@=-]|[: ](?=[\w./@-]))*|\d+(?:[KMGT]i|[dhms]))", re.ASCII)
_NOT_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
# Characters that need an escape in a quoted string, beside those that JSON escapes.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_WIDTH = 100


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        if _WORD.fullmatch(value) and value.lower() not in _NOT_WORDS:
            return value
        if '"' in value and value.isprintable():
            # Readable, such as JSON in a command.
            quoted = value.replace("'", "''")
            return f"'{quoted}'"
        text = json.dumps(value, ensure_ascii=False)
        return _ESCAPED.sub(lambda character: f"\\u{ord(character[0]):04x}", text)
    return json.dumps(value)


def _block(text: str, indent: int) -> list[str] | None:
    """Return a text of several lines as a block, or None if a block cannot hold it."""
    body = text.removesuffix("\n")
    if "\n" not in text or not body or body.endswith("\n") or re.search(r"[^\n\t\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe]", text):
        return None
    marks = ("2" if text[0] in " \n\t" else "") + ("" if text.endswith("\n") else "-")
    return [f"|{marks}", *(f"{' ' * indent}{line}" if line else "" for line in body.split("\n"))]


def lines(value: Any, indent: int = 0, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield each line of a value in YAML, with the path of the field that begins in it."""
    margin = " " * indent
    if isinstance(value, Mapping):
        for key, item in value.items():
            inner = f"{path}.{key}" if path else key
            yield from _entry(f"{margin}{_scalar(key)}:", item, indent + 2, inner)
    else:
        for index, item in enumerate(value):
            inner = f"{path}[{index}]"
            if isinstance(item, Mapping) and item:
                for number, (line, place) in enumerate(lines(item, indent + 2, inner)):
                    yield (f"{margin}- {line[indent + 2 :]}" if number == 0 else line), place
            else:
                yield from _entry(f"{margin}-", item, indent + 2, inner)


def _entry(start: str, value: Any, indent: int, path: str) -> Iterator[tuple[str, str]]:
    block = _block(value, indent) if isinstance(value, str) else None
    if block:
        yield f"{start} {block[0]}", path
        yield from ((line, path) for line in block[1:])
    elif isinstance(value, (Mapping, list)) and value:
        flow = _flow(value)
        if flow and len(start) + len(flow) < _WIDTH:
            yield f"{start} {flow}", path
        else:
            yield start, path
            yield from lines(value, indent, path)
    elif isinstance(value, (Mapping, list)):
        yield f"{start} {'{}' if isinstance(value, Mapping) else '[]'}", path
    else:
        yield f"{start} {_scalar(value)}", path


def _flow(value: Mapping[str, Any] | Sequence[Any]) -> str | None:
    """Return a list of simple values in one line, or None."""
    if isinstance(value, Mapping) or any(isinstance(item, (Mapping, list)) or isinstance(item, str) and "\n" in item for item in value):
        return None
    return f"[{', '.join(map(_scalar, value))}]"
