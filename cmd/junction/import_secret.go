package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/redact"
)

// A plainSecret stands in a host's file in plain.
type plainSecret struct {
	of            *hostconfig.Carried
	field         string
	text          *string // it is in there
	before, after string  // what stands around it
	value         string
	secret        string // the name that it is kept under
}

// findPlain finds what looks like a secret in an entry that is taken.
func (i *importing) findPlain(c *hostconfig.Carried) {
	add := func(field string, text *string, shown string) {
		before, after, hidden := strings.Cut(shown, redact.Hidden)
		rest, isBefore := strings.CutPrefix(*text, before)
		value, isAfter := strings.CutSuffix(rest, after)
		if !hidden || strings.Contains(*text, "${") {
			return
		}
		if strings.Contains(after, redact.Hidden) || !isBefore || !isAfter {
			before, after, value = "", "", *text
		}
		if value != "" {
			i.plain = append(i.plain, &plainSecret{of: c, field: field, text: text, before: before, after: after, value: value})
		}
	}
	for k := range c.Env {
		v := &c.Env[k]
		add("env."+v.Name, &v.Value, shownValue(v.Name, v.Value))
	}
	for k := range c.Headers {
		v := &c.Headers[k]
		add("headers."+v.Name, &v.Value, shownValue(v.Name, v.Value))
	}
	for k := range c.OAuth {
		v := &c.OAuth[k]
		if v.Name == "clientSecret" {
			add("oauth."+v.Name, &v.Value, redact.Hidden)
		}
	}
	for k, shown := range redact.Arguments(c.Args) {
		add(fmt.Sprintf("args[%d]", k), &c.Args[k], shown)
	}
	if c.URL != "" {
		add("url", &c.URL, redact.URL(c.URL))
	}
}

// shownValue is a variable's value or a header's with what is secret in it hidden.
func shownValue(name, value string) string {
	if !redact.Named(name) && !redact.Looks(value) {
		return value
	}
	if scheme, _, found := strings.Cut(value, " "); found && (strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, "Basic") || strings.EqualFold(scheme, "token")) {
		return scheme + " " + redact.Hidden
	}
	return redact.Hidden
}

// settleSecrets says what of the secrets becomes, and has the entries name those that are to be kept.
func (i *importing) settleSecrets(ctx context.Context) error {
	if len(i.plain) == 0 {
		return nil
	}
	if i.keep {
		i.Out.Printf("The hosts' files have these secrets in clear text, and so will %s:\n", i.Short(i.path))
		for _, p := range i.plain {
			i.Out.Printf("  %s of %s\n", plaintext.Line(p.field, 80), plaintext.Line(p.of.Name, 80))
		}
		i.plain = nil
		return nil
	}
	i.Out.Printf("The hosts' files have these secrets in clear text:\n")
	used := map[string]string{}
	for _, p := range i.plain {
		words := strings.NewReplacer(".", "-", "[", "-", "]", "").Replace(strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(p.field, "env."), "headers."), "oauth."))
		base := hostconfig.SecretName(p.of.Name, words)
		p.secret = base
		for n := 2; ; n++ {
			value, taken := used[p.secret]
			if !taken {
				kept, err := isKept(ctx, i.App, p.secret)
				if err == nil && kept {
					value, err = i.Secret(ctx, p.secret)
				}
				if err != nil {
					return err
				}
				if !kept {
					break
				}
			}
			if value == p.value {
				break
			}
			p.secret = fmt.Sprintf("%s-%d", base, n)
		}
		used[p.secret] = p.value
		i.Out.Printf("  %s of %s: %s\n", plaintext.Line(p.field, 80), plaintext.Line(p.of.Name, 80), p.secret)
	}
	if !i.yes && !i.dry {
		if move, err := askYes(ctx, i.App, "Move them to the keyring?"); err != nil {
			return err
		} else if !move {
			i.plain = nil
			return nil
		}
	}
	for _, p := range i.plain {
		*p.text = p.before + "${secret:" + p.secret + "}" + p.after
	}
	return nil
}
