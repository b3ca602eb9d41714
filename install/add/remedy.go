package add

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/internal/runner"
	"github.com/junction-mcp/junction/internal/why"
)

// olderMCP holds a package of PyPI to the mcp that most of them were made for, and of which many say no bound.
const olderMCP = "mcp<2"

// maxSentence is from how many bytes on only the first sentence of what a program says is shown.
const maxSentence = 200

var (
	// madeForMCP1 is what a program says that was made for mcp 1, where it gets 2.
	madeForMCP1 = regexp.MustCompile(`pin 'mcp<2'|No module named 'mcp\.|cannot import name '\w+' from '?mcp[.' ]|'Server' object has no attribute`)
	// wantsExtra is what a program of Python says that lacks an optional part of its own package.
	wantsExtra = regexp.MustCompile(`pip install ['"]?([\w.-]+)\[([\w,.-]+)\]`)
	// lacksOwnFile is what Node says where a package does not have a file of its own.
	lacksOwnFile = regexp.MustCompile(`(?i)cannot find module '[^']*/node_modules/.* imported from`)
)

// startRemedy returns what to try if a program does not start that is not added yet: there is no entry that could be changed, but a command line that
// can be typed again.
func (w *addition) startRemedy(err error) string {
	if w.program == nil || w.word == "" {
		if w.Remedy == nil {
			return "see what it writes"
		}
		return w.Remedy(err, w.name, w.program != nil)
	}
	said := why.Of(err, w.name)
	if variable := why.WantedVariable(err, said); variable != "" {
		return fmt.Sprintf("it wants the variable %[1]s: %[2]s; a secret that junction secret set keeps is given as '%[1]s=${secret:NAME}'", variable, w.again("--env "+variable+"=…", ""))
	}
	if missing := w.missingFolders(); len(missing) > 0 {
		return fmt.Sprintf("there is no folder %s, which it was given: make it first, with mkdir -p %s", plaintext.Line(missing[0], maxReason), plaintext.ShellWord(missing[0]))
	}
	if why.AnswersElsewhere(err) {
		return "it serves HTTP as it is started so: see which argument has it use standard input and output, often " + w.again("", "--stdio")
	}
	if extra := wantsExtra.FindStringSubmatch(said); extra != nil && runner.Of(w.locked.Type).IsPython && strings.EqualFold(extra[1], w.locked.Name) {
		return "it wants an optional part of its package: junction server add " + plaintext.ShellWord(w.locked.Type+":"+extra[1]+"["+extra[2]+"]")
	}
	if lacksOwnFile.MatchString(said) {
		return "its package, or one that it needs, lacks a file, which is for its author to fix: another version may have it, as " + plaintext.ShellWord(w.locked.Type+":"+w.locked.Name+"@VERSION")
	}
	if len(w.locked.WantScripts) > 0 && !w.locked.Scripts {
		return fmt.Sprintf("install scripts did not run, of %s, without which it may lack something: %s runs them", plaintext.Line(strings.Join(w.locked.WantScripts, ", "), maxReason), w.again("--scripts", ""))
	}
	text := w.withMore() + "; --verbose shows all that it writes"
	if runner.Of(w.locked.Type).IsPython && w.With == "" {
		text += "; where it does not know a dependency that is newer than it: --with 'mcp<2'"
	}
	return text
}

// withMore returns what to try if nothing is known to be missing.
func (w *addition) withMore() string {
	return "where its author says that it needs arguments or variables: " + w.again("--env NAME=VALUE", "ARGUMENT…")
}

// again returns the command line that was typed, with one more flag and argument of the server.
func (w *addition) again(flag, argument string) string {
	var words []string
	for _, part := range []string{"junction server add " + plaintext.ShellWord(w.word), w.Typed, flag} {
		if part != "" {
			words = append(words, part)
		}
	}
	if len(w.Arguments) > 0 || argument != "" {
		words = append(words, "--")
	}
	for _, shown := range redact.Arguments(w.Arguments) {
		words = append(words, plaintext.ShellWord(shown))
	}
	if argument != "" {
		words = append(words, argument)
	}
	return strings.Join(words, " ")
}

// noteNothing notes of a server that it offers nothing, and what may be missing.
func (w *addition) noteNothing() {
	if w.dry.login || w.word == "" || w.program == nil || len(w.dry.tools)+w.dry.prompts+w.dry.resources > 0 {
		return
	}
	note := "it offers nothing as it was started; " + w.withMore()
	if refused := w.dry.refused.remedy(""); refused != "" {
		note += "; " + refused
	}
	w.notes = append(w.notes, note)
}

// wantsOlder reports whether a package did not start as it was made for mcp 1, and was not held to anything.
func (w *addition) wantsOlder(err error) bool {
	return w.locked != nil && runner.Of(w.locked.Type).IsPython && w.With == "" && madeForMCP1.MatchString(err.Error())
}

// holdOlder installs a package once more, with mcp 1, and leaves everything as it was where that fails.
func (w *addition) holdOlder(ctx context.Context) error {
	before := *w
	w.With = olderMCP
	if err := w.install(ctx); err != nil {
		*w = before
		return err
	}
	words := w.words()
	w.written.Command, w.written.Args = words[0], append(slices.Clone(words[1:]), w.written.Args[len(before.words())-1:]...)
	w.notes = append(before.notes[:len(before.notes):len(before.notes)], "it does not start with mcp 2, as it was made for mcp 1: it is held to "+olderMCP)
	return nil
}

// firstSentence returns a long text up to its first full stop: what follows is advice to its programmers.
func firstSentence(text string) string {
	if len(text) <= maxSentence {
		return text
	}
	first, _, _ := strings.Cut(text, ". ")
	return first
}
