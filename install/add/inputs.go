package add

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/commandline"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/runner"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/registry"
)

// maxQuestions is the number of values that the user is asked for. If there are more, they must be
// on the command line.
const maxQuestions = 3

// fill completes the entry with values from the author and the command line, and asks the user for
// missing ones.
func (w *addition) fill(ctx context.Context) error {
	if err := w.checkAuthor(); err != nil {
		return err
	}
	var err error
	if w.given, err = lists(w.Set, "--set: expected KEY=VALUE"); err != nil {
		return err
	}
	if err := w.refuseUnknown(); err != nil {
		return err
	}
	if missing := w.missing(ctx); len(missing) > 0 && (!w.asks() || len(missing) > maxQuestions) {
		why := "there is no terminal for questions"
		if w.asks() {
			why = fmt.Sprintf("there are more than %d questions", maxQuestions)
		}
		var how []string
		for _, n := range missing {
			how = append(how, "--set "+plaintext.ShellWord(n.Name+"=…"))
		}
		return commandline.Errorf("%s needs %s (%s): give it with %s", w.name, strings.Join(needNames(missing), ", "), why, strings.Join(how, " "))
	}
	fill := w.fillPackage
	if w.remote != nil {
		fill = w.fillRemote
	}
	if err := fill(ctx); err != nil {
		return err
	}
	return w.checkLength()
}

// lists parses pairs in which a name can occur several times.
func lists(all []string, fault string) (map[string][]string, error) {
	read := map[string][]string{}
	for _, pair := range all {
		name, value, found := strings.Cut(pair, "=")
		if !found || name == "" {
			return nil, commandline.Errorf("%s", fault)
		}
		read[name] = append(read[name], value)
	}
	return read, nil
}

func (w *addition) fillRemote(ctx context.Context) error {
	url, headers, err := w.remote.Line(w.values(ctx))
	if err != nil {
		return err
	}
	if err := w.checkFilled(url); err != nil {
		return err
	}
	w.written = hostconfig.NewServer{URL: url, SSE: w.remote.Type == "sse", Headers: headers}
	if err := w.sayFixed("the header", w.remote.Headers, headers); err != nil {
		return err
	}
	for _, pair := range w.Header {
		name, value, found := strings.Cut(pair, ":")
		if name = strings.TrimSpace(name); !found || name == "" {
			return commandline.Errorf("--header: expected 'NAME: VALUE'")
		}
		w.written.Headers[name] = strings.TrimSpace(value)
	}
	if len(w.Arguments) > 0 || len(w.Env) > 0 {
		return commandline.Errorf("%s has a URL, and so neither arguments nor an environment; if it has a package, --local installs it", w.name)
	}
	return nil
}

