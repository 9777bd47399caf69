#!/usr/bin/env bash
# Runs image/check-image in small root file systems that each lack something, and checks its output.
#
# They are built from this machine's programs, so the test requires root, but no network and no image.
# shellcheck disable=SC2016 # The $PATH in the output is for a Dockerfile.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
passed=0 failed=0 root='' arguments=''
work=$(mktemp -d)
chmod 0755 "$work"
trap 'rm -rf "$work"' EXIT

# rootfs NAME PROGRAM…: creates a root file system with these programs of this machine and the libraries that they load.
rootfs() {
  local root=$work/$1 program file
  shift
  mkdir -p "$root"/{etc,usr/bin,usr/sbin,usr/lib,usr/lib64,tmp,dev}
  ln -s usr/bin "$root/bin"
  ln -s usr/lib "$root/lib"
  ln -s usr/lib64 "$root/lib64"
  chmod 1777 "$root/tmp"
  printf 'PRETTY_NAME="A test"\n' >"$root/etc/os-release"
  printf 'root:x:0:0::/root:/bin/sh\nk:x:65532:65532::/tmp:/bin/sh\nsshd:x:101:65534::/run/sshd:/bin/false\n' >"$root/etc/passwd"
  # These programs open only null and urandom.
  mknod -m 666 "$root/dev/null" c 1 3
  mknod -m 666 "$root/dev/urandom" c 1 9
  for program; do
    file=$(PATH=/usr/bin:/bin:/usr/sbin type -P "$program") || { echo "this machine has no $program" >&2 && exit 1; }
    cp -L "$file" "$root${file/#\/bin\///usr/bin/}"
    ldd "$file" 2>/dev/null | grep -o '/[^ ]*' | while read -r library; do
      mkdir -p "$root$(dirname "$library")"
      [[ -e $root$library ]] || cp -L "$library" "$root$library"
    done
  done
}

# program ROOT NAME LINE…: creates a script in a root file system.
program() {
  local file=$work/$1/usr/bin/$2
  shift 2
  printf '%s\n' '#!/bin/sh' "$@" >"$file"
  chmod 0755 "$file"
}

