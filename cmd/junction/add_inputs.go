package main

import (
	"cmp"
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
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/registry"
)

// maxQuestions is how many values are asked for; who must give more does so on the command line.
const maxQuestions = 3

// A need is a value that a server's author leaves to the person.
type need struct {
	name  string // by which --set gives it
	input registry.Input
}

// fill makes the entry: it takes what the author set, what the command line gives, and asks for the rest.
func (w *addition) fill(ctx context.Context) error {
	if err := w.checkAuthor(); err != nil {
		return err
	}
	given, err := pairs(w.flags.set, "--set: expected KEY=VALUE")
	if err != nil {
		return err
	}
	if err := w.refuseUnknown(given); err != nil {
		return err
	}
	if missing := w.missing(ctx, given); len(missing) > 0 && (!w.app.asks() || w.flags.yes || len(missing) > maxQuestions) {
		why := "nobody can be asked here"
		if w.app.asks() && !w.flags.yes {
			why = fmt.Sprintf("that are more than %d questions", maxQuestions)
		}
		var how []string
		for _, n := range missing {
			how = append(how, "--set "+shellWord(n.name+"=…"))
		}
		return usagef("%s needs %s (%s): give it with %s", w.name, strings.Join(needNames(missing), ", "), why, strings.Join(how, " "))
	}
	fill := w.fillPackage
	if w.remote != nil {
		fill = w.fillRemote
	}
	if err := fill(ctx, given); err != nil {
		return err
	}
	return w.checkLength()
}

func (w *addition) fillRemote(ctx context.Context, given map[string]string) error {
	url, err := w.template(ctx, w.remote.URL, w.remote.Variables, given)
	if err != nil {
		return err
	}
	w.written = hostconfig.NewServer{URL: url, SSE: w.remote.Type == "sse"}
	if w.written.Headers, err = w.fillVariables(ctx, "the header", w.remote.Headers, given); err != nil {
		return err
	}
	for _, pair := range w.flags.header {
		name, value, found := strings.Cut(pair, ":")
		if name = strings.TrimSpace(name); !found || name == "" {
			return usagef("--header: expected 'NAME: VALUE'")
		}
		w.written.Headers[name] = strings.TrimSpace(value)
	}
	if len(w.more) > 0 || len(w.flags.env) > 0 {
		return usagef("%s is reached at a URL, and has neither arguments nor an environment; --local installs it, where it has a package", w.name)
	}
	return nil
}

// fillVariables are the headers or the variables of an entry.
func (w *addition) fillVariables(ctx context.Context, what string, all []registry.Variable, given map[string]string) (map[string]string, error) {
	filled := map[string]string{}
	for _, v := range all {
		n := need{v.Name, v.Input}
		value, use, err := w.value(ctx, n, given)
		if err != nil {
			return nil, err
		}
		if use {
			filled[v.Name] = value
			w.byAuthor(what, n, value, given)
		}
	}
	return filled, nil
}

func (w *addition) fillPackage(ctx context.Context, given map[string]string) error {
	words := install.CommandLine(w.name, w.locked)
	w.written = hostconfig.NewServer{Command: words[0], Args: slices.Clone(words[1:])}
	// Arguments of the runner itself, such as -v of docker, would stand before the package, where the lock's words stand: what runs is the
	// installed program, without the runner.
	for _, argument := range w.pkg.PackageArguments {
		value, use, err := w.value(ctx, need{argumentName(argument), argument.Input}, given)
		if err != nil {
			return err
		}
		switch {
		case !use:
		case argument.Type == "named" && value == "" || argument.Format == "boolean" && value == "true" && argument.Type == "named":
			w.written.Args = append(w.written.Args, argument.Name)
		case argument.Type == "named" && argument.Format == "boolean" && value == "false":
		case argument.Type == "named":
			w.written.Args = append(w.written.Args, argument.Name, value)
		default:
			w.written.Args = append(w.written.Args, value)
		}
	}
	var err error
	if w.written.Env, err = w.fillVariables(ctx, "the variable", w.pkg.EnvironmentVariables, given); err != nil {
		return err
	}
	env, err := pairs(w.flags.env, wrongEnv)
	if err != nil {
		return err
	}
	maps.Copy(w.written.Env, env)
	w.typed = slices.AppendSeq(w.typed, maps.Values(env))
	if len(w.flags.header) > 0 {
		return usagef("--header is for servers with a URL, and %q is installed", w.name)
	}
	w.written.Args = append(w.written.Args, w.more...)
	w.typed = append(w.typed, w.more...)
	return nil
}

