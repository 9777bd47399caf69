"""A host of the module other than Helm: wasmtime with the parts of Extism that the module uses."""

import tempfile
from pathlib import Path

import wasmtime


class Wasmtime:
    """The module in wasmtime, with everything that a host must provide."""

    def __init__(self, module):
        self.engine = wasmtime.Engine()
        self.module = wasmtime.Module.from_file(self.engine, str(module))
        self.imports = {f"{found.module}:{found.name}" for found in self.module.imports}

    def call(self, function, message, stdin=b"", env=()):
        """Calls the module with a message. Returns the code, the answer, the error, standard output and standard error."""
        store, memory, said = wasmtime.Store(self.engine), Memory(message), {}
        linker = wasmtime.Linker(self.engine)
        linker.define_wasi()
        for found in self.module.imports:
            if found.module == "extism:host/env":
                linker.define_func(found.module, found.name, found.type, memory.function(found.name, said))
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "in").write_bytes(stdin)
            wasi = wasmtime.WasiConfig()
            wasi.stdin_file, wasi.stdout_file, wasi.stderr_file = (str(place / name) for name in ("in", "out", "err"))
            wasi.env = list(env)
            store.set_wasi(wasi)
            instance = linker.instantiate(store, self.module)
            code = instance.exports(store)[function](store)
            del instance, store
            out, err = (place / "out").read_bytes(), (place / "err").read_text()
        return code, said.get("output", ""), said.get("error", ""), out, err


class Memory:
    """Extism's memory, which contains the messages."""

    def __init__(self, message):
        self.input, self.bytes, self.lengths = message.encode(), bytearray(8), {}

    def alloc(self, length):
        start = len(self.bytes)
        self.bytes += bytes(length)
        self.lengths[start] = length
        return start

    def text(self, start, length):
        return self.bytes[start : start + length].decode()

    def function(self, name, said):
        def load(memory, start, count):
            return int.from_bytes(memory[start : start + count], "little")

        def store(start, value, count):
            self.bytes[start : start + count] = (value % (1 << 8 * count)).to_bytes(count, "little")

        def signed(value):
            return value - (1 << 64) if value >> 63 else value

        return {
            "alloc": self.alloc,
            "length": lambda start: self.lengths.get(start, 0),
            "load_u8": lambda start: load(self.bytes, start, 1),
            "load_u64": lambda start: signed(load(self.bytes, start, 8)),
            "store_u8": lambda start, value: store(start, value, 1),
            "store_u64": lambda start, value: store(start, value, 8),
            "input_length": lambda: len(self.input),
            "input_load_u8": lambda start: load(self.input, start, 1),
            "input_load_u64": lambda start: signed(load(self.input, start, 8)),
            "output_set": lambda start, length: said.update(output=self.text(start, length)),
            "error_set": lambda start: said.update(error=self.text(start, self.lengths.get(start, 0))),
            "config_get": lambda _: 0,
        }[name]
