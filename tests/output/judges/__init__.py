"""Independent judges of khorovod's output. Each module has `judge(corpus)` and gives a Verdict."""
