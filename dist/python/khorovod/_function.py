"""`job`: a decorator that makes a TrainingJob of a function. The job contains the source of the function as a readable file."""

from __future__ import annotations

import ast
import builtins
import inspect
import json
import linecache
import re
import symtable
import sys
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, NoReturn, ParamSpec, TypeVar

from ._job import TrainingJob
from .spec import Code, Workers

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .spec import JobOptions

P = ParamSpec("P")
R = TypeVar("R")

# The name of the file with the function. A file such as `random.py` would hide a module of Python.
MAIN = "main.py"
# The largest file that a spec may contain (the rule `out-of-range` of the compiler), as JSON.
LIMIT = 200 * 1024
_OWN_IMPORTS = ("import json", "import sys", "from __future__ import annotations")


class NotShippable(TypeError):
    """A function cannot run in a job: its source is not available, or it uses something that is not in its source."""

    __module__ = "khorovod"


class JobFunction(Generic[P, R]):
    """A function that can run in a job. Call it to run it here; `job` returns the TrainingJob for its arguments."""

    def __init__(self, function: Callable[P, R], base: TrainingJob, source: str, python: str) -> None:
        self.__wrapped__ = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.source = source
        """The file that runs in the job."""
        self._base = base
        self._python = python

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.__wrapped__(*args, **kwargs)

    def job(self, *args: P.args, **kwargs: P.kwargs) -> TrainingJob:
        """Return the job that calls the function with these arguments in each rank."""
        __tracebackhide__ = True
        arguments = _arguments(self.__wrapped__, args, kwargs)
        job = TrainingJob.from_dict(self._base.to_dict())
        job.command = [self._python, MAIN, *([arguments] if arguments != "{}" else [])]
        return job

    def __repr__(self) -> str:
        return f"<JobFunction {self.__name__}: {self.__name__}.job(…) returns its TrainingJob>"

    def __get__(self, instance: object, owner: type | None = None) -> JobFunction[P, R]:
        raise NotShippable(f"{self.__name__} is a method, whose object is not in the job: write a function outside the class")


def job(
    *function: NoReturn,
    image: str,
    workers: int | Workers = 1,
    gpus: int | None = None,
    cpu: str | float | None = None,
    memory: str | float | None = None,
    name: str | None = None,
    imports: Sequence[str] = (),
    helpers: Sequence[Callable[..., object]] = (),
    files: Mapping[str, str] | None = None,
    python: str = "python3",
    **options: Unpack[JobOptions],
) -> Callable[[Callable[P, R]], JobFunction[P, R]]:
    """Make a job of a function. The function's source becomes the file `main.py` of the job, and each rank calls it.

    The source contains nothing from outside the function. Import modules in the function or with `imports`, a list of import
    statements; name other functions and classes of yours in `helpers`; pass values as arguments. `files` are further files
    beside `main.py`, by name. `workers` is a number, or a `Workers` object; `gpus`, `cpu` and `memory` are those of each
    worker. The name of the job is that of the function. All other parameters are fields of `TrainingJob`.
    """
    if function:
        raise TypeError("write the decorator with parameters: @khorovod.job(image=…, workers=2)")
    each = {key: value for key, value in (("gpus", gpus), ("cpu", cpu), ("memory", memory)) if value is not None}
    if isinstance(workers, Workers):
        if each:
            raise TypeError(f"job: set {', '.join(each)} in Workers(…), because workers is a Workers object")
    else:
        workers = Workers(replicas=workers, **each)  # type: ignore[arg-type]
    if files and MAIN in files:
        raise TypeError(f"job: files contains {MAIN}, which is the file of the function: use another name")
    pool = workers

    def decorate(function: Callable[P, R]) -> JobFunction[P, R]:
        __tracebackhide__ = True
        _check_function(function)
        source = _file(function, imports, helpers)
        size = len(json.dumps(source, ensure_ascii=False).encode())
        if size > LIMIT:
            raise NotShippable(
                f"the source of {function.__name__} has {size // 1024} KiB, and a file of a spec at most {LIMIT // 1024} KiB: "
                "build large programs into the image, and read data from storage"
            )
        base = TrainingJob(
            name=name or re.sub(r"[^a-z0-9]+", "-", function.__name__.lower()).strip("-"),
            image=image,
            workers=pool,
            code=Code(files={MAIN: source, **(files or {})}),
            **options,
        )
        return JobFunction(function, base, source, python)

    return decorate


