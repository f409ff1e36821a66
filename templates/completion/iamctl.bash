# Completion of iamctl for bash: eval "$(iamctl completion bash)"

_iamctl() {
  local line="${COMP_LINE:0:COMP_POINT}" part word value directive i
  local -a words=() found=()
  # Bash breaks words at ":" and "=" too; put together again what no space parts.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    part="${COMP_WORDS[i]}"
    if [[ $i == 0 || $line == [[:space:]]* ]]; then
      line="${line#"${line%%[![:space:]]*}"}"
      ((i == COMP_CWORD)) && part="$line"
      words+=("$part")
    else
      ((i == COMP_CWORD)) && part="$line"
      words[${#words[@]} - 1]+="$part"
    fi
    line="${line#"$part"}"
  done
  word="${words[${#words[@]} - 1]}"

  while IFS= read -r part; do found+=("$part"); done \
    < <(iamctl __complete -- "${words[@]:1}" 2> /dev/null)
  ((${#found[@]} > 0)) || return
  directive="${found[${#found[@]} - 1]}"
  unset "found[${#found[@]}-1]"

  # Bash replaces only what stands behind the last break.
  local before="${word%"${word##*[:=]}"}"
  COMPREPLY=()
  for part in "${found[@]}"; do
    value="${part%%$'\t'*}"
    COMPREPLY+=("$(printf '%q' "${value#"$before"}")")
  done
  case "$directive" in
    ':files'*) while IFS= read -r part; do COMPREPLY+=("$part"); done < <(compgen -f -- "${word#"$before"}") ;;
    ':folders'*) while IFS= read -r part; do COMPREPLY+=("$part"); done < <(compgen -d -- "${word#"$before"}") ;;
  esac
  case "$directive" in
    ':files'* | ':folders'*) compopt -o filenames 2> /dev/null ;;
    *nospace) compopt -o nospace 2> /dev/null ;;
  esac
}

complete -F _iamctl iamctl
