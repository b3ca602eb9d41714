package host

import (
	"context"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/account"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/redact"
)

// findPlain records the values of an imported entry that look like secrets in clear text.
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
			i.plain = append(i.plain, &plainSecret{Of: c, Field: field, Text: text, Before: before, After: after, Value: value})
		}
	}
	for k := range c.Env {
		v := &c.Env[k]
		add("env."+v.Name, &v.Value, redactValue(v.Name, v.Value))
	}
	for k := range c.Headers {
		v := &c.Headers[k]
		add("headers."+v.Name, &v.Value, redactValue(v.Name, v.Value))
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

// settleSecrets prints the secrets found. If they are to be stored, it replaces them in the entries
// with references.
func (i *importing) settleSecrets(ctx context.Context) error {
	if len(i.plain) == 0 {
		return nil
	}
	if i.keep {
		i.Out.Printf("The hosts' files have these secrets in clear text, and so will %s:\n", i.Short(i.path))
		for _, p := range i.plain {
			i.Out.Printf("  %s of %s\n", plaintext.Line(p.Field, 80), plaintext.Line(p.Of.Name, 80))
		}
		i.plain = nil
		return nil
	}
	i.Out.Printf("The hosts' files have these secrets in clear text:\n")
	used := map[string]string{}
	for _, p := range i.plain {
		words := strings.NewReplacer(".", "-", "[", "-", "]", "").Replace(strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(p.Field, "env."), "headers."), "oauth."))
		base := hostconfig.SecretName(p.Of.Name, words)
		p.Secret = base
		for n := 2; ; n++ {
			value, taken := used[p.Secret]
			if !taken {
				kept, err := account.HasSecret(ctx, i.App, p.Secret)
				if err == nil && kept {
					value, err = i.App.Launch.Secret(ctx, p.Secret)
				}
				if err != nil {
					return err
				}
				if !kept {
					break
				}
			}
			if value == p.Value {
				break
			}
			p.Secret = fmt.Sprintf("%s-%d", base, n)
		}
		used[p.Secret] = p.Value
		i.Out.Printf("  %s of %s: %s\n", plaintext.Line(p.Field, 80), plaintext.Line(p.Of.Name, 80), p.Secret)
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
		*p.Text = p.Before + "${secret:" + p.Secret + "}" + p.After
	}
	return nil
}

// A plainSecret is a secret in clear text in a host's file.
type plainSecret struct {
	Of            *hostconfig.Carried
	Field         string
	Text          *string // the text that contains the secret
	Before, After string  // the rest of the text
	Value         string
	Secret        string // the name under which the secret is stored
}

// redactValue returns the value of a variable or header, with any secret in it hidden.
func redactValue(name, value string) string {
	if !redact.Named(name) && !redact.Looks(value) {
		return value
	}
	if scheme, _, found := strings.Cut(value, " "); found && (strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, "Basic") || strings.EqualFold(scheme, "token")) {
		return scheme + " " + redact.Hidden
	}
	return redact.Hidden
}
