package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/filelock"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// maxConsents limits the stored answers about projects. At the limit all answers are dropped, and
// the user is asked again.
const maxConsents = 10_000

// maxConsentTries limits the invalid answers to one prompt.
const maxConsentTries = 20

// Consent asks the user whether a server of a project may be started, because the authors of the
// repository decide which program it is. Servers of the user's own files, and all servers with
// --config, need no consent; Consent then returns nil.
func (l *Launcher) Consent(ctx context.Context, e Entry) error {
	return l.Consents(ctx, []Entry{e}, true)[0]
}

// Consents is like [Launcher.Consent] for several servers, with one prompt. It returns an error for
// each entry that may not be started, by index. An answer is valid until the entry changes. A
// refused server is asked about again only if named is true.
func (l *Launcher) Consents(ctx context.Context, entries []Entry, named bool) []error {
	faults := make([]error, len(entries))
	if len(l.Config) > 0 {
		return faults
	}
	said := l.StoredConsents()
	var open []int
	keys, prints := make([]string, len(entries)), make([]string, len(entries)) // by index of the entry
	for i, e := range entries {
		if !e.OfProject() {
			continue
		}
		l.noteOfProject(e)
		prints[i] = l.LockFingerprint(e.Definition)
		keys[i] = consentKeyOf(e, prints[i])
		switch agreed, known := said[keys[i]]; {
		case known && agreed:
			l.Locks.AgreeTo(e.Definition, prints[i])
		case known && !named:
			faults[i] = &ConsentError{e.Name, e.Definition.Source, "refused before; name the server to be asked again"}
		default:
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return faults
	}
	var answers map[int]bool
	var decided bool
	var err error
	absent := l.absent()
	if absent == "" {
		answers, decided, err = l.askConsents(ctx, entries, open)
	}
	for _, i := range open {
		why, file := "", entries[i].Definition.Source
		switch {
		case err != nil:
			faults[i] = err
		case absent != "":
			why = absent + "; to use its definitions without a question, name it: --config " + plaintext.ShellWord(file)
		case !answers[i] && decided:
			why = "refused"
		case !answers[i]:
			why = "there was no answer; the next start asks again"
		case l.ConsentKey(entries[i]) != keys[i]:
			why = "the environment file or junction.lock changed during the question; start again to be asked about the present state"
		default:
			l.Locks.AgreeTo(entries[i].Definition, prints[i])
		}
		if why != "" {
			faults[i] = &ConsentError{entries[i].Name, file, why}
		}
	}
	if decided && err == nil {
		err := l.ChangeConsents(func(said map[string]bool) {
			for _, i := range open {
				said[keys[i]] = answers[i]
			}
		})
		if err != nil {
			l.Screen.Printf("junction: your answers about the project's servers are not kept, and junction asks again next time: %v\n", err)
		}
	}
	return faults
}

// Admit returns the enabled entries that may be started, and a line about each refused server,
// which it also prints. It asks for consent like [Launcher.Consents], and for the inputs of the
// admitted servers.
func (l *Launcher) Admit(ctx context.Context, entries []Entry, named bool) (admitted []Entry, refused []string) {
	entries = slices.DeleteFunc(slices.Clone(entries), Entry.IsDisabled)
	faults := l.Consents(ctx, entries, named)
	refused = ConsentLines(faults)
	for _, line := range refused {
		l.Screen.Printf("junction: %s\n", line)
	}
	for i, e := range entries {
		if faults[i] == nil {
			l.AskInputs(ctx, e)
			admitted = append(admitted, e)
		}
	}
	return admitted, refused
}

// AskInputs asks the user for the inputs of a server, before the command prints anything. The
// configuration keeps the values. Other faults of the entry are reported when the server connects.
func (l *Launcher) AskInputs(ctx context.Context, e Entry) {
	if d := e.Definition; d != nil && l.absent() == "" && NeedsInput(d) {
		_, _ = d.Resolve(ctx)
	}
}

// A ConsentError reports the reason why a project's server is not started.
type ConsentError struct{ server, file, why string }

// Error implements [error].
func (e *ConsentError) Error() string {
	return fmt.Sprintf("server %q of the project's file %s is not started: %s", e.server, e.file, e.why)
}

// ConsentLines returns a line for each error. Servers of one file with the same reason share a
// line.
func ConsentLines(faults []error) (lines []string) {
	servers := map[ConsentError][]string{} // quoted names, by file and reason
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
		case 0: // their line exists already
		case 1:
			lines = append(lines, e.Error())
		default:
			lines = append(lines, fmt.Sprintf("%d servers of the project's file %s are not started: %s (%s)", len(names), e.file, e.why, strings.Join(names, ", ")))
		}
		delete(servers, reason)
	}
	return lines
}

