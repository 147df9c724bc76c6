"""Run the cells of somebody else's notebook in a process that can do little but compute, and ask it for the results.

The process is forked from a *nursery*, which has imported the libraries and knows nothing of the checks. So hidden
checks are never in a student's process: they run outside, and get at an answer by asking for its value, or for what a
function returns. Questions go in as pickles, answers come out as JSON, which can hold numbers and cannot hold code.

Standard library, numpy and pandas only; Linux and macOS. What a process may do is decided in `confinement`.
"""

import base64
import builtins
import json
import numbers
import os
import pickle
import re
import select
import signal
import socket
import struct
import sys
import tempfile
import time
from collections import deque
from collections.abc import ItemsView, KeysView, ValuesView
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from confinement import end_with_parent, lock_down, own_user

LARGEST_ANSWER = 20_000_000  # bytes
# In place of the type of an error.
CALLS_PACKAGE = "runs code of a package that is not allowed"
EMPTY = "has no entries"


@dataclass(frozen=True)
class Limits:
    """What a notebook may use: seconds for a cell (or one call of an answer), seconds in all, bytes of memory."""

    cell: float = 20.0
    total: float = 120.0
    memory: int = 1_000_000_000


class Ended(Exception):
    """The student's process is gone; ``why`` is "time", "total", "large" (its answer) or "died"."""

    def __init__(self, why):
        super().__init__(why)
        self.why = why


class Failed(Exception):
    """Student's code raised an error: its type, its words, and the line of the cell."""

    def __init__(self, kind, words="", line=None):
        super().__init__(kind, words, line)
        self.kind, self.words, self.line = kind, words, line


class Unknown(Exception):
    """There is no such name in the notebook."""


# --- outside: what asks ---------------------------------------------------------------------------------------------


class Nursery:
    """A child that forks students' processes. Start it before anything is read that students must not see."""

    def __init__(self):
        self.control, theirs = socket.socketpair()
        if os.fork() == 0:
            try:
                self.control.close()
                end_with_parent()
                tend(theirs)
            finally:
                os._exit(0)
        theirs.close()

    def start(self, folder, limits):
        """Return the connection to a new process, which may write into a folder."""
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self.control, [pickle.dumps((str(folder), limits))], [theirs.fileno()])
        self.control.recv(1)
        return ours

    def end(self):
        """Kill the process that was started last, and wait until it is gone."""
        self.control.send(b"x")
        self.control.recv(1)


class Student:
    """The process of one notebook. One that is lost is started again, without the cell that it was lost in."""

    def __init__(self, nursery, setup, cells, limits):
        self.nursery, self.setup, self.cells, self.limits = nursery, setup, cells, limits
        self.skipped, self.notes, self.connection, self.spent = {}, {}, None, 0.0
        self.folder = tempfile.TemporaryDirectory(prefix="notebook-", ignore_cleanup_errors=True)
        if os.geteuid() == 0:
            os.chown(self.folder.name, *2 * [own_user()])

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()
        self.folder.cleanup()

    def stop(self):
        if self.connection is not None:
            self.connection.close()
            self.nursery.end()
            self.connection = None

    def run(self):
        """Run the set-up and all cells, in order, whatever they do; ``notes`` then says what went wrong where."""
        while self.connection is None:
            self.connection = self.nursery.start(self.folder.name, self.limits)
            self._ask("run", "set-up", self.setup)
            for number, source in self.cells.items():
                if number not in self.skipped:
                    try:
                        left_out = self._ask("run", f"cell {number}", source)
                        self.notes[number] = ("magic",) if left_out else ()
                    except Failed as error:
                        self.notes[number] = ("error", error)
                    except Ended as end:
                        self.skipped[number], self.notes[number] = end.why, (end.why,)
                        if end.why == "total":
                            raise
                        break

    def value(self, name, forbidden=()):
        """Return a value of the notebook; a function is returned as one that asks the process.

        ``forbidden`` are packages, and a call of the function fails with `CALLS_PACKAGE` if it runs code of them.
        """
        self.run()
        found = filled(self._ask("value", name))
        return (lambda *args, **kwargs: self.call(name, args, kwargs, forbidden)) if found is FUNCTION else found

    def call(self, name, args, kwargs, forbidden=()):
        self.run()
        return filled(self._ask("call", name, args, kwargs, forbidden))

    def _ask(self, *question):
        started = time.monotonic()
        seconds = min(self.limits.cell, self.limits.total - self.spent)
        try:
            send(self.connection, pickle.dumps(question))
            answer = json.loads(receive(self.connection, started + seconds))
            kind, content = next(iter(answer.items()))
            content = decode(content) if kind == "value" else [*map(shortened, content)]
        except TimeoutError:
            self.stop()
            raise Ended("time" if seconds == self.limits.cell else "total") from None
        except OverflowError:
            self.stop()
            raise Ended("large") from None
        except Exception as error:  # it has ended, or somebody has meddled with what answers
            self.stop()
            raise Ended("died") from error
        finally:
            self.spent += time.monotonic() - started
        if kind == "failed":
            raise Failed(*content[:3])
        if kind == "unknown":
            raise Unknown(question[1])
        return content