// argumentName is what --set calls an argument.
func argumentName(a registry.Argument) string {
	return cmp.Or(strings.TrimLeft(a.Name, "-"), a.ValueHint, "argument")
}

// needs are all values that can be given.
func (w *addition) needs() (all []need) {
	add := func(name string, in registry.Input) {
		if in.Value == "" {
			all = append(all, need{name, in})
		}
		for _, variable := range slices.Sorted(maps.Keys(in.Variables)) {
			all = append(all, need{variable, in.Variables[variable]})
		}
	}
	if w.remote != nil {
		for _, variable := range slices.Sorted(maps.Keys(w.remote.Variables)) {
			all = append(all, need{variable, w.remote.Variables[variable]})
		}
		for _, h := range w.remote.Headers {
			add(h.Name, h.Input)
		}
		return all
	}
	for _, argument := range w.pkg.PackageArguments {
		if argument.Type != "named" || argument.Value != "" || argument.IsRequired || argument.Default != "" || argument.Format != "" || argument.Name != "" {
			add(argumentName(argument), argument.Input)
		}
	}
	for _, v := range w.pkg.EnvironmentVariables {
		add(v.Name, v.Input)
	}
	return all
}

func needNames(needs []need) (names []string) {
	for _, n := range needs {
		names = append(names, plaintext.Line(n.name, 100))
	}
	return names
}

// missing are the values that somebody has to give.
func (w *addition) missing(ctx context.Context, given map[string]string) []need {
	var all []need
	for _, n := range w.needs() {
		if _, is := given[n.name]; is || !n.input.IsRequired || n.input.Default != "" || n.input.Value != "" || n.input.IsSecret && w.isKept(ctx, n) {
			continue
		}
		all = append(all, n)
	}
	return all
}

// isKept reports whether the secret is kept already, by a name that add would give it.
func (w *addition) isKept(ctx context.Context, n need) bool {
	_, err := w.app.secret(ctx, w.secretName(n.name))
	return err == nil
}

func (w *addition) refuseUnknown(given map[string]string) error {
	needs := w.needs()
	for name := range given {
		if !slices.ContainsFunc(needs, func(n need) bool { return n.name == name }) {
			known := strings.Join(needNames(needs), ", ")
			if known == "" {
				return usagef(`--set %s: nothing is known that %s needs; arguments stand behind "--", and --env NAME=VALUE sets a variable of its environment`, name, w.name)
			}
			return usagef("--set %s: %s has no such value; it has %s", name, w.name, known)
		}
	}
	return nil
}

// value is what an input gets, as the configuration has it; use is false where it gets nothing.
func (w *addition) value(ctx context.Context, n need, given map[string]string) (value string, use bool, err error) {
	if n.input.Value != "" {
		value, err = w.template(ctx, n.input.Value, n.input.Variables, given)
		return value, true, err
	}
	value, use = given[n.name]
	typed := true
	switch {
	case use:
	case !n.input.IsRequired:
		return "", false, nil
	case n.input.Default != "":
		value, typed = n.input.Default, false
	case n.input.IsSecret && w.isKept(ctx, n):
		return "${secret:" + w.secretName(n.name) + "}", true, nil
	default:
		if value, err = w.question(ctx, n); err != nil {
			return "", false, err
		}
	}
	if err := n.check(value); err != nil {
		return "", false, usagef("%s: %v", n.name, err)
	}
	if n.input.IsSecret || strings.Contains(value, "${") { // which would be taken for a variable
		name := w.secretName(n.name)
		if err := checkSecretName(name); err != nil {
			return "", false, err
		}
		w.secrets[name] = value
		w.app.hide(value)
		return "${secret:" + name + "}", true, nil
	}
	if n.input.Format == "filepath" && value != "" && !filepath.IsAbs(value) {
		value = absolute(value)
	}
	if typed {
		w.typed = append(w.typed, value)
	}
	return value, true, nil
}

