# SPDX-License-Identifier: GPL-3.0-or-later
"""Policies of orrery in Python.

The modules orrery.jobs, orrery.step, orrery.spot, orrery.serve and orrery.plan have the functions, structures, constants and macros of
the public headers <orrery/jobs.h>, .., from which they are made when a policy imports them. Differences from C:

- A policy is a class; create() is its constructor without a return value, and further callbacks are its methods, without `self` of C.
- A function that fills in a structure, its last parameter, may be called without it, and then returns it, or None for false.
- Texts are str (bytes in structures), NULL is None, an array is a list.
- orr_x(..) makes a structure; struct_orr_x(..) too, also if a function has the name orr_x.
- orr_arg_list(args, name) returns a list, and orr_arg_file(args, name) bytes or None.
- Functions with a format take a finished text instead; orr_fail(text) raises an exception.
- array(kind, values) makes an array for a pointer in a structure: array("uint32_t", [0, 1]), array(orr_plan_stage, [stage]).
- An exception ends the run with an error that names file, line and simulated time.
"""
import ctypes as _c
import importlib.machinery as _machinery
import os as _os
import re as _re
import sys as _sys

_lib = _c.PyDLL(None)
_simple = {
    "char": _c.c_char, "bool": _c.c_bool, "int": _c.c_int, "unsigned": _c.c_uint, "double": _c.c_double, "float": _c.c_float,
    "size_t": _c.c_size_t, "int64_t": _c.c_int64, "uint64_t": _c.c_uint64, "int32_t": _c.c_int32, "uint32_t": _c.c_uint32,
    "uint16_t": _c.c_uint16, "uint8_t": _c.c_uint8, "void": None,
}  # fmt: skip
_structs, _ops, _headers = {}, {}, {}
_into = globals()  # names of the header that is read


# ---- the headers ----


class _Text(_c.c_char_p):
    """A text argument: str, bytes or None."""

    @classmethod
    def from_param(cls, value):
        return _c.c_char_p.from_param(value.encode() if isinstance(value, str) else value)


def _array_of(kind):
    class Array(_c.POINTER(kind)):
        """A pointer argument: a list, an instance, an array or None."""

        _type_ = kind

        @classmethod
        def from_param(cls, value):
            if isinstance(value, (list, tuple)):
                return (kind * max(len(value), 1))(*value)
            return _c.POINTER(kind).from_param(value)

    return Array


def _number(text):
    """Returns the value of a constant expression; None if it is none."""
    text = _re.sub(r"/\*.*?\*/", "", text).strip()
    text = _re.sub(r"U?INT64_C\((\w+)\)", r"\1", text)
    text = _re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b", r"\1", text)
    known = {"UINT32_MAX": 2**32 - 1, "INT64_MAX": 2**63 - 1, "UINT64_MAX": 2**64 - 1, "INT32_MAX": 2**31 - 1}
    try:
        value = eval(text, {"__builtins__": {}}, {**_into, **known})
    except Exception:
        return None
    return value if isinstance(value, (int, float)) else None


def _base(words):
    words = [w for w in words if w not in ("const", "extern", "ORR_API")]
    if words[0] == "enum":
        return _c.c_int
    if words[0] == "struct":
        return _structs.get(words[1])  # None: opaque
    return _simple[words[0]]


def _declared(text):
    """Splits "const struct orr_x *name[4]" into words of the type, stars, name and size."""
    m = _re.match(r"^(.*?)(\**)\s*(\w+)\s*(?:\[(.*)\])?$", text.strip(), _re.S)
    words, stars, name, size = m.group(1).split(), len(m.group(2)), m.group(3), m.group(4)
    while words and set(words[-1]) == {"*"}:
        stars += len(words.pop())
    return words, stars, name, size


def _is_text(words, stars):
    return stars == 1 and "char" in words and "const" in words


def _field(text):
    """Yields (name, type) of one declaration of a structure: "uint32_t user, *queue, model"."""
    first, *others = text.split(",")
    words, stars, name, size = _declared(first)
    for item in [(stars, name, size)] + [_declared("x " + o)[1:] for o in others]:
        stars, name, size = item
        if _is_text(words, stars):
            kind = _c.c_char_p
        elif stars:
            kind = _c.c_void_p if stars > 1 or _base(words) is None else _c.POINTER(_base(words))
        else:
            kind = _base(words)
        if size is not None:
            kind = kind * int(_number(size))
        yield name, kind


def _parameter(text):
    words, stars, name, size = _declared(text)
    if size is not None:
        stars += 1
    if not stars:
        return name, _base(words)
    if _is_text(words, stars):
        return name, _Text
    base = _base(words)
    return name, _c.c_void_p if stars > 1 or base is None or words[-1] == "char" else _array_of(base)


