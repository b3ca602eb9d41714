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

// olderMCP limits a package of PyPI to the major version of mcp for which most were written. Many
// declare no limit.
const olderMCP = "mcp<2"

// maxSentence is the number of bytes from which only the first sentence of a program's message is
// shown.
const maxSentence = 200

var (
	// madeForMCP1 matches error messages of a program that was written for mcp 1 and runs with mcp
	// 2.
	madeForMCP1 = regexp.MustCompile(`pin 'mcp<2'|No module named 'mcp\.|cannot import name '\w+' from '?mcp[.' ]|'Server' object has no attribute`)
	// wantsExtra matches the error message of a Python program without a required extra of its own
	// package.
	wantsExtra = regexp.MustCompile(`pip install ['"]?([\w.-]+)\[([\w,.-]+)\]`)
	// lacksOwnFile matches Node's error message if a file is missing in the program's own package.
	lacksOwnFile = regexp.MustCompile(`(?i)cannot find module '[^']*/node_modules/.* imported from`)
)

// startRemedy returns advice for a new program that does not start. It has no entry yet, so the
// advice is another command line for adding it.
func (w *addition) startRemedy(err error) string {
	if w.program == nil || w.argument == "" {
		if w.Remedy == nil {
			return "see what it writes"
		}
		return w.Remedy(err, w.name, w.program != nil)
	}
	said := why.Of(err, w.name)
	if variable := why.WantedVariable(err, said); variable != "" {
		return fmt.Sprintf("the server needs the environment variable %[1]s: %[2]s; for a secret that junction secret set keeps, write '%[1]s=${secret:NAME}'", variable, w.again("--env "+variable+"=…", ""))
	}
	if missing := w.missingFolders(); len(missing) > 0 {
		return fmt.Sprintf("the folder %s, which the server was given, does not exist: create it first, with mkdir -p %s", plaintext.Line(missing[0], maxReason), plaintext.ShellWord(missing[0]))
	}
	if why.AnswersElsewhere(err) {
		return "started this way, it serves HTTP: find the argument that makes it use standard input and output; often this works: " + w.again("", "--stdio")
	}
	if extra := wantsExtra.FindStringSubmatch(said); extra != nil && runner.Of(w.locked.Type).IsPython && strings.EqualFold(extra[1], w.locked.Name) {
		return "it needs an optional part of its package: junction server add " + plaintext.ShellWord(w.locked.Type+":"+extra[1]+"["+extra[2]+"]")
	}
	if lacksOwnFile.MatchString(said) {
		return "its package, or one that it needs, lacks a file, which its author must fix: another version may have it, such as " + plaintext.ShellWord(w.locked.Type+":"+w.locked.Name+"@VERSION")
	}
	if len(w.locked.WantScripts) > 0 && !w.locked.Scripts {
		return fmt.Sprintf("install scripts of %s did not run, so it may lack something: %s runs them", plaintext.Line(strings.Join(w.locked.WantScripts, ", "), maxReason), w.again("--scripts", ""))
	}
	text := w.withMore() + "; --verbose shows all that it writes"
	if runner.Of(w.locked.Type).IsPython && w.With == "" {
		text += "; if a dependency is too new for it: --with 'mcp<2'"
	}
	return text
}

// withMore returns advice for a program that fails for an unknown reason.
func (w *addition) withMore() string {
	return "if its author documents arguments or variables: " + w.again("--env NAME=VALUE", "ARGUMENT…")
}

// again returns the command line that the user typed with an additional flag and an additional
// argument of the server.
func (w *addition) again(flag, argument string) string {
	var words []string
	for _, part := range []string{"junction server add " + plaintext.ShellWord(w.argument), w.Typed, flag} {
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

// noteNothing adds a note with advice if the server has no features.
func (w *addition) noteNothing() {
	if w.dry.login || w.argument == "" || w.program == nil || len(w.dry.tools)+w.dry.prompts+w.dry.resources > 0 {
		return
	}
	note := "it offers nothing when started this way; " + w.withMore()
	if refused := w.dry.refused.remedy(""); refused != "" {
		note += "; " + refused
	}
	w.notes = append(w.notes, note)
}

// wantsOlder reports whether a package did not start because it was written for mcp 1 and its
// requirements allow mcp 2.
func (w *addition) wantsOlder(err error) bool {
	return w.locked != nil && runner.Of(w.locked.Type).IsPython && w.With == "" && madeForMCP1.MatchString(err.Error())
}

// holdOlder installs the package again with mcp 1. If that fails, it restores the previous state.
func (w *addition) holdOlder(ctx context.Context) error {
	before := *w
	w.With = olderMCP
	if err := w.install(ctx); err != nil {
		*w = before
		return err
	}
	words := w.words()
	w.written.Command, w.written.Args = words[0], append(slices.Clone(words[1:]), w.written.Args[len(before.words())-1:]...)
	w.notes = append(before.notes[:len(before.notes):len(before.notes)], "it does not start with mcp 2, because it was made for mcp 1: it gets "+olderMCP)
	return nil
}

// firstSentence returns a text, or its first sentence if it is long. The other sentences are
// usually meant for the program's developers.
func firstSentence(text string) string {
	if len(text) <= maxSentence {
		return text
	}
	first, _, _ := strings.Cut(text, ". ")
	return first
}
