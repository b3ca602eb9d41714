package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Around returns texts about the program's folder and environment, with secrets hidden. Callers
// show them after String.
func (d *Definition) Around() []string { return shownOf(d.fields(), "") }

// Grant returns [OAuth].Grant, or "" if the entry has no OAuth.
func (d *Definition) Grant() string {
	if d.OAuth == nil {
		return ""
	}
	return d.OAuth.Grant
}

// Hash returns a hash of all that the file decides about the command or the address. The hash
// covers secrets that String hides, defaults of variables, the environment, the environment file,
// headers, and the definitions of inputs. It does not cover values of variables and inputs, so a
// token in ${TOKEN} can change without a new hash. It is "" if String shows everything. An
// unreadable environment file counts as empty. [Server.Hash] uses the environment file as Resolve
// read it.
func (d *Definition) Hash() string {
	x := &expansion{ctx: context.Background(), def: d, unasked: true}
	values, _ := x.readEnvFile()
	return d.hash(values)
}

// hash returns the hash, given the content of the environment file.
func (d *Definition) hash(envFile map[string]string) string {
	inputs := d.inputs()
	if len(inputs) == 0 && d.showsAll() {
		return ""
	}
	program, folder := d.Command, d.Cwd
	if strings.ContainsAny(program, separators()) {
		program = absolute(program, d.folder)
	}
	if folder != "" {
		folder = absolute(folder, d.folder)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %q %q", d.Kind.String(), program, d.Args, folder, d.URL, d.EnvFile)
	for _, pairs := range [][]pair{d.Env, d.Headers} {
		sorted := slices.Clone(pairs)
		slices.SortStableFunc(sorted, func(a, b pair) int { return strings.Compare(a.name, b.name) })
		for _, p := range sorted {
			fmt.Fprintf(h, " %q=%q %t", p.name, p.value, p.remove)
		}
		fmt.Fprint(h, ";")
	}
	for _, name := range slices.Sorted(maps.Keys(envFile)) {
		fmt.Fprintf(h, " %q=%q", name, envFile[name])
	}
	writeIdentity(h, d.fields())
	for _, in := range inputs {
		fmt.Fprintf(h, "; %q %q %q %q", in.ID, in.Type, in.Default, in.Options)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// inputs returns the inputs of the file that the definition uses.
func (d *Definition) inputs() []Input {
	if len(d.file.Inputs) == 0 {
		return nil
	}
	var used []Input
	for _, name := range d.Variables() {
		id, isInput := strings.CutPrefix(name, "input:")
		if i := slices.IndexFunc(d.file.Inputs, func(in Input) bool { return in.ID == id }); isInput && i >= 0 {
			used = append(used, d.file.Inputs[i])
		}
	}
	return used
}

// showsAll reports whether String shows all that Hash covers. It returns false if another
// definition of the same name could have the same text, with Around and a hash after String.
func (d *Definition) showsAll() bool {
	in := d.fields()
	if d.Command != "" && d.URL != "" || slices.ContainsFunc(fieldsOf(in), func(f field) bool { return f.place >= 0 && isSet(in.FieldByIndex(f.Index)) }) {
		return false
	}
	shown := d.written()
	if d.Command != shown.Command || d.URL != shown.URL || !slices.Equal(d.Args, shown.Args) {
		return false
	}
	if strings.ContainsAny(d.Command, separators()) && !filepath.IsAbs(d.Command) {
		return false
	}
	what := d.Command + d.URL
	return showWord(what) == what && !slices.ContainsFunc(d.Args, func(arg string) bool { return strings.HasPrefix(arg, "(") })
}