def filled(answer):
    """Return an answer that has entries, in all of its parts.

    One without any is refused, as ``np.allclose`` takes it for equal to whatever has a shape that fits.
    """
    parts = answer if isinstance(answer, list | tuple) else answer.values() if isinstance(answer, dict) else ()
    if isinstance(answer, list | tuple | np.ndarray | pd.Series | pd.DataFrame) and np.size(answer) == 0:
        raise Failed(EMPTY)
    for part in parts:
        filled(part)
    return answer


def shortened(part):
    return part if isinstance(part, int) or part is None else str(part)[:200]


def send(connection, data):
    connection.settimeout(60)
    connection.sendall(struct.pack("!Q", len(data)) + data)


def receive(connection, deadline=None):
    """Return the next message.

    A TimeoutError is raised at the deadline, an EOFError if the other side is gone, an OverflowError if it sends too
    much.
    """

    def exactly(size):
        data = bytearray()
        while len(data) < size:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([connection], [], [], left)[0]:
                raise TimeoutError
            if not (piece := connection.recv(min(size - len(data), 1 << 20))):
                raise EOFError
            data += piece
        return bytes(data)

    (size,) = struct.unpack("!Q", exactly(8))
    if size > LARGEST_ANSWER:
        raise OverflowError("the answer is too large")
    return exactly(size)


# --- between: values without code -----------------------------------------------------------------------------------

FUNCTION = object()


@dataclass(frozen=True)
class Other:
    """An answer of a kind that no question asks for, such as a fitted model; checks see the name of its type."""

    kind: str


def encode(value):
    """Return a value as JSON can hold it, [kind, content]; `decode` makes it a value again.

    Subclasses travel as their base types: a namedtuple as a tuple, a defaultdict as a dict, a masked array as an array.
    So do numbers of numpy, `fractions` and `decimal`, and the containers of pandas.
    """
    for types, encoded in ENCODERS:
        if isinstance(value, types) and (pair := encoded(value)) is not None:
            return pair
    return ["function", None] if callable(value) and not isinstance(value, type) else ["other", type(value).__name__]


def encode_array(values):
    if isinstance(values, np.ma.MaskedArray) and values.dtype.kind in "biuf":
        values = values.astype(float).filled(np.nan)
    values = np.asarray(values)
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        values = values.astype(float)
    if values.dtype.kind in "biuf":
        data = base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
        return ["array", [values.dtype.str, values.shape, data]]
    return ["objects", encode(values.tolist())] if values.dtype.kind in "OU" else None


def encode_frame(frame):
    columns = [[encode(name), encode(frame.iloc[:, i].to_numpy())] for i, name in enumerate(frame.columns)]
    return ["frame", [encode(frame.index.tolist()), columns]]


def encode_items(kind):
    return lambda values: [kind, [encode(one) for one in values]]


def encode_dict(values):
    return ["dict", [[encode_key(name), encode(one)] for name, one in values.items()]]


def encode_key(name):
    key = encode(name)  # what has a hash may have a base type that has none
    return key if key[0] in {"plain", "tuple", "frozenset", "function", "other"} else ["other", type(name).__name__]


def plain(value):
    return ["plain", value]


# Types, and what encodes them or returns nothing if it cannot; the first that fits counts.
ENCODERS = (
    ((type(None), bool, int, float, str), plain),
    (np.bool_, lambda value: plain(bool(value))),
    (np.integer, lambda value: plain(int(value))),
    ((np.floating, numbers.Rational, Decimal), lambda value: plain(float(value))),
    ((type(pd.NA), type(pd.NaT)), lambda value: plain(float("nan"))),
    (np.ndarray, encode_array),
    (pd.Series, lambda series: ["series", [encode(series.index.tolist()), encode(series.to_numpy())]]),
    (pd.DataFrame, encode_frame),
    ((pd.Index, pd.api.extensions.ExtensionArray), lambda values: encode(np.asarray(values))),
    ((list, deque, KeysView, ValuesView, ItemsView), encode_items("list")),
    ((tuple, range), encode_items("tuple")),
    (frozenset, encode_items("frozenset")),
    (set, encode_items("set")),
    (dict, encode_dict),
)
CONTAINERS = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