def _as_text(result, function, arguments):
    return None if result is None else result.decode(errors="replace")


def _with_out(function, structure):
    """A function whose last parameter may be left out."""
    n = len(function.argtypes)

    def call(*arguments):
        if len(arguments) == n:
            return function(*arguments)
        out = structure()
        return out if function(*arguments, out) is not False else None

    return call


def _formatted(name, kinds):
    """A function of a format and its values, which takes a finished text."""
    function = _lib[name]
    function.restype, function.argtypes = None, kinds + [_Text]
    return lambda *arguments: function(*arguments[:-1], "%s", arguments[-1])


def _read_function(words, stars, name, parameters):
    if name == "orr_fail" or not hasattr(_lib, name):
        return
    if "..." in parameters:
        _into[name] = _formatted(name, [_parameter(p)[1] for p in parameters.split(",")[:-1]])
        return
    given = [] if parameters.strip() in ("", "void") else [_parameter(p) for p in parameters.split(",")]
    function = _lib[name]
    function.argtypes = [kind for _, kind in given]
    if _is_text(words, stars):
        function.restype, function.errcheck = _c.c_char_p, _as_text
    elif stars:
        base = _base(words)
        function.restype = _c.c_void_p if stars > 1 or base is None else _c.POINTER(base)
    else:
        function.restype = _base(words)
    structure = getattr(given[-1][1], "_type_", None) if given and "const" not in parameters.split(",")[-1].split() else None
    if isinstance(structure, type) and issubclass(structure, _c.Structure) and function.restype in (_c.c_bool, None):
        _into[name] = _with_out(function, structure)
    else:
        _into[name] = function


def _read_ops(name, body):
    table = []
    for m in _re.finditer(r"([\w\s\*]+?)\(\*(\w+)\)\(([^()]*)\)\s*;", body):
        words = m.group(1).replace("*", " * ").split()
        stars = words.count("*")
        words = [w for w in words if w != "*"]
        kinds = []
        for p in m.group(3).split(","):
            kind = _parameter(p)[1]
            kinds.append(kind if isinstance(kind, type) and issubclass(kind, _c._SimpleCData) and kind is not _Text else _c.c_void_p)
        result = _c.c_void_p if stars else _base(words)
        names = [_declared(p)[2] for p in m.group(3).split(",")]
        table.append((m.group(2), _c.PYFUNCTYPE(result, *kinds), names, result))
    _ops[name] = table


def _read_header(text):
    text = _re.sub(r"/\*.*?\*/", " ", text, flags=_re.S).replace("\\\n", " ")
    for m in _re.finditer(r"^#define (ORR_\w+)[ \t]+(.+)$", text, flags=_re.M):
        value = _number(m.group(2))
        if value is not None:
            _into[m.group(1)] = value
    text = _re.sub(r"^\s*#.*$", "", text, flags=_re.M)
    text = _re.sub(r'extern "C" \{', "", text)
    text = _re.sub(r"__attribute__\s*\(\(.*?\)\)\)?", "", text)
    text = _re.sub(r"static inline[^{]*\{.*?\n\}", "", text, flags=_re.S)
    pattern = r"typedef\s+(\w+)\s+(\w+)\s*;|enum\s*(\w*)\s*\{(.*?)\}\s*;|struct\s+(\w+)\s*\{(.*?)\}\s*;|ORR_API\s+([\w\s\*]+?)(\w+)\s*\(([^()]*)\)\s*;"
    for m in _re.finditer(pattern, text, flags=_re.S):
        if m.group(1):
            _simple[m.group(2)] = _simple[m.group(1)]
        elif m.group(4) is not None:
            value = -1
            for item in m.group(4).split(","):
                name, _, given = item.partition("=")
                if name.strip():
                    value = _number(given) if given else value + 1
                    _into[name.strip()] = value
        elif m.group(5):
            name, body = m.group(5), m.group(6)
            if name.endswith("_ops"):
                _read_ops(name, body)
                continue
            if name == "orr_plugin":
                continue
            fields = []
            for part in body.split(";"):
                if part.strip():
                    fields += list(_field(part))
            _structs[name] = type(name, (_c.Structure,), {"_fields_": fields})
            _into["struct_" + name] = _into[name] = _structs[name]
        elif m.group(8):
            kind = m.group(7)
            _read_function(kind.replace("*", " ").split(), kind.count("*"), m.group(8), m.group(9))


def array(kind, values):
    """Returns an array for a pointer in a structure. kind: the name of a C type, or a structure of the headers."""
    kind = _simple[kind] if isinstance(kind, str) else kind
    return (kind * max(len(values), 1))(*values)


