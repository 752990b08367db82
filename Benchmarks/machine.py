"""The measured machine: its description, its packages, and the release build."""
import os
import pathlib
import platform
import shutil
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent


def build():
    """Installs missing packages and builds. All output goes to stderr, as progress does."""
    setup = "source scripts/common.sh && require_swift"
    if not (shutil.which("redis-server") and pathlib.Path("/usr/include/hiredis/hiredis.h").exists()):
        setup += " && install libhiredis-dev redis-server"
    for command in (["bash", "-c", setup], ["swift", "build", "-c", "release", "--product", "sluice-bench"]):
        if code := subprocess.run(command, cwd=root, stdout=sys.stderr).returncode:
            sys.exit(f"error: {' '.join(command)} ended with {code}")
    return root / ".build/release/sluice-bench"


def described():
    with open("/proc/cpuinfo") as file:
        names = {line.split(":")[1].strip() for line in file if line.startswith("model name")}
    if not shutil.which("redis-server"):
        sys.exit("error: redis-server is not in PATH; install it (Debian: redis-server)")
    server = subprocess.run(["redis-server", "--version"], capture_output=True, text=True).stdout.split()
    version = next((word[2:] for word in server if word.startswith("v=")), "?")
    return {
        "machine": {
            "cores": os.cpu_count(),
            "processor": ", ".join(sorted(names)),
            "system": f"{platform.system()} {platform.release()} {platform.machine()}",
            "redis": version,
            "busyProcesses": round(os.getloadavg()[0], 1),
        }
    }
