import ArgumentParser
import RedisClient

/// The script that completes command lines in a shell, with the hidden command `complete`.
package enum CompletionScript: String, CaseIterable, ExpressibleByArgument {
    case bash, zsh, fish

    /// The text of the script.
    ///
    /// - Parameter program: the name of the program.
    package func text(for program: String) -> String {
        let function = "_" + program.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? String($0) : "_" }.joined()
        let template =
            switch self {
            case .bash: Self.bashText
            case .zsh: Self.zshText
            case .fish: Self.fishText
            }
        return template.replacing("FUNCTION", with: function).replacing("PROGRAM", with: ShellWords.quoted(program))
    }

    /// Bash splits words at `:` and `=`, and replaces only the text after the last of these.
    private static let bashText = """
        FUNCTION() {
            local line="${COMP_LINE:0:COMP_POINT}" candidate before current
            local -a words
            read -ra words <<<"$line"
            [[ $line == *[[:space:]] ]] && words+=("")
            current="${words[${#words[@]}-1]}"
            before="${current%"${current##*[:=]}"}"
            COMPREPLY=()
            while IFS= read -r candidate; do
                candidate="${candidate%%$'\\t'*}"
                if [[ $candidate == :files ]]; then
                    compopt -o default
                    return
                fi
                [[ $candidate == *[:.] ]] && compopt -o nospace
                COMPREPLY+=("${candidate#"$before"}")
            done < <(PROGRAM complete -- "${words[@]:1}" 2>/dev/null)
        }
        complete -F FUNCTION PROGRAM
        """

    private static let zshText = """
        #compdef PROGRAM
        FUNCTION() {
            local line
            local -a open closed
            for line in "${(@f)$(PROGRAM complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
                line="${line%%$'\\t'*}"
                case "$line" in
                    :files) _files; return ;;
                    '') ;;
                    *[:.]) open+=("$line") ;;
                    *) closed+=("$line") ;;
                esac
            done
            (( ${#open} )) && compadd -S '' -a open
            (( ${#closed} )) && compadd -a closed
        }
        if [ "$funcstack[1]" = "FUNCTION" ]; then FUNCTION "$@"; else compdef FUNCTION PROGRAM; fi
        """

    private static let fishText = """
        function FUNCTION
            set -l before (commandline -opc)
            set -e before[1]
            set -l candidates (PROGRAM complete -- $before (commandline -ct) 2>/dev/null)
            if test "$candidates[1]" = ":files"
                __fish_complete_path (commandline -ct)
            else
                printf '%s\\n' $candidates
            end
        end
        complete -c PROGRAM -f -a '(FUNCTION)'
        """
}
