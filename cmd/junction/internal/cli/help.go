package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// HelpCommand returns the command help. For an unknown command it suggests a similar one.
func HelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 && about.HasAvailableSubCommands() {
				return UnknownCommand(about, append(rest, args...)[0])
			}
			return about.Help()
		},
	}
}

// SetUpCompletion changes cobra's completion command. It hides the command, makes unknown shells an
// error, and extends the script for bash.
func SetUpCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	scripts, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	var shells []string
	for _, shell := range scripts.Commands() {
		shell.Args = NoArguments
		if shell.Name() == "bash" {
			script := shell.RunE
			shell.RunE = func(cmd *cobra.Command, words []string) error {
				if err := script(cmd, words); err != nil {
					return err
				}
				_, err := io.WriteString(root.OutOrStdout(), bashWords)
				return err
			}
		}
		shells = append(shells, shell.Name())
	}
	scripts.Hidden = true
	scripts.Args = func(_ *cobra.Command, words []string) error {
		if len(words) > 0 {
			return Usagef("no completion for the shell %q; expected one of %s", words[0], strings.Join(shells, ", "))
		}
		return nil
	}
	scripts.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// bashWords replaces the function that cobra's script uses to find the words of a line. The
// original needs the package bash-completion. Bash splits words at = and :, but completions are for
// words between spaces.
const bashWords = `
__junction_init_completion()
{
    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        COMPREPLY=()
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    local rest=$COMP_LINE piece i
    COMPREPLY=()
    words=()
    cword=0
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        piece=${COMP_WORDS[i]}
        if [[ $i -eq 0 || $rest == [[:blank:]]* ]]; then
            rest=${rest#"${rest%%[![:blank:]]*}"}
            words[${#words[@]}]=$piece
        else
            words[$((${#words[@]} - 1))]+=$piece
        fi
        rest=${rest#"$piece"}
        if [[ $i -eq $COMP_CWORD ]]; then
            cword=$((${#words[@]} - 1))
        fi
    done
    cur=${words[cword]}
    prev=${words[cword > 0 ? cword - 1 : 0]}
}
`

// WrapHelp makes the help of all commands fit the width of the terminal.
func (a *App) WrapHelp(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if !a.Out.Terminal() {
			help(cmd, args)
			return
		}
		out := cmd.OutOrStdout()
		var text bytes.Buffer
		cmd.Root().SetOut(&text)
		defer cmd.Root().SetOut(out)
		help(cmd, args)
		_, _ = io.WriteString(out, WrapText(text.String(), a.Out.Width())) // an error could not be reported
	})
}

// column matches the beginning of a line up to its last column.
var column = regexp.MustCompile(`^ *\S.*?\S? {2,}`)

// WrapText wraps the lines of a text that are longer than width. It wraps paragraphs as a whole,
// and rows of two columns within the second column.
func WrapText(text string, width int) string {
	var out []string
	var paragraph []string
	end := func() {
		long := false
		for _, line := range paragraph {
			long = long || terminal.Width(line) > width
		}
		if long {
			paragraph = []string{terminal.Wrap(strings.Join(paragraph, " "), 0, width)}
		}
		out, paragraph = append(out, paragraph...), nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case line != "" && line[0] != ' ':
			paragraph = append(paragraph, line)
			continue
		case len(paragraph) > 0:
			end()
		}
		if terminal.Width(line) > width {
			line = indented(line, width)
		}
		out = append(out, line)
	}
	end()
	return strings.Join(out, "\n")
}

// indented wraps a line. The further lines begin at its second column, or at its own indent.
func indented(line string, width int) string {
	first := column.FindString(line)
	if at := terminal.Width(first); first == "" || at > width/2 {
		own := len(line) - len(strings.TrimLeft(line, " "))
		return terminal.Wrap(strings.TrimSpace(line), own, width)
	} else {
		return first + terminal.Wrap(line[len(first):], at, width)[at:]
	}
}

// optional matches a flag with an optional value in the help of pflag.
var optional = regexp.MustCompile(`--[a-z-]+ [A-Z]+\[="?[^"\]]*"?\]`)

