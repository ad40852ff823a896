# bash completion for hr-launch, hr-inspect, hr-report, hr-scale and hr-verify. Elements, properties and values come
# from `hr-inspect --complete`, so from the tables of the elements that are installed; options from --help.

# of one whose value is one of some words (--balance=none|pixels) these, behind its "="
_headrace_options() {
  local name=${2%%=*} kept= words
  if [[ $2 == *=* ]]; then
    [[ $COMP_WORDBREAKS == *=* ]] || kept=$name=
    words=$("$1" "${@:3}" --help 2>/dev/null | grep -oE -- "^ +(-[a-zA-Z], )?$name=[a-z]+([|][a-z]+)+ ")
    words=${words#*=}
    compgen -P "$kept" -W "${words//|/ }" -- "${2#*=}"
    return 0
  fi
  "$1" "${@:3}" --help 2>/dev/null | grep -oE -- '^ +(-[a-zA-Z], )?--[a-z-]+' | grep -oE -- '--?[a-zA-Z][a-z-]*' | sort -u |
    while read -r option; do
      [[ $option == "$2"* ]] && printf '%s\n' "$option"
    done
}

# The pipeline may be many words, or one word in quotes: the last word is completed in both.
_headrace_pipeline() {
  local text=$1 current=$2 candidate kept=
  # what readline does not replace: all up to the last "=" of the word, or blank of the quotation
  if [[ $current == *[\ $'\t'$'\n']* ]]; then
    kept=${current%"${current##*[ $'\t'$'\n']}"}
    COMPREPLY=()
    while IFS= read -r candidate; do
      COMPREPLY+=("$kept$candidate")
    done < <(hr-inspect --complete "$text" 2>/dev/null)
    return
  fi
  while IFS= read -r candidate; do
    [[ $current == *=* && $COMP_WORDBREAKS == *=* ]] && candidate=${candidate#*=}
    COMPREPLY+=("$candidate")
  done < <(hr-inspect --complete "$text" 2>/dev/null)
}

# words that readline has cut at "=" are put together again: in $words, the last one in $current
_headrace_words() {
  local i word
  words=()
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ ${#words[@]} -gt 0 && ($word == = || ${words[-1]} == *=) ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  current=${words[-1]-}
}

_hr_launch() {
  local words current
  local -a pipeline=()
  COMPREPLY=()
  _headrace_words
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(_headrace_options "${COMP_WORDS[0]}" "$current")
    return
  fi
  local word
  for word in "${words[@]}"; do
    [[ $word == -* && ${#pipeline[@]} == 0 ]] || pipeline+=("$word")
  done
  [[ ${#words[@]} -gt 1 && ${words[-2]} == -f ]] && return
  local text="${pipeline[*]}"
  # one word in quotes, not closed yet
  [[ $text == [\'\"]* ]] && text=${text:1} && current=${current#[\'\"]}
  _headrace_pipeline "$text" "$current"
}

_hr_inspect() {
  local words current
  COMPREPLY=()
  _headrace_words
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(_headrace_options "${COMP_WORDS[0]}" "$current")
  else
    _headrace_pipeline "fakesrc ! $current" "$current"
  fi
}

# its files are bash's own business
_hr_report() {
  local words current
  COMPREPLY=()
  _headrace_words
  [[ $current != -* ]] || mapfile -t COMPREPLY < <(_headrace_options "${COMP_WORDS[0]}" "$current")
}

_hr_scale() {
  local words current
  COMPREPLY=()
  _headrace_words
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(_headrace_options "${COMP_WORDS[0]}" "$current")
  elif [[ ${#words[@]} -le 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "run ablate size" -- "$current")
  fi
}

_hr_verify() {
  local words current
  COMPREPLY=()
  _headrace_words
  if [[ ${#words[@]} -le 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "parity resume --help" -- "$current")
  elif [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(_headrace_options "${COMP_WORDS[0]}" "$current" "${words[0]}")
  else
    local text="${words[*]:1}"
    [[ $text == [\'\"]* ]] && text=${text:1} && current=${current#[\'\"]}
    _headrace_pipeline "$text" "$current"
  fi
}

complete -o default -o nospace -F _hr_launch hr-launch
complete -o default -F _hr_inspect hr-inspect
complete -o default -F _hr_report hr-report
complete -F _hr_scale hr-scale
complete -o default -o nospace -F _hr_verify hr-verify