def _check_function(function: Callable[..., object]) -> None:
    __tracebackhide__ = True
    # Below other decorators.
    function = inspect.unwrap(function)
    if not isinstance(function, types.FunctionType):
        raise NotShippable(f"job needs a function, not {type(function).__name__}: write it as `def train(…):`")
    name = function.__name__
    if name == "<lambda>":
        raise NotShippable("a lambda has no name and no source of its own: write it as `def train(…):`")
    outer = function.__qualname__.rpartition(".")[0]
    if outer and not outer.endswith("<locals>"):
        raise NotShippable(f"{function.__qualname__} is a method, whose object is not in the job: write a function outside the class")
    if function.__code__.co_freevars:
        names = ", ".join(function.__code__.co_freevars)
        raise NotShippable(f"{name} uses {names} of the function around it, which is not in the job: pass arguments instead")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise NotShippable(f"{name} is a coroutine or a generator, so a call would not run it: write a function that calls it")
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            raise NotShippable(f"{name} takes {parameter} by position, and a job passes arguments by name: give it a name")


def _tree(function: Callable[..., object]) -> tuple[str, ast.FunctionDef | ast.ClassDef]:
    """Return the source of a function or class, and its tree."""
    __tracebackhide__ = True
    name = getattr(function, "__name__", repr(function))
    try:
        source = (_cell_source(function) if isinstance(function, type) else None) or textwrap.dedent(inspect.getsource(function))
        node = ast.parse(source).body[0]
    except (OSError, TypeError, SyntaxError, IndexError) as error:
        raise NotShippable(
            f"the source of {name} cannot be read ({error}): write it in a file or a notebook cell, not in `python -c`, `exec` "
            "or a line with other code"
        ) from None
    if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name != name:
        raise NotShippable(f"the source of {name} cannot be read: write it as `def {name}(…):` in a file or a notebook cell")
    return source, node


def _cell_source(cls: type) -> str | None:
    """Return the source of a class in a notebook cell, which `inspect` does not find before Python 3.13."""
    if cls.__module__ != "__main__":
        return None
    # The last cell that was run is the last one in the cache.
    for file in reversed(list(linecache.cache)):
        if "ipykernel" in file or file.startswith("<ipython-input"):
            rows = linecache.getlines(file)
            for node in reversed(ast.parse("".join(rows)).body):
                if isinstance(node, ast.ClassDef) and node.name == cls.__name__:
                    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                    return "".join(rows[first - 1 : node.end_lineno])
    return None


def _source(function: Callable[..., object]) -> str:
    """Return the source of a function or class without the decorator `job`."""
    __tracebackhide__ = True
    source, node = _tree(function)
    scope = getattr(inspect.unwrap(function), "__globals__", {})
    rows = source.splitlines()
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and _value(decorator.func, scope) is job:
            assert decorator.end_lineno is not None
            for row in range(decorator.lineno - 1, decorator.end_lineno):
                rows[row] = ""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    kept = rows[first - 1 :]
    while kept and not kept[0].strip():
        del kept[0]
    # An empty line stays empty; those of the decorator are at the start, or between two decorators.
    return "\n".join(kept).rstrip()


