//! Programs with a purpose that is clear from their name.

/// Commands that only print something.
pub const SHOWS: &str = "echo printf date hostname nvidia-smi dcgmi rocm-smi env printenv which pwd squeue sinfo scontrol whoami uname \
     lscpu free true ls id type clear";

/// Commands that build or install something.
pub const INSTALLS: &str = "pip pip3 virtualenv make cmake apt apt-get yum dnf";

/// Commands that copy data or create folders, which an image does not contain.
pub const COPIES: &str = "rsync cp scp mv ln tar unzip sbcast rclone aws gsutil mkdir git wget curl";
