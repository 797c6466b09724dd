# shellcheck shell=bash
# What ./test and ./demo share: packages, Python environments, the collection's place in Ansible's tree. Sourced, not run.

as_root() {
    if ((EUID == 0)); then "$@"; else sudo -E env "PATH=$PATH" "$@"; fi
}

# Installs Debian packages without letting a server that comes with one be started: the tests start private servers only.
install_packages() (
    policy=/usr/sbin/policy-rc.d verdict=0
    if [[ ! -e $policy ]]; then
        trap 'as_root rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
        as_root chmod 755 "$policy"
    fi
    "$policy" mariadb start >/dev/null || verdict=$?
    if ((verdict != 101)); then
        echo "$policy of this host lets packages start their servers; install by hand: $*" >&2
        exit 1
    fi
    as_root apt-get -qq update
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" >/dev/null
)

# make_venv DIRECTORY REQUIREMENTS: built anew when the requirements have changed since.
make_venv() {
    cmp -s "$2" "$1/requirements.txt" && return
    echo "Building $1"
    python3 -m venv --clear "$1"
    "$1/bin/python" -m pip install --quiet --requirement "$2"
    cp "$2" "$1/requirements.txt"
}

# link_collection ROOT: Ansible finds a collection under its name, wherever the work tree lies.
link_collection() {
    local link=$1/.cache/link/ansible_collections/pagesmith/innodb
    mkdir -p "${link%/*}"
    ln -sfn "$1" "$link"
    export ANSIBLE_COLLECTIONS_PATH=${link%/ansible_collections/*}
}
