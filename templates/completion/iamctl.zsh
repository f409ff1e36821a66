#compdef iamctl
# Completion of iamctl for zsh: eval "$(iamctl completion zsh)", behind compinit

_iamctl() {
  local line directive
  local -a lines values shown suffix
  lines=("${(@f)$(iamctl __complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2> /dev/null)}")
  directive="${lines[-1]}"
  lines=("${(@)lines[1,-2]}")
  for line in "${(@)lines}"; do
    [[ -n $line ]] || continue
    values+=("${line%%$'\t'*}")
    shown+=("${line/$'\t'/  -- }")
  done
  [[ $directive == *nospace ]] && suffix=(-S '')
  (( ${#values} > 0 )) && compadd -l "${(@)suffix}" -d shown -a values
  case "$directive" in
    :files*) _files ;;
    :folders*) _files -/ ;;
  esac
}

# As a file in fpath it is called at once; evaluated, it makes itself known.
if [[ "${funcstack[1]}" == _iamctl ]]; then
  _iamctl "$@"
else
  compdef _iamctl iamctl
fi
