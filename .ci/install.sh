#!/usr/bin/env bash
# Installs packages into an environment: by uv, which takes seconds where pip takes minutes, else by pip, which knows
# the indexes and proxies that the user has set up for it.
#
#   install.sh PYTHON ARGUMENT…     the environment's interpreter, and what `pip install` is to be told
set -euo pipefail

python=$1
shift
uv=(env "VIRTUAL_ENV=$(dirname "$(dirname "$python")")" "$(dirname "$python")/uv" pip install --quiet --system-certs)
[[ -x ${uv[2]} ]] || "$python" -m pip install -q -c constraints.txt pip uv
"${uv[@]}" "$@" && exit
echo 'uv did not install it: asking pip' >&2
exec "$python" -m pip install -q "${@/#--reinstall/--force-reinstall}"
