package reach

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/filelock"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
)

// maxConsents limits the stored answers about projects. When it is reached, all are dropped and
// asked again.
const maxConsents = 10_000

// Consent asks the user whether a server of a project's file may be started, because the author of
// the repository decides what it runs. It returns nil for other servers, and with --config.
func Consent(ctx context.Context, a *cli.App, e launch.Entry) error {
	return Consents(ctx, a, []launch.Entry{e}, true)[0]
}

// Consents is like [Consent] for several servers, in one list. An answer holds until the entry
// changes; a refusal is asked again if named is true. It returns, for each entry, why the server
// may not be started, or nil.
func Consents(ctx context.Context, a *cli.App, entries []launch.Entry, named bool) []error {
	faults := make([]error, len(entries))
	if len(a.Flags.Config) > 0 {
		return faults
	}
	said := StoredConsents(a)
	var open []int
	keys, prints := make([]string, len(entries)), make([]string, len(entries)) // of the entries, by index
	for i, e := range entries {
		if !e.OfProject() {
			continue
		}
		a.OfProject = append(a.OfProject, e)
		prints[i] = LockFingerprint(a, e.Definition)
		keys[i] = consentKeyOf(e, prints[i])
		switch agreed, known := said[keys[i]]; {
		case known && agreed:
			a.Launch.Locks.AgreeTo(e.Definition, prints[i])
		case known && !named:
			faults[i] = &ConsentError{e.Name, e.Definition.Source, "refused before; junction asks again about what is named"}
		default:
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return faults
	}
	answers := make(map[int]bool)
	var decided bool
	var err error
	if a.CanAsk() {
		var names []string
		for _, i := range open {
			names = append(names, entries[i].Name)
		}
		awaited := "whether " + cli.FirstNames(names) + " may be started"
		a.Awaited.Store(&awaited)
		defer a.Awaited.Store(nil)
		answers, decided, err = askConsents(ctx, a, entries, open)
	}
	for _, i := range open {
		why, file := "", entries[i].Definition.Source
		switch {
		case err != nil:
			faults[i] = err
		case a.Person == nil:
			why = "nobody can be asked here; to use what it defines without being asked, name it: --config " + plaintext.ShellWord(file)
		case !a.CanAsk():
			why = "nobody is asked in the background; to use what it defines without being asked, name it: --config " + plaintext.ShellWord(file)
		case !answers[i] && decided:
			why = "refused"
		case !answers[i]:
			why = "there was no answer; the next start asks again"
		case ConsentKey(a, entries[i]) != keys[i]:
			why = "the environment file or junction.lock changed while you were asked; start again to be asked about it as it is now"
		default:
			a.Launch.Locks.AgreeTo(entries[i].Definition, prints[i])
		}
		if why != "" {
			faults[i] = &ConsentError{entries[i].Name, file, why}
		}
	}
	if decided && err == nil {
		rememberConsents(a, keys, answers, open)
	}
	return faults
}

// A ConsentError reports why a server of a project is not started.
type ConsentError struct{ server, file, why string }

// Error implements [error].
func (e *ConsentError) Error() string {
	return fmt.Sprintf("server %q of the project's file %s is not started: %s", e.server, e.file, e.why)
}

// ConsentLines returns a line for each error, and one line for all servers of a file with the same
// reason.
func ConsentLines(faults []error) (lines []string) {
	servers := map[ConsentError][]string{} // by file and reason
	for _, err := range faults {
		if e, is := errors.AsType[*ConsentError](err); is {
			reason := ConsentError{file: e.file, why: e.why}
			servers[reason] = append(servers[reason], strconv.Quote(e.server))
		}
	}
	for _, err := range faults {
		e, is := errors.AsType[*ConsentError](err)
		if !is {
			if err != nil {
				lines = append(lines, err.Error())
			}
			continue
		}
		reason := ConsentError{file: e.file, why: e.why}
		switch names := servers[reason]; len(names) {
		case 0: // the first of them listed it
		case 1:
			lines = append(lines, e.Error())
		default:
			lines = append(lines, fmt.Sprintf("%d servers of the project's file %s are not started: %s (%s)", len(names), e.file, e.why, strings.Join(names, ", ")))
		}
		delete(servers, reason)
	}
	return lines
}

// askConsents lists servers and asks which may be started. Without a decision it refuses all of
// them for this time.
func askConsents(ctx context.Context, a *cli.App, entries []launch.Entry, open []int) (answers map[int]bool, decided bool, err error) {
	end, err := a.Person.Begin(ctx)
	if err != nil {
		return nil, false, err
	}
	defer end()
	source := ""
	for n, i := range open {
		d := entries[i].Definition
		if d.Source != source {
			source = d.Source
			a.Person.Printf("The project's file %s defines:\n", source)
		}
		margin := "  "
		if len(open) > 1 {
			margin = fmt.Sprintf("%3d  ", n+1)
		}
		a.Person.Printf("%s%s\n", margin, SingleLine(strings.Join(append([]string{d.String()}, d.Around()...), " ")))
		if line := LockText(a, entries[i]); line != "" {
			a.Person.Printf("%s  %s\n", strings.Repeat(" ", len(margin)), SingleLine(line))
		}
		if variables := d.Variables(); len(variables) > 0 {
			a.Person.Printf("%s  It receives: %s\n", strings.Repeat(" ", len(margin)), strings.Join(variables, ", "))
		}
	}
	which, choice := "it", "[y]es, [N]o"
	if len(open) > 1 {
		which, choice = "them", "[a]ll, [n]one, or the numbers of some, such as 1 3"
	}
	if len(a.Unheld) > 0 { // these settings may be rules that the author of the file relies on
		which += ` without what the project says under "junction"`
	}
	prompt := fmt.Sprintf("Use %s? %s > ", which, choice)
	for {
		typed, err := a.Person.Line(ctx, prompt)
		if err != nil {
			return nil, false, err
		}
		if answers, decided = ParseConsents(typed, open); decided || strings.TrimSpace(typed) == "" {
			return answers, decided, nil
		}
		a.Person.Printf("“%s” is none of these; Enter alone starts none of them.\n", plaintext.Line(typed, 40))
	}
}

// SingleLine returns text as one line without shortening it, because the user approves all of it.
func SingleLine(text string) string { return plaintext.Unbroken(text) }

// ParseConsents returns the answers in a typed line, by index of the entry. decided is false for
// an invalid or empty line.
func ParseConsents(typed string, open []int) (answers map[int]bool, decided bool) {
	answers = map[int]bool{}
	word := strings.ToLower(strings.TrimSpace(typed))
	switch one := len(open) == 1; {
	case one && (word == "y" || word == "yes"), !one && (word == "a" || word == "all"):
		for _, i := range open {
			answers[i] = true
		}
		return answers, true
	case word == "n" || word == "no" || !one && word == "none":
		return answers, true
	case one:
		return answers, false
	}
	for _, number := range strings.FieldsFunc(word, func(r rune) bool { return r == ' ' || r == ',' }) {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > len(open) {
			return map[int]bool{}, false // a mistyped number accepts nothing
		}
		answers[open[n-1]] = true
	}
	return answers, len(answers) > 0
}

// ConsentKey returns a key for the answer about a server. It depends on everything the file defines
// of the server, and on its lock.
func ConsentKey(a *cli.App, e launch.Entry) string {
	return consentKeyOf(e, LockFingerprint(a, e.Definition))
}

// consentKeyOf is [ConsentKey] with printed in place of the server's [LockFingerprint].
func consentKeyOf(e launch.Entry, printed string) string {
	d := e.Definition
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %s%s", filename.Real(d.Source), e.Name, d.String(), d.Around(), d.Hash(), printed))
	return hex.EncodeToString(sum[:])
}

// StoredConsents returns the stored answers about projects, by key. It returns nil if they cannot be
// read.
func StoredConsents(a *cli.App) map[string]bool {
	path, err := a.State("projects.json")
	if err != nil {
		return nil
	}
	data, err := os.ReadFile(path)
	said := map[string]bool{}
	if err != nil || json.Unmarshal(data, &said) != nil {
		return nil
	}
	return said
}

// rememberConsents stores answers of the user.
func rememberConsents(a *cli.App, keys []string, answers map[int]bool, asked []int) {
	err := ChangeConsents(a, func(said map[string]bool) {
		for _, i := range asked {
			said[keys[i]] = answers[i]
		}
	})
	if err != nil {
		a.Screen.Printf("junction: what you said of the project's servers is asked again next time: %v\n", err)
	}
}

// ChangeConsents changes the stored answers about projects, under a file lock.
func ChangeConsents(a *cli.App, change func(said map[string]bool)) error {
	path, err := a.State("projects.json")
	if err != nil {
		return err
	}
	unlock, err := filelock.Wait(context.Background(), path+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	said := StoredConsents(a)
	if said == nil {
		said = map[string]bool{}
	}
	if len(said) >= maxConsents {
		clear(said)
	}
	change(said)
	data, err := json.Marshal(said)
	if err != nil {
		return err
	}
	return filelock.Replace(path, data, 0o600)
}
