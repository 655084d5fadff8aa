# Completes gbrain in fish. In ~/.config/fish/config.fish: gbrain completion fish | source

function __gbrain_complete
    # Fish 4 has -x for tokens without their quotes; in fish 3 -o gives them so.
    set -l words (commandline -xpc 2>/dev/null; or commandline -opc)
    set -l typed (commandline -ct)
    set -l plain (string unescape -- $typed)
    or set plain (string trim --left --chars '"\'' -- $typed)
    for line in (env _GBRAIN_COMPLETE=fish $words "$plain" </dev/null 2>/dev/null)
        switch $line
            case \tfiles
                __gbrain_paths __fish_complete_path "$plain"
            case \tfolders
                __gbrain_paths __fish_complete_directories "$plain"
            case '*'
                echo -- $line
        end
    end
end

function __gbrain_paths --argument-names complete typed
    set -l option (string match --regex -- '^--[^=]*=' $typed)
    $complete (string replace -- "$option" '' $typed) | string replace --regex -- '^' "$option"
end

complete --command gbrain --no-files --keep-order --arguments '(__gbrain_complete)'
