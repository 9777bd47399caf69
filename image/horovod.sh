#!/usr/bin/env bash
# Builds a wheel of Horovod for the installed PyTorch, TensorFlow or MXNet, and prints its path.
#
#   image/horovod.sh FOLDER [HOROVOD_…=VALUE …]
#   image/horovod.sh /tmp/wheels HOROVOD_GPU_OPERATIONS=MPI HOROVOD_WITHOUT_TENSORFLOW=1
#
# Accepts Horovod's build flags. The defaults are: with PyTorch, MPI and Gloo, without TensorFlow and MXNet, and GPU operations
# by NCCL if PyTorch is built for CUDA. PYTHON selects an interpreter; the default is python3.
#
# Requires g++, make, cmake, the headers of Python and of an MPI, and for GPUs nvcc. Takes 6 to 8 minutes on two cores.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}

usage() { sed -n '2,/^set/{s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
if (($# == 0)) || [[ $1 == -* ]]; then usage; fi
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
for flag in "$@"; do
  [[ $flag == HOROVOD_[A-Z_]*=* ]] || { echo "'$flag' is not a build flag: write HOROVOD_NAME=VALUE" >&2; exit 2; }
  export "${flag?}"
done

# is_set NAME…: returns whether one of these flags is set.
is_set() { local name; for name; do [[ -z ${!name:-} ]] || return 0; done; return 1; }

is_set HOROVOD_WITH_PYTORCH HOROVOD_WITHOUT_PYTORCH || export HOROVOD_WITH_PYTORCH=1
is_set HOROVOD_WITH_TENSORFLOW HOROVOD_WITHOUT_TENSORFLOW || export HOROVOD_WITHOUT_TENSORFLOW=1
is_set HOROVOD_WITH_MXNET HOROVOD_WITHOUT_MXNET || export HOROVOD_WITHOUT_MXNET=1
is_set HOROVOD_WITH_MPI HOROVOD_WITHOUT_MPI || export HOROVOD_WITH_MPI=1
is_set HOROVOD_WITH_GLOO HOROVOD_WITHOUT_GLOO || export HOROVOD_WITH_GLOO=1
# Horovod's default is the instruction set of the building machine. This one is available on every x86-64 server since 2013.
if [[ $(uname -m) == x86_64 ]]; then : "${HOROVOD_BUILD_ARCH_FLAGS=-mavx -mf16c -mfma}"; else : "${HOROVOD_BUILD_ARCH_FLAGS=}"; fi
export HOROVOD_BUILD_ARCH_FLAGS

for program in "$python" cmake make g++; do
  command -v "$program" >/dev/null || { echo "'$program' is missing" >&2; exit 1; }
done
torch='' cuda=''
if ! is_set HOROVOD_WITHOUT_PYTORCH; then
  read -r torch cuda < <("$python" -c 'import torch; print(torch.__version__, torch.version.cuda or "")') || {
    echo "$python has no PyTorch: install it first, or set HOROVOD_WITHOUT_PYTORCH=1" >&2
    exit 1
  }
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m pip install --quiet --no-deps --require-hashes --target "$work/tools" -r "$here/pins/horovod-build.txt" >&2
export PYTHONPATH=$work/tools${PYTHONPATH:+:$PYTHONPATH}
"$python" -m pip download --quiet --no-deps --no-build-isolation --no-binary :all: --require-hashes \
  --dest "$work" -r "$here/pins/horovod.txt" >&2
tar -xzf "$work"/horovod-*.tar.gz -C "$work"
source=$(echo "$work"/horovod-*/)

# Horovod 0.28.1 is from 2023 and needs changes for current dependencies: PyTorch 2.1 and later require more than C++14; Python
# 3.12 has no distutils; GCC 13 and later include fewer headers indirectly and reject a wrong `const`; setuptools would
# download unpinned packages. Debug symbols would be nine tenths of the wheel. Horovod's Gloo ignores the configured interface,
# and if a host cannot resolve its own name, it continues with an invalid address and crashes.
# edit FILE FROM TO: replaces a regular expression in a file; fails if the file does not contain it.
edit() { { grep -q "$2" "$1" && sed -i "s/$2/$3/" "$1"; } || { echo "Horovod's $1 has no '$2'" >&2; exit 1; }; }
cd "$source"
if [[ -n $torch && ${torch%%.*} != 1 ]]; then
  edit CMakeLists.txt 'CMAKE_CXX_STANDARD 14' 'CMAKE_CXX_STANDARD 20'
  edit horovod/torch/CMakeLists.txt 'CMAKE_CXX_STANDARD 14' 'CMAKE_CXX_STANDARD 20'
fi
edit horovod/torch/CMakeLists.txt 'from distutils.sysconfig import get_python_inc; print(get_python_inc())' \
  'import sysconfig; print(sysconfig.get_path(\\"include\\"))'
edit horovod/runner/js_run.py 'from distutils.spawn import find_executable' 'from shutil import which as find_executable'
edit third_party/flatbuffers/include/flatbuffers/stl_emulation.h 'const size_type count_;' 'size_type count_;'
edit setup.py 'setup_requires=.*' 'setup_requires=[],'
edit setup.py RelWithDebInfo Release
edit horovod/common/gloo/gloo_context.cc 'assert(global_context.IsEnabled());' '&\n  gloo_iface_ = global_context.gloo_iface_;'
edit third_party/gloo/gloo/transport/tcp/device.cc 'GLOO_ENFORCE_NE(rv, -1);' \
  'GLOO_ENFORCE_EQ(rv, 0, "this host does not find its own name, ", attr.hostname, ": ", gai_strerror(rv));'
export CXXFLAGS="-include cstdint -include string ${CXXFLAGS:-}"

# The CUDA and NCCL packages from PyPI lack the symbolic links that a linker requires.
gpu_flags=(HOROVOD_GPU_OPERATIONS HOROVOD_GPU_ALLREDUCE HOROVOD_GPU_ALLGATHER HOROVOD_GPU_BROADCAST HOROVOD_GPU_ALLTOALL
  HOROVOD_GPU_REDUCESCATTER)
if [[ -n $cuda ]]; then
  is_set "${gpu_flags[@]}" || export HOROVOD_GPU_OPERATIONS=NCCL
  wheels=$("$python" -c 'import nvidia; print(list(nvidia.__path__)[0])' 2>/dev/null) || wheels=''
  toolkit=$wheels/cu${cuda%%.*}
  if [[ -n $wheels && -x $toolkit/bin/nvcc ]]; then
    ln -sf "libcudart.so.${cuda%%.*}" "$toolkit/lib/libcudart.so"
    ln -sf libnccl.so.2 "$wheels/nccl/lib/libnccl.so"
    export CUDA_HOME=$toolkit HOROVOD_CUDA_HOME=$toolkit HOROVOD_NCCL_HOME=$wheels/nccl PATH=$toolkit/bin:$PATH
    : "${HOROVOD_NCCL_LINK:=shared}"
    export HOROVOD_NCCL_LINK
  fi
  command -v nvcc >/dev/null || { echo "PyTorch $torch is built for CUDA $cuda, but nvcc is missing" >&2; exit 1; }
fi

echo "building Horovod against PyTorch ${torch:-(none)}${cuda:+, CUDA $cuda}: some minutes" >&2
MAKEFLAGS="${MAKEFLAGS:--j$(nproc)}" CMAKE_POLICY_VERSION_MINIMUM=3.5 \
  "$python" -m pip wheel --quiet --no-deps --no-build-isolation --no-cache-dir --wheel-dir "$work/out" "$source" >"$work/log" 2>&1 || {
  grep -m 20 -A 3 -E 'error:|Error [0-9]|CMake Error' "$work/log" >&2 || tail -n 60 "$work/log" >&2
  exit 1
}
mv "$work"/out/horovod-*.whl "$folder/"
ls "$folder"/horovod-*.whl
