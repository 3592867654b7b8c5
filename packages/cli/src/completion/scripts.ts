/** Each asks `pubring complete -- WORDS`, of which the last ends at the cursor. */
export const completionScripts: Readonly<Record<string, string>> = {
  // Labels may hold anything, so each value is quoted, or left out where it cannot be: what bash
  // completes must not expand. Behind an opening quote, bash takes the value as it is, and closes it.
  bash: `_pubring() {
  local cur=\${COMP_WORDS[COMP_CWORD]} line value
  local words=("\${COMP_WORDS[@]:1:COMP_CWORD-1}")
  local open=
  [[ $cur == [\\'\\"]* ]] && open=\${cur:0:1}
  cur=\${cur#[\\'\\"]}
  COMPREPLY=()
  while IFS= read -r line; do
    value=\${line%%$'\\t'*}
    if [[ $line == :files ]]; then
      compopt -o filenames 2> /dev/null
      while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen -f -- "$cur")
    elif [[ $value == *[[:cntrl:]]* || $open$value == \\'*\\'* || $open$value == \\"*!* ]]; then
      continue
    elif [[ $open == \\" ]]; then
      COMPREPLY+=("$(sed 's/[\\"$\`]/\\\\&/g' <<< "$value")")
    elif [[ -n $open ]]; then
      COMPREPLY+=("$value")
    else
      COMPREPLY+=("$(printf %q "$value")")
    fi
  done < <(pubring complete -- "\${words[@]//\\\\/}" "\${cur//\\\\/}" 2> /dev/null)
}
complete -F _pubring pubring
`,
  zsh: `#compdef pubring
_pubring() {
  local line
  local -a values shown given=("\${(@Q)words[2,CURRENT]}")
  local -i files=0
  given[-1]=\${given[-1]#[\\'\\"]}
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      files=1
    else
      values+=("\${line%%$'\\t'*}")
      shown+=("\${line/$'\\t'/  -- }")
    fi
  done < <(pubring complete -- "\${given[@]}" 2> /dev/null)
  (( \${#values} )) && compadd -l -d shown -a values
  (( files )) && _files
}
(( \${+functions[compdef]} )) || { autoload -Uz compinit && compinit -u }
compdef _pubring pubring
`,
  fish: `function __pubring_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in (pubring complete -- $words[2..-1] 2> /dev/null)
    if test "$line" = :files
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c pubring -f -a '(__pubring_complete)'
`,
}
