# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# Completes the options of semcache-run, and then the program. To use it:  source packaging/completion/semcache-run.bash
_semcache_run() {
  local word=${COMP_WORDS[COMP_CWORD]}
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(semcache-run --help | sed -nE 's/^  (--[a-z]+=?).*/\1/p')" -- "$word")
    [[ ${COMPREPLY[*]} == *= ]] && compopt -o nospace
  else
    mapfile -t COMPREPLY < <(compgen -c -- "$word")
  fi
}
complete -o default -F _semcache_run semcache-run