def orr_fail(text):
    """Ends create(), build() or search() with this error of the input."""
    raise ValueError(text)


# ---- parameters ----


def ORR_PARAM_BOOL(name, default, doc):
    return (name, "BOOL", "true" if default else "false", None, 0, 1, doc)


def ORR_PARAM_INT(name, default, least, most, doc):
    return (name, "INT", str(default), None, least, most, doc)


def ORR_PARAM_REAL(name, default, least, most, doc):
    return (name, "REAL", str(default), None, least, most, doc)


def ORR_PARAM_TIME(name, default, doc):
    return (name, "TIME", str(default), None, 0, 4.6e9, doc)


def ORR_PARAM_CHOICE(name, default, choices, doc):
    return (name, "CHOICE", default, choices, 0, 0, doc)


def ORR_PARAM_TEXT(name, default, doc):
    return (name, "TEXT", default, None, 0, 0, doc)


def ORR_PARAM_LIST(name, default, doc):
    return (name, "LIST", default, None, -9e18, 9e18, doc)


def ORR_PARAM_FILE(name, doc):
    return (name, "FILE", "", None, 0, 0, doc)


# ---- the policy ----

_kept = []  # what C refers to: as long as the process
_policy, _file = None, ""


def _keep(value):
    _kept.append(value)
    return value


def _encoded(text):
    return None if text is None else _keep(str(text).encode())


def _where(error):
    """Returns "mine.py:12: ZeroDivisionError: division by zero", with the last line of the policy's own file."""
    line, at = getattr(error, "lineno", 0) or 0, error.__traceback__
    while at:
        if at.tb_frame.f_code.co_filename == _file:
            line = at.tb_lineno
        at = at.tb_next
    text = " ".join((error.msg if isinstance(error, SyntaxError) else str(error)).split())
    return "%s:%d: %s%s" % (_os.path.basename(_file), line, type(error).__name__, ": " + text if text else "")


def _set_error(pointer, code, text):
    error = orr_error.from_address(pointer)
    error.code, error.text = code, text.encode()[:760]


def _give_up(kind, world, text):
    """Ends the run with this error."""
    module = _sys.modules["orrery." + kind]
    if kind == "jobs":
        module.orr_give_up(world, 0, text)
    elif kind == "serve":
        module.orr_serve_give_up(world, 0, text)
    elif kind == "spot":
        module.orr_spot_give_up(world, text)
    else:
        print("orrery: " + text, file=_sys.stderr)


def _stop(text):
    """Ends the process: for functions that cannot return an error."""
    print("orrery: " + text, file=_sys.stderr, flush=True)
    _os.abort()


def _callback(kind, name, names, result, objects, cls):
    """Returns the function that C calls: it finds the object of the run and catches exceptions."""
    with_error = names[-1] == "err"
    empty = None if result is None else 0

    def fail(arguments, error):
        text = _where(error) + " in %s()" % name
        if with_error:
            code = ORR_EINPUT if isinstance(error, ValueError) else ORR_EFAIL
            _set_error(arguments[-1], code, text)
            return code
        _give_up(kind, arguments[1] if len(arguments) > 1 else None, text)
        return empty

    if name == "create":

        def call(*arguments):
            try:
                o = cls()
                o.create(*arguments[:-1])
            except BaseException as error:
                _set_error(arguments[-1], ORR_EINPUT if isinstance(error, ValueError) else ORR_EFAIL, _where(error) + " in create()")
                return None
            objects[id(o)] = o
            return id(o)

    elif name == "search":

        def call(*arguments):
            try:
                o = cls()
                o.search(*arguments[:-1])
                return ORR_OK
            except BaseException as error:
                return fail(arguments, error)

    elif name == "destroy":

        def call(this):
            o = objects.pop(this)
            try:
                if hasattr(o, "destroy"):
                    o.destroy()
            except BaseException as error:
                _stop(_where(error) + " in destroy()")

    elif name == "describe":

        def call(this, out, size):
            try:
                text = str(objects[this].describe()).encode()[: size - 1]
            except BaseException as error:
                _stop(_where(error) + " in describe()")
            _c.memmove(out, text + b"\0", len(text) + 1)

    elif with_error:
        method = getattr(cls, name)

        def call(*arguments):
            try:
                method(objects[arguments[0]], *arguments[1:-1])
                return empty
            except BaseException as error:
                return fail(arguments, error)

    else:
        method = getattr(cls, name)

        def call(*arguments):
            try:
                value = method(objects[arguments[0]], *arguments[1:])
                return value if result is not None else None
            except BaseException as error:
                return fail(arguments, error)

    return call


