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

// Around is what the file says of where the program runs and what else is in its environment,
// to be shown behind String; without what may be secret.
func (d *Definition) Around() []string {
	var around []string
	for _, member := range []struct{ name, value string }{{"cwd", d.cwd}, {"envFile", d.envFile}} {
		if member.value != "" {
			around = append(around, "("+member.name+" "+showWord(hideDefaults(member.value))+")")
		}
	}
	if o := d.oauth; o != nil {
		for _, member := range []struct{ name, value string }{
			{"clientId", o.ClientID}, {"clientMetadataUrl", o.Document}, {"grant", o.Grant}, {"privateKey", o.KeyFile}, {"assertion", o.AssertionFile}, {"scopes", strings.Join(o.Scopes, " ")}, {"hosts", strings.Join(o.Hosts, " ")},
			{"identityProvider", o.IdentityProvider}, {"identityClientId", o.IdentityClientID}, {"issuer", o.Issuer}, {"audience", o.Audience},
		} {
			if member.value != "" {
				around = append(around, "(oauth."+member.name+" "+showWord(hideDefaults(member.value))+")")
			}
		}
	}
	if t := d.tls; t != nil {
		for _, member := range []struct{ name, value string }{{"cert", t.CertFile}, {"key", t.KeyFile}, {"ca", t.CAFile}} {
			if member.value != "" {
				around = append(around, "(tls."+member.name+" "+showWord(hideDefaults(member.value))+")")
			}
		}
	}
	return around
}

// Grant is what the file says of how tokens are got, [OAuth.Grant].
func (d *Definition) Grant() string {
	if d.oauth == nil {
		return ""
	}
	return d.oauth.Grant
}

// Hash is a hash over all that whoever wrote the file decides about what is started or called, as
// it really is: secrets that String hides, defaults of variables, the environment and what is in the
// environment file, headers, and the inputs that it leaves to the person. What a variable holds and
// what the person answers are not part of it: a token in ${TOKEN} can change without changing it.
// Where String says all of it, it is empty. An environment file that cannot be read counts as
// empty; [Server.Hash] is that of the one that was read.
func (d *Definition) Hash() string {
	x := &expansion{ctx: context.Background(), def: d, unasked: true}
	values, _ := x.readEnvFile()
	return d.hash(values)
}

// hash is Hash with what is in the environment file.
func (d *Definition) hash(envFile map[string]string) string {
	inputs := d.inputs()
	if len(inputs) == 0 && d.saysAll() {
		return ""
	}
	program, folder := d.command, d.cwd
	if strings.ContainsAny(program, separators()) {
		program = absolute(program, d.folder)
	}
	if folder != "" {
		folder = absolute(folder, d.folder)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %q %q", d.Kind.String(), program, d.args, folder, d.url, d.envFile)
	for _, pairs := range [][]pair{d.env, d.headers} {
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
	if o := d.oauth; o != nil {
		fmt.Fprintf(h, "; %q %q %q %q %q %q %q", o.ClientID, o.ClientSecret, o.KeyFile, o.Scopes, o.Grant, o.AssertionFile, o.Hosts)
		if o.IdentityProvider != "" {
			fmt.Fprintf(h, " at %q %q %q", o.IdentityProvider, o.IdentityClientID, o.IdentityClientSecret)
		}
		if o.Document != "" {
			fmt.Fprintf(h, " %q", o.Document)
		}
		if o.Issuer+o.Audience != "" {
			fmt.Fprintf(h, " for %q %q", o.Issuer, o.Audience)
		}
	}
	if t := d.tls; t != nil {
		fmt.Fprintf(h, "; tls %q %q %q", t.CertFile, t.KeyFile, t.CAFile)
	}
	for _, in := range inputs {
		fmt.Fprintf(h, "; %q %q %q %q", in.ID, in.Type, in.Default, in.Options)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// inputs are those of the file that the definition refers to.
func (d *Definition) inputs() []Input {
	var used []Input
	for _, name := range d.Variables() {
		id, isInput := strings.CutPrefix(name, "input:")
		if i := slices.IndexFunc(d.file.Inputs, func(in Input) bool { return in.ID == id }); isInput && i >= 0 {
			used = append(used, d.file.Inputs[i])
		}
	}
	return used
}

// saysAll reports whether String says all that counts for Hash, and no other definition of this
// name could have the same text, with Around and a hash behind it.
func (d *Definition) saysAll() bool {
	if len(d.env)+len(d.headers) > 0 || d.cwd != "" || d.envFile != "" || d.command != "" && d.url != "" || d.oauth != nil || d.tls != nil {
		return false
	}
	shown := d.written()
	if d.command != shown.Command || d.url != shown.URL || !slices.Equal(d.args, shown.Args) {
		return false
	}
	if strings.ContainsAny(d.command, separators()) && !filepath.IsAbs(d.command) {
		return false
	}
	what := d.command + d.url
	return showWord(what) == what && !slices.ContainsFunc(d.args, func(arg string) bool { return strings.HasPrefix(arg, "(") })
}