// sayFixed checks filled headers or variables, and records those that the author set. Those that
// are not in listed come from the author.
func (w *addition) sayFixed(what string, listed []registry.Variable, filled map[string]string) error {
	rest := maps.Clone(filled)
	for _, v := range listed {
		if value, is := rest[v.Name]; is {
			w.byAuthor(what, registry.Need{Name: v.Name, Input: v.Input}, value)
			delete(rest, v.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		if w.given[name] == nil {
			w.byAuthor(what, registry.Need{Name: name, Input: registry.Input{Value: rest[name]}}, rest[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(filled)) {
		if err := w.checkFilled(filled[name]); err != nil {
			return err
		}
	}
	return nil
}

func (w *addition) fillPackage(ctx context.Context) error {
	env, err := launch.Pairs(w.Env, launch.WrongEnv)
	if err != nil {
		return err
	}
	if len(w.Header) > 0 {
		return commandline.Errorf("--header is for servers with a URL, and %q is installed", w.name)
	}
	line, err := w.pkg.Line(w.values(ctx), true)
	if err != nil {
		return err
	}
	for _, word := range slices.Concat(line.Args, line.Options) {
		if err := w.checkFilled(word); err != nil {
			return err
		}
	}
	if err := w.sayFixed("the variable", w.pkg.EnvironmentVariables, line.Env); err != nil {
		return err
	}
	w.notes = append(w.notes, slices.DeleteFunc(line.Notes, func(note string) bool {
		return w.missingProgram != "" && strings.HasPrefix(note, w.missingProgram+" is treated as a program")
	})...)
	settings, err := w.fillSettings(ctx)
	if err != nil {
		return err
	}
	if w.locked.IsContainer() {
		if err := w.setOptions(line.Options, env); err != nil {
			return err
		}
	}
	words := install.CommandLine(w.name, w.locked)
	args := append(line.Args, w.Arguments...)
	if separator := runner.Of(w.locked.Type).Separator; separator != "" && len(args) > 0 {
		args = slices.Insert(args, 0, separator)
	}
	w.written = hostconfig.NewServer{Command: words[0], Args: append(slices.Clone(words[1:]), args...), Env: line.Env}
	maps.Copy(w.written.Env, settings)
	maps.Copy(w.written.Env, env)
	w.typed = slices.AppendSeq(w.typed, maps.Values(env))
	w.typed = append(w.typed, w.Arguments...)
	return nil
}

// setOptions passes variables to the container, including those that the user typed, and adds the
// other options before the name of the image.
func (w *addition) setOptions(options []string, env map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if runner.EngineReads(name) {
			return commandline.Errorf("--env %s: docker itself reads this variable, so it cannot be passed to the container", name)
		}
		if !slices.Contains(options, name) {
			options = append([]string{"-e", name}, options...)
		}
	}
	w.locked.SetOptions(options)
	store, err := w.Launcher.Locks.Store()
	if err != nil {
		return err
	}
	w.program, err = store.Open(w.locked)
	return err
}

// needs returns all values that can be set for the server.
func (w *addition) needs() []registry.Need {
	if w.remote != nil {
		return w.remote.Needs()
	}
	return append(w.pkg.Needs(true), w.settings()...)
}

func needNames(needs []registry.Need) (names []string) {
	for _, n := range needs {
		names = append(names, plaintext.Line(n.Name, 100))
	}
	return names
}

// missing returns the required values that the user still has to enter.
func (w *addition) missing(ctx context.Context) []registry.Need {
	return slices.DeleteFunc(w.needs(), func(n registry.Need) bool {
		return w.given[n.Name] != nil || !n.IsRequired || n.Default != "" || n.IsSecret && w.isKept(ctx, n)
	})
}

// isKept reports whether a secret is already stored under the name that add would choose.
func (w *addition) isKept(ctx context.Context, n registry.Need) bool {
	_, err := w.Launcher.Secret(ctx, w.secretName(n.Name))
	return err == nil
}

func (w *addition) refuseUnknown() error {
	needs := w.needs()
	for _, name := range slices.Sorted(maps.Keys(w.given)) {
		isNeeded := slices.ContainsFunc(needs, func(n registry.Need) bool { return n.Name == name })
		known := strings.Join(needNames(needs), ", ")
		switch {
		case isNeeded:
		case known == "":
			return commandline.Errorf(`--set %s: %s has no known values; write arguments after "--", and variables of its environment as --env NAME=VALUE`, name, w.name)
		default:
			return commandline.Errorf("--set %s: %s has no such value; it has %s", name, w.name, known)
		}
	}
	return nil
}

// values returns a function that fills inputs with the values to write into the configuration.
func (w *addition) values(ctx context.Context) registry.Fill {
	answered := map[string]registry.Given{}
	return func(n registry.Need) (g registry.Given, err error) {
		if g, is := answered[n.Name]; is { // already filled in for another text
			return g, nil
		}
		if g, err = w.value(ctx, n); err == nil {
			answered[n.Name] = g
		}
		return g, err
	}
}

func (w *addition) value(ctx context.Context, n registry.Need) (g registry.Given, err error) {
	texts, typed := w.given[n.Name]
	switch {
	case typed:
	case n.Default != "":
		texts = []string{n.Default}
	case !n.IsRequired:
		return g, nil
	case n.IsSecret && w.isKept(ctx, n):
		return registry.Given{Texts: []string{w.reference(w.secretName(n.Name))}}, nil
	default:
		value, err := w.question(ctx, n)
		if err != nil {
			return g, err
		}
		texts, typed = []string{value}, true
	}
	g.Typed = typed
	for i, text := range texts {
		if err := w.check(n, text); err != nil {
			return g, commandline.Errorf("%s: %v", n.Name, err)
		}
		if n.IsSecret || strings.Contains(text, "${") { // stored as a secret, because the configuration would treat it as a variable
			name := w.secretName(n.Name)
			if i > 0 {
				name = w.secretName(fmt.Sprintf("%s.%d", n.Name, i+1))
			}
			w.secrets[name] = text
			w.Launcher.Hide(text)
			g.Texts = append(g.Texts, w.reference(name))
			continue
		}
		if n.Format == "filepath" && text != "" && !filepath.IsAbs(text) {
			text = w.Launcher.Place.Absolute(w.Launcher.Place.Expand(text))
		}
		if typed {
			w.typed = append(w.typed, text)
		}
		g.Texts = append(g.Texts, text)
	}
	if len(texts) > 1 && !n.Repeated {
		return g, commandline.Errorf("--set %s: %s takes one value for it, got %d", n.Name, w.name, len(texts))
	}
	return g, nil
}

// reference returns the reference to a secret of this server for the entry.
func (w *addition) reference(secret string) string {
	text := "${secret:" + secret + "}"
	if !slices.Contains(w.references, text) {
		w.references = append(w.references, text)
	}
	return text
}

// check returns an error if a value is invalid.
func (w *addition) check(n registry.Need, value string) error {
	switch {
	case strings.ContainsAny(value, "\x00\r\n"):
		return errors.New("expected one line")
	case n.Kind == aSetting:
		return w.program.Config[n.Name].Check(value)
	case len(n.Choices) > 0 && !slices.Contains(n.Choices, value):
		return fmt.Errorf("expected one of %s", plaintext.Line(strings.Join(n.Choices, ", "), maxReason))
	case n.Format == "number":
		if _, err := strconv.ParseFloat(value, 64); err != nil {
			return errors.New("expected a number")
		}
	case n.Format == "boolean" && value != "true" && value != "false":
		return errors.New("expected true or false")
	}
	return nil
}

// secretName returns the name under which a secret is stored. The description of the server
// determines the names, so some get a hash. These are names that no secret can have, names that
// could be split differently, and names that already seem to end in a hash. Otherwise one secret
// could replace another, or a server could get another server's secret.
func (w *addition) secretName(name string) string {
	whole := w.name + "." + name
	kept := hostconfig.SecretName(whole)
	if kept == whole && !strings.Contains(name, ".") && !endsInHash(kept) {
		return kept
	}
	sum := sha256.Sum256([]byte(w.name + "\x00" + name))
	return kept + "-" + hex.EncodeToString(sum[:secretHash])
}

// secretHash is the number of bytes of the hash in a secret's name. It is the maximum that fits, so
// that no second name with the same hash can be found.
const secretHash = 9

// endsInHash reports whether a name ends like the name of a secret with a hash.
func endsInHash(name string) bool {
	at := len(name) - hex.EncodedLen(secretHash)
	return at > 0 && name[at-1] == '-' && strings.Trim(name[at:], "0123456789abcdef") == ""
}

// question asks the user for a value.
func (w *addition) question(ctx context.Context, n registry.Need) (string, error) {
	name := plaintext.Line(n.Name, 100)
	if !w.asks() {
		return "", commandline.Errorf("%s needs %s, and there is no terminal for questions: give it with --set %s=…", w.name, name, name)
	}
	q := launch.Question{Text: w.name + " needs " + name, Choices: n.Choices, Secret: n.IsSecret}
	if n.Description != "" {
		q.Text += ": " + plaintext.Line(n.Description, 500)
	}
	switch {
	case n.IsSecret:
		q.Prompt = "(not shown, and kept outside of the configuration) > "
	case n.Placeholder != "":
		q.Prompt = "(such as " + plaintext.Line(n.Placeholder, 100) + ") > "
	}
	for {
		typed, err := w.Launcher.User().Text(ctx, q)
		if err != nil {
			return "", err
		}
		if typed == "" {
			return "", commandline.Errorf("no value was typed for %s, so %s is not added", name, w.name)
		}
		if err := w.check(n, typed); err != nil {
			q.Fault = err.Error()
			continue
		}
		return typed, nil
	}
}

// secretOf returns the value of a secret that is stored or about to be stored.
func (w *addition) secretOf(ctx context.Context, name string) (string, error) {
	if value, is := w.secrets[name]; is {
		return value, nil
	}
	return w.Launcher.Secret(ctx, name)
}

// aSetting is the kind of a need that is a setting of a bundle.
const aSetting = "setting"

// settings returns the settings of a bundle as needs. Defaults are filled in at each start, so that
// a newer bundle can change them.
func (w *addition) settings() (all []registry.Need) {
	if w.program == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(w.program.Config)) {
		s := w.program.Config[name]
		n := registry.Need{Kind: aSetting, Name: name, Repeated: s.Multiple, Input: registry.Input{
			Description: strings.TrimPrefix(s.Title+": "+s.Description, ": "), IsRequired: s.Required && len(s.Defaults()) == 0, IsSecret: s.Sensitive}}
		switch s.Type {
		case "directory", "file":
			n.Format = "filepath"
		case "boolean":
			n.Choices = []string{"true", "false"}
		}
		all = append(all, n)
	}
	return all
}

// fillSettings returns the variables that hold the settings of a bundle in the entry.
func (w *addition) fillSettings(ctx context.Context) (map[string]string, error) {
	env := map[string]string{}
	fill := w.values(ctx)
	for _, n := range w.settings() {
		g, err := fill(n)
		if err != nil {
			return nil, err
		}
		if w.given[n.Name] != nil || len(g.Texts) > 0 {
			env[install.SettingVariable(n.Name)] = install.SettingText(g.Texts)
		} else if values := w.program.Config[n.Name].Defaults(); len(values) > 0 && !n.IsSecret {
			w.fixed = append(w.fixed, "the setting "+n.Name+" = "+strings.Join(values, ", "))
			if n.Format == "filepath" && !w.NoSandbox {
				w.notes = append(w.notes, "it may not read its author's value of "+n.Name+", "+strings.Join(values, ", ")+": --set "+n.Name+"=… gives it what you choose")
			}
		}
	}
	return env, nil
}

// settingPaths returns the folders and files that the user entered as settings of a bundle.
func (w *addition) settingPaths() (paths []string) {
	if w.program == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(w.program.Config)) {
		for _, value := range install.SettingValues(w.written.Env[install.SettingVariable(name)]) {
			if slices.Contains(w.typed, value) {
				paths = append(paths, value)
			}
		}
	}
	return paths
}

// shownProgram returns the command line with the settings of a bundle filled in. Secret settings
// appear as references.
func (w *addition) shownProgram() []string {
	p := &install.Program{Argv: slices.Clone(w.locked.Program), Config: map[string]install.Setting{}}
	if w.program != nil {
		for name, s := range w.program.Config {
			s.Type = "string" // because a reference is not a number
			p.Config[name] = s
		}
	}
	if _, err := p.FillFrom(w.written.Env); err != nil { // the start will report this error
		return w.locked.Program
	}
	return p.Argv
}