// askConsents lists servers and asks the user which of them may be started. decided is false if the
// user gave no valid answer; then no server is started, and nothing is stored.
func (l *Launcher) askConsents(ctx context.Context, entries []Entry, open []int) (answers map[int]bool, decided bool, err error) {
	var text strings.Builder
	var names []string
	source := ""
	for n, i := range open {
		d := entries[i].Definition
		names = append(names, entries[i].Name)
		if d.Source != source {
			source = d.Source
			fmt.Fprintf(&text, "The project's file %s defines:\n", plaintext.Unbroken(source))
		}
		margin := "  "
		if len(open) > 1 {
			margin = fmt.Sprintf("%3d  ", n+1)
		}
		fmt.Fprintf(&text, "%s%s\n", margin, plaintext.Unbroken(strings.Join(append([]string{d.String()}, d.Around()...), " ")))
		if line := l.LockText(entries[i]); line != "" {
			fmt.Fprintf(&text, "%s  %s\n", strings.Repeat(" ", len(margin)), plaintext.Unbroken(line))
		}
		if variables := d.Variables(); len(variables) > 0 {
			fmt.Fprintf(&text, "%s  It receives: %s\n", strings.Repeat(" ", len(margin)), plaintext.Unbroken(strings.Join(variables, ", ")))
		}
	}
	which, choice := "it", "[y]es, [N]o"
	if len(open) > 1 {
		which, choice = "them", "[a]ll, [n]one, or the numbers of some, such as 1 3"
	}
	if len(l.Unheld) > 0 { // the author of the file may rely on rules in the unused settings
		which += ` without the project's settings under "junction"`
	}
	q := Question{Text: strings.TrimSuffix(text.String(), "\n"), Prompt: fmt.Sprintf("Use %s? %s > ", which, choice), Subject: "whether " + plaintext.FirstNames(names) + " may be started"}
	for range maxConsentTries {
		typed, err := l.User().Text(ctx, q)
		if err != nil {
			return nil, false, err
		}
		if answers, decided = parseConsents(typed, open); decided || strings.TrimSpace(typed) == "" {
			return answers, decided, nil
		}
		if ctx.Err() != nil {
			return nil, false, context.Cause(ctx)
		}
		q.Fault = fmt.Sprintf("“%s” is not among these; Enter alone starts no server.", plaintext.Line(typed, 40))
	}
	return map[int]bool{}, false, nil
}

// noteOfProject adds an entry to l.OfProject unless it is there already.
func (l *Launcher) noteOfProject(e Entry) {
	l.ofProjectMu.Lock()
	defer l.ofProjectMu.Unlock()
	if !slices.ContainsFunc(l.OfProject, func(other Entry) bool { return other.Name == e.Name && other.Source() == e.Source() }) {
		l.OfProject = append(l.OfProject, e)
	}
}

// parseConsents parses the answer that the user typed. answers is by index of the entry. decided is
// false for an invalid or empty line.
func parseConsents(typed string, open []int) (answers map[int]bool, decided bool) {
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
			return map[int]bool{}, false // one invalid number makes the whole answer invalid
		}
		answers[open[n-1]] = true
	}
	return answers, len(answers) > 0
}

// ConsentKey returns the key under which the answer about a server is stored. It depends on all
// that the file defines for the server, and on the server's lock.
func (l *Launcher) ConsentKey(e Entry) string {
	return consentKeyOf(e, l.LockFingerprint(e.Definition))
}

