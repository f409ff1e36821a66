# Completion of iamctl for fish: iamctl completion fish | source

function __iamctl_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (iamctl __complete -- $words[2..-1] 2> /dev/null)
    test (count $found) -gt 0; or return
    set -l directive $found[-1]
    set -e found[-1]
    for line in $found
        printf '%s\n' $line
    end
    switch $directive
        case ':files*'
            __fish_complete_path (commandline -ct)
        case ':folders*'
            __fish_complete_directories (commandline -ct)
    end
end

complete -c iamctl -f -a '(__iamctl_complete)'
