# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# Completes the commands of ./dev, as `./dev help` lists them, and their commonest arguments. To use it:  source packaging/completion/dev.bash
_semcache_dev() {
  local word=${COMP_WORDS[COMP_CWORD]} words=""
  if [ "$COMP_CWORD" = 1 ]; then
    words=$("${COMP_WORDS[0]}" help 2>/dev/null |
      sed -nE '/^  environment|^environment/q; s/^  ([a-z]+), ([a-z]+) .*/\1 \2/p; t; s/^  ([a-z]+)( .*|$)/\1/p')
  else
    case ${COMP_WORDS[1]} in
      test | asan | tsan | tpetra | cross) words="-R -L -LE -V -N --rerun-failed" ;;
      upstream) words="--modes --tests --shard --part --timeout" ;;
      docs) words="--clean-first" ;;
      lint)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
        ;;
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _semcache_dev ./dev dev
