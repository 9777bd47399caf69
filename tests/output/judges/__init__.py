"""Independent checks of khorovod's output. Each module has a function `judge(corpus)` that returns a Verdict."""
