# Shared functions of the scripts: steps with their times, builds, and the installation of system packages.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# step TITLE command…   prints the title, runs the command and prints how long it took
step() {
    local what=$1 begin=$SECONDS
    shift
    printf '\n== %s\n' "$what"
    if "$@"; then
        printf '== %s: %d min %02d s\n' "$what" $(((SECONDS - begin) / 60)) $(((SECONDS - begin) % 60))
    else
        local code=$?
        printf '== %s: FAILED with %d after %d s\n' "$what" "$code" $((SECONDS - begin)) >&2
        exit "$code"
    fi
}

# install PACKAGE…   installs missing Debian packages
install() {
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    command -v apt-get >/dev/null || {
        echo "error: ${missing[*]} missing, and there is no apt-get here; install them by hand" >&2
        return 1
    }
    local sudo=""
    [ "$(id -u)" -eq 0 ] || sudo=sudo
    echo "installing: ${missing[*]}"
    $sudo apt-get update -qq
    # Debian starts a system-wide Redis after the installation. Sluice starts its own, so RUNLEVEL=1 prevents Debian's.
    # Without an init system it does not start anyway.
    $sudo env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# of_package FOLDER COMMAND [OPTION…]   runs `swift COMMAND` (build, test) for the package of a folder
# All packages share .build, so nothing is built twice. SwiftPM would go on with the last plan that it finds there, even
# with the one of another package, so it makes a new one here. This one is removed at the end, because a plain
# `swift build` needs its own.
of_package() {
    local folder=$1 command=$2 code=0
    shift 2
    swift "$command" --package-path "$folder" --scratch-path .build --disable-build-manifest-caching "$@" || code=$?
    rm -f .build/debug.yaml .build/release.yaml
    return "$code"
}

require_swift() {
    command -v swift >/dev/null || {
        echo "error: swift is not in PATH; get Swift 6.2 or newer from https://www.swift.org/install/linux/" >&2
        return 1
    }
}
