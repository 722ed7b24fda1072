#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# remote_shell.sh [OPTION...] HOST COMMAND...: what ssh is between real hosts, between those of test_hosts.sh.
set -euo pipefail
while [[ $1 == -* ]]; do shift; done
keeper=${1//-/_}
shift
exec nsenter --target "${!keeper}" --net --uts --ipc --mount --root --wd sh -c "$*"
