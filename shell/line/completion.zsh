#compdef ckptdb
# Zsh completion for ckptdb: the program itself says what may stand where.
_ckptdb() {
    local -a found
    found=("${(@f)$(ckptdb --complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    if [[ ${found[1]} == :files ]]; then
        shift found
        _files
    fi
    found=("${(@)found:#}")
    (($#found)) && compadd -a found
}
_ckptdb "$@"
