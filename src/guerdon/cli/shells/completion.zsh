#compdef guerdon
# Completion of guerdon for zsh.
_guerdon() {
    local kind value help
    local -a plain open
    while IFS=$'\t' read -r kind value help; do
        case "$kind" in
            file) compset -P '*='; _files; return ;;
            dir) compset -P '*='; _files -/; return ;;
            plain)
                value="${value//:/\\:}${help:+:$help}"
                if [[ "${value%%:*}" == *[=/] ]]; then open+=("$value"); else plain+=("$value"); fi
                ;;
        esac
    done < <("${words[1]}" completion --line "${(j: :)words[1,CURRENT-1]} $PREFIX" 2>/dev/null)
    (( $#plain )) && _describe -V 'guerdon' plain
    (( $#open )) && _describe -V 'guerdon' open -S ''
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
if [[ "${funcstack[1]}" == _guerdon ]]; then _guerdon "$@"; else compdef _guerdon guerdon; fi
