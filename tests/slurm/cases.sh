# The cases. Sourced. Each starts in its own empty folder, which all nodes share.
# shellcheck shell=bash disable=SC2016,SC2034 # ranks expand; run.sh reads `failed` and `skipped`

# HOROVOD=debian adds the cases of Horovod, whose first build takes minutes.

# The parts of tests/launchers/pins that the cases use.
parts=(openmpi4 mpich)

fail() { failed+="; $*"; }

# Runs a command as the submitting user, with only this environment.
as_alice() { setpriv --reuid 4321 --regid 4321 --clear-groups --reset-env env HOME=/home/alice "${alice[@]}" "$@"; }
alice=(PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin)

# spec COMMAND [LINE...]: writes job.yaml with two nodes of two ranks each that run COMMAND in bash. LINEs are added to the spec.
spec() {
    {
        printf 'apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: mnist}\nspec:\n  image: image:1\n'
        # shellcheck disable=SC2001 # applies to every line
        echo '  command: |-' && sed 's/^/    /' <<<"$1"
        [[ " ${*:2}" == *" workers:"* ]] || echo '  workers: {replicas: 2, slotsPerWorker: 2}'
        (($# == 1)) || printf '  %s\n' "${@:2}"
    } >job.yaml
}

# submit [OPTION...]: like `khorovod render --target slurm job.yaml | sbatch OPTION...`. Sets `job`.
submit() {
    "$KHOROVOD" render --target slurm job.yaml >job.sh 2>render.err || { fail "not rendered: $(<render.err)"; return 1; }
    shellcheck job.sh >shellcheck.out || fail "shellcheck: $(<shellcheck.out)"
    job=$(as_alice sbatch --parsable --output=job-%j.out "$@" <job.sh 2>&1) && [[ $job =~ ^[0-9]+$ ]] && return
    fail "sbatch: $job"
    return 1
}

# field NAME: prints a field of the job in Slurm.
field() { scontrol show job "$job" | tr ' ' '\n' | sed -n "s/^$1=//p"; }

# wait_for TEXT [SECONDS]: waits until the job has printed the text.
wait_for() {
    local tries
    for ((tries = 0; tries < ${2:-30} * 5; tries++)); do
        grep -qF -- "$1" "job-$job.out" 2>/dev/null && return
        sleep 0.2
    done
    fail "did not print in time: $1"
    return 1
}

# expect CODE TEXT...: waits for the end of the job; checks its exit code and output.
expect() {
    local tries text code
    [[ -n $job ]] || return
    for ((tries = 0; tries < 450; tries++)); do
        [[ $(field JobState) =~ ^(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL)$ ]] && break
        sleep 0.2
    done
    scancel --quiet "$job"
    code=$(field ExitCode)
    [[ $code == "$1:0" ]] || fail "ended with ${code:-nothing} ($(field JobState)), not $1"
    for text in "${@:2}"; do grep -qF -- "$text" "job-$job.out" || fail "did not print: $text"; done
}

# train COMMAND [LINE...]: writes, renders and submits a job.
train() { spec "$@" && submit; }

never_printed() { ! grep -qF -- "$1" "job-$job.out" || fail "printed: $1"; }

mpi_sum='exec /srv/openmpi4/bin/python /srv/programs/mpi_sum.py'

case_mpirun() {
    local rank
    train "$mpi_sum" 'env: {WANTED: "4"}'
    expect 0 "openmpi 4.1.4 for 4 ranks on node[1-2]" "trained"
    for rank in 0 1 2 3; do
        expect 0 "[1,$rank]<stdout>:rank $rank of 4 on node$((rank / 2 + 1)): sum 6"
    done
}

# Slurm allocates what the header requests.
case_resources() {
    train 'echo "$SLURM_JOB_PARTITION has $SLURM_GPUS_ON_NODE GPUs"' \
        'workers: {replicas: 2, slotsPerWorker: 2, gpus: 2, cpu: 3500m, memory: 300Mi, ephemeralStorage: 10Mi}' \
        'slurm: {partition: other, time: 10m, constraint: fast, nodelist: "node[1-2]", account: vision, args: ["--comment=it'"'"'s \"two\" # \\ words", --mail-type=NONE]}'
    expect 0 "other has 2 GPUs"
    local said want
    said=$(scontrol show job "$job")
    for want in "JobName=mnist" "NumNodes=2" "NumTasks=4" "CPUs/Task=2" "MinMemoryNode=300M" "MinTmpDiskNode=10M" "TimeLimit=00:10:00" \
        "Partition=other" "Account=vision" "Features=fast" "ReqNodeList=node[1-2]" "TresPerNode=gres:gpu:2" "Requeue=1" "Comment=it's \"two\" # \\ words "; do
        [[ "${said//$'\n'/ } " == *"$want"* ]] || fail "Slurm has no $want"
    done
}

# Each variable reaches each rank unchanged, also if sbatch does not pass its environment to the job.
case_environment() {
    spec 'printf "%s" "$NASTY" | cmp - /srv/nasty && echo "rank is content, $NCCL_DEBUG"' \
        'env: {NASTY: "a  b\tc\n\"$(touch /tmp/x)`id`'"'"'\\\n-n é #!"}' 'collective: {ncclDebug: WARN}'
    printf 'a  b\tc\n"$(touch /tmp/x)`id`'"'"'\\\n-n é #!' >/srv/nasty
    submit
    expect 0 "trained"
    [[ $(grep -c "rank is content, WARN" "job-$job.out") == 4 ]] || fail "not every rank has it"
    submit --export=NONE
    expect 0 "trained"
    [[ $(grep -c "rank is content, WARN" "job-$job.out") == 4 ]] || fail "not every rank has it without sbatch's"
}

case_srun() {
    local rank
    train "$mpi_sum" 'env: {WANTED: "4"}' 'slurm: {srun: {mpi: pmix}}'
    expect 0 "trained"
    for rank in 0 1 2 3; do expect 0 "$rank: rank $rank of 4 on node$((rank / 2 + 1)): sum 6"; done
}

# MPICH, with its own launcher, which supports Slurm, and with srun.
case_mpich() {
    local rank
    alice=(PATH=/srv/mpich/bin:/usr/bin:/bin)
    train 'exec python3 /srv/programs/mpi_sum.py' 'env: {WANTED: "4"}' 'launcher: {kind: mpirun, mpi: mpich}'
    expect 0 "mpich 5.0.2 for 4 ranks on node[1-2]" "trained"
    for rank in 0 1 2 3; do expect 0 "[$rank] rank $rank of 4 on node$((rank / 2 + 1)): sum 6"; done
    train 'exec python3 /srv/programs/mpi_sum.py' 'env: {WANTED: "4"}' 'slurm: {srun: {mpi: pmi2}}'
    expect 0 "trained"
    for rank in 0 1 2 3; do expect 0 "$rank: rank $rank of 4 on node$((rank / 2 + 1)): sum 6"; done
    alice=(PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin)
}

# The only rank needs no mpirun. Its program may use MPI nevertheless, and gets the signal for a checkpoint.
case_single() {
    alice=(PATH=/usr/bin:/bin)
    train 'echo "rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE on $(hostname)"' 'workers: {replicas: 1}'
    expect 0 "rank 0 of 1 on node" "trained"
    never_printed mpirun
    train 'exec /srv/openmpi4/bin/python /srv/programs/mpi_sum.py' 'env: {WANTED: "1"}' 'workers: {replicas: 1}'
    expect 0 "rank 0 of 1 on node" "trained"
    train 'exit 5' 'workers: {replicas: 1}' 'lifecycle: {retries: 1}'
    expect 5 "attempt 2 of 2 failed: training ended with code 5"
    alice=(PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin)
}

# An MPI that srun does not support: each rank would be alone in its world.
case_lonely() {
    train "$mpi_sum" 'slurm: {srun: {}}'
    expect 42 "set slurm.srun.mpi to one of 'srun --mpi=list'" "the ranks do not match the spec"
    never_printed "rank 0 of"
}

# Options of sbatch take precedence over those in the script.
case_other_nodes() {
    spec "$mpi_sum"
    submit --nodes=1
    expect 42 "wrong world: Slurm gave 1 nodes, tasks per node: 2; the spec has 2, tasks per node: 2(x2)"
    submit --ntasks-per-node=1
    expect 42 "wrong world: Slurm gave 2 nodes, tasks per node: 1(x2); the spec has 2, tasks per node: 2(x2)"
    never_printed "rank 0 of"
}

# An mpirun without Slurm support starts all ranks on the first node.
case_other_mpirun() {
    mkdir bin && printf '#!/bin/bash\nexec env --unset=SLURM_JOB_ID --unset=SLURM_JOBID /usr/bin/mpirun --oversubscribe "$@"\n' >bin/mpirun
    chmod +x bin/mpirun
    alice=(PATH="$PWD/bin:/usr/bin:/bin")
    train "$mpi_sum"
    expect 42 "wrong world: node1 runs 4 of 4 ranks; the spec has 2 of 4" "the ranks do not match the spec"
    never_printed "rank 0 of"
    alice=(PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin)
    train "$mpi_sum" 'launcher: {kind: mpirun, mpi: mpich}'
    expect 42 "the mpirun on PATH is openmpi 4.1.4, and launcher.mpi is mpich"
}

# The job's exit code is that of the training.
case_failed_rank() {
    train '[[ $OMPI_COMM_WORLD_RANK != 3 ]] || exit 7; exec sleep 60' 'lifecycle: {retries: 0}'
    expect 7 "attempt 1 of 1 failed: training ended with code 7"
    train '[[ $PMIX_RANK != 3 ]] || exit 7; exec sleep 60' 'lifecycle: {retries: 0}' 'slurm: {srun: {mpi: pmix}}'
    expect 7 "attempt 1 of 1 failed: training ended with code 7"
    no_process "sleep 60"
}

# no_process COMMAND: checks that no process of a command is left on any node.
no_process() {
    local tries
    for ((tries = 0; tries < 25; tries++)); do
        pgrep -xf "$1" >/dev/null || return
        sleep 0.2
    done
    fail "left behind: $1"
}

case_retry() {
    train '[[ $OMPI_COMM_WORLD_RANK != 0 ]] || [[ -e again ]] || { touch again; exit 9; }; echo up'
    expect 0 "attempt 1 of 4 failed: training ended with code 9" "[1,3]<stdout>:up" "trained"
}

case_deadline() {
    train 'exec sleep 61' 'lifecycle: {deadline: 4s}'
    expect 44 "past its deadline of 4 s"
    no_process "sleep 61"
}

# Slurm signals the script before the time limit, and each rank gets the signal once.
case_checkpoint() {
    local rank starter
    for starter in srun mpirun; do
        train 'ME=${OMPI_COMM_WORLD_RANK:-$SLURM_PROCID}; trap "echo saved $ME; exit 0" USR1; echo up; for ((i = 0; i < 600; i++)); do sleep 0.2; done' \
            'lifecycle: {retries: 3, checkpoint: {signal: SIGUSR1, gracePeriod: 85s}}' \
            "$([[ $starter == srun ]] && echo 'slurm: {srun: {mpi: none}, time: 2m}' || echo 'slurm: {time: 2m}')"
        expect 0 "SIGUSR1 from Slurm" "trained"
        for rank in 0 1 2 3; do
            [[ $(grep -c "saved $rank\$" "job-$job.out") == 1 ]] || fail "$starter: rank $rank did not save once"
        done
    done
}

case_cancelled() {
    train 'echo up; exec sleep 62'
    wait_for '[1,3]<stdout>:up' && as_alice scancel "$job"
    expect 143 "received SIGTERM"
    no_process "sleep 62"
}

# again HOW...: starts a job whose first execution Slurm ends in this way; the second one trains. Checks the limit in the spec.
again() {
    train 'echo "life ${SLURM_RESTART_COUNT:-0}"; (( ${SLURM_RESTART_COUNT:-0} )) || exec sleep 63' 'lifecycle: {retries: 1}' \
        'slurm: {args: [--open-mode=append]}'
    wait_for '[1,3]<stdout>:life 0' && "$@"
    # Slurm restarts a job after a delay, unless its start time is set.
    sleep 3 && scontrol update jobid="$job" starttime=now
    expect 0 "[1,3]<stdout>:life 1" "trained"
    [[ $(field Restarts) == 1 ]] || fail "it was not restarted"
    no_process "sleep 63"
}
case_requeued() {
    # shellcheck disable=SC2317 # again calls it
    requeue() { scontrol requeue "$job"; }
    again requeue
    expect 0 "received SIGTERM"
}
case_node_lost() {
    # shellcheck disable=SC2317
    lose() { scontrol update nodename=node2 state=down reason=lost && sleep 2 && scontrol update nodename=node2 state=resume; }
    again lose
}

case_modules() {
    mkdir -p files/MyMPI "my venv/bin" && printf '#%%Module\nprepend-path PATH %s/bin\nsetenv LOADED 1.2\n' "$PWD" >files/MyMPI/1.2
    mkdir bin && ln -s /usr/bin/mpirun bin/mpirun
    echo 'export VENV=active' >"my venv/bin/activate"
    export_modules=("${alice[@]}")
    alice=(PATH=/usr/bin:/bin MODULEPATH="$PWD/files")
    train 'echo "$LOADED $VENV $(type -P mpirun)"' "slurm: {modules: [MyMPI/1.2], setup: \"# a comment, it's one\\nsource '$PWD/my venv/bin/activate'\\n\"}"
    expect 0 "[1,3]<stdout>:1.2 active $PWD/bin/mpirun" "trained"
    train 'echo up' "slurm: {modules: [MyMPI/1.3]}"
    expect 42 "module load MyMPI/1.3 failed; see the lines above" "Unable to locate a modulefile"
    train 'echo up' "slurm: {setup: 'source /nowhere/bin/activate'}"
    expect 42 "slurm.setup failed; see the lines above" "/nowhere/bin/activate: No such file or directory"
    # The lines stay in their here-document, whatever they contain.
    train 'echo up' "slurm: {setup: \"SETUP\\nif true; then\\n'\"}"
    expect 42 "slurm.setup failed; see the lines above"
    alice=("${export_modules[@]}")
}

# Variables that are Secrets in Kubernetes come from the environment of sbatch.
case_secrets() {
    spec '[[ $TOKEN == "it'"'"'s secret" ]] && echo "known"' 'env: {TOKEN: {secretKeyRef: {name: hf, key: token}}}'
    submit
    expect 42 "TOKEN is not set: export it before you call sbatch"
    alice+=("TOKEN=it's secret")
    submit
    expect 0 "[1,3]<stdout>:known"
    ! grep -q "secret$" job.sh || fail "it is in the script"
    alice=(PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin)
}

case_folders() {
    train 'pwd' 'workingDir: /srv/programs'
    expect 0 "[1,3]<stdout>:/srv/programs"
    train 'pwd' 'workingDir: /srv/nowhere'
    expect 42 "the directory /srv/nowhere (workingDir) does not exist on node1"
    # A folder that exists on one node only.
    spec 'echo up' 'slurm: {srun: {mpi: pmix}, setup: "mkdir -p /tmp/here && cd /tmp/here"}'
    submit
    expect 42 "node2 has no folder /tmp/here: call sbatch in a folder that all nodes share"
}

# A prefix for each rank's command, such as that of a container.
case_wrapped() {
    train 'echo "in $PLACE, rank $OMPI_COMM_WORLD_RANK"' 'slurm: {wrap: [env, "PLACE=a $box"]}'
    expect 0 '[1,3]<stdout>:in a $box, rank 3'
}

# Existing scripts, imported and rendered again, run as before.
case_imported() {
    local rank
    printf '%s\n' '#!/bin/bash' '#SBATCH -N 2 --ntasks-per-node=2 -J old' '#SBATCH --time=5 --gres=gpu:2' '#SBATCH --mem=300M' \
        'export WANTED=$SLURM_NTASKS' 'export WHERE="$(hostname)"' 'PROGRAM=/srv/programs/mpi_sum.py' 'cd $SLURM_SUBMIT_DIR' \
        'srun --mpi=pmix -l /srv/openmpi4/bin/python $PROGRAM' 'echo done' >old.sh
    "$KHOROVOD" import slurm old.sh >job.yaml 2>import.err || fail "not imported: $(<import.err)"
    submit
    expect 0 "trained"
    for rank in 0 1 2 3; do expect 0 "$rank: rank $rank of 4 on node$((rank / 2 + 1)): sum 6"; done
    # A loop is kept as it is.
    printf '%s\n' '#!/bin/bash' '#SBATCH --nodes=2 --ntasks-per-node=2' 'for what in a b; do' '  srun -l echo "$what $SEED"' 'done' >old.sh
    sed -i '2s/$/ --export=ALL,SEED=7/' old.sh
    "$KHOROVOD" import slurm old.sh >job.yaml 2>import.err || fail "not imported: $(<import.err)"
    submit
    expect 0 "3: a 7" "3: b 7" "trained"
    # A shell prepares the environment of torchrun, in a folder below that of the script.
    printf '%s\n' '#!/bin/bash' '#SBATCH --nodes=2 --ntasks-per-node=1 --time=5' 'cd /srv' 'mkdir -p /tmp/old' \
        'export PET_TEE=1 PET_REDIRECTS=7:1' \
        'srun bash -c "cd programs && export WANTED=4; torchrun --nnodes 2 --nproc_per_node 2 --no_python --rdzv_endpoint node1:29613 /usr/bin/python3 torch_sum.py"' >old.sh
    "$KHOROVOD" import slurm old.sh >job.yaml 2>import.err || fail "not imported: $(<import.err)"
    submit
    expect 0 "rank 0 of 4 on node1: sum 6" "rank 3 of 4 on node2: sum 6" "trained"
}

# Ranks that srun numbers and that connect to MASTER_ADDR: the original script, and the imported job.
case_imported_torch() {
    local how rank place
    # Debian 12's torch 1.13 fails with Debian's Python without the last two.
    printf '%s\n' '#!/bin/bash' '#SBATCH -N 2 --ntasks-per-node=2 -J ddp --time=5' '#SBATCH -o job-%j.out' \
        'nodes=( $( scontrol show hostnames $SLURM_JOB_NODELIST ) )' 'export MASTER_ADDR=${nodes[0]}' 'export MASTER_PORT=29611' \
        'export PET_TEE=1 PET_REDIRECTS=7:1' 'srun /usr/bin/python3 /srv/programs/torch_slurm.py HOW' >script.sh
    for place in 'tcp://$MASTER_ADDR:29611' 'env://'; do
        sed "s,HOW,$place," script.sh >old.sh
        job=$(as_alice sbatch --parsable old.sh) || fail "sbatch: $job"
        for how in sbatch import; do
            if [[ $how == import ]]; then
                "$KHOROVOD" import slurm old.sh >job.yaml 2>import.err || fail "not imported: $(<import.err)"
                submit
            fi
            for rank in 0 1 2 3; do
                expect 0 "rank $rank of 4 on node$((rank / 2 + 1)), $((rank % 2)) of node $((rank / 2)): sum 6"
            done
        done
    done
    # With the same commands, without MPI.
    train 'export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID; exec /usr/bin/python3 /srv/programs/torch_sum.py' \
        'env: {WANTED: "4", MASTER_PORT: "29612"}' 'slurm:' '  srun: {mpi: none}' \
        '  setup: export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
    expect 0 "rank 0 of 4 on node1: sum 6" "rank 3 of 4 on node2: sum 6" "trained"
}

case_torchrun() {
    spec 'exec /usr/bin/python3 /srv/programs/torch_sum.py' 'launcher: torchrun' \
        'env: {WANTED: "4", PET_TEE: "1", PET_REDIRECTS: "7:1"}' 'lifecycle: {retries: 0}'
    submit
    expect 0 "rank 0 of 4 on node1: sum 6" "rank 3 of 4 on node2: sum 6" "trained"
    train 'exit 5' 'launcher: torchrun' 'env: {PET_TEE: "1", PET_REDIRECTS: "7:1"}' 'lifecycle: {retries: 0}'
    expect 1 "attempt 1 of 1 failed"
}

case_deepspeed() {
    alice=(PATH=/srv/openmpi4/bin:/usr/bin:/bin)
    train 'exec python3 /srv/programs/torch_sum.py' 'launcher: deepspeed' 'env: {WANTED: "4", DS_ACCELERATOR: cpu}' \
        'collective: {interface: eth0}' 'lifecycle: {retries: 0}'
    expect 0 "rank 0 of 4 on node1: sum 6" "rank 3 of 4 on node2: sum 6" "trained"
    alice=(PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin)
}

# The command starts the ranks itself.
case_shell() {
    train 'mpirun -np 4 hostname && srun --label hostname' 'launcher: shell' 'lifecycle: {retries: 0}'
    expect 0 "3: node2" "trained"
    [[ $(grep -c "^node" "job-$job.out") == 4 ]] || fail "mpirun started others"
}

if [[ ${HOROVOD:-} == debian ]]; then
    # The five lines with which the documentation of a cluster with modules checks Horovod, on two nodes.
    case_horovod() {
        local rank
        alice=(PATH=/srv/openmpi4/bin:/usr/bin:/bin)
        printf '%s\n' 'import torch' 'import horovod.torch as hvd' 'hvd.init()' 'hvd.size()' 'hvd.rank()' \
            'print("Hello from:", hvd.rank(), "of", hvd.size())' >check.py
        train 'exec python3 check.py' 'lifecycle: {retries: 0}'
        for rank in 0 1 2 3; do expect 0 "Hello from: $rank of 4"; done
        alice=(PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin)
    }

    # The text of that documentation: imported, rendered and run on two nodes, with modules of the same names and an
    # environment at the same path, but with the test's Open MPI and Python.
    case_document() {
        local module
        for module in modenv/ml OpenMPI/3.1.4-gcccuda-2018b Python/3.6.6-fosscuda-2018b cuDNN/7.1.4.18-fosscuda-2018b \
            CMake/3.11.4-GCCcore-7.3.0; do
            mkdir -p "files/${module%/*}" && printf '#%%Module\n' >"files/$module"
        done
        mkdir -p horovod-env/bin && echo 'PATH=/srv/openmpi4/bin:$PATH' >horovod-env/bin/activate
        sed "s,/projects/ml,$PWD,; s/-N 1 --ntasks-per-node=6/-N 2 --ntasks-per-node=2/; s/08:00:00/00:30:00/" \
            /srv/project/tests/import/slurm/taurus.sbatch >taurus.sh
        alice=(PATH=/usr/bin:/bin MODULEPATH="$PWD/files")
        "$KHOROVOD" import slurm taurus.sh >job.yaml 2>import.err || fail "not imported: $(<import.err)"
        submit
        expect 0 "openmpi 4.1.4 for 4 ranks on node[1-2]" "[1,0]<stdout>:Hello from: 0" "[1,3]<stdout>:Hello from: 3" "trained"
        alice=(PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin)
    }

    # Nodes accept no ssh connections.
    case_horovodrun() {
        local rank how
        alice=(PATH=/srv/openmpi4/bin:/usr/bin:/bin)
        for how in Gloo MPI; do
            train 'exec python3 /srv/programs/horovod_sum.py' "launcher: {kind: horovodrun, args: [--${how,,}]}" "lifecycle: {retries: 0}" \
                'env: {WANTED: "4"}' 'collective: {interface: eth0}'
            for rank in 0 1 2 3; do expect 0 "rank $rank of 4 on node$((rank / 2 + 1)): sum 6 by $how"; done
        done
        alice=(PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin)
    }
fi
