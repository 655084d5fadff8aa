#compdef gbrain
# Completes gbrain in zsh. In ~/.zshrc, after compinit: eval "$(gbrain completion zsh)"

_gbrain() {
    local line value about width=0
    local -a lines whole shown_whole open shown_open
    lines=("${(@f)$(
        _GBRAIN_COMPLETE=zsh "${words[1]/#\~/$HOME}" "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" \
            </dev/null 2>/dev/null
    )}")
    for line in "${lines[@]}"; do
        case $line in
            $'\tfiles') [[ $PREFIX == --*=* ]] && compset -P 1 '*='; _files; return ;;
            $'\tfolders') [[ $PREFIX == --*=* ]] && compset -P 1 '*='; _files -/; return ;;
        esac
        value=${line%%$'\t'*}
        (( ${(m)#value} > width )) && width=${(m)#value}
    done
    for line in "${lines[@]}"; do
        value=${line%%$'\t'*}
        about=${line#*$'\t'}
        [[ -n $value ]] || continue
        line="${(mr:width:)value}${about:+  -- $about}"
        if [[ $value == *[/=] ]]; then
            open+=("$value") shown_open+=("$line")
        else
            whole+=("$value") shown_whole+=("$line")
        fi
    done
    (( ${#whole} )) && compadd -U -l -V gbrain -d shown_whole -a whole
    (( ${#open} )) && compadd -U -l -S '' -V gbrain -d shown_open -a open
}

if [[ ${funcstack[1]} == _gbrain ]]; then
    _gbrain "$@"
else
    compdef _gbrain gbrain
fi