def _value(node: ast.expr, scope: Mapping[str, object]) -> object:
    """Return the value of a name such as `khorovod.job`, or None."""
    if isinstance(node, ast.Name):
        return scope.get(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(_value(node.value, scope), node.attr, None)
    return None


def _file(function: Callable[..., object], imports: Sequence[str], helpers: Sequence[Callable[..., object]]) -> str:
    """Return the file that calls a function with the arguments of the command line."""
    __tracebackhide__ = True
    name = function.__name__
    if isinstance(imports, str):
        raise TypeError(f"job: imports is a list of import statements: imports=[{imports!r}]")
    for line in imports:
        _check_import(line)
    parts = [
        f"# {name}() and what it needs. khorovod runs this file in each rank; the arguments are JSON.",
        # Annotations are not evaluated, so that they may name what only a type checker needs.
        "from __future__ import annotations",
        "\n".join(["import json", "import sys", *(line for line in imports if line not in _OWN_IMPORTS)]),
        *(f"\n{_source(helper)}" for helper in helpers),
        f"\n{_source(function)}",
        f'\nif __name__ == "__main__":\n    {name}(**json.loads(sys.argv[1] if len(sys.argv) > 1 else "{{}}"))',
    ]
    text = "\n\n".join(parts) + "\n"
    missing = [found for found in _undefined(text) if found not in ("__name__", "__file__", "__doc__")]
    if missing:
        advice = "".join(f"\n  {found}: {_advice(found, function)}" for found in missing)
        raise NotShippable(f"{name} uses what is defined outside it, which is not in the job:{advice}")
    return text


def _check_import(line: str) -> None:
    __tracebackhide__ = True
    try:
        statements = ast.parse(line).body
    except SyntaxError:
        statements = []
    if not statements or not all(isinstance(statement, (ast.Import, ast.ImportFrom)) for statement in statements):
        raise TypeError(f"job: imports contains {line!r}, which is not an import statement: write 'import numpy as np'")


def _undefined(text: str) -> list[str]:
    """Return the global names that a module uses and does not define, without those in annotations."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.returns = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    module = symtable.symtable(ast.unparse(tree), MAIN, "exec")
    defined = {symbol.get_name() for symbol in module.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    used: dict[str, None] = {}
    for table in _tables(module):
        for symbol in table.get_symbols():
            if table is not module and symbol.is_declared_global() and symbol.is_assigned():
                defined.add(symbol.get_name())
            if symbol.is_referenced() and (table is module or symbol.is_global()):
                used[symbol.get_name()] = None
    return [found for found in used if found not in defined and not hasattr(builtins, found)]


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)


def _advice(found: str, function: Callable[..., object]) -> str:
    scope = getattr(function, "__globals__", {})
    if found not in scope:
        return "it is not defined here either; define it in the function"
    value = scope[found]
    if isinstance(value, types.ModuleType):
        same = value.__name__ == found
        return f"add imports=[{'import ' + value.__name__ if same else f'import {value.__name__} as {found}'!r}]"
    if isinstance(value, JobFunction):
        value = value.__wrapped__
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)) and name and module:
        if module == getattr(function, "__module__", None):
            return f"add helpers=[{found}]"
        # The shortest module that has it: torch.nn, not torch.nn.modules.linear.
        parts = module.split(".")
        public = (".".join(parts[: length + 1]) for length in range(len(parts)))
        source = next((one for one in public if getattr(sys.modules.get(one), name, None) is value), module)
        return f"add imports=[{f'from {source} import {name}' + ('' if name == found else f' as {found}')!r}]"
    return "pass it as an argument, or define it in the function"


def _arguments(function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]) -> str:
    """Return the arguments of a call as JSON, by name."""
    __tracebackhide__ = True
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        raise TypeError(f"{function.__name__}{signature}: {error}") from None
    named: dict[str, object] = {}
    for key, value in bound.items():
        is_rest = signature.parameters[key].kind is inspect.Parameter.VAR_KEYWORD
        named.update(value if is_rest else {key: value})
    for key, value in named.items():
        _check_argument(function.__name__, key, value)
    # Neither a shell nor Kubernetes finds a variable in it.
    return json.dumps(named).replace("$", "\\u0024")


def _check_argument(name: str, key: str, value: object) -> None:
    __tracebackhide__ = True
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise NotShippable(
            f"{name}: the argument {key} is {_short(value)}, which JSON cannot hold ({error}): "
            "pass numbers, strings, lists or dictionaries"
        ) from None
    if json.loads(text) != value:
        raise NotShippable(f"{name}: JSON would change the argument {key} from {_short(value)} to {_short(json.loads(text))}: pass the latter")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