// consentKeyOf is like [Launcher.ConsentKey], with the server's [Launcher.LockFingerprint] already
// known.
func consentKeyOf(e Entry, printed string) string {
	d := e.Definition
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %s%s", filename.Real(d.Source), e.Name, d.String(), d.Around(), d.Hash(), printed))
	return hex.EncodeToString(sum[:])
}

// LockFingerprint returns a fingerprint of a server's lock, or "" without a lock. Consent depends
// on it, because a project's lock decides which program starts and how it is confined.
func (l *Launcher) LockFingerprint(d *config.Definition) string {
	locked, _ := l.FindLock(d)
	return printOf(locked)
}

// printOf returns the fingerprint of a lock, which may be nil.
func printOf(locked *install.LockedServer) string {
	if locked == nil {
		return "" // without a lock, the entry alone decides which program starts
	}
	text, err := json.Marshal(locked)
	if err != nil {
		return err.Error()
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// CheckLock returns an error if the lock of a project's server differs from the one that the user
// consented to. Without this check, a lock that changes while a gateway runs could decide which
// program its next connection starts.
func (l *Launcher) CheckLock(e Entry, locked *install.LockedServer) error {
	if !e.OfProject() || len(l.Config) > 0 {
		return nil
	}
	printed := printOf(locked)
	agreed, known := l.Locks.Agreed(e.Definition)
	if known && agreed == printed || !known && locked == nil || l.StoredConsents()[consentKeyOf(e, printed)] {
		return nil
	}
	return &ConsentError{e.Name, e.Definition.Source, l.Place.Short(install.LockPath(e.Definition.Source)) + " changed since the question; start again to be asked about the present state"}
}

// LockText describes the lock of a server to a user who is asked for consent. It returns "" if the
// lock needs no description.
func (l *Launcher) LockText(e Entry) string {
	locked, err := l.Locked(e.Definition)
	if errors.Is(err, install.ErrNotReplaced) {
		if locked, _ = l.FindLock(e.Definition); locked == nil {
			return ""
		}
		return "for which junction.lock has another command line; junction server upgrade locks it again, and then it " + l.lockedRights(e, locked)
	}
	which := "which by junction.lock "
	if locked == nil {
		which, locked = "which ", &install.LockedServer{}
	}
	p := locked.Package
	if err != nil || p == nil && !IsProgram(e.Definition.Kind) {
		return ""
	}
	rights := l.lockedRights(e, locked)
	if p == nil {
		return which + rights
	}
	line := "which junction.lock says is " + p.Type + " " + p.Name + " " + p.Version + ": " + strings.Join(p.Program, " ")
	if p.Registry != "" {
		line += " (from " + p.Registry + ")"
	}
	return line + "; " + rights
}

// lockedRights describes the permissions of a server with the given lock.
func (l *Launcher) lockedRights(e Entry, locked *install.LockedServer) string {
	rights := ""
	if locked.Package != nil && locked.Package.Scripts {
		rights = "runs install scripts; "
	}
	if e.Sandbox != nil {
		if s, err := e.Sandbox(); err == nil && s != nil {
			return rights + "is confined by your settings"
		}
	}
	return rights + l.Confinement(locked.Sandbox, locked.Package)
}

// StoredConsents returns the stored answers about projects, by [Launcher.ConsentKey]. It returns
// nil if they cannot be read.
func (l *Launcher) StoredConsents() map[string]bool {
	path, err := l.Place.State("projects.json")
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

// StoreConsent stores that the user agreed to start a server of a project, seen outside of
// [Launcher.Consents]. If it cannot be stored, the next start asks again.
func (l *Launcher) StoreConsent(e Entry) {
	_ = l.ChangeConsents(func(said map[string]bool) { said[l.ConsentKey(e)] = true })
}

// ChangeConsents changes the stored answers about projects while it holds a file lock.
func (l *Launcher) ChangeConsents(change func(said map[string]bool)) error {
	path, err := l.Place.State("projects.json")
	if err != nil {
		return err
	}
	unlock, err := filelock.Wait(context.Background(), path+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	said := l.StoredConsents()
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
