# Completion of guerdon for fish.
function __guerdon_complete
    set -l word (commandline -ct)
    # Of key=path, the path.
    set -l key (string match -r '^.*=' -- $word)
    set -l path (string replace -r '^.*=' '' -- $word)
    for line in (guerdon completion --line (commandline -cp | string collect) 2>/dev/null)
        set -l parts (string split \t -- $line)
        switch $parts[1]
            case file
                printf '%s\n' "$key"(__fish_complete_path "$path")
            case dir
                printf '%s\n' "$key"(__fish_complete_directories "$path")
            case plain
                printf '%s\t%s\n' $parts[2] "$parts[3]"
        end
    end
end
complete -c guerdon -f -a '(__guerdon_complete)'