def decode(pair):
    """Return the value that `encode` was given; anything that it cannot have written raises a ValueError."""
    kind, content = pair
    if kind == "plain" and (content is None or isinstance(content, bool | int | float | str)):
        return content
    if kind == "array":
        dtype, shape, data = content
        if np.dtype(dtype).kind not in "biuf":
            raise ValueError(dtype)
        return np.frombuffer(base64.b64decode(data), dtype).reshape(shape).copy()
    if kind == "objects":
        return np.array(decode(content), dtype=object)
    if kind == "series":
        return pd.Series(decode(content[1]), index=decode(content[0]))
    if kind == "frame":
        index, columns = decode(content[0]), content[1]
        frame = pd.DataFrame(dict(enumerate(decode(values) for _, values in columns)), index=index)
        return frame.set_axis([decode(name) for name, _ in columns], axis=1)
    if kind in CONTAINERS:
        return CONTAINERS[kind](decode(one) for one in content)
    if kind == "dict":
        return {decode(key): decode(value) for key, value in content}
    if kind == "function":
        return FUNCTION
    if kind == "other":
        return Other(str(content)[:50])
    raise ValueError(kind)


# --- inside: what answers -------------------------------------------------------------------------------------------


def tend(control):
    """Fork a process for every request, and kill it at the next word, or when the other side is gone."""
    while True:
        request, files, *_ = socket.recv_fds(control, 10_000, 1)
        if not request:
            return
        if (process := os.fork()) == 0:
            try:
                folder, limits = pickle.loads(request)
                os.dup2(files[0], 3)
                lock_down(folder, limits.memory)
                live(socket.socket(fileno=3))
            finally:
                os._exit(1)
        os.close(files[0])
        control.send(b"x")
        control.recv(1)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        control.send(b"x")


def live(connection):
    """Answer one question after the other."""
    builtins.input = no_input
    namespace = {"__name__": "__main__", "display": lambda *shown, **how: None, "get_ipython": lambda: None}
    while True:
        action, name, *content = pickle.loads(receive(connection))
        try:
            if action == "run":
                source, left_out = plain_python(*content)
                exec(compile(source, name, "exec"), namespace)
                answer = {"value": encode(left_out)}
            elif name not in namespace:
                answer = {"unknown": name}
            elif action == "value":
                answer = {"value": encode(namespace[name])}
            else:
                args, kwargs, forbidden = content
                with watching(forbidden) as used:
                    answer = {"value": encode(namespace[name](*args, **kwargs))}
                if used:
                    answer = {"failed": [CALLS_PACKAGE, used[0], None]}
            answer = json.dumps(answer)
        except BaseException as error:
            answer = json.dumps({"failed": described(error)})
        send(connection, answer.encode())


@contextmanager
def watching(packages):
    """Note which functions of some packages are run, under whatever name they are called, as ``package.function``."""
    used, others = [], set()
    folders = {f"{Path(find_spec(name).origin).parent}{os.sep}": name for name in packages}

    def note(frame, event, argument):  # for every call of a function of Python, so it has to be quick
        file = frame.f_code.co_filename
        if file not in others:
            used.extend(f"{name}.{frame.f_code.co_name}" for folder, name in folders.items() if file.startswith(folder))
            others.add(file)

    if folders:
        sys.settrace(note)
    try:
        yield used
    finally:
        sys.settrace(None)


def described(error):
    """Return the type of an error, what it says, and the line of the cell in which it arose."""
    line, trace = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith("cell "):
            line = trace.tb_lineno
        trace = trace.tb_next
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    return [type(error).__name__, words, line]


def no_input(prompt=""):
    raise EOFError("nobody is there to answer input()")


def plain_python(source):
    """Return a cell without what only Jupyter understands, and whether anything was left out.

    Lines keep their numbers.
    """
    if is_python(source):
        return source, False
    magic = re.match(r"\s*%%(\w+).*", source)
    if magic and magic[1] not in {"time", "timeit", "capture", "prun"}:
        return "", True  # another language
    if magic:
        source = source.replace(magic[0], "", 1)
    lines = [
        re.sub(r"^(\s*)%(time|timeit|prun)\s+(?=\w)", r"\1", line)
        if re.match(r"\s*%(time|timeit|prun)\s+\w", line)
        else re.sub(
            r"^(\s*)(\w+\s*=\s*)[%!].*$", r"\1\2None", re.sub(r"^(\s*)([%!?].*|[\w.]+\?+\s*)$", r"\1pass", line)
        )
        for line in source.split("\n")
    ]
    cleaned = "\n".join(lines)
    return cleaned, is_python(cleaned)


def is_python(source):
    try:
        compile(source, "cell", "exec")
    except (SyntaxError, ValueError):
        return False
    return True
