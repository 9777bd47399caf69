"""A pod's volumes as folders of this machine, with the modes and owners that Kubernetes sets."""
import base64
import os
import re
import shutil
import subprocess


def size(quantity):
    number, unit = re.fullmatch(r"([0-9.]+)([A-Za-z]*)", str(quantity)).groups()
    scale = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
    return int(float(number) * scale[unit])


def contents(obj):
    """The data of a ConfigMap or Secret: bytes by name."""
    held = {name: text.encode() for name, text in obj.get("stringData", {}).items()}
    if obj["kind"] == "Secret":
        held.update({name: base64.b64decode(text) for name, text in (obj.get("data") or {}).items()})
    else:
        held.update({name: text.encode() for name, text in (obj.get("data") or {}).items()})
        held.update({name: base64.b64decode(text) for name, text in (obj.get("binaryData") or {}).items()})
    return held


class Missing(Exception):
    """An object that a pod refers to does not exist yet. In Kubernetes, the pod then waits."""


def picked(source, kind, name, default_mode, find):
    """(path, bytes, mode) of each file of a configMap or secret source."""
    obj = find(kind, name)
    if obj is None:
        if source.get("optional"):
            return []
        raise Missing(f"{kind} {name}")
    held = contents(obj)
    if "items" not in source:
        return [(key, data, default_mode) for key, data in held.items()]
    absent = [item["key"] for item in source["items"] if item["key"] not in held]
    if absent and not source.get("optional"):
        raise Missing(f"{kind} {name} key {absent[0]}")
    return [(item["path"], held[item["key"]], item.get("mode", default_mode)) for item in source["items"] if item["key"] in held]


def files_of(volume, pod, find):
    """The files of a volume that Kubernetes writes, or None for other volumes."""
    if "configMap" in volume:
        source = volume["configMap"]
        return picked(source, "ConfigMap", source["name"], source.get("defaultMode", 0o644), find)
    if "secret" in volume:
        source = volume["secret"]
        return picked(source, "Secret", source["secretName"], source.get("defaultMode", 0o644), find)
    if "downwardAPI" in volume:
        return [(item["path"], pod.field(item["fieldRef"]["fieldPath"]).encode(), 0o644) for item in volume["downwardAPI"]["items"]]
    if "projected" in volume:
        mode, files = volume["projected"].get("defaultMode", 0o644), []
        for source in volume["projected"]["sources"]:
            (kind, inner), = source.items()
            if kind == "serviceAccountToken":
                files.append((inner["path"], pod.token().encode(), mode))
            elif kind == "downwardAPI":
                files += files_of(source, pod, find)
            else:
                name = {"configMap": "ConfigMap", "secret": "Secret"}[kind]
                files += picked(inner, name, inner["name"], mode, find)
        return files
    return None


def write(folder, files, group):
    """Updates all files atomically by changing one symbolic link, like the kubelet."""
    age = len(os.listdir(folder))
    fresh = f"..{age}"
    os.mkdir(f"{folder}/{fresh}")
    for path, data, mode in files:
        target = f"{folder}/{fresh}/{path}"
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(data)
        if group is not None:
            os.chown(target, -1, group)
            mode |= 0o440
        os.chmod(target, mode)
    os.symlink(fresh, f"{folder}/..fresh")
    os.rename(f"{folder}/..fresh", f"{folder}/..data")
    for top in {path.split("/")[0] for path, _, _ in files}:
        if not os.path.islink(f"{folder}/{top}"):
            os.symlink(f"..data/{top}", f"{folder}/{top}")


def make(folder, volume, pod, cluster, group):
    """Creates and returns a folder for the volume."""
    files = files_of(volume, pod, cluster.find)
    if files is not None:
        os.makedirs(folder)
        write(folder, files, group)
        return folder
    if "emptyDir" in volume:
        os.makedirs(folder)
        empty = volume["emptyDir"] or {}
        if empty.get("medium") == "Memory":
            limit = f"size={size(empty['sizeLimit'])}" if "sizeLimit" in empty else "size=50%"
            subprocess.run(["mount", "-t", "tmpfs", "-o", limit, "memory", folder], check=True)
    elif "persistentVolumeClaim" in volume or "nfs" in volume:
        # The content of claims and shares is kept when pods end.
        name = volume.get("persistentVolumeClaim", {}).get("claimName", volume["name"])
        folder = f"{cluster.work}/claims/{name}"
        os.makedirs(folder, exist_ok=True)
    else:
        raise NotImplementedError(f"volume {volume}")
    os.chmod(folder, 0o777)
    if group is not None:
        os.chown(folder, -1, group)
        os.chmod(folder, 0o2777)
    return folder


def remove(folder):
    subprocess.run(["umount", "-l", folder], stderr=subprocess.DEVNULL, check=False)
    shutil.rmtree(folder, ignore_errors=True)
