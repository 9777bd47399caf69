"""Determinism: the same text and seed give the same bytes; another seed changes only the Secret."""

from .corpus import SEED, Verdict, label, load


def other_seed(corpus):
    """A second seed of the same form: every hexadecimal digit incremented by one."""
    digits = b"0123456789abcdef"
    seed = SEED.read_bytes().translate(bytes.maketrans(digits, digits[1:] + digits[:1]))
    path = corpus.scratch / "other.seed"
    path.write_bytes(seed)
    path.chmod(0o600)
    if seed == SEED.read_bytes():
        raise RuntimeError("the other seed is the same")
    return path


def judge(corpus):
    """Checks every example."""
    verdict = Verdict("determinism", f"{len(corpus.examples)} examples, each twice and with another seed")
    seed, secrets = other_seed(corpus), 0
    for example in corpus.examples:
        if corpus.binary.render(example.path) != example.text:
            verdict.failures.append(f"{example.name}: two renders differ")
        if corpus.binary.render(example.path.read_bytes()) != example.text:
            verdict.failures.append(f"{example.name}: from standard input it renders otherwise")
        other = load(corpus.binary.render(example.path, seed))
        if len(other) != len(example.documents):
            verdict.failures.append(f"{example.name}: another seed, another number of objects")
            continue
        for one, two in zip(example.documents, other):
            made = one.get("kind") == "Secret"
            secrets += made
            if made and one == two:
                verdict.failures.append(f"{example.name}: {label(one)} does not depend on the seed")
            if not made and one != two:
                verdict.failures.append(f"{example.name}: {label(one)} depends on the seed")
    if not secrets:
        verdict.failures.append("no example has a Secret")
    return verdict