# prints CODE TEXT… [-- TEXT…]: checks that check-image of $root with $arguments exits with this code and prints the texts, but
# not those after --.
prints() {
  local wanted=$1 said code text want=yes wrong=()
  shift
  # shellcheck disable=SC2086
  said=$(image/check-image --root "$work/$root" $arguments 2>&1)
  code=$?
  ((code == wanted)) || wrong+=("code $code, not $wanted")
  for text; do
    if [[ $text == -- ]]; then
      want=no
    elif [[ $want == yes && $said != *"$text"* ]]; then
      wrong+=("does not print: $text")
    elif [[ $want == no && $said == *"$text"* ]]; then
      wrong+=("prints: $text")
    fi
  done
  if ((${#wrong[@]})); then
    failed=$((failed + 1))
    printf 'FAILED %s %s: %s\n%s\n' "$root" "$arguments" "$(printf '%s; ' "${wrong[@]}")" "$said"
  else
    passed=$((passed + 1))
    printf 'ok     %s %s\n' "$root" "$arguments"
  fi
}

tools=(sh cat chmod chroot cp cut date dirname env grep head id install ln ls mkdir mkfifo mktemp mv rm sed sleep sort tail
  timeout tr true uname uniq xargs)

# An empty root.
mkdir -p "$work/empty"
root=empty arguments='' prints 1 'LACKS a shell'

# Like Alpine: busybox is the shell and the tools, apk the package manager.
rootfs busybox
cp "$(type -P busybox)" "$work/busybox/usr/bin/busybox"
chroot "$work/busybox" /usr/bin/busybox --install -s /usr/bin
program busybox apk 'exit 0'
root=busybox arguments='' prints 1 'LACKS  /bin/bash' 'apk add --no-cache bash' 'LACKS  sshd' 'apk add --no-cache openssh-server'

# Like Debian without additional packages.
rootfs bare "${tools[@]}" bash
program bare apt-get 'exit 0'
root=bare arguments='' prints 1 'ok     bash' 'LACKS  curl or python3' 'LACKS  ssh' 'LACKS  sshd' 'LACKS  an MPI' 'apt-get install -y --no-install-recommends openmpi-bin' -- 'commands:'
root=bare arguments='--launcher torchrun' prints 1 'LACKS  torchrun' -- 'LACKS  sshd' 'LACKS  curl'
root=bare arguments='--launcher pigeon' prints 2 'mpirun|horovodrun'

# No curl, no date, an ssh that is not OpenSSH's, an MPI that is too old, an MPI that is not in PATH.
rootfs odd "${tools[@]}" bash
rm "$work/odd/usr/bin/date"
program odd ssh 'echo "Dropbear v2022.83" >&2'
program odd dnf 'exit 0'
program odd mpirun 'echo "mpirun (Open MPI) 3.1.4"'
program odd orted
root=odd arguments='' prints 1 'commands: date' "OpenSSH's ssh, has Dropbear" 'dnf install -y openssh-clients' 'LACKS  Open MPI 4 or 5'
mkdir -p "$work/odd/usr/lib64/openmpi/bin"
mv "$work/odd/usr/bin/mpirun" "$work/odd/usr/lib64/openmpi/bin/mpirun"
root=odd arguments='' prints 1 'LACKS  mpirun on PATH' 'ENV PATH=/usr/lib64/openmpi/bin:$PATH'
root=odd arguments='--launcher shell' prints 1 'no mpirun: launcher shell does not need it'

# Everything except sshd, then with sshd, then with a file that blocks logins.
rootfs whole "${tools[@]}" bash curl ssh ssh-keygen
program whole apt-get 'exit 0'
program whole mpirun 'echo "mpirun (Open MPI) 5.0.7"'
program whole prted
root=whole arguments='' prints 1 '1 missing' 'LACKS  sshd' 'openssh-server' 'MPI: openmpi 5.0.7'
rootfs more /usr/sbin/sshd
cp -an "$work/more/usr/." "$work/whole/usr/"
root=whole arguments='' prints 0 "sshd takes a configuration like a job's" 'nothing is missing' 'no sftp-server' -- LACKS
touch "$work/whole/etc/nologin"
root=whole arguments='' prints 1 'a system without /etc/nologin'
rm "$work/whole/etc/nologin"

# MPIs that require launcher.mpi in the spec.
program whole mpirun 'echo "HYDRA build details:"; echo "    Version:                                 4.0.2"'
root=whole arguments='' prints 0 'MPI: mpich 4.0.2; set launcher.mpi: mpich in the spec'
program whole mpirun 'echo "Intel(R) MPI Library for Linux* OS, Version 2021.14 Build 20241121"'
root=whole arguments='' prints 0 'MPI: intelmpi 2021.14; set launcher.mpi: intelmpi in the spec'

# A conda that is only in a login shell's PATH; a python that only root can run.
mkdir -p "$work/whole/opt/conda/bin"
program whole ../../opt/conda/bin/python 'exit 0'
root=whole arguments='' prints 1 'LACKS  python on PATH' 'ENV PATH=/opt/conda/bin:$PATH'
rm -r "$work/whole/opt"
mkdir -m 0700 "$work/whole/root"
ln -s /root/python "$work/whole/usr/bin/python"
root=whole arguments='--launcher deepspeed' prints 1 'no python' 'LACKS  deepspeed'

# This machine, with Debian's Python, as the user of jobs, in a folder with a folder `horovod`, as the root of a pod is.
if [[ -x /usr/bin/mpirun && -x /usr/bin/python3 ]]; then
  mkdir -p "$work/root/horovod" && chmod 0755 "$work"
  said=$(cd "$work/root" && setpriv --reuid 65532 --regid 65532 --clear-groups env -i PATH=/usr/bin:/bin sh -s <"$OLDPWD/image/check-image" 2>&1)
  code=$?
  if ((code == 0)) && [[ $said == *'ok     Python 3'* ]]; then
    passed=$((passed + 1)) && echo 'ok     this machine'
  else
    failed=$((failed + 1)) && echo "FAILED this machine: code $code"$'\n'"$said"
  fi
fi

# printed NAME TEXT…: checks that the last check-image of this machine printed these texts.
printed() {
  local name=$1 text
  shift
  for text; do
    [[ $said == *"$text"* ]] || { failed=$((failed + 1)) && echo "FAILED $name:"$'\n'"$said" && return; }
  done
  passed=$((passed + 1)) && echo "ok     $name"
}

# A Horovod built without PyTorch that reports PyTorch, as it does if PyTorch is installed.
mkdir -p "$work"/modules/{torch,horovod/torch,horovod/runner}
touch "$work"/modules/{torch,horovod,horovod/torch,horovod/runner}/__init__.py
printf '%s\n' 'print("    [X] PyTorch")' 'print("    [X] MPI")' >"$work/modules/horovod/runner/launch.py"
said=$(PYTHONPATH=$work/modules sh -s -- --launcher horovodrun <image/check-image 2>&1)
printed 'Horovod without PyTorch' 'LACKS  Horovod for PyTorch' 'built with MPI'

# An mpi4py of the MPI that launches, of another MPI, and one that does not load.
mkdir -p "$work"/modules/mpi4py "$work/bin"
echo 'class rc: pass' >"$work/modules/mpi4py/__init__.py"
printf '%s\n' '#!/bin/sh' 'echo "mpirun (Open MPI) 5.0.7"' >"$work/bin/mpirun"
printf '%s\n' '#!/bin/sh' >"$work/bin/prted"
chmod 0755 "$work"/bin/*
while IFS='|' read -r code wanted; do
  echo "$code" >"$work/modules/mpi4py/MPI.py"
  said=$(PATH=$work/bin:$PATH PYTHONPATH=$work/modules sh -s <image/check-image 2>&1)
  printed "$wanted" "$wanted"
done <<'CASES'
Get_library_version = lambda: "Open MPI v5.0.7, package: Debian"|mpi4py (version unknown), with that MPI
Get_library_version = lambda: "MPICH Version:\t5.0.2\nMPICH Release date: today"|LACKS  an mpi4py for openmpi
raise ImportError("libmpi.so.12: cannot open shared object file")|LACKS  an mpi4py that loads
CASES

echo "$passed passed, $failed failed"
((failed == 0))
