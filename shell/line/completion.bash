# Bash completion for ckptdb: the program itself says what may stand where.
_ckptdb() {
    local rest=${COMP_LINE:0:COMP_POINT} words=() word current head typed i
    # Bash splits words at : and @, too, which are parts of names: put them together again.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $i = 0 || $rest == [[:blank:]]* ]]; then
            rest=${rest#"${rest%%[![:blank:]]*}"}
            words+=('')
        fi
        [[ $i -lt $COMP_CWORD ]] || word=$rest
        rest=${rest#"$word"}
        words[-1]+=$word
    done
    typed=${words[-1]}
    for i in "${!words[@]}"; do # without the quotes that were typed
        word=${words[i]}
        case $word in
        \'* | \"*) word=${word#?} word=${word%[\'\"]} ;;
        *) word=${word//\\/} ;;
        esac
        words[i]=$word
    done
    current=${words[-1]}
    mapfile -t COMPREPLY < <(ckptdb --complete "${words[@]:1}" 2>/dev/null)
    if [[ ${COMPREPLY[0]-} == :files ]]; then
        compopt -o filenames
        mapfile -t COMPREPLY < <(printf '%s\n' "${COMPREPLY[@]:1}" | sed '/^$/d'; compgen -f -- "$current")
    elif [[ $typed != [\'\"]* ]]; then
        for i in "${!COMPREPLY[@]}"; do
            [[ ${COMPREPLY[i]} != *[[:blank:]]* ]] || printf -v "COMPREPLY[i]" %q "${COMPREPLY[i]}"
        done
    fi
    # What is before such a character stays where it is.
    head=${current%"${current##*[:@=]}"}
    [[ $COMP_WORDBREAKS == *[:@=]* ]] || head=
    COMPREPLY=("${COMPREPLY[@]#"$head"}")
}
complete -F _ckptdb ckptdb
