# Bash completion for ckptdb: the program itself says what may stand where.
_ckptdb() {
    local rest=${COMP_LINE:0:COMP_POINT} words=() word current files= head open= slash typed i
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
    case $typed in
    \'*\'* | \"*\"*) ;;
    \'* | \"*) open=1 ;; # a quote is
    esac
    for i in "${!words[@]}"; do # without the quotes that were typed
        word=${words[i]}
        case $word in
        \'*) word=${word//\'/} ;;
        \"*) word=${word//\"/} ;;
        *) word=${word//\\/} ;;
        esac
        words[i]=$word
    done
    current=${words[-1]}
    mapfile -t COMPREPLY < <(ckptdb --complete "${words[@]:1}" 2>/dev/null)
    if [[ ${COMPREPLY[0]-} == :files ]]; then
        files=1
        mapfile -t COMPREPLY < <(printf '%s\n' "${COMPREPLY[@]:1}" | sed '/^$/d'; compgen -f -- "$current")
        [[ ! $open ]] || compopt -o filenames
    fi
    [[ ! $open ]] || return 0
    # Bash replaces what follows the last of these: what is before it stays. An @ is replaced, too.
    word=${typed##*[:@=\'\"]}
    head=${current%"${word//\\/}"}
    [[ $COMP_WORDBREAKS == *[:@=]* ]] || head=
    head=${head%@}
    for i in "${!COMPREPLY[@]}"; do
        # What -o filenames does, but it writes \@ and \:, behind which Bash loses the word's beginning.
        word=${COMPREPLY[i]} slash=
        [[ ! $files || ! -d ${word/#\~\//$HOME/} ]] || slash=/
        [[ ! $slash || ${#COMPREPLY[@]} != 1 ]] || compopt -o nospace
        word=${word#"$head"}
        case $word in
        \~/*[][[:blank:]\\\"\'\`\$\&\;\|\<\>\(\)\*\?\{\}\!#]*) printf -v word '~/%q' "${word#\~/}" ;;
        *[][[:blank:]\\\"\'\`\$\&\;\|\<\>\(\)\*\?\{\}\!#]*) printf -v word %q "$word" ;;
        esac
        COMPREPLY[i]=$word$slash
    done
}
complete -F _ckptdb ckptdb