def _declare(kind, ident, doc, flags, params, cls):
    global _policy
    table = _ops["orr_%s_ops" % kind]
    callbacks, objects = [], {}
    for name, prototype, names, result in table:
        is_there = hasattr(cls, name) or name == "destroy"
        if name == "create" and not is_there:
            cls, is_there = type(cls.__name__, (cls,), {"create": lambda self, *arguments: None}), True
        callbacks.append(_keep(prototype(_callback(kind, name, names, result, objects, cls))) if is_there else prototype())
    fields = [(name, prototype) for name, prototype, _, _ in table]
    ops = _keep(type("ops", (_c.Structure,), {"_fields_": fields})(*callbacks))
    entries = _keep((orr_param * (len(params) + 1))())
    for entry, p in zip(entries, params):
        entry.name, entry.kind, entry.choices = _encoded(p[0]), globals()["ORR_KIND_" + p[1]], _encoded(p[3])
        setattr(entry, "def", _encoded(p[2]))
        entry.min, entry.max, entry.doc = p[4], p[5], _encoded(p[6])
    _policy = _keep(orr_policy(ORR_ABI_VERSION, _c.sizeof(orr_policy), _encoded(ident), _encoded(doc), _encoded(kind), flags,
        _c.cast(entries, _c.POINTER(orr_param)), _c.cast(_c.pointer(ops), _c.c_void_p), _c.sizeof(ops)))  # fmt: skip


def _macros(kind):
    upper = kind.upper()

    def with_flags(ident, doc, flags, params, cls):
        _declare(kind, ident, doc, flags, params, cls)

    return {
        "ORR_POLICY_%s_FLAGS" % upper: with_flags,
        "ORR_POLICY_%s" % upper: lambda ident, doc, params, cls: with_flags(ident, doc, 0, params, cls),
        "ORR_POLICY_%s_ORACLE" % upper: lambda ident, doc, params, cls: with_flags(ident, doc, ORR_NEEDS_ORACLE, params, cls),
    }


def _wrap_arguments():
    listed, filed = orr_arg_list, orr_arg_file
    filed.restype, filed.errcheck = _c.c_void_p, lambda result, function, arguments: result

    def orr_arg_list_(args, name):
        n = _c.c_size_t()
        values = listed(args, name, n)
        return [values[i] for i in range(n.value)]

    def orr_arg_file_(args, name):
        n = _c.c_size_t()
        address = filed(args, name, n)
        return _c.string_at(address, n.value) if address else None

    globals()["orr_arg_list"], globals()["orr_arg_file"] = orr_arg_list_, orr_arg_file_


# ---- the modules of the worlds ----


class _Finder:
    """Makes orrery.jobs from jobs.h, and so on."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        known = name.startswith("orrery.") and name[7:] in _headers
        return _machinery.ModuleSpec(name, cls) if known else None

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        global _into
        kind = module.__name__[7:]
        _into = module.__dict__
        _into.update((name, value) for name, value in globals().items() if not name.startswith("_"))
        _read_header(_headers[kind])
        _into.update(_macros(kind))
        _into = globals()


def _start(headers):
    """headers: "api.h", a newline and the text, ... The first three are common to all worlds."""
    _sys.stdout = _sys.stderr  # standard output is for results
    _sys.argv = ["orrery"]
    for text in headers:
        name, _, body = text.partition("\n")
        _headers[name[:-2]] = body
    for name in ("api", "param", "policy"):
        _read_header(_headers.pop(name))
    _wrap_arguments()
    globals()["__path__"] = []
    _sys.meta_path.insert(0, _Finder)


class _Loaded(_c.Structure):
    """struct loaded of python.c."""

    _fields_ = [("path", _c.c_char_p), ("header", _c.POINTER(_c.c_char_p)), ("policy", _c.c_void_p), ("error", _c.c_char * 700)]


def _load(address):
    """Starts at the first call, then loads the policy; fills in struct loaded."""
    global _policy, _file
    loaded = _Loaded.from_address(address)
    _file, _policy = loaded.path.decode(), None
    try:
        if not _headers:
            n = 0
            while loaded.header[n]:
                n += 1
            _start(loaded.header[i].decode() for i in range(n))
        _sys.path.insert(0, _os.path.dirname(_os.path.abspath(_file)))
        with open(_file, "rb") as f:
            code = compile(f.read(), _file, "exec")
        exec(code, {"__name__": "orrery_policy", "__file__": _file})
        if _policy is None:
            loaded.error = b'expected a last line such as ORR_POLICY_JOBS("mine", "what it does", params, Mine)'
            return
        loaded.policy = _c.addressof(_policy)
    except BaseException as error:
        loaded.error = _where(error).encode()[:699]
