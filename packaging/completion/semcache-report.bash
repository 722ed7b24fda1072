# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# Completes the options of semcache-report, folders behind --source, and otherwise reports and timelines (*.json). To use it:
# source packaging/completion/semcache-report.bash
_semcache_report() {
  local word=${COMP_WORDS[COMP_CWORD]}
  case $word,${COMP_WORDS[COMP_CWORD - 1]} in
    *,--source) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    *,-o | *,--output | *,--d3) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    *,--title) COMPREPLY=() ;;
    -*) mapfile -t COMPREPLY < <(compgen -W "$(semcache-report --help 2>/dev/null | sed -nE 's/^  (-.*)?(--[a-z0-9]+).*/\2/p')" -- "$word") ;;
    *) mapfile -t COMPREPLY < <(compgen -f -X '!*.json' -- "$word") ;;
  esac
}
complete -o filenames -o plusdirs -F _semcache_report semcache-report
