# Completes gbrain in bash. In ~/.bashrc: eval "$(gbrain completion bash)"

_gbrain() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            $'\tfiles') compopt -o default 2>/dev/null ;;
            $'\tfolders') compopt -o dirnames 2>/dev/null ;;
            *) COMPREPLY+=("$line") ;;
        esac
    done < <(
        _GBRAIN_COMPLETE=bash "${1/#\~/$HOME}" "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" \
            </dev/null 2>/dev/null
    )
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/=] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

complete -F _gbrain gbrain
