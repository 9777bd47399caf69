"""The names that fields had at the commit 4a23c3f. case.py uses them if WITHOUT_NEW_FIELDS is set: see against.sh."""
import copy

# The present name, the old name, and the old names of values. A name is a path from `spec`; `[]` stands for each item of a list.
OLD_NAMES = [
    ("workers.slotsPerWorker", "workers.slots", {}),
    ("workers.elastic.minReplicas", "elastic.minWorkers", {}),
    ("workers.elastic.maxReplicas", "elastic.maxWorkers", {}),
    ("launcher.runsIn", "workers.controller", {"firstWorker": "Job"}),
    ("lifecycle.startTimeout", "launcher.waitTimeout", {}),
    ("lifecycle.retries", "launcher.retries", {}),
    ("storage[].claim.storageClassName", "storage[].claim.storageClass", {}),
    ("storage[].s3.secretName", "storage[].s3.secret", {}),
]


def in_old_names(spec):
    """A copy of a spec with the old names."""
    spec = copy.deepcopy(spec)
    for name, old, values in OLD_NAMES:
        rename(spec, name, old, values)
    return spec


def renamed_fields(spec):
    """The present names of the fields of a spec that had another name."""
    return {name for name, old, values in OLD_NAMES if rename(copy.deepcopy(spec), name, old, values)}


def rename(spec, name, old, values):
    """Moves a field to its old name, and returns whether the spec has it."""
    if "[]." in name:
        (items, name), (_, old) = name.split("[].", 1), old.split("[].", 1)
        return any([rename(item, name, old, values) for item in spec.get(items, [])])
    found, value = take(spec, name.split("."))
    if found:
        *parents, last = old.split(".")
        for parent in parents:
            spec = spec.setdefault(parent, {})
        spec[last] = values[value] if values else value
    return found


def take(fields, path):
    """Removes a field, and the parents that have no other field. Returns whether it was there, and its value."""
    first, *rest = path
    if first not in fields:
        return False, None
    if not rest:
        return True, fields.pop(first)
    found, value = take(fields[first], rest)
    if found and not fields[first]:
        del fields[first]
    return found, value