// FlagUsages returns the help of flags. It puts = before an optional value, because users must type
// it.
func FlagUsages(set *pflag.FlagSet, width int) string {
	return optional.ReplaceAllStringFunc(set.FlagUsagesWrapped(width), func(flag string) string {
		name, value, _ := strings.Cut(flag, " ")
		value, _, _ = strings.Cut(value, "[")
		return fmt.Sprintf("%-*s", len(flag), name+"[="+value+"]")
	})
}

// Usage prints the usage of a command. flags is the text about its flags. It replaces cobra's
// template, because package text/template makes the linker keep all exported methods, which adds 6
// MB.
func Usage(cmd *cobra.Command, flags string) error {
	var b strings.Builder
	b.WriteString("Usage:")
	commands := listedBelow(cmd)
	if len(commands) == 0 || cmd.Use != cmd.Name() { // a group has no arguments of its own
		b.WriteString("\n  " + cmd.UseLine())
	}
	if len(commands) > 0 {
		var names []string
		widest, heading := 0, ""
		for _, sub := range commands {
			names, widest = append(names, sub.Name()), max(widest, len(sub.Name()))
		}
		words := strings.Join(names, "|")
		if len(words) > HelpWidth/2 {
			words = "COMMAND"
		}
		b.WriteString("\n  " + cmd.CommandPath() + " " + words + " …\n")
		for _, sub := range commands {
			if title := cmp.Or(sub.GroupID, "Commands:"); title != heading {
				heading = title
				b.WriteString("\n" + heading + "\n")
			}
			fmt.Fprintf(&b, "  %-*s  %s\n", widest, sub.Name(), sub.Short)
		}
		b.WriteString("\n" + cmd.CommandPath() + " COMMAND --help says more about one.")
	}
	if flags != "" {
		b.WriteString("\n\n" + strings.TrimRight(flags, " \n"))
	}
	if cmd.HasExample() {
		b.WriteString("\n\nExamples:\n" + cmd.Example)
	}
	b.WriteString(JSONFields(cmd, HelpWidth))
	_, err := fmt.Fprintln(cmd.OutOrStderr(), b.String())
	return err
}

// PlainUsage prints the usage of a command with all its flags in one list.
func PlainUsage(cmd *cobra.Command, width int) error {
	if !cmd.HasAvailableLocalFlags() {
		return Usage(cmd, "")
	}
	return Usage(cmd, "Flags:\n"+FlagUsages(cmd.LocalFlags(), width))
}

// HelpWidth is the largest width of help in columns.
const HelpWidth = 80

// SetOrder sets the position of a command in the help of its parent. Without it, cobra sorts by
// name.
func SetOrder(c *cobra.Command, place int) {
	c.Annotations = map[string]string{"place": fmt.Sprintf("%03d", place)}
}

// listedBelow returns the subcommands that help lists, in their order.
func listedBelow(cmd *cobra.Command) []*cobra.Command {
	listed := slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool { return !c.IsAvailableCommand() })
	slices.SortStableFunc(listed, func(x, y *cobra.Command) int { return strings.Compare(x.Annotations["place"], y.Annotations["place"]) })
	return listed
}

// otherWords maps names of commands in other programs to Junction's names.
var otherWords = map[string]string{
	"servers": "list", "show": "list", "tool": "tools",
	"run": "call", "exec": "call", "invoke": "call",
	"cat": "read", "resource": "resources", "template": "templates", "skill": "skills",
	"start": "up", "gateway": "up", "daemon": "up", "bridge": "proxy", "record": "proxy --record FILE", "play": "replay",
	"ask": "chat", "agent": "chat", "repl": "chat", "describe": "tools", "ps": "status", "top": "status", "health": "ping",
}

// UnknownCommand returns the error for an unknown command, with a suggestion if possible.
func UnknownCommand(root *cobra.Command, word string) error {
	if slices.Contains([]string{"config", "configure", "settings", "init"}, word) {
		return Usagef("unknown command %q; to define a server, write it into a configuration file: %s list shows them", word, root.Name())
	}
	meant := otherWords[word]
	if meant == "" {
		var names []string
		for _, c := range root.Commands() {
			names = append(names, c.Name())
		}
		meant = nearest.Name(word, names)
	}
	if meant == "" && slices.Contains(ShippedNames(), word) {
		meant = "tools " + word
	}
	if meant == "" {
		return Usagef("unknown command %q; %s --help lists them", word, root.Name())
	}
	return Usagef("unknown command %q; did you mean %q? %s --help lists all commands", word, meant, root.Name())
}
