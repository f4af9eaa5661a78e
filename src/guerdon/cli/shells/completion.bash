# Completion of guerdon for bash.
_guerdon() {
    local line="${COMP_LINE:0:COMP_POINT}" kind value help word prefix
    word="${line##*[[:space:]]}"
    # bash replaces what follows the last : or = only.
    prefix="${word%"${word##*[:=]}"}"
    COMPREPLY=()
    while IFS=$'\t' read -r kind value help; do
        case "$kind" in
            file) compopt -o filenames; COMPREPLY+=($(compgen -f -- "${word#"$prefix"}")) ;;
            dir) compopt -o filenames; COMPREPLY+=($(compgen -d -- "${word#"$prefix"}")) ;;
            plain)
                [[ $value == *[=/] ]] && compopt -o nospace
                COMPREPLY+=("${value#"$prefix"}")
                ;;
        esac
    done < <("$1" completion --line "$line" 2>/dev/null)
}
complete -F _guerdon guerdon
