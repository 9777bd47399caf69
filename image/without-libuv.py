
# Added by khorovod. Debian builds PyTorch without libuv, but torchrun requests libuv, and no setting prevents it.
if is_available():
    _store = TCPStore.__init__

    def _store_without_libuv(self, *words, **named):
        _store(self, *words, **named | {"use_libuv": False})

    TCPStore.__init__ = _store_without_libuv
