"""Pod Security Standards: an implementation of the published controls, and a check of the level that `plan` prints.

The restricted profile includes baseline. Each control is one `if`, in the order of the standard.
"""

import re

import yaml

from .corpus import Verdict, containers, label, pod_templates

BASELINE_CAPABILITIES = {
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE",
    "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
}  # fmt: skip
SAFE_SYSCTLS = {
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
}  # fmt: skip
SELINUX_TYPES = {None, "", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}
RESTRICTED_VOLUMES = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret",
}  # fmt: skip
LEVELS = ("privileged", "baseline", "restricted")


def _either(found, context, where):
    """The baseline violations in one securityContext, with the controls that pods and containers share."""
    if context.get("windowsOptions", {}).get("hostProcess"):
        found.append(f"{where}: windowsOptions.hostProcess")
    if context.get("appArmorProfile", {}).get("type") not in (None, "RuntimeDefault", "Localhost"):
        found.append(f"{where}: appArmorProfile {context['appArmorProfile'].get('type')}")
    selinux = context.get("seLinuxOptions", {})
    if selinux.get("type") not in SELINUX_TYPES or selinux.get("user") or selinux.get("role"):
        found.append(f"{where}: seLinuxOptions {selinux}")
    if context.get("seccompProfile", {}).get("type") == "Unconfined":
        found.append(f"{where}: seccompProfile Unconfined")


def _handlers(container):
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        yield probe, container.get(probe) or {}
    for hook, handler in (container.get("lifecycle") or {}).items():
        yield hook, handler if isinstance(handler, dict) else {}


def baseline_breaks(template):
    """The violations of the baseline profile in a pod template."""
    found, spec = [], template["spec"]
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(name):
            found.append(name)
    for volume in spec.get("volumes") or []:
        if "hostPath" in volume:
            found.append(f"volume {volume['name']}: hostPath")
    for key, value in (template.get("metadata", {}).get("annotations") or {}).items():
        if key.startswith("container.apparmor.security.beta.kubernetes.io/"):
            if value != "runtime/default" and not value.startswith("localhost/"):
                found.append(f"annotation {key}: {value}")
    context = spec.get("securityContext") or {}
    _either(found, context, "pod")
    for sysctl in context.get("sysctls") or []:
        if sysctl["name"] not in SAFE_SYSCTLS:
            found.append(f"sysctl {sysctl['name']}")
    for _, container in containers(spec):
        name, context = container["name"], container.get("securityContext") or {}
        _either(found, context, name)
        if context.get("privileged"):
            found.append(f"{name}: privileged")
        added = set((context.get("capabilities") or {}).get("add") or [])
        if added - BASELINE_CAPABILITIES:
            found.append(f"{name}: capabilities {sorted(added - BASELINE_CAPABILITIES)}")
        if context.get("procMount") not in (None, "Default"):
            found.append(f"{name}: procMount {context['procMount']}")
        for port in container.get("ports") or []:
            if port.get("hostPort"):
                found.append(f"{name}: hostPort {port['hostPort']}")
        for handler, action in _handlers(container):
            for kind in ("httpGet", "tcpSocket"):
                if (action.get(kind) or {}).get("host"):
                    found.append(f"{name}: {handler}.{kind}.host")
    return found


def restricted_breaks(template):
    """The violations of the restricted profile in a pod template, in addition to baseline."""
    found, spec = [], template["spec"]
    for volume in spec.get("volumes") or []:
        kinds = set(volume) - {"name"}
        if not kinds <= RESTRICTED_VOLUMES:
            found.append(f"volume {volume['name']}: {', '.join(sorted(kinds - RESTRICTED_VOLUMES))}")
    pod = spec.get("securityContext") or {}
    if pod.get("runAsUser") == 0:
        found.append("pod: runAsUser 0")
    for _, container in containers(spec):
        name, context = container["name"], container.get("securityContext") or {}
        if context.get("allowPrivilegeEscalation") is not False:
            found.append(f"{name}: allowPrivilegeEscalation is not false")
        if context.get("runAsNonRoot", pod.get("runAsNonRoot")) is not True:
            found.append(f"{name}: runAsNonRoot is not true")
        if context.get("runAsUser") == 0:
            found.append(f"{name}: runAsUser 0")
        seccomp = (context.get("seccompProfile") or pod.get("seccompProfile") or {}).get("type")
        if seccomp not in ("RuntimeDefault", "Localhost"):
            found.append(f"{name}: seccompProfile {seccomp}")
        capabilities = context.get("capabilities") or {}
        if "ALL" not in (capabilities.get("drop") or []):
            found.append(f"{name}: capabilities do not drop ALL")
        if set(capabilities.get("add") or []) - {"NET_BIND_SERVICE"}:
            found.append(f"{name}: capabilities add {capabilities['add']}")
    return found


def level(documents):
    """(the level that all pod templates meet, the violations of the next stricter level)."""
    baseline, restricted = [], []
    for document, template in pod_templates(documents):
        baseline += [f"{label(document)}: {wrong}" for wrong in baseline_breaks(template)]
        restricted += [f"{label(document)}: {wrong}" for wrong in restricted_breaks(template)]
    if baseline:
        return "privileged", baseline
    return ("baseline", restricted) if restricted else ("restricted", [])


def profile_of(example):
    """The profile in the example's spec."""
    specs = [document for document in yaml.load_all(example.path.read_text(), yaml.CSafeLoader) if document]
    profiles = {(spec["spec"].get("security") or {}).get("podSecurityLevel", "restricted") for spec in specs}
    return "restricted" if profiles <= {"restricted", "openshift"} else min(profiles - {"openshift"}, key=LEVELS.index)


def judge(corpus):
    """Checks that every example meets the level in its spec, and that `plan` prints the measured level."""
    verdict = Verdict("Pod Security", "")
    templates = 0
    for example in corpus.examples:
        templates += sum(1 for _ in pod_templates(example.documents))
        reached, reasons = level(example.documents)
        if LEVELS.index(reached) < LEVELS.index(profile_of(example)):
            verdict.failures += [f"{example.name}: asks for {profile_of(example)}: {reason}" for reason in reasons]
        said = re.findall(r"Pod Security\W+(\w+)", example.plan)
        if set(said) != {reached}:
            verdict.failures.append(f"{example.name}: plan prints Pod Security {said}, the pods meet {reached}")
        if reached != "restricted":
            verdict.notes.append(f"{example.name} is {reached}: {'; '.join(reasons[:3])}")
    verdict.counted = f"{templates} pod templates of {len(corpus.examples)} examples"
    return verdict
