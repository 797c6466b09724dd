"""Stand-in for the get-pip.py that ansible-test downloads from a host of its own.

Sites with a package mirror, and air-gapped ones, reach a package index but not that host. Every Python brings a pip
in ensurepip: this installs that one, and lets it fetch what ansible-test asked for from the index the site has set up.
"""

import subprocess
import sys

# In a child, because ensurepip sets PIP_CONFIG_FILE to /dev/null in its own environment: what follows here would lose
# the site's index and certificates.
subprocess.check_call([sys.executable, "-m", "ensurepip", "--default-pip"], stdout=subprocess.DEVNULL)
# Options of get-pip.py that pip itself does not know.
requested = [argument for argument in sys.argv[1:] if argument not in ("--no-setuptools", "--no-wheel")]
sys.exit(subprocess.call([sys.executable, "-m", "pip", "install", "--upgrade", *requested]))
