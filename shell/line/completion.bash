# Bash completion for ckptdb; what it offers comes from `ckptdb help` and the catalog.
_ckptdb() {
    local current=${COMP_WORDS[COMP_CWORD]} word command= catalog=()
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in
        -d) catalog=(-d "${COMP_WORDS[++i]}") ;;
        -c | -f | --color) i=$((i + 1)) ;;
        -*) ;;
        *) command=$word; break ;;
        esac
    done
    case ${COMP_WORDS[COMP_CWORD - 1]} in
    -d | -f | -o) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    esac
    if [[ $current == -* ]]; then
        word=$(ckptdb ${command:+help} ${command:---help} 2>/dev/null | grep -oE -- '--[a-z-]+')
    elif [[ -z $command ]]; then
        word=$(ckptdb help 2>/dev/null | sed -n 's/^  \([a-z]\{1,\}\) .*/\1/p')
    elif ckptdb help "$command" 2>/dev/null | head -n 1 | grep -qE 'CHECKPOINT|diff A B'; then
        word=$(ckptdb --readonly --list "${catalog[@]}" -c 'SELECT path FROM checkpoint' 2>/dev/null)
    fi
    mapfile -t COMPREPLY < <(IFS=$'\n' compgen -W "$word" -- "$current")
    [[ ${#COMPREPLY[@]} -gt 0 ]] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
}
complete -o filenames -F _ckptdb ckptdb
