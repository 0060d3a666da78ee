# Fish completion for ckptdb: the program itself says what may stand where.
function __ckptdb_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct | string trim -l -c '\'"' | string replace -ar '\\\\(.)' '$1')
    for line in (ckptdb --complete $words[2..-1] "$typed" 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c ckptdb -f -a '(__ckptdb_complete)'