func (n need) check(value string) error {
	switch {
	case strings.ContainsAny(value, "\x00\r\n"):
		return errors.New("expected one line")
	case len(n.input.Choices) > 0 && !slices.Contains(n.input.Choices, value):
		return fmt.Errorf("expected one of %s", plaintext.Line(strings.Join(n.input.Choices, ", "), maxReason))
	case n.input.Format == "number":
		if _, err := strconv.ParseFloat(value, 64); err != nil {
			return errors.New("expected a number")
		}
	case n.input.Format == "boolean" && value != "true" && value != "false":
		return errors.New("expected true or false")
	}
	return nil
}

// secretName is the name under which a value is kept. Of names that a secret cannot have as they are, and of those that could be
// cut in two in another way, a hash keeps them apart: else one value would be kept in place of another, and a server be given what
// is another one's. So does it of those that end as if they had one, as whoever describes a server names its values.
func (w *addition) secretName(name string) string {
	whole := w.name + "." + name
	kept := hostconfig.SecretName(whole)
	if kept == whole && !strings.Contains(name, ".") && !endsInHash(kept) {
		return kept
	}
	sum := sha256.Sum256([]byte(w.name + "\x00" + name))
	return kept + "-" + hex.EncodeToString(sum[:secretHash])
}

// secretHash is how many bytes of a hash the name of a secret ends in: as many as there is room for, so that nobody finds a second
// name with the same.
const secretHash = 9

// endsInHash reports whether a name ends as that of a secret with a hash.
func endsInHash(name string) bool {
	at := len(name) - hex.EncodedLen(secretHash)
	return at > 0 && name[at-1] == '-' && strings.Trim(name[at:], "0123456789abcdef") == ""
}

// question asks for a value.
func (w *addition) question(ctx context.Context, n need) (string, error) {
	name := plaintext.Line(n.name, 100)
	if !w.app.asks() || w.flags.yes {
		return "", usagef("%s needs %s, and nobody can be asked here: give it with --set %s=…", w.name, name, name)
	}
	intro, prompt := w.name+" needs "+name, "> "
	if n.input.Description != "" {
		intro += ": " + plaintext.Line(n.input.Description, 500)
	}
	switch {
	case n.input.IsSecret:
		prompt = "(not shown, and kept outside of the configuration) > "
	case n.input.Placeholder != "":
		prompt = "(such as " + plaintext.Line(n.input.Placeholder, 100) + ") > "
	}
	for {
		typed, err := w.app.typed(ctx, intro, n.input.Choices, prompt, n.input.IsSecret)
		if err != nil {
			return "", err
		}
		if typed == "" {
			return "", usagef("nothing was typed for %s, so %s is not added", name, w.name)
		}
		if err := n.check(typed); err != nil {
			w.app.person.Printf("%v\n", err)
			continue
		}
		return typed, nil
	}
}

// typed is what a person types for a value; of choices, the number of one stands for it.
func (a *app) typed(ctx context.Context, intro string, choices []string, prompt string, hidden bool) (string, error) {
	end, err := a.person.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	a.person.Printf("%s\n", intro)
	for i, choice := range choices {
		a.person.Printf("  %3d  %s\n", i+1, plaintext.Line(choice, 200))
	}
	ask := a.person.Line
	if hidden {
		ask = a.person.Secret
	}
	word, err := ask(ctx, prompt)
	if n, wrong := strconv.Atoi(word); wrong == nil && n >= 1 && n <= len(choices) {
		word = choices[n-1]
	}
	return word, err
}

// keepSecrets keeps the values that the configuration refers to.
func (w *addition) keepSecrets(ctx context.Context) error {
	for name, value := range w.secrets {
		if err := w.app.keepSecret(ctx, name, value); err != nil {
			return fmt.Errorf("the secret %s is not kept: %w", name, err)
		}
	}
	return nil
}

// secretOf is a secret that is about to be kept, or one that is.
func (w *addition) secretOf(ctx context.Context, name string) (string, error) {
	if value, is := w.secrets[name]; is {
		return value, nil
	}
	return w.app.secret(ctx, name)
}
